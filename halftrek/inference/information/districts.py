"""The likelihood of complete moments around a fit, over the districts that a target depends on.

The rest of the likelihood does not move with the target. Parameters are those of the districts' problems, on the scale
of correlations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from halftrek.bottom.arrays import Floats, Ints
from halftrek.estimation import Fitted
from halftrek.estimation.district.block import State, directions, evaluate, gradient, hessian
from halftrek.estimation.district.district import make_problem
from halftrek.estimation.district.loadings import split_covariances
from halftrek.estimation.district.shape import Problem
from halftrek.estimation.plan import Plan, Task, make_plan
from halftrek.estimation.solve import gather, sources_of
from halftrek.inference.information.information import fitted_parameters
from halftrek.inference.information.landscape import (
    ALONG_PATHS,
    Landscape,
    Point,
    Target,
    path_bend,
    shifted,
    small_model,
    variables_behind,
)
from halftrek.queries.gradients import Gradient

BARRIER = 1e-9  # keeps W positive definite where it holds covariances beside loadings


@dataclass(frozen=True, eq=False)
class Part:
    """One district: its problem, and where its parameters stand in the vector and in the small model of the answer.

    ``coefficients`` and ``constants`` hold (parameter, row, column) and (parameter, variable); ``members`` pairs a
    place in the district with one in the small model.
    """

    task: Task
    problem: Problem
    scale: Floats
    where: slice
    coefficients: Ints
    constants: Ints
    members: Ints

    @property
    def own(self) -> Floats:
        """Standard deviations of the district's members."""
        return self.scale[self.task.shape.slots :]

    @cached_property
    def units(self) -> Floats:
        """What one unit of a coefficient is in the units of the data."""
        return self.own[self.task.shape.at.column] / self.scale[: self.task.shape.slots]

    def pull(self, state: State, found: Gradient, slopes: Floats) -> Floats:
        """A gradient in (T, Omega, intercepts) of the small model as one in this district's free parameters."""
        shape = self.task.shape
        full = np.zeros(shape.parameters)
        a, i, j = self.coefficients.T
        full[a] = found.T[i, j] * self.units[a]
        a, j = self.constants.T
        full[a] = slopes[j] * self.units[a]
        inside, small = self.members.T
        omega = np.zeros((shape.size, shape.size))
        omega[inside[:, None], inside] = found.omega[small[:, None], small]
        omega *= self.own[:, None] * self.own
        m = shape.slots
        full[m:] = 2.0 * (directions(state)[0] @ omega)[np.arange(shape.parameters - m), shape.at.target[m:]]
        link = self.problem.link
        return full if link is None else np.asarray(full @ link[0])


@dataclass(frozen=True, eq=False)
class DistrictLandscape(Landscape):
    """The districts that a target depends on."""

    parts: tuple[Part, ...]

    def at(self, theta: Floats) -> Point:
        """The likelihood at a point."""
        states = tuple(evaluate(part.problem, theta[None, part.where]) for part in self.parts)
        return Point(self, theta, float(sum(s.value[0] for s in states)), states)

    def gradient(self, point: Point) -> Floats:
        """First derivatives of the value."""
        return np.concatenate([gradient(s)[0] for s in point.states])

    def hessian(self, point: Point) -> Floats:
        """Second derivatives of the value."""
        found = np.zeros((len(self.start), len(self.start)))
        for part, state in zip(self.parts, point.states, strict=True):
            found[part.where, part.where] = hessian(state)[0]
        return found

    def arrays(self, point: Point) -> tuple[Floats, Floats, Floats]:
        """T, Omega and mu of the target's variables."""
        T, omega, mu = self.model.T.copy(), self.model.W.copy(), self.model.mu.copy()
        for part, state in zip(self.parts, point.states, strict=True):
            full = part.problem.expand(point.theta[None, part.where])[0]
            a, i, j = part.coefficients.T
            T[i, j] = full[a] * part.units[a]
            a, j = part.constants.T
            mu[j] = full[a] * part.units[a]
            inside, small = part.members.T
            omega[small[:, None], small] = (state.omega[0] * part.own[:, None] * part.own)[inside[:, None], inside]
        return T, omega, mu

    def pull(self, point: Point, found: Gradient, slopes: Floats) -> Floats:
        """A gradient in (T, Omega, intercepts) of the small model as one in the vector."""
        pairs = zip(self.parts, point.states, strict=True)
        return np.concatenate([part.pull(state, found, slopes) for part, state in pairs])

    def bend(self, point: Point, slope: Floats) -> Floats:
        """The target's second derivatives, from the coefficients where it is made of them alone."""
        if self.target.kind == "variance" or not isinstance(self.target.query, ALONG_PATHS):
            return super().bend(point, slope)
        i, j, moves = self._coefficients
        return np.asarray(moves.T @ path_bend(self.target.query, point.model, i, j) @ moves)

    @cached_property
    def _coefficients(self) -> tuple[Ints, Ints, Floats]:
        """Rows and columns in T of all coefficients, and how each moves with the vector: a line for each."""
        rows, columns, moves = [], [], []
        for part in self.parts:
            a, i, j = part.coefficients.T
            link = part.problem.link
            inside = np.eye(part.task.shape.parameters)[a] if link is None else link[0][a]
            own = np.zeros((len(a), len(self.start)))
            own[:, part.where] = inside * part.units[a][:, None]
            rows.append(i)
            columns.append(j)
            moves.append(own)
        return np.concatenate(rows), np.concatenate(columns), np.concatenate(moves)

    def refit_errors(self, before: Point, theta: Floats) -> Floats:
        """A point with its error covariances moved as the residuals' covariances move from ``before``.

        Along a path on which coefficients run far, error covariances move with the square: a straight step in them
        leaves the parameter space.
        """
        theta = theta.copy()
        for part, state in zip(self.parts, before.states, strict=True):
            shape, at = part.task.shape, part.task.shape.at
            if shape.loadings:
                continue
            moved = evaluate(part.problem, theta[None, part.where])
            target = state.W[0] + moved.R[0] - state.R[0]
            full = part.problem.expand(theta[None, part.where])[0].copy()
            full[at.w] = target[at.first, at.second]
            full[at.v] = target[at.noisy, at.noisy]
            if part.problem.link is None or part.problem.base is None:
                theta[part.where] = full
            else:
                theta[part.where] = np.linalg.pinv(part.problem.link[0]) @ (full - part.problem.base[0])
        return theta

    def feasible(self, point: Point) -> bool:
        """True if hidden causes of two children exist that give these error covariances."""
        for part, state in zip(self.parts, point.states, strict=True):
            if part.task.pair_latents:
                owned = tuple(ends for _, ends in part.task.pair_latents)
                others = tuple(p for p in part.task.shape.pairs if p not in owned)
                others += tuple((i, j) for i, j, _ in part.task.fixed_pairs)
                if split_covariances(state.W.copy(), owned, others)[1][0] < -1e-9:
                    return False
        return True


