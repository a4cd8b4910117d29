"""May it be known? From the graph alone, never from data."""

from typing import TYPE_CHECKING

from halftrek.bottom.on_demand import on_demand

if TYPE_CHECKING:
    from halftrek.identification.arrows.adjustment import (
        adjustment_set,
        adjustment_sets,
        front_door_set,
        single_door_sets,
    )
    from halftrek.identification.arrows.listed_sets import AdjustmentSets
    from halftrek.identification.beside.advice import Change
    from halftrek.identification.beside.next_steps import NextStep
    from halftrek.identification.beside.testable import Implications, implications
    from halftrek.identification.decision import every_effect, identify, identify_all, what_would_help
    from halftrek.identification.exact.branches import real_values
    from halftrek.identification.local.witness import Witness
    from halftrek.identification.recipes.recipe import Recipe, solve
    from halftrek.identification.verdict import Verdict

__all__ = [
    "AdjustmentSets",
    "Change",
    "Implications",
    "NextStep",
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
    "single_door_sets",
    "solve",
    "what_would_help",
]

_HOMES = {  # loaded when first used: most programs that import halftrek decide nothing at once
    "identification.arrows.adjustment": ("adjustment_set", "adjustment_sets", "front_door_set", "single_door_sets"),
    "identification.beside.advice": ("Change",),
    "identification.exact.branches": ("real_values",),
    "identification.decision": ("every_effect", "identify", "identify_all", "what_would_help"),
    "identification.arrows.listed_sets": ("AdjustmentSets",),
    "identification.recipes.recipe": ("Recipe", "solve"),
    "identification.beside.testable": ("Implications", "implications"),
    "identification.verdict": ("Verdict",),
    "identification.local.witness": ("Witness",),
    "identification.beside.next_steps": ("NextStep",),
}
__getattr__ = on_demand(__name__, _HOMES)
