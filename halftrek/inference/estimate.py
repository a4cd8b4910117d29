"""An answer with its uncertainty: values, standard errors, intervals."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from halftrek.errors import InputError
from halftrek.estimation import Fit
from halftrek.inference.delta import standard_errors
from halftrek.inference.information import Kind
from halftrek.model import Floats, Gaussian
from halftrek.queries import Query


@dataclass(frozen=True, eq=False)
class Estimate:
    """Values (an effect, or a mean for each outcome) and variances of the outcomes, with their standard errors."""

    values: Floats
    errors: Floats
    variances: Floats
    variance_errors: Floats
    level: float = 0.95

    @property
    def intervals(self) -> Floats:
        """One row ``(low, high)`` for each value."""
        reach = self._quantile * self.errors
        return np.stack([self.values - reach, self.values + reach], axis=1)

    @property
    def variance_intervals(self) -> Floats:
        """One row for each variance, computed for its logarithm so that no end is negative."""
        with np.errstate(divide="ignore", invalid="ignore"):
            reach = np.exp(self._quantile * np.where(self.variances > 0, self.variance_errors / self.variances, 0.0))
        return np.stack([self.variances / reach, self.variances * reach], axis=1)

    @property
    def _quantile(self) -> float:
        return NormalDist().inv_cdf(0.5 + self.level / 2.0)


def estimate(
    fit: Fit, query: Query, result: float | Gaussian, *, level: float = 0.95, information: Kind = "expected"
) -> Estimate:
    """The uncertainty of a fitted model's answer ``result``, by the delta method."""
    if not 0.0 < level < 1.0:
        raise InputError(f"level must lie between 0 and 1, for instance 0.95, not {level!r}")
    if information not in ("expected", "observed"):
        raise InputError(f"information must be 'expected' or 'observed', not {information!r}")
    errors, variance_errors = standard_errors(fit, query, information=information)
    if isinstance(result, Gaussian):
        return Estimate(result.mean, errors, result.variance, variance_errors, level)
    return Estimate(np.array([result]), errors, np.zeros(0), np.zeros(0), level)
