"""Every parameter of a fit with its uncertainty; what data do not determine is named, not printed as an estimate."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import lru_cache
from math import erfc, nan, sqrt
from statistics import NormalDist
from typing import Any, Literal

import numpy as np

from halftrek.errors import InputError
from halftrek.estimation import Fit, Status
from halftrek.estimation.options import Options
from halftrek.estimation.space import make_space
from halftrek.graph import Graph, parse_edge_key
from halftrek.inference.incomplete import parameter_errors, parameter_scores
from halftrek.inference.influence import direction, influence, score_forms
from halftrek.inference.information import DistrictInformation, Kind, district_information
from halftrek.inference.measures import information_rank
from halftrek.inference.parameter_draws import draws_of_parameters
from halftrek.inference.plain_parameters import plain_parameters
from halftrek.inference.robust import mean_squares, rows_needed, usual_interval
from halftrek.model import Floats
from halftrek.moments import Moments
from halftrek.queries.gradients import Gradient
from halftrek.simulation import random_model

NO_MEANS = "no means were given"


@dataclass(frozen=True)
class Parameter:
    """One row, written as in lavaan: ``y ~ x``, ``x ~~ y``, ``f =~ x``, ``y ~1``; nan where nothing is determined."""

    lhs: str
    op: str
    rhs: str
    est: float
    se: float
    z: float
    p: float
    ci_low: float
    ci_high: float
    std: float
    note: str = ""


FIELDS = tuple(f.name for f in fields(Parameter))
Interval = Literal["delta", "robust", "bootstrap", "parametric"]


def parameter_columns(
    fit: Fit,
    *,
    level: float = 0.95,
    interval: Interval | None = None,
    information: Kind | None = None,
    replicates: int = 1000,
    random_state: int = 0,
) -> dict[str, Any]:
    """Coefficients, loadings, error covariances, variances and intercepts, in this order: a sequence for each field."""
    interval = interval or usual_interval(fit)
    if interval == "delta" and information in (None, "expected"):
        found = _plain_columns(fit, level)
        if found is not None:
            return found
    rows = _rows(fit, level, interval, information, replicates, random_state)
    return {name: [getattr(row, name) for row in rows] for name in FIELDS}


def parameter_rows(
    fit: Fit,
    *,
    level: float = 0.95,
    interval: Interval | None = None,
    information: Kind | None = None,
    replicates: int = 1000,
    random_state: int = 0,
) -> list[Parameter]:
    """The same, a value for each parameter."""
    found = parameter_columns(
        fit, level=level, interval=interval, information=information, replicates=replicates, random_state=random_state
    )
    columns = [c.tolist() if isinstance(c, np.ndarray) else c for c in found.values()]
    return [Parameter(*row) for row in zip(*columns, strict=True)]


def _plain_columns(fit: Fit, level: float) -> dict[str, Any] | None:
    """All columns at once, where every district is plain; otherwise None."""
    found = plain_parameters(fit)
    if found is None:
        return None
    places, values, errors, standardized = found
    count, p = len(values), len(fit.model.names)
    reach = _reach(level)
    z = values / errors
    told = [values, errors, z, _tails(z), values - reach * errors, values + reach * errors, standardized]
    notes = [""] * count
    if not fit.moments.has_mean:
        for column in told:
            column[-p:] = nan
        notes[-p:] = [NO_MEANS] * p
    return dict(zip(FIELDS, (*places.sides, *told, notes), strict=True))


def _rows(
    fit: Fit, level: float, interval: Interval, information: Kind | None, replicates: int, random_state: int
) -> list[Parameter]:
    """Row by row, for any model and any kind of interval."""
    if interval not in ("delta", "robust", "bootstrap", "parametric"):
        raise InputError(f"parameters have intervals 'delta', 'robust', 'bootstrap' and 'parametric', not {interval!r}")
    if interval == "bootstrap" or interval == "parametric":
        plain = parameter_rows(fit, level=level)
        drawn = draws_of_parameters(
            fit, plain, kind=interval, level=level, replicates=replicates, random_state=random_state
        )
        return [_with_error(row, error) for row, error in drawn]
    doubtful = True
    if fit.patterns is not None:
        rows, intercepts = _incomplete_rows(fit, level, interval, information or "observed")
    else:
        blocks = list(district_information(fit, "observed" if interval == "robust" else information or "expected"))
        inside, intercepts = _robust(fit, blocks) if interval == "robust" else _by_information(fit, blocks)
        rows = [row for block, e in zip(blocks, inside, strict=True) for row in _district_rows(fit, block, e, level)]
        doubtful = any(information_rank(block.matrix) < len(block.matrix) for block in blocks)
    rows += [_intercept(fit, j, error, level) for j, error in enumerate(intercepts)]
    loose = loose_parameters(fit.graph, fit.options) if doubtful else frozenset()
    rows = [_unknown(r) if (r.lhs, r.op, r.rhs) in loose else r for r in rows]
    rows = [replace(r, note=_equal(fit, r) or r.note) for r in rows] + _fixed_rows(fit, level)
    order = {"~": 0, "=~": 1, "~~": 2, "~1": 4}
    return sorted(rows, key=lambda r: 3 if r.op == "~~" and r.lhs == r.rhs else order[r.op])


@lru_cache(maxsize=64)
def loose_parameters(graph: Graph, options: Options) -> frozenset[tuple[str, str, str]]:
    """Parameters that no data determine, looked for at a random point.

    At special estimates, a covariance of zero for instance, a parameter may stand still to first order along a
    direction that data do not tell.
    """
    model = random_model(graph, noise=dict(options.noise), random_state=1)
    moments = Moments(model.names, 1000.0, model.mean, model.cov)
    anywhere = Fit(graph, moments, model, 0.0, Status("converged", ""), options=options)
    blocks = list(district_information(anywhere))
    if all(information_rank(block.matrix) == len(block.matrix) for block in blocks):
        return frozenset()
    inside, intercepts = _by_information(anywhere, blocks)
    rows = [row for block, e in zip(blocks, inside, strict=True) for row in _district_rows(anywhere, block, e, 0.95)]
    rows += [_intercept(anywhere, j, error, 0.95) for j, error in enumerate(intercepts)]
    return frozenset((r.lhs, r.op, r.rhs) for r in rows if np.isnan(r.est))


def _unknown(row: Parameter) -> Parameter:
    return _row(row.lhs, row.op, row.rhs, nan, nan, nan, 0.95)


def _by_information(fit: Fit, blocks: list[DistrictInformation]) -> tuple[list[Floats], Floats]:
    """Standard errors of the parameters of each district, on the scale of correlations, and of the intercepts."""
    spread = [block.spreads(_probes(block)) for block in blocks]
    home = {v: block for block in blocks for v in block.task.variables}
    intercepts = [_intercept_variance(fit, j, home[j]) for j in range(len(fit.model.names))]
    return [np.sqrt(s / fit.n) for s in spread], np.sqrt(np.array(intercepts) / fit.n)


def _robust(fit: Fit, blocks: list[DistrictInformation]) -> tuple[list[Floats], Floats]:
    """The same from the sandwich, in one pass over the rows."""
    rows_needed(fit, 'interval="robust"')
    forms = []
    for block in blocks:
        along = [direction(block, probe) for probe in _probes(block)]
        forms.append(score_forms(fit, block, np.array(along).reshape(len(along), block.matrix.shape[0])))
    forms += [influence(fit, (_slope_of_intercept(fit, j),)) for j in range(len(fit.model.names))]
    errors = [np.sqrt(s / fit.n) for s in mean_squares(fit, forms)]
    return errors[: len(blocks)], np.concatenate(errors[len(blocks) :])


def _incomplete_rows(
    fit: Fit, level: float, interval: Literal["delta", "robust"], information: Kind
) -> tuple[list[Parameter], Floats]:
    """Rows of all parameters but the intercepts, and errors of these, where values are missing."""
    model, names = fit.model, fit.model.names
    space = make_space(fit.graph, names, fit.options)
    if interval == "robust":
        rows_needed(fit, 'interval="robust"')
        errors = np.sqrt(mean_squares(fit, [parameter_scores(fit)])[0] / fit.n)
    else:
        errors = parameter_errors(fit, information)
    T, W, C, _ = space.arrays(space.vector(model))
    sd = np.sqrt(np.diag(model.cov))
    rows = [_row(names[v], "~", names[u], T[u, v], errors[a], T[u, v] * sd[u] / sd[v], level) for u, v, a in space.T_at]
    for k, j, a in space.C_at:
        cause = model.latents[space.latents[k]]
        rows.append(_row(cause, "=~", names[j], C[k, j], errors[a], C[k, j] / sd[j], level, "up to sign"))
    for i, j, a in space.W_at:
        unit = sd[i] ** 2 if i == j else np.sqrt(W[i, i] * W[j, j])
        rows.append(_row(names[i], "~~", names[j], W[i, j], errors[a], W[i, j] / unit, level))
    intercepts = np.zeros(len(names))
    intercepts[space.mu_at[:, 0]] = errors[space.mu_at[:, 2]]
    return rows, intercepts


def _probes(block: DistrictInformation) -> Floats:
    """The gradient of each parameter in the free ones."""
    link = block.state.problem.link
    return np.eye(block.task.shape.parameters) if link is None else link[0]


def _intercept_variance(fit: Fit, j: int, block: DistrictInformation) -> float:
    """Asymptotic variance (times n) of one intercept, ``m_j - sum of T_uj m_u``; only its own equation counts."""
    task, shape, model = block.task, block.task.shape, fit.model
    member = task.variables.index(j)
    held = bool(fit.options.intercepts)  # then intercepts are parameters of their own
    pulled = np.zeros(shape.parameters)
    for a, (slot, column) in enumerate(zip(task.slots, shape.column, strict=True)):
        if column == member:
            slope = float(slot == block.constant) if held else -model.mean[slot]
            pulled[a] = slope * block.scale[shape.slots + member] / block.scale[a]
    link = block.state.problem.link
    found = block.spread(pulled if link is None else pulled @ link[0])
    if held:
        return found
    near = np.append(np.flatnonzero(model.T[:, j]), j)
    weights = np.append(-model.T[near[:-1], j], 1.0)
    return found + float(weights @ model.cov[np.ix_(near, near)] @ weights)


def _slope_of_intercept(fit: Fit, j: int) -> Gradient:
    p = len(fit.model.names)
    T, mean = np.zeros((p, p)), -fit.model.T[:, j].copy()
    mean[j] += 1.0
    T[:, j] = -fit.model.mean
    return Gradient(T, np.zeros((p, p)), mean)


def _edge(row: Parameter) -> tuple[str, ...]:
    if row.op == "~":
        return (f"{row.rhs} -> {row.lhs}",)
    if row.op == "=~":
        return (f"{row.lhs} -> {row.rhs}",)
    return (f"{row.lhs} <-> {row.rhs}", f"{row.rhs} <-> {row.lhs}")


def _equal(fit: Fit, row: Parameter) -> str:
    label = next((fit.graph.coefficients[e] for e in _edge(row) if e in fit.graph.coefficients), None)
    return f"label {label}" if isinstance(label, str) else ""


def _fixed_rows(fit: Fit, level: float) -> list[Parameter]:
    """Coefficients and error covariances that were held at a value."""
    rows = []
    for key, value in fit.graph.coefficients.items():
        u, kind, v = parse_edge_key(key)
        if isinstance(value, float) and u not in fit.graph.latents:
            sides = (v, "~", u) if kind == "->" else (u, "~~", v)
            rows.append(_row(*sides, value, 0.0, nan, level, "fixed"))
    return rows


def _district_rows(fit: Fit, block: DistrictInformation, errors: Floats, level: float) -> list[Parameter]:
    task, shape, at = block.task, block.task.shape, block.task.shape.at
    names, model, m = fit.model.names, fit.model, block.task.shape.slots
    own = block.scale[m:]
    sd = np.sqrt(np.diag(model.cov))
    own_loadings = model.C[np.ix_(list(task.latents), list(task.variables))]
    inside = model.omega[np.ix_(task.variables, task.variables)] - own_loadings.T @ own_loadings
    rows = []
    for a, (slot, j) in enumerate(zip(task.slots, shape.column, strict=True)):
        if 0 <= slot < len(names):
            v = task.variables[j]
            value = float(model.T[slot, v])
            error = errors[a] * own[j] / block.scale[a]
            rows.append(_row(names[v], "~", names[slot], value, error, value * sd[slot] / sd[v], level))
    for a, (k, j) in enumerate(shape.loadings, at.c.start):
        u, v = task.latents[k], task.variables[j]
        value = float(model.C[u, v])
        rows.append(
            _row(model.latents[u], "=~", names[v], value, errors[a] * own[j], value / sd[v], level, "up to sign")
        )
    for a, (i, j) in enumerate(shape.pairs, at.w.start):
        v, w = task.variables[i], task.variables[j]
        value = float(inside[i, j])
        std = value / np.sqrt(inside[i, i] * inside[j, j])
        rows.append(_row(names[v], "~~", names[w], value, errors[a] * own[i] * own[j], std, level))
    for a, j in enumerate(shape.noisy, at.v.start):
        v = task.variables[j]
        value = float(inside[j, j])
        error = errors[a] * (value if shape.loadings else own[j] ** 2)
        rows.append(_row(names[v], "~~", names[v], value, error, value / sd[v] ** 2, level))
    return rows


def _intercept(fit: Fit, j: int, error: float, level: float) -> Parameter:
    model = fit.model
    name, value = model.names[j], float(model.mu[j])
    std = value / float(np.sqrt(model.cov[j, j]))
    if name in dict(fit.options.intercepts):
        return _row(name, "~1", "", value, 0.0, std, level, "fixed")
    if not fit.moments.has_mean:
        return _row(name, "~1", "", nan, nan, nan, level, NO_MEANS)
    return _row(name, "~1", "", value, error, std, level)


def _row(
    lhs: str, op: str, rhs: str, est: float, se: Floats | float, std: float, level: float, note: str = ""
) -> Parameter:
    error, value = float(se), float(est)
    if np.isnan(error):
        return Parameter(lhs, op, rhs, nan, nan, nan, nan, nan, nan, nan, note or "not determined by data")
    reach = _reach(level) * error
    return _with_error(
        Parameter(lhs, op, rhs, value, error, nan, nan, value - reach, value + reach, float(std), note), error
    )


def _reach(level: float) -> float:
    """Standard errors from the middle of an interval to its ends."""
    return NormalDist().inv_cdf(0.5 + level / 2.0)


def _with_error(row: Parameter, error: float) -> Parameter:
    """The row with this standard error, and the test that goes with it."""
    if not error > 0.0:
        return row
    z = row.est / error
    return replace(row, se=error, z=z, p=_tail(z))


def _tail(z: float) -> float:
    """Chance of a standard normal number at least so far from zero."""
    return erfc(abs(z) / sqrt(2.0))


def _tails(z: Floats) -> Floats:
    return np.array([_tail(x) for x in z.tolist()])
