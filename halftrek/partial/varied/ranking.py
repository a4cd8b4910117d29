"""Which assumption carries an answer? Every edge that the graph does not have: tested, carrying, or harmless.

An absent edge with score s is tested by the data if its efficient information is not zero (see ``checks.relaxation``):
then a value other than zero would show. Otherwise there are models of the same covariance for all its values near zero;
along them the answer moves with the slope ``g_c - a'g_p`` or stays. Where it stays at first order, growing values tell
whether it stays for good.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from halftrek.bottom.arrays import Flags, Floats
from halftrek.bottom.choices import Multiplicity
from halftrek.bottom.progress import late_bar
from halftrek.errors import NotIdentifiedError
from halftrek.estimation import Fitted
from halftrek.graphs import Edge, Graph
from halftrek.inference.checks.contradictions import Restrictions, in_words
from halftrek.inference.checks.edges.modification import absent_edges
from halftrek.inference.checks.edges.relaxation import relaxation, relaxations
from halftrek.inference.checks.edges.scores import Edges, Relaxation
from halftrek.inference.checks.multiplicity import adjusted
from halftrek.inference.checks.unit_tests import Centred, unit_tests
from halftrek.inference.information.robust import counts_units
from halftrek.inference.information.tangent import error_variances
from halftrek.notes import Note, note
from halftrek.partial.hidden.counted import held_beside, refuse_uncounted
from halftrek.partial.hidden.marked import by_error, marked
from halftrek.partial.varied.engine.crossings import crossings, reach_of
from halftrek.partial.varied.engine.family import Family, drawn_value, one_number
from halftrek.partial.varied.engine.sweep import FEW, elsewhere, sweep
from halftrek.partial.varied.listed import Listed
from halftrek.partial.varied.omitted import robustness_value
from halftrek.partial.varied.target import looked_for
from halftrek.queries import Query
from halftrek.queries.gradients import linearize
from halftrek.results.given.reading import asked_of
from halftrek.upward import Faces

Standing = Literal["carries the answer", "tested by the data", "harmless", "closes a cycle"]
HANGS = 1e-5  # share by which a slope may differ between points that fit as well
FITTED = (-0.5, -0.2, 0.2, 0.5)  # correlations, or weights in standard deviations, that are fitted to see a move
MOVED = 1e-5  # share of an answer by which fits that are alike differ
FLAT = 1e-9  # share of an answer: slopes below are none, if the answer does not move farther out either
_ORDER: tuple[Standing, ...] = ("carries the answer", "tested by the data", "harmless", "closes a cycle")


@dataclass(frozen=True)
class AbsentEdge(Faces):
    """One edge that the graph does not have, and what its absence means for an answer.

    - ``standing``: "carries the answer" (data cannot tell, and the answer moves with it), "tested by the data" (a value
      other than zero would show), "harmless" (data cannot tell, and the answer is the same), "closes a cycle" (it
      cannot be in the graph as it is);
    - ``slope``: how far the answer moves for a correlation of the two errors of 0.1, or for a weight of 0.1 standard
      deviations; of a tested edge while everything else is estimated again; nan where that hangs on parameters which
      data do not determine, and then nothing is said of ``smallest`` either;
    - ``smallest``: the least correlation, or weight in standard deviations, with which the answer is the target
      (its sign is in ``value``, which is in the units of the data); ``rv`` the share of variance that a hidden cause
      has to explain of both ends for that;
    - ``p``: of a tested edge, against the value zero; ``p_adjusted`` allows for all tested edges.
    """

    edge: str
    standing: Standing
    says: str
    slope: float = float("nan")
    smallest: float | None = None
    value: float | None = None
    rv: float | None = None
    p: float | None = None
    p_adjusted: float | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Ranking(Listed):
    """Every absent edge: those that carry the answer first, the one that needs least to undo it before all."""

    row: ClassVar = AbsentEdge

    question: str
    estimate: float
    target: float
    rows: tuple[AbsentEdge, ...]
    notes: tuple[Note, ...] = ()
    library: str = ""

    @property
    def carrying(self) -> tuple[AbsentEdge, ...]:
        """The edges whose absence data cannot tell, and on which the answer rests."""
        return self._of("carries the answer")

    @property
    def tested(self) -> tuple[AbsentEdge, ...]:
        """The edges whose absence data can contradict."""
        return self._of("tested by the data")

    @property
    def harmless(self) -> tuple[AbsentEdge, ...]:
        """The edges that would change nothing."""
        return self._of("harmless")

    def _of(self, standing: Standing) -> tuple[AbsentEdge, ...]:
        return tuple(row for row in self.rows if row.standing == standing)

    def __str__(self) -> str:
        return self.summary()

    __repr__ = __str__


def ranking_of(
    fitted: Fitted, question: str | Query, *, target: float | None = None, multiplicity: Multiplicity = "holm"
) -> Ranking:
    """Every edge that the graph does not have: tested by the data, carrying the answer, or harmless."""
    query, verdict = asked_of(fitted.graph, question)
    target = looked_for(target, query)
    if not verdict.identified:
        raise NotIdentifiedError(verdict.explain(), verdict)
    refuse_uncounted(fitted, "assumptions()")
    estimate, drawn = one_number(fitted, query), fitted.graph
    fitted = marked(fitted, query)
    gradient = linearize(query, fitted.model).values[:1]
    words, rows = in_words(fitted.graph), []
    other = elsewhere(fitted)
    known = _known_errors(fitted, other)
    for freed in relaxations(fitted, Edges.of(*absent_edges(fitted)), gradient):
        if other is not None:
            freed = replace(freed, slopes=_known_slopes(other, query, freed))
        rows += _tested(fitted, freed.take(np.isfinite(freed.score)), words)
        rows += _untested(fitted, query, freed.take(~np.isfinite(freed.score)), words, target, known)
    if fitted.graph != drawn:
        rows = [_as_drawn(fitted, query, row, drawn) for row in rows]
    p = np.array([np.nan if row.p is None else row.p for row in rows])
    final = adjusted(p, multiplicity)
    rows = [row if row.p is None else replace(row, p_adjusted=float(q)) for row, q in zip(rows, final, strict=True)]
    rows += [AbsentEdge(str(e), "closes a cycle", _cycle(e)) for e in _cyclic(fitted)]
    return Ranking(str(query), estimate, target, tuple(sorted(rows, key=_key)), _notes(fitted, rows), fitted.frame)


def _known_slopes(other: Fitted, query: Query, freed: Relaxation) -> Floats:
    """Slopes, nan where they are others at another point that fits as well: these hang on what data do not tell."""
    again = relaxation(other, freed.edges, linearize(query, other.model).values[:1]).slopes
    size = np.abs(freed.slopes) + np.abs(again)
    return np.where(np.abs(freed.slopes - again) > HANGS * (size + HANGS * size.max(initial=0.0)), np.nan, freed.slopes)


def _known_errors(fitted: Fitted, other: Fitted | None) -> Flags:
    """Which error variances are the same at another point that fits as well: of the others no correlation is told."""
    here = error_variances(fitted)
    return np.isclose(here, here if other is None else error_variances(other), rtol=HANGS, atol=0.0)


def _key(row: AbsentEdge) -> tuple[int, float, float, str]:
    least = float("inf") if row.smallest is None else row.smallest
    second = row.p if row.p is not None else -abs(row.slope)
    return _ORDER.index(row.standing), least, float("inf") if np.isnan(second) else second, row.edge


def _per_tenth(fitted: Fitted, edges: Edges) -> Floats:
    """The value of each edge that is a correlation of the errors of 0.1, or a weight of 0.1 standard deviations."""
    sd, noise = np.sqrt(np.diag(fitted.model.cov)), np.sqrt(error_variances(fitted))
    i, j = edges.first, edges.second
    return 0.1 * np.where(edges.arrow, sd[j] / sd[i], noise[i] * noise[j])


def _tested(fitted: Fitted, freed: Relaxation, words: Restrictions) -> list[AbsentEdge]:
    from scipy.special import chdtrc

    if not len(freed.edges):
        return []
    if counts_units(fitted, None, "assumptions()"):
        p = unit_tests(fitted, freed.score, Centred(freed.rows, freed.score)).p
    else:
        p = chdtrc(1.0, freed.index(fitted.n))
    slopes = freed.slopes[0] * _per_tenth(fitted, freed.edges)
    return [
        AbsentEdge(str(edge), "tested by the data", words.of(edge), float(slopes[k]), p=float(p[k]))
        for k, edge in enumerate(freed.edges.named(fitted.model.names))
    ]


def _untested(
    fitted: Fitted, query: Query, freed: Relaxation, words: Restrictions, target: float, known: Flags
) -> list[AbsentEdge]:
    """Edges with models of the fitted covariance for all their values; ``known``: the variables' error variances."""
    edges = freed.edges
    if not len(edges):
        return []
    slopes = freed.slopes[0] * _per_tenth(fitted, edges)
    level = np.abs(slopes) <= FLAT * (abs(one_number(fitted, query)) + np.nanmax(np.abs(slopes), initial=0.0))
    moving = ~level
    names = edges.named(fitted.model.names)
    swept = sweep(fitted, query, edges.take(np.flatnonzero(level)), target, FEW)
    moving[level] = swept.moves
    for k in np.flatnonzero(level)[swept.lost.astype(bool)] if fitted.graph.hidden else ():
        moving[k] = moving[k] or _moves_when_fitted(fitted, query, names[k])
    rows = [AbsentEdge(str(names[k]), "harmless", words.of(names[k]), 0.0) for k in np.flatnonzero(~moving)]
    places = np.flatnonzero(moving)
    found = sweep(fitted, query, edges.take(places), target)
    told = edges.arrow | (known[edges.first] & known[edges.second])
    again = _again(fitted, query, [names[k] for k in places[found.lost.astype(bool)]], target)
    for k, value, share, lost in zip(places, found.value, found.share, found.lost, strict=True):
        if lost:
            value, share = again[names[k]]
        row = AbsentEdge(str(names[k]), "carries the answer", words.of(names[k]), float(slopes[k]))
        if not told[k]:
            row = replace(row, slope=float("nan"), value=float(value) if np.isfinite(value) else None)
        elif np.isfinite(share) and np.isfinite(slopes[k]):
            rv = robustness_value(share) if names[k].kind == "<->" else None
            row = replace(row, smallest=abs(float(share)), value=float(value), rv=rv)
        rows.append(row)
    return rows


