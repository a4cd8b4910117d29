"""Vanishing tetrads: products of covariances that a model makes equal though no independence says so."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from halftrek.bottom.arrays import Floats, Ints
from halftrek.data import Moments
from halftrek.estimation.given.options import Options
from halftrek.estimation.space import make_space
from halftrek.graphs import Graph
from halftrek.models import CGLSCM, total_effects

MANY = 24  # variables beyond which tetrads are not searched: their number grows with the fourth power
NAUGHT = 1e-9  # a tetrad of correlations that is zero but for rounding


@dataclass(frozen=True)
class Tetrad:
    """``cov(a, c) cov(b, d) - cov(a, d) cov(b, c)`` for rows (a, b) and columns (c, d)."""

    rows: tuple[str, str]
    columns: tuple[str, str]


def beyond_independences(
    graph: Graph, wider: Graph, model: CGLSCM, independences: list[tuple[str, str, tuple[str, ...]]]
) -> list[Tetrad]:
    """Tetrads that vanish for the graph and not for ``wider``, which has its independences alone.

    Only as many as are independent equations at the fitted covariance, beside the independences.
    """
    names = model.names
    if len(names) > MANY or len(names) < 4:
        return []
    quads = np.array(list(combinations(range(len(names)), 4)), dtype=np.intp)
    a, b, c, d = quads.T
    ways = np.concatenate([np.stack(w, axis=1) for w in ((a, b, c, d), (a, c, b, d), (a, d, b, c))])
    zero = np.ones(len(ways), dtype=bool)
    held = np.zeros(len(ways), dtype=bool)
    for seed in (1, 2):
        zero &= np.abs(tetrads(random_correlation(graph, names, seed), ways)) < NAUGHT
        held |= np.abs(tetrads(random_correlation(wider, names, seed), ways)) > NAUGHT
    return [
        Tetrad((names[i], names[j]), (names[k], names[m]))
        for i, j, k, m in _independent(ways[zero & held], model, independences)
    ]


def tetrads(cov: Floats, ways: Ints) -> Floats:
    """``s_ac s_bd - s_ad s_bc`` for lines (a, b, c, d)."""
    a, b, c, d = ways.T
    return np.asarray(cov[a, c] * cov[b, d] - cov[a, d] * cov[b, c])


def random_correlation(graph: Graph, names: tuple[str, ...], seed: int) -> Floats:
    """The correlation matrix of a graph at a random point, with what it holds fixed."""
    space = make_space(graph, names, Options())
    rng = np.random.default_rng(seed)
    theta = rng.uniform(0.3, 0.9, space.size) * rng.choice((-1.0, 1.0), space.size)
    T, W, C, _ = space.arrays(theta)
    inside = W - np.diag(np.diag(W))
    np.fill_diagonal(W, np.abs(inside).sum(axis=0) + 1.0 + rng.uniform(0.0, 1.0, len(W)))
    B = total_effects(T)
    cov = B.T @ (W + C.T @ C) @ B
    sd = np.sqrt(np.diag(cov))
    return np.asarray(cov / np.outer(sd, sd))


def tetrad_slope(moments: Moments, tetrad: Tetrad) -> tuple[float, Floats]:
    """The tetrad of the sample's correlations, and the derivative in the covariance of what is tested.

    The tetrad of covariances is zero exactly where that of correlations is; scaled by the sample's standard deviations,
    which does not change the ratio of the two to first order.
    """
    at = [moments.names.index(v) for v in (*tetrad.rows, *tetrad.columns)]
    S = moments.cov[np.ix_(at, at)]
    sd = np.sqrt(np.diag(S))
    R = S / np.outer(sd, sd)
    slope = np.zeros_like(moments.cov)
    slope[np.ix_(at, at)] = _slope(R, (0, 1, 2, 3)) / np.outer(sd, sd)
    return float(R[0, 2] * R[1, 3] - R[0, 3] * R[1, 2]), slope


def _slope(cov: Floats, way: tuple[int, int, int, int]) -> Floats:
    """The symmetric matrix H with d tetrad = tr(H dS)."""
    a, b, c, d = way
    H = np.zeros_like(cov)
    for (i, j), value in (((a, c), cov[b, d]), ((b, d), cov[a, c]), ((a, d), -cov[b, c]), ((b, c), -cov[a, d])):
        H[i, j] += value / 2.0
        H[j, i] += value / 2.0
    return H


def _independent(ways: Ints, model: CGLSCM, independences: list[tuple[str, str, tuple[str, ...]]]) -> Ints:
    """Lines whose gradients are linearly independent of one another and of the independences, first come first kept."""
    cov = model.cov
    sd = np.sqrt(np.diag(cov))
    R = cov / np.outer(sd, sd)
    lower = np.tril_indices(len(R))
    basis = np.zeros((0, len(lower[0])))
    for x, y, given in independences:
        basis, _ = _extended(basis, _independence_slope(R, model.names, x, y, given)[lower])
    kept = []
    for way in ways:
        basis, new = _extended(basis, _slope(R, tuple(map(int, way)))[lower])  # type: ignore[arg-type]
        if new:
            kept.append(way)
    return np.array(kept, dtype=np.intp).reshape(-1, 4)


def _independence_slope(R: Floats, names: tuple[str, ...], x: str, y: str, given: tuple[str, ...]) -> Floats:
    """Gradient of the partial covariance ``u' R v``: u and v are x and y less their regressions on the condition."""
    at = [names.index(v) for v in given]
    u, v = np.zeros(len(R)), np.zeros(len(R))
    for vector, name in ((u, x), (v, y)):
        i = names.index(name)
        vector[i] = 1.0
        if at:
            vector[at] = -np.linalg.solve(R[np.ix_(at, at)], R[at, i])
    return np.asarray(np.outer(u, v) + np.outer(v, u)) / 2.0


def _extended(basis: Floats, row: Floats) -> tuple[Floats, bool]:
    """The basis with one more unit vector, if the row is not in its span."""
    length = float(np.linalg.norm(row))
    left = row - basis.T @ (basis @ row)
    left = left - basis.T @ (basis @ left)
    rest = float(np.linalg.norm(left))
    if rest <= 1e-6 * length or length == 0.0:
        return basis, False
    return np.vstack([basis, left / rest]), True
