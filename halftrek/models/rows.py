"""Simulated rows that remember the names of their columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from halftrek.bottom.arrays import Array


class Rows(np.ndarray):
    """A plain array of rows with ``names`` for its columns, so that a fit never has to guess their order.

    Everything that numpy does with an array works; a result that no longer has these columns has no names.
    """

    names: tuple[str, ...] | None

    def __new__(cls, values: ArrayLike, names: tuple[str, ...]) -> Rows:
        rows = np.asarray(values, dtype=float).view(cls)
        rows.names = tuple(names)
        return rows

    def __array_finalize__(self, source: object) -> None:
        names = getattr(source, "names", None)
        same = names is not None and self.ndim == 2 and getattr(source, "ndim", 0) == 2 and self.shape[1] == len(names)
        self.names = names if same else None

    def __reduce__(self) -> tuple[object, ...]:
        """An array's own way of being pickled and copied, with the names: numpy leaves them behind."""
        parts: Any = super().__reduce__()
        return parts[0], parts[1], (parts[2], self.names, self.flags.writeable)

    def __setstate__(self, state: Any) -> None:
        array, names, writeable = state
        super().__setstate__(array)
        self.names = names
        if not writeable:
            self.flags.writeable = False

    def __deepcopy__(self, memo: dict[int, object] | None, /) -> Rows:
        copied = np.array(self, copy=True, order="K", subok=True)
        copied.flags.writeable = self.flags.writeable
        return copied

    def __getitem__(self, key: Any) -> Any:
        picked = super().__getitem__(key)
        if isinstance(picked, Rows) and isinstance(key, tuple):  # columns may have been chosen or reordered
            return np.asarray(picked)
        return picked

    def __array_wrap__(self, array: Array, context: object = None, return_scalar: bool = False) -> Any:
        return array[()] if return_scalar else np.asarray(array)
