"""Weighted least squares of the variables behind columns: how rows move its answers, and its test of fit.

Parameters move by ``(J'WJ)^-1 J'W IF_S``. The test is scaled and shifted (Asparouhov and Muthen 2010): it has the mean
and the variance of a chi-square.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from halftrek.arrays import Floats
from halftrek.estimation import Fitted
from halftrek.estimation.dwls import weighted_of
from halftrek.inference.checks.measures import Measures, measures
from halftrek.inference.checks.robust_fit import without_likelihood
from halftrek.inference.how import How
from halftrek.inference.information.influence import Forms
from halftrek.inference.information.layer import LAYER
from halftrek.inference.information.robust import added, mean_squares, over_units, products
from halftrek.inference.kept import kept
from halftrek.inference.tables.parameter import Reach, row_of
from halftrek.inference.tables.parameters import ParameterRows, slope_of_intercept
from halftrek.queries.gradients import Gradient

WEIGHTED = "weighted least squares, scaled and shifted"


def dwls_scores(fit: Fitted, gradients: tuple[Gradient, ...]) -> Forms:
    """How a row, times n, moves numbers with these gradients."""
    found = weighted_of(fit)
    pulled = np.array(
        [found.space.collect(g.T, g.omega, np.zeros_like(g.mean), fit.model.C)[found.at] for g in gradients]
    )
    return _forms(fit, pulled @ found.inverse @ (found.slopes * found.weights), np.array([g.mean for g in gradients]))


def _forms(fit: Fitted, lines: Floats, linear: Floats) -> Forms:
    """Weights of covariances, one after the other, as forms of a row."""
    p = len(fit.model.names)
    i, j = np.triu_indices(p)
    square = np.zeros((len(lines), p, p))
    square[:, i, j] = np.where(i == j, lines, lines / 2.0)
    square[:, j, i] = square[:, i, j]
    return Forms(np.arange(p), linear, square)


def dwls_parameters(fit: Fitted, how: How) -> ParameterRows:
    """Every parameter, with errors by influence; intercepts are set apart."""
    space, model, p = weighted_of(fit).space, fit.model, len(fit.model.names)
    sd, W, names = np.sqrt(np.diag(model.cov)), model.W, model.names
    lines: list[tuple[str, str, str, float, float]] = []
    gradients: list[Gradient] = []
    for u, v, _ in space.T_at:
        lines.append((names[v], "~", names[u], model.T[u, v], model.T[u, v] * sd[u] / sd[v]))
        gradients.append(_unit(p, arrow=(u, v)))
    for i, j, _ in space.W_at:
        lines.append(
            (names[i], "~~", names[j], W[i, j], W[i, j] / (sd[i] ** 2 if i == j else np.sqrt(W[i, i] * W[j, j])))
        )
        gradients.append(_unit(p, arc=(i, j)))
    gradients += [slope_of_intercept(fit, j) for j in range(p)]
    (squares,) = mean_squares(fit, [dwls_scores(fit, tuple(gradients))])
    errors, reach = np.sqrt(squares / fit.n), Reach(how.quantile, how.level)
    rows = [row_of(*line[:4], error, line[4], reach) for line, error in zip(lines, errors, strict=False)]
    return rows, errors[len(rows) :], [reach] * p, False


def _unit(p: int, *, arrow: tuple[int, int] | None = None, arc: tuple[int, int] | None = None) -> Gradient:
    first, second = np.zeros((p, p)), np.zeros((p, p))
    if arrow is not None:
        first[arrow] = 1.0
    if arc is not None:
        i, j = arc
        second[i, j] += 0.5
        second[j, i] += 0.5
    return Gradient(first, second, np.zeros(p))


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
    p = len(fit.model.names)
    i, j = np.triu_indices(p)
    gap = (fit.moments.cov - fit.model.cov)[i, j]
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
