"""Columns of a tidy frame of any library, or of a dict, for drawing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from halftrek.errors import InputError
from halftrek.graphs import did_you_mean

Entry = str | float | None  # a cell of a table


def columns_in(frame: Any, what: str) -> dict[str, list[Entry]]:
    """All columns as lists; ``what`` names the function for the error message."""
    if isinstance(frame, Mapping):
        return {str(name): list(values) for name, values in frame.items()}
    import narwhals

    try:
        table = narwhals.from_native(frame, eager_only=True)
    except TypeError:
        raise InputError(f"{what} takes a tidy frame or a dict of columns, not {type(frame).__name__}") from None
    return {name: table[name].to_list() for name in table.columns}


def pick(columns: Mapping[str, list[Entry]], names: Sequence[str], what: str) -> list[Entry]:
    """The first of the named columns that is there."""
    for name in names:
        if name in columns:
            return columns[name]
    raise InputError(f"{what} needs a column {names[0]!r}.{did_you_mean(names[0], columns)}")


def numbers(values: Sequence[Entry]) -> list[float]:
    """Floats; what is missing becomes nan."""
    return [float("nan") if v is None else float(v) for v in values]
