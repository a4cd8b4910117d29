"""Labels of clusters and groups, of any kind, as numbers; two labels that differ are never taken for one."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from decimal import Decimal
from itertools import islice
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from halftrek.bottom.arrays import Array, Codes
from halftrek.data.summing.accumulate import Block
from halftrek.errors import DataError

Role = Literal["cluster", "group"]

EXACT = 2.0**53  # from here on floats do not tell every whole number from the next


class Clusters:
    """Labels of any kind as numbers 0, 1, … in the order of their first appearance.

    Labels that are no column of numbers are read ahead, to four bytes for each row: an engine may have only one stream.
    """

    def __init__(self, what: str, labels: Iterator[Array] | None, at: int | None, codes: dict[Hashable, int]) -> None:
        self._what, self._at, self._code = what, at, codes
        self._ahead: NDArray[np.int32] | None = None
        if labels is not None:
            done, parts = 0, [np.empty(0, dtype=np.int32)]
            for piece in labels:
                parts.append(self._coded(piece, done).astype(np.int32))
                done += len(piece)
            self._ahead = np.concatenate(parts)

    @property
    def labels(self) -> dict[Hashable, int]:
        """The number of each label so far."""
        return self._code

    def take(self, block: Block, done: int, rows: int) -> Codes:
        if self._ahead is None:
            assert self._at is not None
            return self._coded(block[:, self._at] if isinstance(block, np.ndarray) else block[self._at], done)
        if done + rows > len(self._ahead):
            raise DataError(f"{self._what} have fewer entries than there are rows; give one for each row")
        return self._ahead[done : done + rows].astype(np.int64)

    def _coded(self, labels: Array, done: int) -> Codes:
        if labels.dtype == object:
            holes = np.array([_is_hole(x) for x in labels], dtype=bool)
            found, where = self._distinct(labels if not holes.any() else np.where(holes, "", labels), done)
        else:
            holes = np.isnan(labels) if labels.dtype.kind in "fmM" else np.zeros(len(labels), dtype=bool)
            unique, first, where = np.unique(labels, return_index=True, return_inverse=True)
            order = np.argsort(first)
            found, where = unique[order].tolist(), np.argsort(order)[where]
            refuse_rounded_labels(self._what, labels)
        if holes.any():
            row = done + int(np.argmax(holes)) + 1
            raise DataError(f"{self._what} is missing in row {row}; fill it, or leave such rows out")
        codes = [self._code.setdefault(label, len(self._code)) for label in found]
        return np.asarray(codes, dtype=np.int64)[where]

    def _distinct(self, labels: Array, done: int) -> tuple[list[Hashable], Codes]:
        """Labels of mixed kinds, which cannot be sorted, each once, and where each entry is among them."""
        place: dict[Hashable, int] = {}
        where = np.empty(len(labels), dtype=np.int64)
        for row, x in enumerate(labels.tolist()):
            try:
                where[row] = place.setdefault(x, len(place))
            except TypeError:
                raise DataError(
                    f"row {done + row + 1} of {self._what} holds a {type(x).__name__}, which is no label; give numbers "
                    f"or texts"
                ) from None
        return list(place), where

    def end(self, rows: int) -> None:
        if self._ahead is not None and len(self._ahead) > rows:
            raise DataError(f"{self._what} have more entries than there are rows ({rows}); give one for each row")


def refuse_rounded_labels(what: str, labels: ArrayLike) -> None:
    """Raise for floats so long that neighbours are the same number: two clusters would be taken for one."""
    known = np.asarray(labels)
    if known.dtype.kind != "f" or not known.size:
        return
    largest = np.max(np.abs(known), where=np.isfinite(known), initial=0.0)
    if largest >= EXACT:
        raise DataError(
            f"one of {what} is {largest:.17g} as a float, which does not tell such long numbers apart; give them as "
            f"integers or texts"
        )


class Groups:
    """Labels of one or several columns as one number for each combination that occurs, in the order of appearance.

    ``codes`` is filled with the number of each combination, a tuple of labels.
    """

    def __init__(self, parts: Sequence[Clusters], codes: dict[tuple[Hashable, ...], int]) -> None:
        self._parts, self._codes = parts, codes

    def take(self, block: Block, done: int, rows: int) -> Codes:
        """The number of each row's combination."""
        found = [part.take(block, done, rows) for part in self._parts]
        if len(found) == 1:  # numbered already
            for label in islice(self._parts[0].labels, len(self._codes), None):
                self._codes[(label,)] = len(self._codes)
            return found[0]
        pairs = found[0]
        for more in found[1:]:  # numbered anew each time, so that no product of numbers grows too large
            _, pairs = np.unique(pairs * (int(more.max(initial=0)) + 1) + more, return_inverse=True)
        _, first, where = np.unique(pairs, return_index=True, return_inverse=True)
        order = np.argsort(first)
        labels = [list(part.labels) for part in self._parts]
        lines = zip(*(code[first[order]].tolist() for code in found), strict=True)
        keys = [tuple(names[k] for names, k in zip(labels, line, strict=True)) for line in lines]
        numbers = [self._codes.setdefault(key, len(self._codes)) for key in keys]
        return np.asarray(numbers, dtype=np.int64)[np.argsort(order)[where]]

    def end(self, rows: int) -> None:
        for part in self._parts:
            part.end(rows)


def _is_hole(label: object) -> bool:
    if isinstance(label, str | int):
        return False
    if label is None or type(label).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(label, float | np.floating | Decimal | np.datetime64 | np.timedelta64) and bool(label != label)


def cluster_array(given: ArrayLike, role: Role = "cluster") -> Array:
    plain = given.to_list() if hasattr(given, "to_list") else given  # a column of pandas or polars
    try:
        array = np.asarray(plain) if not isinstance(plain, list) else _from_list(plain)
    except (TypeError, ValueError) as error:
        raise DataError(f"{'by' if role == 'group' else role} must be one label for each row") from error
    if array.ndim != 1:
        raise DataError(
            f"{'by' if role == 'group' else role} must be one label for each row, not an array of shape {array.shape}"
        )
    return array


def _from_list(labels: Sequence[object]) -> Array:
    """Numbers as numbers, anything else as it is: numpy would make texts of a mixture."""
    short = all(isinstance(x, float) or (isinstance(x, int) and abs(x) <= EXACT) for x in labels)
    if short:
        return np.asarray(labels, dtype=float)
    array = np.empty(len(labels), dtype=object)
    array[:] = labels
    return array


def same_length(labels: Array, rows: int | None, role: Role) -> None:
    if rows is not None and len(labels) != rows:
        raise DataError(f"there are {len(labels)} {role} labels for {rows} rows; give one for each row")
