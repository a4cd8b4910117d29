"""What may be asked of a model."""

from halftrek.queries.types import (
    DirectEffect,
    ErrorCovariance,
    Interventional,
    PathEffect,
    Query,
    ThroughEffect,
    TotalEffect,
)

__all__ = ["DirectEffect", "ErrorCovariance", "Interventional", "PathEffect", "Query", "ThroughEffect", "TotalEffect"]
