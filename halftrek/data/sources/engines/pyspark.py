"""Frames of Spark, classic and Connect."""

from halftrek.data.sources.spark import from_spark as source_of

__all__ = ["source_of"]
