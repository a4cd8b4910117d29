"""Many data sets that lack the same values: their likelihoods and slopes at a point each, all at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from halftrek.bottom.arrays import Flags, Floats, Ints
from halftrek.data.missing.holes import LOG_2PI, Group, inverses, make_groups
from halftrek.data.missing.patterns import Patterns

if TYPE_CHECKING:
    from numpy.typing import DTypeLike
    from scipy.sparse import csr_array


@dataclass(frozen=True, eq=False)
class Stack:
    """Number of rows ``(b, k)``, means ``(b, k, p)`` and covariances ``(b, k, p, p)`` of each pattern in each data set.

    Zero where a column is not observed. A pattern may have no rows in some of the data sets. Patterns of a single row
    come last and have no covariance, so ``cov`` stops before them.
    """

    names: tuple[str, ...]
    observed: Flags
    n: Floats
    mean: Floats
    cov: Floats

    def __len__(self) -> int:
        return len(self.n)

    def take(self, which: Ints | Flags) -> Stack:
        """Some of the data sets."""
        return Stack(self.names, self.observed, self.n[which], self.mean[which], self.cov[which])

    def less(self, constant: Floats) -> Stack:
        """The same rows with a constant less in each column."""
        if not constant.any():
            return self
        return Stack(self.names, self.observed, self.n, np.where(self.observed, self.mean - constant, 0.0), self.cov)

    @property
    def total(self) -> Floats:
        """Number of rows of each data set."""
        return np.asarray(self.n.sum(axis=1))

    @property
    def variances(self) -> Floats:
        """Of each column in the rows that have it; a line for each data set."""
        weight = self.n[:, :, None] * self.observed
        rows = np.maximum(weight.sum(axis=1), 1e-300)
        centre = (weight * self.mean).sum(axis=1) / rows
        within = (weight[:, : self.several] * np.diagonal(self.cov, axis1=2, axis2=3)).sum(axis=1)
        return np.asarray((within + (weight * (self.mean - centre[:, None]) ** 2).sum(axis=1)) / rows)

    def slopes(self, mean: Floats, cov: Floats, inverse: tuple[Floats, Floats] | None = None) -> Slopes:
        """At a mean and a covariance each, or all at one; with inverses and their log-determinants if known."""
        return slopes(self, mean, cov, inverse)

    @property
    def rough(self) -> Stack:
        """For a first look, the same."""
        return self

    @property
    def several(self) -> int:
        """How many patterns have a covariance."""
        return int(self.cov.shape[1])

    def patterns(self) -> Iterator[Patterns]:
        """Each data set: the patterns that have rows, first those with a covariance, and those of many rows."""
        single = np.arange(len(self.observed)) >= self.several
        for n, mean, cov in zip(self.n, self.mean, self.cov, strict=True):
            which = np.lexsort((-n, single))
            which = which[n[which] > 0.0]
            rows = np.maximum(np.rint(n[which]), 1.0).astype(np.int64)
            yield Patterns(self.names, self.observed[which], rows, n[which], mean[which], cov[which[~single[which]]])

    @cached_property
    def filled_rows(self) -> Floats:
        """Numbers of rows of patterns that lack no more than they have, whose holes are filled; zero for others."""
        return np.where(2 * self.observed.sum(axis=1) >= len(self.names), self.n, 0.0)

    @cached_property
    def filled_spread(self) -> Floats:
        """Summed covariances about the means of these patterns."""
        return np.asarray(np.einsum("bk,bkij->bij", self.filled_rows[:, : self.several], self.cov))

    @cached_property
    def parts(self) -> list[_Part]:
        """The patterns by how many columns they lack; none for those that lack nothing."""
        found = []
        for place in _places(self.observed.tobytes(), self.observed.shape, self.several):
            group = place.group
            which, own = group.which[: group.several], group.at.T[: group.several]
            if group.holes:
                cov = self.cov[:, which]
            else:
                cov = self.cov[:, which[:, None, None], own[:, :, None], own[:, None, :]]
            found.append(_Part(place, self.n[:, group.which], self.n[:, which, None, None] * cov))
        return found


@dataclass(frozen=True, eq=False)
class Slopes:
    """Log-likelihoods and their derivatives in mean and covariance (as symmetric matrices), one for each data set."""

    value: Floats
    mean: Floats
    cov: Floats


@dataclass(frozen=True, eq=False)
class _Place:
    """A group of patterns, and what adds up by the columns that entries are about.

    ``columns`` and ``cells`` add up entries and pairs of entries of all its patterns, ``own_columns`` and ``own_cells``
    of those that have a covariance.
    """

    group: Group
    columns: csr_array
    cells: csr_array
    own_columns: Floats
    own_cells: csr_array


@dataclass(frozen=True, eq=False)
class _Part:
    """A group of patterns in all data sets: numbers of rows, and products about the mean where there are several."""

    place: _Place
    n: Floats
    spread: Floats


def slopes(stack: Stack, mean: Floats, cov: Floats, known: tuple[Floats, Floats] | None = None) -> Slopes:
    """At a mean ``(b, p)`` and a covariance ``(b, p, p)`` each, or all at one; nan where that is not positive definite.

    As :func:`halftrek.data.missing.holes.gather_sums` has it for one data set.
    """
    b, _, p = stack.mean.shape
    if known is None:
        P, (sign, logs) = np.linalg.inv(cov), np.linalg.slogdet(cov)
    else:
        P, sign, logs = known[0], np.ones(len(cov)), -known[1]
    gap = np.where(stack.observed, stack.mean - mean[:, None], 0.0)
    toward = gap @ P
    filled = gap.copy()  # becomes the expected complete row, less the mean
    n = stack.filled_rows
    rows = n.sum(axis=1)
    moved = stack.filled_spread.copy()
    lost, squares, precision, away = (np.zeros((b, p, p)) for _ in range(4))
    seen_pull = np.zeros((b, p))
    value = -0.5 * (LOG_2PI * stack.n @ stack.observed.sum(axis=1) + rows * logs)
    for part in stack.parts:
        place, group, few = part.place, part.place.group, part.place.group.several
        at, which = group.at.T, group.which
        inverse, own_logs = _inverses(P if group.holes else cov, group)
        value -= 0.5 * (part.n * own_logs).sum(axis=1)
        weighted = part.n[..., None, None] * inverse
        if group.holes:
            filled[:, which[:, None], at] = -(inverse @ toward[:, which[:, None], at][..., None])[..., 0]
            lost += _onto(place.cells, weighted, p)
            if few:  # a hole moves by minus this times what was observed
                turn = inverse[:, :few] @ P[:, at[:few]]
                step = turn @ part.spread
                moved += _onto(place.own_cells, step @ turn.transpose(0, 1, 3, 2), p)
                away += place.own_columns @ step.reshape(b, -1, p)
            continue
        seen = gap[:, which[:, None], at]
        q = (weighted @ seen[..., None])[..., 0]
        value -= 0.5 * (seen * q).sum(axis=(1, 2))
        precision += _onto(place.cells, weighted, p)
        squares += _onto(place.cells, q[..., None] * (q / np.maximum(part.n, 1e-300)[..., None])[..., None, :], p)
        seen_pull += (place.columns @ q.reshape(b, -1).T).T
        if few:
            half = inverse[:, :few] @ part.spread
            value -= 0.5 * np.einsum("bgii->b", half)
            squares += _onto(place.own_cells, half @ inverse[:, :few], p)
    weighted = n[:, :, None] * filled
    moved += weighted.transpose(0, 2, 1) @ filled
    moved -= away + away.transpose(0, 2, 1)
    value -= 0.5 * (P * moved).sum(axis=(1, 2))
    squares += P @ moved @ P
    precision += rows[:, None, None] * P - P @ lost @ P
    first = seen_pull + (P @ weighted.sum(axis=1)[:, :, None])[:, :, 0]
    second = 0.5 * (squares - precision)
    return Slopes(np.where(sign > 0.0, value, np.nan), first, (second + second.transpose(0, 2, 1)) / 2.0)


def _inverses(whole: Floats, group: Group) -> tuple[Floats, Floats]:
    """Inverses ``(b, g, m, m)`` and log-determinants ``(b, g)`` of the parts of matrices that a group is about."""
    b = len(whole)
    m, g = group.at.shape
    inside = whole[:, group.at[:, None, :], group.at[None, :, :]].transpose(1, 2, 0, 3).reshape(m, m, b * g)
    found, logs = inverses(np.ascontiguousarray(inside), strict=False)
    matrices = np.ascontiguousarray(found.reshape(m, m, b, g).transpose(2, 3, 0, 1))  # others are multiplied slowly
    return matrices, logs.reshape(b, g)


@lru_cache(maxsize=8)
def _places(seen: bytes, shape: tuple[int, int], several: int) -> tuple[_Place, ...]:
    """Of patterns that lack something; worked out once for all data sets that have them."""
    p, found = shape[1], []
    observed = np.frombuffer(seen, dtype=bool).reshape(shape)
    for group in make_groups(observed, np.ones(len(observed)), np.zeros((several, 0, 0))):
        if group.holes and not len(group.at):
            continue
        at, own = group.at.T, group.at.T[: group.several]
        cells, own_cells = (adder((x[:, :, None] * p + x[:, None, :]).ravel(), p * p) for x in (at, own))
        own_columns = (own.ravel() == np.arange(p)[:, None]).astype(float)
        found.append(_Place(group, adder(at.ravel(), p), cells, own_columns, own_cells))
    return tuple(found)


def adder(owner: Ints, size: int, entries: Ints | None = None, count: int = 0, dtype: DTypeLike = float) -> csr_array:
    """Ones that add up entries by their owner; nearly all of it is zero, which a plain matrix would multiply.

    Which of ``count`` entries each owner has is said by ``entries``; without these each has its own.
    """
    from scipy.sparse import csr_array  # a quarter of a second to load, for bootstraps with missing values alone

    if entries is None:
        entries, count = np.arange(len(owner)), len(owner)
    order, ends = np.argsort(owner, kind="stable"), np.cumsum(np.bincount(owner, minlength=size))
    parts = np.ones(len(owner), dtype), entries[order].astype(np.int32), np.append(0, ends).astype(np.int32)
    return csr_array(parts, shape=(size, count))


def _onto(cells: csr_array, matrices: Floats, p: int) -> Floats:
    return np.asarray((cells @ matrices.reshape(len(matrices), -1).T).T.reshape(-1, p, p))
