"""Bounds without some hidden variables: of the graph that is left when they are projected out, which says less.

The latent projection leaves the covariances and the effects of all other variables as they are and keeps every model,
so what it bounds is bounded. Hidden variables that count as observed stay. One with a single effect, errors apart and
nothing known of it adds nothing: with weight e -> 0 to its effect and weights t / e into it, every model without it is
one with it, and the bounds are exact.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from halftrek.errors import GraphError
from halftrek.estimation import Fitted
from halftrek.estimation.given.data_kind import refit
from halftrek.graphs import Graph
from halftrek.graphs.hidden import refuse_hidden
from halftrek.identification.hidden.measured import measured
from halftrek.identification.hidden.preserved import is_preserved
from halftrek.notes import Note, note
from halftrek.partial.assumptions import Assumption, relaxed, with_roots
from halftrek.partial.assumptions.kinds import AbsoluteSum, Compared, Confounded, Norm, Within, names_of
from halftrek.partial.assumptions.quantities import ErrorCovariance, Quantity, Weight, variables_in
from halftrek.queries import Query, variables_of
from halftrek.queries.types import DirectEffect


@dataclass(frozen=True, eq=False)
class Outer:
    """A fit with fewer hidden variables, what to say of it, and whether its bounds are exact or may be too wide."""

    fit: Fitted
    note: Note
    exact: bool


def without_unmeasured(
    fit: Fitted, query: Query, assumed: Sequence[Assumption], why: str, *, all_hidden: bool = False
) -> Outer:
    """The fit without hidden variables that do not count as observed, and what to know of it.

    Refused where the question or an assumption would be about another thing then; ``why`` says what stands in the way
    of using them. ``all_hidden``: none of them is kept.
    """
    graph = with_roots(fit.graph, assumed)
    known = {} if all_hidden else measured(relaxed(graph, assumed))
    removed = [v for v in graph.hidden if v not in known]
    if not removed:
        raise GraphError(f"bounds() of {query} are not known: {why}")
    _refuse_asked(graph, removed, query, why)
    for one in assumed:
        _refuse_assumed(graph, removed, one, why)
    if fit.method == "dwls" or fit.acting is not None:
        refuse_hidden(graph, "bounds() with kinds of columns")
    plain = absorbed(graph, removed)
    rest = [v for v in plain.hidden if v in removed]
    if not rest:
        return Outer(refit(fit, plain), note("hidden adds nothing", hidden=", ".join(removed[:4])), exact=True)
    said = note("bounds without hidden", hidden=", ".join(rest[:4]))
    return Outer(refit(fit, projected(plain, rest)), said, exact=False)


def absorbed(graph: Graph, among: Collection[str]) -> Graph:
    """The graph without those of some hidden variables that add nothing, one after another."""
    while gone := [v for v in graph.hidden if v in among and _adds_nothing(graph, v)]:
        graph = projected(graph, gone[:1])
    return graph


def _adds_nothing(graph: Graph, v: str) -> bool:
    effects = graph.children(v)
    known = [
        e
        for e, x in graph.known.items()
        if v in (e.first, e.second) and not (e.first == v and isinstance(x, float) and x != 0.0)  # which is its scale
    ]
    said = v in graph.intercepts or v in graph.variances or known
    return len(effects) == 1 and not graph.spouses(v) and not said


def projected(graph: Graph, removed: Collection[str]) -> Graph:
    """The graph without some of its hidden variables; the others stay hidden."""
    kept = [v for v in graph.hidden if v not in removed]
    if not kept:
        return graph.project()
    opened = graph.opened.with_(variances=graph.variances, intercepts=graph.intercepts)
    left = opened.project([v for v in opened.observed if v not in removed])
    return left.with_(observed=graph.observed, hidden=kept)


def _refuse_asked(graph: Graph, removed: Sequence[str], query: Query, why: str) -> None:
    asked = [v for v in variables_of(query) if v in removed]
    if asked or not is_preserved(graph, removed, query):
        what = f"about hidden {asked[0]!r}" if asked else "about an arrow or error beside hidden variables"
        raise GraphError(f"bounds() of {query} is {what}, and these are not known: {why}")


def _refuse_assumed(graph: Graph, removed: Sequence[str], assumption: Assumption, why: str) -> None:
    """Raise for an assumption that says another thing once hidden variables are part of errors and arrows."""
    named = [v for v in names_of(assumption) if v in removed]
    if named:
        raise GraphError(f"'{assumption}' is about hidden {named[0]!r}, of which bounds are not known: {why}")
    if not all(_stays(graph, removed, one) for one in _quantities(assumption)):
        raise GraphError(
            f"'{assumption}' is about an arrow or error beside hidden {removed[0]!r}, of which bounds are not known: "
            f"{why}"
        )


def _quantities(assumption: Assumption) -> list[Quantity]:
    """What is limited; a hidden cause of two variables is a covariance of their errors."""
    match assumption:
        case Within(quantity):
            return [quantity]
        case Compared(left, right):
            return [left, right]
        case Norm(weights) | AbsoluteSum(weights):
            return list(weights)
        case Confounded(pair):
            return [ErrorCovariance(pair.first, pair.second)]


def _stays(graph: Graph, removed: Sequence[str], quantity: Quantity) -> bool:
    if isinstance(quantity, Weight):
        return is_preserved(graph, removed, DirectEffect(quantity.cause, quantity.effect))
    return not any(u in removed for v in variables_in(quantity) for u in graph.parents(v))
