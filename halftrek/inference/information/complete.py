"""Complete moments: the likelihood falls apart into districts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from halftrek.bottom.arrays import Floats, Ints
from halftrek.estimation import Fitted
from halftrek.estimation.fit import LOG_2PI
from halftrek.estimation.given.checks import well_posed
from halftrek.inference.evidence.evidence import district_support
from halftrek.inference.information.base import DataKind
from halftrek.inference.information.dimension import district_dimension
from halftrek.inference.standard_errors.delta import gradient_variances
from halftrek.models.kernels import cholesky, inverse
from halftrek.queries.gradients import Gradient

if TYPE_CHECKING:
    from halftrek.bottom.choices import Redraw, RobustTest
    from halftrek.data.missing.likelihood import Slope
    from halftrek.inference.checks.constraints import Constraint, Independence
    from halftrek.inference.checks.edges.scores import Relaxer
    from halftrek.inference.checks.mixture import Squares
    from halftrek.inference.draws.bootstrap import Replicates
    from halftrek.inference.draws.resample import Progress
    from halftrek.inference.how import How
    from halftrek.inference.information.influence import Forms
    from halftrek.inference.information.information import Kind
    from halftrek.inference.information.landscape import Landscape, Target
    from halftrek.inference.standard_errors.factor import Columns, Piece
    from halftrek.inference.tables.parameters import ParameterRows


def _covariance_error(fit: Fitted, slope: Floats) -> float:
    inside = slope @ fit.moments.cov
    return float(np.sqrt(2.0 * np.trace(inside @ inside) / fit.n))


def _covariance_scores(_: Fitted, slopes: Floats) -> Forms:
    from halftrek.inference.information.influence import Forms

    at = np.flatnonzero(slopes.any(axis=(0, 1)))
    return Forms(at, np.zeros((len(slopes), len(at))), slopes[:, at[:, None], at])


def _slope(fit: Fitted, mean: Floats, cov: Floats) -> Slope:
    """From the moments: ``-n/2 (p log 2 pi + log det + tr(K S))`` with S about the mean that is given."""
    from halftrek.data.missing.likelihood import Slope

    gap = fit.moments.mean - mean
    seen = fit.moments.cov + np.outer(gap, gap)
    root = inverse(cholesky(cov))  # LinAlgError where the covariance is none
    K = root.T @ root
    value = -0.5 * fit.n * (len(gap) * LOG_2PI - 2.0 * np.log(root.diagonal()).sum() + (K * seen).sum())
    return Slope(float(value), fit.n * (K @ gap), 0.5 * fit.n * (K @ seen @ K - K))


# -- what few questions need, loaded when one does -------------------------------------------------------


def _independences(fit: Fitted, asked: Sequence[Independence]) -> list[Constraint]:
    from halftrek.inference.checks.constraints import independences

    return independences(fit.moments, asked)


def _columns(fit: Fitted, pieces: list[Piece], kind: Kind | None, level: float) -> Columns:
    from halftrek.inference.standard_errors.factor import district_columns

    return district_columns(fit, pieces, kind or "expected", level)


def _strengths(fit: Fitted, gradients: Sequence[Gradient]) -> Floats:
    from halftrek.inference.evidence.strength import district_strengths

    return district_strengths(fit, gradients)


def _row_scores(fit: Fitted, gradients: tuple[Gradient, ...]) -> Forms:
    from halftrek.inference.information.influence import influence

    return influence(fit, gradients)


def _parameters(fit: Fitted, how: How) -> ParameterRows:
    from halftrek.inference.tables.parameters import district_parameters

    return district_parameters(fit, how)


def _landscape(fit: Fitted, target: Target, explicit: bool) -> Landscape:
    from halftrek.inference.information.districts import district_landscape

    return district_landscape(fit, target, explicit=explicit)


def _relaxer(fit: Fitted, kind: Kind | None) -> Relaxer:
    from halftrek.inference.checks.edges.relaxation import district_relaxer

    return district_relaxer(fit, kind)


def _residual_errors(fit: Fitted) -> Floats:
    from halftrek.inference.checks.residuals import district_errors

    return district_errors(fit)


def _residual_scores(fit: Fitted, i: Ints, j: Ints) -> Forms:
    from halftrek.inference.checks.residuals import district_scores

    return district_scores(fit, i, j)


def _coordinates(fit: Fitted) -> Squares:
    from halftrek.inference.checks.mixture import Squares

    return Squares.of(fit)


def _scaling(fit: Fitted, test: RobustTest, df: int) -> float:
    from halftrek.inference.checks.robust_fit import district_scaling

    return district_scaling(fit, test, df)


def _replicates(fit: Fitted, kind: Redraw, replicates: int, random_state: int, progress: Progress | None) -> Replicates:
    from halftrek.inference.draws.bootstrap import together

    return together(fit, kind, replicates, random_state, progress)


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
    like=lambda fit: None if fit.acting is not None and fit.acting.missing else fit.moments,  # expected ones do not do
    slope=_slope,
    unrestricted=lambda fit: fit.moments,
    has_unrestricted=lambda fit: bool(well_posed(fit.moments.cov[None], fit.n)[0]),
    has_errors=lambda _: True,
    known_pairs=lambda fit: np.ones(fit.moments.cov.shape, dtype=bool),
    pairs_apart=lambda _: 0,
    covariance_error=_covariance_error,
    covariance_scores=_covariance_scores,
    independences=_independences,
    determined=district_dimension,
    variances=lambda fit, gradients, kind: gradient_variances(fit, gradients, kind or "expected"),
    columns=_columns,
    support=lambda fit, gradients, kind: district_support(fit, gradients, kind or "expected"),
    strengths=_strengths,
    row_scores=_row_scores,
    parameters=_parameters,
    landscape=_landscape,
    relaxer=_relaxer,
    residual_errors=_residual_errors,
    residual_scores=_residual_scores,
    coordinates=_coordinates,
    scaling=_scaling,
    as_complete=lambda _, ratio, mean: (ratio, mean),
    replicates=_replicates,
)
