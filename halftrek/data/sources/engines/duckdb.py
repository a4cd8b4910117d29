"""Relations of DuckDB."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from halftrek.data.sources.files import from_relation
from halftrek.data.sources.source import Source

if TYPE_CHECKING:
    from duckdb import DuckDBPyRelation


def source_of(table: object) -> Source | None:
    """A relation; a connection has no columns."""
    return from_relation(cast("DuckDBPyRelation", table)) if hasattr(type(table), "columns") else None
