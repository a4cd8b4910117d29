"""What a model answers to a query, exactly."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np

from halftrek.errors import QueryError
from halftrek.graph import Graph, did_you_mean
from halftrek.model import CGLSCM, Floats, Gaussian
from halftrek.queries.counterfactual import answer_counterfactual
from halftrek.queries.types import (
    Counterfactual,
    DirectEffect,
    ErrorCovariance,
    Interventional,
    PathEffect,
    Query,
    ThroughEffect,
    TotalEffect,
)


def evaluate(query: Query, model: CGLSCM) -> float | Gaussian:
    """A number for an effect, a distribution for ``P(...)``."""
    check_query(query, model.graph)
    match query:
        case DirectEffect(cause, effect):
            return _weights(model, (cause, effect))
        case PathEffect(path):
            return _weights(model, path)
        case TotalEffect(cause, effect):
            return _through(model, (cause, effect))
        case ThroughEffect(stations):
            return _through(model, stations)
        case ErrorCovariance(first, second):
            i, j = model.names.index(first), model.names.index(second)
            return float(model.C[:, i] @ model.C[:, j] + model.W[i, j])
        case Interventional():
            return _interventional(query, model)
        case Counterfactual():
            return answer_counterfactual(query, _ancestral(model, variables_of(query)))


def check_query(query: Query, graph: Graph) -> None:
    """Raise QueryError if the query does not fit the graph: unknown names, a variable in two roles, no such edge."""
    check_roles(query, graph)
    if isinstance(query, DirectEffect | PathEffect):
        for u, v in pairwise(variables_of(query)):
            if v not in graph.children(u):
                raise QueryError(f"{query}: the graph has no edge {u} -> {v}. For the total effect ask {u} ~> {v}")


def check_roles(query: Query, graph: Graph) -> None:
    """Raise QueryError for unknown or hidden names and a variable in two roles; a missing edge is an effect of zero."""
    for v in variables_of(query):
        if v in graph.latents:
            raise QueryError(f"{query}: {v!r} is hidden; a question can only be about observed variables")
        if v not in graph:
            raise QueryError(f"{query}: the graph has no variable {v!r}.{did_you_mean(v, graph.observed)}")
    if isinstance(query, Interventional):
        if not query.outcomes:
            raise QueryError("P( | ...) names no outcome; write for instance P(y | do(x))")
        for v in query.outcomes:
            if v in query.given or v in query.do:
                raise QueryError(f"{query}: {v!r} is both an outcome and a condition; take it out of one of them")
        for v in query.given:
            if v in query.do:
                raise QueryError(f"{query}: {v!r} is both held by do() and conditioned on; take it out of one of them")
        return
    if isinstance(query, Counterfactual):
        check_worlds(query)
        return
    steps: Sequence[str] = variables_of(query)
    if len(set(steps)) < len(steps):
        raise QueryError(f"{query}: a variable occurs twice; effects go from one variable to another")


def check_worlds(query: Counterfactual) -> None:
    """Raise QueryError if outcomes and evidence of a counterfactual contradict each other."""
    if not query.outcomes:
        raise QueryError("a counterfactual question names no outcome; write for instance P(y_{x=1} | x=0)")
    for v in (*query.outcomes, *query.given):
        if v.variable in v.held:
            raise QueryError(f"{query}: {v} is held in its own world; name another outcome or hold another variable")
    for i, v in enumerate(query.outcomes):
        if v in query.given:
            raise QueryError(f"{query}: {v} is both an outcome and a condition; take it out of one of them")
        if v in query.outcomes[:i]:
            raise QueryError(f"{query}: the outcome {v} is named twice; take one out")


def variables_of(query: Query) -> tuple[str, ...]:
    """The variables that a query names, each once for distributions."""
    match query:
        case DirectEffect(cause, effect) | TotalEffect(cause, effect):
            return (cause, effect)
        case PathEffect(steps) | ThroughEffect(steps):
            return steps
        case ErrorCovariance(first, second):
            return (first, second)
        case Interventional(outcomes, do, given):
            return tuple(dict.fromkeys((*outcomes, *do, *given)))
        case Counterfactual(potentials, evidence):
            named = (w for v in (*potentials, *evidence) for w in (v.variable, *v.held))
            return tuple(dict.fromkeys(named))


def _weights(model: CGLSCM, path: Sequence[str]) -> float:
    at = [model.names.index(v) for v in path]
    return float(np.prod([model.T[i, j] for i, j in pairwise(at)]))


def _through(model: CGLSCM, stations: Sequence[str]) -> float:
    product = 1.0
    for cause, effect in pairwise(stations):
        product *= _total(model, cause, effect)
    return product


def _total(model: CGLSCM, cause: str, effect: str) -> float:
    """Total effect along the variables between the two, so that large graphs cost little."""
    between = model.graph.descendants(cause) & model.graph.ancestors(effect)
    if cause not in between or effect not in between:
        return 0.0
    at, direct = _part(model, between)
    reach = np.zeros(len(at))
    reach[at.index(model.names.index(cause))] = 1.0
    effects = np.linalg.solve(np.eye(len(at)) - direct.T, reach)
    return float(effects[at.index(model.names.index(effect))])


def _interventional(query: Interventional, model: CGLSCM) -> Gaussian:
    for v, value in (*query.do.items(), *query.given.items()):
        if value is None:
            raise QueryError(f"{query}: {v!r} has no value; write for instance {v}=1 to get a number")
    held = {v: float(x) for v, x in query.do.items() if x is not None}
    seen = {v: float(x) for v, x in query.given.items() if x is not None}
    changed = _ancestral(model, [*query.outcomes, *held, *seen]).do(held)
    joint = changed.distribution([*query.outcomes, *seen])
    return joint.given(seen)


def _ancestral(model: CGLSCM, variables: Iterable[str]) -> CGLSCM:
    """The model of some variables and all their causes; what lies downstream does not matter."""
    keep = model.graph.ancestors(variables)
    if len(keep) == len(model.names):
        return model
    at, direct = _part(model, keep)
    names = tuple(model.names[i] for i in at)
    graph = model.graph.induced(names)
    rows = [k for k, u in enumerate(model.latents) if u in graph.latents]
    return CGLSCM(
        names,
        direct,
        model.C[np.ix_(rows, at)],
        model.mu[at],
        model.W[np.ix_(at, at)],
        tuple(model.latents[k] for k in rows),
        graph,
    )


def _part(model: CGLSCM, variables: frozenset[str]) -> tuple[list[int], Floats]:
    at = [i for i, v in enumerate(model.names) if v in variables]
    return at, model.T[np.ix_(at, at)]
