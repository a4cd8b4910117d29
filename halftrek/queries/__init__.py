"""What may be asked of a model, and what a model answers."""

from halftrek.queries.evaluate import check_query, evaluate, variables_of
from halftrek.queries.types import (
    Arithmetic,
    Composite,
    Counterfactual,
    DirectEffect,
    Distribution,
    ErrorCovariance,
    Interventional,
    PathEffect,
    Potential,
    Probability,
    Quantile,
    Query,
    Standardized,
    Statistic,
    ThroughEffect,
    TotalEffect,
)

__all__ = [
    "Arithmetic",
    "Composite",
    "Counterfactual",
    "DirectEffect",
    "Distribution",
    "ErrorCovariance",
    "Interventional",
    "PathEffect",
    "Potential",
    "Probability",
    "Quantile",
    "Query",
    "Standardized",
    "Statistic",
    "ThroughEffect",
    "TotalEffect",
    "check_query",
    "evaluate",
    "variables_of",
]
