"""The single entry for data: whatever holds rows becomes moments."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from halftrek.errors import DataError
from halftrek.moments.accumulate import Accumulator, rows_in
from halftrek.moments.files import from_path, from_relation
from halftrek.moments.frames import from_array, from_arrow, from_batches, from_columns, from_frame, from_polars_lazy
from halftrek.moments.moments import Moments
from halftrek.moments.patterns import Patterns, patterns_of
from halftrek.moments.source import Source

Progress = Callable[[int, int | None], object]


def read_moments(
    source: Any,
    names: Sequence[str] | None = None,
    *,
    weights: str | ArrayLike | None = None,
    missing: Literal["error", "drop"] = "error",
    progress: Progress | None = None,
) -> Moments:
    """Moments of the rows of ``source``, read once and chunk by chunk.

    ``source`` is a numpy array, a dictionary of columns, a pandas or polars frame (also lazy), Arrow data, a DuckDB
    relation, an Ibis table, a path or pattern of CSV, Parquet or Arrow files, an open CSV file, ``"-"`` for CSV from
    standard input, or moments. Only the columns in ``names`` are read; without ``names`` all of them, and then all
    must be numeric. A plain array has ``names`` as its columns, or ``x1 … xp``.

    ``weights`` (an array, or the name of a column) count rows: a row of weight 2 is two rows, ``n`` is their sum.
    ``missing="drop"`` leaves out rows with a missing value in the columns used. ``progress(done, total)`` is called
    with numbers of rows; the total is None where it is not known beforehand.
    """
    if missing not in ("error", "drop"):
        raise DataError(f'missing must be "error" or "drop", not {missing!r}')
    if isinstance(source, Patterns):
        raise DataError("patterns of rows with holes are no moments; give them to ht.fit as they are")
    if isinstance(source, Moments):
        if weights is not None:
            raise DataError("moments have no rows to weight any more; give the weights where the rows are read")
        if missing == "drop":
            raise DataError("moments have no rows to leave out any more; give missing where the rows are read")
        return source if names is None else source.select(names)
    if names is not None and not isinstance(names, str):
        names = tuple(names)
    with opened_source(source, names) as opened:
        return _accumulated(opened, names, weights, missing, progress).result()


def read_patterns(
    source: Any,
    names: Sequence[str] | None = None,
    *,
    weights: str | ArrayLike | None = None,
    progress: Progress | None = None,
) -> Moments | Patterns:
    """As :func:`read_moments`, but rows with holes are kept, by pattern of missingness; moments if there are none."""
    if isinstance(source, Patterns):
        if weights is not None:
            raise DataError("patterns have no rows to weight any more; give the weights where the rows are read")
        return source if names is None else source.select(names)
    if isinstance(source, Moments):
        return read_moments(source, names, weights=weights)
    if names is not None and not isinstance(names, str):
        names = tuple(names)
    with opened_source(source, names) as opened:
        state = _accumulated(opened, names, weights, "fiml", progress)
    sums = state.patterns()
    return state.result() if sums is None else patterns_of(state.names, sums)


def _accumulated(
    source: Source,
    names: Sequence[str] | None,
    weights: str | ArrayLike | None,
    missing: Literal["error", "drop", "fiml"],
    progress: Progress | None,
) -> Accumulator:
    column = weights if isinstance(weights, str) else None
    given = None if weights is None or column is not None else weight_array(weights)
    wanted = source.usable(names, besides=column)
    if column is not None and column in wanted:
        raise DataError(f"the weights {column!r} cannot be a variable at the same time; take it out of names")
    read = wanted if column is None else (*wanted, *source.usable([column]))
    if given is not None and source.rows is not None:
        _same_length(len(given), source.rows)
    state = Accumulator(wanted, missing)
    for block in source.blocks(read):
        rows = rows_in(block)
        if column is not None:
            own = checked_weights(block[:, -1] if isinstance(block, np.ndarray) else block[-1], column)
            state.add(block[:, :-1] if isinstance(block, np.ndarray) else block[:-1], own)
        elif given is not None:
            state.add(block, _next_weights(given, state.rows, rows))
        else:
            state.add(block)
        if progress is not None:
            progress(state.rows, source.rows)
    if given is not None:
        _same_length(len(given), state.rows)
    return state


# -- opening -------------------------------------------------------------------------------------


@contextmanager
def opened_source(source: Any, names: Sequence[str] | None) -> Iterator[Source]:
    if isinstance(source, str) and source == "-":
        source = sys.stdin.buffer
    if callable(getattr(source, "read", None)):  # a column may be called "read"
        with _spooled(source) as path:
            yield from_path(path)
    else:
        yield _found(source, names)


def _found(source: Any, names: Sequence[str] | None) -> Source:
    """The reader for a kind of source; engines are recognised by what they offer, so that none is imported for it."""
    if isinstance(source, (str, os.PathLike)):
        return from_path(os.path.expanduser(os.fsdecode(source)))
    if isinstance(source, np.ndarray):
        return from_array(source, names)
    if isinstance(source, Mapping):
        return from_columns(source)
    if isinstance(source, (list, tuple)):
        return from_array(_array_of(source), names)
    module = type(source).__module__.partition(".")[0]
    if module in ("duckdb", "_duckdb") and hasattr(source, "columns"):
        return from_relation(source)
    if module == "pyarrow":
        return from_arrow(source)
    if getattr(source, "ndim", 2) == 1 or (module == "polars" and type(source).__name__ == "Series"):
        raise DataError("one column is not a table of rows and columns; give a frame with every variable of the graph")
    found = from_frame(source) or from_polars_lazy(source)
    if found is not None:
        return found
    if hasattr(source, "to_pyarrow_batches"):  # Ibis
        schema = source.schema().to_pyarrow()
        return from_batches(schema, source.to_pyarrow_batches())
    if hasattr(source, "__arrow_c_stream__"):
        return from_arrow(source)
    raise DataError(
        f"data cannot be read from a {type(source).__name__}; give a frame (pandas, polars, Arrow), a numpy array, a "
        f"dictionary of columns, a DuckDB relation, or the path of a CSV, Parquet or Arrow file"
    )


@contextmanager
def _spooled(stream: Any) -> Iterator[str]:
    """An open file as a file on disk, since it is looked at twice: for its head, then for its rows."""
    with tempfile.TemporaryDirectory(prefix="halftrek-") as folder:
        first = stream.read(1 << 20)
        as_bytes = (lambda part: part.encode()) if isinstance(first, str) else bytes
        start = as_bytes(first)
        path = os.path.join(folder, "input.parquet" if start[:4] == b"PAR1" else "input.csv")
        with open(path, "wb") as spool:
            spool.write(start)
            if isinstance(first, str):
                while part := stream.read(1 << 20):
                    spool.write(part.encode())
            else:
                shutil.copyfileobj(stream, spool, 1 << 20)
        yield path


def _array_of(rows: Sequence[Any]) -> NDArray[Any]:
    try:
        return np.asarray(rows, dtype=float)
    except (TypeError, ValueError):
        raise DataError(
            "a list of data must be a list of rows of numbers, all of the same length; for columns of several kinds "
            "give a dictionary or a frame"
        ) from None


# -- weights -------------------------------------------------------------------------------------


def weight_array(weights: ArrayLike) -> NDArray[np.float64]:
    try:
        given = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError("weights must be numbers, or the name of a column") from None
    if given.ndim != 1:
        raise DataError(f"weights must be one number for each row, not an array of shape {given.shape}")
    return checked_weights(given, None)


def checked_weights(weights: NDArray[Any], column: str | None) -> NDArray[np.float64]:
    values = np.asarray(weights, dtype=np.float64)
    good = np.isfinite(values) & (values >= 0)
    if not good.all():
        what = "the weights" if column is None else f"the weights in {column!r}"
        bad = values[int(np.argmin(good))]
        raise DataError(f"{what} hold {bad:g}; a weight is a number of rows: finite and not negative")
    return values


def _next_weights(given: NDArray[np.float64], done: int, rows: int) -> NDArray[np.float64]:
    if len(given) < done + rows:
        _same_length(len(given), done + rows)
    return given[done : done + rows]


def _same_length(weights: int, rows: int) -> None:
    if weights != rows:
        raise DataError(f"there are {weights} weights for {rows} rows; give one for each row")
