"""What is expected of rows where categories act, as they come, under an intervention, or had something else been done.

With the category of every acting column in place the variables are normal, with one covariance for all rows: their
means are affine in these categories and in what is held, in the world as it is and in the other one alike. Columns in
categories that were seen are boxes. Acting columns that were not seen may be in each of their categories, and so may
those that would have been others: a way for each, which counts by the density of the values that were seen and the
probability of the boxes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from halftrek.bottom.arrays import Flags, Floats, Ints
from halftrek.bottom.choices import Unidentified
from halftrek.bottom.frames import Columns
from halftrek.data.sources.tables import Table
from halftrek.errors import InputError, QueryError
from halftrek.estimation import Fitted
from halftrek.estimation.acts.boxes import MOST, box_shares
from halftrek.estimation.acts.fit import Acting
from halftrek.inference.how import How
from halftrek.inference.intervals.base import ends_on
from halftrek.inference.standard_errors.acting import STEP, acting_of, drawn_again, refuse_interval, undetermined
from halftrek.inference.tables.units import Decide, by_pattern, identified_outcomes
from halftrek.layer import Margin
from halftrek.models import CGLSCM
from halftrek.queries.derivatives import Scale
from halftrek.queries.observed.boxes import Boxed
from halftrek.queries.observed.units import category_chances, mean_values
from halftrek.queries.observed.values import is_chance
from halftrek.queries.written.writing import number

RARE = 1e-6  # weight of a way that adds nothing
TWIN = 1e-9  # distance from 1 of the correlation of variables that determine each other
DETERMINED = 1e-10  # share of an outcome's variance that is nothing
ZERO = 1e-8  # part of a row's largest slope that is rounding


@dataclass(frozen=True, eq=False)
class _Asked:
    """Rows of which the same columns were seen: by a number, by a category; what is held, and the outcome."""

    values: tuple[str, ...]
    boxes: tuple[str, ...]
    held: tuple[str, ...]
    outcome: str

    def expected(self, model: CGLSCM, margins: Mapping[str, Margin], rows: Floats) -> tuple[Floats, Floats]:
        """Of each row the mean of the outcome and of its square; and the probability of each of its categories.

        ``rows`` have the columns ``values``, ``boxes`` and ``held``. What was seen is of the world as it is, the
        outcome of the one in which variables are held: both have the same errors.
        """
        place = {v: k for k, v in enumerate(model.names)}
        column = {(v, k < len(self.values) + len(self.boxes)): rows[:, k] for k, v in enumerate(self._columns)}
        now, then = self._slots(model, margins)
        acting = [v for v in model.names if _acts(margins, v)]
        worlds = [_World.of(model, acting), _World.of(model, [*self.held, *(v for v in acting if v not in self.held)])]
        seen, p = [place[v] for v in self.values], len(model.names)
        left = [*(place[v] for v in (*self.boxes, *now)), *(p + place[v] for v in (*then, self.outcome))]
        both = np.hstack([one.total for one in worlds])
        cov = both.T @ model.W @ both
        gain = np.linalg.solve(cov[np.ix_(seen, seen)], cov[np.ix_(seen, left)])
        rest = cov[np.ix_(left, left)] - cov[np.ix_(left, seen)] @ gain
        margin, same = margins.get(self.outcome), self._same(model)
        own = now.index(self.outcome) if self.outcome in now and self.outcome in same else -1
        causes = np.zeros((len(rows), 2 * p))
        for v in (v for v in self.boxes if v in acting):
            causes[:, place[v]] = column[v, True]
        ends = [_ends(margins[v], column[v, True]) for v in self.boxes]
        logs, firsts, chances = [], [], []
        for way in product(*(margins[v].values.tolist() for v in (*now, *then))):
            causes[:, [*(place[v] for v in now), *(p + place[v] for v in then)]] = way
            shared = [place[v] for v in acting if v in same]
            causes[:, [p + k for k in shared]] = causes[:, shared]
            for v in self.held:
                causes[:, p + place[v]] = column[v, False]
            means = np.hstack([worlds[0].means(causes[:, :p]), worlds[1].means(causes[:, p:])])
            gap = rows[:, : len(seen)] - means[:, seen]
            bands = [_ends(margins[v], np.full(len(rows), x)) for v, x in zip((*now, *then), way, strict=True)]
            every = [*ends, *bands]
            low, high = (np.stack([e[k] for e in every], axis=1) if every else np.zeros((len(rows), 0)) for k in (0, 1))
            units = self._merged(Boxed(means[:, left] + gap @ gain, rest, low, high), float(cov[left[-1], left[-1]]))
            if own >= 0 and margin is not None:
                chance = np.tile((margin.values == way[own]).astype(float), (len(rows), 1))
                first = chance @ np.stack([margin.values, margin.values**2], axis=1)
            else:
                first = mean_values(units, margin)
                chance = category_chances(units, margin) if margin is not None else np.zeros((len(rows), 0))
            logs.append(self._weight(units, gap, cov[np.ix_(seen, seen)]) if now or then else np.zeros(len(rows)))
            firsts.append(first)
            chances.append(chance)
        return _mixed(np.array(logs), np.array(firsts)), _mixed(np.array(logs), np.array(chances))

    @property
    def _columns(self) -> tuple[str, ...]:
        return (*self.values, *self.boxes, *self.held)

    def _same(self, model: CGLSCM) -> frozenset[str]:
        """Variables that are the same in both worlds."""
        return frozenset(model.names) - (model.graph.descendants(self.held) if self.held else frozenset())

    def _slots(self, model: CGLSCM, margins: Mapping[str, Margin]) -> tuple[list[str], list[str]]:
        """Acting columns that have effects on what was seen, or on the outcome, and whose category is not known.

        Those of the world as it is first, which the other shares if it does not change them.
        """
        graph, same = model.graph, self._same(model)
        acting = [v for v in model.names if _acts(margins, v)]
        seen = graph.ancestors({*self.values, *self.boxes}) if self.values or self.boxes else frozenset()
        asked = graph.ancestors({self.outcome})
        now, then = [], []
        for v in acting:
            kids = set(graph.children(v))
            if v not in self.boxes and (kids & seen or (v in same and kids & asked)):
                now.append(v)
            if v not in same and v not in self.held and kids & asked:
                then.append(v)
        return now, then

    def _merged(self, units: Boxed, spread: float) -> Boxed:
        """Variables in boxes that determine each other, as one and the same of two worlds may, count as one."""
        count = units.low.shape[1]
        sd = np.sqrt(np.maximum(np.diag(units.cov), 1e-300))
        R = units.cov / np.outer(sd, sd)
        low, high, kept = units.low.copy(), units.high.copy(), list[int]()
        for k in range(count):
            twin = next((j for j in kept if abs(R[j, k]) > 1.0 - TWIN), None)
            if twin is None:
                kept.append(k)
                continue
            sign, ratio = np.sign(R[twin, k]), sd[twin] / sd[k]
            moved = [units.mean[:, twin] + sign * ratio * (end[:, k] - units.mean[:, k]) for end in (low, high)]
            lower, upper = moved if sign > 0.0 else moved[::-1]
            low[:, twin], high[:, twin] = np.maximum(low[:, twin], lower), np.minimum(high[:, twin], upper)
        high = np.maximum(low, high)
        if len(kept) > 1 and np.linalg.eigvalsh(R[np.ix_(kept, kept)])[0] < TWIN:
            raise QueryError(
                f"{self.outcome}: columns in categories, of what was seen and of what would have been, determine each "
                f"other in a way that is not integrated over; give what causes them in the table, or leave one out"
            )
        at = [*kept, count]
        along = np.linalg.lstsq(units.cov[np.ix_(kept, kept)], units.cov[kept, -1], rcond=None)[0]
        left = float(units.cov[-1, -1] - along @ units.cov[kept, -1])
        cov = units.cov[np.ix_(at, at)]
        return Boxed(units.mean[:, at], cov, low[:, kept], high[:, kept], exact=left < DETERMINED * spread)

    def _weight(self, units: Boxed, gap: Floats, cov: Floats) -> Floats:
        """The logarithm of how likely a way is, given what was seen, but for a number that all ways share."""
        size = units.low.shape[1]
        if size > MOST:
            raise QueryError(
                f"{self.outcome}: {size} columns in categories are seen or summed over, and the probability of more "
                f"than {MOST} at once is not known where a category acts; name fewer with given=[...]"
            )
        sd = np.sqrt(np.diag(units.cov)[:-1])
        low, high = ((end - units.mean[:, :-1]) / sd for end in (units.low, units.high))
        share = box_shares(low, high, units.cov[:-1, :-1] / np.outer(sd, sd))
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.maximum(share, 0.0)) - 0.5 * (gap * np.linalg.solve(cov, gap.T).T).sum(axis=1))


@dataclass(frozen=True, eq=False)
class _World:
    """A world in which some variables are what is put in their place: what others make of that, and of all errors."""

    model: CGLSCM
    given: Ints
    total: Floats

    @staticmethod
    def of(model: CGLSCM, given: Sequence[str]) -> _World:
        at = np.array([model.names.index(v) for v in given], dtype=np.intp)
        inside = model.T.copy()
        inside[at] = 0.0
        return _World(model, at, np.linalg.inv(np.eye(len(model.names)) - inside))

    def means(self, causes: Floats) -> Floats:
        """Of each row, with what stands in the place of those that are given."""
        return np.asarray((self.model.mu + causes[:, self.given] @ self.model.T[self.given]) @ self.total)


def _mixed(logs: Floats, several: Floats) -> Floats:
    """The mean over ways, by their weights, of numbers of each row; a way that next to never occurs has none."""
    largest = logs.max(axis=0)
    weights = np.exp(logs - np.where(np.isfinite(largest), largest, 0.0))
    whole = weights.sum(axis=0)
    weights = (weights / np.where(whole > 0.0, whole, np.nan))[:, :, None]
    return np.asarray(np.where(np.isnan(several) & (weights < RARE), 0.0, weights * several).sum(axis=0))


def acting_units(
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
    if how.interval not in (None, "influence", "bootstrap"):
        refuse_interval(how)
    if table.add is not None:
        raise InputError("rows of an engine and kinds of columns do not go together yet; take the rows into memory")
    if how.ends != "percentile":
        raise InputError(f"ends={how.ends!r} is for single questions, see fit.query; here it is 'percentile'")
    margins = acting_of(fit).margins
    for v in (*table.names, *held, *outcomes):
        _refuse(v, margins.get(v), held, outcomes)
    for v, column in (*held.items(), *((v, table.column(v)) for v in table.names)):
        _refuse_value(v, margins.get(v), column)
    known = identified_outcomes(fit, table, tuple(held), outcomes, decide, unidentified)
    columns: dict[str, Floats] = {}
    for k, y in enumerate(outcomes):
        margin = margins.get(y)
        found = np.full((len(table.values), 5), np.nan)
        chances = np.full((len(table.values), 0 if margin is None else len(margin.values)), np.nan)
        for seen, rows in by_pattern(table, fit.graph):
            if k in known[seen]:
                at = np.arange(len(table.values))[rows]
                found[at], chances[at] = _numbers(fit, _asked(seen, tuple(held), y, margins), table, held, at, how)
        head = "" if len(outcomes) == 1 else f"{y}_"
        names = (y, *(f"{head}{name}" for name in ("noise_sd", "se", "ci_low", "ci_high")))
        columns |= dict(zip(names, found.T, strict=True))
        if margin is not None and not is_chance(margin):
            texts = (f"P({y}={number(x)})" for x in margin.values.tolist())
            columns |= dict(zip(texts, chances.T, strict=True))
    return columns


def _asked(seen: Sequence[str], held: tuple[str, ...], outcome: str, margins: Mapping[str, Margin]) -> _Asked:
    if outcome in held:
        raise QueryError(f"{outcome!r} is held by do, so there is nothing to ask about it; name another outcome")
    values = tuple(v for v in seen if v not in margins)
    return _Asked(values, tuple(v for v in seen if v in margins), held, outcome)


def _numbers(
    fit: Fitted, asked: _Asked, table: Table, held: Mapping[str, Floats], at: Floats, how: How
) -> tuple[Floats, Floats]:
    """Mean, noise, error and ends of each row, and the chances of categories; rows that say the same are one."""
    columns = [table.column(v)[at] for v in (*asked.values, *asked.boxes)] + [held[v][at] for v in asked.held]
    every = np.stack(columns, axis=1) if columns else np.zeros((len(at), 0))
    if not columns:
        rows, which = every[:1], np.zeros(len(at), dtype=np.intp)
    else:
        rows, which = np.unique(every, axis=0, return_inverse=True)
    acting = acting_of(fit)

    def means(theta: Floats) -> Floats:
        return asked.expected(*acting.at(fit.graph, theta), rows)[0][:, 0]

    moments, chances = asked.expected(*acting.at(fit.graph, acting.theta), rows)
    margin = acting.margins.get(asked.outcome)
    first, second = moments.T
    if margin is not None:  # rounding may leave the range of the categories
        first = np.clip(first, margin.values[0], margin.values[-1])
    if np.isnan(first).any():
        row = int(at[int(np.argmax(np.isnan(first)[which.ravel()]))])
        raise QueryError(f"row {row} next to never occurs in this model: what was seen in it does not go together")
    scale: Scale = "logit" if is_chance(margin) else "plain"
    if how.interval == "bootstrap":
        drawn = np.array(
            [asked.expected(*one.at(fit.graph, one.theta), rows)[0][:, 0] for one in drawn_again(fit, how)]
        )
        errors = drawn.std(axis=0, ddof=1)
        ends = np.quantile(drawn, [0.5 - how.level / 2.0, 0.5 + how.level / 2.0], axis=0).T
    else:
        moves = np.diag(np.full(len(acting.theta), STEP))
        slopes = np.stack([(means(acting.theta + m) - means(acting.theta - m)) / (2.0 * STEP) for m in moves], axis=1)
        errors = _errors(acting, slopes)
        ends = ends_on(scale, first, how.quantile * errors)
    if margin is not None:
        ends = np.clip(ends, margin.values[0], margin.values[-1])
    noise = np.sqrt(np.maximum(second - first**2, 0.0))
    return np.column_stack([first, noise, errors, ends])[which.ravel()], chances[which.ravel()]


def _errors(acting: Acting, slopes: Floats) -> Floats:
    """Standard errors; nan for rows that move with parameters which the data do not determine."""
    slopes = np.where(np.abs(slopes) > ZERO * np.abs(slopes).max(axis=1, keepdims=True), slopes, 0.0)
    unknown: Flags = np.isnan(acting.spread)
    sure = np.where(unknown, 0.0, acting.spread)
    squares = np.einsum("ij,jk,ik->i", slopes, sure, slopes)
    lost = np.einsum("ij,jk,ik->i", slopes != 0.0, unknown.astype(float), slopes != 0.0) > 0.0
    errors = np.sqrt(np.maximum(squares, 0.0))
    return np.where(lost | undetermined(acting, slopes, errors), np.nan, errors)


def _acts(margins: Mapping[str, Margin], name: str) -> bool:
    return name in margins and margins[name].kind == "acts"


def _ends(margin: Margin, column: Floats) -> tuple[Floats, Floats]:
    """Between which cuts the variable behind each entry lies."""
    around, codes = np.concatenate([[-np.inf], margin.cuts, [np.inf]]), margin.codes(column)
    return around[codes], around[codes + 1]


def _refuse(name: str, margin: Margin | None, held: Mapping[str, Floats], outcomes: Sequence[str]) -> None:
    if margin is not None and not margin.cut:
        ask = "ask fit.query(...)" if name in held or name in outcomes else "leave it out, as with given=[...]"
        raise QueryError(
            f"{name} is ranked, and tables of rows are not known for ranked columns where a category acts; {ask}"
        )
    if margin is not None and name in held and margin.kind != "acts":
        raise QueryError(
            f"do: {name} is a cut of a continuous variable, and a category does not say where that is held; say "
            f"kinds={{{name!r}: 'acts'}} if being in the category is the cause"
        )


def _refuse_value(name: str, margin: Margin | None, column: Floats) -> None:
    """Raise for a category that the fit has not seen; a hole is none."""
    if margin is None:
        return
    wrong = ~np.isin(column, margin.values) & ~np.isnan(column)
    if wrong.any():
        row, has = int(np.argmax(wrong)), ", ".join(map(number, margin.values.tolist()))
        raise QueryError(f"row {row}: {name}={number(float(column[row]))}, and {name} has the values {has}")
