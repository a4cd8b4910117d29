"""Complete moments: the likelihood falls apart into districts."""

from __future__ import annotations

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.data.missing.likelihood import Slope
from halftrek.estimation import Fitted
from halftrek.estimation.fit import LOG_2PI
from halftrek.estimation.given.checks import well_posed
from halftrek.inference.checks import constraints, mixture, residuals, robust_fit
from halftrek.inference.checks.edges import relaxation
from halftrek.inference.draws.bootstrap import together
from halftrek.inference.evidence.evidence import district_support
from halftrek.inference.evidence.strength import district_strengths
from halftrek.inference.information.base import DataKind
from halftrek.inference.information.dimension import district_dimension
from halftrek.inference.information.districts import district_landscape
from halftrek.inference.information.influence import Forms, influence
from halftrek.inference.standard_errors.delta import gradient_variances
from halftrek.inference.standard_errors.factor import district_columns
from halftrek.inference.tables.parameters import district_parameters
from halftrek.models.kernels import cholesky, inverse


def _covariance_error(fit: Fitted, slope: Floats) -> float:
    inside = slope @ fit.moments.cov
    return float(np.sqrt(2.0 * np.trace(inside @ inside) / fit.n))


def _covariance_scores(_: Fitted, slopes: Floats) -> Forms:
    at = np.flatnonzero(slopes.any(axis=(0, 1)))
    return Forms(at, np.zeros((len(slopes), len(at))), slopes[:, at[:, None], at])


def _slope(fit: Fitted, mean: Floats, cov: Floats) -> Slope:
    """From the moments: ``-n/2 (p log 2 pi + log det + tr(K S))`` with S about the mean that is given."""
    gap = fit.moments.mean - mean
    seen = fit.moments.cov + np.outer(gap, gap)
    root = inverse(cholesky(cov))  # LinAlgError where the covariance is none
    K = root.T @ root
    value = -0.5 * fit.n * (len(gap) * LOG_2PI - 2.0 * np.log(root.diagonal()).sum() + (K * seen).sum())
    return Slope(float(value), fit.n * (K @ gap), 0.5 * fit.n * (K @ seen @ K - K))


COMPLETE = DataKind(
    by_district=True,
    moments_suffice=True,
    residual_zero=1e-8,
    scaled_test="satorra-bentler",
    score_test="score",
    formula_note="",
    assumption="",
    sentence=lambda _: "",
    rows=lambda fit: fit.n,
    rows_having=lambda fit, _: fit.n,
    seen_moments=lambda fit, names: fit.moments.select(names),
    like=lambda fit: fit.moments,
    slope=_slope,
    unrestricted=lambda fit: fit.moments,
    has_unrestricted=lambda fit: bool(well_posed(fit.moments.cov[None], fit.n)[0]),
    has_errors=lambda _: True,
    known_pairs=lambda fit: np.ones(fit.moments.cov.shape, dtype=bool),
    pairs_apart=lambda _: 0,
    covariance_error=_covariance_error,
    covariance_scores=_covariance_scores,
    independence=lambda fit, x, y, given: constraints.independence(fit.moments, x, y, given),
    determined=district_dimension,
    variances=lambda fit, gradients, kind: gradient_variances(fit, gradients, kind or "expected"),
    columns=lambda fit, pieces, kind, level: district_columns(fit, pieces, kind or "expected", level),
    support=lambda fit, gradients, kind: district_support(fit, gradients, kind or "expected"),
    strengths=district_strengths,
    row_scores=influence,
    parameters=district_parameters,
    landscape=lambda fit, target, explicit: district_landscape(fit, target, explicit=explicit),
    relaxer=relaxation.district_relaxer,
    residual_errors=residuals.district_errors,
    residual_scores=residuals.district_scores,
    coordinates=mixture.Squares.of,
    scaling=robust_fit.district_scaling,
    as_complete=lambda _, ratio, mean: (ratio, mean),
    replicates=together,
)
