"""Random graphs with parameters, for property tests."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from halftrek.graphs import Graph
from halftrek.models import CGLSCM


@st.composite
def models(draw: st.DrawFn, *, most: int = 5, bows: bool = False, latents: bool = True, arcs: bool = True) -> CGLSCM:
    """A model over a random acyclic graph; without ``bows`` everything is identified."""
    p = draw(st.integers(2, most))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    order = rng.permutation(p)
    names = tuple(f"v{i}" for i in range(p))
    T = np.zeros((p, p))
    W = np.diag(rng.uniform(0.5, 2.0, p))
    C: list[np.ndarray] = []
    hidden: list[str] = []
    for a in range(p):
        for b in range(a + 1, p):
            i, j = order[a], order[b]
            arrow = rng.random() < 0.5
            if arrow:
                T[i, j] = rng.choice([-1, 1]) * rng.uniform(0.3, 1.2)
            confounded = rng.random() < 0.4 and (bows or not arrow)
            if confounded and latents and (not arcs or rng.random() < 0.5):
                row = np.zeros(p)
                row[[i, j]] = rng.choice([-1, 1], 2) * rng.uniform(0.3, 1.0, 2)
                C.append(row)
                hidden.append(f"U{len(C)}")
            elif confounded and arcs:
                W[i, j] = W[j, i] = rng.uniform(-0.4, 0.4) / p
    loadings = np.array(C).reshape(len(C), p)
    return CGLSCM(names, T, loadings, rng.normal(size=p), W, tuple(hidden))


def dense_loglik(model: CGLSCM, n: float, mean: np.ndarray, cov: np.ndarray) -> float:
    """The log-likelihood by the textbook formula, nothing split."""
    gap = mean - model.mean
    p = len(mean)
    quadratic = np.trace(np.linalg.solve(model.cov, cov + np.outer(gap, gap)))
    return -0.5 * n * float(p * np.log(2 * np.pi) + np.linalg.slogdet(model.cov)[1] + quadratic)


def rebuilt(graph: Graph, order: tuple[str, ...]) -> Graph:
    """The same graph with its variables in another order."""
    return Graph(graph.directed, graph.bidirected, graph.latents, order, graph.coefficients)
