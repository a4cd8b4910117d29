"""The likelihood step by step, to see how EM converges."""

from __future__ import annotations

from halftrek.errors import InputError
from halftrek.estimation.block import evaluate
from halftrek.estimation.district import EM_SETTLED, make_problem
from halftrek.estimation.em import em_step, has_em_step
from halftrek.estimation.fit import Fit, fit
from halftrek.estimation.plan import make_plan
from halftrek.estimation.solve import gather, sources_of
from halftrek.estimation.starts import regression_start


def likelihood_trace(fitted: Fit, *, steps: int = 200) -> list[float]:
    """Log-likelihoods of EM alone after 1, 2, ... steps from the first start, until it has settled.

    The last one is what ``finish=False, starts=1`` gives.
    """
    if steps < 1:
        raise InputError(f"steps must be at least 1, not {steps}")
    if fitted.method != "em" or fitted.patterns is not None:
        raise InputError("likelihood_trace is for fits by method='em' to complete rows")
    data, options = fitted.moments, fitted.options
    plan = make_plan(fitted.graph, data.names, options)
    centred, about_origin = sources_of(plan, data.cov[None], data.mean[None])
    traces: list[list[float]] = []  # F of each district after each step
    for task in plan.tasks:
        problem = make_problem(task, *gather((task,), about_origin if task.about_origin else centred))
        if not has_em_step(problem):
            who = ", ".join(data.names[v] for v in task.variables)
            raise InputError(f"EM has no closed step for {{{who}}}: coefficients are tied, or covariances held there")
        theta, last = regression_start(problem), float("inf")
        traces.append([])
        while len(traces[-1]) < steps:
            theta = em_step(problem, theta)
            traces[-1].append(float(evaluate(problem, theta).value[0]))
            if last - traces[-1][-1] < EM_SETTLED:
                break
            last = traces[-1][-1]
    count = max(map(len, traces), default=1)
    values = [sum(trace[min(k, len(trace) - 1)] for trace in traces) for k in range(count)]
    first = fit(
        fitted.graph, data, noise=dict(options.noise), intercepts=dict(options.intercepts), starts=1, max_iter=1,
        finish=False,
    )  # fmt: skip
    return [first.loglik - 0.5 * data.n * (value - values[0]) for value in values]
