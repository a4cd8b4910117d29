"""Counterfactuals of whole tables: rows with the same holes share one map, its noise and its standard errors."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from halftrek.bottom.arrays import Floats, Ints
from halftrek.bottom.choices import Unidentified
from halftrek.bottom.frames import Columns
from halftrek.bottom.portable import Portable
from halftrek.data.sources.tables import Table
from halftrek.errors import DataError, InputError, NotIdentifiedError, QueryError, depth_of_caller
from halftrek.estimation import Fitted
from halftrek.estimation.status import troubles
from halftrek.graphs import Graph, did_you_mean
from halftrek.identification import Verdict
from halftrek.inference.draws.bootstrap import Replicates
from halftrek.inference.evidence.evidence import support
from halftrek.inference.how import How
from halftrek.inference.intervals import kind_of
from halftrek.inference.standard_errors.factor import Factor, Slopes, joint_factor
from halftrek.models import CGLSCM
from halftrek.notes import note
from halftrek.queries import Distribution, Query
from halftrek.queries.derivatives import Gradient
from halftrek.queries.gradients import linearize
from halftrek.queries.units import UnitMap, unit_gradients, unit_map, unit_numbers, unit_query

Decide = Callable[[Query], Verdict]
Places = Ints | slice

ROWS = 4096  # rows that are worked on at a time: they stay in the cache, and products are too small to be shared out
_SHIFT = re.compile(r"\s*([+*-])\s*(\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+)\s*$")


@dataclass(frozen=True, eq=False)
class Units:
    """One line for each outcome and one column for each unit.

    ``mean`` is what would have been expected, ``noise`` the standard deviation of the unit's own outcome around it,
    ``errors`` the standard error of the mean (None for a given model): two kinds of not knowing, kept apart.
    ``noise_reach`` is how far noise alone reaches at the level of the intervals, where predictions are asked for.
    """

    outcomes: tuple[str, ...]
    mean: Floats
    noise: Floats
    errors: Floats | None = None
    reach: Floats | None = None
    note: str = ""  # what speaks against the intervals, if anything does
    noise_reach: Floats | None = None

    def columns(self) -> Columns:
        """``y noise_sd se ci_low ci_high``; of several outcomes the names are ``y_noise_sd`` and so on.

        With predictions also ``pi_low`` and ``pi_high``, where the unit's own outcome is expected: noise and the
        uncertainty of the mean together. ``note`` is the last column where something speaks against the intervals.
        """
        found: dict[str, Any] = {}
        for k, y in enumerate(self.outcomes):
            head = "" if len(self.outcomes) == 1 else f"{y}_"
            found |= {y: self.mean[k], f"{head}noise_sd": self.noise[k]}
            if self.errors is not None and self.reach is not None:
                found[f"{head}se"] = self.errors[k]
                found |= {f"{head}ci_low": self.mean[k] - self.reach[k], f"{head}ci_high": self.mean[k] + self.reach[k]}
                if self.noise_reach is not None:
                    both = np.hypot(self.reach[k], self.noise_reach[k])
                    found |= {f"{head}pi_low": self.mean[k] - both, f"{head}pi_high": self.mean[k] + both}
        return found | {"note": [self.note] * self.mean.shape[1]} if self.note else found


@dataclass(frozen=True, eq=False)
class SeenMap(Portable):
    """What rows in which the same variables were seen share: their map, for outcomes by number, with its errors.

    ``pieces`` and ``spreads`` are None for a model whose parameters are known.
    """

    found: UnitMap
    known: tuple[int, ...]
    pieces: tuple[Factor, ...] | None = None
    spreads: Floats | None = None


Maps = Mapping[tuple[str, ...], SeenMap | None]  # None where nothing may be known


def exact_maps(model: CGLSCM, table: Table, held: Sequence[str], outcomes: Sequence[str]) -> Maps:
    """The maps of a model whose parameters are known, for each set of variables that is seen in a row."""
    known = tuple(range(len(outcomes)))
    return {
        seen: SeenMap(unit_map(model, seen, tuple(held), outcomes), known) for seen, _ in by_pattern(table, model.graph)
    }


def estimated_maps(
    fit: Fitted,
    table: Table,
    held: Sequence[str],
    outcomes: Sequence[str],
    how: How,
    *,
    decide: Decide,
    unidentified: Unidentified = "raise",
    predictive: bool = False,
) -> Maps:
    """The maps of a fitted model with standard errors; each set of variables seen is identified on its own.

    Nothing held is a prediction of what is. ``predictive`` adds how far noise reaches.
    """
    maps: dict[tuple[str, ...], SeenMap | None] = {}
    drawn = kind_of(how).replicates(fit, how)
    for seen, known in identified_outcomes(fit, table, held, outcomes, decide, unidentified).items():
        if not known:
            maps[seen] = None
            continue
        found = unit_map(fit.model, seen, tuple(held), [outcomes[k] for k in known])
        gradients = unit_gradients(found)
        _warn_without_means(fit, gradients)
        count = 1 + len(seen) + len(held)
        stacked = Slopes(
            *(np.concatenate(parts) for parts in zip(*((g.T, g.omega, g.mean) for g in gradients), strict=True))
        )
        factor = joint_factor(fit, stacked, how) if drawn is None else _factor_of_draws(found, drawn, how)
        pieces = tuple(factor.part(slice(k * count, (k + 1) * count)).small() for k in range(len(known)))
        maps[seen] = SeenMap(found, known, pieces, _noise_reach(fit, found, how.level) if predictive else None)
    return maps


def identified_outcomes(
    fit: Fitted,
    table: Table,
    held: Sequence[str],
    outcomes: Sequence[str],
    decide: Decide,
    unidentified: Unidentified,
) -> dict[tuple[str, ...], tuple[int, ...]]:
    """For each set of variables that is seen in a row: the outcomes, by number, of which something may be known."""
    if unidentified not in ("raise", "nan"):
        raise InputError(f"unidentified must be 'raise' or 'nan', not {unidentified!r}")
    _warn_of_trouble(fit, {*outcomes, *held, *(v for v in table.names if v in fit.graph)})
    # where the effects of what is held are identified, so is every question of this kind, whatever was seen
    plain = {y for y in outcomes if decide(Distribution.after((y,), dict.fromkeys(held))).identified}
    return {
        seen: tuple(
            k
            for k, y in enumerate(outcomes)
            if y in plain or _identified(decide, seen, tuple(held), y, table, rows, unidentified)
        )
        for seen, rows in by_pattern(table, fit.graph)
    }


def _factor_of_draws(found: UnitMap, drawn: Replicates, how: How) -> Factor:
    """How the numbers of a map vary together over replicates."""
    values = np.array([unit_numbers(found, model) for model in drawn.batch])
    good = np.isfinite(values).all(axis=1)
    return drawn.factor(values[good], unit_numbers(found, found.model), how.level)


def units_by(maps: Maps, graph: Graph, table: Table, held: Mapping[str, Floats], outcomes: Sequence[str]) -> Units:
    """The rows of a table by the maps of what is seen in them."""
    mean = np.full((len(outcomes), len(table.values)), np.nan)
    noise, errors, reach, noise_reach = (np.full_like(mean, np.nan) for _ in range(4))
    for seen, rows in by_pattern(table, graph):
        if seen not in maps:
            raise DataError("rows lack other values now than they did when they were asked about; ask again")
        one = maps[seen]
        if one is None:
            continue
        for part, evidence, values in _parts(table, held, seen, rows):
            _refuse_impossible(one.found, evidence, part)
            means = one.found.means(evidence, values)
            weights = None if one.pieces is None else one.found.weights(evidence, values)
            for i, k in enumerate(one.known):
                mean[k, part], noise[k, part] = means[:, i], one.found.noise[i]
                if one.pieces is not None:
                    errors[k, part], reach[k, part] = one.pieces[i].errors(weights), one.pieces[i].reaches(weights)
                if one.spreads is not None:
                    noise_reach[k, part] = one.spreads[i]
    some = [one for one in maps.values() if one is not None]
    if some and some[0].pieces is None:
        return Units(tuple(outcomes), mean, noise)
    predictive = any(one.spreads is not None for one in some)
    return Units(tuple(outcomes), mean, noise, errors, reach, noise_reach=noise_reach if predictive else None)


def _noise_reach(fit: Fitted, found: UnitMap, level: float) -> Floats:
    """How far the noise of each outcome reaches, with its variance divided by rows less parameters and Student's t.

    In a regression the reaches of mean and noise, squared and added, are then the textbook's prediction interval.
    """
    middle = np.concatenate([found.centre, found.held_centre])
    slopes = linearize(unit_query(found.seen, found.held, found.outcomes, middle), found.model).variances
    rests = support(fit, slopes)
    with np.errstate(invalid="ignore"):
        reach = found.noise * rests.growth() * rests.quantiles(level)
    return np.where(found.noise == 0.0, 0.0, reach)


def one_unit(
    graph: Graph, unit: Mapping[str, object], do: Mapping[str, object], outcomes: Sequence[str]
) -> Distribution:
    """The question about one unit; None and nan were not seen."""
    for v in unit:
        if v not in graph:
            raise QueryError(
                f"the graph has no variable {v!r}, of which a value was given.{did_you_mean(v, graph.observed)}"
            )
    numbers = {v: _number(v, x) for v, x in unit.items() if x is not None}
    seen = {v: x for v, x in numbers.items() if not np.isnan(x)}
    table = Table(tuple(seen), np.array([list(seen.values())], dtype=float).reshape(1, len(seen)), tuple(seen))
    held = held_values(graph, do, table)
    values = np.concatenate([table.values[0], *held.values()])
    return unit_query(tuple(seen), tuple(held), outcomes, values)


def _number(v: str, value: object) -> float:
    try:
        found = float(cast("float", value))
    except (TypeError, ValueError):
        found = np.inf
    if isinstance(value, str) or np.isinf(found):
        raise QueryError(f"the value of {v!r} is a finite number, or None if it was not seen, not {value!r}")
    return found


def held_values(graph: Graph, do: Mapping[str, object], table: Table) -> dict[str, Floats]:
    """What each variable is held at in each row: numbers, one for each row, a column's name, or "+1", "-1", "*2"."""
    if not do:
        raise QueryError("do names what is held in the other world, for instance do={'x': 1}")
    held = {}
    for v, value in do.items():
        if v not in graph:
            raise QueryError(f"do: the graph has no variable {v!r}.{did_you_mean(v, graph.observed)}")
        held[v] = _held(v, value, table)
        if not np.isfinite(held[v]).all():
            row = int(np.argmin(np.isfinite(held[v])))
            raise QueryError(f"do: {v!r} has no finite value in row {row}; give one, or leave the row out")
    return held


