"""The way to the maximum: scoring steps that are damped while they promise too much, then Newton's."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from halftrek.bottom.arrays import Flags, Floats
from halftrek.bottom.threads import one_thread
from halftrek.estimation.hidden.problem import Place, Problem

SETTLED = 1e-9  # half the squared length of the slope, per row, in units of the information
NEAR = 1e-3  # the same from which on Newton's own curvature is worth its work
FLAT = 1e-10  # eigenvalue of the scaled information that counts as none
FAR = 1e2  # times that, where an estimate within a few times is enough
SHORTEST = 1e-9  # share of a step below which none is tried


@dataclass(frozen=True, eq=False)
class Ended:
    """Where a search ended: the point, whether it is a maximum, and how many steps it took."""

    point: Place
    converged: bool
    steps: int
    flat: int  # directions of the parameters without information
    pinned: Flags  # parameters at their lower bound


def climb(problem: Problem, theta: Floats, lower: Floats, max_iter: int) -> Ended | None:
    """Up from a point to the next maximum; None if the point is none of the model's."""
    point = problem.at(np.maximum(theta, lower))
    if point is None:
        return None
    damping, n = 0.0, problem.rows
    flat, pinned, gain = 0, np.zeros(problem.size, dtype=bool), np.inf
    for step in range(max_iter):
        near = gain < NEAR
        found = problem.informations(point, ("expected", "observed") if near else ("expected",))
        pinned = (point.theta <= lower * (1.0 + 1e-6)) & (point.gradient < 0.0)
        model = _Model.of(found[0], point.gradient, pinned)
        gain, flat = model.promise / n, model.flat
        if gain < SETTLED * 1e-8:
            return Ended(point, True, step, flat, pinned)
        newton = _newton(found[-1], point.gradient, pinned) if near and not flat else None
        if newton is not None:
            moved = _tried(problem, point, newton, lower)
            if moved is not None:
                point = moved
                continue
        moved, damping = _damped(problem, point, model, lower, damping)
        if moved is None:
            return Ended(point, gain < SETTLED, step, flat, pinned)
        point = moved
    return Ended(point, gain < SETTLED, max_iter, flat, pinned)


@dataclass(frozen=True, eq=False)
class _Model:
    """A quadratic around a point: its bend, brought to a unit diagonal, and its slope.

    Where all directions carry information a root of the matrix does for everything; otherwise it is taken apart.
    """

    scale: Floats
    matrix: Floats
    slope: Floats

    @staticmethod
    def of(matrix: Floats, gradient: Floats, pinned: Flags) -> _Model:
        scale = np.sqrt(np.maximum(np.diag(matrix), 1e-300))
        inside = matrix / np.outer(scale, scale)
        inside[pinned], inside[:, pinned] = 0.0, 0.0
        inside[pinned, pinned] = 1.0
        return _Model(scale, inside, np.where(pinned, 0.0, gradient / scale))

    @cached_property
    def _plain(self) -> tuple[Floats, bool] | None:
        """The root of the matrix as it is."""
        return _root(self.matrix, 0.0)

    @cached_property
    def _regular(self) -> bool:
        """True if no eigenvalue is so small that its direction counts as without information."""
        from scipy.linalg.lapack import dpocon

        largest = float(np.abs(self.matrix).sum(axis=1).max(initial=0.0))
        if self._plain is not None and len(self.slope):
            # how near to singular it is can be estimated for little; only where that is near, it is looked at in full
            share, failed = dpocon(self._plain[0], largest, uplo="L")
            if not failed and share > FAR * FLAT:
                return True
        return _root(self.matrix, -FLAT * largest) is not None

    @cached_property
    def _axes(self) -> tuple[Floats, Floats]:
        """Eigenvalues and eigenvectors with information."""
        values, vectors = np.linalg.eigh(self.matrix)
        known = values > FLAT * max(float(values[-1]), 1e-300)
        return values[known], vectors[:, known]

    @property
    def flat(self) -> int:
        """How many directions have no information."""
        return 0 if self._regular else len(self.slope) - len(self._axes[0])

    @cached_property
    def promise(self) -> float:
        """How much the quadratic rises to its top."""
        return self.step(0.0)[1]

    def step(self, damping: float) -> tuple[Floats, float]:
        """The step, and what it promises; ``damping`` makes all axes steeper."""
        root = None
        if self._regular:
            root = self._plain if damping == 0.0 else _root(self.matrix, damping)
        if root is not None:
            move = _solved(root, self.slope)
        else:
            values, vectors = self._axes
            move = vectors @ ((vectors.T @ self.slope) / (values + damping))
        promised = float(self.slope @ move - 0.5 * move @ self.matrix @ move)
        return move / self.scale, promised


def _root(matrix: Floats, more: float) -> tuple[Floats, bool] | None:
    """The root of the matrix with something added to its diagonal; None if it is not positive definite."""
    from scipy.linalg import cho_factor

    raised = matrix.copy(order="F")  # as LAPACK wants it
    raised.flat[:: len(matrix) + 1] += more
    try:
        with one_thread():  # of scipy's own BLAS, which may have been loaded after the call of the user began
            return cho_factor(raised, lower=True, overwrite_a=True, check_finite=False)  # type: ignore[no-any-return]
    except np.linalg.LinAlgError:
        return None


def _solved(root: tuple[Floats, bool], right: Floats) -> Floats:
    from scipy.linalg import cho_solve

    return np.asarray(cho_solve(root, right, check_finite=False))


def _newton(matrix: Floats, gradient: Floats, pinned: Flags) -> Floats | None:
    """Newton's step; None where the likelihood does not bend down in all directions."""
    free = np.flatnonzero(~pinned)
    inside = matrix[np.ix_(free, free)]
    scale = np.sqrt(np.abs(np.diag(inside)))
    root = _root(inside / np.outer(scale, scale), 0.0) if (scale > 0.0).all() else None
    if root is None:
        return None
    move = np.zeros_like(gradient)
    move[free] = _solved(root, gradient[free] / scale) / scale
    return move


def _tried(problem: Problem, point: Place, move: Floats, lower: Floats) -> Place | None:
    """The point after a step, if it is not lower but for rounding and its slope is smaller."""
    trial = problem.at(np.maximum(point.theta + move, lower))
    if trial is None or trial.value < point.value - 1e-12 * (1.0 + abs(point.value)):
        return None
    calmer = trial.value > point.value or np.abs(trial.gradient).max() < np.abs(point.gradient).max()
    return trial if calmer else None


def _damped(problem: Problem, point: Place, model: _Model, lower: Floats, damping: float) -> tuple[Place | None, float]:
    """The next point, and the damping to begin the next step with; no point where none is higher."""
    for _ in range(40):
        move, promised = model.step(damping)
        trial = problem.at(np.maximum(point.theta + move, lower))
        rise = -np.inf if trial is None else trial.value - point.value
        if trial is not None and (rise > 1e-3 * promised or _even(point, trial, promised)):
            return trial, 0.0 if rise > 0.5 * promised and damping < 1e-3 else damping / 5.0
        damping = max(4.0 * damping, 1e-4)
    return None, damping


def _even(point: Place, trial: Place, promised: float) -> bool:
    """True where a step is too small to show in the value, and leads to a smaller slope."""
    rounding = 1e-11 * (1.0 + abs(point.value))
    small = promised < rounding and trial.value > point.value - rounding
    return small and bool(np.abs(trial.gradient).max() < np.abs(point.gradient).max())
