"""What the data say; the only room that sees rows."""

from halftrek.moments.check import check
from halftrek.moments.moments import Moments
from halftrek.moments.patterns import Patterns
from halftrek.moments.read import read_moments, read_patterns
from halftrek.moments.rows import RowBlock, RowReader, row_reader
from halftrek.moments.shapes import Histogram, histogram_of

__all__ = [
    "Histogram",
    "Moments",
    "Patterns",
    "RowBlock",
    "RowReader",
    "check",
    "histogram_of",
    "read_moments",
    "read_patterns",
    "row_reader",
]
