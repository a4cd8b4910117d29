"""Bias, root mean square error and efficiency from estimates over many samples."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.errors import ConvergenceError
from halftrek.models import CGLSCM, frozen
from halftrek.reproduction.bound import Noise, cramer_rao
from halftrek.reproduction.results import Accuracy


def accuracy_of(
    original: CGLSCM,
    noise: Noise,
    do: Mapping[str, float],
    outcome: str,
    part: int,
    quantity: str,
    estimates: Floats,
    rows: int,
) -> Accuracy:
    """Accuracy of estimates of the mean (``part`` 0) or the variance (1) of an outcome under an intervention."""
    world = original.do(do).distribution(outcome)
    truth = float((world.mean, world.variance)[part][0])
    bound = cramer_rao(original, noise, do, outcome, rows)[part]
    good = estimates[np.isfinite(estimates)]
    if len(good) < 2:
        raise ConvergenceError(
            f"only {len(good)} of {len(estimates)} samples of {rows} rows have a maximum of the likelihood with "
            f"{noise} noise variances. Use more rows"
        )
    spread, relative_error = variance_with_error(good)
    return Accuracy(
        quantity=quantity,
        noise=noise,
        truth=truth,
        bias=float(good.mean() - truth),
        bias_error=float(np.sqrt(spread / len(good))),
        rmse=float(np.sqrt(np.mean((good - truth) ** 2))),
        bound=float(np.sqrt(bound)),
        efficiency=bound / spread,
        efficiency_error=bound / spread * relative_error,
        used=len(good),
        estimates=frozen(estimates),
    )


def variance_with_error(values: Floats) -> tuple[float, float]:
    """The variance of a sample and the relative standard error of it: ``sqrt((kurtosis - (k-3)/(k-1)) / k)``."""
    k = len(values)
    spread = float(np.var(values, ddof=1))
    kurtosis = float(np.mean((values - values.mean()) ** 4)) / float(np.var(values)) ** 2
    return spread, float(np.sqrt(max(kurtosis - (k - 3) / (k - 1), 0.0) / k))
