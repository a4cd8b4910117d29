"""A kind of interval: its name, its words, what it needs, and how far it reaches for numbers with given gradients."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.bottom.choices import Interval
from halftrek.bottom.portable import Portable
from halftrek.estimation import Fitted
from halftrek.inference.evidence.evidence import two_sided
from halftrek.inference.evidence.rows_behind import has_rows
from halftrek.inference.how import How
from halftrek.inference.information.robust import is_clustered
from halftrek.notes import Note
from halftrek.queries import Query
from halftrek.queries.gradients import Gradient, Scale, linearize, scale_of

if TYPE_CHECKING:
    from halftrek.inference.draws.bootstrap import Replicates
    from halftrek.inference.standard_errors.factor import Factor, Piece, Pieces


@dataclass(frozen=True, eq=False)
class Estimate(Portable):
    """Values (an effect, or a mean for each outcome) and variances of the outcomes, with errors and intervals.

    Intervals have one row ``(low, high)`` each. ``kind`` is the kind of interval, ``notes`` are what to know of it.
    """

    values: Floats
    errors: Floats
    intervals: Floats
    variances: Floats
    variance_errors: Floats
    variance_intervals: Floats
    level: float = 0.95
    kind: Interval = "delta"
    notes: tuple[Note, ...] = ()
    clustered: bool = False  # clusters of rows are taken for independent, not rows


@dataclass(frozen=True, eq=False)
class Spread(Portable):
    """Of several numbers: standard errors, how far intervals reach, and by which factor variances are too low."""

    errors: Floats
    reach: Floats
    lift: Floats | None = None


def against_zero(found: Estimate, query: Query) -> Floats:
    """For each value: in standard errors, and the chance to be farther from zero, were it zero; nan where it cannot be.

    Intervals that reach as far to both sides say how many standard errors they take; others are tested as if samples
    were large, as in tables. Variances, standard deviations and probabilities have zero at their border.
    """
    values, errors = np.asarray(found.values, dtype=float), np.asarray(found.errors, dtype=float)
    scale = scale_of(query)
    if scale in ("log", "logit"):
        return np.full((len(values), 2), np.nan)
    normal = NormalDist().inv_cdf(0.5 + found.level / 2.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(errors > 0.0, values / errors, np.nan)
        below, above = values - found.intervals[:, 0], found.intervals[:, 1] - values
        even = (scale == "plain") & (np.abs(above - below) <= 1e-9 * (above + below))
        reach = np.where(even, above / errors, normal)
    return np.stack([z, two_sided(z, reach, found.level)], axis=1)


class IntervalKind(ABC):
    """One way from a fit to intervals; a new one is a class of its own and a line in the registry."""

    name: Interval
    words: str  # for a reader of tables
    rests_on: str  # a sentence on what it assumes
    needs_rows = False
    in_tables = True  # False: each interval takes fits of its own
    counts_clusters = False
    for_misfit = False  # the width does not rely on the model's being right

    @abstractmethod
    def spread(self, fit: Fitted, gradients: Sequence[Gradient], how: How) -> Spread:
        """Standard errors and reach of numbers with these gradients."""

    @abstractmethod
    def factor(self, fit: Fitted, slopes: Pieces, how: How) -> Factor:
        """The same of many numbers at once, with how they vary together."""

    def lengths(self, fit: Fitted, pieces: Iterable[Piece], how: How) -> Iterator[tuple[Floats, Floats]]:
        """Standard errors and reach of many numbers, a piece at a time, without how they vary together."""
        for piece in pieces:
            factor = self.factor(fit, piece, how)
            yield factor.errors(), factor.reaches()

    def replicates(self, fit: Fitted, how: How) -> Replicates | None:  # noqa: ARG002 (as all of its kind are called)
        """Fits of other data sets that tables take their numbers from; None where gradients do."""
        return None

    def estimate(self, fit: Fitted, query: Query, values: Floats, variances: Floats, how: How) -> Estimate:
        """The uncertainty of one answer."""
        found = linearize(query, fit.model)
        spread = self.spread(fit, (*found.values, *found.variances), how)
        return normal_estimate(values, variances, spread, how, scale=scale_of(query), clustered=self.counts(fit))

    def counts_rows(self, fit: Fitted) -> bool:
        """True if the rows are looked at one by one, with their weights and however they spread."""
        return self.counts_clusters and has_rows(fit)

    def counts(self, fit: Fitted) -> bool:
        """True if clusters are what is taken for independent."""
        return self.counts_clusters and is_clustered(fit)


def normal_estimate(
    values: Floats,
    variances: Floats,
    spread: Spread,
    how: How,
    *,
    scale: Scale = "plain",
    clustered: bool = False,
) -> Estimate:
    """Intervals from standard errors: symmetric on the scale of the values, and of logarithms for variances.

    ``spread`` is of the values and then of the variances.
    """
    k = len(values)
    lift = np.ones(len(spread.errors)) if spread.lift is None else spread.lift
    assert how.interval is not None
    return Estimate(
        values=values,
        errors=spread.errors[:k],
        intervals=ends_on(scale, values, spread.reach[:k], lift[:k]),
        variances=variances,
        variance_errors=spread.errors[k:],
        variance_intervals=ends_on("log", variances, spread.reach[k:], lift[k:]),
        level=how.level,
        kind=how.interval,
        clustered=clustered,
    )


def border_of(scale: Scale) -> tuple[float, float]:
    """The least and the largest value of an answer with this scale."""
    return {"log": (0.0, np.inf), "logit": (0.0, 1.0), "atanh": (-1.0, 1.0)}.get(scale, (-np.inf, np.inf))


def ends_on(scale: Scale, values: Floats, reach: Floats, lift: Floats | float = 1.0) -> Floats:
    """Values plus and minus their reach, symmetric where they are closer to normal: inside what they can be.

    A value at the border of its range (a probability of 0, no variance) stays there. ``lift`` is the factor by which
    a variance of few rows is estimated too low.
    """
    x = np.asarray(values, dtype=float)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        match scale:
            case "log":
                factor = np.exp(reach / x)
                ends = np.stack([x * lift / factor, x * lift * factor], axis=1)
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
