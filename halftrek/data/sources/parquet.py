"""Wide Parquet files: one piece of one row group at a time, of the columns that are asked for.

DuckDB reads several row groups at once and hands over long batches, which is quick for narrow tables. Of a wide table
that is more than a gigabyte; Arrow's own reader needs no more than a row group.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from halftrek.data.sources.memory import from_batches
from halftrek.data.summing.accumulate import Block

if TYPE_CHECKING:
    from pyarrow import parquet

WIDE = 50  # columns from which on a table is read in this way
NUMBERS = 2_000_000  # in a piece: 16 megabytes
FEWEST = 1_024  # rows of a piece

_PLAIN = ("double", "float", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool")


def wide_blocks(path: str, wanted: tuple[str, ...]) -> Iterator[Block] | None:
    """Blocks of the columns; None where they are few, or hold more than plain numbers: another reader takes them."""
    if len(wanted) < WIDE:
        return None
    from pyarrow import parquet

    file = parquet.ParquetFile(path, pre_buffer=False, buffer_size=65_536)
    schema = file.schema_arrow
    if any(schema.names.count(v) != 1 or str(schema.field(v).type) not in _PLAIN for v in wanted):
        file.close()
        return None
    return _blocks(file, wanted)


def _blocks(file: parquet.ParquetFile, wanted: tuple[str, ...]) -> Iterator[Block]:
    with file:
        rows = max(FEWEST, NUMBERS // len(wanted))
        for batch in file.iter_batches(rows, columns=list(wanted)):
            yield from from_batches(batch.schema, (batch,)).blocks(wanted)
