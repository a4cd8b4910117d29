"""Tables of Ibis on DuckDB, which streams rows itself; on other databases they are read as any lazy frame."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halftrek.data.sources.files import from_relation
from halftrek.data.sources.source import Source

if TYPE_CHECKING:
    import duckdb
    import ibis


def source_of(table: object) -> Source | None:
    """An Ibis table on DuckDB."""
    import narwhals as nw

    if nw.dependencies.is_ibis_table(table) and table.get_backend().name == "duckdb":
        return from_relation(_relation_of(table))
    return None


def _relation_of(table: ibis.Table) -> duckdb.DuckDBPyRelation:
    """An Ibis table on DuckDB as a relation: its own reader asks for a method that DuckDB 2 has no more."""
    backend = table.get_backend()
    backend._run_pre_execute_hooks(table)  # tables in memory are registered there
    relation: duckdb.DuckDBPyRelation = backend.con.sql(backend.compile(table))
    return relation
