"""What pictures show as seen: the rows themselves, or what their own moments say; never the fitted model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from halftrek.data.columns.shapes import Histogram, Means, histogram, means_along
from halftrek.errors import DataError
from halftrek.inference.evidence.seen import seen_moments, seen_rows
from halftrek.inference.information.base import kind_of_data
from halftrek.models import Gaussian
from halftrek.queries.written.writing import number
from halftrek.reporting.tables import count

if TYPE_CHECKING:
    from halftrek.results.fit import Fit

ENOUGH = 30  # rows with exactly the values asked for; fewer make no picture, and the regression of all stands for them


def seen_density(fit: Fit, variable: str, given: Mapping[str, float] | None = None) -> tuple[str, Gaussian | Histogram]:
    """A variable in the rows, or in those with given values of others, and the words for it.

    Bars where the rows are at hand. Otherwise the normal curve with the mean and the spread that they have, and for
    given values of which there are hardly any rows, that of their regression.
    """
    known = dict(given or {})
    moments = seen_moments(fit, (variable, *known))
    conditions = ", ".join(f"{v} = {number(float(x))}" for v, x in known.items())
    bars, rows = None, seen_rows(fit, moments)
    if rows is not None:
        try:
            bars = histogram(rows, moments, tuple(known.values()))
        except DataError:  # the rows are gone, or not those of the fit any more: their moments are left
            bars = None
    if bars is not None and (bars.n >= ENOUGH or not known):
        having = f" that have {variable}" if not kind_of_data(fit).moments_suffice else ""
        return (
            f"the {count(bars.n)} rows with {conditions}" if conditions else f"all {count(bars.n)} rows{having}"
        ), bars
    normal = Gaussian(moments.names, moments.mean, moments.cov).given(known).marginal(variable)
    if known:
        return f"the data at {conditions} (their regression, as a normal curve)", normal
    return "the data (a normal curve with their mean and spread)", normal


def seen_line(fit: Fit, cause: str, outcome: str, given: Mapping[str, float]) -> tuple[float, float]:
    """Intercept and slope of the regression of the outcome in the rows on the cause, at given values of others."""
    moments = seen_moments(fit, (outcome, cause, *given))
    joint = Gaussian(moments.names, moments.mean, moments.cov)
    at_zero, at_one = (float(joint.given({cause: x, **given}).marginal(outcome).mean[0]) for x in (0.0, 1.0))
    return at_zero, at_one - at_zero


def seen_sd(fit: Fit, cause: str, outcome: str, given: Mapping[str, float]) -> float:
    """How far rows lie from that regression, whatever the value of the cause: a standard deviation."""
    moments = seen_moments(fit, (outcome, cause, *given))
    joint = Gaussian(moments.names, moments.mean, moments.cov)
    return float(joint.given({cause: 0.0, **given}).marginal(outcome).sd[0])


def seen_means(fit: Fit, cause: str, outcome: str) -> Means | None:
    """Means of the outcome in groups of rows along the cause; None where no rows are at hand."""
    moments = seen_moments(fit, (cause, outcome))
    rows = seen_rows(fit, moments)
    try:
        return None if rows is None else means_along(rows, moments)
    except DataError:
        return None
