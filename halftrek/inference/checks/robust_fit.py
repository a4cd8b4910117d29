"""Tests of fit that hold for data of any distribution: Satorra and Bentler's, and Yuan and Bentler's as Mplus has it.

Without normality the likelihood-ratio statistic is a mixture of chi-squares; divided by the mean weight c of the
mixture it has the right mean. With I the information and J the spread of the scores of a row, ``c df`` is
``tr(I^-1 J)`` of the model without restrictions less the same of the fitted model: with the expected information at
the fitted model for both (Satorra-Bentler), or with the observed information of each (Yuan-Bentler).
"""

from __future__ import annotations

import operator
from dataclasses import asdict, dataclass, replace
from functools import partial

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.bottom.choices import RobustTest
from halftrek.data import RowPart, gather
from halftrek.estimation import Fitted
from halftrek.estimation.given.data_kind import refit
from halftrek.inference.checks.measures import Measures, cfi_of, measures, rmsea_range, tail, tli_of
from halftrek.inference.checks.mixture import Mixture, Squares, mixture
from halftrek.inference.information.base import kind_of_data
from halftrek.inference.information.influence import Forms, informed, score_forms
from halftrek.inference.information.information import district_information
from halftrek.inference.information.robust import count_units, counts_units, is_clustered, mean_squares, rows_needed

NORMAL_THEORY = "likelihood ratio, for independent and normal rows"
BY_CLUSTERS = "likelihood ratio, scaled by the spread over {units:,} clusters"
BY_ROWS = "likelihood ratio, scaled by the spread over {units:,} rows with sampling weights"
BY_LAYER = "likelihood ratio of the variables behind the columns, scaled by the spread over {units:,} rows"
WORK = 4e10  # products of coordinates of the moments that are summed; beyond, only the mean of a mixture is found


@dataclass(frozen=True)
class RobustMeasures:
    """Scaled test and indices; None where nothing is tested.

    ``*_scaled`` put the scaled statistics into the usual formulas; ``*_robust`` estimate what the index would be with
    infinitely many rows (Brosseau-Liard and Savalei), and with missing values with complete ones (Zhang and Savalei).
    ``pvalue_robust`` is of the same likelihood ratio, compared with the mixture that it follows: it has about the
    promised size with few rows and few clusters, where the scaled tests reject too often.
    """

    robust_test: RobustTest
    scaling: float | None
    chi2_scaled: float | None
    pvalue_scaled: float | None
    baseline_scaling: float | None
    cfi_scaled: float | None
    tli_scaled: float | None
    rmsea_scaled: float | None
    cfi_robust: float | None
    tli_robust: float | None
    rmsea_robust: float | None
    rmsea_robust_low: float | None
    rmsea_robust_high: float | None
    pvalue_robust: float | None = None
    units: float | None = None

    def to_dict(self) -> dict[str, object]:
        """As plain data."""
        return asdict(self)


def robust_measures(fit: Fitted, test: RobustTest = "yuan-bentler", plain: Measures | None = None) -> RobustMeasures:
    """The scaled test of a fit, and the indices that follow from it; some more passes over the rows."""
    rows_needed(fit, "robust=True in measures()", "leave it out")
    plain = measures(fit) if plain is None else plain
    c = scaling_factor(fit, test, plain.df)
    if c is None:
        return RobustMeasures(test, *[None] * 12)
    baseline = _baseline(fit)
    b = scaling_factor(baseline, test, plain.baseline_df) or 1.0
    found = _indices(fit, baseline, plain, c, b)
    spread = ratio_mixture(fit)
    chi2, df, n = plain.chi2, plain.df, plain.n
    return RobustMeasures(
        robust_test=test,
        scaling=c,
        chi2_scaled=chi2 / c,
        pvalue_scaled=tail(chi2 / c, df),
        baseline_scaling=b,
        cfi_scaled=cfi_of(chi2 / c, df, plain.baseline_chi2 / b, plain.baseline_df),
        tli_scaled=tli_of(chi2 / c, df, plain.baseline_chi2 / b, plain.baseline_df),
        rmsea_scaled=float(np.sqrt(max(0.0, (chi2 / c - df) / (df * n)))),
        cfi_robust=_known(found.cfi),
        tli_robust=_known(found.tli),
        rmsea_robust=_known(found.rmsea),
        rmsea_robust_low=_known(found.low),
        rmsea_robust_high=_known(found.high),
        pvalue_robust=None if spread is None else spread.p(chi2),
        units=None if spread is None else spread.units,
    )


