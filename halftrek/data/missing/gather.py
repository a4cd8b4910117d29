"""Rows with holes, gathered by pattern of missingness while they stream by."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from halftrek.arrays import Flags, Floats, Ints

BUFFER = 4_000_000  # numbers kept before they are grouped: a group of many rows costs no more than one of few


@dataclass
class Part:
    """The rows of one pattern: their number, sum of weights, means, and centred cross-products."""

    observed: Flags
    rows: int
    n: float
    mean: Floats
    squares: Floats


class PatternSums:
    """Rows go in with :meth:`add` or, already summed up, with :meth:`merge`; ``parts`` holds one entry a pattern."""

    def __init__(self, p: int) -> None:
        self.p = p
        self.empty = 0
        self._parts: dict[bytes, Part] = {}
        self._waiting: list[tuple[Floats, Floats | None]] = []
        self._size = 0

    def add(self, table: Floats, weights: Floats | None) -> None:
        """Take in rows, nan for a hole."""
        self._waiting.append((table, weights))
        self._size += table.size
        if self._size > BUFFER:
            self.flush()

    @property
    def parts(self) -> dict[bytes, Part]:
        """The patterns so far."""
        self.flush()
        return self._parts

    def merge(self, observed: Flags, rows: int, n: float, mean: Floats, squares: Floats | None) -> None:
        """Add rows of one pattern by the formula of Chan, Golub and LeVeque; no squares: they are zero."""
        if not observed.any():
            self.empty += rows
            return
        key = observed.tobytes()
        old = self._parts.get(key)
        if squares is None:
            squares = np.zeros((self.p, self.p)) if old is None and rows > 1 else _NONE
        if old is None:
            self._parts[key] = Part(observed, rows, n, mean, squares)
            return
        total = old.n + n
        gap = mean - old.mean
        spread = np.outer(gap, gap) * (old.n * n / total)
        for part in (old.squares, squares):
            if part.size:
                spread += part
        self._parts[key] = Part(observed, old.rows + rows, total, old.mean + gap * (n / total), spread)

    def flush(self) -> None:
        """Sum up the rows that wait."""
        if not self._waiting:
            return
        table = np.concatenate([rows for rows, _ in self._waiting])
        weighted = self._waiting[0][1] is not None
        weights = np.concatenate([w for _, w in self._waiting if w is not None]) if weighted else np.ones(len(table))
        self._waiting, self._size = [], 0
        for observed, rows in grouped(~np.isnan(table)):
            at = np.flatnonzero(observed)
            values, w = table[np.ix_(rows, at)], weights[rows]
            n = float(w.sum())
            mean, squares = np.zeros(self.p), _NONE
            with np.errstate(over="ignore", invalid="ignore", under="ignore"):
                if len(rows) == 1:
                    mean[at] = values[0]
                elif len(at):
                    mean[at] = values[0] + w @ (values - values[0]) / n  # exact for a constant column
                    centred = (values - mean[at]) * np.sqrt(w)[:, None]
                    squares = np.zeros((self.p, self.p))
                    squares[np.ix_(at, at)] = centred.T @ centred
                self.merge(observed, len(rows), n, mean, squares)


def grouped(observed: Flags) -> list[tuple[Flags, Ints]]:
    """Each pattern among rows of flags, with the rows that have it."""
    packed = np.ascontiguousarray(np.packbits(observed, axis=1))
    keys = packed.view(np.dtype((np.void, packed.shape[1]))).ravel()
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(inverse.ravel(), kind="stable")
    ends = np.cumsum(np.bincount(inverse.ravel()))
    return [(observed[i], rows) for i, rows in zip(first, np.split(order, ends[:-1]), strict=True)]


_NONE = np.zeros((0, 0))
