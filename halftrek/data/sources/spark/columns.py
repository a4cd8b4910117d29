"""New columns in a Spark frame: a plan that its workers carry out when the columns are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from halftrek.bottom.frames import Columns
from halftrek.bottom.threads import one_thread
from halftrek.data.sources.memory import from_batches
from halftrek.data.sources.source import Source
from halftrek.data.sources.spark.naming import shortened, under
from halftrek.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

TWIN = "_expected"  # behind the name of a new column where the frame has one of that name


def with_columns(frame: DataFrame, made: Callable[[Source], Columns], like: Columns) -> DataFrame:
    """The frame with the columns that ``made`` makes of some rows at a time; ``like`` has their names and kinds."""
    from pyspark.sql.types import DoubleType, StringType, StructField, StructType

    taken = {v.lower() for v in frame.columns}  # Spark has se and SE for one
    names = [name + TWIN if name.lower() in taken else name for name in like]
    for name in names:
        if name.lower() in taken:
            raise DataError(f"the frame has a column {name!r} already; rename it")
    kinds = [StringType() if isinstance(column, list) else DoubleType() for column in like.values()]
    plain, _ = shortened(frame)
    more = [StructField(f"m{k}", kind) for k, kind in enumerate(kinds)]
    found = plain.mapInArrow(partial(_on_batches, made, frame.columns), StructType([*plain.schema.fields, *more]))
    return found.toDF(*frame.columns, *names)


def _on_batches(
    made: Callable[[Source], Columns], columns: Sequence[str], batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """In a worker: batches with their new columns."""
    import pyarrow as pa

    for batch in batches:
        named = under(columns, batch)
        with one_thread():  # other tasks work beside this one
            found = made(from_batches(named.schema, [named]))
        new = [pa.array(column, pa.string() if isinstance(column, list) else pa.float64()) for column in found.values()]
        names = [*batch.schema.names, *(f"m{k}" for k in range(len(new)))]
        yield pa.RecordBatch.from_arrays([*batch.columns, *new], names)
