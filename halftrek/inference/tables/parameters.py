"""Every parameter of a fit with its uncertainty; what data do not determine is named, not printed as an estimate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from math import nan
from typing import Unpack

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.bottom.frames import Columns
from halftrek.errors import InputError
from halftrek.estimation import Fitted
from halftrek.estimation.given.options import Options
from halftrek.estimation.plan import make_plan
from halftrek.estimation.space import Space, make_space
from halftrek.graphs import Graph
from halftrek.graphs.hidden import scaled_by
from halftrek.inference.draws.parameter_draws import draws_of_parameters
from halftrek.inference.evidence.evidence import Support, equation_sizes, one_equation, two_sided
from halftrek.inference.evidence.incomplete import seen_support
from halftrek.inference.how import How, Uncertainty
from halftrek.inference.information.base import kind_of_data
from halftrek.inference.information.dimension import information_rank, random_fit
from halftrek.inference.information.influence import Forms, direction, influence, score_forms
from halftrek.inference.information.information import DistrictInformation, district_information
from halftrek.inference.information.missing.incomplete import parameter_errors, parameter_scores
from halftrek.inference.information.robust import mean_squares, rows_needed
from halftrek.inference.intervals import kind_of
from halftrek.inference.intervals.base import ends_on
from halftrek.inference.intervals.robust import row_quantiles
from halftrek.inference.tables.definitions import defined_rows
from halftrek.inference.tables.parameter import FIELDS, NO_MEANS, UNDETERMINED, Parameter, Reach, row_of
from halftrek.inference.tables.plain_parameters import plain_parameters
from halftrek.queries.gradients import Gradient

# rows of all parameters but the intercepts, errors and reaches of these, and whether data may leave some undetermined
ParameterRows = tuple[list[Parameter], Floats, list[Reach], bool]


def parameter_columns(fit: Fitted, how: How | None = None, **options: Unpack[Uncertainty]) -> Columns:
    """Coefficients, loadings, error covariances, variances and intercepts, in this order: a sequence for each field.

    ``how`` says what intervals are made of, or its fields are given one by one; by default what suits the rows.
    """
    given: Uncertainty = {"interval": None, **options}
    how = How(**given) if how is None else how
    plain = not fit.graph.definitions and how.information in (None, "expected")
    if plain and how.interval in (None, "delta"):
        found = _plain_columns(fit, how)
        if found is not None:
            return found
    rows = _rows(fit, how)
    return {name: [getattr(row, name) for row in rows] for name in FIELDS}


def parameter_rows(fit: Fitted, how: How | None = None, **options: Unpack[Uncertainty]) -> list[Parameter]:
    """The same, a value for each parameter."""
    found = parameter_columns(fit, how, **options)
    columns = [c.tolist() if isinstance(c, np.ndarray) else c for c in found.values()]
    return [Parameter(*row) for row in zip(*columns, strict=True)]


def _plain_columns(fit: Fitted, how: How) -> Columns | None:
    """All columns at once, where every district is plain and rows are plenty; otherwise None."""
    if how.interval is None and not rows_are_plenty(fit, how.level):
        return None
    found = plain_parameters(fit)
    if found is None:
        return None
    places, values, errors, standardized = found
    count, p = len(values), len(fit.model.names)
    reach = how.quantile * errors
    z = values / errors
    low, high = values - reach, values + reach
    noise = slice(len(places.T_at[0]) + places.pairs, count - p)
    low[noise], high[noise] = ends_on("log", values[noise], reach[noise]).T
    numbers = [values, errors, z, two_sided(z, how.quantile, how.level), low, high, standardized]
    notes = [""] * count
    if not fit.moments.has_mean:
        for column in numbers:
            column[-p:] = nan
        notes[-p:] = [NO_MEANS] * p
    return dict(zip(FIELDS, (*places.sides, *numbers, notes), strict=True))


def _rows(fit: Fitted, how: How) -> list[Parameter]:
    """Row by row, for any model and any kind of interval."""
    kind = kind_of(how)
    if not kind.in_tables:
        raise InputError(f"interval={kind.name!r} is for one question at a time, see fit.query; parameters have others")
    drawn = kind.replicates(fit, how)
    if drawn is not None:
        return draws_of_parameters(parameter_rows(fit, interval="delta", level=how.level), drawn, fit, how)
    rows = all_rows(fit, kind_of_data(fit).parameters(fit, how))
    return rows + defined_rows(fit, how, rows)


def all_rows(fit: Fitted, found: ParameterRows) -> list[Parameter]:
    """The rows of all parameters, those that are fixed among them, in their order."""
    rows, intercepts, reaches, doubtful = found
    pairs = enumerate(zip(intercepts, reaches, strict=True))
    rows = rows + [_intercept(fit, j, error, reach) for j, (error, reach) in pairs]
    unknown = undetermined_parameters(fit.graph, fit.options) if doubtful else frozenset()
    rows = [_unknown(r) if (r.lhs, r.op, r.rhs) in unknown else r for r in rows]
    rows = [replace(r, note=_with_label(fit, r)) for r in rows] + _fixed_rows(fit)
    order = {"~": 0, "=~": 1, "~~": 2, "~1": 4}
    return sorted(rows, key=lambda r: 3 if r.op == "~~" and r.lhs == r.rhs else order[r.op])


def district_parameters(fit: Fitted, how: How) -> ParameterRows:
    """Where moments are complete: district by district."""
    kind = kind_of(how)
    blocks = list(district_information(fit, how.information or "expected" if kind.name == "delta" else "observed"))
    few = [_is_few(fit, block, how) for block in blocks]
    if how.interval is None and any(few):
        observed = district_information(fit, "observed")
        blocks = [careful if so else block for block, careful, so in zip(blocks, observed, few, strict=True)]
    if kind.for_misfit:  # all that are not drawn
        inside, intercepts = _by_sandwich(fit, blocks, from_rows=kind.needs_rows)
    else:
        inside, intercepts = _by_information(fit, blocks)
    reaches = [_block_reach(fit, block, how, few=so) for block, so in zip(blocks, few, strict=True)]
    of_variable = {v: reach for block, reach in zip(blocks, reaches, strict=True) for v in block.task.variables}
    each = [of_variable[j] for j in range(len(intercepts))]
    rows = [
        row
        for block, errors, reach in zip(blocks, inside, reaches, strict=True)
        for row in _district_rows(fit, block, errors * np.sqrt(reach.lift), reach)
    ]
    doubtful = any(information_rank(block.matrix) < len(block.matrix) for block in blocks)
    return rows, intercepts * np.sqrt([reach.lift for reach in each]), each, doubtful


def rows_are_plenty(fit: Fitted, level: float) -> bool:
    """True if an interval for large samples is right for every parameter."""
    if not kind_of_data(fit).by_district:
        return False  # it takes a closer look
    most = max(equation_sizes(make_plan(fit.graph, fit.model.names, fit.options)).values(), default=1)
    return bool(one_equation(fit.n, most).plenty(level)[0])


def _is_few(fit: Fitted, block: DistrictInformation, how: How) -> bool:
    return how.interval == "t" or (how.interval is None and not _rests_on(fit, block).plenty(how.level)[0])


def _rests_on(fit: Fitted, block: DistrictInformation) -> Support:
    sizes = equation_sizes(make_plan(fit.graph, fit.model.names, fit.options))
    return one_equation(fit.n, sizes[block.task.variables])


def _block_reach(fit: Fitted, block: DistrictInformation, how: How, *, few: bool) -> Reach:
    """How far intervals of a district's parameters reach."""
    rests = _rests_on(fit, block)
    if few:
        return Reach(float(rests.quantiles(how.level)[0]), how.level, float(rests.growth()[0]) ** 2)
    if how.interval in (None, "delta"):
        return Reach(how.quantile, how.level)
    return Reach(float(row_quantiles(fit, rests, how)[0]), how.level)


