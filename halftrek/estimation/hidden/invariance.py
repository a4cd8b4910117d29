"""One measurement model in several groups: what is equal in all of them, from nothing to all of the measurement.

- configural: the same graph;
- metric: equal loadings, so that effects between hidden variables can be compared;
- scalar: equal intercepts of items too, so that means of hidden variables can be;
- strict: equal error variances of items too.

Loadings are the arrows from hidden to observed variables, items the ends of these. Where loadings are equal the scale
of the first group is that of all; where intercepts are, means of hidden variables are those beside the first group's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from halftrek.bottom.arrays import Floats, Ints
from halftrek.bottom.choices import Invariant
from halftrek.data import Moments, Patterns
from halftrek.estimation.given.options import Options, resolve_options
from halftrek.estimation.hidden.opening import opened_data
from halftrek.estimation.hidden.problem import Several, Single
from halftrek.estimation.hidden.search import Ended, climb
from halftrek.estimation.hidden.whole import FLOOR, fit_whole
from halftrek.estimation.space import Space, make_space
from halftrek.graphs import Graph
from halftrek.graphs.hidden import scaled_by
from halftrek.models import CGLSCM

LEVELS: tuple[Invariant, ...] = ("configural", "metric", "scalar", "strict")
STEPS = 200


@dataclass(frozen=True, eq=False)
class Level:
    """The groups' models when some of their parameters are equal."""

    name: Invariant
    loglik: float
    parameters: int
    converged: bool
    models: tuple[CGLSCM, ...]


def fit_levels(graph: Graph, groups: Sequence[Moments | Patterns], levels: Sequence[Invariant] = LEVELS) -> list[Level]:
    """The levels that are asked for, each begun where the one before ended."""
    options = resolve_options(graph.opened, "free", "free")
    alone = [fit_whole(graph, data, options).model for data in groups]
    found: list[Level] = []
    for name in levels:
        starts = found[-1].models if found else tuple(alone)
        found.append(_fitted(graph, groups, name, starts))
    return found


def _fitted(graph: Graph, groups: Sequence[Moments | Patterns], name: Invariant, starts: Sequence[CGLSCM]) -> Level:
    graphs = [graph if g == 0 else _freed(graph, name) for g in range(len(groups))]
    spaces = [make_space(one, one.nodes, _options(one)) for one in graphs]
    owner, size = _owners(graph, spaces, name)
    theta, count = np.zeros(size), np.zeros(size)
    lower = np.full(size, -np.inf)
    for space, own, start in zip(spaces, owner, starts, strict=True):
        np.add.at(theta, own, space.vector(start))
        np.add.at(count, own, 1.0)
        for i, j, a in space.W_at:
            if i == j:
                lower[own[a]] = FLOOR * float(start.cov[i, i])
    parts = tuple(Single(space, opened_data(data, graph.hidden)) for space, data in zip(spaces, groups, strict=True))
    ended = climb(Several(parts, owner, size), theta / count, lower, STEPS)
    assert ended is not None  # averages of positive definite error covariances are positive definite
    models = tuple(_model(one, space, ended, own) for one, space, own in zip(graphs, spaces, owner, strict=True))
    return Level(name, ended.point.value, size - ended.flat, ended.converged, models)


def _freed(graph: Graph, name: Invariant) -> Graph:
    """The graph of a group that is not the first: scales and means of hidden variables that equal items set free."""
    variances, intercepts = dict(graph.variances), dict(graph.intercepts)
    for v in graph.hidden:
        if name != "configural" and scaled_by(graph, v) is None and v not in variances:
            variances[v] = f"variance of {v}"
        if name in ("scalar", "strict") and v not in intercepts and _items(graph, v):
            intercepts[v] = f"intercept of {v}"
    return graph.with_(variances=variances, intercepts=intercepts)


def _items(graph: Graph, factor: str) -> list[str]:
    return [v for v in graph.children(factor) if v in graph.observed]


def _options(graph: Graph) -> Options:
    return resolve_options(graph.opened, "free", "free")


def _owners(graph: Graph, spaces: Sequence[Space], name: Invariant) -> tuple[tuple[Ints, ...], int]:
    """Which of all parameters each parameter of each group is."""
    p = len(graph)
    items = {graph.observed.index(v) for f in graph.hidden for v in _items(graph, f)}
    shared: dict[tuple[str, int, int], int] = {}
    owners, size = [], 0
    for space in spaces:
        own = np.full(space.size, -1, dtype=np.intp)
        for kind, at in (("T", space.T_at), ("W", space.W_at), ("mu", space.mu_at)):
            for i, j, a in at:
                loading = kind == "T" and i >= p and j < p and name != "configural"
                level = kind == "mu" and i in items and name in ("scalar", "strict")
                error = kind == "W" and i == j and i in items and name == "strict"
                if loading or level or error:
                    key = (kind, int(i), int(j) if kind != "mu" else 0)
                    if key not in shared:
                        shared[key], size = size, size + 1
                    own[a] = shared[key]
        free = own < 0
        own[free] = size + np.arange(int(free.sum()))
        size += int(free.sum())
        owners.append(own)
    return tuple(owners), size


def _model(graph: Graph, space: Space, ended: Ended, own: Ints) -> CGLSCM:
    T, W, C, mu = space.arrays(ended.point.theta[own])
    loadings: Floats = np.zeros((len(graph.latents), len(space.names)))
    loadings[list(space.latents)] = C
    return CGLSCM(space.names, T, loadings, mu, W, tuple(graph.latents), graph)
