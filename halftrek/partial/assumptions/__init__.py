"""What a person is willing to assume of a model, as values: read from text, written back, as smooth inequalities."""

from halftrek.partial.assumptions.conditions import Conditions, Slopes, State, conditions_of
from halftrek.partial.assumptions.kinds import AbsoluteSum, Assumption, Compared, Confounded, Norm, Within
from halftrek.partial.assumptions.quantities import (
    Confounding,
    Endogeneity,
    ErrorCorrelation,
    ErrorCovariance,
    Quantity,
    Reliability,
    Share,
    Weight,
)
from halftrek.partial.assumptions.reading import read_assumption, read_assumptions
from halftrek.partial.assumptions.relaxing import relaxed, with_roots

__all__ = [
    "AbsoluteSum",
    "Assumption",
    "Compared",
    "Conditions",
    "Confounded",
    "Confounding",
    "Endogeneity",
    "ErrorCorrelation",
    "ErrorCovariance",
    "Norm",
    "Quantity",
    "Reliability",
    "Share",
    "Slopes",
    "State",
    "Weight",
    "Within",
    "conditions_of",
    "read_assumption",
    "read_assumptions",
    "relaxed",
    "with_roots",
]
