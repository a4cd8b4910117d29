"""How large a statistic of many groups is when groups are alike: drawn again from the fitted models.

With few rows to a group the chi-square reference is too small, and with many groups the excess adds up. The mean of
the drawn statistics over their degrees of freedom measures it (an empirical Bartlett correction); as that mean is
itself drawn, the corrected statistic is referred to the F distribution.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from halftrek.estimation import BatchFit, fit_batch
from halftrek.estimation.groups import GroupFits
from halftrek.model import Floats

Ints = NDArray[np.intp]

DRAWN = 1000  # groups to draw at least, all replicates together


@dataclass(frozen=True)
class Drawn:
    """Sums of statistics drawn under equality, and of their degrees of freedom."""

    statistic: float
    df: float

    @property
    def inflation(self) -> float:
        """How much larger than its degrees of freedom the statistic is on average."""
        return self.statistic / self.df

    def p(self, statistic: float, df: float) -> float:
        """The p-value of a statistic."""
        from scipy.special import fdtrc

        return float(fdtrc(df, self.df, statistic / df / self.inflation))


@dataclass(frozen=True, eq=False)
class Redrawn:
    """Fits to data drawn again for every group, several times over.

    ``group`` says which group each fit is of, ``time`` in which replicate; fits that reached no maximum are left out.
    """

    batch: BatchFit
    cov: Floats
    n: Floats
    group: Ints
    time: Ints

    def times(self) -> Iterator[slice]:
        """The fits of each replicate."""
        ends = np.r_[0, np.flatnonzero(np.diff(self.time)) + 1, len(self.time)]
        return (slice(int(a), int(b)) for a, b in pairwise(ends))


def redraw(fits: GroupFits, cov: Floats, mean: Floats, n: Floats, seed: int) -> Redrawn:
    """Draw moments of all groups from these models, and fit them, so often that there are some thousand."""
    groups = len(n)
    times = -(-DRAWN // groups)
    group, time = np.tile(np.arange(groups), times), np.repeat(np.arange(times), groups)
    drawn, means = draw_moments(cov[group], mean[group], n[group], np.random.default_rng(seed))
    found = fit_batch(
        fits.graph, cov=drawn, mean=means, n=n[group], noise=dict(fits.options.noise),
        intercepts=dict(fits.options.intercepts), starts=fits.starts, max_iter=fits.max_iter,
    )  # fmt: skip
    good = np.flatnonzero(found.converged)
    return Redrawn(found.take(good), drawn[good], n[group][good], group[good], time[good])


def draw_moments(cov: Floats, mean: Floats, n: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Sample covariances (divisor n) and means of normal rows, one for each model: Bartlett's decomposition."""
    b, p = mean.shape
    root = np.linalg.cholesky(cov)
    A = np.tril(rng.standard_normal((b, p, p)), -1)
    A[:, np.arange(p), np.arange(p)] = np.sqrt(rng.chisquare(n[:, None] - 1.0 - np.arange(p)))
    LA = root @ A
    drawn = LA @ LA.transpose(0, 2, 1) / n[:, None, None]
    shift = (root @ rng.standard_normal((b, p, 1)))[:, :, 0] / np.sqrt(n)[:, None]
    return drawn, mean + shift


def summed(statistics: Iterable[Sequence[tuple[float, float]]]) -> list[Drawn]:
    """Sums over replicates of ``(statistic, df)`` for each of several tests."""
    total = np.sum(list(statistics), axis=0)
    return [Drawn(float(statistic), float(df)) for statistic, df in total]
