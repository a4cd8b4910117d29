"""Tables of units where normal variables are behind columns: expected values on the scale of the columns, and errors.

The influence of a row on a unit's answer is that of the row on the numbers of the unit's map and on the cuts, so that
one pass over the rows gives the errors of many units.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from halftrek.bottom.arrays import Flags, Floats, Ints
from halftrek.bottom.choices import Unidentified
from halftrek.bottom.frames import Columns
from halftrek.bottom.progress import late_bar
from halftrek.data.sources.tables import Table
from halftrek.errors import InputError, QueryError
from halftrek.estimation import Fitted
from halftrek.inference.evidence.evidence import support
from halftrek.inference.how import How
from halftrek.inference.information.base import kind_of_data
from halftrek.inference.information.behind.layer_forms import LayerForms, layer_form
from halftrek.inference.information.robust import mean_squares, rows_needed
from halftrek.inference.intervals import kind_of
from halftrek.inference.intervals.base import ends_on
from halftrek.inference.intervals.influence import layer_needed
from halftrek.inference.intervals.robust import row_quantiles
from halftrek.inference.tables.units import Decide, Places, by_pattern, identified_outcomes
from halftrek.layer import Layer, Margin
from halftrek.queries.derivatives import Scale
from halftrek.queries.observed.units import (
    LayerMap,
    category_chances,
    layer_map,
    mean_values,
    settled_values,
    smoothed,
    unit_slopes,
)
from halftrek.queries.observed.values import is_chance
from halftrek.queries.written.writing import number

AT_ONCE = 256  # units whose errors are made in one pass over the rows
DRAWN_AT_ONCE = 2048  # units that are worked out in all drawn data sets together
ENOUGH = 0.5  # share of the drawn data sets that must have a unit's answer


@dataclass(frozen=True, eq=False)
class _Rows:
    """Some rows of the table: numbers that were seen or held, and behind the columns; categories that were seen."""

    at: Ints
    raw: Floats
    behind: Floats
    seen: Floats
    codes: Ints

    def take(self, which: Places) -> _Rows:
        """Some of them."""
        return _Rows(self.at[which], self.raw[which], self.behind[which], self.seen[which], self.codes[which])

    def different(self) -> tuple[_Rows, Ints]:
        """One of each that says the same, and which of them each row is."""
        if self.codes.shape[1] < 2:
            return self, np.arange(len(self.at))
        both = np.column_stack([self.raw, self.codes])
        _, first, which = np.unique(both, axis=0, return_index=True, return_inverse=True)
        return self.take(first), which.ravel()


def layer_units(
    fit: Fitted,
    table: Table,
    held: Mapping[str, Floats],
    outcomes: Sequence[str],
    how: How,
    *,
    decide: Decide,
    unidentified: Unidentified = "raise",
) -> Columns:
    """``y noise_sd se ci_low ci_high`` for each row, and the probability of each category of an ordered outcome."""
    layer = layer_needed(fit)
    if table.add is not None:
        raise InputError("rows of an engine and kinds of columns do not go together yet; take the rows into memory")
    if how.ends == "bca":
        raise InputError('ends="bca" is for single questions, see fit.query; leave it out of a table of units')
    rows_needed(fit, 'interval="influence"', "fit again")
    for v in held:
        _refuse_held(v, layer.margin(v))
    parts = by_pattern(table, fit.graph)
    known = identified_outcomes(fit, table, tuple(held), outcomes, decide, unidentified)
    numbers = {y: np.full((len(table.values), 5), np.nan) for y in outcomes}
    chances = {y: np.full((len(table.values), len(m.values)), np.nan) for y in outcomes if (m := _scale(layer, y))}
    for seen, rows in parts:
        for k in known[seen]:
            found = layer_map(fit.model, layer, seen, tuple(held), outcomes[k])
            every = _rows_of(found, table, held, rows, unidentified)
            some, which = every.different()
            numbers[outcomes[k]][every.at] = _numbers(fit, found, some, how, unidentified)[which]
            if outcomes[k] in chances and found.margin is not None:
                units = found.boxed(some.behind, some.codes)
                chances[outcomes[k]][every.at] = category_chances(units, found.margin)[which]
    columns: dict[str, Floats] = {}
    for y in outcomes:
        head = "" if len(outcomes) == 1 else f"{y}_"
        names = (y, *(f"{head}{name}" for name in ("noise_sd", "se", "ci_low", "ci_high")))
        columns |= dict(zip(names, numbers[y].T, strict=True))
        margin = layer.margin(y)
        if y in chances and margin is not None:
            texts = (f"P({y}={number(x)})" for x in margin.values.tolist())
            columns |= dict(zip(texts, chances[y].T, strict=True))
    return columns


def _scale(layer: Layer, outcome: str) -> Margin | None:
    """The margin of an outcome whose categories are more than yes and no."""
    margin = layer.margin(outcome)
    return margin if margin is not None and margin.cut and not is_chance(margin) else None


def _numbers(fit: Fitted, found: LayerMap, some: _Rows, how: How, unidentified: Unidentified) -> Floats:
    """Mean, noise, error and ends of each unit."""
    if not len(some.at):
        return np.zeros((0, 5))
    units = found.boxed(some.behind, some.codes)
    ranks = found.ranks
    if ranks is not None and ranks.cut:
        raise QueryError(f"{found.outcome} does not vary given what was seen and done; ask for another outcome")
    first, second = mean_values(units, found.margin).T
    if ranks is not None:
        first = settled_values(units, ranks)
        second = first**2
    if np.isnan(first).any() and (ranks is None or unidentified == "raise"):
        row = int(some.at[int(np.argmax(np.isnan(first)))])
        why = "next to never occurs in this model: what was seen in it does not go together"
        if ranks is not None:
            why = (
                f"would have a value of {found.outcome} beyond all that were seen, of which its ranks say nothing. "
                f"unidentified='nan' leaves such rows empty"
            )
        raise QueryError(f"row {row} {why}")
    scale: Scale = "logit" if is_chance(found.margin) else "plain"
    if how.interval in ("bootstrap", "jackknife"):
        errors, ends = _by_draws(fit, found, some, first, how, scale)
    else:
        errors = _by_influence(fit, found, some)
        quantile = float(row_quantiles(fit, support(fit, (found.gradients[len(found.cov) - 1],)), how)[0])
        ends = ends_on(scale, first, quantile * errors)
    errors = np.where(np.isnan(first), np.nan, errors)
    return np.column_stack([first, np.sqrt(np.maximum(second - first**2, 0.0)), errors, ends])


def _by_influence(fit: Fitted, found: LayerMap, some: _Rows) -> Floats:
    """Errors by how each row of the data moves the answer."""
    base = layer_form(found.layer, kind_of_data(fit).row_scores(fit, tuple(found.gradients)))
    errors = np.empty(len(some.at))
    with late_bar("units") as advance:
        for start in range(0, len(errors), AT_ONCE):
            advance(start, len(errors))
            part = slice(start, start + AT_ONCE)
            errors[part] = _errors_of(fit, found, some.take(part), base)
    return errors


def _errors_of(fit: Fitted, found: LayerMap, some: _Rows, base: LayerForms) -> Floats:
    own = found.boxed(some.behind, some.codes)
    own = own if found.ranks is None else smoothed(own)
    slopes = unit_slopes(found, own, some.behind, some.codes, some.raw)
    linear, square = slopes.numbers @ base.linear, np.tensordot(slopes.numbers, base.square, 1)
    (squares,) = mean_squares(fit, [LayerForms(found.layer, linear, square, slopes.cuts)])
    return np.asarray(np.sqrt(squares / fit.n))


def _by_draws(
    fit: Fitted, found: LayerMap, some: _Rows, first: Floats, how: How, scale: Scale
) -> tuple[Floats, Floats]:
    """Errors and ends by how the answer varies over fits of drawn rows; a fit without one of the values is left out."""
    drawn = kind_of(how).replicates(fit, how)
    assert drawn is not None  # asked for by this kind of interval
    maps = [replace(found, model=m, layer=layer) for m, layer in zip(drawn.batch, drawn.layers, strict=True)]
    errors, ends = np.full(len(first), np.nan), np.full((len(first), 2), np.nan)
    tails = np.array([0.5 - how.level / 2.0, 0.5 + how.level / 2.0])
    for start in range(0, len(first), DRAWN_AT_ONCE):
        part = slice(start, start + DRAWN_AT_ONCE)
        values = np.stack([_values_in(one, some.take(part)) for one in maps])
        good = np.isfinite(values)
        for k in np.flatnonzero(good.sum(axis=0) >= max(2.0, ENOUGH * drawn.drawn)):
            own, at = values[good[:, k], k], start + int(k)
            factor = drawn.factor(own[:, None], first[[at]], how.level)
            errors[at] = factor.errors()[0]
            reach = factor.reaches()
            ends[at] = np.quantile(own, tails) if drawn.percentile else ends_on(scale, first[[at]], reach)[0]
    return errors, ends


def _values_in(found: LayerMap, some: _Rows) -> Floats:
    """The expected values in the fit of a drawn data set, with its ranks and cuts."""
    behind, good = _behind(found, some.raw)
    codes = np.zeros(some.codes.shape, dtype=np.int64)
    for k, v in enumerate(found.boxes):
        margin = found.cut_margin(v)
        good &= np.isin(some.seen[:, k], margin.values)
        codes[:, k] = margin.codes(some.seen[:, k])
    units = replace(found.boxed(behind, codes), coarse=True)
    values = mean_values(units, found.margin)[:, 0] if found.ranks is None else settled_values(units, found.ranks)
    return np.where(good, values, np.nan)


def _behind(found: LayerMap, raw: Floats) -> tuple[Floats, Flags]:
    """Values behind the columns, and of which rows all are within what was seen."""
    behind, good = raw.copy(), np.ones(len(raw), dtype=bool)
    for k, v in enumerate((*found.values, *found.held)):
        margin = found.layer.margin(v)
        if margin is not None:
            good &= (raw[:, k] >= margin.values[0]) & (raw[:, k] <= margin.values[-1])
            behind[:, k] = margin.behind(raw[:, k])
    return behind, good


def _rows_of(
    found: LayerMap, table: Table, held: Mapping[str, Floats], rows: Places, unidentified: Unidentified
) -> _Rows:
    at = np.arange(len(table.values))[rows]
    raw = (
        np.stack([*(table.column(v)[at] for v in found.values), *(held[v][at] for v in found.held)], axis=1)
        if (found.values or found.held)
        else np.zeros((len(at), 0))
    )
    behind, good = _behind(found, raw)
    if unidentified == "raise" and not good.all():
        _refuse_beyond(found, raw[int(np.argmin(good))], int(at[int(np.argmin(good))]))
    seen = np.zeros((len(at), len(found.boxes)))
    codes = np.zeros((len(at), len(found.boxes)), dtype=np.int64)
    for k, v in enumerate(found.boxes):
        margin, column = found.cut_margin(v), table.column(v)[at]
        wrong = ~np.isin(column, margin.values)
        if wrong.any():
            row, has = int(np.argmax(wrong)), ", ".join(map(number, margin.values.tolist()))
            raise QueryError(f"row {at[row]}: {v}={number(float(column[row]))}, and {v} has the values {has}")
        codes[:, k], seen[:, k] = margin.codes(column), column
    return _Rows(at, raw, behind, seen, codes).take(np.flatnonzero(good))


def _refuse_beyond(found: LayerMap, raw: Floats, row: int) -> None:
    for v, value in zip((*found.values, *found.held), raw.tolist(), strict=True):
        margin = found.layer.margin(v)
        if margin is not None and not margin.values[0] <= value <= margin.values[-1]:
            raise QueryError(
                f"row {row}: {v}={number(value)}, and {v} is ranked and was seen from "
                f"{number(float(margin.values[0]))} to {number(float(margin.values[-1]))}; beyond these its ranks say "
                f"nothing. unidentified='nan' leaves such rows empty"
            )


def _refuse_held(name: str, margin: Margin | None) -> None:
    if margin is not None and margin.cut:
        raise QueryError(
            f"do: {name} is a cut of a continuous variable, and a category does not say where that is held; say "
            f"kinds={{{name!r}: 'acts'}} if being in the category is the cause"
        )
