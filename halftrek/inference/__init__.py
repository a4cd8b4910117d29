"""How sure? Information, standard errors, intervals."""

from halftrek.inference.delta import standard_errors
from halftrek.inference.information import district_information

__all__ = ["district_information", "standard_errors"]
