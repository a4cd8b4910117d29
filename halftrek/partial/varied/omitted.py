"""A regression with something left out: closed forms of Cinelli and Hazlett (2020, "Making sense of sensitivity").

With f the partial correlation r of cause and effect as ``r / sqrt(1 - r²)``, which is t over the root of the degrees of
freedom, a hidden cause that explains the share v of both takes the effect to zero where ``v / sqrt(1 - v) = f``. The
robustness value is that v, ``(sqrt(f⁴ + 4 f²) - f²) / 2``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.estimation import Fitted
from halftrek.inference.evidence.evidence import student_quantile
from halftrek.partial.assumptions.checks import covariates
from halftrek.queries import DirectEffect, Query, TotalEffect, evaluate

SAME = 1e-8  # share by which a slope and an answer that are one differ by rounding


def robustness_value(correlation: float) -> float:
    """The share that a hidden cause has to explain of both ends, for their errors to have this correlation."""
    r2 = correlation * correlation
    return 1.0 if r2 >= 1.0 else _value_of(r2 / (1.0 - r2))


def _value_of(f2: float) -> float:
    return 0.5 * (float(np.sqrt(f2 * f2 + 4.0 * f2)) - f2)


@dataclass(frozen=True)
class Regression:
    """The slope of a cause in the regression of an effect on it and on others, by least squares."""

    cause: str
    effect: str
    others: tuple[str, ...]
    slope: float
    se: float
    df: float
    correlation: float  # of cause and effect, given the others

    def strength(self, target: float = 0.0) -> float:
        """f: how far the slope is from a target, in standard errors per root of the degrees of freedom."""
        return abs(self.slope - target) / (self.se * float(np.sqrt(self.df)))

    def value(self, target: float = 0.0) -> float:
        """The robustness value: the share of cause and effect that takes the slope to the target."""
        return _value_of(self.strength(target) ** 2)

    def lost(self, level: float, target: float = 0.0) -> tuple[float, float]:
        """Where the interval begins to hold the target: correlation of errors, and robustness value."""
        f, critical = self.strength(target), self._critical(level)
        if f <= critical:
            return 0.0, 0.0
        k = f - critical
        value = (f * f - critical * critical) / (1.0 + f * f) if f * critical > 1.0 else _value_of(k * k)
        return k / float(np.sqrt(1.0 + k * k)), value

    def _critical(self, level: float) -> float:
        """Student's t with one degree of freedom less, for the hidden cause that would have been in the regression."""
        return float(student_quantile(level, np.array(self.df - 1.0))) / float(np.sqrt(self.df - 1.0))

    def quantile(self, level: float) -> float:
        """How many standard errors an interval reaches."""
        return float(student_quantile(level, np.array(self.df)))

    def bias(self, first: float, second: float) -> float:
        """How far a hidden cause moves the slope that explains these shares of cause and effect."""
        return self.se * float(np.sqrt(self.df * first * second / (1.0 - first)))

    def adjusted_se(self, first: float, second: float) -> float:
        """The standard error of the slope, had the hidden cause been in the regression."""
        return self.se * float(np.sqrt((1.0 - second) / (1.0 - first) * self.df / (self.df - 1.0)))


def regression_of(fitted: Fitted, cause: str, effect: str) -> Regression:
    """The regression of the effect on the cause and on causes of both that the cause does not act on."""
    others = covariates(fitted.graph, cause, effect)
    names = fitted.model.names
    at = [names.index(v) for v in (cause, effect, *others)]
    left = _residual(fitted.model.cov[np.ix_(at, at)])
    (xx, xy), (_, yy) = left
    df = fitted.n - len(others) - 2.0
    rest = yy - xy * xy / xx
    se = float(np.sqrt(rest / (xx * df))) if df > 0.0 else float("nan")
    return Regression(cause, effect, others, float(xy / xx), se, df, float(xy / np.sqrt(xx * yy)))


def regression_behind(fitted: Fitted, query: Query) -> Regression | None:
    """The regression whose slope the answer is; None if it is no such slope."""
    if not isinstance(query, DirectEffect | TotalEffect) or query.cause == query.effect:
        return None
    found = regression_of(fitted, query.cause, query.effect)
    answer = evaluate(query, fitted.model)
    assert isinstance(answer, float)
    size = abs(found.slope) + abs(answer)
    return found if found.df > 1.0 and abs(found.slope - answer) <= SAME * size else None


def _residual(cov: Floats) -> Floats:
    """The covariance of the first two given the others."""
    if len(cov) == 2:
        return cov
    return np.asarray(cov[:2, :2] - cov[:2, 2:] @ np.linalg.solve(cov[2:, 2:], cov[2:, :2]))
