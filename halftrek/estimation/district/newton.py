"""The second-order finish: damped Fisher scoring far away, Newton near the maximum, for a whole batch at once.

Along a curved valley, where loadings trade against each other and a noise variance runs into zero, both lose their way;
there every step is Newton's with negative curvatures turned round (``bent``), which costs more and gets through.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from halftrek.bottom.arrays import Flags, Floats, Ints
from halftrek.estimation.district.block import (
    State,
    evaluate,
    fisher,
    gradient,
    hessian,
    profiled_curvatures,
    residual_moments,
)
from halftrek.estimation.district.shape import Problem
from halftrek.estimation.district.steps import FAR, NEAR, RIDGE, SOLID, has_fallen, is_last
from halftrek.models.kernels import choleskys

FIRM = 0.1  # share of a pivot from which on F is convex for some way
CLOSE = 1e-2  # in coefficients between correlations and in F: bound for the same maximum


@dataclass(frozen=True, eq=False)
class Optimum:
    """Where the minimisation of F ended, for each member of the batch."""

    theta: Floats
    value: Floats
    decrement: Floats  # decrease that was left before the last step, in F per row
    iterations: Ints
    converged: Flags
    stiff: Flags  # the Hessian there is known to be safely positive definite


@dataclass(frozen=True, eq=False)
class _Step:
    move: Floats
    gain: Floats  # promised decrease of F
    newton: Flags
    stiff: Flags  # the Hessian is positive definite beyond doubt
    firm: Floats  # how far a Newton step's Hessian is from singular, 0 to 1


def minimize(
    problem: Problem,
    theta: Floats,
    *,
    max_iter: int = 200,
    tol: float = 1e-18,
    near: bool = False,
    bent: bool = False,
    starts: int = 1,
) -> Optimum:
    """Minimise F from ``theta`` (free parameters, one row for each member of the batch).

    ``near``: the start is a good one, so begin with Newton steps where the Hessian allows them. ``bent``: the start
    lies in a long valley. ``starts``: so many rows in a sequence are of one data set; one that has met another of them
    shares its end.
    """
    b = len(theta)
    end = Optimum(
        theta=np.array(theta, dtype=float),
        value=np.full(b, np.inf),
        decrement=np.full(b, np.inf),
        iterations=np.zeros(b, dtype=np.intp),
        converged=np.zeros(b, dtype=bool),
        stiff=np.zeros(b, dtype=bool),
    )
    leader, firm = np.arange(b), np.zeros(b, dtype=bool)  # whom each start follows, and who stands on firm ground
    rows = np.arange(b)  # who is still under way; the arrays below hold only those
    x, gain, damping = end.theta.copy(), np.full(b, 0.0 if near else np.inf), np.zeros(b)
    if problem.saturated:
        x = profiled(problem, x)
    state = evaluate(problem, x)
    value = state.value
    if not max_iter:
        end.value[:] = value
    usable = np.isfinite(value)
    if max_iter and not usable.all():  # no way leads from where W is not positive definite
        if not usable.any():
            return end
        rows, x, value, gain, damping = rows[usable], x[usable], value[usable], gain[usable], damping[usable]
        state = state.take(rows)
        problem = state.problem
    for taken in range(1, max_iter + 1):
        step = _bent_step(state, x, damping) if bent else _step(state, x, damping, gain)
        moved = x + step.move
        if problem.lower is not None:
            moved = np.maximum(moved, problem.lower)
        if problem.saturated:
            moved = profiled(problem, moved)
        trial = evaluate(problem, moved)
        good = np.isfinite(trial.value) & has_fallen(trial.value, value, np.minimum(step.gain, FAR))
        plain = damping == 0.0  # only then is the gain that of the full step
        done = plain & ((step.gain < tol) | (good & is_last(step.gain, step.firm)))
        gain = np.where(plain, step.gain, gain)
        if good.all():
            x, value, state = moved, trial.value, trial
        else:
            x, value = np.where(good[:, None], moved, x), np.where(good, trial.value, value)
            state = trial.but_for(~good, state)
        if not (plain.all() and good.all()):
            calmer = np.where(damping < 1e-7, 0.0, damping / 8.0)
            damping = np.where(good, calmer, np.maximum(damping * 8.0, 1e-3))
        leave = done | (damping >= 1e9)
        if taken == max_iter:
            leave = np.ones(len(rows), dtype=bool)
        if leave.any():
            out = rows[leave]
            end.theta[out], end.value[out], end.decrement[out] = x[leave], value[leave], gain[leave]
            end.iterations[out], end.converged[out] = taken, done[leave]
            end.stiff[out] = (done & step.stiff)[leave]
        if starts > 1 and taken < max_iter:
            end.theta[rows], end.value[rows] = x, value
            end.stiff[rows] = step.stiff & (done | (good & ~leave))
            firm[rows] = good & (step.firm > FIRM)
            leave |= np.isin(rows, _followed(end, firm, leader, rows[~leave], starts))
        if leave.any():
            stay = ~leave
            if not stay.any():
                break
            rows, x, value, gain, damping = rows[stay], x[stay], value[stay], gain[stay], damping[stay]
            state = state.take(np.flatnonzero(stay))
            problem = state.problem
    return end if starts == 1 else _led(end, leader, starts)


def _followed(end: Optimum, firm: Flags, leader: Ints, rows: Ints, starts: int) -> Ints:
    """Which starts under way have met another of their data set, which is written down as their leader.

    They are bound for the same maximum: F is convex where the one is, and close by the other has arrived, or stands on
    firm ground as the one does. Of two under way the first goes on.
    """
    rows = rows[end.stiff[rows]]
    group = (rows // starts * starts)[:, None] + np.arange(starts)
    close = firm[group] & firm[rows, None] & (group < rows[:, None]) | end.converged[group]
    close &= end.stiff[group] & (leader[group] == group)
    close &= np.abs(end.value[group] - end.value[rows, None]) < CLOSE
    close &= np.abs(end.theta[group] - end.theta[rows, None]).max(axis=2) < CLOSE
    met = close.any(axis=1)
    leader[rows[met]] = group[met, close[met].argmax(axis=1)]
    return np.asarray(rows[met])


def _led(end: Optimum, leader: Ints, starts: int) -> Optimum:
    """The ends with those of leaders for all that follow."""
    for _ in range(starts):  # the leader of a leader
        leader = leader[leader]
    new = {field.name: getattr(end, field.name)[leader] for field in fields(Optimum)}
    return Optimum(**new | {"iterations": end.iterations})


def profiled(problem: Problem, theta: Floats) -> Floats:
    """The same coefficients with the best error covariance for them, that of the residuals.

    Where instruments are weak the maximum lies at the end of a long curved valley in (T, W), less curved in T alone.
    """
    at, m = problem.shape.at, problem.shape.slots
    T = np.zeros((len(theta), m, problem.shape.size))
    T[:, at.slot, at.column] = theta[:, at.t]
    R = residual_moments(problem.G, T)
    best = theta.copy()
    best[:, at.w] = R[:, at.first, at.second]
    best[:, at.v] = R[:, at.noisy, at.noisy]
    return best


def _step(state: State, at: Floats, damping: Floats, last_gain: Floats) -> _Step:
    """A descent step for each member, and the decrease of F that it promises.

    By Fisher scoring, or by Newton near the maximum wherever the exact (damped) Hessian is positive definite. What
    is done for a member does not depend on the others, and no matrix is made that its step has no use for.
    """
    b = len(at)
    step = _Step(np.empty_like(at), np.empty(b), np.zeros(b, dtype=bool), np.zeros(b, dtype=bool), np.zeros(b))
    simple = (damping == 0.0) & (state.problem.saturated and state.problem.shape.slots > 0)
    if simple.any():
        rows = np.flatnonzero(simple)
        _put(step, rows, _profiled_step(_some(state, rows), last_gain[rows]))
    if not simple.all():
        rows = np.flatnonzero(~simple)
        _put(step, rows, _full_step(_some(state, rows), at[rows], damping[rows], last_gain[rows]))
    return step


def _profiled_step(state: State, last_gain: Floats) -> _Step:
    """Where W follows from the coefficients (see ``profiled``) and nothing is damped, only these have to be moved."""
    shape = state.problem.shape
    at, m = shape.at, shape.slots
    slope = -2.0 * state.V[:, at.slot, at.column]
    information, exact = profiled_curvatures(state)
    none = np.zeros(len(slope))
    moments = state.problem.G[:, :m, :m].diagonal(axis1=1, axis2=2)
    scale = np.maximum(2.0 * moments * state.K.diagonal(axis1=1, axis2=2)[:, at.column], 1e-300)
    exact = _damped(exact, scale, none)
    pivots = choleskys(exact).diagonal(axis1=1, axis2=2) ** 2
    fine = np.isfinite(pivots).all(axis=1)
    share = np.where(fine, (pivots / scale).min(axis=1, initial=1.0), 0.0)
    move, gain = np.zeros((len(slope), shape.parameters)), np.zeros(len(slope))
    newton = fine & (last_gain < NEAR)
    far = np.flatnonzero(~newton)
    move[far, :m], gain[far] = _solve(_damped(information[far], scale[far], none[far]), slope[far])
    newton[far] = fine[far] & (gain[far] < NEAR)
    near = np.flatnonzero(newton)
    move[near, :m], gain[near] = _solve(exact[near], slope[near])
    return _Step(move, gain, newton, newton & (share > SOLID), newton * share)


def _full_step(state: State, at: Floats, damping: Floats, last_gain: Floats) -> _Step:
    """A step in all parameters."""
    slope, pinned = _slope(state, at)
    close = np.flatnonzero((last_gain < NEAR) & (damping == 0.0))
    exact = None
    if len(close):
        exact = _newton(_some(state, close), slope[close], damping[close], _rows(pinned, close), None)
        if exact.newton.all() and len(close) == len(at):
            return exact
    b = len(at)
    step = _Step(np.empty_like(at), np.empty(b), np.zeros(b, dtype=bool), np.zeros(b, dtype=bool), np.zeros(b))
    left = np.ones(b, dtype=bool)
    if exact is not None:
        left[close[exact.newton]] = False
        _put(step, close[exact.newton], _chosen(exact, exact.newton))
    rows = np.flatnonzero(left)
    state, slope, damping, pinned = _some(state, rows), slope[rows], damping[rows], _rows(pinned, rows)
    information = fisher(state)
    if pinned is not None:
        information = without(information, pinned)
    scale = _diagonal(information)
    step.move[rows], step.gain[rows] = _solve(_damped(information, scale, damping), slope)
    near = step.gain[rows] < NEAR
    if state.problem.shape.loadings:  # where loadings fold, information vanishes and only curvature is left
        near |= _vanishing(information, scale)
    again = np.flatnonzero(near)
    if len(again):
        exact = _newton(_some(state, again), slope[again], damping[again], _rows(pinned, again), scale[again])
        _put(step, rows[again[exact.newton]], _chosen(exact, exact.newton))
    return step


def _put(step: _Step, rows: Ints, part: _Step) -> None:
    """Write the steps of some members."""
    for field in fields(_Step):
        getattr(step, field.name)[rows] = getattr(part, field.name)


def _chosen(step: _Step, rows: Flags) -> _Step:
    return _Step(**{field.name: getattr(step, field.name)[rows] for field in fields(_Step)})


def _some(state: State, rows: Ints) -> State:
    return state if len(rows) == len(state.value) else state.take(rows)


def _rows(pinned: Flags | None, rows: Ints) -> Flags | None:
    return None if pinned is None else pinned[rows]


def _slope(state: State, at: Floats) -> tuple[Floats, Flags | None]:
    """The gradient without what pushes against a bound, and where that is, if anywhere."""
    slope = gradient(state)
    lower = state.problem.lower
    if lower is None:
        return slope, None
    pinned = (at <= lower + 1e-9) & (slope > 0.0)
    return (np.where(pinned, 0.0, slope), pinned) if pinned.any() else (slope, None)


def _bent_step(state: State, at: Floats, damping: Floats) -> _Step:
    """Newton steps with every curvature counted as positive."""
    slope, pinned = _slope(state, at)
    exact = hessian(state)
    if pinned is not None:
        exact = without(exact, pinned)
    root = np.sqrt(_diagonal(exact))
    values, vectors = np.linalg.eigh(exact / (root[:, :, None] * root[:, None, :]))
    bend = np.maximum(np.abs(values), RIDGE) + damping[:, None]
    along = (vectors.transpose(0, 2, 1) @ (slope / root)[:, :, None])[:, :, 0]
    move = -(vectors @ (along / bend)[:, :, None])[:, :, 0] / root
    plain = values[:, 0] > 0.0
    return _Step(move, -0.5 * (slope * move).sum(axis=1), plain, values[:, 0] > SOLID, np.maximum(values[:, 0], 0.0))


def _newton(state: State, slope: Floats, damping: Floats, pinned: Flags | None, scale: Floats | None) -> _Step:
    """Newton steps; ``newton`` is False where the damped Hessian is not positive definite."""
    exact = hessian(state)
    if pinned is not None:
        exact = without(exact, pinned)
    own = _diagonal(exact)
    damped = _damped(exact, own if scale is None else scale, damping)
    pivots = np.diagonal(choleskys(damped), axis1=1, axis2=2) ** 2
    fine = np.isfinite(pivots[:, -1])
    share = (pivots / own).min(axis=1)
    safe = damped if fine.all() else np.where(fine[:, None, None], damped, np.eye(damped.shape[1]))
    move, gain = _solve(safe, slope)
    return _Step(move, gain, fine, fine & (share > SOLID), np.where(fine, share, 0.0))


def _diagonal(matrix: Floats) -> Floats:
    scale = np.abs(np.diagonal(matrix, axis1=1, axis2=2))
    return np.asarray(np.maximum(scale, 1e-12 * scale.max(axis=1, keepdims=True, initial=1e-12)))


def _damped(matrix: Floats, scale: Floats, damping: Floats) -> Floats:
    size = matrix.shape[1]
    damped = matrix.copy()
    damped.reshape(len(matrix), size * size)[:, :: size + 1] += (damping + RIDGE)[:, None] * scale
    return damped


def _solve(curvature: Floats, slope: Floats) -> tuple[Floats, Floats]:
    step = -np.linalg.solve(curvature, slope[:, :, None])[:, :, 0]
    return step, -0.5 * (slope * step).sum(axis=1)


def _vanishing(information: Floats, scale: Floats) -> Flags:
    """Where an information matrix, brought to a unit diagonal, has an eigenvalue below 1e-6."""
    less = information.copy()
    less.reshape(len(less), -1)[:, :: less.shape[1] + 1] -= 1e-6 * scale
    return np.asarray(np.isnan(choleskys(less)[:, -1, -1]))


def without(matrix: Floats, pinned: Flags) -> Floats:
    """The matrix with rows and columns of pinned parameters replaced by those of the identity."""
    free = ~pinned
    return np.where(free[:, :, None] & free[:, None, :], matrix, np.eye(matrix.shape[1]))
