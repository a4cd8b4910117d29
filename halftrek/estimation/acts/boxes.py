"""Probabilities that standard normal variables lie in boxes: of many rows at once, with one matrix of correlations.

One and two variables are known in closed form. Of more, all but the two that correlate most are integrated numerically,
by their conditional distributions in turn (Genz 1992), and these two in closed form given the others. Slopes need no
more than smaller boxes: a box moves with an end by the density there times the box of the others given it, and with a
correlation by the densities at its corners.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations, product

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.layer.bivariate import below_both, phi

GRID = {1: 18, 2: 10, 3: 8}  # points along each variable but the last two, by how many these are
MOST = 2 + max(GRID)  # variables in a box
AT_ONCE = 20_000  # numbers that are worked on at a time: they stay in the processor
_FAR = 40.0


def box_shares(low: Floats, high: Floats, R: Floats) -> Floats:
    """The probability of each row's box."""
    size = low.shape[1]
    if size == 0:
        return np.ones(len(low))
    if size == 1:
        return _one(low[:, 0], high[:, 0])
    if size == 2:
        return _two(low, high, float(R[0, 1]))
    step, order = max(1, AT_ONCE // GRID[size - 2] ** (size - 2)), _order(R)
    low, high, root = low[:, order], high[:, order], np.linalg.cholesky(R[np.ix_(order, order)])
    return np.concatenate([_many(low[k : k + step], high[k : k + step], root) for k in range(0, len(low), step)])


def box_slopes(low: Floats, high: Floats, R: Floats) -> tuple[Floats, Floats, Floats]:
    """Derivatives of the probability in the lower and the upper ends, and in the correlations ``np.triu_indices``."""
    rows, size = low.shape
    ends = [np.clip(end, -_FAR, _FAR) for end in (low, high)]  # where the density is zero in floating point
    by_end = np.zeros((2, rows, size))
    for (side, end), i in product(enumerate(ends), range(size)):
        at = np.abs(end[:, i]) < _FAR
        box = _given(low[at], high[at], R, (i,), end[at, i, None])
        by_end[side, at, i] = phi(end[at, i]) * box_shares(*box)
    by_r = np.zeros((rows, size * (size - 1) // 2))
    for k, (i, j) in enumerate(combinations(range(size), 2)):
        rest = (1.0 - R[i, j]) * (1.0 + R[i, j])
        for a, b in product((0, 1), repeat=2):
            x, y = ends[a][:, i], ends[b][:, j]
            at = (np.abs(x) < _FAR) & (np.abs(y) < _FAR)
            x, y = x[at], y[at]
            density = np.exp(-0.5 * (x * x - 2.0 * R[i, j] * x * y + y * y) / rest) / (2.0 * np.pi * np.sqrt(rest))
            box = _given(low[at], high[at], R, (i, j), np.stack([x, y], axis=1))
            by_r[at, k] += (1.0 if a == b else -1.0) * density * box_shares(*box)
    return -by_end[0], by_end[1], by_r


def _given(low: Floats, high: Floats, R: Floats, at: tuple[int, ...], values: Floats) -> tuple[Floats, Floats, Floats]:
    """The box of the other variables, in their standard units, given the values of some."""
    rest = [k for k in range(len(R)) if k not in at]
    slope = np.linalg.solve(R[np.ix_(at, at)], R[np.ix_(at, rest)])
    left = R[np.ix_(rest, rest)] - R[np.ix_(rest, at)] @ slope
    spread, mean = np.sqrt(np.diag(left)), values @ slope
    return (low[:, rest] - mean) / spread, (high[:, rest] - mean) / spread, left / np.outer(spread, spread)


def _one(low: Floats, high: Floats) -> Floats:
    from scipy.special import ndtr

    upper = low > 0.0
    return np.asarray(ndtr(np.where(upper, -low, high)) - ndtr(np.where(upper, -high, low)))


def _order(R: Floats) -> list[int]:
    """The variables, the two last that correlate most."""
    last = max(combinations(range(len(R)), 2), key=lambda pair: abs(float(R[pair])))
    return [*(k for k in range(len(R)) if k not in last), *last]


def _two(low: Floats, high: Floats, r: float) -> Floats:
    a, b, c, d = low[..., 0], high[..., 0], low[..., 1], high[..., 1]
    turn = np.where((a > 0.0) & np.isinf(b), -1.0, 1.0)  # keep what is infinite below, and digits in the tail
    first, last = np.where(turn > 0, a, -b), np.where(turn > 0, b, -a)
    side = np.where((c > 0.0) & np.isinf(d), -1.0, 1.0)
    under, over = np.where(side > 0, c, -d), np.where(side > 0, d, -c)
    s = turn * side * r
    corners = below_both(last, over, s) - below_both(first, over, s) - below_both(last, under, s)
    return np.asarray(corners + below_both(first, under, s))


def _many(low: Floats, high: Floats, root: Floats) -> Floats:
    from scipy.special import ndtr, ndtri

    size = low.shape[1]
    weights, points = _nodes(size - 2)
    found, done = np.ones((len(low), 1)), np.zeros((len(low), 1, 0))
    for j in range(size - 2):
        before = done @ root[j, :j]
        a, b = ((end[:, j, None] - before) / root[j, j] for end in (low, high))
        turn = np.where(a > 0.0, -1.0, 1.0)  # keeps digits in the upper tail
        a, b = ndtr(np.where(turn > 0.0, a, -b)), ndtr(np.where(turn > 0.0, b, -a))
        inside = np.clip(ndtri(a[:, :, None] + points * (b - a)[:, :, None]), -_FAR, _FAR) * turn[:, :, None]
        found = np.repeat(found * (b - a), len(points), axis=1)
        done = np.concatenate([np.repeat(done, len(points), axis=1), inside.reshape(len(low), -1, 1)], axis=2)
    left = root[-2:, -2:] @ root[-2:, -2:].T
    before, spread = done @ root[-2:, :-2].T, np.sqrt(np.diag(left))
    a, b = ((end[:, None, -2:] - before) / spread for end in (low, high))
    return np.asarray((found * _two(a, b, float(left[0, 1] / (spread[0] * spread[1])))) @ weights)


@cache
def _nodes(count: int) -> tuple[Floats, Floats]:
    """Weights of all points of the unit cube, and the points along one side: dense at its ends, where shares bend."""
    x, w = np.polynomial.legendre.leggauss(GRID[count])
    t = (x + 1.0) / 2.0
    points, share = t**3 * (10.0 - 15.0 * t + 6.0 * t**2), 15.0 * w * t**2 * (1.0 - t) ** 2
    weights = share
    for _ in range(count - 1):
        weights = np.outer(weights, share).ravel()
    return weights, points
