"""Several models of the same data, or one model of several groups, side by side."""

from halftrek.comparison.groups import answer_groups, compare_groups
from halftrek.comparison.models import Comparison, compare

__all__ = ["Comparison", "answer_groups", "compare", "compare_groups"]
