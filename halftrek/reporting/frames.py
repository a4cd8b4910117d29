"""Tidy results as a data frame of the library that the user already works with."""

from __future__ import annotations

import importlib
import sys
from importlib.util import find_spec
from typing import Any

LIBRARIES = ("pandas", "polars", "pyarrow")


def as_frame(columns: dict[str, list[Any]]) -> Any:
    """A pandas or polars frame, or an Arrow table: the one already imported first, then the one installed.

    With none of them: the columns as they are, a dict of lists.
    """
    loaded = [name for name in LIBRARIES if name in sys.modules]
    for name in loaded or [name for name in LIBRARIES if find_spec(name)]:
        import narwhals

        return narwhals.from_dict(columns, backend=importlib.import_module(name)).to_native()
    return columns
