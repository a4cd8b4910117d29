"""Indices of fit that rows with missing values would have, were they complete (Zhang and Savalei 2022).

With missing values a likelihood ratio counts a misfit for less than complete rows would, so that an index from it looks
better the more is missing. Instead the unrestricted and the fitted moments are put into the discrepancy of complete
rows, ``F = log|Sigma| - log|S| + tr(S Sigma^-1) - p + d' Sigma^-1 d``, less what it has by chance: with W the
information of a complete row about the moments and V the spread of their residuals, ``tr(W V) / n``.
"""

from __future__ import annotations

import numpy as np

from halftrek.errors import InputError
from halftrek.estimation import Fit
from halftrek.estimation.data_kind import patterns_behind, refit
from halftrek.graphs import Graph
from halftrek.inference.checks.missing_checks import residual_moves
from halftrek.inference.checks.robust_fit import RobustTest
from halftrek.inference.information.incomplete import scores_along, unit_scores
from halftrek.inference.information.robust import contributions, mean_squares
from halftrek.inference.information.saturated import saturated_information
from halftrek.models import Floats


def missing_scaling(fit: Fit, test: RobustTest, df: int) -> float:
    """What the likelihood ratio is divided by in a scaled test, from the observed information of either model."""
    if test == "satorra-bentler":
        raise InputError('with missing values the scaled test is robust_test="yuan-bentler", or fit missing="drop"')
    names, apart = fit.model.names, patterns_behind(fit).apart
    pairs = [(u, v) for k, u in enumerate(names) for v in names[:k] if (v, u) not in apart]
    free = refit(fit, Graph([], pairs, {}, names))
    spread = [float(mean_squares(one, [unit_scores(one)])[0].sum()) for one in (free, fit)]
    return (spread[0] - spread[1]) / df


def complete_ratio(fit: Fit) -> tuple[float, float] | None:
    """n times the discrepancy of complete rows, and its mean under the model; None where it does not exist."""
    patterns = patterns_behind(fit)
    known, moved = saturated_information(patterns), residual_moves(fit)
    if known is None or moved is None:
        return None
    model, seen = fit.model, patterns.unrestricted.moments
    K, gap = np.linalg.inv(model.cov), seen.mean - model.mean
    logs = np.linalg.slogdet(model.cov)[1] - np.linalg.slogdet(seen.cov)[1]
    discrepancy = float(logs + np.trace(seen.cov @ K) - len(gap) + gap @ K @ gap)
    residuals = scores_along(fit, known.space, known.theta, moved)
    spread = np.zeros((known.space.size, known.space.size))
    for values, weights in contributions(fit, [residuals]):
        spread += values.T @ (values if weights is None else values * weights[:, None])
    dmean, dcov = known.space.jacobian(known.theta)
    return fit.n * discrepancy, float((_complete_information(K, dmean, dcov) * spread).sum()) / fit.n


def _complete_information(K: Floats, dmean: Floats, dcov: Floats) -> Floats:
    """The information of a complete row about parameters that move mean and covariance so."""
    size, white = len(dmean), np.linalg.cholesky(K)
    moved = (white.T @ dcov @ white).reshape(size, -1)
    return np.asarray(0.5 * moved @ moved.T + dmean @ K @ dmean.T)
