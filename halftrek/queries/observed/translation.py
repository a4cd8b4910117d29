"""A question about columns as a question about the normal variables behind them.

``y > 2`` becomes ``y* > tau``, with the cut above the last category up to 2; ``do(x=v)`` of a ranked cause holds x* at
``Phi^-1 F(v)``; having seen the category of an ordered column is having seen x* between two cuts. Every number that
comes of a cut is remembered with its weights in the cuts of its column, so that its uncertainty is not forgotten.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import inf, isfinite
from typing import Protocol

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.errors import QueryError
from halftrek.layer import Margin
from halftrek.queries.kinds.variants import Case, Change, Changes, Event, Sum, Target, Variant, single
from halftrek.queries.written.writing import Value, number


class Known(Protocol):
    """What knows the margins of columns that are not their own variables, as a layer does."""

    def margin(self, name: str) -> Margin | None:
        """That of a column; None for others."""


@dataclass
class Translation:
    """The layer, and the numbers that were met: for each its column and its weights in the cuts of that.

    The number ``moved`` is moved by ``step``, to see what the answer makes of it.
    """

    layer: Known
    moved: int = -1
    step: float = 0.0
    met: list[tuple[str, Floats]] = field(default_factory=list)

    def case(self, case: Case) -> Case:
        """What stands behind the bar."""
        given: dict[Variant, Value] = {}
        events = [self.event(e) for e in case.events]
        for variant, value in case.given.items():
            margin, seen = self.layer.margin(variant.variable), self.variant(variant)
            if margin is None or value is None:
                given[seen] = value
            elif margin.cut:
                events.append(self._category(variant, margin, value))
            else:
                given[seen] = self._score(variant.variable, margin, value)
        return Case(self.changes(case.do), given, tuple(events))

    def changes(self, changes: Changes) -> dict[Target, Change]:
        """Changes of the world."""
        return {target: self._change(target, change) for target, change in changes.items()}

    def variant(self, variant: Variant) -> Variant:
        """A variable in a world of its own."""
        return Variant(variant.variable, self.changes(variant.changes)) if variant.changes else variant

    def sum(self, of: Sum) -> Sum:
        """A sum of plain variables."""
        for _, v in of.parts:
            if self.layer.margin(v.variable) is not None and of.alone is None:
                raise QueryError(f"{of}: {v.variable} is ordered or ranked and cannot be added up; ask for it alone")
        return Sum(tuple((weight, self.variant(v)) for weight, v in of.parts))

    def event(self, event: Event) -> Event:
        """An event; of an ordered or ranked variable between cuts."""
        of = self.sum(event.of)
        margin = None if of.alone is None else self.layer.margin(of.alone.variable)
        if of.alone is None or margin is None:
            return replace(event, of=of)
        name, values = of.alone.variable, margin.values
        low = -1 if event.low == -inf else int(np.searchsorted(values, event.low, "left" if event.low_in else "right"))
        high = int(np.searchsorted(values, event.high, "right" if event.high_in else "left"))
        low = max(low, 0)
        if event.at is not None:
            _check_category(event, margin)
        if low >= high:  # no category lies between
            return Event(of, inf, inf)
        return Event(of, self._cut(name, margin, low - 1), self._cut(name, margin, high - 1))

    # -- numbers ---------------------------------------------------------------------------------

    def _change(self, target: Target, change: Change) -> Change:
        cause = target if isinstance(target, str) else target[0]
        if isinstance(change, Variant):
            return self.variant(change)
        margin = self.layer.margin(cause)
        if margin is None or change is None:
            return change
        if margin.kind == "ranked" and isinstance(change, float | int):
            return self._score(cause, margin, float(change))
        if margin.kind == "ranked":
            raise QueryError(f"{cause} is ranked: it can be held at a value, as in do({cause}=1), and not be shifted")
        if margin.kind == "acts":
            if isinstance(change, float | int) and change in margin.values:
                return change
            known = ", ".join(map(number, margin.values.tolist()))
            raise QueryError(f"{cause} acts as a category and can be held at one of its values: {known}")
        raise QueryError(
            f"{cause} is a cut of a continuous variable, and a category does not say where that is held; ask for "
            f"{cause} ~> y, the effect of one standard deviation behind it, or say kinds={{{cause!r}: 'acts'}} if "
            f"being in the category is the cause"
        )

    def _category(self, variant: Variant, margin: Margin, value: float) -> Event:
        """A category that was seen."""
        _check_category(Event(single(variant), value, value), margin)
        at = int(np.searchsorted(margin.values, value))
        name = variant.variable
        of = Sum(((1.0, self.variant(variant)),))
        return Event(of, self._cut(name, margin, at - 1), self._cut(name, margin, at))

    def _score(self, name: str, margin: Margin, value: float) -> float:
        """Where a value of a ranked column is behind it."""
        first, last = float(margin.values[0]), float(margin.values[-1])
        if not first <= value <= last:
            raise QueryError(
                f"{name}={number(value)}: {name} is ranked and was seen from {number(first)} to {number(last)}; beyond "
                f"these its ranks say nothing"
            )
        at, weights = float(margin.behind(np.array([value]))[0]), np.zeros(len(margin.cuts))
        place = int(np.searchsorted(margin.values, value))
        sides = [k for k in (place - 1, place) if 0 <= k < len(weights)]
        weights[sides] = 1.0 / len(sides)
        return self._number(name, at, weights)

    def _cut(self, name: str, margin: Margin, k: int) -> float:
        """The k-th cut; before the first and after the last there is none."""
        if not 0 <= k < len(margin.cuts):
            return -inf if k < 0 else inf
        weights = np.zeros(len(margin.cuts))
        weights[k] = 1.0
        return self._number(name, float(margin.cuts[k]), weights)

    def _number(self, name: str, value: float, weights: Floats) -> float:
        assert isfinite(value)
        self.met.append((name, weights))
        return value + (self.step if len(self.met) - 1 == self.moved else 0.0)


def _check_category(event: Event, margin: Margin) -> None:
    """Raise QueryError unless the one value of an event is a category of its column."""
    if not margin.cut:
        raise QueryError(f"{event}: {event.of} is ranked, and a single value of it has no probability; ask for a range")
    if event.at not in margin.values:
        raise QueryError(f"{event}: {event.of} has the values {', '.join(map(number, margin.values.tolist()))}")
