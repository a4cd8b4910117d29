"""The expected information of districts without loadings, ties or fixed values, and what it says of an answer.

The same as ``information`` for the districts that most graphs are made of, with a few array calls each. Expected
information is the Hessian at the moments that the model itself implies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.estimation.fast.alone import Layout, derivatives, fits_alone, layout_of, residuals
from halftrek.estimation.plan import Plan, Task
from halftrek.models import CGLSCM
from halftrek.models.kernels import inverse, quiet, share_left
from halftrek.queries.gradients import Gradient

FIRM = 1e-6  # share of a pivot that has to be left; below, a closer look is needed


def is_plain(plan: Plan, task: Task) -> bool:
    """True if a district can be looked at here."""
    return plan.mixing is None and task.plain and fits_alone(task.shape)


@dataclass(frozen=True, eq=False)
class PlainInformation:
    """Information per row about coefficients and errors' covariances of a district, on the scale of correlations.

    ``unit`` and ``square`` are what one unit of a coefficient and of a covariance is in the units of the data.
    """

    way: Layout
    matrix: Floats
    unit: Floats
    square: Floats


def plain_information(task: Task, model: CGLSCM) -> PlainInformation | None:
    """The information of a plain district at a model; None if it is near singular."""
    m, way = task.shape.slots, layout_of(task)
    who = task.where[m:]
    _, slots, owner = task.places
    G = model.cov[task.where[:, None], task.where]
    scale = np.sqrt(G.diagonal())
    G = G / (scale[:, None] * scale)
    own = scale[m:]
    unit = own[way.column] / scale[:m]
    square = own[:, None] * own
    W = model.omega[who[:, None], who] / square
    try:
        with quiet():
            K = inverse(W)
            SA, _ = residuals(way.ones, way.t_at, way.moments(G), model.T[slots, owner] / unit)
            matrix = 0.5 * derivatives(way, 2.0 * G[:m, :m], K, (SA @ K).take(way.row, axis=0), W)[1]
            return PlainInformation(way, matrix, unit, square) if share_left(matrix) >= FIRM else None
    except np.linalg.LinAlgError:
        return None


def plain_spread(task: Task, model: CGLSCM, gradients: Sequence[Gradient]) -> Floats | None:
    """What the district adds to the asymptotic variance (times n) of each number; None if it is near singular."""
    found = plain_information(task, model)
    if found is None:
        return None
    m, way = task.shape.slots, found.way
    who = task.where[m:]
    _, slots, owner = task.places
    pulled = np.empty((len(found.matrix), len(gradients)))
    for k, g in enumerate(gradients):
        pulled[:m, k] = g.T[slots, owner] * found.unit
        pulled[m:, k] = (g.omega[who[:, None], who] * found.square).ravel()[way.w_at] * way.slope[m:]
    return np.asarray((pulled * np.linalg.solve(found.matrix, pulled)).sum(axis=0))