def measures_by_units(fit: Fitted) -> tuple[Measures, float]:
    """Test and indices for rows in clusters, or that are not normal, under the usual names; and how many units.

    The statistic is scaled by the mean of its mixture (Satorra and Bentler's factor), and its p-value is the mixture's.
    """
    plain = measures(fit)
    spread = ratio_mixture(fit) if plain.df and not np.isnan(plain.chi2) else None
    if spread is None:
        return plain, float("nan")
    baseline = _baseline(fit)
    base = ratio_mixture(baseline)
    b = 1.0 if base is None else base.scaling
    found = _indices(fit, baseline, plain, spread.scaling, b)
    scaled = replace(
        plain,
        chi2=plain.chi2 / spread.scaling,
        pvalue=spread.p(plain.chi2),
        baseline_chi2=plain.baseline_chi2 / b,
        cfi=found.cfi,
        tli=found.tli,
        rmsea=found.rmsea,
        rmsea_low=found.low,
        rmsea_high=found.high,
    )
    return scaled, spread.units


def without_likelihood(found: Measures) -> Measures:
    """What is left where the rows have no likelihood of their own: normal variables behind columns have one."""
    nan = float("nan")
    return replace(found, loglik=nan, saturated_loglik=nan, aic=nan, bic=nan)


def usual_measures(fit: Fitted) -> tuple[Measures, str]:
    """Test and indices that suit the rows, and which they are: for rows in clusters, or with sampling weights."""
    if fit.acting is not None:
        from halftrek.inference.checks.acting.overall import acting_measures

        return acting_measures(fit)[:2]
    if fit.method == "dwls":
        from halftrek.inference.information.behind.dwls import dwls_measures, which_test

        return dwls_measures(fit), which_test(fit)
    if not counts_units(fit, None, "measures()"):
        return measures(fit), NORMAL_THEORY
    found, units = measures_by_units(fit)
    words = BY_CLUSTERS if is_clustered(fit) else BY_ROWS
    if fit.moments.layer is not None:
        found, words = without_likelihood(found), words if is_clustered(fit) else BY_LAYER
    return found, words.format(units=int(units)) if units == units else NORMAL_THEORY


def _known(value: float) -> float | None:
    return None if np.isnan(value) else value


@dataclass(frozen=True)
class _Indices:
    """Of infinitely many complete rows; nan where these rows do not tell."""

    cfi: float = float("nan")
    tli: float = float("nan")
    rmsea: float = float("nan")
    low: float = float("nan")
    high: float = float("nan")


def _indices(fit: Fitted, baseline: Fitted, plain: Measures, c: float, b: float) -> _Indices:
    """From ratios and their means under the models: those of the likelihood, or of what complete rows would have."""
    df, base_df, n = plain.df, plain.baseline_df, plain.n
    found = kind_of_data(fit).as_complete(fit, plain.chi2, c * df)
    worst = kind_of_data(baseline).as_complete(baseline, plain.baseline_chi2, b * base_df)
    if found is None or worst is None or found[1] <= 0.0:
        return _Indices()
    (ratio, mean), (base, base_mean) = found, worst
    excess, scale = ratio - mean, mean / df
    low, high = rmsea_range(ratio / scale, df, n)
    return _Indices(
        cfi=cfi_of(excess + df, df, base - base_mean + base_df, base_df),
        tli=tli_of(excess + df, df, base - base_mean + base_df, base_df),
        rmsea=float(np.sqrt(max(0.0, excess / (df * n)))),
        low=float(np.sqrt(scale)) * low,
        high=float(np.sqrt(scale)) * high,
    )


