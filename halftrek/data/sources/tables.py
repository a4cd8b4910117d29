"""Rows held in memory with their holes, and results handed back in the library that they came in."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.bottom.frames import Columns, Frame, as_frame, library_of
from halftrek.bottom.words import listed
from halftrek.data.columns.categories import Categories, bare_names, coded
from halftrek.data.read import opened_source
from halftrek.data.sources.source import Source
from halftrek.data.sources.streams import held
from halftrek.data.summing.accumulate import as_table
from halftrek.errors import DataError

PATTERNS = 2_000  # sets of holes in rows of an engine up to which columns are made for them


@dataclass(frozen=True, eq=False)
class Table:
    """Numbers with nan for holes; ``columns`` are all names of the source, read or not.

    Of rows that stay with an engine, ``values`` stand for what occurs: a line for each set of holes, 1 where there is a
    value. ``add(made)`` is then the engine's table with the columns that ``made`` makes of a table of numbers.
    """

    names: tuple[str, ...]
    values: Floats
    columns: tuple[str, ...]
    add: Callable[[Callable[[Table], Columns]], Frame] | None = None

    def column(self, name: str) -> Floats:
        """One column."""
        return np.asarray(self.values[:, self.names.index(name)])

    def select(self, names: tuple[str, ...]) -> Table:
        """Some of the columns."""
        return replace(self, names=names, values=self.values[:, [self.names.index(v) for v in names]])


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
        if opened.parts is not None and opened.added is not None:
            return _left_there(opened, names, known)
        return _table_of(opened, names)


def _table_of(opened: Source, names: tuple[str, ...]) -> Table:
    blocks = [as_table(block) for block in opened.blocks(names)]
    values = blocks[0] if len(blocks) == 1 else np.concatenate(blocks) if blocks else np.zeros((0, len(names)))
    values = np.asarray(values, dtype=np.float64)
    if np.isinf(values).any():
        bad = names[int(np.argmax(np.isinf(values).any(axis=0)))]
        raise DataError(f"column {bad!r} holds an infinite value; leave it empty if it was not observed")
    return Table(names, values, opened.columns)


def _left_there(opened: Source, names: tuple[str, ...], categories: Categories) -> Table:
    """What stands for the rows of an engine: one job looks which values are missing together, nothing else."""
    assert opened.parts is not None
    assert opened.added is not None
    read = bare_names(names, categories) or ()
    found = opened.parts(read, partial(_holes_of, names, categories), operator.or_) or frozenset()
    if len(found) > PATTERNS:
        raise DataError(
            f"rows lack values in more than {PATTERNS:,} different ways, and each needs a map of its own; leave out "
            f"columns with many missing values"
        )
    lines = [np.frombuffer(holes, dtype=bool) for holes in sorted(found)]
    values = np.where(np.array(lines).reshape(len(lines), len(names)), np.nan, 1.0)

    def add(made: Callable[[Table], Columns]) -> Frame:
        assert opened.added is not None
        like = made(Table(names, values, opened.columns))
        return opened.added(partial(_made_there, names, categories, made), like)

    return Table(names, values, opened.columns, add)


def _holes_of(names: tuple[str, ...], categories: Categories, part: Source) -> frozenset[bytes]:
    """In a worker: which values are missing together."""
    holes = np.isnan(_table_of(coded(part, categories), names).values)
    return frozenset(line.tobytes() for line in np.unique(holes, axis=0))


def _made_there(
    names: tuple[str, ...], categories: Categories, made: Callable[[Table], Columns], part: Source
) -> Columns:
    """In a worker: the new columns of some rows."""
    return made(_table_of(coded(part, categories), names))


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