def _again(fitted: Fitted, query: Query, edges: Sequence[Edge], target: float) -> dict[Edge, tuple[float, float]]:
    """What edges have to be whose walk did not come to an end; some may have to be fitted value by value."""
    found = {}
    with late_bar("assumptions") as advance:
        for done, edge in enumerate(edges):
            found[edge] = _searched(fitted, query, edge, target)
            advance(done + 1, len(edges))
    return found


def _searched(fitted: Fitted, query: Query, edge: Edge, target: float) -> tuple[float, float]:
    """The nearest crossing of an edge whose walk ended at a pole, or that is not walked along at all."""
    family, nothing = Family(fitted, query, (edge,)), (float("nan"), float("nan"))
    if fitted.graph.hidden and not family.direct and not family.answered:
        return nothing
    found = crossings(family, target)
    return (found[0].value, found[0].share) if found else nothing


def _moves_when_fitted(fitted: Fitted, query: Query, edge: Edge) -> bool:
    """Whether an answer that does not move at first moves farther out, where each value has to be fitted."""
    family = Family(fitted, query, (edge,))
    if not family.answered:
        return True
    reach = reach_of(family)
    here, there = one_number(fitted, query), family.at(np.array([[k * reach] for k in FITTED])).answers(query)
    return bool((np.abs(there - here) > MOVED * (abs(here) + np.nanmax(np.abs(there), initial=0.0))).any())


