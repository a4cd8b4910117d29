"""What would have been for many units at once, where normal variables are behind columns.

Evidence of plain and ranked columns is a value of the variable behind, of an ordered one a box. Given the values, the
variables in boxes and the outcome's are normal: their means are affine in the values, as in ``queries.units``, and
their covariance is the same for all units. An answer moves with these numbers, with the cuts of the outcome, and with
those that evidence comes of.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from halftrek.bottom.arrays import Floats, Ints
from halftrek.errors import QueryError
from halftrek.layer import Layer, Margin
from halftrek.models import CGLSCM
from halftrek.queries.derivatives import Gradient
from halftrek.queries.kinds.distributions import Distribution
from halftrek.queries.kinds.statistics import conditional_of
from halftrek.queries.kinds.variants import Change, Target, Variant
from halftrek.queries.normal.conditional import Conditional
from halftrek.queries.observed.boxes import MOST, Boxed

STEP = 1e-4  # to either side, in standard deviations
SMOOTH = 0.2  # standard deviations over which the slope of a ranked column is taken
FEW, BIN = 200, 0.04  # ranks beyond which they are taken in bins, and how wide these are behind
DETERMINED = 1e-10  # share of an outcome's variance that is nothing


@dataclass(frozen=True, eq=False)
class LayerMap:
    """Units of which the same columns were seen: ``values`` by a number, ``boxes`` by a category; and what is held."""

    model: CGLSCM
    layer: Layer
    values: tuple[str, ...]
    boxes: tuple[str, ...]
    held: tuple[str, ...]
    outcome: str

    @cached_property
    def margin(self) -> Margin | None:
        """That of the outcome; None for a plain one. Ranks are taken in bins where integrals are made for each."""
        found = self.layer.margin(self.outcome)
        return found if found is None or not self.boxes else in_bins(found)

    @cached_property
    def _middle(self) -> Floats:
        at = [self.model.names.index(v) for v in (*self.values, *self.held)]
        return np.array(self.model.mean[at], dtype=float)

    @cached_property
    def _steps(self) -> Floats:
        at = [self.model.names.index(v) for v in (*self.values, *self.held)]
        sd = np.sqrt(np.maximum(np.diag(self.model.cov)[at], 0.0))
        return np.where(sd > 0.0, sd, 1.0)

    @cached_property
    def _points(self) -> list[Conditional]:
        """The distribution at the centre, then a step of each value further."""
        count = len(self.values)
        found = []
        for at in [self._middle, *(self._middle + row for row in np.diag(self._steps))]:
            world: dict[Target, Change] = {v: float(x) for v, x in zip(self.held, at[count:], strict=True)}
            seen = {Variant(v): float(x) for v, x in zip(self.values, at[:count], strict=True)}
            variants = (*map(Variant, self.boxes), Variant(self.outcome, world))
            found.append(conditional_of(Distribution.across(variants, seen), self.model))
        return found

    @cached_property
    def numbers(self) -> Floats:
        """Means at the centre, and what a step of each value adds to them: a column for each variable."""
        lines = np.stack([one.mean for one in self._points])
        lines[1:] -= lines[0]
        return lines

    @cached_property
    def cov(self) -> Floats:
        """The covariance that evidence leaves."""
        return self._points[0].cov

    @cached_property
    def exact(self) -> bool:
        """True if the variables in boxes determine the outcome's."""
        if not self.boxes or self.settled:
            return False
        along = np.linalg.solve(self.cov[:-1, :-1], self.cov[:-1, -1])
        left = self.cov[-1, -1] - along @ self.cov[:-1, -1]
        return bool(left < DETERMINED * self.model.cov[self.place, self.place])

    @cached_property
    def settled(self) -> bool:
        """True if the values that were seen, and what is held, determine the outcome's variable."""
        return bool(self.cov[-1, -1] < DETERMINED * self.model.cov[self.place, self.place])

    @property
    def ranks(self) -> Margin | None:
        """The margin of an outcome whose variable is determined; None where it is not, or is plain."""
        return self.layer.margin(self.outcome) if self.settled else None

    @property
    def place(self) -> int:
        """Where the outcome stands in the model."""
        return self.model.names.index(self.outcome)

    @cached_property
    def gradients(self) -> list[Gradient]:
        """Those of ``numbers``, line by line, then of the covariances ``np.triu_indices`` in their order."""
        size = len(self.cov)
        unit, none = np.eye(size), np.zeros((size, size))
        lines = [[one.pull(unit[r], none) for r in range(size)] for one in self._points]
        found = [*lines[0], *(g + first * -1.0 for line in lines[1:] for g, first in zip(line, lines[0], strict=True))]
        for a, b in zip(*np.triu_indices(size), strict=True):
            both = none.copy()
            both[a, b] += 0.5
            both[b, a] += 0.5
            found.append(self._points[0].pull(np.zeros(size), both))
        return found

    def weights(self, behind: Floats) -> Floats:
        """What each unit takes of ``numbers``; ``behind`` are values, then what is held, behind the columns."""
        return np.concatenate([np.ones((len(behind), 1)), (behind - self._middle) / self._steps], axis=1)

    def slopes(self) -> Floats:
        """How means move with each value behind: a line for each."""
        return np.asarray(self.numbers[1:] / self._steps[:, None])

    def boxed(self, behind: Floats, codes: Ints) -> Boxed:
        """The units, with the boxes of the categories that were seen."""
        ends = [np.concatenate([[-np.inf], m.cuts, [np.inf]]) for m in map(self.cut_margin, self.boxes)]
        low = np.stack([end[codes[:, k]] for k, end in enumerate(ends)], axis=1) if ends else np.zeros((len(behind), 0))
        high = np.stack([e[codes[:, k] + 1] for k, e in enumerate(ends)], axis=1) if ends else low
        return Boxed(self.weights(behind) @ self.numbers, self.cov, low, high, self.exact)

    def cut_margin(self, name: str) -> Margin:
        """That of a column in categories."""
        margin = self.layer.margin(name)
        assert margin is not None
        return margin


