"""Every parameter of a fit with its uncertainty; what data do not determine is named, not printed as an estimate."""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np

from halftrek.estimation import Fit
from halftrek.graph import parse_edge_key
from halftrek.inference.delta import gradient_variance
from halftrek.inference.information import DistrictInformation, district_information
from halftrek.model import Floats
from halftrek.queries.gradients import Gradient


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


def parameter_rows(fit: Fit, *, level: float = 0.95) -> list[Parameter]:
    """Coefficients, loadings, error covariances, variances and intercepts, in this order."""
    blocks = list(district_information(fit))
    rows = [row for block in blocks for row in _district_rows(fit, block, level)]
    rows = [replace(r, note=_equal(fit, r) or r.note) for r in rows] + _fixed_rows(fit, level)
    rows += [_intercept(fit, j, blocks, level) for j in range(len(fit.model.names))]
    order = {"~": 0, "=~": 1, "~~": 2, "~1": 4}
    return sorted(rows, key=lambda r: 3 if r.op == "~~" and r.lhs == r.rhs else order[r.op])


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
            rows.append(_row(*sides, value, 0.0, float("nan"), level, "fixed"))
    return rows


def _district_rows(fit: Fit, block: DistrictInformation, level: float) -> list[Parameter]:
    task, shape, at = block.task, block.task.shape, block.task.shape.at
    names, model, m = fit.model.names, fit.model, block.task.shape.slots
    own = block.scale[m:]
    sd = np.sqrt(np.diag(model.cov))
    explicit = list(task.latents)
    inside = model.omega - model.C[explicit].T @ model.C[explicit]
    link = block.state.problem.link
    errors = np.full(shape.parameters, np.nan)
    for a in range(shape.parameters):
        probe = np.zeros(shape.parameters)
        probe[a] = 1.0
        errors[a] = np.sqrt(block.spread(probe if link is None else probe @ link[0]) / fit.n)
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
        value = float(inside[v, w])
        std = value / np.sqrt(inside[v, v] * inside[w, w])
        rows.append(_row(names[v], "~~", names[w], value, errors[a] * own[i] * own[j], std, level))
    for a, j in enumerate(shape.noisy, at.v.start):
        v = task.variables[j]
        value = float(inside[v, v])
        error = errors[a] * (value if shape.loadings else own[j] ** 2)
        rows.append(_row(names[v], "~~", names[v], value, error, value / sd[v] ** 2, level))
    return rows


def _intercept(fit: Fit, j: int, blocks: list[DistrictInformation], level: float) -> Parameter:
    model = fit.model
    name, value = model.names[j], float(model.mu[j])
    std = value / float(np.sqrt(model.cov[j, j]))
    if name in dict(fit.options.intercepts):
        return _row(name, "~1", "", value, 0.0, std, level, "fixed")
    if not fit.moments.has_mean:
        return _row(name, "~1", "", float("nan"), float("nan"), float("nan"), level, "no means were given")
    p = len(model.names)
    T, mean = np.zeros((p, p)), -model.T[:, j].copy()
    mean[j] += 1.0
    T[:, j] = -model.mean
    variance = gradient_variance(fit, Gradient(T, np.zeros((p, p)), mean), blocks)
    return _row(name, "~1", "", value, float(np.sqrt(variance / fit.n)), std, level)


def _row(
    lhs: str, op: str, rhs: str, est: float, se: Floats | float, std: float, level: float, note: str = ""
) -> Parameter:
    error = float(se)
    if np.isnan(error):
        nan = float("nan")
        return Parameter(lhs, op, rhs, nan, nan, nan, nan, nan, nan, nan, note or "not determined by data")
    normal = NormalDist()
    reach = normal.inv_cdf(0.5 + level / 2.0) * error
    z = est / error if error else float("nan")
    p = 2.0 * (1.0 - normal.cdf(abs(z))) if error else float("nan")
    return Parameter(lhs, op, rhs, est, error, z, p, est - reach, est + reach, float(std), note)