def district_landscape(fit: Fitted, target: Target, *, explicit: bool = False) -> DistrictLandscape:
    """The landscape of a target; ``explicit``: hidden causes of two children get loadings of their own."""
    behind = variables_behind(fit, target)
    held = bool(fit.options.intercepts)
    raw = held or target.needs_means
    plan = make_plan(fit.graph, fit.model.names, fit.options, raw=raw)
    shift = np.array(fit.moments.mean) if raw and not held else np.zeros(len(fit.model.names))
    centred, about_origin = sources_of(plan, fit.moments.cov[None], (fit.moments.mean - shift)[None])
    model = shifted(fit.model, shift)
    parts: list[Part] = []
    start: list[Floats] = []
    for task in plan.every_task:
        if not set(task.variables) & set(behind):
            continue
        chosen = task.explicit() if explicit and task.pair_latents else task
        G, scale = gather((chosen,), about_origin if chosen.about_origin else centred)
        problem = make_problem(chosen, G, scale)
        if problem.shape.loadings and problem.covarying:
            problem = replace(problem, barrier=BARRIER)
        begin = sum(map(len, start))
        parts.append(_part(plan, chosen, problem, scale[0], slice(begin, begin + problem.free), behind))
        start.append(np.maximum(fitted_parameters(plan, chosen, problem, model, scale[0])[0], _lower(problem)))
    whole = DistrictLandscape(
        target=target,
        n=fit.n,
        start=np.concatenate(start),
        lower=np.concatenate([_lower(part.problem) for part in parts]),
        model=small_model(model, behind),
        shift=shift[behind],
        relevant=np.zeros(0, dtype=np.intp),
        parts=tuple(parts),
    )
    return _touched(whole)


def _lower(problem: Problem) -> Floats:
    return np.full(problem.free, -np.inf) if problem.lower is None else problem.lower


def _part(plan: Plan, task: Task, problem: Problem, scale: Floats, where: slice, behind: Sequence[int]) -> Part:
    place = {v: i for i, v in enumerate(behind)}
    coefficients, constants = [], []
    for a, (slot, j) in enumerate(zip(task.slots, task.shape.column, strict=True)):
        v = task.variables[j]
        if v in place and slot == plan.constant and task.about_origin:
            constants.append((a, place[v]))
        elif v in place and slot in place:
            coefficients.append((a, place[slot], place[v]))
    members = [(i, place[v]) for i, v in enumerate(task.variables) if v in place]
    return Part(
        task, problem, scale, where,
        np.array(coefficients, dtype=np.intp).reshape(-1, 3),
        np.array(constants, dtype=np.intp).reshape(-1, 2),
        np.array(members, dtype=np.intp).reshape(-1, 2),
    )  # fmt: skip


def _touched(whole: DistrictLandscape) -> DistrictLandscape:
    """Only the districts with a parameter that the target depends on."""
    matters = whole.pattern()
    kept = [part for part in whole.parts if matters[part.where].any()]
    at = np.array([i for part in kept for i in range(part.where.start, part.where.stop)], dtype=np.intp)
    parts, begin = [], 0
    for part in kept:
        parts.append(replace(part, where=slice(begin, begin + part.problem.free)))
        begin += part.problem.free
    return replace(
        whole, parts=tuple(parts), start=whole.start[at], lower=whole.lower[at], relevant=np.flatnonzero(matters[at])
    )
