"""The likelihood around a fit as a function of one vector, and an answer as a function of the same vector.

Only the districts that the answer depends on take part: the rest of the likelihood does not move with it. Parameters are
those of the districts' problems, on the scale of correlations. ``value`` is ``-2/n loglik`` up to a constant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from halftrek.estimation import Fit
from halftrek.estimation.block import State, directions, evaluate, gradient, hessian
from halftrek.estimation.district import make_problem
from halftrek.estimation.loadings import split_covariances
from halftrek.estimation.plan import Plan, Task, make_plan
from halftrek.estimation.shape import Problem
from halftrek.estimation.solve import gather, sources_of
from halftrek.graph import Graph
from halftrek.inference.information import fitted_parameters
from halftrek.model import CGLSCM, Floats, Gaussian
from halftrek.queries import Counterfactual, Interventional, Query, ThroughEffect, TotalEffect, variables_of
from halftrek.queries import evaluate as answer
from halftrek.queries.gradients import Gradient, linearize

Ints = NDArray[np.intp]
BARRIER = 1e-9  # keeps W positive definite where it holds covariances beside loadings


@dataclass(frozen=True)
class Target:
    """One number of an answer: the k-th value, or the k-th variance."""

    query: Query
    kind: Literal["value", "variance"] = "value"
    k: int = 0

    @property
    def needs_means(self) -> bool:
        """True if the means of the variables matter for it."""
        return self.kind == "value" and isinstance(self.query, Interventional | Counterfactual)

    def of(self, model: CGLSCM) -> float:
        """Its value in a model."""
        if isinstance(self.query, TotalEffect | ThroughEffect):  # B is known here, whatever the size of the graph
            at = [model.names.index(v) for v in variables_of(self.query)]
            return float(np.prod([model.B[i, j] for i, j in pairwise(at)]))
        found = answer(self.query, model)
        if not isinstance(found, Gaussian):
            return float(found)
        return float(found.mean[self.k] if self.kind == "value" else found.variance[self.k])

    def slope(self, model: CGLSCM) -> Gradient:
        """Its gradient at a model."""
        found = linearize(self.query, model)
        return found.values[self.k] if self.kind == "value" else found.variances[self.k]


@dataclass(frozen=True, eq=False)
class Part:
    """One district: its problem, and where its parameters stand in the vector and in the small model of the answer.

    ``coefficients`` and ``constants`` hold (parameter, row, column) and (parameter, variable); ``members`` pairs a place
    in the district with one in the small model.
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
class Point:
    """A place in the landscape: ``value`` is inf outside of the parameter space."""

    land: Landscape
    theta: Floats
    states: tuple[State, ...]
    value: float

    @cached_property
    def model(self) -> CGLSCM:
        """The small model of the target here."""
        return self.land.small_model(self)


@dataclass(frozen=True, eq=False)
class Landscape:
    """The districts that a target depends on.

    ``model`` is the small model of the target: the variables behind it, hidden causes folded into the error covariances.
    ``relevant`` are the parameters that the target depends on; ``lower`` bounds of all parameters.
    """

    target: Target
    n: float
    parts: tuple[Part, ...]
    start: Floats
    lower: Floats
    model: CGLSCM
    shift: Floats
    relevant: Ints

    def at(self, theta: Floats) -> Point:
        """The likelihood at a point."""
        states = tuple(evaluate(part.problem, theta[None, part.where]) for part in self.parts)
        return Point(self, theta, states, float(sum(s.value[0] for s in states)))

    def gradient(self, point: Point) -> Floats:
        """First derivatives of the value."""
        return np.concatenate([gradient(s)[0] for s in point.states])

    def hessian(self, point: Point) -> Floats:
        """Second derivatives of the value."""
        found = np.zeros((len(self.start), len(self.start)))
        for part, state in zip(self.parts, point.states, strict=True):
            found[part.where, part.where] = hessian(state)[0]
        return found

    def small_model(self, point: Point) -> CGLSCM:
        """The model of the target's variables at a point."""
        T, omega, mu = self.model.T.copy(), self.model.W.copy(), self.model.mu.copy()
        for part, state in zip(self.parts, point.states, strict=True):
            full = part.problem.expand(point.theta[None, part.where])[0]
            a, i, j = part.coefficients.T
            T[i, j] = full[a] * part.units[a]
            a, j = part.constants.T
            mu[j] = full[a] * part.units[a]
            inside, small = part.members.T
            omega[small[:, None], small] = (state.omega[0] * part.own[:, None] * part.own)[inside[:, None], inside]
        mu = mu + self.shift - self.shift @ T  # means are those of the shifted data, and the shift
        return CGLSCM(self.model.names, T, np.zeros((0, len(mu))), mu, omega, (), self.model.graph)

    def answer(self, point: Point) -> float:
        """The target at a point."""
        return self.target.of(point.model)

    def slope(self, point: Point) -> Floats:
        """The target's gradient at a point."""
        model = point.model
        found = self.target.slope(model)
        slopes = model.B @ found.mean
        moved = Gradient(found.T + np.outer(model.mean - self.shift, slopes), found.omega, found.mean)
        pairs = zip(self.parts, point.states, strict=True)
        return np.concatenate([part.pull(state, moved, slopes) for part, state in pairs])

    def bend(self, point: Point, slope: Floats) -> Floats:
        """The target's second derivatives, by differences of its gradient in the few parameters that matter."""
        found = np.zeros((len(self.start), len(self.start)))
        for a in self.relevant:
            step = 1e-6 * (1.0 + abs(point.theta[a]))
            theta = point.theta.copy()
            theta[a] += step
            found[a] = (self.slope(self.at(theta)) - slope) / step
        found = (found + found.T) / 2.0
        return np.where(np.isfinite(found), found, 0.0)

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


