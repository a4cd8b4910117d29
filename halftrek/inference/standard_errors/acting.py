"""How sure are answers where categories act? From the sandwich of all parameters, or from rows drawn again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import isnan, nan
from typing import NoReturn

import numpy as np

from halftrek.bottom.arrays import Flags, Floats
from halftrek.bottom.choices import ColumnKind
from halftrek.data.layers import all_rows
from halftrek.errors import InputError
from halftrek.estimation import Fitted
from halftrek.estimation.acts.fit import Acting, fit_acting
from halftrek.estimation.acts.ranks import mixed_ranks, with_ranks
from halftrek.estimation.acts.settled import by_places
from halftrek.estimation.acts.spread import row_influence, summed
from halftrek.inference.draws.layer_draws import row_times
from halftrek.inference.evidence.evidence import two_sided
from halftrek.inference.how import How
from halftrek.inference.information.robust import is_clustered, rows_needed
from halftrek.inference.intervals.base import Estimate, ends_on
from halftrek.inference.kept import kept
from halftrek.inference.tables.parameter import Parameter
from halftrek.notes import note
from halftrek.queries import Query
from halftrek.queries.gradients import Scale
from halftrek.queries.observed.acting import Told, acting_answer, acting_scale

STEP = 1e-4
SMALL = 1e-2  # part of a standard error


def acting_of(fit: Fitted) -> Acting:
    """The parameters of a fit in which categories are known to act."""
    assert fit.acting is not None
    return fit.acting


def value_where_acting(fit: Fitted, query: Query, theta: Floats | None = None) -> float:
    """The answer, on the scale of the columns."""
    return _told(fit, query, theta).value


def _told(fit: Fitted, query: Query, theta: Floats | None = None) -> Told:
    acting = acting_of(fit)
    return acting_answer(query, *acting.at(fit.graph, acting.theta if theta is None else theta))


def estimate_where_acting(fit: Fitted, query: Query, value: float, how: How) -> Estimate:
    """Its uncertainty; "influence" where no interval is asked for."""
    acting = acting_of(fit)
    if how.interval not in (None, "influence", "bootstrap"):
        refuse_interval(how)
    scale = acting_scale(query, acting.margins)
    if how.interval == "bootstrap":
        drawn = np.array([acting_answer(query, *one.at(fit.graph, one.theta)).value for one in drawn_again(fit, how)])
        tails = [(1.0 - how.level) / 2.0, (1.0 + how.level) / 2.0]
        return _estimate(fit, value, float(drawn.std(ddof=1)), np.quantile(drawn, tails)[None], how)
    slope, cuts = _slope(fit, query, acting), _told(fit, query).cuts
    error = _by_rows(fit, slope, cuts) if cuts else error_of(acting, slope)
    return _estimate(fit, value, error, ends_on(scale, np.array([value]), np.array([how.quantile * error])), how)


def error_of(acting: Acting, slope: Floats) -> float:
    """The standard error of a number, by its slopes in the parameters; those that it does not move with are no part."""
    used = slope != 0.0
    error = float(np.sqrt(slope[used] @ acting.spread[np.ix_(used, used)] @ slope[used])) if used.any() else 0.0
    return nan if bool(undetermined(acting, slope, np.array(error))) else error


def undetermined(acting: Acting, slopes: Floats, errors: Floats) -> Flags:
    """Which numbers move along directions that the rows do not determine, by more than a small part of their error."""
    if acting.flat is None:
        return np.zeros(errors.shape, dtype=bool)
    return np.asarray((np.abs(slopes @ acting.flat.T) > SMALL * errors[..., None]).any(axis=-1))


def _by_rows(fit: Fitted, slope: Floats, cuts: Mapping[str, Floats]) -> float:
    """The standard error, from what rows add, of an answer that moves with parameters and cuts of ranked columns."""
    acting = acting_of(fit)
    rows = all_rows(rows_needed(fit, 'interval="influence"', "fit again"))
    w = np.ones(len(rows.values)) if rows.weights is None else rows.weights
    used = slope != 0.0
    each = _influence(fit)[:, used] @ slope[used]
    mixed = mixed_ranks(fit.graph, acting.margins)
    for v, line in cuts.items():
        column = rows.values[:, fit.graph.observed.index(v)]
        if v not in mixed:
            each = each + acting.margins[v].cut_influence(column, line) / w.sum()
    if own := {v: line[:, None] for v, line in cuts.items() if v in mixed}:
        places, theta = acting.places(fit.graph), acting.theta
        each = each + by_places(places, theta, rows.values, w, {}, own)[:, 0]
        each = each + _influence(fit) @ np.sum([_cut_slopes(fit)[v].T @ line[:, 0] for v, line in own.items()], axis=0)
    sampling = fit.rows is not None and fit.rows.sampling is not None
    error = float(np.sqrt(summed(each[:, None], w, rows.cluster, sampling=sampling)[0, 0]))
    return nan if bool(undetermined(acting, slope, np.array(error))) else error


@kept
def _influence(fit: Fitted) -> Floats:
    """What each row adds to the parameters."""
    acting, rows = acting_of(fit), all_rows(rows_needed(fit, 'interval="influence"', "fit again"))
    w = np.ones(len(rows.values)) if rows.weights is None else rows.weights
    return row_influence(acting.places(fit.graph), acting.theta, rows.values, w)


@kept
def _cut_slopes(fit: Fitted) -> dict[str, Floats]:
    """How cuts of ranked columns on which categories act move with the parameters, which say where these are."""
    acting, rows = acting_of(fit), all_rows(rows_needed(fit, 'interval="influence"', "fit again"))
    w = np.ones(len(rows.values)) if rows.weights is None else rows.weights
    mixed = mixed_ranks(fit.graph, acting.margins)
    found = {v: np.zeros((len(acting.margins[v].cuts), len(acting.theta))) for v in mixed}
    for k in range(len(acting.theta)):
        for step in (STEP, -STEP):
            moved = acting.theta.copy()
            moved[k] += step
            there = with_ranks(acting.places(fit.graph), moved, rows.values, w)
            for v in mixed:
                cuts = np.nan if there is None else there.margins[v].cuts
                found[v][:, k] += cuts / (2.0 * step)
    return found


def refuse_interval(how: How) -> NoReturn:
    """Raise for an interval that is not known."""
    raise InputError(
        f'interval="{how.interval}" is not known where a category acts; ask for interval="influence" or '
        f'interval="bootstrap"'
    )


def _estimate(fit: Fitted, value: float, error: float, intervals: Floats, how: How) -> Estimate:
    none = np.zeros(0)
    kind = how.interval or "influence"
    return Estimate(
        np.array([value]), np.array([error]), intervals, none, none, np.zeros((0, 2)), how.level, kind,
        clustered=is_clustered(fit),
    )  # fmt: skip


def _slope(fit: Fitted, query: Query, acting: Acting) -> Floats:
    """The derivative of the answer in each parameter."""
    found = np.zeros(len(acting.theta))
    for k in range(len(found)):
        sides = []
        for step in (STEP, -STEP):
            moved = acting.theta.copy()
            moved[k] += step
            sides.append(value_where_acting(fit, query, moved))
        found[k] = (sides[0] - sides[1]) / (2.0 * STEP)
    return found


def drawn_again(fit: Fitted, how: How) -> tuple[Acting, ...]:
    """Fits of data sets drawn like this one."""
    return _replicates(fit, how.replicates, how.random_state, how.progress)


@kept
def _known_replicates(fit: Fitted) -> dict[tuple[int, int], tuple[Acting, ...]]:
    """Those of a fit that were drawn before, whatever watched them."""
    del fit
    return {}


def _replicates(fit: Fitted, replicates: int, random_state: int, progress: object) -> tuple[Acting, ...]:
    """The parameters (and ranks) of data sets drawn like this one, from where those of all rows ended."""
    known = _known_replicates(fit)
    if (replicates, random_state) in known:
        return known[replicates, random_state]
    acting = acting_of(fit)
    source = rows_needed(fit, 'interval="bootstrap"', 'ask for interval="influence"')
    rows, sampling = all_rows(source), source.sampling is not None
    kinds: dict[str, ColumnKind] = {v: m.kind for v, m in acting.margins.items()}
    found = []
    for k, times in enumerate(row_times(rows, "bootstrap", replicates, sampling, np.random.default_rng(random_state))):
        there = times > 0.0
        one = fit_acting(fit.graph, rows.values[there], kinds, times[there], start=acting.theta, like=acting)
        if one.converged:
            found.append(replace(one, spread=acting.spread))  # none of their own
        if callable(progress):
            progress(k + 1, replicates)
    known[replicates, random_state] = tuple(found)
    return known[replicates, random_state]


def acting_parameters(fit: Fitted, how: How) -> list[Parameter]:
    """Every parameter as a line of a table: slopes, covariances and variances of errors, intercepts, cuts."""
    if how.interval not in (None, "influence", "bootstrap"):
        refuse_interval(how)
    acting = acting_of(fit)
    draws = None
    if how.interval == "bootstrap":
        draws = np.array([[value for *_, value in _numbers(fit, one.theta)] for one in drawn_again(fit, how)]).T
    base = _numbers(fit, acting.theta)
    slopes = np.zeros((len(base), len(acting.theta)))
    for k in range(len(acting.theta)):
        sides = []
        for step in (STEP, -STEP):
            moved = acting.theta.copy()
            moved[k] += step
            sides.append(np.array([value for *_, value in _numbers(fit, moved)]))
        slopes[:, k] = (sides[0] - sides[1]) / (2.0 * STEP)
    rows = []
    for k, ((lhs, op, rhs, value), slope) in enumerate(zip(base, slopes, strict=True)):
        error = error_of(acting, slope) if draws is None else float(draws[k].std(ddof=1))
        z = value / error if error > 0.0 else nan
        scale: Scale = "log" if op == "~~" and lhs == rhs else "plain"
        low, high = ends_on(scale, np.array([value]), np.array([how.quantile * error]))[0].tolist()
        if draws is not None:
            low, high = np.quantile(draws[k], [(1.0 - how.level) / 2.0, (1.0 + how.level) / 2.0]).tolist()
        p = float(two_sided(np.array(z), how.quantile, how.level))
        said = note("no information").short if isnan(error) else "" if slope.any() else "fixed"
        rows.append(Parameter(lhs, op, rhs, value, error, z, p, low, high, nan, said))
    return rows


def cut_line(variable: str, k: int, value: float, error: float, how: How) -> Parameter:
    """A cut between categories as a line of a table."""
    z, reach = value / error, how.quantile * error
    p = float(two_sided(np.array(z), how.quantile, how.level))
    return Parameter(variable, "|", f"t{k + 1}", value, error, z, p, value - reach, value + reach, nan)


def _numbers(fit: Fitted, theta: Floats) -> list[tuple[str, str, str, float]]:
    model, margins = acting_of(fit).at(fit.graph, theta)
    at = {v: i for i, v in enumerate(model.names)}
    return [
        *_lines(fit, model.T, model.W, model.mu, at),
        *((v, "|", f"t{k + 1}", float(cut)) for v, m in margins.items() if m.cut for k, cut in enumerate(m.cuts)),
    ]


def _lines(fit: Fitted, T: Floats, W: Floats, mu: Floats, at: dict[str, int]) -> Iterator[tuple[str, str, str, float]]:
    for u, v in fit.graph.directed:
        yield v, "~", u, float(T[at[u], at[v]])
    for u, v in fit.graph.bidirected:
        yield u, "~~", v, float(W[at[u], at[v]])
    for v in fit.graph.observed:
        yield v, "~~", v, float(W[at[v], at[v]])
    for v in fit.graph.observed:
        yield v, "~1", "", float(mu[at[v]])
