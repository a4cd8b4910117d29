"""The covariance at which a set is computed: the data's where the graph allows any, else that of the fitted model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.data import Moments
from halftrek.errors import DataError, InputError
from halftrek.estimation.fit import fit
from halftrek.graphs import Edge, Graph
from halftrek.identification.local.jacobian import model_dimension
from halftrek.models import CGLSCM
from halftrek.partial.assumptions.kinds import Assumption, Within
from halftrek.partial.assumptions.quantities import Reliability, Weight
from halftrek.partial.exact.tower import Tower, exact_covariance, exact_matrix
from halftrek.partial.fibre import Fibre, fibre_of

_MANY = 10_000.0  # rows that a covariance alone stands for; a fit does not depend on it


@dataclass(frozen=True, eq=False)
class Ground:
    """The fibre in floats and the same in exact numbers; ``fitted`` says that the graph restricts the covariance."""

    fibre: Fibre
    tower: Tower
    fitted: bool


def ground_of(
    graph: Graph, sigma: Floats, mean: Floats, names: Sequence[str], prefer: Sequence[str], model: CGLSCM | None
) -> Ground:
    """The fibre at the data's covariance, or at that of a model of the graph fitted to it."""
    order = tuple(graph.observed)
    at = _places(order, names, sigma)
    sigma, mean = sigma[np.ix_(at, at)], mean[at]
    sigma = np.where(np.tri(len(sigma), dtype=bool), sigma, sigma.T)  # exactly symmetric, whatever the last bit says
    fibre = fibre_of(graph, sigma, mean, order, prefer)
    if not fibre.left and not fibre.plan.implied:
        return Ground(fibre, Tower(fibre.plan, exact_matrix(sigma), mean.tolist()), fitted=False)
    if model_dimension(graph) == len(order) * (len(order) + 1) // 2:
        return Ground(fibre, Tower(fibre.plan, exact_matrix(sigma), mean.tolist()), fitted=False)
    chosen = _fitted(graph, sigma, mean, order) if model is None else model.reorder(order)
    exactly = exact_covariance(chosen)
    rounded = np.array([[int(x.p) / int(x.q) for x in row] for row in exactly])
    fibre = fibre_of(graph, rounded, mean, order, prefer)
    return Ground(fibre, Tower(fibre.plan, exactly, mean.tolist()), fitted=True)


def _fitted(graph: Graph, sigma: Floats, mean: Floats, names: tuple[str, ...]) -> CGLSCM:
    found = fit(graph, Moments(names, _MANY, mean, sigma))
    if not found.converged:
        raise InputError(f"the graph could not be fitted to this covariance: {found.status.short}")
    return found.model


def _places(order: Sequence[str], names: Sequence[str], sigma: Floats) -> list[int]:
    missing = [v for v in order if v not in names]
    if missing or sigma.shape != (len(names),) * 2:
        raise DataError(f"Sigma must have a row and a column for each of {', '.join(order)}")
    return [list(names).index(v) for v in order]


def held_weights(graph: Graph, assumptions: Sequence[Assumption]) -> Graph:
    """The graph with weights that assumptions hold at a number as known coefficients."""
    held = {
        str(Edge(a.quantity.cause, "->", a.quantity.effect)): a.high
        for a in assumptions
        if isinstance(a, Within) and isinstance(a.quantity, Weight) and a.low == a.high
    }
    return graph.with_(coefficients={**graph.coefficients, **held}) if held else graph


def plain_latents(graph: Graph, assumptions: Sequence[Assumption]) -> Graph:
    """The graph without hidden causes that say nothing more than an error or one of its covariances.

    A hidden cause of one variable is part of its error. One of two variables is a bidirected edge, unless another
    hidden cause or edge takes its share of their variances too.
    """
    if not graph.latents or any(isinstance(a, Within) and isinstance(a.quantity, Reliability) for a in assumptions):
        return graph
    known = {end for edge in graph.known for end in (edge.first, edge.second)}
    hidden = {u: kids for u, kids in graph.latents.items() if len(kids) > 1 or u in known}
    arcs = list(graph.bidirected)
    for u, kids in list(hidden.items()):
        others = [v for other, more in hidden.items() if other != u for v in more]
        touched = {v for arc in graph.bidirected for v in arc}.union(others)
        if len(kids) == 2 and u not in known and not touched.intersection(kids):
            del hidden[u]
            arcs.append((kids[0], kids[1]))
    return graph.with_(latents=hidden, bidirected=arcs)
