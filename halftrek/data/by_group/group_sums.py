"""Sums of rows by group while they stream by, or as an engine has made them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from halftrek.bottom.arrays import Codes, Flags, Floats
from halftrek.data.summing.sums import Sums
from halftrek.data.weights import Counted, Sampled, Weighting


class GroupSums:
    """Number, mean and centred squares of every group so far; blocks are merged as in Chan, Golub and LeVeque.

    Means are kept as differences from the group's first row, which keeps the digits of those that are far from zero.
    """

    def __init__(self, p: int) -> None:
        self.n, self.dropped, self.lines = np.zeros(0), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        self.squared_weights, self.squared_incomplete = np.zeros(0), np.zeros(0)
        self.mean, self.squares, self.origin = np.zeros((0, p)), np.zeros((0, p, p)), np.zeros((0, p))

    def add(self, values: Floats, code: Codes, weights: Floats | None, holes: Flags, groups: int) -> None:
        """Add some rows; ``groups`` is the number of groups that are known by now."""
        self._grow(groups)
        if holes.any():
            self.dropped += np.bincount(code[holes], minlength=len(self.dropped))
            values, code = values[~holes], code[~holes]
            weights = None if weights is None else weights[~holes]
        if not len(values):
            return
        order = np.argsort(code, kind="stable")
        code, values = code[order], values[order]
        w = np.ones(len(values)) if weights is None else weights[order]
        starts = np.flatnonzero(np.r_[True, code[1:] != code[:-1]])
        who = code[starts]
        n = np.add.reduceat(w, starts)
        size = np.diff(np.r_[starts, len(code)])
        self.lines[who] += size
        self.squared_weights[who] += np.add.reduceat(w**2, starts)
        new = self.n[who] == 0.0
        self.origin[who[new]] = values[starts[new]]
        values = values - np.repeat(self.origin[who], size, axis=0)
        mean = np.add.reduceat(values * w[:, None], starts) / n[:, None]
        centred = values - np.repeat(mean, size, axis=0)
        squares = np.empty((len(who), values.shape[1], values.shape[1]))
        for i in range(values.shape[1]):
            weighted = centred[:, i] * w
            for j in range(i + 1):
                squares[:, i, j] = squares[:, j, i] = np.add.reduceat(weighted * centred[:, j], starts)
        self._merge(who, n, mean, squares)

    def take(self, sums: Sums, code: Sequence[int], groups: int) -> None:
        """Add rows that an engine has summed up, in lines of these groups; one line of each has its complete rows."""
        self._grow(groups)
        who, whole = np.asarray(code, dtype=np.int64), sums.observed.all(axis=1)
        np.add.at(self.dropped, who[~whole], sums.rows[~whole])
        at = who[whole]
        self.lines[at], self.n[at], self.squared_weights[at] = sums.rows[whole], sums.n[whole], sums.squared[whole]
        self.origin[at], self.mean[at], self.squares[at] = sums.origin, sums.mean[whole], sums.squares[whole]

    def join(self, other: GroupSums, at: Codes, groups: int) -> None:
        """Add the rows of other sums, whose groups are these."""
        self._grow(groups)
        for name in ("lines", "dropped", "squared_weights", "squared_incomplete"):
            getattr(self, name)[at] += getattr(other, name)
        some = other.n > 0.0
        who = at[some]
        new = self.n[who] == 0.0
        self.origin[who[new]] = other.origin[some][new]
        mean = other.mean[some] + (other.origin[some] - self.origin[who])
        self._merge(who, other.n[some], mean, other.squares[some])

    def weighting(self, order: list[int], *, sampling: bool) -> tuple[Weighting | None, ...]:
        """How the rows of each group were weighted; None for a group without rows."""
        found: list[Weighting | None] = []
        for i in order:
            lines, total = float(self.lines[i]), float(self.n[i])
            if not lines:
                found.append(None)
            elif sampling:
                found.append(Sampled(total / lines, total**2 / float(self.squared_weights[i])))
            else:
                found.append(Counted(lines))
        return tuple(found)

    def _grow(self, groups: int) -> None:
        more = groups - len(self.n)
        if more > 0:
            p = self.mean.shape[1]
            self.n = np.r_[self.n, np.zeros(more)]
            self.squared_weights = np.r_[self.squared_weights, np.zeros(more)]
            self.squared_incomplete = np.r_[self.squared_incomplete, np.zeros(more)]
            self.dropped = np.r_[self.dropped, np.zeros(more, dtype=np.int64)]
            self.lines = np.r_[self.lines, np.zeros(more, dtype=np.int64)]
            self.mean = np.concatenate([self.mean, np.zeros((more, p))])
            self.origin = np.concatenate([self.origin, np.zeros((more, p))])
            self.squares = np.concatenate([self.squares, np.zeros((more, p, p))])

    def _merge(self, who: Codes, n: Floats, mean: Floats, squares: Floats) -> None:
        before = self.n[who]
        total = before + n
        share = (n / total)[:, None]
        gap = mean - self.mean[who]
        self.squares[who] += squares + (before * share[:, 0])[:, None, None] * gap[:, :, None] * gap[:, None, :]
        self.mean[who] += np.where(before[:, None] > 0.0, gap * share, gap)
        self.n[who] = total
