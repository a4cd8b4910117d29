"""One normal variable, given that others lie in boxes: of many units at once, each with means and boxes of its own.

All but the last of the variables in boxes are integrated numerically (by their conditional distributions in turn, as
Genz 1992), the last in closed form: given the others, it and the outcome are two normal variables. Up to three are
integrated by Gauss-Legendre points along each, more of them on a lattice, always the same one. Its points are taken
eight times, then four times, as many for units in which that moved a share, or a mean in standard deviations of the
outcome, by more than ``NEAR``; what is left of the error is a fraction of it, in the tests below 1e-3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.errors import QueryError
from halftrek.layer.bivariate import below_both, phi

AT_ONCE = 2_000_000  # numbers that are worked on at a time
GRID = {1: 48, 2: 24, 3: 20}  # points along each variable but the last
LATTICES = {509: 129, 4093: 1649, 16381: 5715, 65521: 26102}  # points; how far each axis goes for one step of the last
COARSE = min(LATTICES)
NEAR, FAR = 5e-4, 5e-3
MOST = 16  # variables in boxes
RARE = 1e-12  # probability of a box of up to four variables below which it next to never occurs


@dataclass(frozen=True, eq=False)
class Boxed:
    """Units: means of the variables in boxes and, last, of the outcome; one covariance; ends of the boxes.

    ``exact``: the variables in boxes determine the outcome, whatever the covariance says of what is left. ``coarse``
    takes few points where a lattice is needed: enough for slopes, of which errors need two digits.
    """

    mean: Floats
    cov: Floats
    low: Floats
    high: Floats
    exact: bool = False
    coarse: bool = False

    def below(self, cuts: Floats) -> Floats:
        """The probability that the outcome is below each cut, a line for each unit; nan where a box cannot occur."""
        return self._shares(len(cuts), lambda part: part.below(cuts), np.ones(len(cuts)))

    def moments(self) -> Floats:
        """Mean and mean square of the outcome, a line for each unit."""
        sd = float(np.sqrt(max(self.cov[-1, -1], 0.0))) or 1.0  # of what is determined it is zero but for rounding
        return self._shares(2, lambda part: part.moments(), np.array([sd, np.inf]))

    def _shares(self, count: int, of: Callable[[_Part], Floats], sizes: Floats) -> Floats:
        """Means over boxes; on a lattice with as many points as they need, ``sizes`` being those of a change by 1."""
        axes = max(self.low.shape[1] - 1, 0)
        if axes in (0, *GRID) and not (self.coarse and axes == max(GRID)):
            return self._with(count, of, *nodes(axes))
        found = self._with(count, of, *lattice(axes, COARSE))
        if self.coarse:
            return found
        again, far = np.arange(len(found)), False
        for points in LATTICES:
            if points == COARSE or not len(again):
                continue
            some = replace(self, mean=self.mean[again], low=self.low[again], high=self.high[again])
            finer = some._with(count, of, *lattice(axes, points))
            moved = (np.abs(np.nan_to_num(finer - found[again])) / sizes).max(axis=1)
            found[again] = finer
            again, far = again[moved > NEAR], bool((moved > FAR).any())
        if len(again) and far:
            raise QueryError(
                f"the {axes + 1} columns in categories that were seen go together so closely that the integral over "
                f"them is not known to {FAR:g}; leave one of them out"
            )
        return found

    def _with(self, count: int, of: Callable[[_Part], Floats], share: Floats, points: Floats) -> Floats:
        found, whole = np.zeros((len(self.mean), count)), np.zeros((len(self.mean), 1))
        for units, part in self._parts(max(count, 1), share, points):
            found[units] += of(part)
            whole[units] += part.whole
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(whole > RARE ** max(1.0, self.low.shape[1] / 4.0), found / whole, np.nan)

    def _parts(self, count: int, share: Floats, points: Floats) -> Iterator[tuple[slice, _Part]]:
        """Some units and some points at a time."""
        boxes = self.low.shape[1]
        last = self._last()
        order = [*(k for k in range(boxes) if k != last), *([last] if boxes else [])]
        root = np.linalg.cholesky(self.cov[np.ix_(order, order)]) if boxes else np.zeros((0, 0))
        along = np.linalg.solve(root, self.cov[order, -1]) if boxes else np.zeros(0)
        noise = 0.0 if self.exact else np.sqrt(max(float(self.cov[-1, -1] - along @ along), 0.0))
        piece = max(1, AT_ONCE // count)
        size = max(1, piece // len(share))
        for start in range(0, len(self.mean), size):
            units = slice(start, start + size)
            ends = [(end[units] - self.mean[units, :-1])[:, order] for end in (self.low, self.high)]
            for first in range(0, len(share), piece):
                some = slice(first, first + piece)
                yield units, _part(self.mean[units, -1], noise, root, along, ends, share[some], points[some])

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


@cache
def lattice(count: int, points: int) -> tuple[Floats, Floats]:
    """Equal weights and a Korobov lattice in the unit cube, folded so that what is integrated is periodic (Hickernell
    2002); its steps were chosen among all by their mean square error for smooth functions of twelve variables.
    """
    steps = np.ones(count, dtype=np.int64)
    for k in range(1, count):
        steps[k] = steps[k - 1] * LATTICES[points] % points
    at = (np.arange(points)[:, None] * steps % points + 0.5) / points
    return np.full(points, 1.0 / points), 1.0 - np.abs(2.0 * at - 1.0)
