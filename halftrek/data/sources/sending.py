"""Sources of rows that are to be sent to another process or copied, and what stands for one that cannot be."""

from __future__ import annotations

import pickle
from copy import deepcopy
from dataclasses import dataclass

from halftrek.bottom.portable import packed, unpacked


@dataclass(frozen=True, eq=False)
class Spent:
    """Stands for a source that is gone: once it has been read, or in another process."""

    what: str
    how: str = "can be read only once"


def sendable(source: object) -> object:
    """The source, or what stands for it if pickle cannot take it; tables in memory are not tried: they are large."""
    home = type(source).__module__.partition(".")[0]
    lazy = "lazy" in type(source).__name__.lower()
    if home in ("builtins", "pathlib", "numpy", "pandas", "polars", "pyarrow", "halftrek") and not lazy:
        return source
    try:
        pickle.dumps(source)
    except Exception:  # each library has its own
        return Spent(f"a {type(source).__name__}", "cannot be sent to another process")
    return source


def own_copy(source: object, memo: dict[int, object]) -> object:
    """A copy of the source; the source itself where its library cannot copy it, as a connection."""
    try:
        return unpacked(deepcopy(packed(source), memo))
    except Exception:  # each library has its own
        return source
