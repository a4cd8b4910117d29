"""Sandwiches: from rows, for data of any distribution and in clusters; from moments alone, for a wrong model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.bottom.choices import Interval
from halftrek.estimation import Fitted
from halftrek.inference.evidence.evidence import Support, student_quantile, support
from halftrek.inference.how import How
from halftrek.inference.information.base import kind_of_data
from halftrek.inference.information.edge_slopes import EdgeSlopes
from halftrek.inference.information.influence import whole_forms
from halftrek.inference.information.robust import count_clusters, gradient_errors, is_clustered, rows_needed
from halftrek.inference.information.score_squares import Squares, normal_squares, row_squares, sandwich_errors
from halftrek.inference.intervals.base import IntervalKind, Spread
from halftrek.inference.standard_errors.factor import Factor, Piece, Pieces, Slopes, moment_factor, row_factor
from halftrek.queries.gradients import Gradient


class Robust(IntervalKind):
    """What each row (or cluster) contributes to the answer, squared; Student's t where clusters are few."""

    name: Interval = "robust"
    words = "robust: from the sandwich, also right for data that are not normal"
    rests_on = "Intervals do not need normal errors."
    needs_rows = True
    counts_clusters = True
    for_misfit = True

    def spread(self, fit: Fitted, gradients: Sequence[Gradient], how: How) -> Spread:
        errors = gradient_errors(fit, gradients)
        return Spread(errors, errors * row_quantiles(fit, support(fit, gradients), how))

    def factor(self, fit: Fitted, slopes: Pieces, how: How) -> Factor:
        pieces = [slopes] if isinstance(slopes, Slopes | EdgeSlopes) else list(slopes)
        spread, open_parts = row_factor(fit, pieces)
        return Factor.with_quantile(spread, _of_pieces(fit, pieces, how), open_parts)

    def lengths(self, fit: Fitted, pieces: Iterable[Piece], how: How) -> Iterator[tuple[Floats, Floats]]:
        rows_needed(fit, 'interval="robust"')
        return _lengths(self, fit, pieces, how, row_squares)


class Sandwich(IntervalKind):
    """Normal rows with the covariance of the data, not the model's: the width does not rely on the model."""

    name = "sandwich"
    words = "sandwich with the covariance of the data: its width does not rely on what the graph forbids"
    rests_on = (
        "The width of intervals allows for a graph that is wrong somewhere; errors are taken for close to normal."
    )
    for_misfit = True

    def spread(self, fit: Fitted, gradients: Sequence[Gradient], how: How) -> Spread:
        forms = whole_forms(kind_of_data(fit).row_scores(fit, tuple(gradients)))
        variances = forms.normal_variances(fit.moments.cov)
        errors = np.sqrt(variances / fit.n)
        return Spread(errors, errors * few_rows_quantiles(support(fit, gradients), how))

    def factor(self, fit: Fitted, slopes: Pieces, how: How) -> Factor:
        pieces = [slopes] if isinstance(slopes, Slopes | EdgeSlopes) else list(slopes)
        spread, open_parts = moment_factor(fit, pieces)
        return Factor.with_quantile(spread, _of_pieces(fit, pieces, how), open_parts)

    def lengths(self, fit: Fitted, pieces: Iterable[Piece], how: How) -> Iterator[tuple[Floats, Floats]]:
        return _lengths(self, fit, pieces, how, normal_squares)


def _lengths(
    kind: IntervalKind, fit: Fitted, pieces: Iterable[Piece], how: How, squares: Squares
) -> Iterator[tuple[Floats, Floats]]:
    """Errors and reaches of effects one by one, from how the scores of all parameters vary together."""
    given = list(pieces)
    on_edges = [piece for piece in given if isinstance(piece, EdgeSlopes)]
    if len(on_edges) < len(given) or not kind_of_data(fit).by_district:
        factor = kind.factor(fit, given, how)
        yield factor.errors(), factor.reaches()
        return
    for piece, errors in zip(on_edges, sandwich_errors(fit, on_edges, squares), strict=True):
        with np.errstate(invalid="ignore"):  # an infinite quantile of what has no spread
            yield errors, np.where(errors == 0.0, 0.0, errors * row_quantiles(fit, _support_of(fit, piece), how))


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


def _of_pieces(fit: Fitted, pieces: Sequence[Piece], how: How) -> Floats:
    return np.concatenate([row_quantiles(fit, _support_of(fit, piece), how) for piece in pieces])


def _support_of(fit: Fitted, piece: Piece) -> Support:
    return support(fit, piece if isinstance(piece, EdgeSlopes) else tuple(piece.single(len(fit.model.names))))
