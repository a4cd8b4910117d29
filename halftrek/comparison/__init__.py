"""Several models of the same data, side by side."""

from halftrek.comparison.models import Comparison, compare

__all__ = ["Comparison", "compare"]