def in_bins(margin: Margin) -> Margin:
    """A ranked column with many values in bins of them, each with its mean; others as they are."""
    if margin.kind != "ranked" or len(margin.values) <= FEW:
        return margin
    at = kept_cuts(margin)
    group = np.searchsorted(at, np.arange(len(margin.values)), side="left")  # value k is below cut k
    shares = np.bincount(group, weights=margin.shares)
    values = np.bincount(group, weights=margin.shares * margin.values) / shares
    return Margin("ranked", values, shares, given_cuts=margin.cuts[at])


def kept_cuts(margin: Margin) -> Ints:
    """The cuts between bins of ranks: one in each stretch of the variable behind."""
    return np.flatnonzero(np.diff(np.floor(margin.cuts / BIN), append=np.inf) > 0)


def all_cuts(line: Floats, margin: Margin, taken: Margin) -> Floats:
    """Slopes in the cuts that were taken, as slopes in all cuts of a column."""
    if taken is margin:
        return line
    found = np.zeros((*line.shape[:-1], len(margin.cuts)))
    found[..., kept_cuts(margin)] = line
    return found


def layer_map(model: CGLSCM, layer: Layer, seen: Sequence[str], held: Sequence[str], outcome: str) -> LayerMap:
    """The map of units of which these columns were seen."""
    if outcome in held:
        raise QueryError(f"{outcome!r} is held by do, so there is nothing to ask about it; name another outcome")
    boxes = tuple(v for v in seen if (m := layer.margin(v)) is not None and m.cut)
    if len(boxes) > MOST:
        raise QueryError(
            f"{len(boxes)} columns in categories were seen ({', '.join(boxes)}), more than the {MOST} that can be "
            f"integrated over with care: leave some out of the table, or name those that count in given="
        )
    return LayerMap(model, layer, tuple(v for v in seen if v not in boxes), boxes, tuple(held), outcome)


def mean_values(units: Boxed, margin: Margin | None) -> Floats:
    """The expected value of the column and of its square, a line for each unit."""
    if margin is None:
        return units.moments()
    return _of_chances(units.below(margin.cuts), margin.values)


def settled_values(units: Boxed, margin: Margin) -> Floats:
    """The value of a ranked column where its variable is determined; nan beyond what was seen."""
    return np.interp(units.mean[:, -1], margin.scores, margin.values, left=np.nan, right=np.nan)


def smoothed(units: Boxed) -> Boxed:
    """The units with a little noise in a determined outcome, to see how it moves: ranks go in steps."""
    cov = units.cov.copy()
    cov[-1, -1] += SMOOTH**2
    return replace(units, cov=cov)


