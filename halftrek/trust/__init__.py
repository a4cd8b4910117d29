"""One judge for every printed interval: what informs the answer, which interval suits it, what speaks against it."""

from typing import TYPE_CHECKING

from halftrek.bottom.on_demand import on_demand
from halftrek.trust.judge import Judged, judge, suited, table_how
from halftrek.trust.strength import STRONG, weakest_step

if TYPE_CHECKING:
    from halftrek.trust.sets import Leeway, leeway
    from halftrek.trust.tables import (
        judged_columns,
        judged_decomposition,
        judged_effects,
        judged_mediation,
        judged_parameters,
        unit_notes,
    )

__all__ = [
    "STRONG",
    "Judged",
    "Leeway",
    "judge",
    "judged_columns",
    "judged_decomposition",
    "judged_effects",
    "judged_mediation",
    "judged_parameters",
    "leeway",
    "suited",
    "table_how",
    "unit_notes",
    "weakest_step",
]

_HOMES = {  # loaded when first used
    "trust.sets": ("Leeway", "leeway"),
    "trust.tables": (
        "judged_columns",
        "judged_decomposition",
        "judged_effects",
        "judged_mediation",
        "judged_parameters",
        "unit_notes",
    ),
}
__getattr__ = on_demand(__name__, _HOMES)
