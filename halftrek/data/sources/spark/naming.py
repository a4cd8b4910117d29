"""Short names for the columns of a frame, by which Spark is asked: those that users give it may not be asked for.

Spark takes a dot in a name for a field within a column, has x and X for one, and ``mapInArrow`` asks for every column
by its bare name. Columns have places whatever they are called, so that they get other names by their places.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame


def shortened(frame: DataFrame) -> tuple[DataFrame, dict[str, str]]:
    """The frame with short names for its columns, and these by the names that they had."""
    names = [f"c{k}" for k in range(len(frame.columns))]
    return frame.toDF(*names), dict(zip(frame.columns, names, strict=True))


def under(names: Sequence[str], batch: pa.RecordBatch) -> pa.RecordBatch:
    """In a worker: a batch whose columns have these names."""
    import pyarrow as pa

    return pa.RecordBatch.from_arrays(batch.columns, list(names))