def _of_chances(below: Floats, values: Floats) -> Floats:
    powers = np.stack([values, values**2], axis=1)
    return np.asarray(powers[-1] - below @ np.diff(powers, axis=0))


def category_chances(units: Boxed, margin: Margin) -> Floats:
    """The probability of each category, a line for each unit."""
    below = units.below(margin.cuts)
    ends = np.concatenate([np.zeros((len(below), 1)), below, np.ones((len(below), 1))], axis=1)
    return np.maximum(np.diff(ends, axis=1), 0.0)  # rounding may leave less than nothing


@dataclass(frozen=True, eq=False)
class UnitSlopes:
    """How the expected value of each unit moves: with the numbers of its map, with the cuts by column, a line each."""

    numbers: Floats
    cuts: Mapping[str, Floats]


def unit_slopes(found: LayerMap, units: Boxed, behind: Floats, codes: Ints, at: Floats) -> UnitSlopes:
    """By differences; ``at`` are values and what is held as the table has them, by which ranks are found."""
    margin, size = found.margin, len(found.cov)
    units = replace(units, coarse=True)

    def slope(up: Boxed, down: Boxed, step: float) -> Floats:
        return (mean_values(up, margin)[:, 0] - mean_values(down, margin)[:, 0]) / (2.0 * step)

    scale = np.sqrt(np.maximum(np.diag(found.model.cov)[[found.model.names.index(v) for v in found.boxes]], 0.0))
    scale = np.append(scale, np.sqrt(found.model.cov[found.place, found.place]))
    by_mean = np.empty((len(behind), size))
    for r in range(size):
        move = np.zeros(size)
        move[r] = STEP * scale[r]
        by_mean[:, r] = slope(_moved(units, mean=move), _moved(units, mean=-move), move[r])
    by_cov = []
    for a, b in zip(*np.triu_indices(size), strict=True):
        move = np.zeros((size, size))
        move[a, b] = move[b, a] = STEP * scale[a] * scale[b]
        by_cov.append(slope(_moved(units, cov=move), _moved(units, cov=-move), float(move[a, b])))
    numbers = (found.weights(behind)[:, :, None] * by_mean[:, None, :]).reshape(len(behind), -1)
    cuts: dict[str, Floats] = {}
    if margin is not None:
        below = [units.below(margin.cuts + step) for step in (STEP, -STEP)]
        line = -(below[0] - below[1]) / (2.0 * STEP) * np.diff(margin.values)
        whole = found.layer.margin(found.outcome)
        assert whole is not None  # it has a margin
        _add(cuts, found.outcome, all_cuts(line, whole, margin))
    for k, name in enumerate(found.boxes):
        for side, end in enumerate((units.low, units.high)):
            own = found.cut_margin(name)
            move = np.zeros((1, len(found.boxes)))
            move[0, k] = STEP
            up, down = (
                replace(units, low=end + sign * move) if side == 0 else replace(units, high=end + sign * move)
                for sign in (1.0, -1.0)
            )
            at_cut = codes[:, k] - 1 + side
            inside = (at_cut >= 0) & (at_cut < len(own.cuts))
            line = np.zeros((len(behind), len(own.cuts)))
            line[inside, at_cut[inside]] = slope(up, down, STEP)[inside]
            _add(cuts, name, line)
    by_value = by_mean @ found.slopes().T
    for k, name in enumerate((*found.values, *found.held)):
        ranked = found.layer.margin(name)
        if ranked is not None:
            _add(cuts, name, by_value[:, [k]] * rank_weights(ranked, at[:, k]))
    return UnitSlopes(np.concatenate([numbers, np.stack(by_cov, axis=1)], axis=1), cuts)


def rank_weights(margin: Margin, column: Floats) -> Floats:
    """How the score of each value of a ranked column moves with the cuts: with those at its sides."""
    place = np.searchsorted(margin.values, column)
    found = np.zeros((len(column), len(margin.cuts)))
    rows = np.arange(len(column))
    for side in (place - 1, place):
        inside = (side >= 0) & (side < len(margin.cuts))
        found[rows[inside], side[inside]] += 1.0
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def _moved(units: Boxed, mean: Floats | float = 0.0, cov: Floats | float = 0.0) -> Boxed:
    return replace(units, mean=units.mean + mean, cov=units.cov + cov)


def _add(cuts: dict[str, Floats], name: str, line: Floats) -> None:
    cuts[name] = cuts[name] + line if name in cuts else line
