"""Wide Parquet files: one row group at a time, of the columns that are asked for.

DuckDB reads several row groups at once and hands over long batches, which is quick for narrow tables. Of a wide table
that is more than a gigabyte; Arrow's own reader needs no more than a row group. It unpacks one column after the other,
so that memory holds the numbers of the group and the packed bytes of one column; only a group that is too large for
that is read in pieces, for which the pages of all columns are open at once.
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
GROUP = 32_000_000  # numbers of a row group that is read as a whole: 256 megabytes

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
    import pyarrow as pa

    heads = file.metadata
    with file:
        for k in range(heads.num_row_groups):
            if heads.row_group(k).num_rows * len(wanted) > GROUP:
                rows = max(FEWEST, NUMBERS // len(wanted))
                batches = file.iter_batches(rows, row_groups=[k], columns=list(wanted))
            else:
                columns = (file.read_row_group(k, columns=[v], use_threads=False) for v in wanted)
                batches = iter(pa.table({table.column_names[0]: table.column(0) for table in columns}).to_batches())
            for batch in batches:
                yield from from_batches(batch.schema, (batch,)).blocks(wanted)
