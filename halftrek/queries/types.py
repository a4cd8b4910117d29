"""What may be asked, as plain values."""

from __future__ import annotations

from halftrek.queries.kinds.distributions import Counterfactual, Interventional
from halftrek.queries.kinds.effects import DirectEffect, ErrorCovariance, PathEffect, ThroughEffect, TotalEffect
from halftrek.queries.kinds.terms import Arithmetic, Distribution, Probability, Quantile, Standardized, Statistic
from halftrek.queries.kinds.variants import Variant
from halftrek.queries.written.writing import Value

__all__ = [
    "Arithmetic",
    "Composite",
    "Counterfactual",
    "DirectEffect",
    "Distribution",
    "ErrorCovariance",
    "Interventional",
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
]

Plain = DirectEffect | TotalEffect | PathEffect | ThroughEffect | ErrorCovariance | Interventional | Counterfactual
Composite = Arithmetic | Statistic | Probability | Quantile | Standardized | Distribution
Query = Plain | Composite
