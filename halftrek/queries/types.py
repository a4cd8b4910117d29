"""What may be asked, as plain values."""

from __future__ import annotations

from typing import TypeGuard

from halftrek.queries.kinds.distributions import Distribution
from halftrek.queries.kinds.effects import DirectEffect, ErrorCovariance, PathEffect, ThroughEffect, TotalEffect
from halftrek.queries.kinds.terms import Arithmetic, Probability, Quantile, Standardized, Statistic
from halftrek.queries.kinds.variants import Variant
from halftrek.queries.written.writing import Value

__all__ = [
    "Arithmetic",
    "Composite",
    "DirectEffect",
    "Distribution",
    "ErrorCovariance",
    "PathEffect",
    "Plain",
    "Probability",
    "Quantile",
    "Query",
    "Standardized",
    "Statistic",
    "ThroughEffect",
    "TotalEffect",
    "Value",
    "Variant",
    "is_composite",
    "is_intervention",
]

Plain = DirectEffect | TotalEffect | PathEffect | ThroughEffect | ErrorCovariance | Distribution
Composite = Arithmetic | Statistic | Probability | Quantile | Standardized | Distribution
Query = Plain | Composite


def is_intervention(query: object) -> TypeGuard[Distribution]:
    """True for ``P(... | do(...))`` where variables are held and nothing else is changed; also if none are."""
    return isinstance(query, Distribution) and query.asks == "intervention"


def is_composite(query: Query) -> TypeGuard[Composite]:
    """True for numbers of changed worlds, arithmetic with them, and distributions that ask for more than is held."""
    return query.asks == "more" if isinstance(query, Distribution) else isinstance(query, Composite)
