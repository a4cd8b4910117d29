"""Standard errors of answers by the delta method.

``Avar(q) = g' I^+ g``, summed over districts, plus ``g_m' Sigma g_m`` for the means. The answer may be determined where
parameters are not: only directions that the gradient uses have to carry information.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from halftrek.bottom.arrays import Flags, Floats
from halftrek.estimation import Fitted
from halftrek.estimation.plan import Plan, make_plan
from halftrek.inference.information.base import kind_of_data
from halftrek.inference.information.edge_slopes import EdgeSlopes
from halftrek.inference.information.information import Kind, district_information, touched_information
from halftrek.inference.information.plain import is_plain, plain_spread
from halftrek.queries import Query
from halftrek.queries.gradients import Gradient, linearize


def standard_errors(fit: Fitted, query: Query, *, information: Kind | None = None) -> tuple[Floats, Floats]:
    """Standard errors of an answer's values and of its variances; nan where the data do not determine them.

    By default the information is the expected one, with missing values the observed one.
    """
    found = linearize(query, fit.model)
    errors = np.sqrt(kind_of_data(fit).variances(fit, (*found.values, *found.variances), information) / fit.n)
    return errors[: len(found.values)], errors[len(found.values) :]


def gradient_variances(fit: Fitted, gradients: Sequence[Gradient], information: Kind) -> Floats:
    """Asymptotic variances, times n, of numbers with these gradients."""
    parts = district_variances(fit, gradients, information)
    return np.asarray(np.sum([spread for _, spread in parts], axis=0)) if parts else np.zeros(len(gradients))


def district_variances(
    fit: Fitted, gradients: Sequence[Gradient], information: Kind
) -> list[tuple[tuple[int, ...], Floats]]:
    """What each district adds to the asymptotic variances, times n: its variables, and a number for each gradient.

    The means are made of the errors' means, ``m = B'(mu + e)``: each district adds ``h' Omega h`` with ``h`` the part
    of ``B g_m`` that is its own.
    """
    if isinstance(gradients, EdgeSlopes):  # means have no share in them
        blocks = touched_information(fit, information, gradients.touched)
        return [(block.task.variables, block.spreads(gradients.pulled(block))) for block in blocks]
    plan = make_plan(fit.graph, fit.model.names, fit.options, raw=bool(fit.options.intercepts))
    slopes = [fit.model.B @ g.mean if g.mean.any() else np.zeros_like(g.mean) for g in gradients]
    used = np.zeros(len(fit.model.names), dtype=bool)
    edges = _edges(fit)
    for g, slope in zip(gradients, slopes, strict=True):
        used |= (g.T * edges).any(axis=0) | g.omega.any(axis=0) | (slope != 0.0)
    found = _plain_variances(fit, plan, gradients, used) if information == "expected" else {}
    left = used.copy()
    for variables in found:
        left[list(variables)] = False
    for block in district_information(fit, information, touching=left) if left.any() else ():
        pulled = np.array([block.pull(*with_intercepts(fit, g)) for g in gradients])
        found[block.task.variables] = block.spreads(pulled)
    if not fit.options.intercepts:
        for variables, spread in found.items():
            at = np.array(variables, dtype=np.intp)
            spread += [h[at] @ fit.model.omega[at[:, None], at] @ h[at] for h in slopes]
    return list(found.items())


def _edges(fit: Fitted) -> Flags:
    """Which coefficients there are: a gradient may have entries where the graph has no edge."""
    place = {v: i for i, v in enumerate(fit.model.names)}
    found = np.zeros((len(place), len(place)), dtype=bool)
    for u, v in fit.graph.directed:
        found[place[u], place[v]] = True
    return found


def _plain_variances(
    fit: Fitted, plan: Plan, gradients: Sequence[Gradient], used: Flags
) -> dict[tuple[int, ...], Floats]:
    """The districts that can be looked at quickly."""
    found = {}
    for task in plan.every_task:
        if is_plain(plan, task) and used[list(task.variables)].any():
            spread = plain_spread(task, fit.model, gradients)
            if spread is not None:
                found[task.variables] = spread
    return found


def with_intercepts(fit: Fitted, gradient: Gradient) -> tuple[Gradient, Floats]:
    """The gradient where some intercepts are fixed, and its part in the others; otherwise as it is.

    Means are then no longer free: they move with the intercepts, ``m = B'mu``, and T moves them too.
    """
    if not fit.options.intercepts:
        return gradient, np.zeros(len(fit.model.names))
    intercepts = fit.model.B @ gradient.mean
    shift = np.outer(fit.model.mean, intercepts)
    return Gradient(gradient.T + shift, gradient.omega, np.zeros_like(gradient.mean)), intercepts
