"""The single entry for data: whatever holds rows becomes moments."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from halftrek.bottom.arrays import Array
from halftrek.bottom.choices import Missing
from halftrek.bottom.words import did_you_mean
from halftrek.data.check import refuse_rounded
from halftrek.data.columns.categories import (
    LEVELS,
    Categories,
    Category,
    as_categories,
    bare_names,
    category_of,
    coded,
    codings_there,
    expanded_names,
)
from halftrek.data.columns.kinds import Coding
from halftrek.data.missing.patterns import Patterns, patterns_of
from halftrek.data.moments import Moments
from halftrek.data.sources.engines import engine_source
from halftrek.data.sources.files import from_path
from halftrek.data.sources.folders import from_folder, is_address
from halftrek.data.sources.guard import cannot_be_read, guarded, in_our_words
from halftrek.data.sources.memory import (
    from_array,
    from_arrow,
    from_columns,
    from_frame,
    objects,
)
from halftrek.data.sources.source import Source
from halftrek.data.sources.streams import is_stream, kept, read_once, renamed
from halftrek.data.summing.accumulate import Accumulator, rows_in
from halftrek.data.summing.summed import data_of
from halftrek.data.summing.sums import Column, Features, Request, Sums
from halftrek.data.weights import RowWeights, checked_weights, one_kind, refuse_other_length
from halftrek.errors import DataError

Progress = Callable[[int, int | None], object]

PATTERNS = 8_000_000  # numbers of patterns of missing values that one part of an engine's rows may send


def read_moments(
    source: object,
    names: Sequence[str] | None = None,
    *,
    weights: str | ArrayLike | None = None,
    sampling_weights: str | ArrayLike | None = None,
    categories: Mapping[str, object] | Categories | None = None,
    missing: Literal["error", "drop"] = "error",
    progress: Progress | None = None,
) -> Moments:
    """Moments of the rows of ``source``, read once and chunk by chunk.

    ``source`` is a numpy array, a dictionary of columns, a pandas or polars frame (also lazy), Arrow data, a DuckDB
    relation, an Ibis table, a path or pattern of CSV, Parquet or Arrow files, an open CSV file, ``"-"`` for CSV from
    standard input, or moments. Only the columns in ``names`` are read; without ``names`` all of them, and then all
    must be numeric. A plain array has ``names`` as its columns, or ``x1 … xp``.

    ``weights`` (an array, or the name of a column) count rows: a row of weight 2 is two rows, ``n`` is their sum.
    ``sampling_weights`` say how large a share of a population each row stands for: only their ratios matter, and ``n``
    is the number of rows. Texts such as yes and no become 1 and 0 (``kinds`` say how); of other texts
    ``categories={"region": "north"}`` makes indicator columns ``region=south`` and so on, with ``north`` as the level
    that they are compared with.

    ``missing="drop"`` leaves out rows with a missing value in the columns used. ``progress(done, total)`` is called
    with numbers of rows; the total is None where it is not known beforehand.
    """
    if missing not in ("error", "drop"):
        raise DataError(f'missing must be "error" or "drop", not {missing!r}')
    if isinstance(source, Patterns):
        raise DataError("these are patterns of missing values, not moments; give them to ht.fit as they are")
    given = one_kind(weights, sampling_weights)
    if isinstance(source, Moments):
        _refuse_for_moments(given, categories, "moments")
        if missing == "drop":
            raise DataError("moments have no rows to leave out any more; give missing where the rows are read")
        return source if names is None else source.select(names)
    names = _texts(names)
    known = resolve_categories(source, names, categories)
    names = names if isinstance(names, str) else expanded_names(names, known)
    with opened_source(source, names, known) as opened:
        if (summed := answered(opened, names, given)) is not None:
            whole = data_of(*summed, missing, opened.codings)
            assert isinstance(whole, Moments)
            return whole
        state, codings = _gathered(opened, names, given, missing, known, progress)
        found = state.result(codings)
    refuse_rounded(found.names, found.mean, np.diag(found.cov))
    return found


def read_patterns(
    source: object,
    names: Sequence[str] | None = None,
    *,
    weights: str | ArrayLike | None = None,
    sampling_weights: str | ArrayLike | None = None,
    categories: Mapping[str, object] | Categories | None = None,
    progress: Progress | None = None,
) -> Moments | Patterns:
    """As :func:`read_moments`, but rows with missing values are kept, by pattern; moments if there are none."""
    given = one_kind(weights, sampling_weights)
    if isinstance(source, Moments | Patterns):
        _refuse_for_moments(given, categories, "moments" if isinstance(source, Moments) else "patterns")
        return source if names is None else source.select(names)
    names = _texts(names)
    known = resolve_categories(source, names, categories)
    names = names if isinstance(names, str) else expanded_names(names, known)
    with opened_source(source, names, known) as opened:
        if (summed := answered(opened, names, given)) is not None:
            return data_of(*summed, "fiml", opened.codings)
        state, codings = _gathered(opened, names, given, "fiml", known, progress)
    sums = state.patterns()
    if sums is None:
        found = state.result(codings)
        refuse_rounded(found.names, found.mean, np.diag(found.cov))
        return found
    incomplete = patterns_of(state.names, sums, kinds=state.kinds(codings), weighting=state.weighting)
    if isinstance(incomplete, Patterns):
        refuse_rounded(incomplete.names, *incomplete.available)
    return incomplete


def _texts(names: Iterable[str] | str | None) -> tuple[str, ...] | str | None:
    """Names of columns as given, if they are texts."""
    if names is None or isinstance(names, str):
        return names
    try:
        given = tuple(names)
    except TypeError:
        raise DataError(f"names is a list of column names, not {names!r}") from None
    for v in given:
        if not isinstance(v, str):
            raise DataError(f"the names of columns are texts, not {v!r}; write names=['x', 'y']")
    return given


def _refuse_for_moments(weights: RowWeights, categories: object, what: str) -> None:
    if weights.given is not None:
        raise DataError(f"{what} have no rows to weight any more; give the weights where the rows are read")
    if categories:
        raise DataError(f"{what} have no texts any more; give categories where the rows are read")


def answered(
    source: Source,
    names: Sequence[str] | None,
    weights: RowWeights,
    by: tuple[str, ...] = (),
    features: Features | None = None,
) -> tuple[Request, Sums] | None:
    """What an engine was asked for, and its sums; None where it does not make them: its rows are read then."""
    if source.sums is None or (weights.given is not None and weights.column is None) or weights.column in source.texts:
        return None
    wanted = source.usable(names, besides=weights.column)
    if max(len(wanted), 0 if features is None else len(features)) > source.widest:
        return None
    _refuse_double(weights.column, wanted)
    if weights.column is not None:
        source.usable([weights.column])
    columns = tuple(Column(v, v) for v in wanted)
    request = Request(columns, weights.column, by, sampling=weights.sampling, features=features)
    sums = source.sums(request)
    return None if sums is None else (request, sums)


def _refuse_double(column: str | None, wanted: Sequence[str]) -> None:
    if column is not None and column in wanted:
        raise DataError(f"the weights {column!r} cannot be a variable at the same time; take it out of names")


def _gathered(
    source: Source,
    names: Sequence[str] | None,
    weights: RowWeights,
    missing: Missing,
    categories: Categories,
    progress: Progress | None,
) -> tuple[Accumulator, Mapping[str, Coding]]:
    """The sums of all rows and how texts became numbers; of rows that an engine has, made by its workers."""
    if source.parts is None:
        return _accumulated(source, names, weights, missing, progress), source.codings
    column, wanted = weights.column, source.usable(names, besides=weights.column)
    _refuse_double(column, wanted)
    if weights.given is not None and column is None:
        raise DataError("rows of an engine have no order, so weights must be the name of one of its columns")
    read = wanted if column is None else (*wanted, *source.usable([column]))
    codings = codings_there(source, wanted)
    work = partial(_part_of, wanted, weights, missing, categories, PATTERNS)
    found = source.parts(bare_names(read, categories) or (), work, _joined)
    return Accumulator(wanted, missing, weights.sampling) if found is None else found, codings


def _part_of(
    names: tuple[str, ...],
    weights: RowWeights,
    missing: Missing,
    categories: Categories,
    most: int,
    part: Source,
) -> Accumulator:
    """In a worker: the sums of one part of the rows."""
    return _accumulated(coded(part, categories), names, weights, missing, None, most)


def _joined(ours: Accumulator, theirs: Accumulator) -> Accumulator:
    ours.join(theirs)
    return ours


def _accumulated(
    source: Source,
    names: Sequence[str] | None,
    weights: RowWeights,
    missing: Missing,
    progress: Progress | None,
    most: int | None = None,
) -> Accumulator:
    column, given = weights.column, weights.array()
    wanted = source.usable(names, besides=column)
    _refuse_double(column, wanted)
    read = wanted if column is None else (*wanted, *source.usable([column]))
    if given is not None and source.rows is not None:
        refuse_other_length(len(given), source.rows)
    state = Accumulator(wanted, missing, weights.sampling, most)
    for block in source.blocks(read):
        rows = rows_in(block)
        if column is not None:
            last = block[:, -1] if isinstance(block, np.ndarray) else block[-1]
            own = checked_weights(last, column, sampling=weights.sampling)
            state.add(block[:, :-1] if isinstance(block, np.ndarray) else block[:-1], own)
        elif given is not None:
            if len(given) < state.rows + rows:
                refuse_other_length(len(given), state.rows + rows)
            state.add(block, given[state.rows : state.rows + rows])
        else:
            state.add(block)
        if progress is not None:
            progress(state.rows, source.rows)
    if given is not None:
        refuse_other_length(len(given), state.rows)
    return state


# -- opening -------------------------------------------------------------------------------------


@contextmanager
def opened_source(source: object, names: Sequence[str] | None, categories: Categories = ()) -> Iterator[Source]:
    """The source, ready to be read once, with numbers for texts; ``names`` are those of a plain array's columns."""
    with _opened(source, names if isinstance(names, str) else bare_names(names, categories)) as opened:
        way_out = "choose columns with names=[…]" if names is None else "leave it out"
        yield coded(opened, categories, way_out=way_out)


