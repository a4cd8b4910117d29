"""Do the data reject the model that an answer comes from, and what follows for the answer?

The likelihood-ratio statistic is too large where rows are few. For regressions its mean is known: a variable regressed
on k - 1 others and a constant adds ``e(k) = n (log(n/2) - psi((n - k)/2))``, so that the statistic of a graph against
no restriction has the mean ``sum of e(1 .. p) - sum of e(k_j)``, exactly for graphs without hidden causes and closely
for others. Divided by that mean over the degrees of freedom it is compared with chi-squared.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from halftrek.estimation import Fit
from halftrek.estimation.plan import make_plan
from halftrek.inference.kept import kept
from halftrek.inference.measures import measures, tail
from halftrek.model import Floats

REJECTED = 0.01  # p-value below which the data count as contradicting the graph


@dataclass(frozen=True)
class Misfit:
    """The overall test of a model, with its p-value for few rows."""

    chi2: float
    df: int
    p: float

    @property
    def rejected(self) -> bool:
        """True if the data contradict the graph somewhere."""
        return self.p < REJECTED


@kept
def misfit(fit: Fit) -> Misfit | None:
    """The overall test of a fit; None where there is nothing to test, or too few rows to test it."""
    if not fit.converged:
        return None
    found = measures(fit)
    if not found.df or found.pvalue is None or not np.isfinite(found.chi2):
        return None
    rows = fit.n if fit.patterns is None else fit.patterns.used / len(fit.patterns.names)
    factor = bartlett_factor(fit, rows)
    return None if factor is None else Misfit(found.chi2, found.df, tail(found.chi2 / factor, found.df))


def bartlett_factor(fit: Fit, rows: float) -> float | None:
    """By how much the likelihood-ratio statistic is too large on average; None for fewer rows than it takes."""
    p = len(fit.model.names)
    if rows <= p + 1.0:
        return None
    plan = make_plan(fit.graph, fit.model.names, fit.options)
    sizes: list[int] = []
    for task in plan.every_task:
        count = np.ones(task.shape.size, dtype=np.intp)
        for j in (*task.shape.column, *(max(pair) for pair in task.shape.pairs), *(j for _, j in task.shape.loadings)):
            count[j] += 1
        sizes += count.tolist()
    restrictions = p * (p + 1) // 2 - sum(sizes)
    if restrictions < 1:
        return 1.0
    gain = _excess(rows, np.arange(1, p + 1)).sum() - _excess(rows, np.minimum(np.array(sizes), p)).sum()
    return max(1.0, float(gain) / restrictions)


def _excess(n: float, size: NDArray[np.intp]) -> Floats:
    """What a regression with so many parameters gains in twice the log-likelihood, on average, and a constant."""
    from scipy.special import psi

    return np.asarray(n * (np.log(n / 2.0) - psi((n - size) / 2.0)))
