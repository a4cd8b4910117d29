"""An answer with its uncertainty: values, standard errors, intervals."""

from __future__ import annotations

import numpy as np

from halftrek.estimation import Fitted
from halftrek.inference.how import How
from halftrek.inference.intervals import Estimate, kind_of
from halftrek.models import Gaussian
from halftrek.queries import Query

__all__ = ["Estimate", "How", "estimate"]


def estimate(fit: Fitted, query: Query, result: float | Gaussian, how: How | None = None) -> Estimate:
    """The uncertainty of a fitted model's answer ``result``."""
    how = How() if how is None else how
    if isinstance(result, Gaussian):
        values, variances = result.mean, result.variance
    else:
        values, variances = np.array([result]), np.zeros(0)
    return kind_of(how).estimate(fit, query, values, variances, how)
