"""Maximum likelihood for districts of one shape, on the scale of correlations, a whole batch at once."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from halftrek.estimation.block import cholesky_or_nan, evaluate, hessian
from halftrek.estimation.em import em_step, has_em_step
from halftrek.estimation.giant import LARGE, newton_giant
from halftrek.estimation.loadings import split_covariances
from halftrek.estimation.newton import Optimum, minimize, without
from halftrek.estimation.plan import Task
from halftrek.estimation.ragged import Ends
from halftrek.estimation.shape import Problem, Shape, error_matrices
from halftrek.estimation.single import STEPS, Found, fits_alone, newton_single
from halftrek.estimation.starts import random_start, regression_start, start_from
from halftrek.model import Floats

NEAR_FLOOR = float(np.log(1e4))  # a share of 1e-6 is zero for all purposes
FLOOR = float(np.log(1e-10))  # of a noise variance, as a share of the variable's own variance
WARM_UP = 4  # EM steps before the second-order finish where the start may be poor
STARTS = 8
BARRIERS = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10)
EM_SETTLED = 1e-12  # rise of the likelihood in one EM step, per row
ENOUGH = 1e-11  # a predicted decrease of F that no longer matters

Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Settings:
    """How hard to try: number of starts (None: as the district needs), steps, and whether to finish by Newton."""

    starts: int | None = None
    max_iter: int = 200
    finish: bool = True
    few_rows: bool = False
    start: Floats | None = None  # coefficients to begin with, nan where there is no idea

    @property
    def plain(self) -> bool:
        """True if nothing is asked for but the maximum."""
        return self.finish and self.start is None

    @property
    def usual(self) -> bool:
        """True if a district without bows is to be fitted from one start."""
        one = self.starts == 1 or (self.starts is None and not self.few_rows)
        return self.plain and one and self.max_iter >= STEPS


@dataclass(frozen=True, eq=False)
class Piece:
    """The solution for each member of the batch, and how it went.

    ``C`` has a row for every hidden cause of the task: those with loadings of their own, then those of two children.
    """

    t: Floats
    W: Floats
    C: Floats
    value: Floats
    iterations: NDArray[np.intp]
    starts: NDArray[np.intp]
    agreeing: NDArray[np.intp]
    several: Flags  # equally good starts ended at different coefficients
    converged: Flags
    flat: NDArray[np.intp]
    boundary: Flags
    ridge: Flags  # no maximum was reached, and the likelihood is almost flat in some direction

    def with_rows(self, rows: NDArray[np.intp], other: Piece) -> Piece:
        """The piece with some members of the batch done again; the steps of both count."""
        new = {}
        for field in fields(self):
            new[field.name] = getattr(self, field.name).copy()  # several fields may be one array
            new[field.name][rows] = getattr(other, field.name)
        new["iterations"][rows] += self.iterations[rows]
        return Piece(**new)


def solve_district(task: Task, G: Floats, scale: Floats, settings: Settings) -> Piece:
    """Fit a task to second moments ``G`` of its (slots, members), which have been divided by ``scale``."""
    return split_latents(task, _fit(task, make_problem(task, G, scale), scale, settings), G, scale, settings)


def split_latents(task: Task, piece: Piece, G: Floats, scale: Floats, settings: Settings) -> Piece:
    """Give hidden causes of two children their loadings, out of the error covariances that were fitted."""
    if not task.pair_latents:
        return piece
    owned = tuple(ends for _, ends in task.pair_latents)
    others = tuple(p for p in task.shape.pairs if p not in owned) + tuple((i, j) for i, j, _ in task.fixed_pairs)
    loadings, share = split_covariances(piece.W, owned, others)
    for e, (i, j) in enumerate(owned):
        row = len(task.latents) + e
        piece.C[:, row, i], piece.C[:, row, j] = loadings[:, e, 0], loadings[:, e, 1]
        piece.W[:, i, i] -= loadings[:, e, 0] ** 2
        piece.W[:, j, j] -= loadings[:, e, 1] ** 2
        piece.W[:, i, j] = piece.W[:, j, i] = 0.0
    if piece.W.min() < 0.0:  # by rounding; what is not rounding is done again below
        members = np.arange(task.shape.size)
        piece.W[:, members, members] = np.maximum(piece.W[:, members, members], 0.0)
    piece.boundary[:] |= np.abs(share) <= 1e-9
    outside = np.flatnonzero(share < -1e-9)
    if len(outside):  # no hidden causes have these covariances: their maximum lies on the boundary
        explicit = task.explicit()
        rest = make_problem(explicit, G[outside], scale[outside])
        return piece.with_rows(outside, _fit(explicit, rest, scale[outside], settings))
    return piece


def make_problem(task: Task, G: Floats, scale: Floats) -> Problem:
    """The problem of a task on the scale of correlations, with what is fixed or tied."""
    shape, m = task.shape, task.shape.slots
    own = scale[:, m:]
    W0 = np.zeros((len(G), shape.size, shape.size))
    for j, value in task.fixed_noise:
        W0[:, j, j] = value / own[:, j] ** 2
    for i, j, value in task.fixed_pairs:
        W0[:, i, j] = W0[:, j, i] = value / (own[:, i] * own[:, j])
    link = base = None
    kinds = np.arange(shape.parameters)
    if task.ties is not None:
        link, base, kinds = _ties(task, scale)
    lower = None
    if shape.loadings:
        logs = (kinds >= shape.at.v.start) & (kinds < shape.at.v.stop)
        lower = np.where(logs, FLOOR, -np.inf)
    return Problem(shape, G, W0, link, base, lower)


def _ties(task: Task, scale: Floats) -> tuple[Floats, Floats, NDArray[np.intp]]:
    """Parameters as ``base + link @ free``, and for each free one the parameter it stands for first."""
    shape, m = task.shape, task.shape.slots
    at, own = shape.at, scale[:, m:]
    unit = np.ones((len(scale), shape.parameters))  # what one unit of a parameter is on the scale of correlations
    unit[:, at.t] = scale[:, :m] / own[:, at.column]
    unit[:, at.w] = 1.0 / (own[:, at.first] * own[:, at.second])
    unit[:, at.c] = 1.0 / own[:, at.child]
    base = np.zeros_like(unit)
    columns: dict[object, list[int]] = {}
    for a, tie in enumerate(task.ties or ()):
        if isinstance(tie, float):
            base[:, a] = tie * unit[:, a]
        else:
            columns.setdefault(a if tie is None else tie, []).append(a)
    link = np.zeros((*unit.shape, len(columns)))
    for k, parameters in enumerate(columns.values()):
        for a in parameters:
            link[:, a, k] = unit[:, a] / unit[:, parameters[0]]
    return link, base, np.array([parameters[0] for parameters in columns.values()], dtype=np.intp)


def _fit(task: Task, problem: Problem, scale: Floats, settings: Settings) -> Piece:
    shape = task.shape
    many_maxima = task.several_starts or (settings.few_rows and bool(shape.pairs))
    wanted = settings.starts or (_starts_for(problem) if many_maxima else 1)
    if wanted == len(problem.G) == 1 and settings.plain and task.plain and fits_alone(shape):
        large = shape.parameters > LARGE and not problem.saturated
        found = newton_giant(task, problem.G[0]) if large else newton_single(shape, problem.G[0])
        if found is not None and found.iterations <= settings.max_iter:
            return _piece_of(task, found)
    given = _given_start(task, scale, settings.start) if problem.free and settings.start is not None else None
    wanted = wanted + (given is not None) if problem.free else 1
    b = len(problem.G)
    many = problem if wanted == 1 else problem.take(np.repeat(np.arange(b), wanted))
    theta = _starting_values(problem, wanted, given)
    taken = 0
    settled = np.zeros(len(theta), dtype=bool)
    em_alone = not settings.finish and has_em_step(problem)
    if em_alone:
        theta, taken, settled = run_em(many, theta, settings.max_iter)
    elif has_em_step(problem) and many_maxima and given is None and not problem.saturated:
        theta, taken, _ = run_em(many, theta, WARM_UP)
    ends = _finish(many, theta, 0 if em_alone else settings.max_iter, near=not many_maxima)
    if em_alone:
        ends = replace(ends, converged=settled)
    best, agreeing, several = _choose(shape, problem, ends, wanted)
    full = problem.expand(best.theta)
    W, C = error_matrices(shape, full, problem.W0)
    rows = np.zeros((b, len(task.latents) + len(task.pair_latents), shape.size))
    rows[:, : len(task.latents)] = C
    converged = best.converged | (best.decrement < ENOUGH)
    lowest, flat = np.ones(b), np.zeros(b, dtype=np.intp)
    unsure = np.flatnonzero(~best.stiff)
    if len(unsure):
        lowest[unsure], flat[unsure] = curvature(problem.take(unsure), best.theta[unsure])
    return Piece(
        t=full[:, shape.at.t].copy(),
        W=W,
        C=rows,
        value=best.value.copy(),
        iterations=best.iterations + taken,
        starts=np.full(b, wanted),
        agreeing=agreeing,
        several=several,
        converged=converged,
        flat=flat,
        boundary=_on_boundary(problem, best.theta, W),
        ridge=~converged & (lowest < 1e-4) & (best.decrement < 1e-2) & np.isfinite(best.value),
    )


_NO, _YES = np.zeros(1, dtype=bool), np.ones(1, dtype=bool)
_NONE, _ONE = np.zeros(1, dtype=np.intp), np.ones(1, dtype=np.intp)


def _piece_of(task: Task, found: Found) -> Piece:
    """The piece of a single data set that needed nothing special."""
    return Piece(
        t=found.t[None],
        W=found.W[None],
        C=np.zeros((1, len(task.pair_latents), task.shape.size)),
        value=np.array([found.value]),
        iterations=np.array([found.iterations]),
        starts=_ONE,
        agreeing=_ONE,
        several=_NO,
        converged=_YES,
        flat=_NONE,
        boundary=np.array([found.boundary]),
        ridge=_NO,
    )


def bunch_piece(ends: Ends) -> Piece:
    """The piece of all tasks of a bunch, with the padding; hidden causes are not in it."""
    b = len(ends.found)
    no, one = np.zeros(b, dtype=bool), np.ones(b, dtype=np.intp)
    return Piece(
        t=ends.t,
        W=ends.W,
        C=np.zeros((b, 0, ends.W.shape[1])),
        value=ends.value,
        iterations=ends.iterations,
        starts=one,
        agreeing=one,
        several=no,
        converged=ends.found,
        flat=np.zeros(b, dtype=np.intp),
        boundary=ends.boundary,
        ridge=no,
    )


def single_piece(task: Task, ends: Ends, i: int) -> Piece:
    """The piece of one task of a bunch."""
    m, d = task.shape.slots, task.shape.size
    found = Found(
        ends.t[i, :m], ends.W[i, :d, :d].copy(), float(ends.value[i]), int(ends.iterations[i]), bool(ends.boundary[i])
    )
    return _piece_of(task, found)


def _starts_for(problem: Problem) -> int:
    """More where loadings make more maxima, fewer where the likelihood is a function of the coefficients alone."""
    if problem.shape.loadings:
        return 2 * STARTS
    return STARTS // 2 if problem.saturated else STARTS


def _finish(problem: Problem, theta: Floats, steps: int, *, near: bool = False) -> Optimum:
    """Minimise F; where W holds covariances beside loadings, along a path of barriers that ends at the boundary."""
    if not problem.free:
        value = evaluate(problem, theta).value
        yes = np.ones(len(theta), dtype=bool)
        none = np.zeros(len(theta), dtype=np.intp)
        return Optimum(theta, value, np.zeros(len(theta)), none, np.isfinite(value), yes)
    if not (problem.shape.loadings and problem.covarying):
        return minimize(problem, theta, max_iter=steps, near=near)
    iterations = np.zeros(len(theta), dtype=np.intp)
    for weight in BARRIERS:
        end = minimize(replace(problem, barrier=weight), theta, max_iter=steps, tol=1e-4 * weight)
        theta, iterations = end.theta, iterations + end.iterations
    value = evaluate(problem, theta).value
    return Optimum(theta, value, end.decrement, iterations, end.converged, np.zeros(len(theta), dtype=bool))


def run_em(problem: Problem, theta: Floats, steps: int) -> tuple[Floats, int, Flags]:
    """Closed-form EM steps, at most so many; how many were taken, and where the likelihood had stopped rising."""
    value = evaluate(problem, theta).value
    settled = np.zeros(len(theta), dtype=bool)
    for taken in range(1, steps + 1):
        theta = em_step(problem, theta)
        new = evaluate(problem, theta).value
        settled = value - new < EM_SETTLED
        if settled.all():
            return theta, taken, settled
        value = new
    return theta, steps, settled


def _given_start(task: Task, scale: Floats, start: Floats) -> Floats:
    """The coefficients to begin with on the scale of correlations, nan where there is no idea."""
    shape, m = task.shape, task.shape.slots
    t = np.full((len(scale), m), np.nan)
    for a, (slot, j) in enumerate(zip(task.slots, shape.column, strict=True)):
        if 0 <= slot < len(start):
            t[:, a] = start[slot, task.variables[j]] * scale[:, a] / scale[:, m + j]
    return t


def _starting_values(problem: Problem, wanted: int, given: Floats | None = None) -> Floats:
    """One row for each start of each member of the batch, starts of a member next to each other."""
    columns = [regression_start(problem)]
    if given is not None:
        columns.append(start_from(problem, given))
    columns += [random_start(problem, seed) for seed in range(1, wanted + 1 - len(columns))]
    full = np.stack(columns, axis=1).reshape(len(problem.G) * wanted, problem.shape.parameters)
    if problem.link is None or problem.base is None:
        return full
    link, base = np.repeat(problem.link, wanted, axis=0), np.repeat(problem.base, wanted, axis=0)
    free = (np.linalg.pinv(link) @ (full - base)[:, :, None])[:, :, 0]
    many = problem.take(np.repeat(np.arange(len(problem.G)), wanted))
    bad = ~np.isfinite(evaluate(many, free).value)
    if bad.any():  # averages of covariances need not be covariances: begin with none
        tied = np.abs(link[0, problem.shape.at.w]).sum(axis=0) > 0.0
        free[np.ix_(bad, tied)] = 0.0
    return np.asarray(free)


def _choose(shape: Shape, problem: Problem, ends: Optimum, starts: int) -> tuple[Optimum, NDArray[np.intp], Flags]:
    """The best start of each member, how many others reached it, and whether they agree on the coefficients."""
    b = len(problem.G)
    if starts == 1:
        return ends, np.ones(b, dtype=np.intp), np.zeros(b, dtype=bool)
    value = ends.value.reshape(b, starts)
    # among equally good ends prefer one that converged
    order = value + np.where(ends.converged.reshape(b, starts), 0.0, 1e-9)
    at = np.arange(b) * starts + order.argmin(axis=1)
    equal = value < ends.value[at][:, None] + 1e-8
    theta = ends.theta.reshape(b, starts, -1)
    many = problem.take(np.repeat(np.arange(b), starts))
    t = many.expand(ends.theta)[:, shape.at.t].reshape(b, starts, -1)
    apart = np.abs(t - problem.expand(ends.theta[at])[:, None, shape.at.t]).max(axis=2, initial=0.0)
    several = (equal & ends.converged.reshape(b, starts) & (apart > 1e-3)).any(axis=1)
    best = Optimum(
        theta.reshape(b * starts, -1)[at],
        ends.value[at],
        ends.decrement[at],
        ends.iterations[at],
        ends.converged[at],
        ends.stiff[at],
    )
    return best, equal.sum(axis=1), several


def curvature(problem: Problem, theta: Floats) -> tuple[Floats, NDArray[np.intp]]:
    """Lowest eigenvalue of the Hessian (on a common scale), and how many directions leave the likelihood as it is."""
    bend = hessian(evaluate(problem, theta))
    if problem.lower is not None:
        bend = without(bend, theta <= problem.lower + 1e-6)
    root = np.sqrt(np.maximum(np.abs(np.diagonal(bend, axis1=1, axis2=2)), 1e-300))
    values = np.linalg.eigvalsh(bend / (root[:, :, None] * root[:, None, :]))
    return values[:, 0], (values < 1e-9).sum(axis=1)


def _on_boundary(problem: Problem, theta: Floats, W: Floats) -> Flags:
    """Where a noise variance is at its floor, or the errors' covariance has become singular."""
    low = np.zeros(len(theta), dtype=bool)
    if problem.lower is not None:
        low = np.asarray((theta <= problem.lower + NEAR_FLOOR).any(axis=1))
    if problem.covarying:
        pivots = np.diagonal(cholesky_or_nan(W), axis1=1, axis2=2) ** 2
        low = low | ~(pivots > 1e-7 * np.diagonal(W, axis1=1, axis2=2)).all(axis=1)
    return np.asarray(low)