def make_landscape(fit: Fit, target: Target, *, explicit: bool = False) -> Landscape:
    """The landscape of a target; ``explicit``: hidden causes of two children get loadings of their own."""
    names = fit.model.names
    behind = [names.index(v) for v in names if v in fit.graph.ancestors(variables_of(target.query))]
    held = bool(fit.options.intercepts)
    raw = held or target.needs_means
    plan = make_plan(fit.graph, names, fit.options, raw=raw)
    shift = np.zeros(len(names)) if held or not raw else np.array(fit.moments.mean)
    mean = fit.moments.mean - shift if raw else fit.moments.mean
    centred, about_origin = sources_of(plan, fit.moments.cov[None], mean[None])
    model = replace_means(fit.model, shift) if raw else fit.model
    parts: list[Part] = []
    start: list[Floats] = []
    for task in plan.every_task():
        if not set(task.variables) & set(behind):
            continue
        chosen = task.explicit() if explicit and task.pair_latents else task
        G, scale = gather((chosen,), about_origin if chosen.about_origin else centred)
        problem = make_problem(chosen, G, scale)
        if problem.shape.loadings and problem.covarying:
            problem = replace(problem, barrier=BARRIER)
        free = fitted_parameters(plan, chosen, problem, model, scale[0])[0]
        lower = np.full(len(free), -np.inf) if problem.lower is None else problem.lower
        begin = sum(map(len, start))
        parts.append(_part(plan, chosen, problem, scale[0], slice(begin, begin + len(free)), behind))
        start.append(np.maximum(free, lower))
    bounds = [np.full(p.problem.free, -np.inf) if p.problem.lower is None else p.problem.lower for p in parts]
    small = _small_model(model, behind)
    whole = Landscape(
        target, fit.n, tuple(parts), np.concatenate(start), np.concatenate(bounds), small, shift[behind],
        np.zeros(0, dtype=np.intp),
    )  # fmt: skip
    return _touched(whole)


def replace_means(model: CGLSCM, shift: Floats) -> CGLSCM:
    """The model of the data less a constant."""
    mu = model.mu - shift + shift @ model.T
    return CGLSCM(model.names, model.T, model.C, mu, model.W, model.latents, model.graph)


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


def _small_model(model: CGLSCM, behind: Sequence[int]) -> CGLSCM:
    """The fitted model of some variables and all their causes, hidden causes folded into the error covariances."""
    names = tuple(model.names[i] for i in behind)
    kept = set(names)
    graph = Graph([(u, v) for u, v in model.graph.directed if u in kept and v in kept], observed=names)
    at = np.ix_(behind, behind)
    return CGLSCM(names, model.T[at], np.zeros((0, len(names))), model.mu[behind], model.omega[at], (), graph)


def _touched(whole: Landscape) -> Landscape:
    """Only the districts with a parameter that the target depends on, seen from a point in general position."""
    rng = np.random.default_rng(0)
    aside = rng.uniform(0.05, 0.1, len(whole.start)) * rng.choice([-1.0, 1.0], len(whole.start))
    point = whole.at(whole.start)
    for _ in range(20):
        tried = whole.at(np.maximum(whole.start, np.maximum(whole.lower, -20.0)) + aside)
        if np.isfinite(tried.value):
            point = tried
            break
        aside /= 2.0
    pattern = np.abs(whole.slope(point))
    matters = pattern > 1e-12 * pattern.max(initial=0.0)
    parts, start, relevant, begin = [], [], [], 0
    for part in whole.parts:
        if matters[part.where].any():
            relevant.append(begin + np.flatnonzero(matters[part.where]))
            end = begin + part.problem.free
            parts.append(replace(part, where=slice(begin, end)))
            start.append(part.where)
            begin = end
    if not parts:
        none = np.zeros(0)
        return replace(whole, parts=(), start=none, lower=none, relevant=np.zeros(0, dtype=np.intp))
    return replace(
        whole,
        parts=tuple(parts),
        start=np.concatenate([whole.start[w] for w in start]),
        lower=np.concatenate([whole.lower[w] for w in start]),
        relevant=np.concatenate(relevant),
    )
