"""Rows in memory: numpy arrays, dictionaries of columns, pandas, polars, Arrow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from halftrek.bottom.arrays import Array
from halftrek.data.columns.kinds import truth
from halftrek.data.sources.guard import cannot_be_read, first_line, guarded, in_our_words
from halftrek.data.sources.source import Numeric, Source, Textual
from halftrek.data.summing.accumulate import Block
from halftrek.errors import DataError, MissingExtraError

if TYPE_CHECKING:
    import narwhals as nw
    import polars as pl
    import pyarrow as pa
    from narwhals.typing import IntoDataFrame, IntoSeries

PIECE = 65_536  # rows of a frame that are converted at a time


def from_array(array: Array, names: Sequence[str] | None) -> Source:
    """A table of numbers; plain arrays take ``names`` for all their columns, or ``x1 … xp``."""
    own = getattr(array, "names", None)
    if array.dtype.names:
        return from_columns({v: array[v] for v in array.dtype.names})
    if array.ndim != 2:
        fix = "reshape it to rows × columns, for one column with a.reshape(-1, 1)"
        raise DataError(f"an array of data has 2 dimensions, rows and columns, not {array.ndim}; {fix}")
    _refuse_dtype(array, "the array")
    if own is None and names is not None and len(names) != array.shape[1]:
        raise DataError(
            f"the array has {array.shape[1]} columns, but {len(names)} names are needed: {', '.join(map(str, names))}. "
            f"Pass only these columns, in this order, or a frame with column names"
        )
    if own is None:
        own = [f"x{k + 1}" for k in range(array.shape[1])] if names is None else names
    if isinstance(array, np.ma.MaskedArray):
        array = np.ma.filled(array.astype(np.float64), np.nan)
    table, columns = np.asarray(array), tuple(own)

    def blocks(wanted: tuple[str, ...]) -> Iterator[Block]:
        if wanted == columns:
            yield table
        else:
            yield [table[:, columns.index(v)] for v in wanted]

    return Source(columns, blocks, rows=len(table))


def from_columns(columns: Mapping[str, object]) -> Source:
    """A dictionary of columns."""
    arrays: dict[str, Array] = {}
    refused: dict[str, str] = {}
    texts: set[str] = set()
    for name, values in columns.items():
        column = _column_of(name, values)
        if column.ndim != 1:
            raise DataError(f"column {name!r} must be a list of numbers, not of shape {column.shape}")
        why = _unusable(column)
        if _holds_texts(column):
            texts.add(str(name))
        elif why:
            refused[str(name)] = why
        arrays[str(name)] = column
    lengths = {v: len(column) for v, column in arrays.items()}
    if len(set(lengths.values())) > 1:
        raise DataError(f"the columns have different lengths: {lengths}; give each the same number of rows")

    truths = {v: truth(v) for v, column in arrays.items() if column.dtype.kind == "b"}

    def blocks(wanted: tuple[str, ...]) -> Iterator[Block]:
        yield [arrays[v] for v in wanted]

    def labels(name: str) -> Iterator[Array]:
        yield arrays[name]

    return Source(tuple(arrays), blocks, refused, next(iter(lengths.values()), 0), labels, frozenset(texts), truths)


def _column_of(name: object, values: object) -> Array:
    """A column of a dictionary as an array; texts, if there are some, as they are."""
    if isinstance(values, np.ma.MaskedArray):
        return np.ma.filled(values.astype(np.float64 if values.dtype.kind in "fiub" else object), np.nan)
    try:
        column = np.asarray(values)
        if column.dtype.kind in "OUS" and column.ndim == 1 and not isinstance(values, np.ndarray):
            plain = [
                np.nan if x is None else x for x in cast("Iterable[object]", values)
            ]  # numpy makes texts of all if one is a text
            column = np.asarray(plain, dtype=float) if all(map(_number_like, plain)) else objects(plain)
    except OverflowError:
        raise DataError(
            f"column {name!r} holds a number too large for a float; divide the column by its scale"
        ) from None
    except (TypeError, ValueError) as error:
        raise DataError(f"column {name!r} must be a list of numbers, one for each row: {first_line(error)}") from error
    return column


def from_frame(frame: Any) -> Source | None:
    """Any frame in memory that narwhals knows; None for anything else."""
    import narwhals as nw

    labels: tuple[str, ...] | None = None
    if nw.dependencies.is_pandas_like_dataframe(frame):
        labels = tuple(str(v) for v in frame.columns)
        if labels != tuple(frame.columns):
            frame = frame.copy(deep=False)
            frame.columns = list(labels)
        if len(set(labels)) < len(labels):  # columns named twice cannot be asked for
            frame = frame.loc[:, [labels.count(v) == 1 for v in labels]]
    table = nw.from_native(frame, eager_only=True, pass_through=True)
    if not isinstance(table, nw.DataFrame):
        return None
    texts = frozenset(v for v, kind in table.schema.items() if _textual(kind, table.get_column(v)))
    refused = {
        v: _about(kind, table.get_column(v))
        for v, kind in table.schema.items()
        if not _numeric(kind) and v not in texts
    }

    def blocks(wanted: tuple[str, ...]) -> Iterator[Block]:
        ends = _ends(table)
        for first, last in pairwise(ends):
            some = table if len(ends) == 2 else table[first:last]
            columns = [some.get_column(v) if v in texts else _in_place(some.get_column(v)) for v in wanted]
            for start in range(0, last - first, PIECE):
                parts = [column[start : start + PIECE] for column in columns]
                yield [objects(x.to_list()) if v in texts else _floats(x) for v, x in zip(wanted, parts, strict=True)]

    def entries(name: str) -> Iterator[Array]:
        column = table.get_column(name)
        for start in range(0, len(table), PIECE):
            yield objects(column[start : start + PIECE].to_list())

    truths = {v: truth(v) for v, kind in table.schema.items() if kind == nw.Boolean}
    return Source(labels or tuple(table.columns), blocks, refused, len(table), entries, texts, truths)


def _ends(table: nw.DataFrame[IntoDataFrame]) -> list[int]:
    """Where parts of a frame end whose columns each lie in one place: long chunks of polars, else the whole frame."""
    native = cast("pl.DataFrame", table.to_native())
    if type(native).__module__.partition(".")[0] == "polars" and native.width:  # it is one indeed
        ends: list[int] = np.cumsum([0, *native.to_series(0).chunk_lengths()]).tolist()
        if len(ends) * PIECE <= 4 * len(table):
            return ends
    return [0, len(table)]


def from_polars_lazy(frame: object) -> Source | None:
    """A polars query, run piece by piece; None for anything else."""
    import narwhals as nw

    if not nw.dependencies.is_polars_lazyframe(frame):
        return None
    explain = cannot_be_read("the polars query", "check its expressions")
    with in_our_words(explain):
        schema = nw.from_native(frame).collect_schema()
    texts = frozenset(v for v, kind in schema.items() if _textual(kind, None))
    refused = {v: _about(kind, None) for v, kind in schema.items() if not _numeric(kind) and v not in texts}

    def blocks(wanted: tuple[str, ...]) -> Iterator[Block]:
        query = frame.select(list(wanted))
        in_pieces = getattr(query, "collect_batches", None)  # polars before 1.34 has only the whole
        for piece in [query.collect()] if in_pieces is None else in_pieces(chunk_size=PIECE, maintain_order=True):
            part = from_frame(piece)
            assert part is not None
            part.usable(wanted)  # a query may give another type than it has promised
            yield from part.blocks(wanted)

    def labels(name: str) -> Iterator[Array]:
        part = from_frame(frame.select([name]).collect())
        assert part is not None
        assert part.labels is not None
        yield from part.labels(name)

    truths = {v: truth(v) for v, kind in schema.items() if kind == nw.Boolean}
    found = Source(tuple(schema.names()), blocks, refused, labels=labels, texts=texts, codings=truths)
    return guarded(found, explain)


def from_arrow(stream: Any) -> Source:
    """An Arrow table, record batch, reader, or anything that offers an Arrow stream."""
    try:
        import pyarrow as pa
    except ImportError:
        raise MissingExtraError("reading Arrow data", "sql") from None
    if isinstance(stream, (pa.Array, pa.ChunkedArray)):
        raise DataError("one column is not a table of rows and columns; give a table with every variable of the graph")
    rows = stream.num_rows if isinstance(stream, (pa.Table, pa.RecordBatch)) else None
    if isinstance(stream, pa.RecordBatch):
        stream = pa.Table.from_batches([stream])
    if not isinstance(stream, (pa.Table, pa.RecordBatchReader)):
        if not hasattr(stream, "__arrow_c_stream__"):
            kind = type(stream).__name__
            raise DataError(
                f"data cannot be read from an Arrow {kind}; give a table, a record batch or a reader of record batches"
            )
        stream = pa.RecordBatchReader.from_stream(stream)
    batches = stream.to_batches(max_chunksize=PIECE) if isinstance(stream, pa.Table) else stream
    return from_batches(stream.schema, batches, rows)


def from_batches(schema: pa.Schema, batches: Iterable[pa.RecordBatch], rows: int | None = None) -> Source:
    """Record batches of one schema."""
    texts = frozenset(field.name for field in schema if str(field.type).startswith(Textual))
    refused = {
        field.name: f"holds {field.type} values, not numbers"
        for field in schema
        if not str(field.type).startswith(Numeric) and field.name not in texts
    }

    def blocks(wanted: tuple[str, ...]) -> Iterator[Block]:
        places = [schema.get_field_index(v) for v in wanted]
        kinds = ["text" if v in texts else str(schema.field(k).type) for v, k in zip(wanted, places, strict=True)]
        takes = [(k, _of_kind(kind)) for k, kind in zip(places, kinds, strict=True)]
        for batch in batches:
            yield _block_of(batch, wanted, takes)

    def labels(name: str) -> Iterator[Array]:
        k = schema.get_field_index(name)
        for batch in batches:
            yield objects(batch.column(k).to_pylist())

    truths = {field.name: truth(field.name) for field in schema if str(field.type) == "bool"}
    return Source(tuple(schema.names), blocks, refused, rows, labels, texts, truths)


# -- columns to floats ---------------------------------------------------------------------------


Take = tuple[int, Callable[["pa.Array"], Array]]  # where a column stands, and what makes an array of it


def _block_of(batch: pa.RecordBatch, names: Sequence[str], takes: Sequence[Take]) -> list[Array]:
    """The columns of a batch; one guard for all of them, since a wide batch has many short ones."""
    block: list[Array] = []

    def explain(error: Exception) -> DataError:
        return cannot_be_read(f"column {names[len(block)]!r}", "convert it to float")(error)

    with in_our_words(explain):
        for k, take in takes:
            block.append(take(batch.column(k)))  # its length tells which column failed
    return block


def _of_kind(kind: str) -> Callable[[pa.Array], Array]:
    """What makes an array of an Arrow array of this kind.

    Long integers stay integers where none is missing: clusters are told apart by them. As values they are rounded to
    the nearest float, as those of every other source.
    """
    if kind == "text":
        return lambda column: objects(column.to_pylist())
    if kind == "double":
        return _arrow_numbers
    if kind == "bool":
        return lambda column: _arrow_numbers(column.cast("int8").cast("double"))
    if kind in ("int64", "uint64"):
        return lambda column: _arrow_numbers(column.cast("double", safe=False) if column.null_count else column, kind)
    return lambda column: _arrow_numbers(column.cast("double", safe=False))


def _arrow_numbers(column: pa.Array, kind: str = "double") -> Array:
    """The numbers of an Arrow array where they lie, nan for nulls (its own ``to_numpy`` would import pandas)."""
    count, first = len(column), column.offset
    if not count:
        return np.empty(0)
    present, numbers = column.buffers()
    if not column.null_count:
        return np.frombuffer(numbers, kind, count, 8 * first)
    values = np.frombuffer(numbers, float, count, 8 * first)
    bits = np.unpackbits(np.frombuffer(present, dtype=np.uint8), bitorder="little")[first : first + count]
    return np.where(bits.astype(bool), values, np.nan)


def checked_batch(batch: pa.RecordBatch) -> pa.RecordBatch:
    """A record batch of a file, if its buffers hold what its head says; texts are looked at one by one."""
    for column in batch.columns:
        column.validate(full=not str(column.type).startswith(Numeric))
    return batch


def _in_place(column: nw.Series[Any]) -> Any:
    """A column's own numbers as an array where that needs no copy (slices of it cost nothing), else the column."""
    native = column.to_native()
    if isinstance(getattr(native, "dtype", None), np.dtype):  # pandas, as numpy has it
        return native.to_numpy()
    if type(native).__module__.partition(".")[0] != "polars" or not column.dtype.is_float():
        return column
    try:
        return native.to_numpy(allow_copy=False)
    except RuntimeError:  # nulls, or several chunks
        return column