def columns_named(do: Mapping[str, object]) -> list[str]:
    """Columns of the table that ``do`` takes its values from."""
    return [value for value in do.values() if isinstance(value, str) and not _SHIFT.match(value)]


def _held(v: str, value: object, table: Table) -> Floats:
    count = len(table.values)
    if table.add is not None and np.ndim(value):  # type: ignore[arg-type]
        raise QueryError(f"do: rows of an engine have no order; hold {v!r} at a number or at the name of a column")
    if isinstance(value, str):
        shift = _SHIFT.match(value)
        if shift is None and value not in table.names:  # of one unit: a table's columns are looked up when it is read
            raise DataError(f"the data have no column {value!r}.{did_you_mean(value, table.columns)}")
        if shift is None:
            return table.column(value)
        if v not in table.names or np.isnan(table.column(v)).any():
            raise QueryError(f"do: {v!r} {value} changes the value that was seen, but {v!r} is missing in some rows")
        now, amount = table.column(v), float(shift[2])
        return {"+": now + amount, "-": now - amount, "*": now * amount}[shift[1]]
    try:
        found = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise QueryError(f"do: {v!r} is held at a number, or at one number for each row, not at {value!r}") from None
    if found.ndim and found.shape != (count,):
        raise QueryError(
            f"do: {v!r} has values of shape {found.shape} for {count:,} rows; give one number for each row"
        )
    return np.asarray(np.broadcast_to(found, (count,)))


