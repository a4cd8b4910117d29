"""Probabilities of boxes under a normal distribution, with their derivatives, exact also where it is singular.

With standard ends u and correlations R: ``dP = Σ f_k(high) d high - f_k(low) d low + Σ_{k<l} P_kl dR_kl``, where f_k is
the density of the k-th variable times the probability of the rest there, and P_kl likewise for pairs (Plackett 1954).
Variables that determine each other (in linear models ``y_{x=1}`` and ``y_{x=0}`` of one unit do) count as one, whose
interval has ends of different owners.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from itertools import count as counted
from itertools import islice
from math import isqrt, pi

import numpy as np

from halftrek.bottom.arrays import Floats

_ONE = 1e-7  # unit vectors that differ by less are the same direction
_FAR = 38.0  # beyond, the standard normal density is zero in floating point
_STEPS = (-8.0, -4.0, -2.0, -1.0, 0.0, 1.0, 2.0, 4.0, 8.0)


@dataclass(frozen=True)
class End:
    """A bound of a standard normal variable; ``owner`` is the event that sets it, ``sign`` -1 if it is turned round."""

    at: float
    owner: int = -1
    sign: float = 1.0


@dataclass(frozen=True, eq=False)
class Box:
    """Standard normal variables (the events ``names``) with correlations, each between two ends."""

    names: tuple[int, ...]
    correlations: Floats
    low: tuple[End, ...]
    high: tuple[End, ...]
    empty: bool = False


def box_probability(mean: Floats, root: Floats, low: Floats, high: Floats) -> float:
    """The probability that all variables with this mean and covariance ``root'root`` lie between their ends."""
    return _measure(direction_box(mean, root, low, high))


