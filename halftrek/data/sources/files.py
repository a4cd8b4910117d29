"""Rows in files and databases, streamed in bounded memory: CSV, Parquet, Arrow files, DuckDB."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from halftrek.bottom.arrays import Array
from halftrek.data.columns.kinds import truth
from halftrek.data.sources.csvhead import Head, read_head
from halftrek.data.sources.guard import Explain, first_line, guarded, in_our_words, interruptible
from halftrek.data.sources.memory import PIECE, checked_batch, from_batches, objects
from halftrek.data.sources.parquet import wide_blocks
from halftrek.data.sources.source import Source, chained
from halftrek.data.sources.streams import refuse_impossible, refuse_special
from halftrek.data.summing.accumulate import Block
from halftrek.errors import DataError, MissingExtraError

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

T = TypeVar("T")

TEXT = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz")
PARQUET = (".parquet", ".pq")
ARROW = (".feather", ".arrow", ".ipc")
NUMBERS = 1_500_000  # in a batch of DuckDB: 12 megabytes; longer columns would be asked of the system one by one
FEWEST = 2_048  # rows of a batch: DuckDB works with as many at a time
HOLES = ("", "NA", "N/A", "#N/A", "NaN", "nan", "NULL", "null", "None", ".")


def from_path(path: str) -> Source:
    """One file, or all files that match a pattern, in the order of their names."""
    refuse_impossible(path)
    refuse_special(path)
    if os.path.exists(path):
        return _from_file(path)
    found = sorted(f for f in glob.glob(path, recursive=True) if os.path.isfile(f))
    if not found:
        what = "no file matches" if glob.has_magic(path) else "there is no file"
        raise DataError(f"{what} {path!r}; check the path (the current directory is {os.path.basename(os.getcwd())!r})")
    return chained(from_each(found), found)


def from_each(paths: Sequence[str]) -> list[Source]:
    """Each of the files; one DuckDB reads them all, since to start one takes longer than to read a small file."""
    within = _duckdb() if any(path.lower().endswith((*TEXT, *PARQUET)) for path in paths) else None
    return [_from_file(path, within) for path in paths]


def from_relation(relation: duckdb.DuckDBPyRelation) -> Source:
    """A DuckDB relation."""
    with in_our_words(_about_relation):
        return guarded(_from_relation(relation), _about_relation)


def _about_relation(error: Exception) -> DataError:
    words = first_line(error)
    fix = "keep its connection open until the data are read" if "closed" in words else "check its query"
    return DataError(f"the DuckDB relation cannot be read: {words}; {fix}")


def _from_relation(relation: duckdb.DuckDBPyRelation) -> Source:
    columns = tuple(relation.columns)
    kinds = dict(zip(columns, map(str, relation.types), strict=True))
    place = {v: f"#{k}" for k, v in enumerate(columns, 1)}  # asked for X beside x by its name, DuckDB would give x
    texts = frozenset(v for v, kind in kinds.items() if kind == "VARCHAR" or kind.startswith("ENUM"))
    huge = frozenset(v for v, kind in kinds.items() if kind in ("HUGEINT", "UHUGEINT"))
    refused = {
        v: f"holds {kind} values, not numbers" for v, kind in kinds.items() if not _sql_number(kind) and v not in texts
    }

    def blocks(wanted: tuple[str, ...]) -> Iterator[Block]:
        query = relation.project(", ".join(f"{_as_read(place[v], kinds[v])} AS {_quoted(v)}" for v in wanted))
        schema, batches = _batches(query)
        yield from from_batches(schema, batches).blocks(wanted)

    def labels(name: str) -> Iterator[Array]:
        query = relation.project(place[name])
        for batch in _batches(query)[1]:
            entries = batch.column(0).to_pylist()
            yield objects([int(x) if isinstance(x, Decimal) else x for x in entries] if name in huge else entries)

    truths = {v: truth(v) for v, kind in kinds.items() if kind == "BOOLEAN"}
    return Source(columns, blocks, refused, labels=labels, texts=texts, codings=truths, identifiers=huge)


def _batches(query: duckdb.DuckDBPyRelation) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    """Schema and batches of a DuckDB relation, which works while they are asked for."""
    stop = getattr(getattr(query, "_con", None), "interrupt", None)
    make = query.to_arrow_reader if hasattr(query, "to_arrow_reader") else query.fetch_record_batch
    rows = min(PIECE, max(1, NUMBERS // FEWEST // max(1, len(query.columns))) * FEWEST)
    reader = interruptible(lambda: make(rows), stop)
    return reader.schema, iter(lambda: interruptible(lambda: next(reader, None), stop), None)


def _from_file(path: str, within: duckdb.DuckDBPyConnection | None = None) -> Source:
    name = path.lower()
    readers = ((TEXT, partial(_from_csv, within)), (PARQUET, partial(_from_parquet, within)), (ARROW, _from_arrow_file))
    for endings, reader in readers:
        if name.endswith(endings):
            return _in_full(path, reader)
    raise DataError(f"{path!r} has an unknown ending; known are {', '.join((*TEXT, *PARQUET, *ARROW))}")


def _in_full(path: str, reader: Callable[[str], Source]) -> Source:
    """The file's rows; one that is shorter after the last of them than before the first has lost some."""
    size = os.path.getsize(path)
    source = reader(path)

    def blocks(wanted: tuple[str, ...]) -> Iterator[Block]:
        yield from source.blocks(wanted)
        if not os.path.exists(path) or os.path.getsize(path) < size:
            raise DataError(f"{path!r} was cut short while it was read; write it again, and read it when it is whole")

    return replace(source, blocks=blocks)


