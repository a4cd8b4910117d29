"""What may be asked of a model, and what a model answers."""

from halftrek.queries.evaluate import check_query, evaluate, variables_of
from halftrek.queries.types import (
    Counterfactual,
    DirectEffect,
    ErrorCovariance,
    Interventional,
    PathEffect,
    Potential,
    Query,
    ThroughEffect,
    TotalEffect,
)

__all__ = [
    "Counterfactual",
    "DirectEffect",
    "ErrorCovariance",
    "Interventional",
    "PathEffect",
    "Potential",
    "Query",
    "ThroughEffect",
    "TotalEffect",
    "check_query",
    "evaluate",
    "variables_of",
]
