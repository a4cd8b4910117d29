"""The second-order finish: damped Fisher scoring far away, Newton near the maximum, for a whole batch at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from halftrek.estimation.block import Problem, State, cholesky_or_nan, evaluate, fisher, gradient, hessian
from halftrek.model import Floats

NEAR = 1e-2  # a predicted decrease of F below this: try the exact Hessian
SLACK = 1e-13  # F is not known better than this
QUADRATIC = 1e-14  # a Newton step on firm ground from here leaves nothing that shows in ten digits
RIDGE = 1e-11  # keeps flat directions solvable; the gradient has nothing in them


@dataclass(frozen=True, eq=False)
class Optimum:
    """Where the minimisation of F ended, for each member of the batch."""

    theta: Floats
    value: Floats
    decrement: Floats  # decrease that was left before the last step, in F per row
    iterations: NDArray[np.intp]
    converged: NDArray[np.bool_]
    stiff: NDArray[np.bool_]  # the Hessian there is known to be safely positive definite


@dataclass(frozen=True, eq=False)
class _Step:
    move: Floats
    gain: Floats  # promised decrease of F
    newton: NDArray[np.bool_]
    stiff: NDArray[np.bool_]  # the Hessian is positive definite beyond doubt
    firm: NDArray[np.bool_]  # ... and far from singular


def minimize(
    problem: Problem, theta: Floats, *, max_iter: int = 200, tol: float = 1e-18, near: bool = False
) -> Optimum:
    """Minimise F from ``theta`` (free parameters, one row for each member of the batch).

    ``near``: the start is a good one, so begin with Newton steps where the Hessian allows them.
    """
    x = np.array(theta, dtype=float)
    b = len(x)
    gain, damping = np.full(b, 0.0 if near else np.inf), np.zeros(b)
    iterations = np.zeros(b, dtype=np.intp)
    converged, stiff = np.zeros(b, dtype=bool), np.zeros(b, dtype=bool)
    active = np.arange(b)
    part = problem
    state = evaluate(part, x)
    value = state.value.copy()
    for _ in range(max_iter):
        at, damped = x[active], damping[active]
        step = _step(state, at, damped, gain[active])
        moved = at + step.move if part.lower is None else np.maximum(at + step.move, part.lower)
        trial = evaluate(part, moved)
        here = value[active]
        good = trial.value <= here - 1e-4 * np.minimum(step.gain, 1.0) + SLACK * (1.0 + np.abs(here))
        plain = damped == 0.0  # only then is the gain that of the full step
        # on firm ground Newton squares the error: its step lands where the next gain would be below tol
        done = plain & (step.gain < np.where(good & step.firm, max(tol, QUADRATIC), tol))
        gain[active] = np.where(plain, step.gain, gain[active])
        stiff[active] = step.stiff
        x[active[good]] = moved[good]
        value[active[good]] = trial.value[good]
        iterations[active] += 1
        converged[active[done]] = True
        if done.all():
            break
        damping[active] = np.where(good, np.where(damped < 1e-7, 0.0, damped / 8.0), np.maximum(damped * 8.0, 1e-3))
        keep = ~done & (damping[active] < 1e9)
        if keep.all() and good.all():
            state = trial
            continue
        active = active[keep]
        if not len(active):
            break
        part = problem.take(active)
        state = evaluate(part, x[active])
    return Optimum(x, value, gain, iterations, converged, stiff & converged)


def _step(state: State, at: Floats, damping: Floats, last_gain: Floats) -> _Step:
    """A descent step for each member, and the decrease of F that it promises.

    By Fisher scoring, or by Newton near the maximum wherever the exact (damped) Hessian is positive definite.
    """
    slope = gradient(state)
    lower = state.problem.lower
    pinned = None if lower is None else (at <= lower + 1e-9) & (slope > 0.0)
    if pinned is not None:
        if pinned.any():
            slope = np.where(pinned, 0.0, slope)
        else:
            pinned = None
    if ((last_gain < NEAR) & (damping == 0.0)).all():
        exact = _newton(state, slope, damping, pinned, None)
        if exact.newton.all():
            return exact
    information = fisher(state)
    if pinned is not None:
        information = without(information, pinned)
    scale = _diagonal(information)
    move, gain = _solve(_damped(information, scale, damping), slope)
    no = np.zeros(len(gain), dtype=bool)
    near = gain < NEAR
    if state.problem.shape.loadings:  # where loadings fold, information vanishes and only curvature is left
        near |= _lowest_share(information, scale) < 1e-6
    if not near.any():
        return _Step(move, gain, no, no, no)
    exact = _newton(state, slope, damping, pinned, scale)
    use = near & exact.newton
    move, gain = np.where(use[:, None], exact.move, move), np.where(use, exact.gain, gain)
    return _Step(move, gain, use, use & exact.stiff, use & exact.firm)


def _newton(
    state: State, slope: Floats, damping: Floats, pinned: NDArray[np.bool_] | None, scale: Floats | None
) -> _Step:
    """Newton steps; ``newton`` is False where the damped Hessian is not positive definite."""
    exact = hessian(state)
    if pinned is not None:
        exact = without(exact, pinned)
    own = _diagonal(exact)
    damped = _damped(exact, own if scale is None else scale, damping)
    pivots = np.diagonal(cholesky_or_nan(damped), axis1=1, axis2=2) ** 2
    fine = np.isfinite(pivots[:, -1])
    share = (pivots / own).min(axis=1)
    safe = damped if fine.all() else np.where(fine[:, None, None], damped, np.eye(damped.shape[1]))
    move, gain = _solve(safe, slope)
    return _Step(move, gain, fine, fine & (share > 1e-7), fine & (share > 1e-3))


def _diagonal(matrix: Floats) -> Floats:
    scale = np.abs(np.diagonal(matrix, axis1=1, axis2=2))
    return np.maximum(scale, 1e-12 * scale.max(axis=1, keepdims=True, initial=1e-12))


def _damped(matrix: Floats, scale: Floats, damping: Floats) -> Floats:
    size = matrix.shape[1]
    damped = matrix.copy()
    damped.reshape(len(matrix), -1)[:, :: size + 1] += (damping + RIDGE)[:, None] * scale
    return damped


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