@lru_cache(maxsize=64)
def undetermined_parameters(graph: Graph, options: Options) -> frozenset[tuple[str, str, str]]:
    """Parameters that no data determine, looked for at a random point.

    At special estimates, a covariance of zero for instance, a parameter may stand still to first order along a
    direction that data do not determine.
    """
    anywhere = random_fit(graph, options, 1)
    blocks = list(district_information(anywhere))
    if all(information_rank(block.matrix) == len(block.matrix) for block in blocks):
        return frozenset()
    inside, intercepts = _by_information(anywhere, blocks)
    any_reach = Reach(1.0)
    rows = [row for b, e in zip(blocks, inside, strict=True) for row in _district_rows(anywhere, b, e, any_reach)]
    rows += [_intercept(anywhere, j, error, any_reach) for j, error in enumerate(intercepts)]
    return frozenset((r.lhs, r.op, r.rhs) for r in rows if np.isnan(r.est))


def _unknown(row: Parameter) -> Parameter:
    return row_of(row.lhs, row.op, row.rhs, nan, nan, nan, Reach(1.0))


def _by_information(fit: Fitted, blocks: list[DistrictInformation]) -> tuple[list[Floats], Floats]:
    """Standard errors of the parameters of each district, on the scale of correlations, and of the intercepts."""
    spread = [block.spreads(_probes(block)) for block in blocks]
    home = {v: block for block in blocks for v in block.task.variables}
    intercepts = [_intercept_variance(fit, j, home[j]) for j in range(len(fit.model.names))]
    return [np.sqrt(s / fit.n) for s in spread], np.sqrt(np.array(intercepts) / fit.n)


