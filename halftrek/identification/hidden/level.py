"""What else has to be known of a hidden variable where a question is about its values, not only about effects."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halftrek.graphs import Graph
from halftrek.identification.hidden.measured import Measured
from halftrek.identification.hidden.values import stands_still
from halftrek.identification.local.effects import edge_weight
from halftrek.identification.local.functionals import Functionals, functionals, valuation
from halftrek.identification.local.parameters import Point
from halftrek.queries.checks import variables_of
from halftrek.queries.types import (
    DirectEffect,
    ErrorCovariance,
    PathEffect,
    Query,
    Standardized,
    Statistic,
    ThroughEffect,
    TotalEffect,
)

if TYPE_CHECKING:
    from halftrek.identification.study import Study


def depends_on_level(query: Query, name: str) -> bool:
    """True if the question is about values of a variable, and so about its mean."""
    effects = DirectEffect | PathEffect | TotalEffect | ThroughEffect | ErrorCovariance | Standardized
    if name not in variables_of(query) or isinstance(query, effects):
        return False
    return not (isinstance(query, Statistic) and query.kind != "E" and not query.case.events)


def arrows_of_level(graph: Graph, name: str, factor: Measured | None = None) -> list[DirectEffect] | None:
    """Arrows whose weights the mean of a hidden variable is made of; None if a free intercept adds to it.

    It needs none where an effect of the factor has a fixed intercept itself.
    """
    if factor is not None and any(isinstance(graph.intercepts.get(v), float) for v in factor.loaded):
        return []
    found: list[DirectEffect] = []
    waiting, free = [name], False
    while waiting:
        v = waiting.pop()
        free = free or isinstance(graph.intercepts.get(v), str)
        for u in graph.parents(v):
            if DirectEffect(u, v) not in found and _has_level(graph, u):
                found.append(DirectEffect(u, v))
                waiting += [u] if u in graph.hidden else []
    return None if free else found


def _has_level(graph: Graph, name: str) -> bool:
    """False for a hidden variable whose mean is zero, as nothing observed and no intercept adds to it."""
    return any(v not in graph.hidden or graph.intercepts.get(v, 0.0) != 0.0 for v in graph.ancestors(name))


def local_verdicts(study: Study, query: Query, asked: list[str]) -> bool:
    """True if the answer is locally a function of the observed covariances; False when two points modulo primes agree.

    A question about values of a hidden variable is a function of its variance and the coefficients that its mean is
    made of. Where these are not all known, the answer may stand still all the same, or because means say more.
    """
    values = [v for v in asked if depends_on_level(query, v)]
    if not any(arrows_of_level(study.graph, v) is None for v in values):
        for number in (0, 1):
            at = study.probe(number)
            found = [functionals(query, at.point), *(_values_of(v, query, at.point) for v in asked)]
            if all(all(at.locally_identified(one)) for one in found):
                return True
    return bool(values) and stands_still(study.graph, query)


def _values_of(name: str, query: Query, point: Point) -> Functionals:
    """Its covariances with what the question names, and the coefficients that lead into it."""
    graph, width = point.parameters.graph, 1 + point.parameters.count
    if not depends_on_level(query, name):
        return Functionals((), np.zeros((0, width), point.field.dtype))
    others = variables_of(query)
    model = valuation(point, graph.ancestors(others))
    rows = [model.covariance(name, v) for v in others]
    rows += [edge_weight(point, u, name) for u in graph.parents(name)]
    return Functionals(tuple(f"{name} {k}" for k in range(len(rows))), np.array(rows))
