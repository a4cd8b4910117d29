"""Rows of whole numbers to which more are added, a few at a time."""

from __future__ import annotations

import numpy as np

from halftrek.bottom.arrays import Ints


class GrowingRows:
    """Room is doubled when it is full, so that a row costs the same however many there are."""

    def __init__(self, rows: Ints) -> None:
        self._room, self._count = rows.copy(), len(rows)

    @property
    def rows(self) -> Ints:
        """All rows so far."""
        return self._room[: self._count]

    def add(self, more: Ints) -> None:
        """Append rows."""
        count = self._count + len(more)
        if count > len(self._room):
            room = np.empty((2 * count, self._room.shape[1]), dtype=self._room.dtype)
            room[: self._count] = self.rows
            self._room = room
        self._room[self._count : count] = more
        self._count = count

    def branch(self) -> GrowingRows:
        """The same rows, to grow in another way."""
        return GrowingRows(self.rows)
