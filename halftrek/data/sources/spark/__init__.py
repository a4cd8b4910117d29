"""Spark frames, classic and Connect: rows stay there, sums come here, columns are added there."""

from halftrek.data.sources.spark.frame import from_spark, is_spark

__all__ = ["from_spark", "is_spark"]
