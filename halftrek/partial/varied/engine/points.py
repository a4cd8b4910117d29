"""Models in which edges have given values, as many as are asked for, and what they answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from halftrek.bottom.arrays import Flags, Floats, Ints
from halftrek.estimation import Fitted
from halftrek.graphs import Edge, Graph
from halftrek.models import CGLSCM, total_effects
from halftrek.partial.varied.engine.equations import Equations
from halftrek.queries import Query
from halftrek.queries.evaluate import values_of


@dataclass(frozen=True, eq=False)
class Points:
    """Models of one graph, arrays with a leading axis; nan where there is no such model."""

    names: tuple[str, ...]
    graph: Graph
    T: Floats
    C: Floats
    W: Floats
    mu: Floats
    solutions: Floats | None = None  # of the equations that they were found by ...
    fits: tuple[Fitted | None, ...] = ()  # ... or the fits that they are from

    def __len__(self) -> int:
        return len(self.T)

    @cached_property
    def B(self) -> Floats:
        """Total effects."""
        return total_effects(self.T)

    @cached_property
    def omega(self) -> Floats:
        """Covariance of the errors with hidden causes in them."""
        return np.asarray(np.swapaxes(self.C, 1, 2) @ self.C + self.W)

    @cached_property
    def mean(self) -> Floats:
        """Implied means."""
        return np.asarray((self.mu[:, None, :] @ self.B)[:, 0])

    @cached_property
    def cov(self) -> Floats:
        """Implied covariances."""
        return np.asarray(np.swapaxes(self.B, 1, 2) @ self.omega @ self.B)

    @cached_property
    def there(self) -> Flags:
        """Which of them there are."""
        return np.asarray(np.isfinite(self.T).all(axis=(1, 2)) & np.isfinite(self.W).all(axis=(1, 2)))

    def take(self, which: Ints) -> Points:
        """Some of them."""
        solutions = None if self.solutions is None else self.solutions[which]
        fits = tuple(self.fits[k] for k in which) if self.fits else ()
        parts = (self.T[which], self.C[which], self.W[which], self.mu[which])
        return Points(self.names, self.graph, *parts, solutions, fits)

    def answers(self, query: Query) -> Floats:
        """The answer of each model; nan where there is none."""
        found = np.full(len(self), np.nan)
        here = np.flatnonzero(self.there)
        if len(here):
            found[here] = values_of(query, self.take(here))[0][:, 0]
        return found

    def values(self, edges: Sequence[Edge]) -> Floats:
        """Weights and covariances of edges, one column each."""
        return np.stack([self.matrix(e)[:, self._at(e.first), self._at(e.second)] for e in edges], axis=1)

    def shares(self, edges: Sequence[Edge]) -> Floats:
        """Of arcs the correlation of the errors, of arrows the weight in standard deviations; one column each."""
        with np.errstate(invalid="ignore"):  # nan where there is no model
            sd = np.sqrt(np.diagonal(self.cov, axis1=1, axis2=2))
            noise = np.sqrt(np.diagonal(self.W, axis1=1, axis2=2))
        columns = []
        for value, edge in zip(self.values(edges).T, edges, strict=True):
            i, j = self._at(edge.first), self._at(edge.second)
            columns.append(value * sd[:, i] / sd[:, j] if edge.kind == "->" else value / (noise[:, i] * noise[:, j]))
        return np.stack(columns, axis=1)

    def matrix(self, edge: Edge) -> Floats:
        """Where an edge's value stands."""
        return self.T if edge.kind == "->" else self.W

    def model(self, at: int, graph: Graph) -> CGLSCM:
        """One of them, of a graph in which values may be held."""
        return CGLSCM(self.names, self.T[at], self.C[at], self.mu[at], self.W[at], tuple(graph.latents), graph)

    def _at(self, name: str) -> int:
        return self.names.index(name)


def points_of(equations: Equations, z: Floats, fitted: Fitted, graph: Graph) -> Points:
    """The models of solutions, in the units of the data; those with a negative noise variance are none."""
    sd, spread = equations.sd, np.outer(equations.sd, equations.sd)
    T, C = equations.T.put(equations.T0, z), equations.C.put(equations.C0, z)
    with np.errstate(invalid="ignore", over="ignore"):  # nan where there is no model
        M, _ = equations.errors(T, C)
        noise = M * (equations.free | (equations.W0 != 0.0)) * spread
        impossible = _impossible(noise / spread) if C.shape[1] else np.zeros(len(z), dtype=bool)
    noise[impossible] = np.nan
    weights = T * (sd / sd[:, None])
    mean = fitted.model.mean
    return Points(fitted.model.names, graph, weights, C * sd, noise, mean - mean @ weights, z)


def stacked(fits: Sequence[Fitted | None], graph: Graph, names: tuple[str, ...]) -> Points:
    """The models of fits that were made one by one."""
    p, hidden = len(names), len(graph.latents)
    nothing = [np.full(shape, np.nan) for shape in ((p, p), (hidden, p), (p, p), (p,))]
    parts = [nothing if f is None else [f.model.T, f.model.C, f.model.W, f.model.mu] for f in fits]
    T, C, W, mu = (np.stack([part[k] for part in parts]) for k in range(4))
    return Points(names, graph, T, C, W, mu, fits=tuple(fits))


def _impossible(noise: Floats) -> Flags:
    finite = np.asarray(np.isfinite(noise).all(axis=(1, 2)))
    found = np.logical_not(finite)
    found[finite] = np.linalg.eigvalsh(noise[finite])[:, 0] < -1e-9
    return found
