"""Does the model fit? Likelihood-ratio test, approximate fit indices, information criteria.

Degrees of freedom count what the data determine (the rank of the information), not the parameters written down.
The baseline has every covariance at zero but those among exogenous variables that the model leaves free.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from halftrek.estimation import Fit
from halftrek.inference.information import FLAT, district_information
from halftrek.model import Floats


@dataclass(frozen=True)
class Measures:
    """Fit of a model to its moments; None where a measure does not exist (no degrees of freedom)."""

    n: float
    parameters: int
    loglik: float
    saturated_loglik: float
    chi2: float
    df: int
    pvalue: float | None
    baseline_chi2: float
    baseline_df: int
    cfi: float
    tli: float
    rmsea: float
    rmsea_low: float
    rmsea_high: float
    srmr: float
    aic: float
    bic: float

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)


def measures(fit: Fit) -> Measures:
    """How well the fitted model reproduces the moments."""
    n, p = fit.n, len(fit.graph)
    S, names = fit.moments.cov, fit.model.names
    saturated = -0.5 * n * float(p * np.log(2.0 * np.pi) + np.linalg.slogdet(S)[1] + p)
    told = sum(information_rank(d.matrix) for d in district_information(fit))
    means = p if fit.moments.has_mean else 0  # moments of first order that were given
    parameters = told if fit.options.intercepts else told + means
    chi2 = max(0.0, 2.0 * (saturated - fit.loglik))
    df = p * (p + 1) // 2 + means - parameters
    baseline_chi2, baseline_df = _baseline(fit, names, S)
    low, high = _rmsea_range(chi2, df, n)
    return Measures(
        n=n,
        parameters=parameters,
        loglik=fit.loglik,
        saturated_loglik=saturated,
        chi2=chi2,
        df=df,
        pvalue=_tail(chi2, df) if df else None,
        baseline_chi2=baseline_chi2,
        baseline_df=baseline_df,
        cfi=_cfi(chi2, df, baseline_chi2, baseline_df),
        tli=_tli(chi2, df, baseline_chi2, baseline_df),
        rmsea=float(np.sqrt(max(0.0, (chi2 - df) / (df * n)))) if df else 0.0,
        rmsea_low=low,
        rmsea_high=high,
        srmr=_srmr(fit, S),
        aic=-2.0 * fit.loglik + 2.0 * parameters,
        bic=-2.0 * fit.loglik + float(np.log(n)) * parameters,
    )


def information_rank(matrix: Floats) -> int:
    scale = np.sqrt(np.maximum(np.diag(matrix), 1e-300))
    values = np.linalg.eigvalsh(matrix / np.outer(scale, scale))
    return int((values > FLAT * max(float(values[-1]), 1e-300)).sum()) if len(values) else 0


def _baseline(fit: Fit, names: tuple[str, ...], S: Floats) -> tuple[float, int]:
    at = {v: i for i, v in enumerate(names)}
    roots = [v for v in names if not fit.graph.parents(v)]
    linked = {frozenset(e) for e in fit.graph.bidirected}
    free = [v for v in roots if any(frozenset((v, w)) in linked for w in roots)]
    inside = [at[v] for v in free]
    pairs = sum(frozenset((v, w)) in linked for k, v in enumerate(free) for w in free[:k])
    value = float(np.log(np.delete(np.diag(S), inside)).sum())
    if inside:
        value += float(np.linalg.slogdet(S[np.ix_(inside, inside)])[1])
    p = len(names)
    return max(0.0, fit.n * (value - float(np.linalg.slogdet(S)[1]))), p * (p - 1) // 2 - pairs


def _cfi(chi2: float, df: int, baseline: float, baseline_df: int) -> float:
    excess, worst = max(chi2 - df, 0.0), max(baseline - baseline_df, chi2 - df, 0.0)
    return 1.0 if worst == 0.0 else 1.0 - excess / worst


def _tli(chi2: float, df: int, baseline: float, baseline_df: int) -> float:
    if not df or not baseline_df or baseline <= baseline_df:
        return 1.0
    ratio = baseline / baseline_df
    return (ratio - chi2 / df) / (ratio - 1.0)


def _tail(chi2: float, df: int) -> float:
    from scipy.special import gammaincc

    return float(gammaincc(df / 2.0, chi2 / 2.0))


def _rmsea_range(chi2: float, df: int, n: float) -> tuple[float, float]:
    """The 90 % interval: noncentralities at which the statistic is its 95 % and its 5 % point."""
    if not df:
        return 0.0, 0.0
    from scipy.special import chndtrinc

    bounds = [float(chndtrinc(chi2, df, tail)) for tail in (0.95, 0.05)]
    low, high = (np.sqrt(max(0.0, 0.0 if np.isnan(b) else b) / (df * n)) for b in bounds)
    return float(low), float(high)


def _srmr(fit: Fit, S: Floats) -> float:
    scale = np.sqrt(np.diag(S))
    residual = (S - fit.model.cov) / np.outer(scale, scale)
    means = (fit.moments.mean - fit.model.mean) / scale
    p = len(scale)
    lower = residual[np.tril_indices(p)]
    return float(np.sqrt((lower @ lower + means @ means) / (p * (p + 1) / 2 + p)))