def box_gradient(mean: Floats, root: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Derivatives of the probability in means and (symmetric) covariances."""
    count = len(mean)
    by_mean, by_cov = np.zeros(count), np.zeros((count, count))
    box = direction_box(mean, root, low, high)
    if box.empty:
        return by_mean, by_cov
    spread = np.linalg.norm(root, axis=0)
    for k, (a, b) in enumerate(zip(box.low, box.high, strict=True)):
        for end, side in ((b, 1.0), (a, -1.0)):
            if np.isfinite(end.at):
                slope = side * end.sign * density(end.at) * _measure(_given(box, ((k, end.at),)))
                own = end.sign * end.at  # the end on the owner's own scale
                by_mean[end.owner] -= slope / spread[end.owner]
                by_cov[end.owner, end.owner] -= slope * own / (2.0 * spread[end.owner] ** 2)
    for k in range(len(box.names)):
        for m in range(k):
            slope = _pair_slope(box, k, m)
            i, j = box.names[k], box.names[m]
            r = box.correlations[k, m]
            by_cov[i, j] += slope / (2.0 * spread[i] * spread[j])
            by_cov[j, i] += slope / (2.0 * spread[i] * spread[j])
            by_cov[i, i] -= slope * r / (2.0 * spread[i] ** 2)
            by_cov[j, j] -= slope * r / (2.0 * spread[j] ** 2)
    return by_mean, by_cov


def direction_box(mean: Floats, root: Floats, low: Floats, high: Floats) -> Box:
    """Standard normal variables along different directions, each with the narrowest interval that events leave it."""
    spread = np.linalg.norm(root, axis=0)
    fixed = spread == 0.0
    if ((mean <= low) | (mean >= high))[fixed].any():
        return Box((), np.zeros((0, 0)), (), (), empty=True)
    at = [int(i) for i in np.flatnonzero(~fixed)]
    units = root[:, at] / spread[at]
    lows = [End(_standard(low[i], mean[i], spread[i]), i) for i in at]
    highs = [End(_standard(high[i], mean[i], spread[i]), i) for i in at]
    return _merged(at, units, list(zip(lows, highs, strict=True)))


def _standard(end: float, mean: float, spread: float) -> float:
    """The end in standard deviations; one far beyond all that can happen is no end."""
    with np.errstate(over="ignore"):
        found = float((end - mean) / spread)
    return found if abs(found) < 1e6 else np.copysign(np.inf, found)


def _merged(at: list[int], units: Floats, ends: list[tuple[End, End]]) -> Box:
    """Variables along the same direction become one, with the narrowest interval."""
    kept: list[int] = []
    low: list[End] = []
    high: list[End] = []
    for k, (a, b) in enumerate(ends):
        for position, other in enumerate(kept):
            for sign in (1.0, -1.0):
                if np.linalg.norm(units[:, k] - sign * units[:, other]) < _ONE:
                    first, last = (a, b) if sign > 0 else (_turned(b), _turned(a))
                    low[position] = max(low[position], first, key=lambda e: e.at)
                    high[position] = min(high[position], last, key=lambda e: e.at)
                    break
            else:
                continue
            break
        else:
            kept.append(k)
            low.append(a)
            high.append(b)
    directions = units[:, kept]
    empty = any(a.at >= b.at for a, b in zip(low, high, strict=True))
    names = tuple(at[k] for k in kept)
    return Box(names, directions.T @ directions, tuple(low), tuple(high), empty)


def _turned(end: End) -> End:
    return replace(end, at=-end.at, sign=-end.sign)


def _given(box: Box, values: tuple[tuple[int, float], ...]) -> Box:
    """The other variables of a box, where some have known values."""
    on = [k for k, _ in values]
    rest = [k for k in range(len(box.names)) if k not in on]
    if not rest:
        return Box((), np.zeros((0, 0)), (), ())
    slope = np.linalg.solve(box.correlations[np.ix_(on, on)], box.correlations[np.ix_(on, rest)])
    mean = np.array([x for _, x in values]) @ slope
    cov = box.correlations[np.ix_(rest, rest)] - box.correlations[np.ix_(rest, on)] @ slope
    low, high = np.array([box.low[k].at for k in rest]), np.array([box.high[k].at for k in rest])
    return direction_box(mean, _root(cov), low, high)


def _root(cov: Floats) -> Floats:
    values, vectors = np.linalg.eigh(cov)
    values[values < 1e-13] = 0.0
    return np.asarray((vectors * np.sqrt(values)).T)


def density(at: float) -> float:
    """The standard normal density."""
    return float(np.exp(-0.5 * at * at) / np.sqrt(2.0 * pi))


def _pair_slope(box: Box, k: int, m: int) -> float:
    """Derivative of the probability in one correlation."""
    r = float(box.correlations[k, m])
    rest = 1.0 - r * r
    total = 0.0
    for x, side in ((box.high[k].at, 1.0), (box.low[k].at, -1.0)):
        for y, other in ((box.high[m].at, 1.0), (box.low[m].at, -1.0)):
            if np.isfinite(x) and np.isfinite(y):
                density = np.exp(-(x * x - 2.0 * r * x * y + y * y) / (2.0 * rest)) / (2.0 * pi * np.sqrt(rest))
                if density > 0.0:
                    total += side * other * float(density) * _measure(_given(box, ((k, x), (m, y))))
    return total


def _measure(box: Box) -> float:
    """The probability of a box."""
    if box.empty:
        return 0.0
    size = len(box.names)
    low, high = np.array([e.at for e in box.low]), np.array([e.at for e in box.high])
    if size == 0:
        return 1.0
    if size == 1:
        return float(interval_probability(low[0], high[0]))
    if size == 2:
        return _two(low, high, float(box.correlations[0, 1]))
    return _three(box) if size == 3 else _many(low, high, box.correlations)


def interval_probability(low: float | Floats, high: float | Floats) -> Floats:
    """The probability of an interval under the standard normal, exact in both tails."""
    from scipy.special import ndtr

    upper = np.asarray(low) > 0.0  # differences of small tails keep their digits
    first, last = np.where(upper, -np.asarray(high), low), np.where(upper, -np.asarray(low), high)
    return np.asarray(ndtr(last) - ndtr(first))


def _two(low: Floats, high: Floats, r: float) -> float:
    """One integral over intervals of the second variable, exact also far out in the tails.

    Panels of length one, and finer ones where the second variable's bounds cross the first one's values.
    """
    from scipy.special import ndtr

    start, stop = max(float(low[0]), -_FAR), min(float(high[0]), _FAR)
    if start >= stop:
        return 0.0
    rest = float(np.sqrt((1.0 - r) * (1.0 + r)))
    bends = [e / r + rest / r * k for e in (low[1], high[1]) if np.isfinite(e) and r for k in _STEPS]
    edges = np.unique(np.clip([*np.arange(np.ceil(start), stop), start, stop, *bends], start, stop))
    points, weights = np.polynomial.legendre.leggauss(16)
    half = np.diff(edges)[:, None] / 2.0
    x = edges[:-1, None] + half * (points + 1.0)
    a, b = (low[1] - r * x) / rest, (high[1] - r * x) / rest
    inside = np.where(a > 0.0, ndtr(-a) - ndtr(-b), ndtr(b) - ndtr(a))
    return float((half * weights * np.exp(-0.5 * x * x) * inside).sum() / np.sqrt(2.0 * pi))


def _three(box: Box) -> float:
    """One integral over probabilities of two, along the variable with the narrowest interval."""
    from scipy.integrate import quad

    widths = [interval_probability(a.at, b.at) for a, b in zip(box.low, box.high, strict=True)]
    k = int(np.argmin(widths))
    low, high = max(box.low[k].at, -9.0), min(box.high[k].at, 9.0)
    if low >= high:
        return 0.0
    value, _ = quad(
        lambda x: density(x) * _measure(_given(box, ((k, x),))), low, high, epsabs=1e-11, epsrel=1e-9, limit=200
    )
    return float(value)


def _many(low: Floats, high: Floats, R: Floats, points: int = 2**15) -> float:
    """Genz: one variable after the other, on a fixed lattice, so that the answer is always the same."""
    from scipy.special import ndtr, ndtri

    size = len(low)
    grid = (np.arange(1, points + 1)[:, None] * _roots(size - 1)) % 1.0
    grid = np.abs(2.0 * grid - 1.0)  # continued periodically, so that the lattice converges fast
    L = _lower(R)
    total, drawn = np.ones(points), np.zeros((points, size))
    for k in range(size):
        shift = drawn[:, :k] @ L[k, :k]
        if L[k, k] == 0.0:
            total *= (shift > low[k]) & (shift < high[k])
            continue
        below, above = ndtr((low[k] - shift) / L[k, k]), ndtr((high[k] - shift) / L[k, k])
        total *= above - below
        if k < size - 1:
            drawn[:, k] = ndtri(np.clip(below + grid[:, k] * (above - below), 1e-300, 1.0 - 1e-16))
    return float(total.mean())


@cache
def _roots(count: int) -> Floats:
    """Roots of the first primes: no whole multiples of them add up to a whole number, so a lattice fills the cube."""
    primes = (k for k in counted(2) if all(k % d for d in range(2, isqrt(k) + 1)))
    return np.asarray(np.sqrt(np.fromiter(islice(primes, count), dtype=float)))


def _lower(R: Floats) -> Floats:
    """Cholesky factor that allows for singular matrices."""
    size = len(R)
    L = np.zeros((size, size))
    for k in range(size):
        for j in range(k):
            L[k, j] = 0.0 if L[j, j] == 0.0 else (R[k, j] - L[k, :j] @ L[j, :j]) / L[j, j]
        left = R[k, k] - L[k, :k] @ L[k, :k]
        L[k, k] = np.sqrt(left) if left > 1e-12 else 0.0
    return L
