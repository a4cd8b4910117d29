"""What a model answers to a query, exactly."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np

from halftrek.arrays import Floats
from halftrek.errors import QueryError
from halftrek.memory import remembered
from halftrek.models import CGLSCM, Gaussian
from halftrek.queries.checks import check_query, check_roles, check_worlds, variables_of
from halftrek.queries.counterfactual import answer_counterfactual
from halftrek.queries.gathering import gathered
from halftrek.queries.kinds.effects import ends_of
from halftrek.queries.kinds.statistics import distribution_of, term_value
from halftrek.queries.kinds.terms import Expression
from halftrek.queries.numbers import checked_distribution, checked_number, combined
from halftrek.queries.types import (
    Arithmetic,
    Counterfactual,
    DirectEffect,
    Distribution,
    ErrorCovariance,
    Interventional,
    PathEffect,
    Probability,
    Quantile,
    Query,
    Standardized,
    Statistic,
    ThroughEffect,
    TotalEffect,
)

__all__ = ["check_query", "check_roles", "check_worlds", "evaluate", "variables_of"]


def evaluate(query: Query, model: CGLSCM) -> float | Gaussian:
    """A number for an effect, a distribution for ``P(...)``."""
    return remembered(model.memory, ("value", query), lambda: _evaluated(query, model))


def _evaluated(query: Query, model: CGLSCM) -> float | Gaussian:
    check_query(query, model.graph)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):  # judged by what comes out
        found = _answer(query, model)
    return checked_number(found, query) if isinstance(found, float) else checked_distribution(found, query)


def _answer(query: Query, model: CGLSCM) -> float | Gaussian:
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
        case Distribution():
            return distribution_of(query, _ancestral(model, variables_of(query)))
        case _:
            return value_of(query, model)


def value_of(expression: Expression, model: CGLSCM) -> float:
    """The number that an expression is in a model."""
    match expression:
        case Arithmetic("+" | "-") if (whole := gathered(expression, model.graph)) is not expression:
            return value_of(whole, model)
        case Arithmetic(operation, left, right):
            return combined(operation, value_of(left, model), value_of(right, model), expression)
        case Statistic() | Probability() | Quantile():
            return term_value(expression, _ancestral(model, variables_of(expression)))
        case Standardized(effect):
            cause, last = (model.names.index(v) for v in ends_of(effect))
            return value_of(effect, model) * float(np.sqrt(model.cov[cause, cause] / model.cov[last, last]))
        case float() | int():
            return float(expression)
        case _:
            found = evaluate(expression, model)
            assert isinstance(found, float)  # an effect is a number
            return found


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
    at = np.array([model.names.index(v) for v in model.graph.topological_order if v in between], dtype=np.intp)
    direct = model.T[at[:, None], at]
    reach = np.zeros(len(at))
    reach[0] = 1.0  # the cause comes before all that lies between
    for j in range(1, len(at)):
        reach[j] = reach[:j] @ direct[:j, j]
    return float(reach[-1])


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
