"""What may be asked of a model, and what a model answers."""

from halftrek.queries.evaluate import check_query, evaluate, variables_of
from halftrek.queries.types import (
    Arithmetic,
    Composite,
    DirectEffect,
    Distribution,
    ErrorCovariance,
    PathEffect,
    Probability,
    Quantile,
    Query,
    Standardized,
    Statistic,
    ThroughEffect,
    TotalEffect,
    Variant,
)

Interventional, Counterfactual = Distribution.after, Distribution.across  # once types of their own

__all__ = [
    "Arithmetic",
    "Composite",
    "Counterfactual",
    "DirectEffect",
    "Distribution",
    "ErrorCovariance",
    "Interventional",
    "PathEffect",
    "Probability",
    "Quantile",
    "Query",
    "Standardized",
    "Statistic",
    "ThroughEffect",
    "TotalEffect",
    "Variant",
    "check_query",
    "evaluate",
    "variables_of",
]
