"""The likelihood step by step, to see how EM converges."""

from __future__ import annotations

from halftrek.errors import InputError
from halftrek.estimation.fit import Fit, fit


def likelihood_trace(fitted: Fit, *, steps: int = 100) -> list[float]:
    """Log-likelihoods of EM alone after 1, 2, ... steps from the first start, until it has settled.

    Every entry is a fit of its own that was stopped there: what ``finish=False, starts=1, max_iter=k`` gives.
    """
    if steps < 1:
        raise InputError(f"steps must be at least 1, not {steps}")
    if fitted.method != "em":
        raise InputError(f"likelihood_trace is for fits by method='em', not {fitted.method!r}")
    if fitted.patterns is not None:
        raise InputError("likelihood_trace is for complete rows; this fit has missing values")
    values: list[float] = []
    for step in range(1, steps + 1):
        stopped = fit(
            fitted.graph,
            fitted.moments,
            noise=dict(fitted.options.noise),
            intercepts=dict(fitted.options.intercepts),
            starts=1,
            max_iter=step,
            finish=False,
        )
        values.append(stopped.loglik)
        if stopped.converged:
            break
    return values
