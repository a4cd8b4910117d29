"""An answer with its uncertainty: values, standard errors, intervals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Literal, get_args

import numpy as np

from halftrek.errors import InputError
from halftrek.estimation import Fit
from halftrek.inference.bootstrap import bootstrap_spread
from halftrek.inference.delta import standard_errors
from halftrek.inference.information import Kind
from halftrek.inference.profile import profile_intervals
from halftrek.inference.robust import robust_errors
from halftrek.model import Floats, Gaussian
from halftrek.queries import Query
from halftrek.queries.gradients import Scale, scale_of

Interval = Literal["delta", "robust", "bootstrap", "parametric", "profile"]
Ends = Literal["percentile", "bca"]


@dataclass(frozen=True)
class How:
    """How uncertainty is computed.

    - ``interval``: "delta" (from the information), "robust" (sandwich: right for data that are not normal, and by
      cluster), "bootstrap" (rows drawn again), "parametric" (rows drawn from the fitted model), "profile" (likelihood);
    - ``information``: "expected" or "observed"; None: what fits the data, observed where values are missing;
    - ``replicates``, ``ends`` ("percentile" or "bca") and ``random_state`` are for the bootstraps;
      ``progress(done, total)`` is called while they are made.
    """

    interval: Interval = "delta"
    level: float = 0.95
    information: Kind | None = None
    replicates: int = 1000
    ends: Ends = "percentile"
    random_state: int = 0
    progress: Callable[[int, int], None] | None = None

    def __post_init__(self) -> None:
        if not 0.0 < self.level < 1.0:
            raise InputError(f"level must lie between 0 and 1, for instance 0.95, not {self.level!r}")
        if self.interval not in get_args(Interval):
            raise InputError(f"interval must be one of {', '.join(get_args(Interval))}, not {self.interval!r}")
        if self.information not in (None, *get_args(Kind)):
            raise InputError(f"information must be 'expected' or 'observed', not {self.information!r}")
        if self.ends not in get_args(Ends):
            raise InputError(f"ends must be 'percentile' or 'bca', not {self.ends!r}")
        if self.replicates < 2:
            raise InputError(f"replicates must be at least 2, not {self.replicates}")

    @property
    def quantile(self) -> float:
        """The point of the standard normal that leaves half of what is not covered above it."""
        return NormalDist().inv_cdf(0.5 + self.level / 2.0)


@dataclass(frozen=True, eq=False)
class Estimate:
    """Values (an effect, or a mean for each outcome) and variances of the outcomes, with errors and intervals.

    Intervals have one row ``(low, high)`` each. ``notes`` are what to know before trusting them.
    """

    values: Floats
    errors: Floats
    intervals: Floats
    variances: Floats
    variance_errors: Floats
    variance_intervals: Floats
    level: float = 0.95
    kind: Interval = "delta"
    notes: tuple[str, ...] = ()
    clustered: bool = False  # clusters of rows are taken for independent, not rows


def estimate(fit: Fit, query: Query, result: float | Gaussian, how: How | None = None) -> Estimate:
    """The uncertainty of a fitted model's answer ``result``."""
    how = How() if how is None else how
    if isinstance(result, Gaussian):
        values, variances = result.mean, result.variance
    else:
        values, variances = np.array([result]), np.zeros(0)
    if how.interval == "bootstrap" or how.interval == "parametric":
        return _bootstrap_estimate(fit, query, values, variances, how.interval, how)
    if how.interval == "robust":
        errors, variance_errors = robust_errors(fit, query)
    else:
        errors, variance_errors = standard_errors(fit, query, information=how.information)
    found = normal_estimate(values, errors, variances, variance_errors, how, scale=scale_of(query))
    if how.interval == "profile":
        of_values, of_variances, notes = profile_intervals(fit, query, (len(values), len(variances)), how.quantile**2)
        found = replace(found, intervals=of_values, variance_intervals=of_variances, notes=tuple(notes))
    return found


def _bootstrap_estimate(
    fit: Fit, query: Query, values: Floats, variances: Floats, kind: Literal["bootstrap", "parametric"], how: How
) -> Estimate:
    of_values, of_variances, notes = bootstrap_spread(
        fit,
        query,
        (values, variances),
        kind=kind,
        level=how.level,
        replicates=how.replicates,
        ends=how.ends,
        random_state=how.random_state,
        progress=how.progress,
    )
    return Estimate(
        values=values,
        errors=of_values.errors,
        intervals=of_values.intervals,
        variances=variances,
        variance_errors=of_variances.errors,
        variance_intervals=of_variances.intervals,
        level=how.level,
        kind=how.interval,
        notes=notes,
    )


def normal_estimate(
    values: Floats,
    errors: Floats,
    variances: Floats,
    variance_errors: Floats,
    how: How,
    notes: tuple[str, ...] = (),
    *,
    scale: Scale = "plain",
) -> Estimate:
    """Intervals from standard errors: symmetric on the scale of the values, and of logarithms for variances."""
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = np.exp(how.quantile * np.where(variances > 0, variance_errors / variances, 0.0))
    return Estimate(
        values=values,
        errors=errors,
        intervals=_ends_on(scale, values, how.quantile * errors),
        variances=variances,
        variance_errors=variance_errors,
        variance_intervals=np.stack([variances / factor, variances * factor], axis=1),
        level=how.level,
        kind=how.interval,
        notes=notes,
    )


def _ends_on(scale: Scale, values: Floats, reach: Floats) -> Floats:
    """Values plus and minus their reach, symmetric where they are closer to normal: inside what they can be.

    A value at the border of its range (a probability of 0, no variance) is sure and stays there.
    """
    x = np.asarray(values, dtype=float)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        match scale:
            case "log":
                factor = np.exp(reach / x)
                ends = np.stack([x / factor, x * factor], axis=1)
                inside = x > 0.0
            case "logit":
                factor = np.exp(reach / (x * (1.0 - x)))
                odds = x / (1.0 - x)
                ends = np.stack([odds / factor / (1.0 + odds / factor), 1.0 / (1.0 + 1.0 / (odds * factor))], axis=1)
                inside = (x > 0.0) & (x < 1.0)
            case "atanh":
                step = reach / (1.0 - x**2)
                ends = np.tanh(np.stack([np.arctanh(x) - step, np.arctanh(x) + step], axis=1))
                inside = np.abs(x) < 1.0
            case _:
                return np.stack([x - reach, x + reach], axis=1)
    return np.where(inside[:, None], ends, np.stack([x - reach, x + reach], axis=1))
