"""A question as a function of the weights of arrows, with the conditions that tell them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.errors import QueryError
from halftrek.estimation import Fitted
from halftrek.graphs.hidden import refuse_hidden
from halftrek.identification.independence.deciding import equations_behind, equations_within, independent_pairs
from halftrek.inference.evidence.held_rows import held_rows
from halftrek.inference.independence.conditions import Conditions
from halftrek.models import CGLSCM
from halftrek.queries import DirectEffect, PathEffect, Query, ThroughEffect, TotalEffect, evaluate
from halftrek.queries.gradients import linearize
from halftrek.queries.types import Distribution, ErrorCovariance

WHAT = 'errors="independent"'


@dataclass(frozen=True, eq=False)
class Asked:
    """``value`` gives the answer from the weights of the conditions' arrows; ``unit`` is its scale."""

    conditions: Conditions
    value: Callable[[Floats], float]
    fitted: Floats
    unit: float


def asked_of_errors(fit: Fitted, query: Query) -> Asked:
    """The conditions behind a question about effects; other questions raise QueryError."""
    refuse_hidden(fit.graph, WHAT)
    answer = _of_weights(fit.model, query)
    targets = equations_behind(fit.graph, query)
    equations, pairs = equations_within(fit.graph, targets), independent_pairs(fit.graph, targets)
    needed = {*equations, *(p for v in equations for p in fit.graph.parents(v))}
    names = tuple(v for v in fit.graph.observed if v in needed)
    given = Conditions(held_rows(fit, names, WHAT), fit.graph, equations, pairs)
    at = fit.model.names.index
    places = ([at(p) for p, _ in given.arrows], [at(v) for _, v in given.arrows])

    def value(weights: Floats) -> float:
        T = fit.model.T.copy()
        T[places] = weights
        return answer(T)

    fitted = fit.model.T[places]
    return Asked(given, value, fitted, _scale(given, value, fitted))


def _of_weights(model: CGLSCM, query: Query) -> Callable[[Floats], float]:
    """The answer as a function of T."""
    at, identity = model.names.index, np.eye(len(model.names))
    match query:
        case DirectEffect(u, v):
            return lambda T: float(T[at(u), at(v)])
        case PathEffect(path):
            return lambda T: float(np.prod([T[at(u), at(v)] for u, v in pairwise(path)]))
        case TotalEffect(u, v):
            return lambda T: float(np.linalg.solve(identity - T, identity)[at(u), at(v)])
        case ThroughEffect(stations):
            legs = [(at(u), at(v)) for u, v in pairwise(stations)]

            def product(T: Floats) -> float:
                total = np.linalg.solve(identity - T, identity)
                return float(np.prod([total[leg] for leg in legs]))

            return product
    if not isinstance(query, Distribution | ErrorCovariance) and _effects_alone(query, model):

        def evaluated(T: Floats) -> float:
            found = evaluate(query, replace(model, T=T))
            assert isinstance(found, float)  # only distributions are more than a number
            return found

        return evaluated
    raise QueryError(
        f"{WHAT} answers questions about effects, and {query} needs means or variances too; ask for an effect such as "
        f"x ~> y, or for a difference such as E[y | do(x=1)] - E[y | do(x=0)]"
    )


def _effects_alone(query: Query, model: CGLSCM) -> bool:
    """True if the answer moves with the weights of arrows and with nothing else."""
    (slope,) = linearize(query, model).values
    size = 1e-9 * (1.0 + float(np.abs(slope.T).max(initial=0.0)))
    return bool(np.abs(slope.omega).max(initial=0.0) < size and np.abs(slope.mean).max(initial=0.0) < size)


def _scale(given: Conditions, value: Callable[[Floats], float], fitted: Floats) -> float:
    """How much the answer moves for a standardised weight of one, at most."""
    found = [0.0]
    for here in (given.from_raw(fitted), np.ones(given.unknowns)):
        for k in range(given.unknowns):
            ends = [here.copy(), here.copy()]
            ends[0][k], ends[1][k] = 0.0, 1.0
            low, high = (value(given.to_raw(free)) for free in ends)
            found.append(abs(high - low))
    return max(found) or 1.0