def _floats(column: Array | nw.Series[IntoSeries]) -> Array:
    if isinstance(column, np.ndarray):
        return column
    import narwhals as nw

    if column.dtype.is_integer() and not column.null_count():
        whole = np.asarray(column.to_numpy())
        if whole.dtype.kind in "iu":  # exact, for clusters
            return whole
    return np.asarray(column.cast(nw.Float64).to_numpy())


def objects(entries: Sequence[object]) -> Array:
    """Entries as they are."""
    array = np.empty(len(entries), dtype=object)
    array[:] = entries
    return array


def _textual(kind: nw.dtypes.DType, column: nw.Series[IntoSeries] | None) -> bool:
    """Whether a column of a frame may be texts that stand for numbers."""
    import narwhals as nw

    if kind == nw.Object:
        return column is not None and _holds_texts(objects(column.to_list()))
    return bool(kind == nw.String or kind == nw.Categorical or kind == nw.Enum)


def _holds_texts(column: Array) -> bool:
    """Texts or truth values, with holes and numbers in between; nothing else."""
    if column.dtype.kind in "US":
        return True
    if column.dtype.kind != "O":
        return False
    entries = column.tolist()
    known = all(isinstance(x, str | bytes) or _number_like(x) or type(x).__name__ == "NAType" for x in entries)
    return known and any(isinstance(x, str | bytes | bool) for x in entries)


