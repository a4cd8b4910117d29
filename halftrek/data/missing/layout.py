"""Rows that many data sets are made of, arranged by what they lack."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING

import numpy as np

from halftrek.bottom.arrays import Flags, Floats, Ints
from halftrek.data.missing.holes import inverses
from halftrek.data.missing.stack import adder

if TYPE_CHECKING:
    from scipy.sparse import csr_array

SWEPT = 8  # holes up to which entries of inverses are found one by one


def is_frequent(rows: Ints, p: int) -> Flags:
    """Patterns whose rows cost more than their sums."""
    return np.asarray(rows > 4 + p * p // 6)


@dataclass(frozen=True, eq=False)
class Layout:
    """The rows that all data sets are made of: about a centre, in units of ``scale``, zero for what is missing.

    ``values`` are those of rare patterns, and ``pattern`` says which each has; ``frequent`` are the others.
    """

    names: tuple[str, ...]
    observed: Flags
    several: int  # patterns that have more than one row come first
    scale: Floats
    values: Floats
    pattern: Ints
    frequent: Ints
    part: int = 256  # rows of a group that are worked on together, so that they stay near the processor
    filled: dict[Hashable, object] = field(default_factory=dict)

    @cached_property
    def slots(self) -> list[tuple[int, Ints]]:
        """The rows that lack each column; these pairs of a row and a hole, one after the other, are slots."""
        lacks = ~self.observed[self.pattern]
        return [(j, np.flatnonzero(lacks[:, j])) for j in range(len(self.names)) if lacks[:, j].any()]

    @cached_property
    def lacking(self) -> list[tuple[int, slice, Floats]]:
        """Columns with their slots, and the rows of these."""
        found, start = [], 0
        for j, rows in self.slots:
            found.append((j, slice(start, start + len(rows)), np.ascontiguousarray(self.values[rows])))
            start += len(rows)
        return found

    @property
    def holes(self) -> int:
        """How many slots there are."""
        return sum(len(rows) for _, rows in self.slots)

    @cached_property
    def groups(self) -> list[Group]:
        """Rows of rare patterns by how much they lack."""
        slot = np.zeros(self.values.shape, dtype=np.intp)
        start = 0
        for j, rows in self.slots:
            slot[rows, j] = start + np.arange(len(rows))
            start += len(rows)
        lacking = (~self.observed).sum(axis=1)
        order = np.lexsort((self.pattern, lacking[self.pattern]))
        order = order[lacking[self.pattern[order]] > 0]
        found = []
        for h in np.unique(lacking[self.pattern[order]]):
            members = order[lacking[self.pattern[order]] == h]
            starts = np.flatnonzero(np.diff(self.pattern[members], prepend=-1))  # no pattern is in two parts
            parts = np.split(members, starts[np.flatnonzero(np.diff(starts // self.part, prepend=0))])
            for rows in parts:
                kinds, of = np.unique(self.pattern[rows], return_inverse=True)
                at = _holes(self.observed[kinds], int(h))
                own = np.ascontiguousarray(np.take_along_axis(slot[rows], at.T[of], axis=1).T)
                found.append(Group(kinds, at, rows, of, own, len(self.names)))
        return found

    @cached_property
    def summed(self) -> list[Summed]:
        """Frequent patterns by how much they lack."""
        lacking = (~self.observed[self.frequent]).sum(axis=1)
        return [
            Summed(which, _holes(self.observed[self.frequent[which]], int(h)), len(self.names))
            for h in np.unique(lacking[lacking > 0])
            for which in [np.flatnonzero(lacking == h)]
        ]

    @cached_property
    def of_pattern(self) -> csr_array:
        """Adds up rows by their pattern."""
        return adder(self.pattern, len(self.observed))

    @cached_property
    def upper(self) -> tuple[Ints, Ints, Ints]:
        """Pairs of columns, each once, and where each cell of a matrix is among them."""
        p = len(self.names)
        i, j = np.triu_indices(p)
        place = np.zeros((p, p), dtype=np.intp)
        place[i, j] = place[j, i] = np.arange(len(i))
        return i, j, place


def _holes(observed: Flags, h: int) -> Ints:
    return np.ascontiguousarray(np.nonzero(~observed)[1].reshape(len(observed), h).T)


class Group:
    """Patterns with equally many holes, ``at[:, k]``, and rows of these: which they are, and of which pattern."""

    def __init__(self, kinds: Ints, at: Ints, rows: Ints, of: Ints, slot: Ints, p: int) -> None:
        self.kinds, self.rows, self.slot = kinds, rows, slot
        self.of = None if len(kinds) == len(rows) else of  # none where every row has a pattern of its own
        self.pairs = Pairs(at, p)
        self.row_cells = self.pairs.cells if self.of is None else Pairs(at[:, of], p).cells


class Summed:
    """Frequent patterns with equally many holes, ``at[:, k]``; ``which`` are their places among frequent patterns."""

    def __init__(self, which: Ints, at: Ints, p: int) -> None:
        self.which, self.at = which, at
        self.pairs = Pairs(at, p)
        self.columns = adder(at.ravel(), p)


class Pairs:
    """Pairs of holes of some patterns, each pair once: of which holes, in which cells of a matrix, and their sums."""

    def __init__(self, at: Ints, p: int) -> None:
        self.holes = len(at)
        self.ends = list(combinations_with_replacement(range(len(at)), 2))
        self.at = np.stack([at[i] * p + at[k] for i, k in self.ends])
        self.cells = adder(self.at.ravel(), p * p)
        self.place = [[0] * self.holes for _ in at]
        for q, (i, k) in enumerate(self.ends):
            self.place[i][k] = self.place[k][i] = q

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
        determinant, product = np.ones(A.shape[1:]), np.empty(A.shape[1:])
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
        found = np.empty((self.holes, *np.broadcast_shapes(A.shape[1:], vectors.shape[1:])))
        product = np.empty(found.shape[1:])
        for i, line in enumerate(found):
            np.multiply(A[self.place[i][0]], vectors[0], out=line)
            for k in range(1, self.holes):
                line += np.multiply(A[self.place[i][k]], vectors[k], out=product)
        return found
