"""Answers in words and as lines of tables."""

from typing import TYPE_CHECKING

from halftrek.bottom.on_demand import on_demand

if TYPE_CHECKING:
    from halftrek.results.words.listings import (
        counterfactual_of,
        decomposition_of,
        effects_of,
        measures_of,
        mediation_of,
        parameter_table,
        profile_of,
    )
    from halftrek.results.words.publication import LABELS, coefficient_table, outcomes, statistic

__all__ = [
    "LABELS",
    "coefficient_table",
    "counterfactual_of",
    "decomposition_of",
    "effects_of",
    "measures_of",
    "mediation_of",
    "outcomes",
    "parameter_table",
    "profile_of",
    "statistic",
]

_HOMES = {  # loaded when first used: most fits are asked a question or two
    "results.words.listings": (
        "counterfactual_of", "decomposition_of", "effects_of", "measures_of", "mediation_of", "parameter_table",
        "profile_of",
    ),
    "results.words.publication": ("LABELS", "coefficient_table", "outcomes", "statistic"),
}  # fmt: skip
__getattr__ = on_demand(__name__, _HOMES)
