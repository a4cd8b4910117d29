"""Models of a graph near a fit as points of one vector: weights, and the covariance of what is seen.

The covariance is ``R M M' R'`` with R the root of the fitted one and M lower triangular, ``log`` on its diagonal: every
vector is a covariance, and where it is the fitted one the deviance is the squared length of that part of the vector.
Errors follow, ``Omega = A' Sigma A`` with ``A = I - T``; what the graph says of them is an equation that a program
keeps (``equations``). On the fibre only weights move, so large effects do no harm to any digit of the likelihood.

Hidden variables that have causes stand behind the observed ones. M is lower triangular, so what data see is its upper
left part; the lines of hidden variables are free like weights, and the likelihood does not see them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from halftrek.bottom.arrays import Flags, Floats, Ints
from halftrek.estimation.space import Space
from halftrek.graphs import Graph
from halftrek.models import total_effects

FARTHEST = 1e8  # of a weight between variables of unit variance
LARGE = 10.0  # one that no usual model has


@dataclass(frozen=True, eq=False)
class Lines:
    """Derivatives of several numbers, one a line: in T, in Omega and Sigma (symmetric), in the means, in loadings.

    ``own``: in the covariance of errors without hidden causes, ``W = Omega - C'C``.
    """

    T: Floats
    omega: Floats
    sigma: Floats
    own: Floats
    mean: Floats

    @staticmethod
    def zero(count: int, p: int) -> Lines:
        """Of so many constants."""
        T, omega, sigma, own = np.zeros((4, count, p, p))
        return Lines(T, omega, sigma, own, np.zeros((count, p)))


@dataclass(frozen=True, eq=False)
class Place:
    """A model of the graph with whatever errors: what questions and assumptions are asked of."""

    names: tuple[str, ...]
    graph: Graph
    T: Floats
    C: Floats  # no hidden causes: they are in the errors
    W: Floats
    mu: Floats
    mean: Floats
    cov: Floats
    root: Floats
    grown: Floats  # diagonal of the root, per that of the fitted covariance
    loadings: Floats

    @property
    def omega(self) -> Floats:
        """Covariance of the errors."""
        return self.W

    @cached_property
    def B(self) -> Floats:
        """Total effects."""
        return total_effects(self.T)

    @cached_property
    def A(self) -> Floats:
        """``I - T``."""
        return np.asarray(np.eye(len(self.T)) - self.T)


@dataclass(frozen=True, eq=False)
class Coordinates:
    """How a vector is read: weights, then the covariance, then means if they move, then loadings of hidden causes."""

    space: Space
    graph: Graph
    n: float
    mean: Floats
    root: Floats
    with_means: bool

    @property
    def seen(self) -> int:
        """How many of the variables, the first ones, data are about."""
        return len(self.root) - len(self.graph.hidden)

    @cached_property
    def data_part(self) -> Flags:
        """The places of the vector that the data see: covariance and means."""
        found = np.zeros(self.size, dtype=bool)
        found[self.parts[1]] = self._lower[0] < self.seen
        means = self.parts[2]
        found[means] = np.arange(means.stop - means.start) < self.seen
        return found

    @cached_property
    def spread(self) -> Floats:
        """Standard deviations of what is seen, in the fit."""
        return np.asarray(np.sqrt((self.root**2).sum(axis=1)))

    @cached_property
    def weights(self) -> Ints:
        """The free parameters that are weights, as the space numbers them."""
        return np.unique(self.space.T_at[:, 2])

    @cached_property
    def _weight_of(self) -> Ints:
        return np.searchsorted(self.weights, self.space.T_at[:, 2])

    @cached_property
    def _lower(self) -> tuple[Ints, Ints]:
        return np.tril_indices(len(self.root))

    @cached_property
    def _diagonal(self) -> Ints:
        return np.arange(len(self.root))

    @cached_property
    def weight_units(self) -> Floats:
        """What a weight of 1 in the vector is: a unit between standardized variables, over the root of n."""
        units = np.ones(len(self.weights))
        rows, columns = self.space.T_at[:, 0], self.space.T_at[:, 1]
        units[self._weight_of] = self.spread[columns] / self.spread[rows]
        return np.asarray(units / np.sqrt(self.n))

    @cached_property
    def _root_units(self) -> Floats:
        i, j = self._lower
        return np.asarray(np.where(i == j, 1.0 / np.sqrt(2.0 * self.n), 1.0 / np.sqrt(self.n)))

    @cached_property
    def parts(self) -> tuple[slice, slice, slice, slice]:
        """Where weights, covariance, means and loadings stand in the vector."""
        p = len(self.root)
        sizes = (len(self.weights), p * (p + 1) // 2, p if self.with_means else 0, len(self.space.C_at))
        ends = np.cumsum((0, *sizes))
        a, b, c, d = (slice(int(x), int(y)) for x, y in pairwise(ends))
        return a, b, c, d

    @property
    def size(self) -> int:
        """Length of the vector."""
        return int(self.parts[3].stop)

    @cached_property
    def reach(self) -> tuple[Floats, Floats]:
        """Bounds of the vector that no end of an interval comes near, so that no number overflows."""
        far = np.full(self.size, 40.0 + np.sqrt(self.n))
        far[self.parts[0]] = FARTHEST * np.sqrt(self.n)
        return -far, far

    def units_at(self, vector: Floats) -> Floats:
        """Units for a program that begins at a vector: far out a weight moves by shares of itself."""
        found = np.ones(self.size)
        weights = self.parts[0]
        found[weights] = np.maximum(1.0, np.abs(vector[weights]) / (LARGE * np.sqrt(self.n)))
        return found

    def place(self, vector: Floats) -> Place:
        """The model at a point."""
        weights, covariance, means, loadings = self.parts
        space, p = self.space, len(self.root)
        T = space.T0.copy()
        T[space.T_at[:, 0], space.T_at[:, 1]] = (vector[weights] * self.weight_units)[self._weight_of]
        M = np.zeros((p, p))
        M[self._lower] = vector[covariance] * self._root_units
        grown = np.exp(M.diagonal())
        M[self._diagonal, self._diagonal] = grown
        root = self.root @ M
        cov = root @ root.T
        mean = self.mean
        if self.with_means:
            mean = mean + self.root @ vector[means] / np.sqrt(self.n)
        C = space.C0.copy()
        C[space.C_at[:, 0], space.C_at[:, 1]] = vector[loadings] * self.spread[space.C_at[:, 1]]
        A = np.eye(p) - T
        nothing = np.zeros((0, p))
        return Place(space.names, self.graph, T, nothing, A.T @ cov @ A, mean @ A, mean, cov, root, grown, C)

    def vector(self, T: Floats, cov: Floats | None = None, loadings: Floats | None = None) -> Floats:
        """The point of some weights, with a covariance or the fitted one, and the fitted mean."""
        found = np.zeros(self.size)
        space = self.space
        found[: len(self.weights)][self._weight_of] = T[space.T_at[:, 0], space.T_at[:, 1]]
        found[: len(self.weights)] /= self.weight_units
        if cov is not None:
            M = np.linalg.solve(self.root, np.linalg.cholesky(cov))
            M[self._diagonal, self._diagonal] = np.log(M[self._diagonal, self._diagonal])
            found[self.parts[1]] = M[self._lower] / self._root_units
        if loadings is not None:
            found[self.parts[3]] = loadings[space.C_at[:, 0], space.C_at[:, 1]] / self.spread[space.C_at[:, 1]]
        return found

    def pull(self, place: Place, lines: Lines) -> Floats:
        """Derivatives in the arrays of a model as derivatives in the vector, one line for each number."""
        weights, covariance, means, loadings = self.parts
        found = np.zeros((len(lines.T), self.size))
        A = place.A
        omega = lines.omega + lines.own
        found[:, weights] = self._by_weight(lines.T - 2.0 * (place.cov @ A) @ omega)
        M = 2.0 * self.root.T @ (lines.sigma + A @ omega @ A.T) @ place.root
        M[:, self._diagonal, self._diagonal] *= place.grown
        found[:, covariance] = M[:, self._lower[0], self._lower[1]] * self._root_units
        if self.with_means:
            found[:, means] = lines.mean @ self.root / np.sqrt(self.n)
        if loadings.stop > loadings.start:
            k, j, _ = self.space.C_at.T
            found[:, loadings] = -2.0 * (place.loadings @ lines.own)[:, k, j] * self.spread[j]
        return found

    def _by_weight(self, T: Floats) -> Floats:
        entries = T[:, self.space.T_at[:, 0], self.space.T_at[:, 1]]
        found = np.zeros((len(T), len(self.weights)))
        np.add.at(found.T, self._weight_of, entries.T)
        return np.asarray(found * self.weight_units)

    def seen_slopes(self, direction: Floats) -> tuple[Floats, Floats]:
        """A derivative along the vector, at the fit, in the means, and in the covariance: ``dq = tr(G dSigma)``."""
        p, whole = self.seen, len(self.root)
        inside, root = np.zeros((whole, whole)), self.root[:p, :p]
        inside[self._lower] = direction[self.parts[1]] / self._root_units / 2.0
        inside = inside[:p, :p]
        inside = np.where(np.eye(p, dtype=bool), inside, inside + inside.T)
        half = np.linalg.solve(root.T, inside)
        cov = np.linalg.solve(root.T, half.T).T
        mean = np.zeros(p)
        if self.with_means:
            mean = np.linalg.solve(root.T, direction[self.parts[2]][:p]) * np.sqrt(self.n)
        return mean, (cov + cov.T) / 2.0
