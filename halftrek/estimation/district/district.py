"""Maximum likelihood for districts of one shape, on the scale of correlations, a whole batch at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from halftrek.bottom.arrays import Flags, Floats, Ints
from halftrek.estimation.district.block import evaluate, hessian
from halftrek.estimation.district.doubt import REACHED, Yardstick
from halftrek.estimation.district.em import em_step, has_em_step
from halftrek.estimation.district.loadings import split_covariances
from halftrek.estimation.district.newton import without
from halftrek.estimation.district.piece import Piece, piece_of
from halftrek.estimation.district.search import SAME, Choice, choose, climb, led_to, look_again, reach_floor
from halftrek.estimation.district.shape import Problem, error_matrices
from halftrek.estimation.district.starts import side_by_side, solving_starts, starting_values
from halftrek.estimation.district.steps import SOLID, STEPS
from halftrek.estimation.fast.alone import fits_alone, layout_of, newton_alone
from halftrek.estimation.fast.one_factor import fit_one_factor, is_one_factor
from halftrek.estimation.plan import Task
from halftrek.models.kernels import shares_left

NEAR_FLOOR = float(np.log(1e4))  # a share of 1e-6 is zero for all purposes
FLOOR = float(np.log(1e-10))  # of a noise variance, as a share of the variable's own variance
WARM_UP = 4  # EM steps before the second-order finish where the start may be poor
STARTS = 8
EM_SETTLED = 1e-12  # rise of the likelihood in one EM step, per row
ENOUGH = 1e-11  # a predicted decrease of F that no longer matters
RUNAWAY = 1e3  # coefficient between correlations that no maximum has

Search = Callable[[Problem, Yardstick], Choice]
Start = Callable[
    [Problem, Yardstick], tuple[Floats, Floats]
]  # one for each data set, and F where it leads (nan: unknown)


@dataclass(frozen=True)
class Settings:
    """How hard to try: number of starts (None: as the district needs), steps, and whether to finish by Newton."""

    starts: int | None = None
    max_iter: int = 200
    finish: bool = True
    few_rows: bool = False
    start: Floats | None = None  # coefficients to begin with, nan where there is no idea
    rows: Floats | None = None  # of each data set, to tell whether a fit falls short of the moments by chance
    again: bool = True  # whether to search again where it is no chance

    @property
    def plain(self) -> bool:
        """True if nothing is asked for but the maximum."""
        return self.finish and self.start is None

    @property
    def usual(self) -> bool:
        """True if a district without bows is to be fitted from one start."""
        one = self.starts == 1 or (self.starts is None and not self.few_rows)
        return self.plain and one and self.max_iter >= STEPS


def solve_district(task: Task, G: Floats, scale: Floats, settings: Settings, measure: Yardstick) -> Piece:
    """Fit a task to second moments ``G`` of its (slots, members), which have been divided by ``scale``."""
    piece = _fit(task, make_problem(task, G, scale), scale, settings, measure)
    return split_latents(task, piece, G, scale, settings, measure)


def split_latents(task: Task, piece: Piece, G: Floats, scale: Floats, settings: Settings, measure: Yardstick) -> Piece:
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
        return piece.with_rows(outside, _fit(explicit, rest, scale[outside], settings, measure.take(outside)))
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


def _ties(task: Task, scale: Floats) -> tuple[Floats, Floats, Ints]:
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


def _fit(task: Task, problem: Problem, scale: Floats, settings: Settings, measure: Yardstick) -> Piece:
    shape = task.shape
    problem = replace(problem, before=measure.before[:, : shape.slots])
    many_maxima = task.several_starts or (settings.few_rows and bool(shape.pairs))
    wanted = settings.starts or (_starts_for(problem) if many_maxima else 1)
    if wanted == len(problem.G) == 1 and settings.plain and task.plain and fits_alone(shape):
        found = newton_alone(layout_of(task), problem.G[0])
        if (
            found is not None
            and found.iterations <= settings.max_iter
            and not measure.doubtful(np.array([found.value]))
        ):
            return piece_of(task, found, measure.deviance(np.array([found.value])), measure.spare)
    if settings.plain and settings.starts is None and settings.max_iter >= STEPS and is_one_factor(problem):
        quick = fit_one_factor(problem)
        if quick is not None:
            both = np.full(len(problem.G), 2)  # starts, which agree
            return _described(task, problem, Choice(quick, both, both.copy(), both > 2), measure)
    given = _given_start(task, scale, settings.start) if problem.free and settings.start is not None else None
    wanted = wanted + (given is not None) if problem.free else 1
    if settings.finish or not has_em_step(problem):
        search = partial(_searched, wanted=wanted, given=given, settings=settings, many_maxima=many_maxima)
        if len(problem.G) > 1 and wanted > 1 and given is None and problem.saturated:
            choice = _known_first(problem, measure, settings.max_iter, search)
        else:
            choice = search(problem, measure)
    else:
        theta, taken, settled = run_em(problem, starting_values(problem, wanted, given), settings.max_iter)
        ends = climb(problem, theta, measure, steps=0)
        choice = choose(problem, replace(ends, converged=settled, iterations=ends.iterations + taken))
    return _described(task, problem, choice, measure)


def _known_first(problem: Problem, measure: Yardstick, steps: int, search: Search) -> Choice:
    """As ``search``, for many data sets whose errors covary freely: those whose maximum is known wait for no other.

    Of two equations it may be known from a polynomial. Where nothing is left unexplained, the coefficients solve linear
    equations, and who does so is at the floor, where no other start leads higher.
    """
    if (measure.spare <= 0).all():
        search = partial(_led_first, start=_to_floor, steps=steps, search=search)
    if problem.two_equations:
        search = partial(_led_first, start=_to_root, steps=steps, search=search)
    return search(problem, measure)


def _to_floor(problem: Problem, measure: Yardstick) -> tuple[Floats, Floats]:
    return solving_starts(problem, None, 1), measure.floor


def _to_root(problem: Problem, _: Yardstick) -> tuple[Floats, Floats]:
    from halftrek.estimation.fast.two_equations import highest_maxima  # few districts need it

    return highest_maxima(problem)


def _led_first(problem: Problem, measure: Yardstick, *, start: Start, steps: int, search: Search) -> Choice:
    """Where one start leads, and what a search finds for those whom it does not lead where it should."""
    theta, known = start(problem, measure)
    if np.isnan(known).all():
        return search(problem, measure)
    choice = led_to(problem, theta, steps)
    best = choice.best
    there = (best.value < known + REACHED) & (best.value > known - SAME)
    left = np.flatnonzero(~(there & best.converged & best.stiff))
    if not len(left):
        return choice
    rest = search(problem.take(left), measure.take(left))
    return choice.with_rows(left, rest) if len(left) < len(problem.G) else rest


def _searched(
    problem: Problem, measure: Yardstick, *, wanted: int, given: Floats | None, settings: Settings, many_maxima: bool
) -> Choice:
    """The highest maximum that starts lead to, searched for once more where it is doubtful."""
    choice = _highest(problem, wanted, given, measure, settings.max_iter, many_maxima=many_maxima)
    return look_again(problem, choice, measure, settings.max_iter) if settings.again and problem.free else choice


def _highest(
    problem: Problem, wanted: int, given: Floats | None, measure: Yardstick, steps: int, *, many_maxima: bool
) -> Choice:
    """The highest maximum that so many starts lead to."""
    fixed = 1 + (given is not None)
    count = min(max(wanted // 4, 1), wanted - fixed) if wanted > fixed else 0
    theta, solved = starting_values(problem, wanted - count, given), np.zeros((0, problem.free))
    if count:
        solved = solving_starts(problem, given, count)
        if problem.two_equations:
            best, known = _to_root(problem, measure)
            solved[::count] = np.where(np.isfinite(known)[:, None], best, solved[::count])
        if problem.shape.loadings and (measure.spare <= 0).all():  # the floor is in reach, perhaps without much ado
            choice = reach_floor(problem, solved, measure, steps)
            if measure.reached(choice.best.value).all():
                return choice
    taken = 0
    if has_em_step(problem) and many_maxima and given is None and not problem.saturated:
        theta, taken, _ = run_em(problem, theta, WARM_UP)
    ends = climb(problem, side_by_side(problem, theta, solved), measure, steps=steps, near=not many_maxima)
    return choose(problem, replace(ends, iterations=ends.iterations + taken))


def _described(task: Task, problem: Problem, choice: Choice, measure: Yardstick) -> Piece:
    """The piece of a choice: what it is made of, and what is to be said of it."""
    shape, b, best = task.shape, len(problem.G), choice.best
    full = problem.expand(best.theta)
    W, C = error_matrices(shape, full, problem.W0)
    rows = np.zeros((b, len(task.latents) + len(task.pair_latents), shape.size))
    rows[:, : len(task.latents)] = C
    t = full[:, shape.at.t].copy()
    top = measure.reached(best.value) & (np.abs(t).max(axis=1, initial=0.0) < RUNAWAY)
    converged = best.converged | (best.decrement < ENOUGH) | top
    lowest, flat = np.ones(b), np.zeros(b, dtype=np.intp)
    unsure = np.flatnonzero(~best.stiff)
    if len(unsure):
        lowest[unsure], flat[unsure] = curvature(problem.take(unsure), best.theta[unsure])
    return Piece(
        t=t,
        W=W,
        C=rows,
        value=best.value.copy(),
        iterations=best.iterations.copy(),
        starts=choice.starts,
        agreeing=choice.agreeing,
        several=choice.several,
        converged=converged,
        flat=flat,
        boundary=_on_boundary(problem, best.theta, W),
        ridge=~converged & (lowest < 1e-4) & (best.decrement < 1e-2) & np.isfinite(best.value),
        deviance=measure.deviance(best.value),
        df=np.maximum(measure.spare + flat, 0),
    )


def _starts_for(problem: Problem) -> int:
    """More where loadings make more maxima, fewer where the likelihood is a function of the coefficients alone."""
    if problem.shape.loadings:
        return 2 * STARTS
    return STARTS // 2 if problem.saturated else STARTS


def run_em(problem: Problem, theta: Floats, steps: int) -> tuple[Floats, int, Flags]:
    """Closed-form EM steps, at most so many; how many were taken, and where the likelihood had stopped rising."""
    starts = len(theta) // len(problem.G)
    problem = problem if starts == 1 else problem.take(np.repeat(np.arange(len(problem.G)), starts))
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


def curvature(problem: Problem, theta: Floats) -> tuple[Floats, Ints]:
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
        least = 1e-4 if problem.shape.loadings else SOLID  # barriers keep some distance from where W is singular
        low = low | ~(shares_left(W) > least)
    return np.asarray(low)
