"""What else has to be known of a hidden variable where a question is about its values, not only about effects."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halftrek.graphs import Graph
from halftrek.identification.hidden.measured import Measured
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
    ThroughEffect,
    TotalEffect,
)

if TYPE_CHECKING:
    from halftrek.identification.study import Study


def depends_on_level(query: Query, name: str) -> bool:
    """True if the question is about values of a variable, and so about its mean."""
    return name in variables_of(query) and not isinstance(
        query, DirectEffect | PathEffect | TotalEffect | ThroughEffect | ErrorCovariance | Standardized
    )


def level_known(graph: Graph, name: str, factor: Measured) -> bool:
    """True if the mean is a convention (an intercept of zero), or that of an effect whose own intercept is fixed."""
    if name not in graph.intercepts or isinstance(graph.intercepts[name], float):
        return True
    return any(isinstance(graph.intercepts.get(v), float) for v in factor.loaded)


def local_verdicts(study: Study, query: Query, asked: list[str]) -> bool:
    """True if the answer is locally a function of the observed covariances; False when two points modulo primes agree.

    A question about values of a hidden variable needs its variance, and the coefficients that its mean is made of.
    """
    if any(depends_on_level(query, v) and isinstance(study.graph.intercepts.get(v), str) for v in asked):
        return False
    for number in (0, 1):
        at = study.probe(number)
        found = [functionals(query, at.point), *(_values_of(v, query, at.point) for v in asked)]
        if all(all(at.locally_identified(one)) for one in found):
            return True
    return False


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