def _from_parquet(within: duckdb.DuckDBPyConnection | None, path: str) -> Source:
    connection, malformed = _duckdb(within), _malformed(path, "a Parquet file")
    with in_our_words(malformed, memory=True):
        connection.execute("SET parquet_metadata_cache = true")  # a head of 2,000 columns is read once, not four times
        relation = connection.read_parquet(_literal_path(path))
        counted = connection.sql(f"SELECT sum(num_rows) FROM parquet_file_metadata({_text(_literal_path(path))})")
        rows = int(counted.fetchall()[0][0])
        source = _by_own_names(_from_relation(relation), path)

    def blocks(wanted: tuple[str, ...]) -> Iterator[Block]:
        wide = wide_blocks(path, wanted)
        yield from source.blocks(wanted) if wide is None else wide

    return guarded(replace(source, rows=rows, blocks=blocks), malformed, memory=True)


def _by_own_names(source: Source, path: str) -> Source:
    """The source of a Parquet file with the names that stand there: DuckDB calls a column X beside one x X_1."""
    if not any(re.search(r"_\d+$", v) for v in source.columns):
        return source
    from pyarrow import parquet

    own = tuple(parquet.read_schema(path).names)
    if own == source.columns or len(own) != len(source.columns):
        return source
    theirs = dict(zip(own, source.columns, strict=True))

    def by_own(found: Mapping[str, T]) -> dict[str, T]:
        return {v: found[name] for v, name in theirs.items() if name in found}

    def labels(name: str) -> Iterator[Array]:
        assert source.labels is not None
        yield from source.labels(theirs[name])

    return replace(
        source, columns=own, refused=by_own(source.refused), codings={v: truth(v) for v in by_own(source.codings)},
        texts=frozenset(v for v, name in theirs.items() if name in source.texts),
        identifiers=frozenset(v for v, name in theirs.items() if name in source.identifiers),
        blocks=lambda wanted: source.blocks(tuple(theirs[v] for v in wanted)), labels=labels,
    )  # fmt: skip


def _from_csv(within: duckdb.DuckDBPyConnection | None, path: str) -> Source:
    """The head gives names and types; nothing is left to guess for the engine, so that it skips no line."""
    head = read_head(path, HOLES)
    connection = _duckdb(within)

    place = {v: k for k, v in enumerate(head.columns)}
    newline = r"new_line='\r', " if head.only_returns else ""

    def relation(wanted: tuple[str, ...], kind: str) -> duckdb.DuckDBPyRelation:
        used = {place[v] for v in wanted}
        kinds = [_csv_kind(v, head, kind) if k in used else "VARCHAR" for k, v in enumerate(head.columns)]
        columns = ", ".join(f"'c{k}': '{kind}'" for k, kind in enumerate(kinds))
        return connection.sql(
            f"SELECT {', '.join(f'c{place[v]}' for v in wanted)} "
            f"FROM read_csv({_text(_literal_path(path))}, auto_detect=false, header=true, "
            f"delim={_text(head.delimiter)}, quote='\"', escape='\"', strict_mode=true, "
            f"null_padding=false, ignore_errors=false, decimal_separator='{head.decimal}', {newline}"
            f"nullstr=[{', '.join(map(_text, HOLES))}], columns={{{columns}}})"
        )

    def blocks(wanted: tuple[str, ...]) -> Iterator[Block]:
        yield from _from_relation(relation(wanted, "DOUBLE")).blocks(tuple(f"c{place[v]}" for v in wanted))

    def labels(name: str) -> Iterator[Array]:
        source = _from_relation(relation((name,), "VARCHAR"))
        assert source.labels is not None
        words = name in head.texts or name in head.booleans
        for piece in source.labels(f"c{place[name]}"):
            yield piece if words else objects([_exact(x) for x in piece.tolist()])

    truths = {v: truth(v) for v in head.booleans}
    source = Source(
        head.columns, blocks, head.refused, labels=labels, texts=head.texts, codings=truths,
        identifiers=head.identifiers,
    )  # fmt: skip
    return guarded(source, lambda error: _about_csv(path, head.columns, error), memory=True)


def _exact(text: str | None) -> int | str | None:
    """A cell as a number of as many digits as it has."""
    try:
        return None if text is None else int(text)
    except ValueError:
        return text.strip() if text is not None else None


def _csv_kind(column: str, head: Head, kind: str) -> str:
    if kind != "DOUBLE":
        return kind
    return "VARCHAR" if column in head.texts else "BOOLEAN" if column in head.booleans else kind


