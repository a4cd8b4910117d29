"""Standard errors of answers by the delta method.

``Avar(q) = g' I^+ g``, summed over districts, plus ``g_m' Sigma g_m`` for the means. The answer may be determined where
parameters are not: only directions that the gradient uses have to carry information.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from halftrek.estimation import Fit
from halftrek.estimation.plan import make_plan
from halftrek.inference.incomplete import incomplete_errors
from halftrek.inference.information import DistrictInformation, Kind, district_information
from halftrek.inference.plain import is_plain, plain_spread
from halftrek.model import Floats
from halftrek.queries import Query
from halftrek.queries.gradients import Gradient, linearize


def standard_errors(fit: Fit, query: Query, *, information: Kind | None = None) -> tuple[Floats, Floats]:
    """Standard errors of an answer's values and of its variances; nan where the data do not determine them.

    By default the information is the expected one, with missing values the observed one.
    """
    if fit.patterns is not None:
        return incomplete_errors(fit, query, information or "observed")
    found = linearize(query, fit.model)
    gradients = (*found.values, *found.variances)
    spread = gradient_variances(fit, gradients, information or "expected")
    errors = np.sqrt(spread / fit.n)
    return errors[: len(found.values)], errors[len(found.values) :]


def gradient_variances(fit: Fit, gradients: Sequence[Gradient], information: Kind) -> Floats:
    """Asymptotic variances, times n, of numbers with these gradients."""
    used = np.zeros(len(fit.model.names), dtype=bool)
    for g in gradients:
        used |= g.T.any(axis=0) | g.omega.any(axis=0) | (g.mean != 0.0)
        if fit.options.intercepts:  # means move with the intercepts of all ancestors
            used |= fit.model.B @ g.mean != 0.0
    quick = np.zeros(len(gradients))
    if information == "expected":
        plan = make_plan(fit.graph, fit.model.names, fit.options, raw=bool(fit.options.intercepts))
        for task in plan.every_task:
            if is_plain(plan, task) and used[list(task.variables)].any():
                added = plain_spread(task, fit.model, gradients)
                if added is not None:
                    quick += added
                    used[list(task.variables)] = False
    blocks = list(district_information(fit, information, touching=used)) if used.any() else []
    return np.asarray(quick + np.array([gradient_variance(fit, g, blocks) for g in gradients]))


def gradient_variance(fit: Fit, gradient: Gradient, blocks: list[DistrictInformation]) -> float:
    """Asymptotic variance, times n, of a number with this gradient."""
    intercepts = np.zeros(len(fit.model.names))
    total = 0.0
    if fit.options.intercepts:
        # means are no longer free: move with the intercepts, m = B'mu, and T moves them too
        intercepts = fit.model.B @ gradient.mean
        shift = np.outer(fit.model.mean, intercepts)
        gradient = Gradient(gradient.T + shift, gradient.omega, np.zeros_like(gradient.mean))
    else:
        total = float(gradient.mean @ fit.model.cov @ gradient.mean)
    return total + sum(block.spread(block.pull(gradient, intercepts)) for block in blocks)
