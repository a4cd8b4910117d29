"""Standard errors of all parameters of a model whose districts are all plain, as whole columns.

The same numbers as ``parameters`` computes row by row for any model; the places of a graph's parameters are found once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from halftrek.bottom.arrays import Floats, Ints
from halftrek.estimation import Fitted
from halftrek.estimation.plan import Plan, Task, make_plan
from halftrek.inference.information.base import kind_of_data
from halftrek.inference.information.plain import FIRM, is_plain, plain_information
from halftrek.models import CGLSCM
from halftrek.models.kernels import inverse


@dataclass(frozen=True, eq=False)
class Places:
    """Where the parameters of a plan are: coefficients, covariances of errors, variances, intercepts, in this order.

    ``tasks`` go with the places of their coefficients and of their covariances and variances; ``regressions`` are
    districts of one variable with as many parents, in arrays: the variables, their parents, places of coefficients and
    of variances.
    """

    sides: tuple[list[str], list[str], list[str]]
    T_at: tuple[Ints, Ints]
    W_at: tuple[Ints, Ints]
    pairs: int
    tasks: tuple[tuple[Task, Ints, Ints], ...]
    regressions: tuple[tuple[Ints, Ints, Ints, Ints], ...]


@lru_cache(maxsize=64)
def places_of(plan: Plan) -> Places | None:
    """The places of all parameters; None unless every district is plain."""
    if plan.mixing is not None or not all(is_plain(plan, task) for task in plan.every_task):
        return None
    coefficients, pairs, variances = [], [], []
    for task in plan.every_task:
        variables = task.variables
        coefficients += [(slot, variables[j]) for slot, j in zip(task.slots, task.shape.column, strict=True)]
        pairs += [(variables[i], variables[j]) for i, j in task.shape.pairs]
        variances += [variables[j] for j in task.shape.noisy]
    T_place = {ends: a for a, ends in enumerate(coefficients)}
    W_place = {ends: a for a, ends in enumerate([*pairs, *((v, v) for v in variances)])}
    tasks = []
    for task in plan.tasks:
        variables = task.variables
        t = [T_place[slot, variables[j]] for slot, j in zip(task.slots, task.shape.column, strict=True)]
        w = [W_place[variables[i], variables[j]] for i, j in task.shape.pairs]
        w += [W_place[variables[j], variables[j]] for j in task.shape.noisy]
        tasks.append((task, np.array(t, dtype=np.intp), np.array(w, dtype=np.intp)))
    regressions = []
    for group in plan.regressions:
        rows = zip(group.target.tolist(), group.slots.tolist(), strict=True)
        at = np.array([[T_place[u, v] for u in row] for v, row in rows], dtype=np.intp).reshape(group.slots.shape)
        own = np.array([W_place[v, v] for v in group.target.tolist()], dtype=np.intp)
        regressions.append((group.target, group.slots, at, own))
    names = plan.names
    k, p = len(variances), len(names)
    lhs = [names[v] for _, v in coefficients] + [names[i] for i, _ in pairs] + [names[v] for v in variances]
    rhs = [names[u] for u, _ in coefficients] + [names[j] for _, j in pairs] + [names[v] for v in variances]
    op = ["~"] * len(coefficients) + ["~~"] * (len(pairs) + k) + ["~1"] * p
    return Places(
        sides=([*lhs, *names], op, [*rhs, *[""] * p]),
        T_at=_columns(coefficients),
        W_at=_columns(list(W_place)),
        pairs=len(pairs),
        tasks=tuple(tasks),
        regressions=tuple(regressions),
    )


def _columns(pairs: list[tuple[int, int]]) -> tuple[Ints, Ints]:
    found = np.array(pairs, dtype=np.intp).reshape(-1, 2)
    return found[:, 0].copy(), found[:, 1].copy()


def plain_parameters(fit: Fitted) -> tuple[Places, Floats, Floats, Floats] | None:
    """Places, estimates, standard errors by expected information, and standardized estimates.

    None if some district is not plain, or near singular: then it takes a closer look.
    """
    if not kind_of_data(fit).by_district or fit.options.intercepts or fit.graph.coefficients:
        return None
    places = places_of(make_plan(fit.graph, fit.model.names, fit.options))
    spread = None if places is None else _spread(places, fit.model)
    if places is None or spread is None:
        return None
    model = fit.model
    sd = np.sqrt(model.cov.diagonal())
    T, W, mu = model.T[places.T_at], model.omega[places.W_at], model.mu
    (u, v), (i, j), k = places.T_at, places.W_at, places.pairs
    noise = model.omega.diagonal()
    unit = np.concatenate([np.sqrt(noise[i[:k]] * noise[j[:k]]), sd[i[k:]] ** 2])
    standardized = np.concatenate([T * sd[u] / sd[v], W / unit, mu / sd])
    return places, np.concatenate([T, W, mu]), np.sqrt(spread / fit.n), standardized


def _spread(places: Places, model: CGLSCM) -> Floats | None:
    """Asymptotic variances, times n."""
    mean, noise = model.mean, model.omega.diagonal()
    T, W, mu = np.empty(len(places.T_at[0])), np.empty(len(places.W_at[0])), noise.copy()
    for target, slots, at, own in places.regressions:
        errors = noise[target]
        W[own] = 2.0 * errors * errors
        if slots.shape[1]:
            spread = _slopes(model.cov, slots)
            if spread is None:
                return None
            spread = spread * errors[:, None, None]
            T[at] = spread.diagonal(axis1=1, axis2=2)
            mu[target] += (mean[slots][:, None, :] @ spread @ mean[slots][:, :, None])[:, 0, 0]
    for task, t_at, w_at in places.tasks:
        found = plain_information(task, model)
        if found is None:
            return None
        spread, m = inverse(found.matrix), task.shape.slots
        diagonal = spread.diagonal()
        T[t_at] = diagonal[:m] * found.unit**2
        W[w_at] = diagonal[m:] * found.square.ravel()[found.way.w_at] ** 2
        if m and mean.any():
            slope = mean[task.where[:m]] * found.unit
            moved = (slope[:, None] * spread[:m, :m] * slope * found.way.same).sum(axis=0)
            mu[task.where[m:]] += np.bincount(found.way.column, moved, minlength=task.shape.size)
    return np.concatenate([T, W, mu])


def _slopes(cov: Floats, slots: Ints) -> Floats | None:
    """Inverse covariances of the parents of each regression; None if some are near singular."""
    if slots.shape[1] == 1:
        return 1.0 / cov[slots, slots][:, :, None]
    G = cov[slots[:, :, None], slots[:, None, :]]
    scale = np.sqrt(G.diagonal(axis1=1, axis2=2))
    scale = scale[:, :, None] * scale[:, None, :]
    try:
        inverses = np.linalg.inv(G / scale)
    except np.linalg.LinAlgError:
        return None
    # on its diagonal is one over the share of a parent's variance that the other parents leave
    return inverses / scale if (inverses.diagonal(axis1=1, axis2=2) * FIRM < 1.0).all() else None