def _from_arrow_file(path: str) -> Source:
    """Read, not mapped into memory: a file that is cut short while it is mapped ends the process."""
    try:
        import pyarrow as pa
    except ImportError:
        raise MissingExtraError("reading Arrow files", "sql") from None

    def opened(at: list[int] | None = None) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        options = pa.ipc.IpcReadOptions(included_fields=at)
        file = pa.OSFile(path)
        seekable = file.read(6) == b"ARROW1"
        file.seek(0)
        if not seekable:
            _refuse_without_end(file)
            stream = pa.ipc.open_stream(file, options=options)
            return stream.schema, iter(stream)
        reader = pa.ipc.open_file(file, options=options)
        return reader.schema, (reader.get_batch(k) for k in range(reader.num_record_batches))

    malformed = _malformed(path, "an Arrow file")
    with in_our_words(malformed, memory=True):
        schema, _ = opened()
        names = schema.names
        source = from_batches(schema, ())

    def part(wanted: tuple[str, ...]) -> Source:
        """These columns alone; the others are not read from the disk."""
        chosen, batches = opened(sorted(names.index(v) for v in wanted))
        return from_batches(chosen, map(checked_batch, batches))

    def blocks(wanted: tuple[str, ...]) -> Iterator[Block]:
        yield from part(wanted).blocks(wanted)

    def labels(name: str) -> Iterator[Array]:
        found = part((name,))
        assert found.labels is not None
        yield from found.labels(name)

    return guarded(replace(source, blocks=blocks, labels=labels), malformed, memory=True)


def _refuse_without_end(file: pa.NativeFile) -> None:
    """Raise for a stream without its last mark: what is cut off between two batches would read as the whole."""
    size = file.size()
    file.seek(max(0, size - 4))
    if file.read(4) != bytes(4):
        raise OSError("its end is missing, so rows may be missing too")
    file.seek(0)


# -- the engine ----------------------------------------------------------------------------------


def _duckdb(within: duckdb.DuckDBPyConnection | None = None) -> duckdb.DuckDBPyConnection:
    """A connection of its own, to a DuckDB that is there already or to a new one."""
    if within is not None:
        return within.cursor()
    try:
        import duckdb
        import pyarrow  # noqa: F401  (DuckDB hands its batches over through it)
    except ImportError:
        raise MissingExtraError("reading files", "sql") from None
    return duckdb.connect()


def _malformed(path: str, what: str) -> Explain:
    return lambda error: DataError(
        f"{path!r} cannot be read as {what}: {first_line(error)}. Write the file again, or check its ending"
    )


def _about_csv(path: str, columns: tuple[str, ...], error: Exception) -> DataError:
    """The engine's complaint in the user's terms."""
    text = str(error)
    line = re.search(r"CSV Error on Line: (\d+)", text)
    place = f", line {line[1]}" if line else ""
    value = re.search(r'converting column "c(\d+)"\.(?: Could not convert string "(.*?)" to)?', text, re.DOTALL)
    if value:
        shown = "a value" if value[2] is None else repr(value[2])
        return DataError(
            f"column {columns[int(value[1])]!r} of {path!r}{place} holds {shown}, which is not a number; correct it, "
            f"or leave it empty for a missing value"
        )
    count = re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", text)
    if count:
        return DataError(
            f"{path!r}{place} has {count[2]} values where the header has {count[1]} columns; correct the line"
        )
    if "unterminated quote" in text:
        return DataError(f"{path!r}{place} has a quote that is not closed, or closed too early; correct the line")
    if "Maximum line size" in text:
        return DataError(f"{path!r}{place} has more than two million characters; leave out the columns of long texts")
    if "state machine reached an invalid state" in text:
        return DataError(
            f"{path!r} has quotes in the wrong places, or line ends of several kinds; write the file again with one"
        )
    if "unicode" in text or "utf-8" in text:
        return DataError(f"{path!r}{place} is not UTF-8 text; save the file as UTF-8")
    return DataError(f"{path!r}{place} cannot be read as CSV: {first_line(error)}. Check the file at this place")


def _literal_path(path: str) -> str:
    """A path that the engine does not take for a pattern."""
    return re.sub(r"([*?\[])", r"[\1]", path)


def _as_read(column: str, kind: str) -> str:
    """SQL for a column as numbers, or as texts if it holds them.

    A cast of truth values would be pushed into a CSV reader, which then sees text.
    """
    if not _sql_number(kind):
        return f"CAST({column} AS VARCHAR)"
    if kind in ("BIGINT", "UBIGINT"):
        return column  # exact, for clusters; numbers are made of it where it is used
    if kind == "BOOLEAN":
        return f"CASE WHEN {column} THEN CAST(1 AS DOUBLE) WHEN NOT {column} THEN CAST(0 AS DOUBLE) END"
    return f"CAST({column} AS DOUBLE)"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _sql_number(kind: str) -> bool:
    exact = (
        "DOUBLE", "FLOAT", "REAL", "BOOLEAN", "BIGINT", "HUGEINT", "UHUGEINT", "INTEGER", "SMALLINT", "TINYINT",
        '"NULL"',  # a column without any entry
    )  # fmt: skip
    return kind in exact or kind.startswith("DECIMAL") or kind in {f"U{v}" for v in exact}