def resolve_categories(
    source: object, names: Sequence[str] | None, given: Mapping[str, object] | Categories | None
) -> Categories:
    """The levels of the columns of categories, each by a look at the whole column."""
    if isinstance(given, tuple) and all(isinstance(c, Category) for c in given):
        return given
    found = []
    for column, reference in as_categories(given).items():
        if once := read_once(source):
            raise DataError(f"categories need the rows twice, and {once} can be read only once; pass a table or a file")
        with _opened(source, names) as opened:
            if column not in opened.columns:
                raise DataError(
                    f"categories: the data have no column {column!r}.{did_you_mean(column, opened.columns)}"
                )
            found.append(category_of(column, reference, _entries(opened, column)))
    return tuple(found)


def _entries(source: Source, column: str) -> Iterator[Array]:
    if source.parts is not None and source.values is not None:
        return iter([objects(source.values(column, LEVELS + 2))])
    if source.labels is not None and column in source.texts:
        return source.labels(column)
    blocks = source.blocks(source.usable([column]))
    return (block[:, 0] if isinstance(block, np.ndarray) else block[0] for block in blocks)


@contextmanager
def _opened(source: object, names: Sequence[str] | None) -> Iterator[Source]:
    if not is_stream(source):
        yield _guarded(source, names)
        return
    with kept(source) as (path, label):
        yield renamed(lambda: from_path(path), path, label)


