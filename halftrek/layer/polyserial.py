"""Correlations of a continuous variable with the one behind an ordered column: Olsson, Drasgow and Dorans (1982).

With ``u_a = (tau_a - r z) / sqrt(1 - r²)`` the category a has the probability ``Phi(u_a) - Phi(u_{a-1})`` given z, and
r maximises the likelihood of the categories. What a row adds to r allows for the estimated cuts, and for those of z:
its mean and standard deviation where the column is plain, its ranks where it is ranked. Expectations are over normal z.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from halftrek.bottom.arrays import Codes, Floats
from halftrek.layer.bivariate import BORDER, phi

LEAST = 1e-300
STEPS = 60
EXACT = 1e-12
FAR = 8.5  # beyond, a normal variable is never seen
NODES = 400


@lru_cache(maxsize=1)
def _nodes() -> tuple[Floats, Floats]:
    """Points of the normal variable and their weights: panels of Gauss and Legendre, fine enough for any r."""
    points, weights = np.polynomial.legendre.leggauss(8)
    edges = np.linspace(-FAR, FAR, NODES // 8 + 1)
    half = np.diff(edges)[:, None] / 2.0
    z = (edges[:-1, None] + half * (points + 1.0)).ravel()
    return z, (half * weights).ravel()


@dataclass(frozen=True, eq=False)
class Serial:
    """One pair: a column's cuts, and r."""

    cuts: Floats
    r: float

    @property
    def _rest(self) -> float:
        return float(np.sqrt((1.0 - self.r) * (1.0 + self.r)))

    def _ends(self, z: Floats) -> tuple[Floats, Floats]:
        """The standard ends ``(n, cuts)`` given z, and how they move with r."""
        rest = self._rest
        return (self.cuts - self.r * z[:, None]) / rest, (self.r * self.cuts - z[:, None]) / rest**3

    def share_and_slope(self, z: Floats) -> tuple[Floats, Floats]:
        """Probabilities of the categories given z, ``(n, categories)``, and their derivatives in r."""
        u, move = self._ends(z)
        return _shares(u), _between(phi(u) * move, 0.0)

    def score(self, z: Floats, codes: Codes) -> Floats:
        """The score of each row in r."""
        share, slope = _cell_of(*self._ends(z), codes)
        return np.asarray(slope / np.maximum(share, LEAST))

    @cached_property
    def _expected(self) -> tuple[float, Floats, Floats]:
        """Over normal z: the information about r; C of the cuts; ``g(z)``, minus the slope of the score in z."""
        z, width = _nodes()
        weight = width * phi(z)
        u, _ = self._ends(z)
        share, slope = self.share_and_slope(z)
        ratio = slope / np.maximum(share, LEAST)
        density = phi(u) / self._rest
        cut = (ratio[:, :-1] - ratio[:, 1:]) * density  # a cut adds to the category below it what it takes above
        by_z = _between(-self.r * density, 0.0)
        return float(weight @ (ratio * slope).sum(axis=1)), weight @ cut, (ratio * by_z).sum(axis=1)

    @property
    def information(self) -> float:
        """About r, of one row."""
        return self._expected[0]

    @property
    def cut_weights(self) -> Floats:
        """``C_tau / I``: by which the influence on each cut is taken off."""
        return self._expected[1] / self.information

    def plain_weights(self) -> tuple[float, float]:
        """What an estimated mean and standard deviation add: ``(a, b)`` of ``a z + b (z² - 1)``."""
        z, width = _nodes()
        weight = width * phi(z) * self._expected[2]
        return float(weight.sum()) / self.information, float(weight @ z) / 2.0 / self.information

    def rank_part(self, z: Floats) -> Floats:
        """What ranks in the place of a known variable add: ``-(int_z^inf g - int g Phi)``."""
        from scipy.special import ndtr

        nodes, width = _nodes()
        g = self._expected[2]
        pieces = (width * g).reshape(-1, 8).sum(axis=1)
        edges = np.linspace(-FAR, FAR, len(pieces) + 1)
        above = np.concatenate([np.cumsum(pieces[::-1])[::-1], [0.0]])
        mean = float((width * g) @ ndtr(nodes))
        return -(_smooth(edges, above, np.clip(z, -FAR, FAR), self) - mean) / self.information

    def slope_in_z(self, z: Floats) -> Floats:
        """``g(z)``."""
        u, _ = self._ends(z)
        share, slope = self.share_and_slope(z)
        by_z = _between(-self.r * phi(u) / self._rest, 0.0)
        return np.asarray((slope / np.maximum(share, LEAST) * by_z).sum(axis=1))


def _smooth(edges: Floats, above: Floats, z: Floats, pair: Serial) -> Floats:
    """The integral of g from z on: cubic between edges, with the known slope ``-g`` at them."""
    from scipy.interpolate import CubicHermiteSpline

    return np.asarray(CubicHermiteSpline(edges, above, -pair.slope_in_z(edges))(z))


def best_serial(z: Floats, codes: Codes, weights: Floats, cuts: Floats) -> float:
    """The correlation that makes the categories most likely, given z; at the border where there is no maximum."""
    total = float(weights.sum())
    start = np.cov(z, codes, aweights=weights)
    r = float(np.clip(start[0, 1] / np.sqrt(start[0, 0] * start[1, 1]), -0.9, 0.9))
    low, high = -BORDER, BORDER
    for _ in range(STEPS):
        pair = Serial(cuts, r)
        slope = float(weights @ pair.score(z, codes)) / total
        low, high = (r, high) if slope > 0.0 else (low, r)
        step = r + slope / max(pair.information, LEAST)
        new = step if low < step < high else 0.5 * (low + high)
        if abs(new - r) < EXACT:
            return new
        r = new
    return r


def _cell_of(u: Floats, move: Floats, codes: Codes) -> tuple[Floats, Floats]:
    """Of each row's own category alone: its probability, and the derivative of that in r."""
    from scipy.special import ndtr

    rows, last = np.arange(len(codes)), u.shape[1]
    upper, lower = np.minimum(codes, last - 1), np.maximum(codes - 1, 0)
    top, bottom = codes < last, codes > 0
    high, low = u[rows, upper], u[rows, lower]
    turned = bottom & (low > 0.0)  # differences of small tails keep their digits
    p_high = np.where(top, ndtr(np.where(turned, -high, high)), np.where(turned, 0.0, 1.0))
    p_low = np.where(bottom, ndtr(np.where(turned, -low, low)), 0.0)
    share = np.where(turned, p_low - p_high, p_high - p_low)
    slope = np.where(top, phi(high) * move[rows, upper], 0.0) - np.where(bottom, phi(low) * move[rows, lower], 0.0)
    return share, slope


def _shares(u: Floats) -> Floats:
    """Probabilities between the ends; differences of small tails keep their digits."""
    from scipy.special import ndtr

    edge = np.full_like(u[:, :1], np.inf)
    ends = np.concatenate([-edge, u, edge], axis=1)
    low, high = ends[:, :-1], ends[:, 1:]
    upper = low > 0.0
    return np.asarray(ndtr(np.where(upper, -low, high)) - ndtr(np.where(upper, -high, low)))


def _between(at_cuts: Floats, last: float) -> Floats:
    """Differences from category to category of what has the value 0 below all cuts and ``last`` above them."""
    edge = np.zeros_like(at_cuts[:, :1])
    return np.diff(np.concatenate([edge, at_cuts, edge + last], axis=1), axis=1)