def by_pattern(table: Table, graph: Graph) -> Iterator[tuple[tuple[str, ...], Places]]:
    """Rows with the same variables seen; one slice where nothing is missing."""
    at = [k for k, v in enumerate(table.names) if v in graph]
    names = [table.names[k] for k in at]
    holes = np.isnan(table.values[:, at]) if len(at) < len(table.names) else np.isnan(table.values)
    if not holes.any():
        yield tuple(names), slice(None)
        return
    packed = np.ascontiguousarray(np.packbits(holes, axis=1))
    keys, where = np.unique(packed.view(f"V{packed.shape[1]}").ravel(), return_inverse=True)
    order = np.argsort(where, kind="stable")
    for rows in np.split(order, np.cumsum(np.bincount(where, minlength=len(keys)))[:-1]):
        yield tuple(v for v, hole in zip(names, holes[rows[0]], strict=True) if not hole), rows


def _parts(
    table: Table, held: Mapping[str, Floats], seen: tuple[str, ...], rows: Places
) -> Iterator[tuple[Places, Floats, Floats]]:
    """Places, evidence and held values of some rows at a time."""
    at = [table.names.index(v) for v in seen]
    for start in range(0, len(table.values) if isinstance(rows, slice) else len(rows), ROWS):
        stretch = slice(start, start + ROWS)
        part = stretch if isinstance(rows, slice) else rows[stretch]
        evidence = table.values[part][:, at]
        values = np.stack([x[part] for x in held.values()], axis=1) if held else np.zeros((len(evidence), 0))
        yield part, evidence, values


