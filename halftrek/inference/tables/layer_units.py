"""Tables of units where normal variables are behind columns: expected values on the scale of the columns, and errors.

The influence of a row on a unit's answer is that of the row on the numbers of the unit's map and on the cuts, so that
one pass over the rows gives the errors of many units.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from halftrek.bottom.arrays import Floats, Ints
from halftrek.bottom.choices import Unidentified
from halftrek.bottom.frames import Columns
from halftrek.data.sources.tables import Table
from halftrek.errors import InputError, QueryError
from halftrek.estimation import Fitted
from halftrek.inference.evidence.evidence import support
from halftrek.inference.how import How
from halftrek.inference.information.base import kind_of_data
from halftrek.inference.information.behind.layer_forms import LayerForms, layer_form
from halftrek.inference.information.robust import mean_squares, rows_needed
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


@dataclass(frozen=True, eq=False)
class _Rows:
    """Some rows of the table: what was seen as numbers of the columns, and behind them."""

    at: Ints
    raw: Floats
    behind: Floats
    codes: Ints


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
    if how.interval not in (None, "influence", "jackknife"):
        raise InputError(
            f'interval="{how.interval}" is not known for tables of units where columns are ordered or ranked: leave it '
            f"out, or ask fit.query about one unit"
        )
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
            some = _rows_of(found, table, held, rows, unidentified)
            numbers[outcomes[k]][some.at] = _numbers(fit, found, some, how, unidentified)
            if outcomes[k] in chances and found.margin is not None:
                units = found.boxed(some.behind, some.codes)
                chances[outcomes[k]][some.at] = category_chances(units, found.margin)
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
    base = layer_form(found.layer, kind_of_data(fit).row_scores(fit, tuple(found.gradients)))
    units = found.boxed(some.behind, some.codes)
    ranks = found.layer.margin(found.outcome) if found.settled else None
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
    errors = np.empty(len(first))
    for start in range(0, len(first), AT_ONCE):
        part = slice(start, start + AT_ONCE)
        own = found.boxed(some.behind[part], some.codes[part])
        own = own if ranks is None else smoothed(own)
        slopes = unit_slopes(found, own, some.behind[part], some.codes[part], some.raw[part])
        linear, square = slopes.numbers @ base.linear, np.tensordot(slopes.numbers, base.square, 1)
        (squares,) = mean_squares(fit, [LayerForms(found.layer, linear, square, slopes.cuts)])
        errors[part] = np.sqrt(squares / fit.n)
    size = len(found.cov)
    quantile = float(row_quantiles(fit, support(fit, (found.gradients[size - 1],)), how)[0])
    scale: Scale = "logit" if is_chance(found.margin) else "plain"
    ends = ends_on(scale, first, quantile * errors)
    errors = np.where(np.isnan(first), np.nan, errors)
    return np.column_stack([first, np.sqrt(np.maximum(second - first**2, 0.0)), errors, ends])


def _rows_of(
    found: LayerMap, table: Table, held: Mapping[str, Floats], rows: Places, unidentified: Unidentified
) -> _Rows:
    at = np.arange(len(table.values))[rows]
    raw = (
        np.stack([*(table.column(v)[at] for v in found.values), *(held[v][at] for v in found.held)], axis=1)
        if (found.values or found.held)
        else np.zeros((len(at), 0))
    )
    good = np.ones(len(at), dtype=bool)
    behind = raw.copy()
    for k, v in enumerate((*found.values, *found.held)):
        margin = found.layer.margin(v)
        if margin is not None:
            first, last = float(margin.values[0]), float(margin.values[-1])
            inside = (raw[:, k] >= first) & (raw[:, k] <= last)
            if unidentified == "raise" and not inside.all():
                row = int(np.argmin(inside))
                raise QueryError(
                    f"row {at[row]}: {v}={number(float(raw[row, k]))}, and {v} is ranked and was seen from "
                    f"{number(first)} to {number(last)}; beyond these its ranks say nothing. unidentified='nan' leaves "
                    f"such rows empty"
                )
            good &= inside
            behind[:, k] = margin.behind(raw[:, k])
    codes = np.zeros((len(at), len(found.boxes)), dtype=np.int64)
    for k, v in enumerate(found.boxes):
        margin, column = found.cut_margin(v), table.column(v)[at]
        wrong = ~np.isin(column, margin.values)
        if wrong.any():
            row, has = int(np.argmax(wrong)), ", ".join(map(number, margin.values.tolist()))
            raise QueryError(f"row {at[row]}: {v}={number(float(column[row]))}, and {v} has the values {has}")
        codes[:, k] = margin.codes(column)
    return _Rows(at[good], raw[good], behind[good], codes[good])


def _refuse_held(name: str, margin: Margin | None) -> None:
    if margin is not None and margin.cut:
        raise QueryError(
            f"do: {name} is a cut of a continuous variable, and a category does not say where that is held; say "
            f"kinds={{{name!r}: 'acts'}} if being in the category is the cause"
        )
