"""Intervals of a regression that had a hidden cause in it: from its least squares, with what speaks against these."""

from __future__ import annotations

from halftrek.estimation import Fitted
from halftrek.inference.evidence.rows_behind import sampled
from halftrek.inference.information.base import kind_of_data
from halftrek.inference.information.robust import is_clustered
from halftrek.notes import Note, note


def adjusted_interval(estimate: float, se: float, quantile: float) -> tuple[float, float]:
    """Symmetric about the estimate, by the quantile of Student's t that the regression would have."""
    return estimate - quantile * se, estimate + quantile * se


def least_squares_notes(fit: Fitted) -> tuple[Note, ...]:
    """What speaks against standard errors of least squares: rows that are not independent, values that are missing."""
    found = []
    if is_clustered(fit) or sampled(fit):
        found.append(note("adjusted by clusters"))
    if not kind_of_data(fit).moments_suffice:
        found.append(note("least squares of the model", rows=fit.n))
    return tuple(found)
