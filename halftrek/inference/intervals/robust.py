"""Sandwiches: from rows, for data of any distribution and in clusters; from moments alone, for a wrong model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from halftrek.arrays import Floats
from halftrek.estimation import Fitted
from halftrek.inference.evidence.evidence import Support, student_quantile, support
from halftrek.inference.factor import Factor, Pieces, Slopes, moment_factor, row_factor
from halftrek.inference.how import How
from halftrek.inference.information.influence import influence
from halftrek.inference.information.robust import count_clusters, gradient_errors, is_clustered
from halftrek.inference.intervals.base import IntervalKind, Spread
from halftrek.queries.gradients import Gradient


class Robust(IntervalKind):
    """What each row (or cluster) contributes to the answer, squared; Student's t where clusters are few."""

    name = "robust"
    words = "robust: from the sandwich, also right for data that are not normal"
    rests_on = "Intervals do not need normal errors."
    needs_rows = True
    counts_clusters = True
    for_misfit = True

    def spread(self, fit: Fitted, gradients: Sequence[Gradient], how: How) -> Spread:
        errors = gradient_errors(fit, gradients)
        return Spread(errors, errors * row_quantiles(fit, support(fit, gradients), how))

    def factor(self, fit: Fitted, slopes: Pieces, how: How) -> Factor:
        pieces = [slopes] if isinstance(slopes, Slopes) else list(slopes)
        spread, open_parts = row_factor(fit, pieces)
        return Factor.with_quantile(spread, _of_pieces(fit, pieces, how), open_parts)


class Sandwich(IntervalKind):
    """Normal rows with the covariance of the data, not the model's: the width does not rely on the model."""

    name = "sandwich"
    words = "sandwich with the covariance of the data: its width does not rely on what the graph forbids"
    rests_on = (
        "The width of intervals allows for a graph that is wrong somewhere; errors are taken for close to normal."
    )
    for_misfit = True

    def spread(self, fit: Fitted, gradients: Sequence[Gradient], how: How) -> Spread:
        variances = influence(fit, tuple(gradients)).normal_moments(fit.moments.cov)[0]
        errors = np.sqrt(variances / fit.n)
        return Spread(errors, errors * few_rows_quantiles(support(fit, gradients), how))

    def factor(self, fit: Fitted, slopes: Pieces, how: How) -> Factor:
        pieces = [slopes] if isinstance(slopes, Slopes) else list(slopes)
        spread, open_parts = moment_factor(fit, pieces)
        return Factor.with_quantile(spread, _of_pieces(fit, pieces, how), open_parts)


def few_rows_quantiles(rests: Support, how: How) -> Floats:
    """Quantiles that make up for few rows; the normal one where rows are plenty."""
    wide = rests.growth() * rests.quantiles(how.level)
    return np.where(rests.plenty(how.level), how.quantile, wide)


def row_quantiles(fit: Fitted, rests: Support, how: How) -> Floats:
    """The same where rows may be in clusters: then also those of t with G - 1 degrees of freedom."""
    found = few_rows_quantiles(rests, how)
    if not is_clustered(fit) or fit.rows is None:
        return found
    return np.maximum(found, student_quantile(how.level, np.array(count_clusters(fit) - 1.0)))


def _of_pieces(fit: Fitted, pieces: Sequence[Slopes], how: How) -> Floats:
    size = len(fit.model.names)
    return np.concatenate([row_quantiles(fit, support(fit, tuple(piece.single(size))), how) for piece in pieces])
