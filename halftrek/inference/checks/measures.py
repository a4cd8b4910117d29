"""Does the model fit? Likelihood-ratio test, approximate fit indices, information criteria.

Degrees of freedom count what the data determine (the rank of the information), not the parameters written down.
The baseline has every covariance at zero but those among exogenous variables that the model leaves free.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np

from halftrek.data import Moments
from halftrek.estimation import Fitted
from halftrek.estimation.given.data_kind import data_of
from halftrek.graphs import Graph
from halftrek.inference.information.base import kind_of_data
from halftrek.inference.kept import kept


@dataclass(frozen=True)
class Measures:
    """Fit of a model to its moments; None where a measure does not exist (no degrees of freedom).

    ``srmr`` counts means among the residuals where data have means, as lavaan's with ``meanstructure=TRUE`` (its
    ``srmr_bentler``); ``srmr_no_mean`` leaves them out, as lavaan's without, or its ``srmr_bentler_nomean``.
    """

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
    srmr_no_mean: float
    aic: float
    bic: float

    def to_dict(self) -> dict[str, object]:
        """As plain data."""
        return asdict(self)

    def without_unrestricted(self) -> Measures:
        """What is left to say where the unrestricted model has no maximum: few rows, or pairs that are hardly seen."""
        nan = float("nan")
        return replace(
            self, saturated_loglik=nan, chi2=nan, pvalue=None, baseline_chi2=nan, cfi=nan, tli=nan, rmsea=nan,
            rmsea_low=nan, rmsea_high=nan, srmr=nan, srmr_no_mean=nan,
        )  # fmt: skip


@kept
def measures(fit: Fitted) -> Measures:
    """How well the fitted model reproduces the moments, by the likelihood of the values that were seen.

    nan for what needs an unrestricted maximum where none exists. Covariances of pairs that no row has both of are no
    data, so they do not count among the degrees of freedom.
    """
    from halftrek.data.missing.unrestricted import best_loglik

    kind, best, p = kind_of_data(fit), best_loglik(data_of(fit)), len(fit.graph)
    free, pairs = free_roots(fit.graph, fit.graph.observed)
    apart = [(v,) for v in fit.graph.observed if v not in free] + ([tuple(free)] if free else [])
    baseline = sum(best_loglik(data_of(fit).select(names)) for names in apart)
    worst = max(0.0, 2.0 * (best - baseline)), p * (p - 1) // 2 - kind.pairs_apart(fit) - pairs
    found = measured(fit.n, counted(fit), fit.loglik, best, worst, srmr_of(fit, kind.unrestricted(fit)))
    return found if kind.has_unrestricted(fit) else found.without_unrestricted()


def counted(fit: Fitted) -> tuple[int, int]:
    """Parameters that data determine, and degrees of freedom: the moments that data have, less these."""
    kind, p = kind_of_data(fit), len(fit.graph)
    means = p if fit.moments.has_mean else 0
    free = means if kind.by_district and not fit.options.intercepts else 0
    parameters = kind.determined(fit) + free
    return parameters, p * (p + 1) // 2 + means - kind.pairs_apart(fit) - parameters


def measured(
    n: float,
    counts: tuple[int, int],
    loglik: float,
    saturated: float,
    baseline: tuple[float, int],
    srmr: tuple[float, float],
    groups: int = 1,
) -> Measures:
    """All measures of one fit, from its likelihood and those of the unrestricted and of the baseline model.

    Where several groups are fitted together, the RMSEA is that of a group (Steiger 1998).
    """
    chi2 = max(0.0, 2.0 * (saturated - loglik))
    (parameters, df), (baseline_chi2, baseline_df) = counts, baseline
    low, high = rmsea_range(chi2, df, n / groups)
    return Measures(
        n=n,
        parameters=parameters,
        loglik=loglik,
        saturated_loglik=saturated,
        chi2=chi2,
        df=df,
        pvalue=tail(chi2, df) if df else None,
        baseline_chi2=baseline_chi2,
        baseline_df=baseline_df,
        cfi=cfi_of(chi2, df, baseline_chi2, baseline_df),
        tli=tli_of(chi2, df, baseline_chi2, baseline_df),
        rmsea=float(np.sqrt(max(0.0, (chi2 - df) / (df * n / groups)))) if df else 0.0,
        rmsea_low=low,
        rmsea_high=high,
        srmr=srmr[0],
        srmr_no_mean=srmr[1],
        aic=-2.0 * loglik + 2.0 * parameters,
        bic=-2.0 * loglik + float(np.log(n)) * parameters,
    )


def free_roots(graph: Graph, names: Sequence[str]) -> tuple[list[str], int]:
    """Exogenous variables that the model lets covary, and how many of their pairs it does."""
    roots = [v for v in names if not graph.parents(v)]
    linked = {frozenset(e) for e in graph.bidirected}
    free = [v for v in roots if any(frozenset((v, w)) in linked for w in roots)]
    return free, sum(frozenset((v, w)) in linked for k, v in enumerate(free) for w in free[:k])


def cfi_of(chi2: float, df: int, baseline: float, baseline_df: int) -> float:
    excess, worst = max(chi2 - df, 0.0), max(baseline - baseline_df, chi2 - df, 0.0)
    return 1.0 if worst == 0.0 else 1.0 - excess / worst


def tli_of(chi2: float, df: int, baseline: float, baseline_df: int) -> float:
    if not df or not baseline_df or baseline <= baseline_df:
        return 1.0
    ratio = baseline / baseline_df
    return (ratio - chi2 / df) / (ratio - 1.0)


def tail(chi2: float, df: int) -> float:
    from scipy.special import gammaincc

    return float(gammaincc(df / 2.0, chi2 / 2.0))


def rmsea_range(chi2: float, df: int, n: float) -> tuple[float, float]:
    """The 90 % interval: noncentralities at which the statistic is its 95 % and its 5 % point."""
    if not df:
        return 0.0, 0.0
    from scipy.special import chndtrinc

    bounds = [float(chndtrinc(chi2, df, tail)) for tail in (0.95, 0.05)]
    low, high = (np.sqrt((b if b > 1e-9 else 0.0) / (df * n)) for b in bounds)  # nan: none, so zero
    return float(low), float(high)


def srmr_of(fit: Fitted, moments: Moments) -> tuple[float, float]:
    """Root mean square of standardised residuals: with the means, if there are any, and without."""
    S = moments.cov
    scale = np.sqrt(np.diag(S))
    implied = fit.implied
    residual = (S - implied.cov) / np.outer(scale, scale)
    p = len(scale)
    lower = residual[np.tril_indices(p)]
    alone = float(np.sqrt(lower @ lower / (p * (p + 1) / 2)))
    if not moments.has_mean:
        return alone, alone
    means = (moments.mean - implied.mean) / scale
    return float(np.sqrt((lower @ lower + means @ means) / (p * (p + 1) / 2 + p))), alone
