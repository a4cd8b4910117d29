"""Does a question fit a graph?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import isfinite

from halftrek.errors import QueryError
from halftrek.graphs import Graph, did_you_mean
from halftrek.queries.kinds.terms import case_of, leaves, sums_of
from halftrek.queries.kinds.variants import Case, Draw, Event, Scale, Shift, Sum, Variant, names_in, variants_in
from halftrek.queries.numbers import check_numbers
from halftrek.queries.types import (
    Arithmetic,
    Composite,
    DirectEffect,
    Distribution,
    ErrorCovariance,
    PathEffect,
    Probability,
    Quantile,
    Query,
    Standardized,
    Statistic,
    ThroughEffect,
    TotalEffect,
)


def speaking_of(graph: Graph, query: Query) -> Graph:
    """The graph in which hidden causes that a question names are variables of their own, on the scale of variance 1."""
    asked = [v for v in variables_of(query) if v in graph.latents]
    return graph.with_(variances={**graph.variances, **dict.fromkeys(asked, 1.0)}) if asked else graph


def check_query(query: Query, graph: Graph) -> None:
    """Raise QueryError if the query does not fit the graph: unknown names, a variable in two roles, no such edge."""
    check_roles(query, graph)
    for effect in leaves(query) if isinstance(query, Arithmetic) else (query,):
        if isinstance(effect, Standardized):
            effect = effect.effect
        _check_edges(effect, graph)


def _check_edges(query: Query, graph: Graph) -> None:
    if isinstance(query, DirectEffect | PathEffect):
        for u, v in pairwise(variables_of(query)):
            if v not in graph.children(u):
                raise QueryError(f"{query}: the graph has no edge {u} -> {v}. For the total effect ask {u} ~> {v}")


def refuse_single_values(query: Query) -> None:
    """Raise for an event that a variable has one value, where all are continuous."""
    for leaf in leaves(query) if isinstance(query, Arithmetic) else (query,):
        if isinstance(leaf, Probability):
            for event in leaf.events:
                refuse_single(event)


def refuse_single(event: Event) -> None:
    """The same of one event about what is continuous."""
    if event.low == event.high and isfinite(event.low):
        raise QueryError(
            f"P({event}): a single value of a continuous outcome has probability 0; ask P({event.of} > "
            f"{event.low:g}) or for a range. If the column is yes/no or a scale, say kinds={{{str(event.of)!r}: "
            f"'ordered'}}; without it E[...] of a 0/1 outcome is the probability of 1"
        )


def check_roles(query: Query, graph: Graph) -> None:
    """Raise QueryError for unknown or hidden names and a variable in two roles; a missing edge is an effect of zero."""
    check_numbers(query)
    for v in variables_of(query):
        if v in graph.latents:
            raise QueryError(f"{query}: {v!r} is hidden; a question can only be about observed variables")
        if v not in graph:
            raise QueryError(f"{query}: the graph has no variable {v!r}.{did_you_mean(v, graph.observed)}")
    if isinstance(query, Composite):
        for term in terms_of(query):
            _check_term(term, graph)
        return
    steps: Sequence[str] = variables_of(query)
    if len(set(steps)) < len(steps):
        raise QueryError(f"{query}: a variable occurs twice; effects go from one variable to another")


def variables_of(query: Query) -> tuple[str, ...]:
    """The variables that a query names, each once for distributions."""
    match query:
        case DirectEffect(cause, effect) | TotalEffect(cause, effect):
            return (cause, effect)
        case PathEffect(steps) | ThroughEffect(steps):
            return steps
        case ErrorCovariance(first, second):
            return (first, second)
        case Distribution(asks="intervention"):
            return tuple(dict.fromkeys((*query.names, *query.do, *query.seen)))
        case Arithmetic():
            return tuple(dict.fromkeys(v for leaf in leaves(query) for v in variables_of(leaf)))
        case Standardized(effect):
            return variables_of(effect)
        case Statistic() | Probability() | Quantile() | Distribution():
            return tuple(dict.fromkeys(w for v in all_variants(query) for w in names_in(v)))


def terms_of(query: Query) -> tuple[Query, ...]:
    """The numbers that a composite question is made of; of other questions, the question itself."""
    return tuple(leaves(query)) if isinstance(query, Arithmetic) else (query,)


def all_variants(term: Statistic | Probability | Quantile | Distribution) -> Iterator[Variant]:
    """Every variable that a term is about, before and behind the bar, in the world that it is asked in."""
    case = case_of(term).in_worlds
    for of in sums_of(term):
        yield from (v for _, v in case_of(term).placed_sum(of).parts)
    yield from case.given
    for event in case.events:
        yield from (v for _, v in event.of.parts)


def _check_term(term: Query, graph: Graph) -> None:
    """Raise QueryError for a term that contradicts itself or changes an edge that is not there."""
    if isinstance(term, Standardized):
        check_roles(term.effect, graph)
        return
    if not isinstance(term, Statistic | Probability | Quantile | Distribution):
        check_roles(term, graph)
        return
    if isinstance(term, Distribution):
        _check_distribution(term)
    for outer in all_variants(term):
        for v in variants_in(outer):
            _check_variant(term, v, graph)
    if not sums_of(term):
        raise QueryError(f"{term} names no outcome; write for instance P(y | do(x))")
    _check_evidence(term, case_of(term))
    if isinstance(term, Quantile) and not 0.0 < term.level < 1.0:
        raise QueryError(f"{term}: the level of a quantile lies between 0 and 1, for instance Q(0.9, y)")
    if isinstance(term, Statistic) and len(term.of) != (2 if term.kind in ("Cov", "Corr") else 1):
        raise QueryError(f"{term}: Cov and Corr take two outcomes, E, Var and SD one")
    if case_of(term).events and isinstance(term, Quantile | Distribution):
        raise QueryError(
            f"{term}: given an event, outcomes are no longer normal; ask for E[...], Var[...] or a probability, "
            f"or condition on a value"
        )


def _check_distribution(query: Distribution) -> None:
    for i, of in enumerate(query.of):
        if of in query.of[:i]:
            raise QueryError(f"{query}: the outcome {of} is named twice; take one out")
    if query.asks != "intervention":
        return
    for v in query.do:
        if v in query.names:
            raise QueryError(f"{query}: {v!r} is both an outcome and a condition; take it out of one of them")
        if v in query.seen:
            raise QueryError(f"{query}: {v!r} is both held by do() and conditioned on; take it out of one of them")


def _check_variant(term: Query, v: Variant, graph: Graph) -> None:
    own = v.changes.get(v.variable, 0.0) if v.variable in v.changes else Shift(0.0)
    if not isinstance(own, Shift | Scale | Draw):
        raise QueryError(
            f"{term}: {v.variable!r} is held in its own world; name another outcome or hold another variable"
        )
    for target, change in v.changes.items():
        if isinstance(target, str):
            if isinstance(change, Variant) and change.variable != target:
                raise QueryError(
                    f"{term}: {target!r} can only be held at a value of its own, not of {change.variable!r}"
                )
            if isinstance(change, Draw) and not change.variance >= 0.0:
                raise QueryError(f"{term}: the variance in {target} ~ N(...) must not be negative")
            continue
        cause, effect = target
        if cause not in graph.parents(effect):
            raise QueryError(f"{term}: the graph has no edge {cause} -> {effect} that could be changed")
        if effect in v.changes and not isinstance(v.changes[effect], Shift | Scale):
            raise QueryError(f"{term}: {effect!r} is held, so the edge {cause} -> {effect} does nothing; leave it out")


def _check_evidence(term: Query, case: Case) -> None:
    for v in case.given:
        if any(of.alone == v for of in _sums(term)):
            raise QueryError(f"{term}: {v} is both an outcome and a condition; take it out of one of them")


def _sums(term: Query) -> tuple[Sum, ...]:
    return sums_of(term) if isinstance(term, Statistic | Probability | Quantile | Distribution) else ()
