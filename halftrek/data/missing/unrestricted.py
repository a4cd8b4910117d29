"""The best mean and covariance for rows with holes, restricted by no model; Little's test of the holes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.bottom.portable import Portable
from halftrek.data.missing.curvature import curvature, quick
from halftrek.data.missing.descent import descend
from halftrek.data.missing.likelihood import completed, loglik, slices, slope
from halftrek.data.moments import Moments

if TYPE_CHECKING:
    from halftrek.data.missing.patterns import Patterns


WARM_UP = 5  # EM steps before the quasi-Newton finish
STEPS = 200  # of the finish where the curvature is known at its start
SINGULAR = 1e-8  # a correlation matrix with a lower eigenvalue is on its way to no maximum
SETTLED = 1e-7  # derivative per row, in units of standard deviations, that is zero for all purposes


@dataclass(frozen=True, eq=False)
class Unrestricted(Portable):
    """Moments of the unrestricted model, their log-likelihood, and whether this is its maximum."""

    moments: Moments
    loglik: float
    converged: bool


def best_loglik(data: Moments | Patterns) -> float:
    """The log-likelihood of the best mean and covariance that no model restricts."""
    if not isinstance(data, Moments):
        return data.unrestricted.loglik
    return -0.5 * data.n * float(len(data.cov) * np.log(2.0 * np.pi) + np.linalg.slogdet(data.cov)[1] + len(data.cov))


def start_moments(patterns: Patterns, steps: int = WARM_UP) -> Moments:
    """A few EM steps from the means and variances of the values that are there."""
    mean, variance = patterns.available
    found = Moments(patterns.names, patterns.total, mean, np.diag(variance))
    for _ in range(steps):
        try:
            found = completed(patterns, found.mean, found.cov)
        except np.linalg.LinAlgError:
            break
    return found


def unrestricted(patterns: Patterns) -> Unrestricted:
    """EM steps, then a quasi-Newton search from there."""
    start = patterns.warm
    found = None
    if quick(patterns, start.cov):
        found = _by_curvature(patterns, start)
    return _by_roots(patterns, start) if found is None else found


def _by_curvature(patterns: Patterns, start: Moments) -> Unrestricted | None:
    """Steps in mean and covariance, in units of the information at the start; None if that does not arrive."""
    from scipy.linalg import solve_triangular

    p, n = len(patterns.names), patterns.total
    i, j = np.triu_indices(p)
    matrix = curvature(patterns, start.mean, start.cov, np.eye(p), observed=False).expected
    try:
        root = np.linalg.cholesky(matrix / n)  # in units of its inverse the likelihood of a row bends by one
    except np.linalg.LinAlgError:
        return None

    def unpacked(y: Floats) -> tuple[Floats, Floats]:
        x = solve_triangular(root, y, lower=True, trans=1, check_finite=False)
        move = np.zeros((p, p))
        move[i, j] = x[p:]
        return start.mean + x[:p], start.cov + move + move.T

    def objective(y: Floats) -> tuple[float, Floats]:
        try:
            found = slope(patterns, *unpacked(y))
        except np.linalg.LinAlgError:
            return np.inf, np.zeros_like(y)
        gradient = -np.concatenate([found.mean, 2.0 * found.cov[i, j]]) / n
        return -found.value / n, solve_triangular(root, gradient, lower=True, check_finite=False)

    with np.errstate(all="ignore"):
        y, left = descend(objective, np.zeros(len(matrix)), enough=SETTLED / 1000, steps=STEPS)
    return _ended(patterns, *unpacked(y), left) if np.abs(left).max() < SETTLED / 100 else None


def _by_roots(patterns: Patterns, start: Moments) -> Unrestricted:
    """Steps in ``cov = L P P' L'`` about the start, where all is near one."""
    from scipy.optimize import minimize

    p, n = len(patterns.names), patterns.total
    try:
        L = np.linalg.cholesky(start.cov)
    except np.linalg.LinAlgError:
        return Unrestricted(start, float("nan"), False)
    below = np.tril_indices(p)
    on_diagonal = below[0] == below[1]

    def unpacked(x: Floats) -> tuple[Floats, Floats, Floats]:
        P = np.zeros((p, p))
        P[below] = np.where(on_diagonal, np.exp(np.clip(x[p:], -30.0, 30.0)), x[p:])
        root = L @ P
        return start.mean + L @ x[:p], root @ root.T, P

    def objective(x: Floats) -> tuple[float, Floats]:
        mean, cov, P = unpacked(x)
        try:
            found = slope(patterns, mean, cov)
        except np.linalg.LinAlgError:
            return np.inf, np.zeros_like(x)
        inner = (2.0 * L.T @ found.cov @ L @ P)[below]
        inner = np.where(on_diagonal, inner * P[below], inner)
        return -found.value / n, -np.concatenate([L.T @ found.mean, inner]) / n

    x = np.zeros(p + len(below[0]))
    for _ in range(3):  # begun again: the search stops early where differences of values are rounding
        with np.errstate(all="ignore"):
            end = minimize(objective, x, jac=True, method="L-BFGS-B", options=_PATIENCE)
        x = end.x
        if np.abs(end.jac).max() < SETTLED / 100:
            break
    mean, cov, _ = unpacked(x)
    return _ended(patterns, mean, cov, end.jac)


def _ended(patterns: Patterns, mean: Floats, cov: Floats, left: Floats) -> Unrestricted:
    scale = np.sqrt(np.diag(cov))
    regular = np.linalg.eigvalsh(cov / np.outer(scale, scale))[0] > SINGULAR
    converged = bool(regular and np.abs(left).max() < SETTLED)
    moments = Moments(patterns.names, patterns.total, mean, (cov + cov.T) / 2.0)
    return Unrestricted(moments, loglik(patterns, mean, moments.cov), converged)


_PATIENCE = {"maxiter": 2000, "maxfun": 4000, "ftol": 0.0, "gtol": 1e-10, "maxcor": 20}


def little_test(patterns: Patterns) -> tuple[float, int, float]:
    """Little's test that values are missing completely at random: chi-square, degrees of freedom, p-value.

    The means of each pattern against those of the unrestricted model. A small p-value says that rows with holes differ,
    so that dropping them may mislead; it does not say that values are missing at random. nan where no unrestricted
    maximum exists.
    """
    from scipy.special import gammaincc

    df = int(patterns.observed.sum()) - len(patterns.names)
    if not patterns.unrestricted.converged:
        return float("nan"), df, float("nan")
    best = patterns.unrestricted.moments
    parts = slices(patterns, best.mean, best.cov)
    chi2 = sum(float(np.einsum("k,ki,kij,kj->", part.n, part.gap, part.K, part.gap)) for part in parts)
    return chi2, df, float(gammaincc(df / 2.0, chi2 / 2.0)) if df else float("nan")