def _by_sandwich(fit: Fitted, blocks: list[DistrictInformation], *, from_rows: bool) -> tuple[list[Floats], Floats]:
    """The same from one pass over the rows, or from moments alone, whatever the model says of them."""
    if from_rows:
        rows_needed(fit, 'interval="robust"')
        squares = mean_squares(fit, _forms(fit, blocks))
    else:
        squares = [form.normal_variances(fit.moments.cov) for form in _forms(fit, blocks)]
    errors = [np.sqrt(square / fit.n) for square in squares]
    return errors[: len(blocks)], np.concatenate(errors[len(blocks) :])


def _forms(fit: Fitted, blocks: list[DistrictInformation]) -> list[Forms]:
    """How rows move the parameters of each district, and then each intercept."""
    forms = []
    for block in blocks:
        along = [direction(block, probe) for probe in _probes(block)]
        forms.append(score_forms(fit, block, np.array(along).reshape(len(along), block.matrix.shape[0])))
    return forms + [influence(fit, (slope_of_intercept(fit, j),)) for j in range(len(fit.model.names))]


def whole_parameters(fit: Fitted, how: How) -> ParameterRows:
    """Where values are missing: all parameters at once."""
    names = fit.model.names
    space = make_space(fit.graph, names, fit.options)
    rests = seen_support(fit, np.eye(space.size))
    quantile, lift = np.full(space.size, how.quantile), np.ones(space.size)
    if kind_of(how).needs_rows or kind_of(how).for_misfit:
        rows_needed(fit, f"interval={how.interval!r}")
        errors = np.sqrt(mean_squares(fit, [parameter_scores(fit)])[0] / fit.n)
        quantile = row_quantiles(fit, rests, how)
    else:
        errors = parameter_errors(fit, how.information or "observed")
        few = ~rests.plenty(how.level) if how.interval is None else np.full(space.size, how.interval == "t")
        quantile = np.where(few, rests.quantiles(how.level), quantile)
        lift = np.where(few, rests.growth() ** 2, lift)
        errors = errors * np.sqrt(lift)
    reach = [Reach(float(q), how.level, float(x)) for q, x in zip(quantile, lift, strict=True)]
    rows = rows_in_space(fit, space, errors, reach, {})
    intercepts, reaches = np.zeros(len(names)), [Reach(how.quantile, how.level)] * len(names)
    for j, _, a in space.mu_at:
        intercepts[j], reaches[j] = errors[a], reach[a]
    return rows, intercepts, reaches, True


def signs_of(fit: Fitted) -> dict[str, str]:
    """What there is to say of the sign of each hidden variable: one without a fixed loading may be turned round."""
    return {v: "" if scaled_by(fit.graph, v) else "up to sign" for v in fit.graph.hidden}


def rows_in_space(
    fit: Fitted, space: Space, errors: Floats, reach: list[Reach], hidden: Mapping[str, str]
) -> list[Parameter]:
    """Rows of all parameters of a space but the intercepts; ``hidden`` says something of each hidden variable."""
    model, names = fit.model, space.names
    T, W, C, _ = space.arrays(space.vector(model))
    sd = np.sqrt(np.diag(model.cov))
    rows = []
    for u, v, a in space.T_at:
        cause, effect, std = names[u], names[v], T[u, v] * sd[u] / sd[v]
        if cause in hidden and effect not in hidden:
            rows.append(row_of(cause, "=~", effect, T[u, v], errors[a], std, reach[a], hidden[cause]))
        else:
            note = hidden.get(cause) or hidden.get(effect) or ""
            rows.append(row_of(effect, "~", cause, T[u, v], errors[a], std, reach[a], note))
    for k, j, a in space.C_at:
        cause = model.latents[space.latents[k]]
        rows.append(row_of(cause, "=~", names[j], C[k, j], errors[a], C[k, j] / sd[j], reach[a], "up to sign"))
    for i, j, a in space.W_at:
        unit = sd[i] ** 2 if i == j else np.sqrt(W[i, i] * W[j, j])
        rows.append(row_of(names[i], "~~", names[j], W[i, j], errors[a], W[i, j] / unit, reach[a]))
    return rows


