"""What the answers of a report rest on, absent edge by absent edge, and what is left where there is no answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halftrek.errors import GraphError, InputError, NotIdentifiedError, QueryError
from halftrek.identification.independence.deciding import beyond_covariances
from halftrek.reporting.described.bounds import bounds_facts
from halftrek.reporting.described.varied import ranking_document
from halftrek.reporting.document import Described, Document, Facts, Heading, Paragraph, Remark
from halftrek.reporting.plots.bounds import plot_bounds
from halftrek.reporting.report.figures import drawn
from halftrek.results.sets.bounds import Bounds
from halftrek.results.sets.independent import independent

if TYPE_CHECKING:
    from halftrek.queries import Query
    from halftrek.results.answers import Answer
    from halftrek.results.fit import Fit

RANKED = 20  # variables up to which every absent edge is looked at


def rests_on(fit: Fit, query: Query) -> Document:
    """The ranking of absent edges behind an answer; nothing where the answer is not one number."""
    if fit.moments.layer is not None:  # not known yet of variables behind columns
        return []
    title = Heading("What the answer rests on")
    if len(fit.graph.nodes) > RANKED:
        return [
            title,
            Remark(f"Graphs of more than {RANKED} variables: ask fit.assumptions(question), which takes longer."),
        ]
    try:
        found = fit.assumptions(query)
    except (QueryError, NotIdentifiedError):
        return []
    except (GraphError, InputError) as error:  # hidden variables whose items do not tell them
        return [title, Remark(f"{error}.")]
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


def if_independent(fit: Fit, query: Query, level: float) -> Answer | str:
    """What independent errors tell of a refused number; a text says why they do not, an empty one needs no word."""
    if fit.rows is None or fit.graph.hidden or fit.acting is not None:
        return ""
    if not beyond_covariances(fit.graph, query, witness=False).identified:
        return ""
    try:
        return independent(fit, query, crude=False, level=level)
    except QueryError:  # no question about effects
        return ""
    except InputError as error:
        return f"Errors that are independent, not only uncorrelated, would tell it: {error}."


def by_independence(found: Answer | str, name: str) -> Document:
    """The values that independent errors keep of a number that covariances leave open."""
    title = Heading("If errors are independent, not only uncorrelated")
    if isinstance(found, str):
        return [title, Remark(found)]
    values = found.result
    assert isinstance(values, Bounds)  # covariances leave it open
    said = [Remark(text[0].upper() + text[1:] + ".") for text in (*found.remarks, *found.warnings)]
    parts: Document = [title, Facts(bounds_facts(values)), *said]
    if values.words == "any value":
        return parts
    caption = "The values at which the errors may be independent."
    return [*parts, *drawn(f"{name}-independent", lambda ax: plot_bounds(values, ax=ax), (7.2, 2.2), caption)]
