"""Means and covariances where one normal variable is known to lie in an interval, with their derivatives.

With Z standard normal between a and b, ``E[y] = m_y + c_y l`` and ``Cov(y, w) = C_yw - c_y c_w (1 - v)``, where c are
covariances with Z, l and v the mean and variance of Z there.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.errors import QueryError
from halftrek.queries.normal.events import End, density, direction_box, interval_probability


@dataclass(frozen=True, eq=False)
class Truncated:
    """Sums, of which those from ``first`` on lie between ends; all of them along one direction, that of ``along``."""

    mean: Floats
    cov: Floats
    first: int
    along: int
    low: End
    high: End

    @property
    def _scale(self) -> float:
        return float(np.sqrt(self.cov[self.along, self.along]))

    @property
    def _with(self) -> Floats:
        """Covariances of the sums before the bar with Z."""
        return self.cov[: self.first, self.along] / self._scale

    def _shape(self) -> tuple[float, float, Floats, Floats]:
        """Mean and variance of Z, and their derivatives in the two ends."""
        a, b = self.low.at, self.high.at
        share = interval_probability(a, b)
        f = np.array([density(e) / share if isfinite(e) else 0.0 for e in (a, b)])
        u = np.array([e if isfinite(e) else 0.0 for e in (a, b)])
        signs = np.array([1.0, -1.0])
        mean = float(signs @ f)
        rest = float(signs @ (u * f))
        by_mean = signs * f * (mean - u)
        by_rest = signs * f * (1.0 - u**2 + rest)
        return mean, 1.0 + rest - mean**2, by_mean, by_rest - 2.0 * mean * by_mean

    def moments(self) -> tuple[Floats, Floats]:
        """Mean and covariance of the sums before the bar."""
        shift, variance, _, _ = self._shape()
        c = self._with
        whole = self.cov[: self.first, : self.first]
        return self.mean[: self.first] + c * shift, whole - np.outer(c, c) * (1.0 - variance)

    def pull(self, by_mean: Floats, by_cov: Floats) -> tuple[Floats, Floats]:
        """Derivatives in means and covariances of all sums, from those in the moments before the bar."""
        shift, variance, shift_by, variance_by = self._shape()
        c, m, r = self._with, self.first, self.along
        means, covs = np.zeros(len(self.mean)), np.zeros_like(self.cov)
        means[:m], covs[:m, :m] = by_mean, by_cov
        by_c = by_mean * shift - 2.0 * (1.0 - variance) * (by_cov @ c)
        covs[:m, r] += by_c / (2.0 * self._scale)
        covs[r, :m] += by_c / (2.0 * self._scale)
        covs[r, r] -= float(by_c @ c) / (2.0 * self.cov[r, r])
        by_ends = float(by_mean @ c) * shift_by + float(c @ by_cov @ c) * variance_by
        for end, slope in zip((self.low, self.high), by_ends, strict=True):
            if isfinite(end.at):
                owner = self.first + end.owner
                spread = self.cov[owner, owner]
                means[owner] -= slope * end.sign / np.sqrt(spread)
                covs[owner, owner] -= slope * end.at / (2.0 * spread)  # sign times the end on the owner's own scale
        return means, covs


def truncated(mean: Floats, root: Floats, first: int, low: Floats, high: Floats, question: object) -> Truncated | None:
    """The sums given that those from ``first`` on lie between their ends; None if they surely do."""
    box = direction_box(mean[first:], root[:, first:], low, high)
    if box.empty or (len(box.names) == 1 and not interval_probability(box.low[0].at, box.high[0].at) > 1e-300):
        raise QueryError(f"{question}: what stands behind the bar has probability zero in this model")
    if len(box.names) > 1:
        raise QueryError(
            f"{question}: with several events behind the bar only probabilities are understood; keep one event, or ask "
            f"P(... > ... | ...)"
        )
    if not box.names:
        return None
    return Truncated(mean, root.T @ root, first, first + box.names[0], box.low[0], box.high[0])