def ratio_mixture(fit: Fitted, larger: Fitted | None = None) -> Mixture | None:
    """The mixture that the likelihood ratio of a fit against a larger one (None: the unrestricted) follows.

    Of very many moments only its mean is found, from the scaling factors of both models.
    """
    size = len(fit.graph) * (len(fit.graph) + 3) // 2
    if fit.n * size**2 <= WORK:
        return mixture(fit, larger)
    test, df = kind_of_data(fit).scaled_test, measures(fit).df
    mean = df * (scaling_factor(fit, test, df) or 0.0)
    if larger is not None:
        wide = measures(larger).df
        mean -= wide * (scaling_factor(replace(larger, rows=fit.rows), test, wide) or 0.0)
        df -= wide
    return Mixture(df, mean, mean**2 / df, count_units(fit)) if df > 0 and mean > 0.0 else None


def scaling_factor(fit: Fitted, test: RobustTest, df: int) -> float | None:
    """The number that the likelihood-ratio statistic is divided by; None without degrees of freedom."""
    if not df:
        return None
    factor = kind_of_data(fit).scaling(fit, test, df)
    return factor if factor > 0.0 else None


def district_scaling(fit: Fitted, test: RobustTest, df: int) -> float:
    """The same where moments are complete, whatever its sign."""
    expected = test == "satorra-bentler"
    means, covariances = _unrestricted(fit, fit.model.cov if expected else fit.moments.cov)
    restricted = sum(float(part.sum()) for part in mean_squares(fit, _model_forms(fit, expected)))
    free = 0.0 if fit.options.intercepts else _unrestricted(fit, fit.model.cov)[0]  # means that both models have
    return (means + covariances - free - restricted) / df


def _model_forms(fit: Fitted, expected: bool) -> list[Forms]:
    """Scores of each district along directions in which the information is the unit matrix."""
    forms = []
    for block in district_information(fit, "expected" if expected else "observed"):
        determined, _ = informed(block)
        values, vectors = np.linalg.eigh(determined.T @ block.matrix @ determined)
        upward = values > 0.0
        along = (determined @ vectors[:, upward]) / np.sqrt(values[upward])
        forms.append(score_forms(fit, block, along.T, fit.model.mean if expected else None))
    return forms


def _unrestricted(fit: Fitted, cov: Floats) -> tuple[float, float]:
    """``tr(I^-1 J)`` of the normal distribution without restrictions: of its means, and of its covariances."""
    white = np.linalg.inv(np.linalg.cholesky(cov))
    about = white @ fit.moments.cov @ white.T
    rows = rows_needed(fit, "measures(robust=True)")
    if rows.cluster is not None:
        (squares,), p = mean_squares(fit, [Squares(white, np.zeros(len(white)))]), len(white)
        return float(squares[-p:].sum()), float(squares[:-p].sum())
    over = partial(_distances, fit.moments.mean, white, about, rows.sampling is not None)
    means, covariances = gather(rows, over, operator.add, like=fit.moments)
    return float(means) / fit.n, float(covariances) / fit.n


def _distances(mean: Floats, white: Floats, about: Floats, sampling: bool, part: RowPart) -> Floats:
    """Sums over rows of the squares of y, and of half the squares of y y' - S, entry by entry."""
    total = np.zeros(2)
    for block in part.blocks:
        Y = (block.values - mean) @ white.T
        distance = (Y**2).sum(axis=1)
        square = distance**2 - 2.0 * ((Y @ about) * Y).sum(axis=1) + (about**2).sum()
        times = np.ones(len(Y)) if block.weights is None else block.weights
        if sampling:
            times = times**2
        total += times @ distance, 0.5 * (times @ square)
    return total


def _baseline(fit: Fitted) -> Fitted:
    """The fit of the baseline model to the same rows: no edges but the covariances among exogenous variables."""
    graph = fit.graph
    roots = {v for v in graph.observed if not graph.parents(v)}
    arcs = [(u, v) for u, v in graph.bidirected if u in roots and v in roots]
    bare = graph.with_(
        directed=(), bidirected=arcs, latents={}, coefficients={}, hidden=(), variances={}, intercepts={}
    )
    return refit(fit, bare)
