"""The information that data of a fitted model carry, district by district.

Parameters of different districts are orthogonal, and so are the means (with free intercepts): nothing larger than a
district is ever inverted. ``-loglik / n = F/2``, so the information of one row is half the (expected) Hessian of F.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from halftrek.bottom.arrays import Flags, Floats
from halftrek.bottom.choices import Information
from halftrek.errors import InputError
from halftrek.estimation import Fitted
from halftrek.estimation.district.block import State, directions, evaluate, fisher, hessian
from halftrek.estimation.district.district import make_problem
from halftrek.estimation.district.em import parameters_of
from halftrek.estimation.district.shape import Problem
from halftrek.estimation.plan import Plan, Task, make_plan
from halftrek.estimation.solve import gather, sources_of
from halftrek.inference.information.base import kind_of_data
from halftrek.inference.kept import kept
from halftrek.models import CGLSCM
from halftrek.queries.gradients import Gradient

Kind = Information

FLAT = 1e-10  # share of the largest eigenvalue below which a direction carries no information (rounding leaves 1e-11)
LEAK = 1e-6  # share of a gradient that may lie in such directions by rounding


@dataclass(frozen=True, eq=False)
class DistrictInformation:
    """Information per row about the free parameters of one district, on the scale of correlations."""

    task: Task
    state: State
    scale: Floats
    matrix: Floats
    constant: int

    def pull(self, gradient: Gradient, intercepts: Floats) -> Floats:
        """The gradient of a query in this district's free parameters."""
        return np.asarray(self.pull_all(gradient.T[None], gradient.omega[None], intercepts[None])[0])

    def pull_all(self, T: Floats, omega: Floats, intercepts: Floats) -> Floats:
        """Gradients of several answers, the first axis counting them."""
        task, shape, m = self.task, self.task.shape, self.task.shape.slots
        own, at = self.scale[m:], shape.at
        full = np.zeros((len(T), shape.parameters))
        for a, (slot, j) in enumerate(zip(task.slots, shape.column, strict=True)):
            v = task.variables[j]
            slope = intercepts[:, v] if slot == self.constant else T[:, slot, v]
            full[:, a] = slope * own[j] / self.scale[a]
        if omega.any():
            grid = np.ix_(range(len(T)), task.variables, task.variables)
            inside = directions(self.state)[0] @ (omega[grid] * np.outer(own, own))
            full[:, m:] = 2.0 * inside[:, np.arange(shape.parameters - m), at.target[m:]]
        link = self.state.problem.link
        return full if link is None else np.asarray(full @ link[0])

    @cached_property
    def spectrum(self) -> tuple[Floats, Floats, Floats]:
        """Eigenvalues and eigenvectors of the matrix brought to a unit diagonal, and the roots of that diagonal."""
        scale = np.sqrt(np.maximum(np.diag(self.matrix), 1e-300))
        values, vectors = np.linalg.eigh(self.matrix / np.outer(scale, scale))
        return values, vectors, scale

    def spread(self, pulled: Floats) -> float:
        """Asymptotic variance (times n) that this district adds; nan if it needs what data do not determine."""
        return float(self.spreads(pulled[None])[0])

    def spreads(self, pulled: Floats) -> Floats:
        """The same for several gradients, one in each row."""
        found = np.zeros(len(pulled))
        some = pulled.any(axis=1)
        if not some.any():
            return found
        values, vectors, scale = self.spectrum
        along = (pulled[some] / scale) @ vectors
        informative = values > FLAT * values[-1]
        lost = np.abs(along[:, ~informative]).max(axis=1, initial=0.0) > LEAK * np.abs(along).max(axis=1)
        found[some] = np.where(lost, np.nan, (along[:, informative] ** 2 / values[informative]).sum(axis=1))
        return found


def district_information(
    fit: Fitted, kind: Kind = "expected", *, touching: Flags | None = None
) -> Iterator[DistrictInformation]:
    """The information of every district (or of those with a variable in ``touching``) at the fitted parameters."""
    refuse_missing(fit)
    model = fit.model
    plan = make_plan(fit.graph, model.names, fit.options, raw=bool(fit.options.intercepts))
    cov, mean = (model.cov, model.mean) if kind == "expected" else (fit.moments.cov, fit.moments.mean)
    centred, about_origin = sources_of(plan, cov[None], mean[None])
    for task in plan.every_task:
        if touching is not None and not touching[list(task.variables)].any():
            continue
        G, scale = gather((task,), about_origin if task.about_origin else centred)
        problem = make_problem(task, G, scale)
        state = evaluate(problem, fitted_parameters(plan, task, problem, model, scale[0]))
        matrix = fisher(state) if kind == "expected" else hessian(state)
        yield DistrictInformation(task, state, scale[0], 0.5 * matrix[0], plan.constant)


def touched_information(fit: Fitted, kind: Kind, touching: Flags) -> list[DistrictInformation]:
    """The same of districts with a variable in ``touching``, kept with the fit: tables ask for them piece by piece."""
    known = _known_information(fit, kind)
    new = touching.copy()
    for variables in known:
        new[list(variables)] = False
    if new.any():
        known.update((block.task.variables, block) for block in district_information(fit, kind, touching=new))
    return [block for variables, block in known.items() if touching[list(variables)].any()]


@kept
def _known_information(fit: Fitted, kind: Kind) -> dict[tuple[int, ...], DistrictInformation]:  # noqa: ARG001 (keys)
    return {}


def solved(matrix: Floats, determined: Floats, flat: Floats, pulled: Floats) -> Floats:
    """``I^+ g``, given directions with information and without; nan if g needs the latter, or not at a maximum."""
    along, lost = determined.T @ pulled, flat.T @ pulled
    largest = max(np.abs(along).max(initial=0.0), np.abs(lost).max(initial=0.0))
    inner = determined.T @ matrix @ determined
    if np.abs(lost).max(initial=0.0) > LEAK * largest or np.linalg.eigvalsh(inner)[0] <= 0.0:
        return np.full_like(pulled, np.nan)
    return np.asarray(determined @ np.linalg.solve(inner, along))


def refuse_missing(fit: Fitted) -> None:
    """Raise InputError if districts are not separate: moments are then expected ones, which promise too much."""
    if not kind_of_data(fit).by_district:
        raise InputError('this is not available with missing values; fit complete rows with missing="drop"')


def fitted_parameters(plan: Plan, task: Task, problem: Problem, model: CGLSCM, scale: Floats) -> Floats:
    """The free parameters of a task at a model, on the scale of correlations."""
    shape, m = task.shape, task.shape.slots
    own, variables = scale[m:], list(task.variables)
    C = model.C[np.ix_(list(task.latents), variables)]
    inside = model.omega[np.ix_(variables, variables)] - C.T @ C
    T = np.zeros((m, shape.size))
    for a, (slot, j) in enumerate(zip(task.slots, shape.column, strict=True)):
        v = task.variables[j]
        weight = model.mu[v] if slot == plan.constant and task.about_origin else model.T[slot, v]
        T[a, j] = weight * scale[a] / own[j]
    full = parameters_of(shape, T[None], (inside / np.outer(own, own))[None], (C / own)[None])
    return full if problem.link is None else full[:, [_first(column) for column in problem.link[0].T]]


def _first(column: Floats) -> int:
    """The parameter that a free parameter stands for: the first with unit weight."""
    return int(np.flatnonzero(np.abs(column - 1.0) < 1e-9)[0])
