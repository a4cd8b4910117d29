"""What the data say; the only room that sees rows."""

from halftrek.data.check import check
from halftrek.data.columns.shapes import Histogram, histogram_of
from halftrek.data.missing.patterns import Patterns
from halftrek.data.moments import Moments
from halftrek.data.read import read_moments, read_patterns
from halftrek.data.rows import RowBlock, RowReader, row_reader
from halftrek.data.summing.passes import RowPart, gather

__all__ = [
    "Histogram",
    "Moments",
    "Patterns",
    "RowBlock",
    "RowPart",
    "RowReader",
    "check",
    "gather",
    "histogram_of",
    "read_moments",
    "read_patterns",
    "row_reader",
]
