"""Bounds where hidden variables have causes: of the graph of the observed variables, which every such model obeys."""

from __future__ import annotations

from halftrek.errors import GraphError, InputError
from halftrek.estimation import Fitted
from halftrek.estimation.given.data_kind import refit
from halftrek.graphs.hidden import refuse_hidden
from halftrek.identification.hidden.preserved import is_preserved
from halftrek.notes import Note, note
from halftrek.queries import Query
from halftrek.queries.checks import check_query, variables_of
from halftrek.results.given.inputs import read_question
from halftrek.results.given.reading import asked_of


def observed_part(fit: Fitted, question: str | Query, *, assuming: bool) -> tuple[Fitted, Note]:
    """The fit of the graph without its hidden variables, and what to know of it; refused where that asks another thing.

    The latent projection leaves the covariances and the effects of observed variables as they are and says less of
    them, so what it bounds is bounded.
    """
    graph = fit.graph
    if assuming:
        refuse_hidden(graph, "bounds() under assumptions")
    query = read_question(question)
    check_query(query, graph)
    asked = [v for v in variables_of(query) if v in graph.hidden]
    if asked or not is_preserved(graph, graph.hidden, query):
        what = f"about hidden {asked[0]!r}" if asked else "about an arrow or error beside hidden variables"
        raise GraphError(f"bounds() of {query} is {what}, and only questions about observed variables have bounds here")
    if asked_of(graph, query)[1].identified:
        raise InputError(f"{query} is identified in this graph, so that there is nothing to bound: ask fit.query")
    if fit.method == "dwls" or fit.acting is not None:
        refuse_hidden(graph, "bounds() with kinds of columns")
    return refit(fit, graph.project()), note("bounds without hidden", hidden=", ".join(graph.hidden[:4]))
