"""What kind of numbers a column holds: two values, a few, counts, or anything; looked at while the rows stream by.

A normal distribution is a bad picture of a 0/1 variable. Means and effects do not need one, but probabilities of
events, quantiles and variances do; whoever answers such a question asks here first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import erfc, sqrt
from typing import TYPE_CHECKING, Literal, cast

import numpy as np

from halftrek.bottom.arrays import Array

if TYPE_CHECKING:
    from halftrek.data.missing.patterns import Patterns
    from halftrek.data.moments import Moments

MOST = 10  # distinct values that are kept of a column
LOOK = 64  # entries that are looked at first: enough to know most columns for continuous
BELOW = 0.01  # probability below zero under a normal distribution, from which on a count is no longer near to one

Shape = Literal["two values", "few values", "count"]


@dataclass(frozen=True)
class Coding:
    """How texts became numbers: 1 where ``column`` says ``one``, else 0; ``zero`` is the other text.

    ``zero`` of an indicator is the reference: the level that has no column of its own.
    """

    column: str
    one: str
    zero: str


def truth(column: str) -> Coding:
    """How truth values are numbers."""
    return Coding(column, "true", "false")


@dataclass(frozen=True)
class Kind:
    """All values of a column if they are few (None: more than ten); whether all are whole numbers, and the least."""

    values: tuple[float, ...] | None = None
    whole: bool = False
    least: float | None = None
    coding: Coding | None = None

    def merge(self, other: Kind) -> Kind:
        """The kind of both columns' rows together."""
        values = None
        if self.values is not None and other.values is not None:
            both = sorted({*self.values, *other.values})
            values = tuple(both) if len(both) <= MOST else None
        lows = [x for x in (self.least, other.least) if x is not None]
        same = self.coding if self.coding == other.coding else None
        return Kind(values, self.whole and other.whole, min(lows, default=None), same)

    def to_dict(self) -> dict[str, object]:
        """Plain lists and numbers, ready for JSON."""
        coding = self.coding
        return {
            "values": None if self.values is None else list(self.values),
            "whole": self.whole,
            "least": self.least,
            "coding": None if coding is None else [coding.column, coding.one, coding.zero],
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, object]) -> Kind:
        """The inverse of :meth:`to_dict`."""
        values = cast("Sequence[float] | None", fields["values"])
        coding = cast("Sequence[str] | None", fields["coding"])
        return cls(
            None if values is None else tuple(values),
            cast("bool", fields["whole"]),
            cast("float | None", fields["least"]),
            None if coding is None else Coding(*coding),
        )


def merged(ours: Sequence[Kind] | None, theirs: Sequence[Kind] | None) -> tuple[Kind, ...] | None:
    """The kinds of two tables' columns together; None where those of one are not known."""
    if ours is None or theirs is None:
        return None
    return tuple(a.merge(b) for a, b in zip(ours, theirs, strict=True))


class KindSearch:
    """Blocks of numbers go in with :meth:`add`; a column that proves to be continuous is not looked at again."""

    def __init__(self, p: int) -> None:
        self._values: list[set[float] | None] = [set() for _ in range(p)]
        self._whole = [True] * p  # of columns with many values; few values tell it themselves, as they do the least
        self._least = [np.inf] * p
        self._open = list(range(p))

    def add(self, block: Array | Sequence[Array]) -> None:
        """Look at the rows of a block; nan is a hole."""
        for k in tuple(self._open):
            column = block[:, k] if isinstance(block, np.ndarray) else block[k]
            for part in (column[:LOOK], column[LOOK:]):
                if len(part):
                    self._look(k, np.ascontiguousarray(part))
                if self._values[k] is None and not self._whole[k]:
                    self._open.remove(k)
                    break

    def join(self, other: KindSearch) -> None:
        """Add what was found in other rows."""
        for k, (ours, theirs) in enumerate(zip(self._values, other._values, strict=True)):
            both = None if ours is None or theirs is None else ours | theirs
            if both is None or len(both) > MOST:
                whole = self._is_whole(k) and other._is_whole(k)
                least = min(self._lowest(k), other._lowest(k))
                self._values[k], self._whole[k], self._least[k] = None, whole, least
            else:
                self._values[k] = both
        self._open = [k for k, known in enumerate(self._values) if known is not None or self._whole[k]]

    def _is_whole(self, k: int) -> bool:
        known = self._values[k]
        return self._whole[k] if known is None else all(v.is_integer() for v in known)

    def _lowest(self, k: int) -> float:
        known = self._values[k]
        return self._least[k] if known is None else min(known, default=np.inf)

    def kinds(self, codings: Sequence[Coding | None]) -> tuple[Kind, ...]:
        """What was found; ``codings`` say how a column was made of texts."""
        found = []
        for k, coding in enumerate(codings):
            values, whole, least = self._values[k], self._is_whole(k), self._lowest(k)
            lowest = float(least) if whole and np.isfinite(least) else None
            found.append(Kind(None if values is None else tuple(sorted(values)), whole, lowest, coding))
        return tuple(found)

    def _look(self, k: int, column: Array) -> None:
        known = self._values[k]
        if known is None:
            self._look_whole(k, column)
            return
        new = np.ones(len(column), dtype=bool)
        for value in known:
            new &= column != value
        if not new.any():
            return
        rest = column[new]
        rest = rest[~np.isnan(rest)]
        while len(rest) and len(known) <= MOST:
            some = np.unique(rest[:LOOK])
            known.update(some.astype(float).tolist())
            rest = rest[~np.isin(rest, some)]
        if len(known) > MOST:
            self._values[k] = None
            self._whole[k], self._least[k] = all(v.is_integer() for v in known), min(known)
            self._look_whole(k, column)

    def _look_whole(self, k: int, column: Array) -> None:
        if not self._whole[k]:
            return
        if column.dtype.kind == "f":
            whole = column == np.rint(column)
            self._whole[k] = bool(whole.all() or (whole | np.isnan(column)).all())
        self._least[k] = float(np.fmin(self._least[k], np.fmin.reduce(column)))


def shapes(data: Moments | Patterns) -> dict[str, Shape]:
    """The variables that are not continuous, and what they are.

    A value must be met twice on average to be one of few; a count is one whose normal distribution reaches below zero.
    """
    if data.kinds is None:
        return {}
    n, mean, variance = data.by_column
    layer = getattr(data, "layer", None)  # patterns have none
    found: dict[str, Shape] = {}
    for k, (name, kind) in enumerate(zip(data.names, data.kinds, strict=True)):
        if layer is not None and layer.margin(name) is not None:  # a normal variable behind it is what is fitted
            continue
        if kind.values is not None and 2 * len(kind.values) <= n[k]:
            if len(kind.values) > 1:
                found[name] = "two values" if len(kind.values) == 2 else "few values"
        elif kind.whole and kind.least is not None and kind.least >= 0.0 and _reaches_below(mean[k], variance[k]):
            found[name] = "count"
    return found


def _reaches_below(mean: float, variance: float) -> bool:
    """Whether a normal variable with these moments would often be rounded to a negative number."""
    return variance > 0.0 and 0.5 * erfc((mean + 0.5) / sqrt(2.0 * variance)) > BELOW
