"""How much likelihood is lost at a mean and covariance: of complete moments, or of rows by what they lack."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.data.missing.likelihood import Slope
from halftrek.estimation import Fitted
from halftrek.inference.information.base import kind_of_data


@dataclass(frozen=True, eq=False)
class Deviance:
    """``2 (best log-likelihood of the graph - log-likelihood)`` of the rows behind a fit."""

    fit: Fitted
    best: float

    @staticmethod
    def of(fit: Fitted) -> Deviance:
        """From a fit, at whose mean and covariance nothing is lost."""
        p, model = len(fit.graph.observed), fit.model
        return Deviance(fit, kind_of_data(fit).slope(fit, np.array(model.mean[:p]), np.array(model.cov[:p, :p])).value)

    def at(self, mean: Floats, cov: Floats) -> tuple[float, Floats, Floats]:
        """The loss, and its derivatives in the mean and in the covariance.

        Hidden variables that have causes stand behind the observed ones, and nothing is lost by theirs.
        """
        p = len(self.fit.graph.observed)
        found: Slope = kind_of_data(self.fit).slope(self.fit, mean[:p], cov[:p, :p])
        by_mean, by_cov = np.zeros_like(mean), np.zeros_like(cov)
        by_mean[:p], by_cov[:p, :p] = found.mean, found.cov
        return 2.0 * (self.best - found.value), -2.0 * by_mean, -2.0 * by_cov
