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

from halftrek.bottom.arrays import Ints
from halftrek.bottom.choices import Invariant
from halftrek.data import Moments, Patterns
from halftrek.estimation.hidden.together import climbed, free_options
from halftrek.estimation.hidden.whole import fit_whole
from halftrek.estimation.space import Space, make_space
from halftrek.graphs import Graph
from halftrek.graphs.hidden import scaled_by
from halftrek.models import CGLSCM

LEVELS: tuple[Invariant, ...] = ("configural", "metric", "scalar", "strict")


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
    alone = [fit_whole(graph, data, free_options(graph)).model for data in groups]
    found: list[Level] = []
    for name in levels:
        starts = found[-1].models if found else tuple(alone)
        found.append(_fitted(graph, groups, name, starts))
    return found


def _fitted(graph: Graph, groups: Sequence[Moments | Patterns], name: Invariant, starts: Sequence[CGLSCM]) -> Level:
    graphs = [graph if g == 0 else _freed(graph, name) for g in range(len(groups))]
    spaces = [make_space(one, one.nodes, free_options(one)) for one in graphs]
    owner, size = _owners(graph, spaces, name)
    found = climbed(graphs, groups, spaces, owner, size, starts)
    assert found is not None  # averages of positive definite error covariances are positive definite
    return Level(name, found.loglik, size - found.ended.flat, found.ended.converged, found.models)


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