def _identified(
    decide: Decide,
    seen: tuple[str, ...],
    held: tuple[str, ...],
    outcome: str,
    table: Table,
    rows: Places,
    unidentified: Unidentified,
) -> bool:
    query = unit_query(seen, held, (outcome,))
    verdict = decide(query)
    if not verdict.identified and unidentified == "raise":
        many = "all rows" if isinstance(rows, slice) else "rows" if table.add else f"{len(rows):,} rows"
        raise NotIdentifiedError(
            f"{many} in which {', '.join(seen) or 'nothing'} was seen: {verdict.explain()}\n"
            f"Other rows may be answered: unidentified='nan' leaves these empty.",
            verdict,
        )
    return verdict.identified


def _refuse_impossible(found: UnitMap, evidence: Floats, part: Places) -> None:
    bad = found.first_impossible(evidence)
    if bad is not None:
        row = part.start + bad if isinstance(part, slice) else int(part[bad])
        raise QueryError(
            f"row {row} cannot occur in this model: some of its values determine others, which differ. "
            f"Leave those empty"
        )


def _warn_of_trouble(fit: Fitted, variables: set[str]) -> None:
    """A table has no place for what to know before trusting it."""
    involved = fit.graph.ancestors(variables)
    for trouble in troubles(fit.status, fit.districts, involved):
        warnings.warn(str(trouble), stacklevel=depth_of_caller())


def _warn_without_means(fit: Fitted, gradients: list[Gradient]) -> None:
    if not fit.moments.has_mean and any(g.mean[0].any() for g in gradients):
        warnings.warn(str(note("no means, rows")), stacklevel=depth_of_caller())
