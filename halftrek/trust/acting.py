"""What speaks against intervals of a fit in which categories act.

Their likelihood is that of the rows, so that no moments tell how it bends. How strong instruments are is told as in a
linear model, from the columns as they are.
"""

from __future__ import annotations

from halftrek.estimation import Fitted
from halftrek.identification import Verdict
from halftrek.inference.information.robust import count_clusters, is_clustered
from halftrek.inference.kept import kept
from halftrek.notes import Note, note
from halftrek.queries import DirectEffect, Query
from halftrek.trust.strength import STRONG, quick_verdict, weakest_step


def doubts_everywhere(fit: Fitted, few: int) -> list[Note]:
    """What speaks against every interval of the fit; up to a ``few`` clusters are few."""
    found = [] if fit.converged else list(fit.status.notes)
    if is_clustered(fit) and (clusters := count_clusters(fit)) <= few:
        found.append(note("few clusters, acting", clusters=clusters))
    return found


def weakness(fit: Fitted, query: Query, verdict: Verdict) -> list[Note]:
    """That the formula of a question divides by little, if it does."""
    weakest = weakest_step(fit, query, verdict, 0.0)
    return [] if weakest is None or weakest.F >= STRONG else [note("weak, acting", reason=weakest.note.why)]


@kept
def weak_edges(fit: Fitted) -> dict[tuple[str, str], Note]:
    """The edges whose formula divides by little."""
    found: dict[tuple[str, str], Note] = {}
    for edge in fit.graph.directed:
        query = DirectEffect(*edge)
        for doubt in weakness(fit, query, quick_verdict(fit, query)):
            found[edge] = doubt
    return found
