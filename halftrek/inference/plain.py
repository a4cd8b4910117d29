"""The expected information of districts without loadings, ties or fixed values, and what it says of an answer.

The same as ``information`` for the districts that most graphs are made of, with a few array calls each. Expected
information is the Hessian at the moments that the model itself implies.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from halftrek.estimation.plan import Plan, Task
from halftrek.estimation.single import derivatives, fits_alone, layout_of
from halftrek.model import CGLSCM, Floats
from halftrek.queries.gradients import Gradient

FIRM = 1e-6  # share of a pivot that has to be left; below, a closer look is needed


def is_plain(plan: Plan, task: Task) -> bool:
    """True if a district can be looked at here."""
    return plan.mixing is None and task.plain and fits_alone(task.shape)


def plain_spread(task: Task, model: CGLSCM, gradients: Sequence[Gradient]) -> Floats | None:
    """What the district adds to the asymptotic variance (times n) of each number; None if it is near singular."""
    m, way = task.shape.slots, layout_of(task.shape)
    who = task.where[m:]
    _, slots, owner = task.places
    G = model.cov[task.where[:, None], task.where]
    scale = np.sqrt(G.diagonal())
    G = G / (scale[:, None] * scale)
    own = scale[m:]
    unit = own[way.column] / scale[:m]  # what one unit of a coefficient is in the units of the data
    square = own[:, None] * own
    W = model.omega[who[:, None], who] / square
    K = np.linalg.inv(W)
    T = np.zeros((m, len(who)))
    T.ravel()[way.t_at] = model.T[slots, owner] / unit
    V = (G[:m, m:] - G[:m, :m] @ T) @ K
    matrix = 0.5 * derivatives(way, G[:m, :m], K, V, W)[1]
    pulled = np.empty((len(matrix), len(gradients)))
    for k, g in enumerate(gradients):
        pulled[:m, k] = g.T[slots, owner] * unit
        pulled[m:, k] = (g.omega[who[:, None], who] * square).ravel()[way.w_at] * way.slope
    try:
        pivots = np.linalg.cholesky(matrix).diagonal() ** 2
    except np.linalg.LinAlgError:
        return None
    if (pivots < FIRM * matrix.diagonal()).any():
        return None
    return np.asarray((pulled * np.linalg.solve(matrix, pulled)).sum(axis=0))
