"""Strength, estimates and tests of one equation with its instruments, whatever errors are allowed for.

- first-stage F: the Wald test of ``π = 0`` over K;
- effective F (Montiel Olea and Pflueger 2013): ``x'Z (Z'Z)⁻¹ Z'x / tr(Ŵ)`` with Ŵ the spread of the instruments,
  made orthonormal, times v; its critical value is theirs for two-stage least squares, in the simple form: the test at
  5 % that the bias is at most a tenth of the worst (``τ``), by Patnaik's approximation, ``K_eff = tr(Ŵ)² (1 + 2x) /
  (tr(Ŵ²) + 2x tr(Ŵ) max eval Ŵ)`` with ``x = 1/τ``, and the quantile of ``χ²(K_eff, x K_eff) / K_eff``;
- over-identification: ``n g'S⁻¹g`` at the minimum in b of two-step GMM, which is Sargan's where errors are alike, and
  Hansen's J otherwise;
- endogeneity: the Wald test of the slopes of v.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.inference.instruments.equation import Equation
from halftrek.inference.instruments.spread import Spread

TAU, SIZE = 0.1, 0.05  # bias beside the worst, and the level of the test that it is larger


@dataclass(frozen=True)
class Tested:
    """A statistic; ``df2`` is nan for a chi-square."""

    statistic: float
    df1: float
    df2: float
    p: float


def f_test(statistic: float, df1: float, df2: float) -> Tested:
    """The chance of a larger F."""
    from scipy.special import fdtrc

    return Tested(statistic, df1, df2, float(fdtrc(df1, df2, statistic)) if df2 > 0.0 else float("nan"))


def chi2_test(statistic: float, df: float) -> Tested:
    """The chance of a larger chi-square."""
    from scipy.special import chdtrc

    return Tested(statistic, df, float("nan"), float(chdtrc(df, statistic)))


def first_stage_test(given: Equation, spread: Spread, cause: int) -> Tested:
    """That the instruments say nothing of a cause beside the controls."""
    K = len(given.instruments)
    moments = given.n * given.part("z", "x")[:, cause]
    wald = float(moments @ np.linalg.solve(spread.first[1 + cause, 1 + cause], moments))
    return f_test(wald / K, K, _free(given.first_free, spread))


def effective_f(given: Equation, spread: Spread) -> tuple[float, float]:
    """Montiel Olea's and Pflueger's F of the only cause, and the value that it must exceed."""
    W = _orthonormal(given, spread.first[1, 1])
    root = np.linalg.cholesky(given.part("z", "z"))
    direction = np.linalg.solve(root, given.part("z", "x")[:, 0])
    return given.n * float(direction @ direction) / float(np.trace(W)), critical_value(W)


def critical_value(W: Floats, tau: float = TAU, size: float = SIZE) -> float:
    """What the effective F must exceed to rule out, at this level, a bias above ``tau`` of the worst."""
    from scipy.special import chndtrix

    x, trace = 1.0 / tau, float(np.trace(W))
    free = trace**2 * (1.0 + 2.0 * x) / (float((W * W).sum()) + 2.0 * x * trace * float(np.linalg.eigvalsh(W)[-1]))
    return float(chndtrix(1.0 - size, free, x * free)) / free


def _orthonormal(given: Equation, spread: Floats) -> Floats:
    """The spread of instruments that have the unit matrix as their covariance, per row."""
    root = np.linalg.cholesky(given.part("z", "z"))
    half = np.linalg.solve(root, spread)
    return np.asarray(np.linalg.solve(root, half.T) / given.n)


def tsls_errors(given: Equation, spread: Spread) -> Floats:
    """Standard errors of two-stage least squares."""
    bread = np.linalg.inv(given.explained) @ given.first_stage[:, 1:].T / given.n
    return np.sqrt(np.diag(bread @ spread.second @ bread.T))


def overidentification(given: Equation, spread: Spread) -> Tested | None:
    """That all instruments agree on the slopes; None where there are no more than causes."""
    if not given.spare:
        return None
    weight = np.linalg.inv(spread.moments / given.n)
    Szx, Szy = given.part("z", "x"), given.part("z", "y")[:, 0]
    slopes = np.linalg.solve(Szx.T @ weight @ Szx, Szx.T @ weight @ Szy)
    gap = Szy - Szx @ slopes
    return chi2_test(given.n * float(gap @ weight @ gap), given.spare)


def endogeneity(given: Equation, spread: Spread) -> Tested:
    """That regression and instruments differ by chance."""
    slopes, alone, _ = given.added
    m = len(given.causes)
    moments = given.n * (alone.T @ given.S @ alone) @ slopes
    wald = float(moments @ np.linalg.solve(spread.added, moments))
    return f_test(wald / m, m, _free(given.second_free - m, spread))


def _free(rows: float, spread: Spread) -> float:
    return rows if spread.clusters is None else spread.clusters - 1.0