def _numeric(kind: nw.dtypes.DType) -> bool:
    import narwhals as nw

    return bool(kind.is_numeric() or kind == nw.Boolean)


def _about(kind: nw.dtypes.DType, column: nw.Series[IntoSeries] | None) -> str:
    """Why a column of a frame is not a number."""
    if kind.is_temporal():
        return f"holds dates or times ({kind}), not numbers"
    if column is None:
        return f"holds {kind} values, not numbers"
    example = next((x for x in column.to_list() if not _number_like(x)), None)
    if example is None:
        return f"has the type {kind}, not a numeric one"
    return f"holds values that are not numbers, for instance {example!r}"


def _number_like(value: object) -> bool:
    return value is None or (isinstance(value, (int, float, np.number)) and not isinstance(value, complex))


def _unusable(column: Array) -> str:
    """Why an array cannot be a column of numbers; empty if it can."""
    kind = column.dtype.kind
    if kind in "fiub":
        return ""
    if kind in "mM":
        return "holds dates or times, not numbers"
    if kind == "c":
        return "holds complex numbers, not real ones"
    example = next((x for x in column.ravel().tolist() if not _number_like(x)), None)
    if example is None:
        return "has the type object, not a numeric one"
    return f"holds values that are not numbers, for instance {example!r}"


def _refuse_dtype(array: Array, what: str) -> None:
    why = _unusable(array)
    if why:
        raise DataError(f"{what} {why}; convert it with a.astype(float) after removing what is not a number")
