"""Rows that many data sets are made of, arranged by what they lack.

What fills a hole depends on the columns that have an entry beside it in the inverse covariance P, and on no others. So
holes of a row that P does not connect, not even by other holes, have nothing to do with each other: a row falls into
*kinds*, sets of connected holes, and rows of different patterns share these. Most models have few entries in P.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING

import numpy as np

from halftrek.bottom.arrays import Flags, Floats, Ints
from halftrek.data.missing.holes import inverses
from halftrek.data.missing.stack import adder

if TYPE_CHECKING:
    from numpy.typing import DTypeLike
    from scipy.sparse import csr_array

SWEPT = 8  # holes up to which entries of inverses are found one by one
WIDTHS = 4  # columns of summed kinds are filled up to multiples of this, so that many are worked on together
HELD = 4_000_000  # products of rows that are made at a time


def is_frequent(rows: Ints, p: Ints | int) -> Flags:
    """Patterns whose rows cost more than their sums."""
    return np.asarray(rows > 4 + p * p // 6)


@dataclass(frozen=True, eq=False)
class Layout:
    """The rows that all data sets are made of: about a centre, in units of ``scale``, zero for what is missing.

    ``values`` are those of rare patterns, and ``pattern`` says which each has; ``frequent`` are the others. ``near``
    are the pairs of columns that have an entry in the inverse covariance; without it, all.
    """

    names: tuple[str, ...]
    observed: Flags
    several: int  # patterns that have more than one row come first
    scale: Floats
    values: Floats
    pattern: Ints
    frequent: Ints
    part: int = 256  # rows of a group that are worked on together, so that they stay near the processor
    near: Flags | None = None
    filled: dict[Hashable, object] = field(default_factory=dict)

    @property
    def dtype(self) -> np.dtype[np.floating]:
        """The precision of all that rows are multiplied with."""
        return self.values.dtype

    @cached_property
    def rough(self) -> Layout:
        """The same in single precision: enough for a first look, and half the work."""
        found = replace(self, values=self.values.astype(np.float32), filled={})
        found.__dict__["kinds"] = self.kinds
        return found

    @cached_property
    def beside(self) -> Flags:
        """The columns that each column has an entry beside, itself among them."""
        p = len(self.names)
        return np.ones((p, p), dtype=bool) if self.near is None else self.near | np.eye(p, dtype=bool)

    @cached_property
    def kinds(self) -> Kinds:
        """Sets of connected holes, and where they are."""
        holes, pattern = connected(~self.observed, self.beside)
        _, first, kind = np.unique(np.packbits(holes, axis=1), axis=0, return_index=True, return_inverse=True)
        kind = kind.ravel()
        rows, of = _spread_out(self.pattern, pattern, kind)
        count, size = np.bincount(of, minlength=len(first)), holes[first].sum(axis=1)
        near = (holes[first].astype(np.float32) @ self.beside > 0.0).sum(axis=1) - size
        place = np.full(len(self.observed), -1)
        place[self.frequent] = np.arange(len(self.frequent))
        often = place[pattern] >= 0
        summed = is_frequent(count, near)
        summed[kind[often]] = True
        return Kinds(holes[first], summed, rows, of, place[pattern[often]], kind[often])

    @cached_property
    def slots(self) -> list[tuple[int, Ints]]:
        """The rows that lack each column in a rare kind; such pairs of row and hole, one after the other, are slots."""
        rows, of = self.kinds.rare
        lacks = self.kinds.holes[of]
        return [(j, rows[lacks[:, j]]) for j in range(len(self.names)) if lacks[:, j].any()]

    @cached_property
    def lacking(self) -> list[Lacking]:
        """Columns with their slots, and the rows of these."""
        found, start = [], 0
        for j, rows in self.slots:
            columns = np.flatnonzero(self.beside[j])
            lines = np.concatenate(
                [self.values[rows[:, None], columns], np.full((len(rows), 1), -1.0, self.dtype)], axis=1
            )
            found.append(Lacking(j, slice(start, start + len(rows)), rows, columns, lines))
            start += len(rows)
        return found

    @property
    def holes(self) -> int:
        """How many slots there are."""
        return sum(len(rows) for _, rows in self.slots)

    @cached_property
    def groups(self) -> list[Group]:
        """Rows of rare kinds by how much they lack."""
        rows, of = self.kinds.rare
        lacks = self.kinds.holes[of]
        slot = (np.cumsum(lacks.T.ravel()) - 1).reshape(lacks.T.shape).T  # column by column
        lacking = lacks.sum(axis=1)
        order = np.argsort(lacking, kind="stable")  # by kind before
        found = []
        for h in np.unique(lacking):
            members = order[lacking[order] == h]
            starts = np.flatnonzero(np.diff(of[members], prepend=-1))  # no kind is in two parts
            for some in np.split(members, starts[np.flatnonzero(np.diff(starts // self.part, prepend=0))]):
                kinds, own = np.unique(of[some], return_inverse=True)
                at = _places(self.kinds.holes[kinds])
                slots = np.ascontiguousarray(np.take_along_axis(slot[some], at.T[own], axis=1).T)
                found.append(Group(kinds, rows[some], own, slots, Pairs(at, len(self.names), self.dtype)))
        return found

    @cached_property
    def summed(self) -> list[Summed]:
        """Frequent kinds by how much they lack, and by how many columns they stand beside."""
        kinds, p = self.kinds, len(self.names)
        which = np.flatnonzero(kinds.summed)
        holes = kinds.holes[which]
        near = (holes.astype(np.float32) @ self.beside > 0.0) & ~holes
        size = holes.sum(axis=1)
        width = np.minimum(-(-near.sum(axis=1) // WIDTHS) * WIDTHS, p - size)
        # others that are no holes fill up: they have no entry in P, and add nothing
        order = np.argsort(np.where(near, 0, np.where(holes, 2, 1)), axis=1, kind="stable")
        return [
            Summed(self, which[own], _places(holes[own]), np.sort(order[own, :w], axis=1))
            for h, w in sorted(set(zip(size.tolist(), width.tolist(), strict=True)))
            for own in [np.flatnonzero((size == h) & (width == w))]
        ]

    @cached_property
    def of_pattern(self) -> csr_array:
        """Adds up rows by their pattern."""
        return adder(self.pattern, len(self.observed))

    @cached_property
    def of_kind(self) -> csr_array:
        """Adds up rows by their rare kinds."""
        rows, of = self.kinds.rare
        return adder(of, len(self.kinds.holes), rows, len(self.values), self.dtype)

    @cached_property
    def upper(self) -> tuple[Ints, Ints, Ints]:
        """Pairs of columns, each once, and where each cell of a matrix is among them."""
        p = len(self.names)
        i, j = np.triu_indices(p)
        place = np.zeros((p, p), dtype=np.intp)
        place[i, j] = place[j, i] = np.arange(len(i))
        return i, j, place


@dataclass(frozen=True, eq=False)
class Kinds:
    """Sets of connected holes, one a line, and which are summed up; where they occur: ``of[i]`` in ``rows[i]`` of rare
    patterns, by kind, and ``often_of[i]`` in the frequent pattern ``often[i]``.
    """

    holes: Flags
    summed: Flags
    rows: Ints
    of: Ints
    often: Ints
    often_of: Ints

    @cached_property
    def rare(self) -> tuple[Ints, Ints]:
        """Rows and kinds, of those that are not summed up."""
        own = ~self.summed[self.of]
        return self.rows[own], self.of[own]


def connected(holes: Flags, near: Flags) -> tuple[Flags, Ints]:
    """Holes of patterns that hang together, one such set a line, and the pattern that each is in."""
    left, which, steps = holes, np.arange(len(holes)), near.astype(np.float32)
    sets, owners = [np.zeros((0, holes.shape[1]), dtype=bool)], [np.zeros(0, dtype=np.intp)]
    while True:
        some = left.any(axis=1)
        left, which = left[some], which[some]
        if not len(left):
            return np.concatenate(sets), np.concatenate(owners)
        own = np.zeros_like(left)
        own[np.arange(len(left)), left.argmax(axis=1)] = True
        while True:
            grown = left & (own.astype(np.float32) @ steps > 0.0)
            if np.array_equal(grown, own):
                break
            own = grown
        sets.append(own)
        owners.append(which)
        left = left & ~own


def _spread_out(pattern_of: Ints, pattern: Ints, kind: Ints) -> tuple[Ints, Ints]:
    """Rows, by their patterns, and the kinds in them, from those in patterns; by kind."""
    order = np.argsort(pattern_of, kind="stable")
    size = max(pattern_of.max(initial=-1), pattern.max(initial=-1)) + 1
    count = np.bincount(pattern_of, minlength=size)
    times, first = count[pattern], (np.cumsum(count) - count)[pattern]
    rows = order[np.repeat(first - (np.cumsum(times) - times), times) + np.arange(times.sum())]
    of = np.repeat(kind, times)
    by_kind = np.argsort(of, kind="stable")
    return rows[by_kind], of[by_kind]


def _places(holes: Flags) -> Ints:
    """The holes of kinds that have equally many, one kind a column."""
    return np.ascontiguousarray(np.nonzero(holes)[1].reshape(len(holes), -1).T)


@dataclass(frozen=True, eq=False)
class Lacking:
    """The slots of a column: their rows, and ``lines``, what these have in the columns beside it, and -1."""

    column: int
    own: slice
    rows: Ints
    columns: Ints
    lines: Floats


class Group:
    """Kinds with equally many holes, and rows of these: which they are, of which kind, and their slots."""

    def __init__(self, kinds: Ints, rows: Ints, of: Ints, slot: Ints, pairs: Pairs) -> None:
        self.kinds, self.rows, self.slot, self.pairs = kinds, rows, slot, pairs
        self.of = None if len(kinds) == len(rows) else of  # none where every row has a kind of its own
        self.row_cells = pairs.cells if self.of is None else pairs.cells_of(of)


class Summed:
    """Frequent kinds with equally many holes, ``at[:, k]``, beside equally many ``columns[k]``."""

    def __init__(self, layout: Layout, which: Ints, at: Ints, columns: Ints) -> None:
        p, dtype = len(layout.names), layout.dtype
        self.at, self.columns, self.layout = at, columns, layout
        self.pairs = Pairs(at, p, dtype)
        self.holes = adder(at.ravel(), p, dtype=dtype)
        self.near = at[:, :, None] * p + columns  # cells of a matrix: a hole, and a column beside it
        self.cells = adder(self.near.ravel(), p * p, dtype=dtype)
        self.i, self.j = np.triu_indices(columns.shape[1])
        self.square = np.zeros((columns.shape[1],) * 2, dtype=np.intp)
        self.square[self.i, self.j] = self.square[self.j, self.i] = np.arange(len(self.i))
        place = np.full(len(layout.kinds.holes), -1)
        place[which] = np.arange(len(which))
        own = place[layout.kinds.of] >= 0
        self._rows, self._of = layout.kinds.rows[own], place[layout.kinds.of[own]]
        own = place[layout.kinds.often_of] >= 0
        self._often, self._often_of = layout.kinds.often[own], place[layout.kinds.often_of[own]]

    def sums(self, times: Floats, often: Floats) -> tuple[Floats, Floats, Floats]:
        """Numbers of rows of each kind, sums of its columns and of their products, from rows and frequent patterns."""
        g, w = self.columns.shape
        width, b = 1 + w + len(self.i), times.shape[1]
        found = np.zeros((g, width, b))
        for kinds, rows in self._pieces:
            y = self.layout.values[rows[:, :, None], self.columns[kinds][:, None]]
            lines = np.concatenate([np.ones((*rows.shape, 1)), y, y[..., self.i] * y[..., self.j]], axis=2)
            found[kinds] = lines.transpose(0, 2, 1) @ (np.take(times, rows, axis=0) * (rows >= 0)[..., None])
        if len(self._often):
            columns, p = self.columns[self._often_of], len(self.layout.names)
            pairs = self.layout.upper[2][columns[:, self.i], columns[:, self.j]]
            cells = np.concatenate([np.zeros((len(columns), 1), np.intp), 1 + columns, 1 + p + pairs], axis=1)
            own = np.take(often.reshape(-1, b), self._often[:, None] * often.shape[1] + cells, axis=0)
            found += (adder(self._often_of, g) @ own.reshape(len(own), -1)).reshape(found.shape)
        return found[:, 0], found[:, 1 : w + 1], found[:, w + 1 :][:, self.square]

    @cached_property
    def _pieces(self) -> list[tuple[Ints, Ints]]:
        """Kinds that have about as many rows, and these, one kind a line; -1 where one has fewer."""
        count = np.bincount(self._of, minlength=len(self.columns))
        starts = np.cumsum(count) - count
        side = np.ceil(2.0 * np.log2(np.maximum(count, 1))).astype(np.intp)  # at most half as many more
        found = []
        for s in np.unique(side[count > 0]):
            kinds = np.flatnonzero((side == s) & (count > 0))
            most = int(count[kinds].max())
            step = max(1, HELD // (most * (1 + self.columns.shape[1]) ** 2))
            for first in range(0, len(kinds), step):
                some = kinds[first : first + step]
                at = starts[some, None] + np.arange(most)
                inside = np.arange(most) < count[some, None]
                found.append((some, np.where(inside, self._rows[np.where(inside, at, 0)], -1)))
        return found


class Pairs:
    """Pairs of holes of some patterns, each pair once: of which holes, in which cells of a matrix, and their sums.

    ``at`` counts all cells, ``upper``, as sums do, those on the diagonal and above, line by line.
    """

    def __init__(self, at: Ints, p: int, dtype: DTypeLike) -> None:
        self.holes, self.size, self.dtype = len(at), p * (p + 1) // 2, dtype
        self.ends = list(combinations_with_replacement(range(len(at)), 2))
        self.at = np.stack([at[i] * p + at[k] for i, k in self.ends])
        self.upper = np.stack([at[i] * p - at[i] * (at[i] - 1) // 2 + at[k] - at[i] for i, k in self.ends])
        self.cells = adder(self.upper.ravel(), self.size, dtype=dtype)
        self.place = [[0] * self.holes for _ in at]
        for q, (i, k) in enumerate(self.ends):
            self.place[i][k] = self.place[k][i] = q

    def cells_of(self, which: Ints) -> csr_array:
        """What adds up pairs of rows that are such patterns."""
        return adder(self.upper[:, which].ravel(), self.size, dtype=self.dtype)

    def swept(self, cells: Floats) -> tuple[Floats, Floats]:
        """Minus the inverses of the parts of matrices, whose cells are lines, and their log-determinants.

        Columns are swept one after the other: ``A_ik - A_ij A_jk / A_jj``, ``A_ij / A_jj`` and ``-1 / A_jj``
        (Goodnight 1979).
        """
        A, h, place = np.take(cells, self.at, axis=0), self.holes, self.place
        if h > SWEPT:
            whole = A[np.array(place)]
            found, logs = inverses(whole.reshape(h, h, -1), strict=False)
            first, second = np.array(self.ends).T
            return -found.reshape(whole.shape)[first, second], logs.reshape(A.shape[1:])
        determinant, product = np.ones(A.shape[1:], A.dtype), np.empty(A.shape[1:], A.dtype)
        for j in range(h):
            determinant *= A[place[j][j]]
            inverse = 1.0 / A[place[j][j]]
            others = [i for i in range(h) if i != j]
            scaled = {i: A[place[i][j]] * inverse for i in others}
            for i in others:
                for k in others:
                    if i <= k:
                        A[place[i][k]] -= np.multiply(A[place[i][j]], scaled[k], out=product)
            for i in others:
                A[place[i][j]] = scaled[i]
            np.negative(inverse, out=A[place[j][j]])
        return A, np.log(determinant)

    def times(self, A: Floats, vectors: Floats) -> Floats:
        """Symmetric matrices, given by their pairs, times vectors."""
        found = np.empty((self.holes, *np.broadcast_shapes(A.shape[1:], vectors.shape[1:])), A.dtype)
        product = np.empty(found.shape[1:], A.dtype)
        for i, line in enumerate(found):
            np.multiply(A[self.place[i][0]], vectors[0], out=line)
            for k in range(1, self.holes):
                line += np.multiply(A[self.place[i][k]], vectors[k], out=product)
        return found
