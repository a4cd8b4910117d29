"""May it be known? From the graph alone, never from data."""

from halftrek.identification.adjustment import adjustment_set, adjustment_sets, front_door_set
from halftrek.identification.advice import Change
from halftrek.identification.branches import real_values
from halftrek.identification.identify import every_effect, identify, identify_all, what_would_help
from halftrek.identification.implications import Implications, implications
from halftrek.identification.recipe import Recipe, solve
from halftrek.identification.verdict import Verdict
from halftrek.identification.witness import Witness

__all__ = [
    "Change",
    "Implications",
    "Recipe",
    "Verdict",
    "Witness",
    "adjustment_set",
    "adjustment_sets",
    "every_effect",
    "front_door_set",
    "identify",
    "identify_all",
    "implications",
    "real_values",
    "solve",
    "what_would_help",
]
