"""Models with one covariance found without any of the package's own ways: from random weights by Gauss-Newton steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.graphs import Graph
from halftrek.models import CGLSCM


def models_with(graph: Graph, sigma: Floats, rng: np.random.Generator, count: int) -> Iterator[CGLSCM]:
    """Models of a graph without hidden causes: ``a_i' Sigma a_j = 0`` for all pairs without a bidirected edge."""
    names = graph.observed
    p = len(names)
    place = {v: i for i, v in enumerate(names)}
    edges = [(place[u], place[v]) for u, v in graph.directed]
    joined = {frozenset((place[u], place[v])) for u, v in graph.bidirected}
    pairs = [(i, j) for i in range(p) for j in range(i) if frozenset((i, j)) not in joined]
    sd = np.sqrt(np.diag(sigma))
    for _ in range(count):
        width = rng.choice([0.3, 1.0, 3.0, 10.0])
        weights = rng.standard_normal(len(edges)) * width * np.array([sd[j] / sd[i] for i, j in edges])
        T = _on_fibre(weights, edges, pairs, sigma)
        if T is None:
            continue
        A = np.eye(p) - T
        W = A.T @ sigma @ A
        for i, j in pairs:
            W[i, j] = W[j, i] = 0.0
        yield CGLSCM(names, T, np.zeros((0, p)), np.zeros(p), 0.5 * (W + W.T), (), graph)


def _on_fibre(
    weights: Floats, edges: Sequence[tuple[int, int]], pairs: Sequence[tuple[int, int]], sigma: Floats
) -> Floats | None:
    p, scale = len(sigma), np.sqrt(np.outer(np.diag(sigma), np.diag(sigma)))
    T = np.zeros((p, p))
    for step in range(60):
        for (i, j), w in zip(edges, weights, strict=True):
            T[i, j] = w
        A = np.eye(p) - T
        G = sigma @ A
        omega = A.T @ G
        gap = np.array([omega[i, j] for i, j in pairs])
        size = np.array([np.sqrt(omega[i, i] * omega[j, j]) for i, j in pairs])
        if not len(pairs) or np.abs(gap / size).max() < 1e-12:
            return T
        J = np.zeros((len(pairs), len(edges)))
        for row, (a, b) in enumerate(pairs):
            for column, (i, j) in enumerate(edges):
                if j == a:
                    J[row, column] -= G[i, b]
                if j == b:
                    J[row, column] -= G[i, a]
        if not edges:
            return None
        change = np.linalg.lstsq(J, -gap, rcond=None)[0]
        weights = weights + change * (1.0 if step > 3 else 0.8)
        if not np.isfinite(weights).all() or np.abs(weights).max(initial=0.0) > 1e6 * scale.max():
            return None
    return None
