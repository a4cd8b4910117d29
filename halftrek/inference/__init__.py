"""How sure? Information, standard errors, intervals."""

from halftrek.inference.delta import standard_errors
from halftrek.inference.estimate import Estimate, estimate
from halftrek.inference.information import district_information

__all__ = ["Estimate", "district_information", "estimate", "standard_errors"]
