"""Queries of polars; its frames in memory are read as any frame."""

from halftrek.data.sources.memory import from_polars_lazy as source_of

__all__ = ["source_of"]
