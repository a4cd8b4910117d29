"""Weighted least squares of the variables behind columns: how rows move its answers, and its test of fit.

Parameters move by ``(J'WJ)^-1 J'W IF_S``. The test is scaled and shifted (Asparouhov and Muthen 2010): it has the mean
and the variance of a chi-square.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.estimation import Fitted
from halftrek.estimation.dwls import Weighted, weighted_of
from halftrek.inference.checks.measures import Measures, measures
from halftrek.inference.checks.robust_fit import without_likelihood
from halftrek.inference.how import How
from halftrek.inference.information.behind.layer import LAYER
from halftrek.inference.information.influence import Forms
from halftrek.inference.information.robust import added, mean_squares, over_units, products
from halftrek.inference.kept import kept
from halftrek.inference.tables.parameter import Reach
from halftrek.inference.tables.parameters import ParameterRows, rows_in_space, signs_of, slope_of_intercept
from halftrek.queries.gradients import Gradient

WEIGHTED = "weighted least squares, scaled and shifted"


def dwls_scores(fit: Fitted, gradients: tuple[Gradient, ...]) -> Forms:
    """How a row, times n, moves numbers with these gradients."""
    found, seen = weighted_of(fit), [_of_seen(fit, g) for g in gradients]
    pulled = [found.space.collect(g.T, g.omega, np.zeros_like(g.mean), fit.model.C)[found.at] for g in seen]
    return _forms(fit, np.array(pulled) @ _moved_by(found), np.array([g.mean[: len(fit.graph)] for g in seen]))


def _of_seen(fit: Fitted, g: Gradient) -> Gradient:
    """The gradient where means of hidden variables are made of those that are seen."""
    p, T = len(fit.graph), fit.model.T
    if p == len(T):
        return g
    inside = np.linalg.solve(np.eye(len(T) - p) - T[p:, p:], g.mean[p:])
    by_arrows, mean = g.T.copy(), np.zeros_like(g.mean)
    by_arrows[:, p:] += np.outer(fit.model.mean, inside)
    mean[:p] = g.mean[:p] + T[:p, p:] @ inside
    return Gradient(by_arrows, g.omega, mean)


def _moved_by(found: Weighted) -> Floats:
    """How parameters but the intercepts move with each covariance."""
    return np.asarray(found.inverse @ (found.slopes * found.weights))


def _forms(fit: Fitted, lines: Floats, linear: Floats) -> Forms:
    """Weights of covariances, one after the other, as forms of a row."""
    p = len(fit.graph)
    i, j = np.triu_indices(p)
    square = np.zeros((len(lines), p, p))
    square[:, i, j] = np.where(i == j, lines, lines / 2.0)
    square[:, j, i] = square[:, i, j]
    return Forms(np.arange(p), linear, square)


def dwls_parameters(fit: Fitted, how: How) -> ParameterRows:
    """Every parameter, with errors by influence; intercepts are set apart."""
    found, p, q = weighted_of(fit), len(fit.graph), len(fit.model.names)
    own = _forms(fit, _moved_by(found), np.zeros((len(found.at), p)))
    means = dwls_scores(fit, tuple(slope_of_intercept(fit, j) for j in range(p)))
    squares = [np.sqrt(part / fit.n) for part in mean_squares(fit, [own, means])]
    errors, reach = np.zeros(found.space.size), Reach(how.quantile, how.level)
    errors[found.at] = squares[0]
    whole = replace(fit, graph=fit.graph.opened)
    rows = rows_in_space(whole, found.space, errors, [reach] * found.space.size, signs_of(fit))
    return rows, np.concatenate([squares[1], np.zeros(q - p)]), [reach] * q, False


@dataclass(frozen=True)
class WeightedTest:
    """The weighted sum of squares times n, scaled and shifted to a chi-square."""

    chi2: float
    df: int
    scaled: float
    pvalue: float | None


@kept
def dwls_test(fit: Fitted) -> WeightedTest:
    """The test of fit."""
    found = weighted_of(fit)
    p = len(fit.graph)
    i, j = np.triu_indices(p)
    gap = (fit.moments.cov - fit.model.cov[:p, :p])[i, j]
    chi2 = fit.n * float(found.weights @ gap**2)
    total, _ = over_units(fit, [_forms(fit, np.eye(len(i)), np.zeros((len(i), p)))], products, added)
    spread = total / fit.n
    W = np.diag(found.weights)
    U = W - W @ found.slopes.T @ found.inverse @ found.slopes @ W
    rank = int(np.linalg.matrix_rank(found.slopes @ np.sqrt(W), tol=1e-9))
    df, both = len(i) - rank, U @ spread
    if df <= 0:
        return WeightedTest(chi2, 0, chi2, None)
    first, second = float(np.trace(both)), float(np.trace(both @ both))
    scaled = chi2 * np.sqrt(df / second) + df - np.sqrt(df * first**2 / second)
    from scipy.special import gammaincc

    return WeightedTest(chi2, df, float(scaled), float(gammaincc(df / 2.0, max(float(scaled), 0.0) / 2.0)))


def dwls_measures(fit: Fitted) -> Measures:
    """The test in the place of the likelihood ratio; what rests on a likelihood is nan."""
    found, none = dwls_test(fit), float("nan")
    rmsea = float(np.sqrt(max(0.0, (found.scaled - found.df) / (max(found.df, 1) * fit.n))))
    return replace(
        without_likelihood(measures(fit)), chi2=found.scaled, df=found.df, pvalue=found.pvalue, baseline_chi2=none,
        cfi=none, tli=none, rmsea=rmsea, rmsea_low=none, rmsea_high=none,
    )  # fmt: skip


DWLS = replace(LAYER, row_scores=dwls_scores, parameters=dwls_parameters)
