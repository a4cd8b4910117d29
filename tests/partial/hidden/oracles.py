"""Slow and obvious: rows with exactly the covariance of a model, and searches over all its parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.graphs import Edge, Graph

Rule = Callable[[Floats, Floats], Floats]  # of T and W
Starts = Sequence[Floats]


def rows_like(names: Sequence[str], cov: Floats, n: int = 2000, seed: int = 0) -> dict[str, Floats]:
    """Rows whose covariance (divisor n) is exactly this one."""
    z = np.random.default_rng(seed).normal(size=(n, len(names)))
    z -= z.mean(axis=0)
    white = z @ np.linalg.inv(np.linalg.cholesky(z.T @ z / n)).T
    return dict(zip(names, (white @ np.linalg.cholesky(cov).T).T, strict=True))


@dataclass(frozen=True, eq=False)
class Parameters:
    """All free parameters of a graph with hidden variables, one after another: arrows, arcs, variances."""

    graph: Graph
    variances: dict[str, float]  # those that are held

    @property
    def names(self) -> tuple[str, ...]:
        return self.graph.nodes

    @property
    def places(self) -> list[tuple[str, int, int]]:
        at = {v: i for i, v in enumerate(self.names)}
        known = self.graph.known
        free = [
            ("T", at[u], at[v]) for u, v in self.graph.directed if not isinstance(known.get(Edge(u, "->", v)), float)
        ]
        free += [("W", at[u], at[v]) for u, v in self.graph.bidirected]
        return free + [("W", at[v], at[v]) for v in self.names if v not in self.variances]

    def matrices(self, theta: Floats) -> tuple[Floats, Floats]:
        p = len(self.names)
        T, W = np.zeros((p, p)), np.zeros((p, p))
        at = {v: i for i, v in enumerate(self.names)}
        for edge, value in self.graph.known.items():
            if isinstance(value, float):
                T[at[edge.first], at[edge.second]] = value
        for v, value in self.variances.items():
            W[at[v], at[v]] = value
        for (kind, i, j), value in zip(self.places, theta, strict=True):
            if kind == "T":
                T[i, j] = value
            else:
                W[i, j] = W[j, i] = value
        return T, W

    def seen(self, theta: Floats) -> Floats:
        T, W = self.matrices(theta)
        B = np.linalg.inv(np.eye(len(T)) - T)
        p = len(self.graph.observed)
        return np.asarray((B.T @ W @ B)[:p, :p])

    def vector(self, T: Floats, W: Floats) -> Floats:
        return np.array([(T if kind == "T" else W)[i, j] for kind, i, j in self.places])

    def reaches(
        self, gap: Callable[[Floats], Floats], broken: Rule, answer: Rule, value: float, starts: Starts
    ) -> bool:
        """Is there a model without a gap and with nothing broken that has this answer? By least squares."""
        from scipy.optimize import least_squares

        def residuals(theta: Floats) -> Floats:
            T, W = self.matrices(theta)
            return np.concatenate([gap(theta), np.maximum(broken(T, W), 0.0), answer(T, W) - value])

        for start in starts:
            found = least_squares(residuals, start, xtol=1e-15, ftol=1e-15, gtol=1e-15, max_nfev=60)
            positive = np.linalg.eigvalsh(self.matrices(found.x)[1])[0] > 0.0
            if positive and np.abs(found.fun).max() < 1e-8:
                return True
        return False

    def least(self, loss: Callable[[Floats], float], broken: Rule, answer: Rule, value: float, start: Floats) -> float:
        """The least loss of models with nothing broken that have this answer, by penalties that grow."""
        from scipy.optimize import minimize

        theta = start
        for weight in (1e4, 1e6):

            def whole(t: Floats, weight: float = weight) -> float:
                T, W = self.matrices(t)
                off = np.concatenate([np.maximum(broken(T, W), 0.0), answer(T, W) - value])
                return loss(t) + weight * float(off @ off)

            theta = minimize(whole, theta, method="BFGS", options={"gtol": 1e-3, "maxiter": 150}).x
        return loss(theta)


def same_covariance(parameters: Parameters, cov: Floats) -> Callable[[Floats], Floats]:
    """How far the observed covariance is from a given one."""
    i, j = np.triu_indices(len(cov))
    return lambda theta: np.asarray((parameters.seen(theta) - cov)[i, j])


def deviance(parameters: Parameters, cov: Floats, n: float) -> Callable[[Floats], float]:
    """What a model loses against ``cov``, one that the graph has."""

    def lost(theta: Floats) -> float:
        sigma = parameters.seen(theta)
        if np.linalg.eigvalsh(parameters.matrices(theta)[1])[0] <= 0.0:
            return 1e6
        size = np.linalg.slogdet(sigma)[1] - np.linalg.slogdet(cov)[1]
        return float(n * (size + np.trace(np.linalg.solve(sigma, cov)) - len(cov)))

    return lost
