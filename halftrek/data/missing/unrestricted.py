"""The best mean and covariance for rows with holes, restricted by no model; Little's test of the holes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from halftrek.arrays import Floats
from halftrek.data.missing.curvature import quick, summed_up
from halftrek.data.missing.descent import Objective, descend
from halftrek.data.missing.likelihood import completed, loglik, slices, slope
from halftrek.data.moments import Moments
from halftrek.portable import Portable

if TYPE_CHECKING:
    from halftrek.data.missing.patterns import Patterns


WARM_UP = 5  # EM steps before the quasi-Newton finish
STEPS = 200  # of the finish where the curvature is known at its start
SINGULAR = 1e-8  # a correlation matrix with a lower eigenvalue is on its way to no maximum
LEAST_BEND = 1e-3  # root of the curvature per row, in units of standard deviations, that can be a unit of steps
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
    """EM steps, then quasi-Newton in ``cov = L P P' L'`` about the point that EM has reached, where all is near one."""
    start = patterns.warm
    p, n = len(patterns.names), patterns.total
    try:
        L = np.linalg.cholesky(start.cov)
    except np.linalg.LinAlgError:
        return Unrestricted(start, float("nan"), False)
    below = np.tril_indices(p)
    on_diagonal = below[0] == below[1]
    root = _units(patterns, start, L)

    def unpacked(x: Floats) -> tuple[Floats, Floats, Floats]:
        P = np.zeros((p, p))
        P[below] = np.where(on_diagonal, np.exp(np.clip(x[p:], -30.0, 30.0)), x[p:])
        factor = L @ P
        return start.mean + L @ x[:p], factor @ factor.T, P

    def objective(y: Floats) -> tuple[float, Floats]:
        mean, cov, P = unpacked(y if root is None else root @ y)
        try:
            found = slope(patterns, mean, cov)
        except np.linalg.LinAlgError:
            return np.inf, np.zeros_like(y)
        inner = (2.0 * L.T @ found.cov @ L @ P)[below]
        inner = np.where(on_diagonal, inner * P[below], inner)
        gradient = -np.concatenate([L.T @ found.mean, inner]) / n
        return -found.value / n, gradient if root is None else gradient @ root

    y, left = _lowest(objective, np.zeros(p + len(below[0])), known=root is not None)
    mean, cov, _ = unpacked(y if root is None else root @ y)
    scale = np.sqrt(np.diag(cov))
    regular = np.linalg.eigvalsh(cov / np.outer(scale, scale))[0] > SINGULAR
    converged = bool(regular and np.abs(left).max() < SETTLED)
    moments = Moments(patterns.names, n, mean, (cov + cov.T) / 2.0)
    return Unrestricted(moments, loglik(patterns, mean, moments.cov), converged)


def _lowest(objective: Objective, x: Floats, *, known: bool) -> tuple[Floats, Floats]:
    """Where the objective is least, and its derivatives there; ``known``: it bends by about one everywhere."""
    if known:
        x, left = descend(objective, x, enough=SETTLED / 1000, steps=STEPS)
        if np.abs(left).max() < SETTLED / 100:
            return x, left
    from scipy.optimize import minimize

    for _ in range(3):  # begun again: the search stops early where differences of values are rounding
        with np.errstate(all="ignore"):
            end = minimize(objective, x, jac=True, method="L-BFGS-B", options=_PATIENCE)
        x = end.x
        if np.abs(end.jac).max() < SETTLED / 100:
            break
    return np.asarray(x), np.asarray(end.jac)


def _units(patterns: Patterns, start: Moments, L: Floats) -> Floats | None:
    """Steps, one a column, along each of which the likelihood of a row bends by one at the start; None if not needed.

    In such steps a search that learns the curvature as it goes has little left to learn.
    """
    if not quick(patterns, start.cov):
        return None
    p = len(L)
    i, j = np.tril_indices(p)
    at = np.concatenate([np.arange(p), p + j * p - j * (j - 1) // 2 + i - j])
    bend = summed_up(patterns, start.mean, start.cov, L.T)
    for matrix in (bend.observed, bend.expected):
        try:
            root = np.linalg.cholesky(matrix[np.ix_(at, at)] / patterns.total)
        except np.linalg.LinAlgError:
            continue
        if np.diag(root).min() > LEAST_BEND:
            return np.linalg.inv(root).T
    return None


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