def _as_drawn(fitted: Fitted, query: Query, row: AbsentEdge, drawn: Graph) -> AbsentEdge:
    """A row with the value of its edge on the scales of the graph as it was drawn."""
    edge = Edge.read(row.edge)
    if row.value is None or not {edge.first, edge.second}.intersection(by_error(drawn)):
        return row
    return replace(row, value=drawn_value(Family(fitted, query, (edge,)), row.value, drawn))


def _cyclic(fitted: Fitted) -> list[Edge]:
    """Arrows against the graph's own."""
    graph = fitted.graph
    above = {v: graph.ancestors(v) for v in graph.nodes}
    return [Edge(u, "->", v) for v in graph.nodes for u in graph.nodes if u != v and v in above[u]]


def _cycle(edge: Edge) -> str:
    return f"{edge.second} acts on {edge.first}, so {edge.first} cannot act on {edge.second}"


def _notes(fitted: Fitted, rows: Sequence[AbsentEdge]) -> tuple[Note, ...]:
    found = []
    carrying = [row for row in rows if row.standing == "carries the answer"]
    if carrying and (held_beside(fitted)[1] or (fitted.graph.hidden and fitted.graph.intercepts)):
        found.append(note("held intercepts"))
    unknown = (
        [row.edge for row in carrying if row.value is None and not np.isnan(row.slope)] if fitted.graph.hidden else []
    )
    if unknown:
        found.append(note("strength not known", edges=", ".join(unknown)))
    return tuple(found)
