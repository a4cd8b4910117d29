"""Rows with missing values: they tie districts together, so that all parameters are looked at at once."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.data import Moments
from halftrek.data.missing.likelihood import slope
from halftrek.data.weights import Counted, Sampled
from halftrek.errors import DataError
from halftrek.estimation import Fitted
from halftrek.estimation.given.data_kind import patterns_behind
from halftrek.inference.checks import constraints, missing_checks, mixture
from halftrek.inference.draws.bootstrap import incomplete_replicates
from halftrek.inference.evidence.evidence import Support
from halftrek.inference.evidence.incomplete import seen_support
from halftrek.inference.evidence.strength import whole_strengths
from halftrek.inference.information.base import DataKind
from halftrek.inference.information.dimension import whole_dimension
from halftrek.inference.information.information import Kind
from halftrek.inference.information.missing.incomplete import (
    RowScores,
    covariance_error,
    covariance_slope,
    pattern_information,
    row_scores,
    saturated_information,
    scores_of,
)
from halftrek.inference.information.missing.likelihood import missing_landscape
from halftrek.inference.standard_errors.factor import whole_columns
from halftrek.inference.tables.parameters import whole_parameters
from halftrek.queries.gradients import Gradient


def _rows_having(fit: Fitted, variables: Collection[str]) -> float:
    patterns = patterns_behind(fit)
    return float(patterns.n @ patterns.observed[:, [patterns.names.index(v) for v in variables]].all(axis=1))


def _seen_moments(fit: Fitted, names: Sequence[str]) -> Moments:
    found = patterns_behind(fit).select(names)
    if isinstance(found, Moments):
        return found
    whole = [k for k in range(len(found.cov)) if found.observed[k].all()]
    if not whole:
        raise DataError(f"hardly any row has all of {', '.join(names)}, so that the rows alone say nothing of them")
    (k,), n, weighting = whole, float(found.n[whole[0]]), found.weighting
    lines = float(found.rows[k])
    if isinstance(weighting, Sampled):  # scaled to the rows that are left, each worth as much as before
        share = lines / float(found.rows.sum())
        n, weighting = lines, Sampled(weighting.mean * n / lines, weighting.worth * share)
    elif isinstance(weighting, Counted):
        weighting = Counted(lines)
    return Moments(found.names, n, found.mean[k], found.cov[k], kinds=found.kinds, weighting=weighting)


def _covariance_error(fit: Fitted, slope: Floats) -> float:
    known = saturated_information(patterns_behind(fit))
    return float("nan") if known is None else covariance_error(known, slope, fit.n)


def _covariance_scores(fit: Fitted, slopes: Floats) -> RowScores:
    known = saturated_information(patterns_behind(fit))
    assert known is not None  # asked for only where the rows determine the covariances
    return scores_of(fit, known, [covariance_slope(known, slope) for slope in slopes])


def _variances(fit: Fitted, gradients: Sequence[Gradient], kind: Kind | None) -> Floats:
    known = pattern_information(fit, kind or "observed")
    return np.array([known.spread(known.pull(g)) for g in gradients])


def _support(fit: Fitted, gradients: Sequence[Gradient], _: Kind | None) -> Support:
    known = pattern_information(fit, "expected")
    return seen_support(fit, np.array([known.pull(g) for g in gradients]).reshape(len(gradients), known.space.size))


MISSING = DataKind(
    by_district=False,
    moments_suffice=False,
    residual_zero=1e-4,  # what is left of two almost equal variances is no more than noise
    scaled_test="yuan-bentler",
    score_test="score, observed moments",
    formula_note="formula beside missing values",
    assumption=(
        "Values are missing at random: whether a value is missing may depend on values that are there, not on the "
        "missing value itself (full-information maximum likelihood)."
    ),
    sentence=lambda fit: patterns_behind(fit).sentence,
    rows=lambda fit: patterns_behind(fit).used / len(fit.model.names),
    rows_having=_rows_having,
    seen_moments=_seen_moments,
    like=lambda _: None,
    slope=lambda fit, mean, cov: slope(patterns_behind(fit), mean, cov),
    unrestricted=lambda fit: patterns_behind(fit).unrestricted.moments,
    has_unrestricted=lambda fit: patterns_behind(fit).unrestricted.converged,
    has_errors=lambda fit: saturated_information(patterns_behind(fit)) is not None,
    known_pairs=missing_checks.known_pairs,
    pairs_apart=lambda fit: len(patterns_behind(fit).apart),
    covariance_error=_covariance_error,
    covariance_scores=_covariance_scores,
    independences=lambda fit, asked: [constraints.missing_independence(fit, *one) for one in asked],
    determined=whole_dimension,
    variances=_variances,
    columns=lambda fit, pieces, kind, level: whole_columns(fit, pieces, kind or "observed", level),
    support=_support,
    strengths=whole_strengths,
    row_scores=row_scores,
    parameters=whole_parameters,
    landscape=lambda fit, target, _: missing_landscape(fit, target),
    relaxer=lambda fit, kind: partial(missing_checks.freed, fit, kind),
    residual_errors=missing_checks.residual_errors,
    residual_scores=missing_checks.residual_scores,
    coordinates=mixture.Observed.of,
    scaling=missing_checks.missing_scaling,
    as_complete=lambda fit, _ratio, _mean: missing_checks.complete_ratio(fit),
    replicates=incomplete_replicates,
)
