"""The normal likelihood of rows with holes, from their patterns: value, derivatives, and expected complete moments."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.bottom.memory import remembered
from halftrek.data.missing.holes import LOG_2PI, Sums, gather_sums, suits
from halftrek.data.moments import Moments

if TYPE_CHECKING:
    from halftrek.data.missing.patterns import Patterns


VISITED = 4  # points whose sums are remembered
CHUNK = 1_000_000  # numbers in one stack of matrices


@dataclass(frozen=True, eq=False)
class Slice:
    """Some patterns at one mean and covariance: precisions of what they observe, zero elsewhere."""

    n: Floats
    K: Floats  # inverse covariance of the observed part
    gap: Floats  # mean of the pattern less the model's
    spread: Floats  # second moments about the model's mean
    value: Floats  # log-likelihood of one row


@dataclass(frozen=True, eq=False)
class Slope:
    """Log-likelihood and its derivatives in the mean and in the covariance (as a symmetric matrix)."""

    value: float
    mean: Floats
    cov: Floats


def scale_of(cov: Floats) -> Floats:
    """Standard deviations; 1 in place of 0, which a hidden variable may have and no row sees."""
    spread = np.diag(cov)
    return np.asarray(np.sqrt(np.where(spread == 0.0, 1.0, spread)))


def slices(patterns: Patterns, mean: Floats, cov: Floats, size: int | None = None) -> Iterator[Slice]:
    """The patterns in stacks of bounded size. Raises ``LinAlgError`` unless the covariance is positive definite."""
    p = len(patterns.names)
    scale = scale_of(cov)
    correlation = cov / scale / scale[:, None]
    step = max(1, CHUNK // (p * p if size is None else max(size, p * p)))
    for start in range(0, len(patterns), step):
        seen = patterns.observed[start : start + step]
        both = seen[:, :, None] & seen[:, None, :]
        padded = np.where(both, correlation, np.eye(p))
        root = np.linalg.cholesky(padded)
        K = np.where(both, np.linalg.inv(padded), 0.0) / (scale * scale[:, None])
        gap = np.where(seen, patterns.mean[start : start + step] - mean, 0.0)
        spread = gap[:, :, None] * gap[:, None, :]
        within = patterns.cov[start : start + step]
        spread[: len(within)] += within
        logs = 2.0 * (np.log(np.diagonal(root, axis1=1, axis2=2)).sum(axis=1) + seen @ np.log(scale))
        value = -0.5 * (seen.sum(axis=1) * LOG_2PI + logs + (K * spread).sum(axis=(1, 2)))
        yield Slice(patterns.n[start : start + step], K, gap, spread, value)


def loglik(patterns: Patterns, mean: Floats, cov: Floats) -> float:
    """Log-likelihood of the observed values; minus infinity where the covariance is not positive definite."""
    try:
        with np.errstate(invalid="ignore", divide="ignore"):
            if suits(patterns, cov):
                return _sums(patterns, mean, cov).value
            value = sum(float(part.n @ part.value) for part in slices(patterns, mean, cov))
    except np.linalg.LinAlgError:
        return -np.inf
    return value if np.isfinite(value) else -np.inf


def _sums(patterns: Patterns, mean: Floats, cov: Floats) -> Sums:
    """Sums over many patterns; those of the last points are remembered, since searches come back to where they were."""
    key = (mean.tobytes(), cov.tobytes())
    return remembered(patterns.visited, key, lambda: gather_sums(patterns, mean, cov), most=VISITED)


def slope(patterns: Patterns, mean: Floats, cov: Floats) -> Slope:
    """Log-likelihood and its derivatives; ``LinAlgError`` where there are none."""
    if suits(patterns, cov):
        sums = _sums(patterns, mean, cov)
        return Slope(sums.value, sums.pull, 0.5 * (sums.squares - sums.precision))
    value, first, second = 0.0, np.zeros_like(mean), np.zeros_like(cov)
    for part in slices(patterns, mean, cov):
        value += float(part.n @ part.value)
        first += np.einsum("k,kij,kj->i", part.n, part.K, part.gap)
        second += 0.5 * np.einsum("k,kij->ij", part.n, part.K @ part.spread @ part.K - part.K)
    return Slope(value, first, (second + second.T) / 2.0)


def best_mean(patterns: Patterns, cov: Floats) -> Floats:
    """The mean of highest likelihood, given the covariance: means of patterns, weighted by their precisions."""
    start = patterns.available[0]
    scale = np.sqrt(np.diag(cov))
    weight, pull = np.zeros_like(cov), np.zeros_like(start)
    if suits(patterns, cov):
        sums = _sums(patterns, start, cov)
        return np.asarray(start + scale * np.linalg.solve(sums.precision * np.outer(scale, scale), sums.pull * scale))
    for part in slices(patterns, start, cov):
        weight += np.einsum("k,kij->ij", part.n, part.K) * np.outer(scale, scale)
        pull += np.einsum("k,kij,kj->i", part.n, part.K, part.gap) * scale
    return np.asarray(start + scale * np.linalg.solve(weight, pull))


def completed(patterns: Patterns, mean: Floats, cov: Floats) -> Moments:
    """The moments that complete rows are expected to have, given what was observed and this mean and covariance.

    The E-step of the EM algorithm; it is a step along the slope: the mean moves by ``cov g / n``, the covariance (about
    the old mean) by ``2 cov G cov / n``. ``LinAlgError`` where the covariance is not positive definite.
    """
    found = slope(patterns, mean, cov)
    n = patterns.total
    move = cov @ found.mean / n
    moved = cov + 2.0 * (cov @ found.cov @ cov) / n - np.outer(move, move)
    if not (
        (np.diag(moved) > 0.0) | (np.diag(cov) == 0.0)
    ).all():  # lost to rounding: the covariance is all but singular
        raise np.linalg.LinAlgError
    return Moments(patterns.names, n, mean + move, (moved + moved.T) / 2.0)
