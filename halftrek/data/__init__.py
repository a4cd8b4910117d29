"""What the data say; the only room that sees rows."""

from typing import TYPE_CHECKING

from halftrek.bottom.on_demand import on_demand
from halftrek.data.check import check
from halftrek.data.moments import Moments
from halftrek.data.read import read_moments, read_patterns
from halftrek.data.rows import RowBlock, RowReader, row_reader

if TYPE_CHECKING:
    from halftrek.data.columns.shapes import Histogram, histogram_of
    from halftrek.data.missing.patterns import Patterns
    from halftrek.data.summing.fourth import are_far, summed_features
    from halftrek.data.summing.passes import RowPart, gather
    from halftrek.data.summing.sums import Features

__all__ = [
    "Features",
    "Histogram",
    "Moments",
    "Patterns",
    "RowBlock",
    "RowPart",
    "RowReader",
    "are_far",
    "check",
    "gather",
    "histogram_of",
    "read_moments",
    "read_patterns",
    "row_reader",
    "summed_features",
]

_HOMES = {  # loaded when first used
    "data.columns.shapes": ("Histogram", "histogram_of"),
    "data.missing.patterns": ("Patterns",),
    "data.summing.fourth": ("are_far", "summed_features"),
    "data.summing.passes": ("RowPart", "gather"),
    "data.summing.sums": ("Features",),
}
__getattr__ = on_demand(__name__, _HOMES)
