"""From the likelihood: every value that it does not rule out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.estimation import Fitted
from halftrek.inference.evidence.evidence import support
from halftrek.inference.evidence.row_needs import needs_rows
from halftrek.inference.how import How
from halftrek.inference.information.robust import is_clustered
from halftrek.inference.intervals.base import Estimate, IntervalKind, Spread, border_of
from halftrek.inference.intervals.delta import Delta
from halftrek.inference.intervals.robust import Robust, row_quantiles
from halftrek.inference.profiles.profile import profile_intervals
from halftrek.inference.standard_errors.factor import Factor, Pieces, expected_factor
from halftrek.queries import Query
from halftrek.queries.gradients import Gradient, linearize, scale_of


class ProfileLikelihood(IntervalKind):
    """Values whose best likelihood is close enough to the maximum; clusters and few rows widen what is close enough."""

    name = "profile"
    words = "profile likelihood"
    rests_on = "Intervals are from the likelihood of normal errors."
    in_tables = False
    counts_clusters = True

    def spread(self, fit: Fitted, gradients: Sequence[Gradient], how: How) -> Spread:
        return Delta().spread(fit, gradients, how)

    def factor(self, fit: Fitted, slopes: Pieces, how: How) -> Factor:
        return expected_factor(fit, slopes, how)

    def estimate(self, fit: Fitted, query: Query, values: Floats, variances: Floats, how: How) -> Estimate:
        found = self._by_rows(fit, query).estimate(fit, query, values, variances, how)
        cuts = self._cuts(fit, query, how)
        of_values, of_variances, notes = profile_intervals(fit, query, (len(values), len(variances)), cuts)
        return replace(
            found,
            intervals=np.clip(of_values, *border_of(scale_of(query))),
            variance_intervals=np.clip(of_variances, *border_of("log")),
            notes=tuple(notes),
            clustered=self.counts(fit),
        )

    def _by_rows(self, fit: Fitted, query: Query) -> IntervalKind:
        """The kind that the standard errors beside the interval are of: clusters and weights count in them too."""
        return Robust() if is_clustered(fit) or needs_rows(fit, query) else Delta()

    def _cuts(self, fit: Fitted, query: Query, how: How) -> Floats:
        """The deviance up to which a value is kept, for each value and variance.

        In a regression with k parameters the t interval is the set with deviance below ``n log(1 + t²/(n - k))``; of
        rows in clusters, with weights or with unequal spread deviances are larger by the ratio of the two variances.
        """
        found = linearize(query, fit.model)
        gradients = (*found.values, *found.variances)
        rests = support(fit, gradients)
        reach = row_quantiles(fit, rests, how)
        ratio = np.ones(len(gradients))
        if is_clustered(fit) or needs_rows(fit, query):
            plain = Delta().spread(fit, gradients, replace(how, information="observed")).errors
            with np.errstate(divide="ignore", invalid="ignore"):
                ratio = np.where(plain > 0.0, (Robust().spread(fit, gradients, how).errors / plain) ** 2, 1.0)
        rows = np.minimum(rests.rows.min(axis=1, initial=np.inf), fit.n)
        square = reach**2
        with np.errstate(over="ignore", invalid="ignore"):
            calibrated = np.where(rests.plenty(how.level), square, rows * np.log1p(square / rows))
        return np.asarray(np.where(np.isfinite(ratio), ratio, 1.0) * calibrated)
