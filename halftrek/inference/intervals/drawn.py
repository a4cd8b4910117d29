"""From fits of other data sets: rows drawn again, drawn from the model, or with one cluster left out at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NoReturn

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.bottom.choices import Redraw
from halftrek.errors import InputError
from halftrek.estimation import Fitted
from halftrek.inference.draws.bootstrap import Replicates, about_failures, bootstrap_spread, replicates_of
from halftrek.inference.how import How
from halftrek.inference.intervals.base import Estimate, IntervalKind, Spread, normal_estimate
from halftrek.inference.standard_errors.factor import Factor, Pieces
from halftrek.queries import Distribution, Query
from halftrek.queries.gradients import Gradient, Scale, scale_of


class _Drawn(IntervalKind):
    """Numbers are taken from replicates, not from gradients."""

    draws: Redraw

    def replicates(self, fit: Fitted, how: How) -> Replicates:
        return replicates_of(fit, self.draws, how.replicates, how.random_state, how.progress)

    def spread(self, fit: Fitted, gradients: Sequence[Gradient], how: How) -> Spread:  # noqa: ARG002
        return self._refuse()

    def factor(self, fit: Fitted, slopes: Pieces, how: How) -> Factor:  # noqa: ARG002
        return self._refuse()

    def _refuse(self) -> NoReturn:
        raise InputError(
            f"interval={self.name!r} is for single questions, see fit.query; ask for 'delta' or 'robust' here"
        )

    def estimate(self, fit: Fitted, query: Query, values: Floats, variances: Floats, how: How) -> Estimate:
        of_values, of_variances, notes = bootstrap_spread(
            fit, query, (values, variances), kind=self.draws, level=how.level, replicates=how.replicates, ends=how.ends,
            random_state=how.random_state, progress=how.progress,
        )  # fmt: skip
        return Estimate(
            values=values,
            errors=of_values.errors,
            intervals=of_values.intervals,
            variances=variances,
            variance_errors=of_variances.errors,
            variance_intervals=of_variances.intervals,
            level=how.level,
            kind=self.name,
            notes=notes,
            clustered=self.counts(fit),
        )


class Bootstrap(_Drawn):
    """Rows, or whole clusters, drawn again."""

    name = "bootstrap"
    draws = "bootstrap"
    words = "bootstrap: rows drawn again"
    rests_on = "Intervals do not need normal errors."
    needs_rows = True
    counts_clusters = True
    for_misfit = True


class Parametric(_Drawn):
    """Rows drawn from the fitted model."""

    name = "parametric"
    draws = "parametric"
    words = "parametric bootstrap: rows drawn from the fitted model"
    rests_on = "Intervals are from data drawn with normal errors."


class Jackknife(_Drawn):
    """One cluster left out at a time: the spread that few clusters leave, with t and G - 1 degrees of freedom."""

    name = "jackknife"
    draws = "jackknife"
    words = "jackknife: one cluster left out at a time, with Student's t for few clusters"
    rests_on = "Intervals do not need normal errors, nor independent rows within a cluster."
    needs_rows = True
    counts_clusters = True
    for_misfit = True

    def estimate(self, fit: Fitted, query: Query, values: Floats, variances: Floats, how: How) -> Estimate:
        drawn = self.replicates(fit, how)
        both = np.concatenate(drawn.values_of(query), axis=1)
        good = np.isfinite(both).all(axis=1)
        spread = Spread(*(np.full(both.shape[1], np.nan) for _ in range(2)))
        if good.sum() > 1:
            factor = drawn.factor(both[good], np.concatenate([values, variances]), how.level)
            spread = Spread(factor.errors(), factor.reaches())
        found = normal_estimate(values, variances, spread, how, scale=_scale(fit, query), clustered=True)
        return replace(found, notes=about_failures(drawn.drawn - int(good.sum()), drawn.drawn, self.draws))


def _scale(fit: Fitted, query: Query) -> Scale:
    layer = fit.moments.layer
    if layer is None or isinstance(query, Distribution):
        return scale_of(query)
    from halftrek.queries.observed.values import observed_scale

    return observed_scale(query, layer)
