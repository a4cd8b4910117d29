"""How sure? Information, standard errors, intervals."""

from halftrek.inference.delta import standard_errors
from halftrek.inference.estimate import Estimate, How, estimate
from halftrek.inference.information import district_information
from halftrek.inference.measures import Measures, measures
from halftrek.inference.parameters import Parameter, parameter_rows

__all__ = [
    "Estimate",
    "How",
    "Measures",
    "Parameter",
    "district_information",
    "estimate",
    "measures",
    "parameter_rows",
    "standard_errors",
]