def _probes(block: DistrictInformation) -> Floats:
    """The gradient of each parameter in the free ones."""
    link = block.state.problem.link
    return np.eye(block.task.shape.parameters) if link is None else link[0]


def _intercept_variance(fit: Fitted, j: int, block: DistrictInformation) -> float:
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


def slope_of_intercept(fit: Fitted, j: int) -> Gradient:
    """How an intercept moves with coefficients and means."""
    p = len(fit.model.names)
    T, mean = np.zeros((p, p)), -fit.model.T[:, j].copy()
    mean[j] += 1.0
    T[:, j] = -fit.model.mean
    return Gradient(T, np.zeros((p, p)), mean)


def _with_label(fit: Fitted, row: Parameter) -> str:
    """The note of a row, and the label of its parameter if it has one."""
    edge, known = row.edge, fit.graph.known
    label = known.get(edge, known.get(edge.turned) if edge.kind == "<->" else None)
    if not isinstance(label, str):
        return row.note
    return f"label {label}, {UNDETERMINED}" if row.note == UNDETERMINED else f"label {label}"


def _fixed_rows(fit: Fitted) -> list[Parameter]:
    """Coefficients, error covariances, and error variances that the graph holds at a value."""
    at = {v: i for i, v in enumerate(fit.model.names)}
    held = {v: x for v, x in fit.options.noise if v in fit.graph.hidden or v in fit.graph.variances}
    whole = {v: float(fit.model.cov[at[v], at[v]]) for v in held}
    rows = [row_of(v, "~~", v, x, 0.0, x / whole[v] if x else 0.0, Reach(1.0), "fixed") for v, x in held.items()]
    for (u, kind, v), value in fit.graph.known.items():
        if isinstance(value, float) and u not in fit.graph.latents:
            loading = u in fit.graph.hidden and v not in fit.graph.hidden
            sides = (u, "=~", v) if loading else (v, "~", u) if kind == "->" else (u, "~~", v)
            rows.append(row_of(*sides, value, 0.0, value * _unit(fit, at[u], kind, at[v]), Reach(1.0), "fixed"))
    return rows


def _unit(fit: Fitted, i: int, kind: str, j: int) -> float:
    """What makes a coefficient, or an error covariance, one of standardised variables."""
    spread = fit.model.cov if kind == "->" else fit.model.omega
    low, high = float(spread[i, i]), float(spread[j, j])
    if kind == "->":
        return float(np.sqrt(low / high)) if high else nan
    return float(1.0 / np.sqrt(low * high)) if low and high else nan


def _district_rows(fit: Fitted, block: DistrictInformation, errors: Floats, reach: Reach) -> list[Parameter]:
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
            rows.append(row_of(names[v], "~", names[slot], value, error, value * sd[slot] / sd[v], reach))
    for a, (k, j) in enumerate(shape.loadings, at.c.start):
        u, v = task.latents[k], task.variables[j]
        value = float(model.C[u, v])
        rows.append(
            row_of(model.latents[u], "=~", names[v], value, errors[a] * own[j], value / sd[v], reach, "up to sign")
        )
    for a, (i, j) in enumerate(shape.pairs, at.w.start):
        v, w = task.variables[i], task.variables[j]
        value = float(inside[i, j])
        std = value / np.sqrt(inside[i, i] * inside[j, j])
        rows.append(row_of(names[v], "~~", names[w], value, errors[a] * own[i] * own[j], std, reach))
    for a, j in enumerate(shape.noisy, at.v.start):
        v = task.variables[j]
        value = float(inside[j, j])
        error = errors[a] * (value if shape.loadings else own[j] ** 2)
        rows.append(row_of(names[v], "~~", names[v], value, error, value / sd[v] ** 2, reach))
    return rows


def _intercept(fit: Fitted, j: int, error: float, reach: Reach) -> Parameter:
    model = fit.model
    name, value = model.names[j], float(model.mu[j])
    std = value / float(np.sqrt(model.cov[j, j])) if model.cov[j, j] else nan
    if name in dict(fit.options.intercepts):
        return row_of(name, "~1", "", value, 0.0, std, reach, "fixed")
    if not fit.moments.has_mean:
        return row_of(name, "~1", "", nan, nan, nan, reach, NO_MEANS)
    return row_of(name, "~1", "", value, error, std, reach)
