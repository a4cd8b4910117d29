"""From the information: the delta method for large samples; for few rows Student's t, equation by equation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from halftrek.estimation import Fitted
from halftrek.inference.how import How
from halftrek.inference.information.base import kind_of_data
from halftrek.inference.intervals.base import IntervalKind, Spread
from halftrek.queries.gradients import Gradient

if TYPE_CHECKING:
    from halftrek.inference.standard_errors.factor import Factor, Pieces


class Delta(IntervalKind):
    """Normal theory: standard errors from the information, normal quantiles."""

    name = "delta"
    words = "normal theory: from the information, by the delta method"
    rests_on = (
        "Intervals are from normal theory: they hold for errors that are close to normal, or large n with "
        'light tails; interval="robust" does without.'
    )

    def spread(self, fit: Fitted, gradients: Sequence[Gradient], how: How) -> Spread:
        errors = np.sqrt(kind_of_data(fit).variances(fit, gradients, how.information) / fit.n)
        return Spread(errors, how.quantile * errors)

    def factor(self, fit: Fitted, slopes: Pieces, how: How) -> Factor:
        from halftrek.inference.standard_errors.factor import expected_factor

        return expected_factor(fit, slopes, how)


class Student(IntervalKind):
    """The observed information, variances divided by rows less parameters, Student's t: exact for a regression."""

    name = "t"
    words = "normal theory for few rows: residual degrees of freedom and Student's t in each equation"
    rests_on = "Intervals are from normal theory: with few rows they hold for errors that are close to normal."

    def spread(self, fit: Fitted, gradients: Sequence[Gradient], how: How) -> Spread:
        data = kind_of_data(fit)
        rests = data.support(fit, gradients, "observed")
        errors, growth = np.sqrt(rests.variance.sum(axis=1)), rests.growth()
        if not data.by_district:  # then it is not the sum over districts
            errors = np.sqrt(data.variances(fit, gradients, how.information) / fit.n)
        with np.errstate(invalid="ignore"):
            grown = np.where(errors == 0.0, 0.0, errors * growth)
            reach = np.where(grown == 0.0, 0.0, grown * rests.quantiles(how.level))
        return Spread(grown, reach, growth**2)

    def factor(self, fit: Fitted, slopes: Pieces, how: How) -> Factor:
        from halftrek.inference.standard_errors.factor import student_factor

        return student_factor(fit, slopes, how)
