"""The second-order finish: damped Fisher scoring far away, Newton near the maximum, for a whole batch at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from halftrek.estimation.block import Problem, State, cholesky_or_nan, evaluate, fisher, gradient, hessian
from halftrek.model import Floats

NEAR = 1e-2  # a predicted decrease of F below this: try the exact Hessian
SLACK = 1e-13  # F is not known better than this
RIDGE = 1e-11  # keeps flat directions solvable; the gradient has nothing in them


@dataclass(frozen=True, eq=False)
class Optimum:
    """Where the minimisation of F ended, for each member of the batch."""

    theta: Floats
    value: Floats
    decrement: Floats  # predicted decrease that was left, in F per row
    iterations: NDArray[np.intp]
    converged: NDArray[np.bool_]


def minimize(problem: Problem, theta: Floats, *, max_iter: int = 200, tol: float = 1e-18) -> Optimum:
    """Minimise F from ``theta`` (free parameters, one row for each member of the batch)."""
    x = np.array(theta, dtype=float)
    b = len(x)
    decrement = np.full(b, np.inf)
    iterations = np.zeros(b, dtype=np.intp)
    converged = np.zeros(b, dtype=bool)
    damping = np.zeros(b)
    active = np.arange(b)
    part = problem
    state = evaluate(part, x)
    value = state.value.copy()
    for _ in range(max_iter):
        at = x[active]
        step, gain = _step(state, at, damping[active])
        moved = at + step if part.lower is None else np.maximum(at + step, part.lower)
        trial = evaluate(part, moved)
        drop = value[active] - trial.value
        good = np.isfinite(trial.value) & (drop >= 1e-4 * np.minimum(gain, 1.0) - SLACK * (1.0 + np.abs(trial.value)))
        done = gain < tol
        decrement[active] = gain
        x[active[good]] = moved[good]
        value[active[good]] = trial.value[good]
        iterations[active] += 1
        converged[active[done]] = True
        bolder = np.where(damping[active] < 1e-7, 0.0, damping[active] / 8.0)
        shyer = np.maximum(damping[active] * 8.0, 1e-3)
        damping[active] = np.where(good, bolder, shyer)
        keep = ~done & (damping[active] < 1e9)
        if not keep.any():
            break
        if keep.all() and good.all():
            state = trial
            continue
        if not keep.all():
            active = active[keep]
            part = problem.take(active)
        state = evaluate(part, x[active])
    return Optimum(x, value, decrement, iterations, converged)


def _step(state: State, at: Floats, damping: Floats) -> tuple[Floats, Floats]:
    """A descent step for each member, and the decrease of F that it promises.

    By Fisher scoring, or by Newton near the maximum wherever the exact (damped) Hessian is positive definite.
    """
    slope = gradient(state)
    information = fisher(state)
    lower = state.problem.lower
    pinned = None if lower is None else (at <= lower + 1e-9) & (slope > 0.0)
    if pinned is not None and pinned.any():
        slope = np.where(pinned, 0.0, slope)
        information = without(information, pinned)
    scale = np.diagonal(information, axis1=1, axis2=2)
    scale = np.maximum(scale, 1e-12 * scale.max(axis=1, keepdims=True, initial=1e-12))
    weight = scale[:, :, None] * np.eye(information.shape[1])
    damped = (damping + RIDGE)[:, None, None] * weight
    step, gain = _solve(information + damped, slope)
    near = gain < NEAR
    if state.problem.shape.loadings:  # where loadings fold, information vanishes and only curvature is left
        near |= _lowest_share(information, scale) < 1e-6
    if near.any():
        exact = hessian(state)
        if pinned is not None and pinned.any():
            exact = without(exact, pinned)
        exact = np.where(near[:, None, None], exact, information) + damped
        trusted = near & np.isfinite(cholesky_or_nan(exact)[:, -1, -1])
        if trusted.any():
            faster, promise = _solve(np.where(trusted[:, None, None], exact, information + damped), slope)
            step = np.where(trusted[:, None], faster, step)
            gain = np.where(trusted, promise, gain)
    return step, gain


def _solve(curvature: Floats, slope: Floats) -> tuple[Floats, Floats]:
    step = -np.linalg.solve(curvature, slope[:, :, None])[:, :, 0]
    return step, -0.5 * (slope * step).sum(axis=1)


def _lowest_share(information: Floats, scale: Floats) -> Floats:
    """Lowest eigenvalue of an information matrix that has been brought to a unit diagonal."""
    root = np.sqrt(scale)
    return np.asarray(np.linalg.eigvalsh(information / (root[:, :, None] * root[:, None, :]))[:, 0])


def without(matrix: Floats, pinned: NDArray[np.bool_]) -> Floats:
    """The matrix with rows and columns of pinned parameters replaced by those of the identity."""
    free = ~pinned
    return np.where(free[:, :, None] & free[:, None, :], matrix, np.eye(matrix.shape[1]))