def _guarded(source: object, names: Sequence[str] | None) -> Source:
    """The reader for a kind of source; what its engine raises, now or later, is an error of ours."""
    if isinstance(source, str | os.PathLike):
        path = os.path.expanduser(os.fsdecode(source))
        return from_folder(path) if is_address(path) or os.path.isdir(path) else from_path(path)
    if isinstance(source, np.ndarray | dict):  # no engine is behind these
        return _found(source, names)
    explain = cannot_be_read(f"the {type(source).__name__}", "check it, or pass a table of plain numbers")
    with in_our_words(explain):
        return guarded(_found(source, names), explain)


def _found(source: object, names: Sequence[str] | None) -> Source:
    """The reader for a kind of source; engines are recognised by what they offer, so that none is imported for it."""
    if isinstance(source, Source):  # a part of an engine's rows
        return source
    if (found := engine_source(source)) is not None:  # first: a frame of Connect has every attribute it is asked for
        return found
    if isinstance(source, np.ndarray):
        return from_array(source, names)
    if isinstance(source, Mapping):
        return from_columns(source)
    if isinstance(source, (list, tuple)):
        return from_array(_array_of(source), names)
    if type(source).__name__.endswith(("GroupBy", "groupby")):
        raise DataError(
            f"a {type(source).__name__} is not a table of rows; give the frame itself, and by='column' for a fit of "
            f"each group"
        )
    if getattr(source, "ndim", 2) == 1 or type(source).__name__ == "Series":  # polars' has no dimension
        raise DataError("one column is not a table of rows and columns; give a frame with every variable of the graph")
    if (found := from_frame(source) or _from_engine(source)) is not None:
        return found
    if hasattr(source, "__arrow_c_stream__"):
        return from_arrow(source)
    raise DataError(
        f"data cannot be read from a {type(source).__name__}; give a frame (pandas, polars, Arrow), a numpy array, a "
        f"dictionary of columns, a DuckDB relation, or the path of a CSV, Parquet or Arrow file"
    )


def _from_engine(source: object) -> Source | None:
    """What narwhals knows as lazy: few tables are."""
    from halftrek.data.sources.lazy import from_lazy

    return from_lazy(source)


def _array_of(rows: Sequence[object]) -> Array:
    try:
        return np.asarray(rows, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise DataError(
            "a list of data must be a list of rows of numbers, all of the same length; for columns of several kinds "
            "give a dictionary or a frame"
        ) from None
