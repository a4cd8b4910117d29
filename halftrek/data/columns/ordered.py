"""Columns whose categories have an order that the data themselves say.

Ordered categoricals of pandas, Enums of polars, ordered dictionaries of Arrow; and files of one's own that say the same
of their columns. Of DuckDB the columns of a type that somebody has made, by ``CREATE TYPE mood AS ENUM ('low',
'high')``, in the order of its levels; not an Enum without a name, which it makes of categoricals without an order too.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, cast

from halftrek.data.columns.categories import PAIRS, Category

if TYPE_CHECKING:
    import duckdb
    import pandas as pd
    import pyarrow as pa

PARQUET = (".parquet", ".pq")
ARROW = (".feather", ".arrow", ".ipc")
_ENUMS = (b"_PL_ENUM_VALUES2", b"_PL_ENUM_VALUES")  # where polars writes the levels of an Enum, each after its length
_OLD_ENUM = (b"POLARS.CATEGORICAL_TYPE", b"ENUM")  # and where the first of version 1 says that a dictionary has them


def ordered_columns(data: object) -> dict[str, Category]:
    """The ordered columns of a frame, of a relation of DuckDB, or of a Parquet or Arrow file, by name; else none.

    Yes and no, and their like, are 0 and 1 with or without an order, and not among them.
    """
    module = type(data).__module__.partition(".")[0]
    if module == "pandas" and hasattr(data, "iloc") and hasattr(data, "columns"):
        frame = cast("pd.DataFrame", data)
        types = dict(zip(map(str, frame.columns), frame.dtypes, strict=True))
        ordered = {v: kind.categories for v, kind in types.items() if getattr(kind, "ordered", None) is True}
    elif module == "polars" and hasattr(data, "collect_schema"):
        from polars.exceptions import PolarsError

        try:
            schema = data.collect_schema()
        except PolarsError:  # reading the rows will say what is wrong
            return {}
        ordered = {v: kind.categories for v, kind in schema.items() if type(kind).__name__ == "Enum"}
    elif module == "pyarrow" and hasattr(data, "schema") and hasattr(data, "column_names"):
        ordered = _of_arrow(data)
    elif module in ("duckdb", "_duckdb") and type(data).__name__ == "DuckDBPyRelation":
        ordered = _of_relation(cast("duckdb.DuckDBPyRelation", data))
    elif isinstance(data, str | os.PathLike) and os.path.isfile(data):
        ordered = _of_file(os.fspath(data))
    else:
        return {}
    found = {v: tuple(_text(x) for x in levels) for v, levels in ordered.items()}
    return {v: in_order(v, levels) for v, levels in found.items() if len(levels) > 1 and not _truths(levels)}


def _of_file(path: str) -> dict[str, list[object]]:
    """Levels by column; a file that cannot be read has none, and reading its rows will say what is wrong."""
    if not path.lower().endswith((*PARQUET, *ARROW)):
        return {}
    try:
        import pyarrow as pa
        from pyarrow import parquet

        try:
            if path.lower().endswith(PARQUET):
                schema = parquet.read_schema(path)
                names = [f.name for f in schema if _has_order(f)]
                return _enums(schema) | (_of_arrow(parquet.read_table(path, columns=names)) if names else {})
            with pa.OSFile(path) as file, pa.ipc.open_file(file) as reader:
                ordered = any(_has_order(f) for f in reader.schema)
                return _enums(reader.schema) | (_of_arrow(reader.read_all()) if ordered else {})
        except (pa.ArrowException, OSError, KeyError):  # the last of a type that an older pyarrow does not know
            return {}
    except ImportError:
        return {}


def _of_relation(relation: duckdb.DuckDBPyRelation) -> dict[str, list[object]]:
    """Levels of the columns whose type has a name in the database."""
    import duckdb

    made = "SELECT labels FROM duckdb_types() WHERE logical_type = 'ENUM' AND NOT internal"
    try:
        types = dict(zip(relation.columns, relation.types, strict=True))
        levels: dict[str, list[object]] = {
            v: list(cast("list[str]", dict(kind.children)["values"])) for v, kind in types.items() if kind.id == "enum"
        }
        if not levels:
            return {}
        found = relation.query("halftrek_asks", made)
        known = [] if found is None else [row[0] for row in found.fetchall()]
    except duckdb.Error:  # reading the rows will say what is wrong
        return {}
    return {v: order for v, order in levels.items() if order in known}


def _enums(schema: pa.Schema) -> dict[str, list[object]]:
    texts = {f.name: text for f in schema for key, text in (f.metadata or {}).items() if key in _ENUMS and text}
    return {v: _unpacked(text) for v, text in texts.items()}


def _has_order(field: pa.Field) -> bool:
    """True if the levels of a dictionary stand in their order."""
    import pyarrow as pa

    key, enum = _OLD_ENUM
    return pa.types.is_dictionary(field.type) and (field.type.ordered or (field.metadata or {}).get(key) == enum)


def _unpacked(rest: bytes) -> list[object]:
    """``3;low4;high`` as its words; lengths are those of the words in bytes."""
    found: list[object] = []
    while match := re.match(rb"(\d+);", rest):
        end = match.end() + int(match[1])
        found.append(rest[match.end() : end].decode())
        rest = rest[end:]
    return found


def _of_arrow(table: pa.Table) -> dict[str, list[object]]:
    """Levels of ordered dictionaries, where all pieces of a column have the same."""
    import pyarrow as pa

    found = {}
    for field in table.schema:
        if _has_order(field):
            column = table.column(field.name)
            pieces = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
            levels = [piece.dictionary.to_pylist() for piece in pieces]
            if levels and all(one == levels[0] for one in levels):
                found[field.name] = levels[0]
    return _enums(table.schema) | found


def in_order(column: str, levels: tuple[str, ...]) -> Category:
    """A column of these levels, the lowest first."""
    return Category(column, levels[0], levels[1:], ordered=True)


def _text(level: object) -> str:
    return f"{level:.12g}" if isinstance(level, int | float) and not isinstance(level, bool) else str(level).strip()


def _truths(levels: tuple[str, ...]) -> bool:
    lower = {x.lower() for x in levels}
    return any(lower == set(pair) for pair in PAIRS)
