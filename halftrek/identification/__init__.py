"""May it be known? From the graph alone, never from data."""

from halftrek.identification.branches import real_values
from halftrek.identification.identify import every_effect, identify, identify_all
from halftrek.identification.recipe import Recipe, solve
from halftrek.identification.verdict import Verdict
from halftrek.identification.witness import Witness

__all__ = ["Recipe", "Verdict", "Witness", "every_effect", "identify", "identify_all", "real_values", "solve"]
