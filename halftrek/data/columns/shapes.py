"""What rows look like: bars of one column, and means of one column along another. One pass, nothing kept but sums."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from halftrek.bottom.arrays import Floats
from halftrek.data.moments import Moments
from halftrek.data.rows import RowReader
from halftrek.data.summing.passes import RowPart, gather
from halftrek.errors import DataError

REACH, CELLS = 8.0, 4096  # standard deviations to either side that are counted, in so many cells
VALUES = 400  # different values up to which a column is looked at for even steps between them
STEP = 1e-6  # share of a step by which values may be off an even grid
BARS = 60  # at most


@dataclass(frozen=True, eq=False)
class Histogram:
    """Bars of the values of one variable; the area of a bar is the share of rows in it.

    ``n`` counts the rows (sums their weights); ``beyond`` is the share of those outside of the bars.
    """

    name: str
    left: Floats
    width: float
    height: Floats
    n: float
    beyond: float = 0.0

    def span(self, share: float = 0.001) -> tuple[float, float]:
        """Where all but a small share of the rows at either end are."""
        area = np.cumsum(self.height) * self.width
        first, last = np.searchsorted(area, share), np.searchsorted(area, area[-1] - share)
        return float(self.left[first]), float(self.left[min(last, len(self.left) - 1)] + self.width)


@dataclass(frozen=True, eq=False)
class Means:
    """Means of an outcome in groups of rows with about the same cause: where, how high, of how many rows."""

    cause: Floats
    outcome: Floats
    n: Floats


def histogram(rows: RowReader, like: Moments, given: Sequence[float] = ()) -> Histogram | None:
    """Bars of the first variable of ``like``, whose moments those of the rows have to be.

    ``given`` are values of its other variables: only rows that have exactly these; None where there are none.
    """
    over = partial(_in_bars, like, np.asarray(given))
    return gather(rows.select(like.names), over, _both, like).bars(like.names[0])


def _in_bars(like: Moments, given: Floats, part: RowPart) -> _Sums:
    sums = _sums_for(like, 1)
    for values, weights in _columns(part):
        keep = np.isclose(values[:, 1:], given, rtol=1e-9, atol=0.0).all(axis=1)
        sums.add(values[keep, 0], weights[keep][None])
    return sums


def histogram_of(values: ArrayLike, name: str = "") -> Histogram:
    """The same of numbers at hand; missing ones are left out."""
    array = np.asarray(values, dtype=float)
    if array.ndim != 1:
        raise DataError(f"a histogram needs one column of numbers, not an array of shape {array.shape}")
    array = array[~np.isnan(array)]
    if not np.isfinite(array).all() or not len(array):
        raise DataError("a histogram needs finite numbers, and at least one")
    sums = _Sums(float(array.mean()), float(array.std()), 1)
    sums.add(array, np.ones((1, len(array))))
    found = sums.bars(name)
    assert found is not None  # there are numbers
    return found


def means_along(rows: RowReader, like: Moments, groups: int = 12) -> Means:
    """Means of the second variable of ``like`` along the first, whose moments those of the rows have to be.

    Groups have about the same number of rows; a cause of few values has a group for each of them.
    """
    n, x, y = gather(rows.select(like.names), partial(_in_groups, like), _both, like).filled()
    if len(n) > groups:
        group = ((np.cumsum(n) - n / 2.0) / n.sum() * groups).astype(int)
        n, x, y = (np.bincount(group, weights=part) for part in (n, x, y))
    some = n > 0.0
    return Means(x[some] / n[some], y[some] / n[some], n[some])


def _in_groups(like: Moments, part: RowPart) -> _Sums:
    sums = _sums_for(like, 3)
    for values, weights in _columns(part):
        x, y = values.T
        sums.add(x, np.stack([weights, weights * x, weights * y]))
    return sums


def _both(ours: _Sums, theirs: _Sums) -> _Sums:
    ours.merge(theirs)
    return ours


def _columns(part: RowPart) -> Iterator[tuple[Floats, Floats]]:
    for block in part.blocks:
        yield block.values, np.ones(len(block)) if block.weights is None else block.weights


def _sums_for(like: Moments, size: int) -> _Sums:
    return _Sums(float(like.mean[0]), float(np.sqrt(like.cov[0, 0])), size)


class _Sums:
    """Sums of weights (and of what is weighted) in narrow cells, and by value while there are few values."""

    def __init__(self, centre: float, scale: float, size: int) -> None:
        self.scale = scale if scale > 0.0 else max(abs(centre), 1.0)
        self.low, self.cell = centre - REACH * self.scale, 2.0 * REACH * self.scale / CELLS
        self.inside = np.zeros((size, CELLS + 2))  # the first and the last cell are for what lies beyond
        self.values: dict[float, Floats] | None = {}

    def add(self, x: Floats, sums: Floats) -> None:
        place = np.clip((x - self.low) / self.cell + 1.0, 0.0, CELLS + 1.0).astype(np.intp)
        for line, weights in zip(self.inside, sums, strict=True):
            line += np.bincount(place, weights=weights, minlength=CELLS + 2)
        if self.values is not None:
            different, where = np.unique(x, return_inverse=True)
            if len(different) <= VALUES:
                parts = np.stack([np.bincount(where, weights=w, minlength=len(different)) for w in sums], axis=1)
                for value, part in zip(different.tolist(), parts, strict=True):
                    self.values[value] = self.values.get(value, 0.0) + part
            if len(different) > VALUES or len(self.values) > VALUES:
                self.values = None

    def merge(self, other: _Sums) -> None:
        """Add the sums of other rows."""
        self.inside += other.inside
        if self.values is None or other.values is None:
            self.values = None
            return
        for value, part in other.values.items():
            self.values[value] = self.values.get(value, 0.0) + part
        if len(self.values) > VALUES:
            self.values = None

    def filled(self) -> Floats:
        """The sums of each value, or of each cell, that has rows, in order."""
        if self.values is None:
            return self.inside[:, self.inside[0] > 0.0]
        return np.stack([self.values[x] for x in sorted(self.values)], axis=1)

    def bars(self, name: str) -> Histogram | None:
        n = float(self.inside[0].sum())
        if n == 0.0:
            return None
        step = _even_step(self.values)
        if step and self.values is not None:
            at = np.array(sorted(self.values))
            counts = np.array([self.values[x][0] for x in at.tolist()])
            start = at[0] - step / 2.0
        else:
            at, counts = self.low + self.cell * (np.arange(CELLS) + 0.5), self.inside[0, 1:-1]
            step, start = self.cell, self.low
        width = step * max(1, round(_wanted_width(at, counts, self.scale) / step))
        place = ((at - start) / width).astype(int)
        height = np.bincount(place, weights=counts) / (n * width)
        full = np.flatnonzero(height)
        height = height[full[0] : full[-1] + 1] if len(full) else height[:1]
        first = full[0] if len(full) else 0
        left = start + width * (first + np.arange(len(height)))
        return Histogram(name, left, float(width), height, n, float(1.0 - counts.sum() / n))


def _even_step(values: dict[float, Floats] | None) -> float:
    """The step of a grid that all values lie on, as whole numbers do; zero if there is none, or only one value."""
    if values is None or len(values) < 2:
        return 0.0
    at = np.array(sorted(values))
    step = float(np.diff(at).min())
    steps = (at - at[0]) / step
    return step if np.abs(steps - np.round(steps)).max() < STEP * max(1.0, steps[-1]) else 0.0


def _wanted_width(at: Floats, counts: Floats, scale: float) -> float:
    """Freedman and Diaconis's width of a bar, Scott's where half of the rows have one value; not too many bars."""
    share = np.cumsum(counts) / max(counts.sum(), 1e-300)
    low, high = at[np.searchsorted(share, (0.25, 0.75))]
    first, last = at[np.minimum(np.searchsorted(share, (0.001, 0.999)), len(at) - 1)]
    usual = (2.0 * (high - low) or 3.49 * scale) / max(counts.sum(), 1.0) ** (1.0 / 3.0)
    return float(max(usual, (last - first) / BARS))
