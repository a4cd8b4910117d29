"""What the data say; the only room that sees rows."""

from halftrek.moments.check import check
from halftrek.moments.moments import Moments
from halftrek.moments.patterns import Patterns
from halftrek.moments.read import read_moments, read_patterns
from halftrek.moments.rows import RowBlock, RowReader, row_reader

__all__ = ["Moments", "Patterns", "RowBlock", "RowReader", "check", "read_moments", "read_patterns", "row_reader"]
