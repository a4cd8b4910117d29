"""For few rows: residual degrees of freedom and quantiles of Student's t, equation by equation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from halftrek.estimation import Fit
from halftrek.inference.factor import Factor, Pieces, student_factor
from halftrek.inference.how import How
from halftrek.inference.information.base import kind_of_data
from halftrek.inference.intervals.base import IntervalKind, Spread
from halftrek.queries.gradients import Gradient


class Student(IntervalKind):
    """The observed information, variances divided by rows less parameters, Student's t: exact for a regression."""

    name = "t"
    words = "normal theory for few rows: residual degrees of freedom and Student's t in each equation"
    rests_on = "Intervals are from normal theory: with few rows they hold for errors that are close to normal."

    def spread(self, fit: Fit, gradients: Sequence[Gradient], how: How) -> Spread:
        kind = kind_of_data(fit)
        rests = kind.support(fit, gradients, "observed")
        if kind.by_district:  # what it rests on is all there is
            errors = np.sqrt(rests.variance.sum(axis=1))
        else:
            errors = np.sqrt(kind.variances(fit, gradients, how.information) / fit.n)
        growth = rests.growth()
        with np.errstate(invalid="ignore"):
            grown = np.where(errors == 0.0, 0.0, errors * growth)
            reach = np.where(grown == 0.0, 0.0, grown * rests.quantiles(how.level))
        return Spread(grown, reach, growth**2)

    def factor(self, fit: Fit, slopes: Pieces, how: How) -> Factor:
        return student_factor(fit, slopes, how)
