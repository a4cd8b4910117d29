"""How sure? Information, standard errors, intervals."""

from typing import TYPE_CHECKING

from halftrek.bottom.choices import RobustTest
from halftrek.bottom.on_demand import on_demand
from halftrek.inference.estimate import Estimate, estimate
from halftrek.inference.how import How
from halftrek.inference.standard_errors.delta import standard_errors

if TYPE_CHECKING:
    from halftrek.inference.checks.contradictions import Contradiction, contradictions, restrictions_behind
    from halftrek.inference.checks.measures import Measures, measures
    from halftrek.inference.checks.robust_fit import RobustMeasures, robust_measures
    from halftrek.inference.information.information import district_information
    from halftrek.inference.information.robust import robust_errors
    from halftrek.inference.profiles.profile import Profile, profile_curve
    from halftrek.inference.tables.parameter import Parameter
    from halftrek.inference.tables.parameters import parameter_columns, parameter_rows

__all__ = [
    "Contradiction",
    "Estimate",
    "How",
    "Measures",
    "Parameter",
    "Profile",
    "RobustMeasures",
    "RobustTest",
    "contradictions",
    "district_information",
    "estimate",
    "measures",
    "parameter_columns",
    "parameter_rows",
    "profile_curve",
    "restrictions_behind",
    "robust_errors",
    "robust_measures",
    "standard_errors",
]

_HOMES = {  # loaded when first used
    "inference.checks.contradictions": ("Contradiction", "contradictions", "restrictions_behind"),
    "inference.checks.measures": ("Measures", "measures"),
    "inference.checks.robust_fit": ("RobustMeasures", "robust_measures"),
    "inference.information.information": ("district_information",),
    "inference.information.robust": ("robust_errors",),
    "inference.profiles.profile": ("Profile", "profile_curve"),
    "inference.tables.parameter": ("Parameter",),
    "inference.tables.parameters": ("parameter_columns", "parameter_rows"),
}
__getattr__ = on_demand(__name__, _HOMES)
