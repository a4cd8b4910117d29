"""A covariance matrix in a text file: full or its lower triangle, with names above, at the side, or nowhere."""

from __future__ import annotations

import csv
import re
from pathlib import Path

from halftrek.errors import DataError

_HOLES = ("", "NA", "NaN", "nan", ".")


def read_covariance(path: str) -> tuple[list[str] | None, list[list[float]]]:
    """Names (None: the file has none, so the graph's order counts) and rows; entries that are not there are nan."""
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise DataError(f"there is no covariance file {path!r}") from None
    except UnicodeDecodeError:
        raise DataError(f"the covariance file {path!r} is not text in UTF-8; write it as CSV") from None
    return covariance_of(text, path)


def covariance_of(text: str, path: str) -> tuple[list[str] | None, list[list[float]]]:
    """The same of a text; ``path`` is what messages call it."""
    lines = _lines(text, path)
    names: list[str] | None = None
    if not any(_is_number(cell) for cell in lines[0]):
        names, lines = [cell for cell in lines[0] if cell], lines[1:]
    labels = [line[0] for line in lines] if lines and not any(_is_number(line[0]) for line in lines) else None
    if labels is not None:
        lines = [line[1:] for line in lines]
        names = labels if names is None or len(names) != len(labels) else names
    if not lines:
        raise DataError(f"{path!r} holds names and no numbers; a covariance has a row for each variable")
    rows = [[_entry(cell, path) for cell in line] for line in lines]
    size = len(rows)
    if max(map(len, rows)) > size or (names is not None and len(names) != size):
        raise DataError(f"{path!r} holds {size} rows of up to {max(map(len, rows))} numbers; a covariance is square")
    square = [row + [float("nan")] * (size - len(row)) for row in rows]
    if names is None or labels is None or labels == names:
        return names, square
    if sorted(labels) != sorted(names):
        odd = next(v for v in labels if v not in names)
        raise DataError(f"{path!r}: the row {odd!r} has no column of its name; rows and columns are the same variables")
    if any(len(row) < size for row in rows):
        raise DataError(f"{path!r}: in a triangle rows and columns must be in the same order")
    return names, [square[labels.index(v)] for v in names]


def _lines(text: str, path: str) -> list[list[str]]:
    kept = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    if not kept:
        raise DataError(f"the covariance file {path!r} is empty")
    mark = next((m for m in (";", "\t", ",") if any(m in line for line in kept)), None)
    if mark is None:
        return [re.split(r"\s+", line.strip()) for line in kept]
    return [[cell.strip() for cell in line] for line in csv.reader(kept, delimiter=mark)]


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _entry(cell: str, path: str) -> float:
    if cell in _HOLES:
        return float("nan")
    if not _is_number(cell):
        raise DataError(f"{path!r} holds {cell!r}, which is not a number")
    return float(cell)
