"""Rows in files and databases, streamed in bounded memory: CSV, Parquet, Arrow files, DuckDB."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halftrek.errors import DataError, MissingExtraError
from halftrek.moments.accumulate import Block
from halftrek.moments.csvhead import Head, read_head
from halftrek.moments.frames import PIECE, from_batches
from halftrek.moments.kinds import truth
from halftrek.moments.source import Source, chained

TEXT = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz")
PARQUET = (".parquet", ".pq")
ARROW = (".feather", ".arrow", ".ipc")
HOLES = ("", "NA", "N/A", "#N/A", "NaN", "nan", "NULL", "null", "None", ".")


def from_path(path: str) -> Source:
    """One file, or all files that match a pattern, in the order of their names."""
    if os.path.isdir(path):
        raise DataError(
            f"{path!r} is a directory; name a file, or files by a pattern such as {path.rstrip('/')}/*.parquet"
        )
    if os.path.exists(path):
        return _from_file(path)
    found = sorted(f for f in glob.glob(path, recursive=True) if os.path.isfile(f))
    if not found:
        what = "no file matches" if glob.has_magic(path) else "there is no file"
        raise DataError(f"{what} {path!r}; check the path (the current directory is {os.path.basename(os.getcwd())!r})")
    return chained([_from_file(f) for f in found], found)


def from_relation(relation: Any) -> Source:
    """A DuckDB relation."""
    columns = tuple(relation.columns)
    kinds = dict(zip(columns, map(str, relation.types), strict=True))
    texts = frozenset(v for v, kind in kinds.items() if kind == "VARCHAR" or kind.startswith("ENUM"))
    refused = {
        v: f"holds {kind} values, not numbers" for v, kind in kinds.items() if not _sql_number(kind) and v not in texts
    }

    def blocks(wanted: tuple[str, ...]) -> Iterator[Block]:
        query = relation.project(", ".join(f"{_as_read(v, kinds[v])} AS {_quoted(v)}" for v in wanted))
        reader = query.to_arrow_reader(PIECE) if hasattr(query, "to_arrow_reader") else query.fetch_record_batch(PIECE)
        yield from from_batches(reader.schema, reader).blocks(wanted)

    def labels(name: str) -> Iterator[NDArray[Any]]:
        query = relation.project(_quoted(name))
        reader = query.to_arrow_reader(PIECE) if hasattr(query, "to_arrow_reader") else query.fetch_record_batch(PIECE)
        for batch in reader:
            yield np.array(batch.column(0).to_pylist(), dtype=object)

    truths = {v: truth(v) for v, kind in kinds.items() if kind == "BOOLEAN"}
    return Source(columns, blocks, refused, labels=labels, texts=texts, codings=truths)


def _from_file(path: str) -> Source:
    name = path.lower()
    if name.endswith(TEXT):
        return _from_csv(path)
    if name.endswith(PARQUET):
        return _from_parquet(path)
    if name.endswith(ARROW):
        return _from_arrow_file(path)
    raise DataError(f"{path!r} has an unknown ending; known are {', '.join((*TEXT, *PARQUET, *ARROW))}")


def _from_parquet(path: str) -> Source:
    connection = _duckdb()
    try:
        relation = connection.read_parquet(_literal_path(path))
        counted = connection.sql(f"SELECT sum(num_rows) FROM parquet_file_metadata({_text(_literal_path(path))})")
        rows = counted.fetchall()[0][0]
    except Exception as error:
        raise _malformed(path, "a Parquet file", error) from None
    source = from_relation(relation)

    def blocks(wanted: tuple[str, ...]) -> Iterator[Block]:
        yield from _guarded(source.blocks(wanted), path, "a Parquet file")

    return replace(source, blocks=blocks, rows=int(rows))


def _from_csv(path: str) -> Source:
    """The head gives names and types; nothing is left to guess for the engine, so that it skips no line."""
    head = read_head(path, HOLES)
    connection = _duckdb()

    place = {v: k for k, v in enumerate(head.columns)}

    def relation(wanted: tuple[str, ...], kind: str) -> Any:
        used = {place[v] for v in wanted}
        kinds = [_csv_kind(v, head, kind) if k in used else "VARCHAR" for k, v in enumerate(head.columns)]
        columns = ", ".join(f"'c{k}': '{kind}'" for k, kind in enumerate(kinds))
        return connection.sql(
            f"SELECT {', '.join(f'c{place[v]}' for v in wanted)} "
            f"FROM read_csv({_text(_literal_path(path))}, auto_detect=false, header=true, "
            f"delim={_text(head.delimiter)}, quote='\"', escape='\"', strict_mode=true, "
            f"null_padding=false, ignore_errors=false, decimal_separator='{head.decimal}', "
            f"nullstr=[{', '.join(map(_text, HOLES))}], columns={{{columns}}})"
        )

    def blocks(wanted: tuple[str, ...]) -> Iterator[Block]:
        try:
            yield from from_relation(relation(wanted, "DOUBLE")).blocks(tuple(f"c{place[v]}" for v in wanted))
        except DataError:
            raise
        except Exception as error:
            raise _about_csv(path, head.columns, error) from None

    def labels(name: str) -> Iterator[NDArray[Any]]:
        source = from_relation(relation((name,), "VARCHAR"))
        assert source.labels is not None
        yield from source.labels(f"c{place[name]}")

    truths = {v: truth(v) for v in head.booleans}
    return Source(head.columns, blocks, head.refused, labels=labels, texts=head.texts, codings=truths)


def _csv_kind(column: str, head: Head, kind: str) -> str:
    if kind != "DOUBLE":
        return kind
    return "VARCHAR" if column in head.texts else "BOOLEAN" if column in head.booleans else kind


def _from_arrow_file(path: str) -> Source:
    try:
        import pyarrow as pa
    except ImportError:
        raise MissingExtraError("reading Arrow files", "sql") from None
    try:
        mapped = pa.memory_map(path)
        seekable = mapped.read(6) == b"ARROW1"
        mapped.seek(0)
        if seekable:
            reader = pa.ipc.open_file(mapped)
            batches: Iterator[Any] = (reader.get_batch(k) for k in range(reader.num_record_batches))
        else:
            reader = pa.ipc.open_stream(mapped)
            batches = iter(reader)
    except Exception as error:
        raise _malformed(path, "an Arrow file", error) from None
    source = from_batches(reader.schema, batches)

    def blocks(wanted: tuple[str, ...]) -> Iterator[Block]:
        yield from _guarded(source.blocks(wanted), path, "an Arrow file")

    return replace(source, blocks=blocks)


# -- the engine ----------------------------------------------------------------------------------


def _duckdb() -> Any:
    try:
        import duckdb
        import pyarrow  # noqa: F401  (DuckDB hands its batches over through it)
    except ImportError:
        raise MissingExtraError("reading files", "sql") from None
    return duckdb.connect()


def _guarded(blocks: Iterator[Block], path: str, what: str) -> Iterator[Block]:
    try:
        yield from blocks
    except DataError:
        raise
    except Exception as error:
        raise _malformed(path, what, error) from None


def _malformed(path: str, what: str, error: Exception) -> DataError:
    return DataError(
        f"{path!r} cannot be read as {what}: {_first_line(error)}. Write the file again, or check its ending"
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
    if "unicode" in text or "utf-8" in text:
        return DataError(f"{path!r}{place} is not UTF-8 text; save the file as UTF-8")
    return DataError(f"{path!r}{place} cannot be read as CSV: {_first_line(error)}. Check the file at this place")


def _first_line(error: Exception) -> str:
    lines = [part.strip() for part in str(error).splitlines() if part.strip()]
    return lines[0].rstrip(".") if lines else type(error).__name__


def _literal_path(path: str) -> str:
    """A path that the engine does not take for a pattern."""
    return re.sub(r"([*?\[])", r"[\1]", path)


def _as_read(name: str, kind: str) -> str:
    """SQL for a column as numbers, or as texts if it holds them.

    A cast of truth values would be pushed into a CSV reader, which then sees text.
    """
    column = _quoted(name)
    if not _sql_number(kind):
        return f"CAST({column} AS VARCHAR)"
    if kind == "BOOLEAN":
        return f"CASE WHEN {column} THEN CAST(1 AS DOUBLE) WHEN NOT {column} THEN CAST(0 AS DOUBLE) END"
    return f"CAST({column} AS DOUBLE)"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _sql_number(kind: str) -> bool:
    exact = ("DOUBLE", "FLOAT", "REAL", "BOOLEAN", "BIGINT", "HUGEINT", "UHUGEINT", "INTEGER", "SMALLINT", "TINYINT")
    return kind in exact or kind.startswith("DECIMAL") or kind in {f"U{v}" for v in exact}
