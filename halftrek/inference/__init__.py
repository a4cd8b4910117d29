"""How sure? Information, standard errors, intervals."""

from halftrek.inference.contradictions import Contradiction, contradictions, restrictions_behind
from halftrek.inference.delta import standard_errors
from halftrek.inference.estimate import Estimate, estimate
from halftrek.inference.how import How
from halftrek.inference.information import district_information
from halftrek.inference.measures import Measures, measures
from halftrek.inference.parameters import Parameter, parameter_columns, parameter_rows
from halftrek.inference.profile import Profile, profile_curve
from halftrek.inference.robust import robust_errors
from halftrek.inference.robust_fit import RobustMeasures, RobustTest, robust_measures

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
