"""From the information: the delta method, for large samples."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from halftrek.estimation import Fit
from halftrek.inference.factor import Factor, Pieces, expected_factor
from halftrek.inference.how import How
from halftrek.inference.information.base import kind_of_data
from halftrek.inference.intervals.base import IntervalKind, Spread
from halftrek.queries.gradients import Gradient


class Delta(IntervalKind):
    """Normal theory: standard errors from the information, normal quantiles."""

    name = "delta"
    words = "normal theory: from the information, by the delta method"
    rests_on = (
        "Intervals are from normal theory: they hold for errors that are close to normal, or large n with "
        'light tails; interval="robust" does without.'
    )

    def spread(self, fit: Fit, gradients: Sequence[Gradient], how: How) -> Spread:
        errors = np.sqrt(kind_of_data(fit).variances(fit, gradients, how.information) / fit.n)
        return Spread(errors, how.quantile * errors)

    def factor(self, fit: Fit, slopes: Pieces, how: How) -> Factor:
        return expected_factor(fit, slopes, how)
