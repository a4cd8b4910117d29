"""What informs a number: rows that have the variables, less the parameters of the equations that it rests on.

The variance of an answer is a sum over districts. In a regression with k parameters on n rows the large-sample variance
has to grow by ``n / (n - k)``, and the interval takes the quantile of t with ``n - k`` degrees of freedom. An answer
that rests on several districts takes ``reach² = sum of t²_d V_d``, which covers at least what it promises for a sum of
independent estimates (Banerjee 1960), is exact for one, and is the usual interval where rows are plenty.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from statistics import NormalDist

import numpy as np

from halftrek.bottom.arrays import Flags, Floats
from halftrek.estimation import Fitted
from halftrek.estimation.plan import Plan, make_plan
from halftrek.inference.information.base import kind_of_data
from halftrek.inference.information.information import Kind
from halftrek.inference.standard_errors.delta import district_variances
from halftrek.queries.gradients import Gradient

PLENTY = 1.06  # growth of an interval up to which rows count as plenty: one of 95 % covers 93.6 % without it


@dataclass(frozen=True, eq=False)
class Support:
    """What numbers rest on: a line for each number, a column for each district.

    ``variance`` is what the district adds to the variance of the number, ``rows`` how many rows inform it there,
    ``parameters`` (one a district) those of its largest equation.
    """

    variance: Floats
    rows: Floats
    parameters: Floats

    @cached_property
    def free(self) -> Floats:
        """Degrees of freedom: rows less parameters."""
        return np.asarray(self.rows - self.parameters)

    @cached_property
    def corrected(self) -> Floats:
        """The variances with residual degrees of freedom; infinite where there are none."""
        with np.errstate(divide="ignore", invalid="ignore"):
            grown = np.where(self.free > 0.0, self.variance * self.rows / self.free, np.inf)
        return np.asarray(np.where(self.variance == 0.0, 0.0, grown))

    def growth(self) -> Floats:
        """By how much a large-sample standard error has to grow."""
        total = self.variance.sum(axis=1)
        return np.asarray(np.sqrt(ratio(self.corrected.sum(axis=1), total)))

    def quantiles(self, level: float) -> Floats:
        """How many (grown) standard errors an interval reaches to each side."""
        alike = len(self.free) > 1 and bool((self.free == self.free[:1]).all())  # thousands of numbers, equal rows
        squares = student_quantile(level, self.free[:1] if alike else self.free) ** 2
        with np.errstate(invalid="ignore"):
            reach = np.where(self.corrected == 0.0, 0.0, squares * self.corrected).sum(axis=1)
            total = self.corrected.sum(axis=1)
        found = np.sqrt(ratio(reach, total))
        return np.asarray(np.where(np.isfinite(total), np.where(total > 0.0, found, _normal(level)), np.inf))

    def stretch(self, level: float) -> Floats:
        """By how much an interval is wider than one for large samples."""
        return np.asarray(self.growth() * self.quantiles(level) / _normal(level))

    def plenty(self, level: float = 0.95) -> Flags:
        """Where an interval for large samples is right as it is."""
        most = largest_quantile(level, self.free.min(axis=1, initial=np.inf))
        if (self.growth() * most < PLENTY * _normal(level)).all():  # as mostly: no exact quantile is needed to know it
            return np.ones(len(self.variance), dtype=bool)
        return np.asarray(self.stretch(level) < PLENTY)

    def narrowest(self) -> tuple[Floats, Floats]:
        """Rows and parameters where fewest degrees of freedom are left, for each number."""
        if not self.variance.shape[1]:  # data do not move it
            return np.full(len(self.variance), np.inf), np.zeros(len(self.variance))
        at = np.argmin(np.where(self.variance > 0.0, self.free, np.inf), axis=1)
        lines = np.arange(len(at))
        return self.rows[lines, at], np.broadcast_to(self.parameters, self.rows.shape)[lines, at]

    def take(self, places: slice) -> Support:
        """Some of the numbers."""
        return replace(self, variance=self.variance[places], rows=self.rows[places])


def support(fit: Fitted, gradients: Sequence[Gradient]) -> Support:
    """What numbers with these gradients rest on."""
    return kind_of_data(fit).support(fit, gradients, None)


def district_support(fit: Fitted, gradients: Sequence[Gradient], information: Kind) -> Support:
    """The same where moments are complete."""
    sizes = equation_sizes(make_plan(fit.graph, fit.model.names, fit.options))
    parts = district_variances(fit, gradients, information)
    variance = np.array([spread for _, spread in parts]).reshape(len(parts), len(gradients)).T / fit.n
    parameters = np.array([sizes[variables] for variables, _ in parts], dtype=float)
    return Support(variance, np.full(variance.shape, fit.n), parameters)


def one_equation(rows: float, parameters: int) -> Support:
    """What a parameter of one equation rests on."""
    one = np.ones((1, 1))
    return Support(one, rows * one, np.array([float(parameters)]))


@lru_cache(maxsize=64)
def equation_sizes(plan: Plan) -> dict[tuple[int, ...], int]:
    """Parameters of the largest equation of each district: regressors, error covariances, loadings, the intercept."""
    found = {}
    for task in plan.every_task:
        shape = task.shape
        count = np.zeros(shape.size, dtype=np.intp)
        for j in (*shape.column, *(v for pair in shape.pairs for v in pair), *(j for _, j in shape.loadings)):
            count[j] += 1
        found[task.variables] = 1 + int(count.max(initial=0))
    return found


def student_quantile(level: float, free: Floats) -> Floats:
    """The point of Student's t that leaves half of what is not covered above it; infinite without freedom."""
    from scipy.special import stdtrit

    with np.errstate(invalid="ignore"):
        found = stdtrit(np.maximum(free, 1e-3), 0.5 + level / 2.0)
    return np.where(free > 0.0, np.where(np.isinf(free), _normal(level), found), np.inf)


def largest_quantile(level: float, free: Floats) -> Floats:
    """A bound of Student's quantile, close for many degrees of freedom (Wallace 1959): no library has to be loaded."""
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        found = np.sqrt(free * np.expm1(_normal(level) ** 2 / (free - 0.5)))
    return np.where(free > 0.5, found, np.inf)


def two_sided(z: Floats, quantile: Floats | float, level: float) -> Floats:
    """The chance of an estimate farther from zero, where intervals reach ``quantile`` standard errors."""
    from scipy.special import ndtr, stdtr, stdtridf

    away, reach = -np.abs(np.asarray(z, dtype=float)), np.asarray(quantile, dtype=float)
    with np.errstate(invalid="ignore"):
        free = stdtridf(0.5 + level / 2.0, np.clip(reach, _normal(level) * (1.0 + 1e-9), 1e9))
        found = np.where(reach <= _normal(level) * (1.0 + 1e-6), 2.0 * ndtr(away), 2.0 * stdtr(free, away))
    return np.asarray(np.where(np.isinf(reach), np.nan, found))


def _normal(level: float) -> float:
    return NormalDist().inv_cdf(0.5 + level / 2.0)


def ratio(above: Floats, below: Floats) -> Floats:
    """One over the other; 1 where there is nothing below."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(below > 0.0, above / below, 1.0)
