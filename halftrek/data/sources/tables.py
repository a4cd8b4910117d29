"""Rows held in memory with their holes, and results handed back in the library that they came in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from halftrek.arrays import Floats
from halftrek.data.accumulate import as_table
from halftrek.data.categories import Categories
from halftrek.data.read import opened_source
from halftrek.data.sources.streams import held
from halftrek.errors import DataError
from halftrek.frames import Columns, Frame, as_frame, library_of
from halftrek.words import listed


@dataclass(frozen=True, eq=False)
class Table:
    """Numbers with nan for holes; ``columns`` are all names of the source, read or not."""

    names: tuple[str, ...]
    values: Floats
    columns: tuple[str, ...]

    def column(self, name: str) -> Floats:
        """One column."""
        return np.asarray(self.values[:, self.names.index(name)])


def read_table(
    source: object, wanted: Sequence[str], *, also: Sequence[str] = (), categories: Categories = ()
) -> Table:
    """The wanted columns that the source has, and ``also`` those that it must have; other columns are left alone.

    Of ``categories`` those count whose column the source has; others may be there as indicators already.
    """
    with held(source) as again:
        return _read_table(again, wanted, also, categories)


def _read_table(source: object, wanted: Sequence[str], also: Sequence[str], categories: Categories) -> Table:
    with opened_source(source, tuple(wanted)) as opened:
        known = tuple(c for c in categories if c.column in opened.columns)
    with opened_source(source, tuple(wanted), known) as opened:
        chosen = [v for v in wanted if v in opened.columns]
        chosen += [v for v in also if v not in chosen]
        if not chosen:
            raise DataError(f"the rows have none of the columns {listed(list(wanted))}; name at least one of them")
        names = opened.usable(chosen)
        blocks = [as_table(block) for block in opened.blocks(names)]
        columns = opened.columns
    values = blocks[0] if len(blocks) == 1 else np.concatenate(blocks) if blocks else np.zeros((0, len(names)))
    values = np.asarray(values, dtype=np.float64)
    if np.isinf(values).any():
        bad = names[int(np.argmax(np.isinf(values).any(axis=0)))]
        raise DataError(f"column {bad!r} holds an infinite value; leave it empty if it was not observed")
    return Table(names, values, columns)


def table_like(source: object, columns: Columns) -> Frame:
    """Columns in the source's library: a frame for a frame, an array with named fields for an array, a dictionary."""
    if isinstance(source, Mapping):
        return dict(columns)
    if isinstance(source, np.ndarray | list | tuple):
        kinds = [(name, np.asarray(values).dtype) for name, values in columns.items()]
        found = np.empty(len(next(iter(columns.values()))), dtype=kinds)
        for name, values in columns.items():
            found[name] = values
        return found
    frame: Any = as_frame(columns, library_of(source))
    if library_of(source) == "pandas":
        frame.index = getattr(source, "index")  # noqa: B009
    return frame
