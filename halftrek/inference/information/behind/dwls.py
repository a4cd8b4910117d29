"""Weighted least squares of the variables behind columns: how rows move its answers, and its test of fit.

Parameters move by ``(J'WJ)^-1 J'W IF_S``. The test is scaled and shifted (Asparouhov and Muthen 2010): it has the mean
and the variance of a chi-square.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from halftrek.bottom.arrays import Flags, Floats
from halftrek.estimation import Fitted
from halftrek.estimation.dwls import Weighted, weighted_of
from halftrek.inference.checks.measures import Measures, cfi_of, measures, rmsea_range, tail, tli_of
from halftrek.inference.checks.robust_fit import without_likelihood
from halftrek.inference.how import How
from halftrek.inference.information.behind.layer import LAYER
from halftrek.inference.information.dimension import aside
from halftrek.inference.information.influence import Forms
from halftrek.inference.information.missing.incomplete import lost
from halftrek.inference.information.robust import added, mean_squares, over_units, products
from halftrek.inference.kept import kept
from halftrek.inference.tables.parameter import Reach
from halftrek.inference.tables.parameters import ParameterRows, rows_in_space, signs_of, slope_of_intercept
from halftrek.queries.gradients import Gradient

WEIGHTED = "weighted least squares, scaled and shifted"


def which_test(fit: Fitted) -> str:
    """The test in words, with a word where squares are not at their least: it then says less than it seems to."""
    short = [one.short for one in fit.status.notes if one.code == "steps ran out, weighted"]
    return "; ".join((WEIGHTED, *short))


def dwls_scores(fit: Fitted, gradients: tuple[Gradient, ...]) -> Forms:
    """How a row, times n, moves numbers with these gradients."""
    found, seen, p = weighted_of(fit), [_of_seen(fit, g) for g in gradients], len(fit.graph)
    pulled = [found.space.collect(g.T, g.omega, np.zeros_like(g.mean), fit.model.C)[found.at] for g in seen]
    lines = np.array(pulled).reshape(len(seen), len(found.at))
    moved = np.where(_lost(found, lines)[:, None], np.nan, lines @ _moved_by(found))
    return _forms(fit, moved, np.array([g.mean[:p] for g in seen]).reshape(len(seen), p))


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


def _lost(found: Weighted, lines: Floats) -> Flags:
    """Which numbers with these gradients need a direction in which no covariance moves, so that no data tell them."""
    largest = np.abs(found.slopes).max(axis=0)  # of each covariance: firm weights would blur the rank
    scaled = found.slopes / np.where(largest > 0.0, largest, 1.0)
    return lost(scaled @ scaled.T, lines)


def _undetermined(fit: Fitted, found: Weighted) -> Flags:
    """Which parameters no data tell, here or near: at special estimates one may stand still to first order."""
    each = np.eye(len(found.at))
    near = found.at_point(aside(found.space, fit.model), len(fit.graph))
    return np.asarray(_lost(found, each) | _lost(near, each))


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
    errors[found.at] = np.where(_undetermined(fit, found), np.nan, squares[0])
    whole = replace(fit, graph=fit.graph.opened)
    rows = rows_in_space(whole, found.space, errors, [reach] * found.space.size, signs_of(fit))
    return rows, np.concatenate([squares[1], np.zeros(q - p)]), [reach] * q, False


@dataclass(frozen=True)
class WeightedTest:
    """The weighted sum of squares times n - 1, and the same scaled and shifted to a chi-square."""

    chi2: float
    df: int
    scaled: float
    pvalue: float | None


@kept
def dwls_test(fit: Fitted) -> WeightedTest:
    """The test of fit."""
    found, p = weighted_of(fit), len(fit.graph)
    i, j = np.triu_indices(p)
    gap = (fit.moments.cov - fit.model.cov[:p, :p])[i, j]
    W = np.diag(found.weights)
    rank = int(np.linalg.matrix_rank(found.slopes @ np.sqrt(W), tol=1e-9))
    U = W - W @ found.slopes.T @ found.inverse @ found.slopes @ W
    return _shifted(fit.n * float(found.weights @ gap**2), len(i) - rank, U @ _spread(fit))


@kept
def dwls_baseline(fit: Fitted) -> WeightedTest:
    """The same of the model in which nothing covaries but causes that have no cause, where the graph lets them."""
    found, p, causes = weighted_of(fit), len(fit.graph), {u for u, _ in fit.graph.directed}
    i, j = np.triu_indices(p)
    names = fit.moments.names
    arcs = {frozenset(arc) for arc in fit.graph.bidirected}
    roots = {v for v in names if v in causes and not fit.graph.parents(v)}
    free = [
        {names[a], names[b]} <= roots and frozenset((names[a], names[b])) in arcs for a, b in zip(i, j, strict=True)
    ]
    weights = np.where((i == j) | np.array(free), 0.0, found.weights)
    chi2 = fit.n * float(weights @ fit.moments.cov[i, j] ** 2)
    return _shifted(chi2, int((weights > 0.0).sum()), weights[:, None] * _spread(fit))


@kept
def _spread(fit: Fitted) -> Floats:
    """How what rows add to the covariances varies together."""
    size = len(fit.graph) * (len(fit.graph) + 1) // 2
    total, _ = over_units(fit, [_forms(fit, np.eye(size), np.zeros((size, len(fit.graph))))], products, added)
    return np.asarray(total / fit.n)


def _shifted(chi2: float, df: int, both: Floats) -> WeightedTest:
    """With the mean and the variance of a chi-square; ``both`` has the weights of the mixture as its eigenvalues."""
    if df <= 0:
        return WeightedTest(chi2, 0, chi2, None)
    first, second = float(np.trace(both)), float(np.trace(both @ both))
    scaled = float(chi2 * np.sqrt(df / second) + df - np.sqrt(df * first**2 / second))
    return WeightedTest(chi2, df, scaled, tail(max(scaled, 0.0), df))


def dwls_measures(fit: Fitted) -> Measures:
    """The test in the place of the likelihood ratio, and indices from it as lavaan's scaled ones: n - 1 counts.

    What rests on a likelihood is nan.
    """
    found, base, n = dwls_test(fit), dwls_baseline(fit), fit.n - 1.0
    p, scale = len(fit.graph), fit.moments.layer.scale if fit.moments.layer else np.ones(len(fit.graph))
    apart = np.tril((fit.moments.cov - fit.model.cov[:p, :p]) / np.outer(scale, scale), -1)
    srmr = float(np.sqrt((apart**2).sum() / (p * (p + 1) / 2)))  # lavaan counts variances, which are met
    low, high = rmsea_range(max(found.scaled, 0.0), found.df, n)
    return replace(
        without_likelihood(measures(fit)), chi2=found.scaled, df=found.df, pvalue=found.pvalue,
        baseline_chi2=base.scaled, baseline_df=base.df,
        cfi=cfi_of(found.scaled, found.df, base.scaled, base.df),
        tli=tli_of(found.scaled, found.df, base.scaled, base.df),
        rmsea=float(np.sqrt(max(0.0, (found.scaled - found.df) / (max(found.df, 1) * n)))),
        rmsea_low=low, rmsea_high=high, srmr=srmr, srmr_no_mean=srmr,
    )  # fmt: skip


DWLS = replace(LAYER, row_scores=dwls_scores, parameters=dwls_parameters)
