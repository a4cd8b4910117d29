"""Many data sets made of the same rows, each with numbers of its own for how often a row is in it.

What a row lacks is filled in as the model of its data set expects it. With P the inverse covariance of a complete row,
d its mean and m the missing columns of a row y (zero where it lacks a value),

    a = -inverse(P[m, m]) (P y - P d)[m]

is what stands there, and the sums of complete rows have the likelihood and its slopes. Rows are the same in all data
sets, so ``P y`` and the sums of ``a y'`` are products of large matrices; only what is about pairs of holes is worked
out for each. Holes that P does not connect are worked on apart (:mod:`halftrek.data.missing.layout`), and rows of
frequent kinds are summed up, as a sum costs less than its rows. The last axis of all arrays in here counts data sets.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from halftrek.bottom.arrays import Flags, Floats, Ints
from halftrek.bottom.memory import remembered
from halftrek.data.missing.holes import LOG_2PI
from halftrek.data.missing.layout import Lacking, Layout, Pairs
from halftrek.data.missing.stack import Slopes, Stack

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from halftrek.data.missing.patterns import Patterns


@dataclass(frozen=True, eq=False)
class Redrawn:
    """Data sets of the rows of a layout beside ``centre``, each ``times[i]`` times.

    ``sums`` are those of frequent patterns, as ``1, y_i, y_i y_j`` with each pair once; ``whole`` those of all rows.
    """

    layout: Layout
    centre: Floats
    times: Floats
    sums: Floats
    whole: Floats

    def __len__(self) -> int:
        return int(self.times.shape[1])

    def take(self, which: Ints | Flags) -> Redrawn:
        """Some of the data sets."""
        some = np.flatnonzero(which) if which.dtype == np.bool_ else which
        parts = (np.take(x, some, axis=-1) for x in (self.times, self.sums, self.whole))
        found = Redrawn(self.layout, self.centre, *parts)
        if "moments" in self.__dict__:  # what was summed up stays so
            found.__dict__["moments"] = [tuple(np.take(x, some, axis=-1) for x in own) for own in self.moments]
        return found

    def less(self, constant: Floats) -> Redrawn:
        """The same rows with a constant less in each column."""
        return Redrawn(self.layout, self.centre - constant, self.times, self.sums, self.whole)

    @cached_property
    def rough(self) -> Redrawn:
        """The same in single precision, which is enough for a first look."""
        found = Redrawn(self.layout.rough, self.centre, self.times.astype(np.float32), self.sums, self.whole)
        found.__dict__["n"] = self.n
        found.__dict__["moments"] = [tuple(x.astype(np.float32) for x in own) for own in self.moments]
        return found

    @property
    def total(self) -> Floats:
        """Number of rows of each data set."""
        return np.asarray(self.whole[0])

    @cached_property
    def n(self) -> Floats:
        """Number of rows of each pattern and data set."""
        found = np.asarray(self.layout.of_pattern @ self.times)
        found[self.layout.frequent] = self.sums[:, 0]
        return found

    @cached_property
    def rare(self) -> Floats:
        """Number of rows of each kind of holes, and data set, as far as it is not summed up."""
        return np.asarray(self.layout.of_kind @ self.times)

    @cached_property
    def moments(self) -> list[tuple[Floats, Floats, Floats]]:
        """Numbers of rows of frequent kinds of holes, sums of the columns beside these, and of their products."""
        return [group.sums(self.times, self.sums) for group in self.layout.summed]

    @property
    def variances(self) -> Floats:
        """Of each column in the rows that have it; a line for each data set."""
        o, p = self.layout, len(self.layout.names)
        i, j, _ = o.upper
        rows = np.maximum(o.observed.T.astype(float) @ self.n, 1e-300)
        mean = self.whole[1 : p + 1] / rows
        squares = self.whole[p + 1 :][i == j] / rows
        return np.asarray((np.maximum(squares - mean**2, 0.0) * o.scale[:, None] ** 2).T)

    def patterns(self) -> Iterator[Patterns]:
        """Each data set: the patterns that have rows."""
        for b in range(len(self)):
            yield from self.take(np.array([b])).stacked().patterns()

    def stacked(self) -> Stack:
        """The same by moments of patterns."""
        o, p = self.layout, len(self.layout.names)
        i, j, place = o.upper
        values = np.concatenate([np.ones((len(o.values), 1)), o.values, o.values[:, i] * o.values[:, j]], axis=1)
        sums = np.zeros((len(self), len(o.observed), values.shape[1]))
        for b, times in enumerate(self.times.T):
            sums[b] = o.of_pattern @ (values * times[:, None])
            sums[b, o.frequent] = self.sums[:, :, b]
        n = sums[:, :, 0].copy()
        sums /= np.where(n > 0.0, n, 1.0)[:, :, None]
        first, second = sums[:, :, 1 : p + 1], sums[:, : o.several, p + 1 :]
        mean = np.where(o.observed & (n > 0.0)[:, :, None], self.centre + first * o.scale, 0.0)
        own = first[:, : o.several]
        second = second[:, :, place] - own[..., None] * own[..., None, :]
        return Stack(o.names, o.observed, n, mean, second * o.scale * o.scale[:, None])

    def slopes(self, mean: Floats, cov: Floats, inverse: tuple[Floats, Floats] | None = None) -> Slopes:
        """At a mean and a covariance each, or all at one; nan where that is not positive definite.

        ``inverse`` has the inverses and their log-determinants, where they are known. Slopes are along covariances
        whose inverses have the entries of the layout: those along others are not told.
        """
        o, p = self.layout, len(self.layout.names)
        if inverse is None:
            P = np.linalg.inv(cov / o.scale / o.scale[:, None])
            sign, logs = np.linalg.slogdet(P)
        else:
            P, logs = inverse[0] * o.scale * o.scale[:, None], inverse[1] + 2.0 * np.log(o.scale).sum()
            sign = np.ones(len(P))
        inside = np.ascontiguousarray(P.transpose(1, 2, 0))
        sums = _Sums(self, inside, ((mean - self.centre) / o.scale).T)
        if len(P) == 1 < len(self):
            sums.add_rows_at_one(self)
        else:
            sums.add_rows(self)
        sums.add_summed(self)
        n, d = self.total, sums.d
        moved = sums.second  # about the mean; as good as its symmetric part, since P is symmetric
        moved -= (2.0 * sums.first - n * d)[:, None] * d
        squares = (inside * moved).reshape(p * p, -1).sum(axis=0)
        moved += _doubled(sums.lost, p)
        pull = (P @ (sums.first - n * d).T[:, :, None])[:, :, 0] / o.scale
        bend = P @ np.ascontiguousarray(moved.transpose(2, 0, 1)) @ P - n[:, None, None] * P
        bend /= 4.0 * o.scale * o.scale[:, None]
        each = o.observed @ (LOG_2PI + 2.0 * np.log(o.scale))
        value = -0.5 * (each @ self.n - n * logs + sums.logs + squares)
        return Slopes(np.where(sign > 0.0, value, np.nan), pull, bend + bend.transpose(0, 2, 1))


class _Sums:
    """Sums of expected complete rows and of their products, at the inverse covariances P and the means d."""

    def __init__(self, sets: Redrawn, P: Floats, d: Floats) -> None:
        p, self.dtype = len(P), sets.times.dtype
        self.d, (self.P, self.Pd) = d, (x.astype(self.dtype, copy=False) for x in (P, np.einsum("ijb,jb->ib", P, d)))
        self.cells = self.P.reshape(p * p, -1)
        self.first = sets.whole[1 : p + 1].copy()
        self.second = sets.whole[p + 1 :][sets.layout.upper[2]]
        self.lost = np.zeros((p * (p + 1) // 2, len(sets)))  # covariance that holes add, about what is expected there
        self.logs = np.zeros(len(sets))

    def add_rows(self, sets: Redrawn) -> None:
        """What is filled into rows of rare patterns."""
        o, (p, b) = sets.layout, self.first.shape
        toward = np.empty((o.holes, self.P.shape[2]), self.dtype)
        for one in o.lacking:
            np.matmul(
                one.lines, np.concatenate([self.P[one.column, one.columns], self.Pd[[one.column]]]), out=toward[one.own]
            )
        weighted, both = np.empty((o.holes, b), self.dtype), np.zeros(self.lost.shape, self.dtype)
        for group in o.groups:
            A = self._swept(group.pairs, np.take(sets.rare, group.kinds, axis=0))
            filled = group.pairs.times(
                A if group.of is None else np.take(A, group.of, axis=1), np.take(toward, group.slot, axis=0)
            )
            heavy = filled * np.take(sets.times, group.rows, axis=0)
            weighted[group.slot] = heavy
            products = np.empty((len(group.pairs.ends), *heavy.shape[1:]), self.dtype)
            for (i, k), own in zip(group.pairs.ends, products, strict=True):
                np.multiply(heavy[i], filled[k], out=own)
            both += group.row_cells @ products.reshape(-1, b)
        for one in o.lacking:
            self._add_beside(one, one.lines.T @ weighted[one.own])
        self.second += _doubled(both, p)

    def add_rows_at_one(self, sets: Redrawn) -> None:
        """The same where all data sets are at one point, so that a row is filled in once for all of them."""
        o, p = sets.layout, len(self.P)
        key = self.cells.tobytes() + self.Pd.tobytes()
        found = remembered(o.filled, key, lambda: Filled(o, self.cells, self.Pd), most=1)
        self.lost -= found.lost @ sets.rare
        self.logs += found.logs @ sets.rare
        self.second += _doubled(found.both @ sets.times, p)
        for one in o.lacking:
            lines = one.lines * found.values[one.own, None]
            self._add_beside(one, lines.T @ np.take(sets.times, one.rows, axis=0))

    def _add_beside(self, one: Lacking, sums: Floats) -> None:
        """What is filled into a column, summed with what stands beside it; and minus its own sum, the last line."""
        self.second[one.column, one.columns] += 2.0 * sums[:-1]
        self.first[one.column] -= sums[-1]

    def add_summed(self, sets: Redrawn) -> None:
        """What is filled into rows of frequent kinds, by their sums: ``a = R y + r``."""
        o, (p, b) = sets.layout, self.first.shape
        cross, both = np.zeros((p * p, b), self.dtype), np.zeros(self.lost.shape, self.dtype)
        for group, (n, first, second) in zip(o.summed, sets.moments, strict=True):
            A = self._swept(group.pairs, n)
            R = group.pairs.times(A[:, :, None], np.take(self.cells, group.near, axis=0))
            r = -group.pairs.times(A, self.Pd[group.at])
            level = (R * first).sum(axis=2) + n * r
            beside = np.stack([np.einsum("gjb,gjlb->glb", line, second) for line in R]) + r[:, :, None] * first
            products = np.stack([(beside[i] * R[k]).sum(axis=1) + level[i] * r[k] for i, k in group.pairs.ends])
            self.first += group.holes @ level.reshape(-1, b)
            cross += group.cells @ beside.reshape(-1, b)
            both += group.pairs.cells @ products.reshape(-1, b)
        self.second += 2.0 * cross.reshape(p, p, b) + _doubled(both, p)

    def _swept(self, pairs: Pairs, n: Floats) -> Floats:
        """Minus the inverses of what P has for the holes of kinds, of so many rows each."""
        A, logs = pairs.swept(self.cells)
        self.lost -= pairs.cells @ (A * n).reshape(-1, n.shape[1])
        self.logs += (n * logs).sum(axis=0)
        return A


class Filled:
    """What is filled into each slot at one point; sums of its products, of covariances and log-determinants."""

    def __init__(self, o: Layout, cells: Floats, Pd: Floats) -> None:
        p = len(Pd)
        P = cells.reshape(p, p)
        lines = (one.lines @ np.append(P[one.column, one.columns], Pd[one.column]) for one in o.lacking)
        self.values = np.concatenate([np.zeros(0), *lines])
        self.logs = np.zeros(len(o.kinds.holes))
        lost, both = ([(np.zeros(0), np.zeros((2, 0), dtype=np.intp))] for _ in range(2))
        for group in o.groups:
            pairs = group.pairs
            A, logs = pairs.swept(cells)
            self.logs[group.kinds] = logs[:, 0]
            lost.append((A.ravel(), np.stack([pairs.upper.ravel(), np.tile(group.kinds, len(A))])))
            A, at = (A, pairs.upper) if group.of is None else (A[:, group.of], pairs.upper[:, group.of])
            own = pairs.times(A[..., 0], self.values[group.slot])
            self.values[group.slot] = own
            products = np.concatenate([own[i] * own[k] for i, k in pairs.ends])
            both.append((products, np.stack([at.ravel(), np.tile(group.rows, len(A))])))
        size = p * (p + 1) // 2
        self.lost, self.both = _sparse(lost, (size, len(o.kinds.holes))), _sparse(both, (size, len(o.values)))


def _sparse(parts: list[tuple[Floats, Ints]], shape: tuple[int, int]) -> csr_array:
    from scipy.sparse import csr_array

    entries, places = (np.concatenate(part, axis=-1) for part in zip(*parts, strict=True))
    return csr_array((entries, tuple(places)), shape=shape)


def _doubled(upper: Floats, p: int) -> Floats:
    """Sums over pairs that stand once, so that half of this and its transpose are the symmetric matrix."""
    i, j = np.triu_indices(p)
    found = np.zeros((p, p, upper.shape[1]))
    found[i, j] = np.where(i == j, 1.0, 2.0)[:, None] * upper
    return found
