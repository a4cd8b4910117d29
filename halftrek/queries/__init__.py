"""What may be asked of a model, and what a model answers."""

from halftrek.queries.evaluate import check_query, evaluate, variables_of
from halftrek.queries.types import (
    DirectEffect,
    ErrorCovariance,
    Interventional,
    PathEffect,
    Query,
    ThroughEffect,
    TotalEffect,
)

__all__ = [
    "DirectEffect",
    "ErrorCovariance",
    "Interventional",
    "PathEffect",
    "Query",
    "ThroughEffect",
    "TotalEffect",
    "check_query",
    "evaluate",
    "variables_of",
]
