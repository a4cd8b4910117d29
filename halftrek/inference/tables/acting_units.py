"""What is expected of new rows where categories act, as they come or under an intervention, for all rows at once.

With the category of every acting column in place the variables are normal, with one covariance for all rows: their
means are affine in these categories and in what is held. Columns in categories that were seen are boxes. Acting columns
that were not seen may be in each of their categories: a way for each, which counts by the density of the values that
were seen and the probability of the boxes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from halftrek.bottom.arrays import Flags, Floats
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

        ``rows`` have the columns ``values``, ``boxes`` and ``held``.
        """
        names = list(model.names)
        place = {v: k for k, v in enumerate(names)}
        column = {v: rows[:, k] for k, v in enumerate((*self.values, *self.boxes, *self.held))}
        slots = self._slots(model, margins)
        margin = margins.get(self.outcome)
        own = slots.index(self.outcome) if self.outcome in slots else -1
        given = [place[v] for v in (*self.held, *(v for v in names if _acts(margins, v) and v not in self.held))]
        inside = model.T.copy()
        inside[given] = 0.0
        B = np.linalg.inv(np.eye(len(names)) - inside)
        cov = B.T @ model.W @ B
        seen = [place[v] for v in self.values]
        left = [place[v] for v in (*self.boxes, *slots, self.outcome)]
        gain = np.linalg.solve(cov[np.ix_(seen, seen)], cov[np.ix_(seen, left)])
        rest = cov[np.ix_(left, left)] - cov[np.ix_(left, seen)] @ gain
        causes = np.zeros((len(rows), len(names)))
        for v in (*self.boxes, *self.held):
            if v in self.held or _acts(margins, v):
                causes[:, place[v]] = column[v]
        ends = [_ends(margins[v], column[v]) for v in self.boxes]
        logs, firsts, chances = [], [], []
        for way in product(*(margins[v].values.tolist() for v in slots)):
            causes[:, [place[v] for v in slots]] = way
            means = (model.mu + causes[:, given] @ model.T[given]) @ B
            gap = rows[:, : len(seen)] - means[:, seen]
            both = [*ends, *(_ends(margins[v], np.full(len(rows), x)) for v, x in zip(slots, way, strict=True))]
            low, high = (np.stack([e[k] for e in both], axis=1) if both else np.zeros((len(rows), 0)) for k in (0, 1))
            units = Boxed(means[:, left] + gap @ gain, rest, low, high)
            if own >= 0 and margin is not None:
                chance = np.tile((margin.values == way[own]).astype(float), (len(rows), 1))
                first = chance @ np.stack([margin.values, margin.values**2], axis=1)
            else:
                first = mean_values(units, margin)
                chance = category_chances(units, margin) if margin is not None else np.zeros((len(rows), 0))
            logs.append(self._weight(units, gap, cov[np.ix_(seen, seen)]) if slots else np.zeros(len(rows)))
            firsts.append(first)
            chances.append(chance)
        return _mixed(np.array(logs), np.array(firsts)), _mixed(np.array(logs), np.array(chances))

    def _slots(self, model: CGLSCM, margins: Mapping[str, Margin]) -> list[str]:
        """Acting columns of which nothing was seen and that have effects on what was, or on the outcome."""
        graph = model.graph
        before = graph.ancestors({*self.values, *self.boxes, self.outcome})
        known = {*self.boxes, *self.held}
        return [v for v in model.names if _acts(margins, v) and v not in known and set(graph.children(v)) & before]

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
    first, second = moments.T
    if np.isnan(first).any():
        row = int(at[int(np.argmax(np.isnan(first)[which.ravel()]))])
        raise QueryError(f"row {row} next to never occurs in this model: what was seen in it does not go together")
    scale: Scale = "logit" if is_chance(acting.margins.get(asked.outcome)) else "plain"
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
