"""The likelihood step by step, to see how EM converges."""

from __future__ import annotations

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.data import Moments
from halftrek.errors import InputError
from halftrek.estimation.district.block import evaluate
from halftrek.estimation.district.district import EM_SETTLED, make_problem
from halftrek.estimation.district.em import em_step, has_em_step
from halftrek.estimation.district.shape import Problem
from halftrek.estimation.district.starts import regression_start
from halftrek.estimation.fit import LOG_2PI, Fitted
from halftrek.estimation.given.data_kind import data_of
from halftrek.estimation.plan import Task, make_plan
from halftrek.estimation.solve import gather, sources_of


def likelihood_trace(fitted: Fitted, *, steps: int = 200) -> list[float]:
    """Log-likelihoods of EM alone after 1, 2, ... steps from the first start, until every district has settled."""
    if steps < 1:
        raise InputError(f"steps must be at least 1, not {steps}")
    if fitted.method != "em" or not isinstance(data_of(fitted), Moments):
        raise InputError("likelihood_trace is for fits by method='em' to complete rows")
    data = fitted.moments
    plan = make_plan(fitted.graph, data.names, fitted.options)
    centred, about_origin = sources_of(plan, data.cov[None], data.mean[None])
    traces = [
        _district(task, about_origin if task.about_origin else centred, data.names, steps) for task in plan.every_task
    ]
    count = max(map(len, traces))
    total = [sum(trace[min(k, len(trace) - 1)] for trace in traces) for k in range(count)]
    return [-0.5 * data.n * (len(data.names) * LOG_2PI + value) for value in total]


def _district(task: Task, S: Floats, names: tuple[str, ...], steps: int) -> list[float]:
    """F of one district in the units of the data after each step."""
    G, scale = gather((task,), S)
    problem = make_problem(task, G, scale)
    if not has_em_step(problem):
        who = ", ".join(names[v] for v in task.variables)
        raise InputError(f"EM has no closed step for {{{who}}}: coefficients are tied there, or covariances held")
    units = 2.0 * float(np.log(scale[0, task.shape.slots :]).sum())
    return [value + units for value in _values(problem, steps)]


def _values(problem: Problem, steps: int) -> list[float]:
    theta = regression_start(problem)
    values: list[float] = []
    while len(values) < steps:
        theta = em_step(problem, theta)
        values.append(float(evaluate(problem, theta).value[0]))
        if len(values) > 1 and values[-2] - values[-1] < EM_SETTLED:
            break
    return values
