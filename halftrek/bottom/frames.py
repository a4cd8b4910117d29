"""Tidy results as a data frame of the library that the user already works with."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec

from halftrek.bottom.arrays import Array

Columns = Mapping[str, Array | Sequence[object]]  # the columns of a table, by name
Frame = object  # a frame of the user's own library: inside the house nobody looks into it
LIBRARIES = ("pandas", "polars", "pyarrow")


def library_of(*data: object) -> str:
    """The library whose frame one of the given things is, the first that is; empty if none is."""
    for thing in data:
        root = type(thing).__module__.partition(".")[0]
        if root in LIBRARIES:
            return root
    return ""


def as_frame(columns: Columns, library: str = "") -> Frame:
    """A frame of that library; without a name, of the one already imported, then of one that is installed.

    That pyarrow is imported says nothing of the user: reading a file imports it. With none of them: the columns as they
    are, a dict of lists.
    """
    loaded = [name for name in LIBRARIES if sys.modules.get(name) and name != "pyarrow"]
    for name in (library, *(loaded or LIBRARIES)):
        if name in LIBRARIES and (name in loaded or find_spec(name)):
            import narwhals

            table = {column: _of_one_kind(values) for column, values in columns.items()}
            return narwhals.from_dict(table, backend=importlib.import_module(name)).to_native()
    return {name: values.tolist() if hasattr(values, "tolist") else list(values) for name, values in columns.items()}


def _of_one_kind(values: Array | Sequence[object]) -> Array | Sequence[object]:
    """A list of whole numbers and fractions as fractions: polars takes the kind of a column from its first entry."""
    if isinstance(values, list) and {type(x) for x in values} == {int, float}:
        return [float(x) for x in values]
    return values
