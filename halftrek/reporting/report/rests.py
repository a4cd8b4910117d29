"""What the answers of a report rest on, absent edge by absent edge, and what is left where there is no answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halftrek.errors import NotIdentifiedError, QueryError
from halftrek.reporting.described.bounds import bounds_facts
from halftrek.reporting.described.varied import ranking_document
from halftrek.reporting.document import Described, Document, Facts, Heading, Paragraph, Remark
from halftrek.reporting.plots.bounds import plot_bounds
from halftrek.reporting.report.figures import drawn

if TYPE_CHECKING:
    from halftrek.queries import Query
    from halftrek.results.bounds import Bounds
    from halftrek.results.fit import Fit

RANKED = 20  # variables up to which every absent edge is looked at


def rests_on(fit: Fit, query: Query) -> Document:
    """The ranking of absent edges behind an answer; nothing where the answer is not one number."""
    if fit.moments.layer is not None:  # not known yet of variables behind columns
        return []
    title = Heading("What the answer rests on")
    if len(fit.graph) > RANKED:
        return [
            title,
            Remark(f"Graphs of more than {RANKED} variables: ask fit.assumptions(question), which takes longer."),
        ]
    try:
        found = fit.assumptions(query)
    except (QueryError, NotIdentifiedError):
        return []
    words = (
        "Every edge that the graph does not have is a claim. Which of them carry this answer, and which do data test?"
    )
    return [title, Paragraph(words), *_without_title(ranking_document(found))]


def _without_title(parts: Described) -> Document:
    """All but the first, which is the title."""
    return list(parts[1:])


def left(found: Bounds, name: str) -> Document:
    """The set that the graph and the data leave of a refused number, drawn where it has an end."""
    parts: Document = [Heading("What the graph and these data leave"), Facts(bounds_facts(found))]
    if found.words == "any value":
        return parts
    caption = "All values that models with the estimated covariance have, and the interval for the true one."
    return [*parts, *drawn(f"{name}-left", lambda ax: plot_bounds(found, ax=ax), (7.2, 2.2), caption)]
