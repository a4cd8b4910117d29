"""The models at given values of the free coordinates, and how they move with them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from halftrek.bottom.arrays import Floats
from halftrek.graphs import Graph
from halftrek.models.kernels import quiet
from halftrek.partial.fibre.models import FibreModels
from halftrek.partial.fibre.plan import Column, Plan, places_of, plan_of


@dataclass(frozen=True, eq=False)
class Moves:
    """Derivatives in the d coordinates, on an axis before those of the matrices: T, C and Omega."""

    T: Floats
    C: Floats
    omega: Floats

    def along(self, T: Floats, omega: Floats) -> Floats:
        """``(..., d)``: how a number moves that has the slopes T and omega (symmetric)."""
        return np.asarray(
            np.einsum("...dij,...ij->...d", self.T, T) + np.einsum("...dij,...ij->...d", self.omega, omega)
        )


@dataclass(frozen=True, eq=False)
class Fibre:
    """All models of a graph with the covariance ``plan.form``: ``at(u)`` for coordinates u in their own units."""

    plan: Plan
    m: Floats

    @property
    def dimension(self) -> int:
        """How many coordinates are free; equations that remain (``left``) may bind them."""
        return len(self.plan.coordinates)

    @property
    def left(self) -> int:
        """How many equations remain."""
        return len(self.plan.left)

    @cached_property
    def units(self) -> Floats:
        """The unit of each coordinate."""
        return np.array([c.unit for c in self.plan.coordinates])

    @cached_property
    def sigma(self) -> Floats:
        """The covariance of the variables."""
        p = len(self.plan.names)
        return self.plan.form[:p, :p]

    def at(self, u: ArrayLike) -> FibreModels:
        """The models at coordinates ``(..., d)``; nan where the equations have no solution (a pole)."""
        with quiet():
            return self.models_of(self._columns(np.asarray(u, dtype=float), derivatives=False)[0])

    def both(self, u: ArrayLike) -> tuple[FibreModels, Moves]:
        """The models, and how they move."""
        p = len(self.plan.names)
        with quiet():
            columns, moves = self._columns(np.asarray(u, dtype=float), derivatives=True)
            models = self.models_of(columns)
            carried = self.sigma @ columns[..., :p, :]  # Sigma A
            change = np.swapaxes(moves[..., :p, :], -1, -2) @ carried[..., None, :, :]
            omega = change + np.swapaxes(change, -1, -2)
        return models, Moves(-moves[..., :p, :], -moves[..., p:, :], omega)

    def leftover(self, u: ArrayLike) -> tuple[Floats, Floats]:
        """What remains of the equations ``(..., L)``, zero on the fibre, and its slopes ``(..., L, d)``."""
        first, second = places_of(self.plan.left)
        with quiet():
            columns, moves = self._columns(np.asarray(u, dtype=float), derivatives=True)
            carried = self.plan.form @ columns
            found = (columns[..., first] * carried[..., second]).sum(axis=-2) - self.plan.known[first, second]
            slopes = (moves[..., first] * carried[..., None, :, :][..., second]).sum(axis=-2)
            slopes = slopes + (moves[..., second] * carried[..., None, :, :][..., first]).sum(axis=-2)
        return found, np.swapaxes(slopes, -1, -2)

    def columns(self, u: ArrayLike) -> Floats:
        """``I - T`` with the loadings, negative, below it, at coordinates ``(..., d)``."""
        with quiet():
            return self._columns(np.asarray(u, dtype=float), derivatives=False)[0]

    def models_of(self, columns: Floats) -> FibreModels:
        """The models with such columns."""
        p = len(self.plan.names)
        A = columns[..., :p, :]
        omega = np.swapaxes(A, -1, -2) @ self.sigma @ A
        omega = 0.5 * (omega + np.swapaxes(omega, -1, -2))
        T = np.eye(p) - A
        return FibreModels(self.plan.graph, self.plan.names, T, -columns[..., p:, :], omega, self.sigma, self.m)

    def _columns(self, u: Floats, *, derivatives: bool) -> tuple[Floats, Floats]:
        """``I - T`` with the loadings, negative, below it; derivatives in u on an axis before."""
        size, p, d = len(self.plan.form), len(self.plan.names), self.dimension
        axes = u.shape[:-1]
        columns = np.zeros((*axes, size, p))
        moves = np.zeros((*axes, d if derivatives else 0, size, p))
        carried, carried_moves = np.zeros_like(columns), np.zeros_like(moves)
        for step in self.plan.columns:
            self._fill(step, u, columns, moves, carried, carried_moves)
            j = step.at
            carried[..., j] = (self.plan.form @ columns[..., j, None])[..., 0]
            if moves.shape[-3]:
                carried_moves[..., j] = (self.plan.form @ moves[..., j, None])[..., 0]
        return columns, moves

    def _fill(
        self, step: Column, u: Floats, columns: Floats, moves: Floats, carried: Floats, carried_moves: Floats
    ) -> None:
        j = step.at
        a, da = columns[..., j], moves[..., j]  # views
        a[..., j] = 1.0
        moving = bool(moves.shape[-3])
        for i, k in step.free:
            a[..., i] = -u[..., k]
            if moving:
                da[..., k, i] = -1.0
        for i, value in step.held:
            a[..., i] = -value
        for i, cause, effect in step.tied:
            if effect != j or cause not in step.solved:
                a[..., i] = columns[..., cause, effect]
                da[..., i] = moves[..., cause, effect]
        if not step.solved:
            return
        shared = {i: [i, *(t for t, u_, v in step.tied if v == j and u_ == i)] for i in step.solved}
        rows = list(step.rows)
        above = np.swapaxes(carried[..., rows], -1, -2)  # (..., r, size)
        matrix = np.stack([above[..., shared[i]].sum(axis=-1) for i in step.solved], axis=-1)
        right = (above @ a[..., None])[..., 0] - self.plan.known[rows, j]
        weights = _solved(matrix, right[..., None])[..., 0]
        for k, i in enumerate(step.solved):
            a[..., shared[i]] -= weights[..., k, None]
        if moving:
            above_moves = np.swapaxes(carried_moves[..., rows], -1, -2)  # (..., d, r, size)
            by_rows = (above_moves @ a[..., None, :, None])[..., 0]
            by_own = (above[..., None, :, :] @ da[..., None])[..., 0]
            change = _solved(matrix, np.swapaxes(by_rows + by_own, -1, -2))  # (..., r, d)
            for k, i in enumerate(step.solved):
                da[..., shared[i]] -= change[..., k, :, None]


def _solved(matrix: Floats, right: Floats) -> Floats:
    """``matrix^-1 right`` of many; nan, or infinite, where a matrix is singular."""
    with quiet():
        if matrix.shape[-1] == 1:
            return np.asarray(right / matrix)
        if matrix.shape[-1] == 2:
            a, b, c, d = matrix[..., 0, 0], matrix[..., 0, 1], matrix[..., 1, 0], matrix[..., 1, 1]
            first = d[..., None] * right[..., 0, :] - b[..., None] * right[..., 1, :]
            second = a[..., None] * right[..., 1, :] - c[..., None] * right[..., 0, :]
            return np.asarray(np.stack([first, second], axis=-2) / (a * d - b * c)[..., None, None])
        try:
            return np.asarray(np.linalg.solve(matrix, right))
        except np.linalg.LinAlgError:
            flat, target = matrix.reshape(-1, *matrix.shape[-2:]), right.reshape(-1, *right.shape[-2:])
            found = np.full_like(target, np.nan)
            for k, (one, other) in enumerate(zip(flat, target, strict=True)):
                try:
                    found[k] = np.linalg.solve(one, other)
                except np.linalg.LinAlgError:
                    continue
            return found.reshape(right.shape)


def fibre_of(
    graph: Graph,
    Sigma: ArrayLike,
    mean: ArrayLike | None = None,
    names: Sequence[str] | None = None,
    prefer: Iterable[str] = (),
) -> Fibre:
    """The fibre of a (relaxed) graph at a covariance of it; ``prefer`` names edges that should be coordinates."""
    order = tuple(graph.observed if names is None else names)
    sigma = np.asarray(Sigma, dtype=float)
    m = np.zeros(len(order)) if mean is None else np.asarray(mean, dtype=float)
    return Fibre(plan_of(graph, sigma, order, prefer), m)
