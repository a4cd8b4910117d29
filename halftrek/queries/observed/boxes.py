"""One normal variable, given that others lie in boxes: of many units at once, each with means and boxes of its own.

All but the last of the variables in boxes are integrated numerically (by their conditional distributions in turn, as
Genz 1992), the last in closed form: given the others, it and the outcome are two normal variables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.layer.bivariate import below_both, phi

AT_ONCE = 2_000_000  # numbers that are worked on at a time
GRID = {1: 48, 2: 24, 3: 20}  # points along each variable but the last
MOST = 1 + len(GRID)  # variables in boxes; beyond, numbers would be right to a few thousandths only
RARE = 1e-12  # probability of a box below which what it tells has no digits left


@dataclass(frozen=True, eq=False)
class Boxed:
    """Units: means of the variables in boxes and, last, of the outcome; one covariance; ends of the boxes.

    ``exact``: the variables in boxes determine the outcome, whatever the covariance says of what is left.
    """

    mean: Floats
    cov: Floats
    low: Floats
    high: Floats
    exact: bool = False

    def below(self, cuts: Floats) -> Floats:
        """The probability that the outcome is below each cut, a line for each unit; nan where a box cannot occur."""
        return self._shares(len(cuts), lambda part: part.below(cuts))

    def moments(self) -> Floats:
        """Mean and mean square of the outcome, a line for each unit."""
        return self._shares(2, lambda part: part.moments())

    def _shares(self, count: int, of: Callable[[_Part], Floats]) -> Floats:
        found = np.empty((len(self.mean), count))
        for units, part in self._parts(count):
            whole = part.whole
            with np.errstate(divide="ignore", invalid="ignore"):
                found[units] = np.where(whole > RARE, of(part) / whole, np.nan)
        return found

    def _parts(self, count: int) -> Iterator[tuple[slice, _Part]]:
        boxes = self.low.shape[1]
        share, points = nodes(max(boxes - 1, 0))
        size = max(1, AT_ONCE // (len(share) * max(count, 1)))
        last = self._last()
        order = [*(k for k in range(boxes) if k != last), *([last] if boxes else [])]
        root = np.linalg.cholesky(self.cov[np.ix_(order, order)]) if boxes else np.zeros((0, 0))
        along = np.linalg.solve(root, self.cov[order, -1]) if boxes else np.zeros(0)
        left = 0.0 if self.exact else max(float(self.cov[-1, -1] - along @ along), 0.0)
        for start in range(0, len(self.mean), size):
            units = slice(start, start + size)
            ends = [(end[units] - self.mean[units, :-1])[:, order] for end in (self.low, self.high)]
            yield units, _part(self.mean[units, -1], np.sqrt(left), root, along, ends, share, points)

    def _last(self) -> int:
        """The variable that tells most of the outcome, beside the others."""
        boxes = self.low.shape[1]
        if not boxes:
            return -1
        inside = self.cov[:-1, :-1]
        return int(np.argmax(np.abs(np.linalg.solve(inside, self.cov[:-1, -1])) * np.sqrt(np.diag(inside))))


@dataclass(frozen=True, eq=False)
class _Part:
    """Some units by point: weights, and the outcome as ``start + slope * u + left * noise``, u between two ends."""

    weight: Floats
    start: Floats
    slope: Floats
    left: float
    low: Floats
    high: Floats
    boxed: bool

    @property
    def whole(self) -> Floats:
        """The probability of each unit's box."""
        return np.asarray((self.weight * _between(self.low, self.high)).sum(axis=1, keepdims=True))

    def below(self, cuts: Floats) -> Floats:
        """With the probability of the box: that the outcome is below each cut."""
        from scipy.special import ndtr

        gap = cuts - self.start[:, :, None]
        low, high, slope = (x[:, :, None] for x in (self.low, self.high, self.slope))
        if self.left == 0.0:
            with np.errstate(divide="ignore", invalid="ignore"):
                at = np.clip(np.where(slope == 0.0, np.where(gap >= 0.0, np.inf, -np.inf), gap / slope), low, high)
            rising = slope >= 0.0
            share = np.where(rising, _between(low, at), _between(at, high))
        elif self.boxed:
            size = np.hypot(slope, self.left)
            share = below_both(gap / size, high, slope / size) - below_both(gap / size, low, slope / size)
        else:
            share = ndtr(gap / self.left)
        return np.asarray(np.einsum("ij,ijc->ic", self.weight, share))

    def moments(self) -> Floats:
        """With the probability of the box: the outcome, and its square."""
        mass, first = _between(self.low, self.high), phi(self.low) - phi(self.high)
        second = mass + _edge(self.low) - _edge(self.high)
        mean = self.start * mass + self.slope * first
        square = self.start * (mean + self.slope * first) + self.slope**2 * second + self.left**2 * mass
        return np.stack([(self.weight * x).sum(axis=1) for x in (mean, square)], axis=1)


def _part(
    mean: Floats, left: float, root: Floats, along: Floats, ends: list[Floats], share: Floats, points: Floats
) -> _Part:
    units, boxes = len(mean), len(root)
    weight, start = np.tile(share, (units, 1)), np.tile(mean[:, None], (1, len(share)))
    none = np.zeros_like(weight)
    if not boxes:
        return _Part(weight, start, none, left, none - np.inf, none + np.inf, boxed=False)
    done: list[Floats] = []
    for j in range(boxes):
        before = sum((root[j, k] * one for k, one in enumerate(done)), none)
        low, high = ((end[:, j, None] - before) / root[j, j] for end in ends)
        turn = np.where(low > 0.0, -1.0, 1.0)  # keeps digits in the upper tail
        low, high = np.where(turn > 0.0, low, -high), np.where(turn > 0.0, high, -low)
        if j == boxes - 1:
            return _Part(weight, start, along[j] * turn, left, low, high, boxed=True)
        u = _inside(low, high, points[:, j]) * turn
        weight, start = weight * _between(low, high), start + along[j] * u
        done.append(u)
    raise AssertionError


def _inside(low: Floats, high: Floats, at: Floats) -> Floats:
    """Where a standard normal variable between two ends has this share of its probability below."""
    from scipy.special import ndtr, ndtri

    bottom = ndtr(low)
    found = ndtri(bottom + at * (ndtr(high) - bottom))
    return np.asarray(np.clip(found, np.maximum(low, -38.0), np.minimum(high, 38.0)))


def _between(low: Floats, high: Floats) -> Floats:
    from scipy.special import ndtr

    upper = low > 0.0
    return np.asarray(ndtr(np.where(upper, -low, high)) - ndtr(np.where(upper, -high, low)))


def _edge(end: Floats) -> Floats:
    """``x phi(x)``, 0 at infinity."""
    return np.where(np.isfinite(end), np.where(np.isfinite(end), end, 0.0) * phi(end), 0.0)


@cache
def nodes(count: int) -> tuple[Floats, Floats]:
    """Weights and points in the unit cube, dense towards its sides, where what is integrated may bend."""
    if count == 0:
        return np.ones(1), np.zeros((1, 0))
    x, w = np.polynomial.legendre.leggauss(GRID[count])
    t = (x + 1.0) / 2.0
    at, share = t**3 * (10.0 - 15.0 * t + 6.0 * t**2), 15.0 * w * t**2 * (1.0 - t) ** 2
    grid = np.stack(np.meshgrid(*[at] * count, indexing="ij"), axis=-1).reshape(-1, count)
    weights = np.stack(np.meshgrid(*[share] * count, indexing="ij"), axis=-1).reshape(-1, count)
    return weights.prod(axis=1), grid
