"""Sums of variables given the values of others, and how the conditional distribution moves with the joint one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from halftrek.arrays import Floats
from halftrek.errors import QueryError
from halftrek.queries.affine import Joint
from halftrek.queries.counterfactual import SINGULAR, contradiction, unit_columns
from halftrek.queries.derivatives import Gradient


@dataclass(frozen=True, eq=False)
class Conditional:
    """The first sums of a joint distribution, given the values of the others; ``question`` is named in errors."""

    joint: Joint
    seen: Floats
    question: object

    @property
    def count(self) -> int:
        """How many sums are not conditioned on."""
        return len(self.joint.sums) - len(self.seen)

    @cached_property
    def _inverse(self) -> tuple[Floats, Floats]:
        scaled, scale = unit_columns(self.joint.root[:, self.count :])
        return np.linalg.pinv(scaled, rcond=SINGULAR), scale

    @cached_property
    def slope(self) -> Floats:
        """Regression slopes, one row for each condition and one column for each sum."""
        inverse, scale = self._inverse
        return np.asarray(inverse @ self.joint.root[:, : self.count]) / scale[:, None]

    @cached_property
    def _weights(self) -> Floats:
        """``Cov(conditions)^+ (seen - mean)``."""
        inverse, scale = self._inverse
        return np.asarray(inverse @ (inverse.T @ (self._gap / scale)) / scale)

    @cached_property
    def _gap(self) -> Floats:
        mean = self.joint.mean[self.count :]
        culprit = contradiction(self.joint.root[:, self.count :], mean, self.seen)
        if culprit is not None:
            raise QueryError(
                f"{self.question}: {self.joint.sums[self.count + culprit]} cannot have this value in this model, the "
                f"other values determine it. Leave it out of the condition"
            )
        return np.asarray(self.seen - mean)

    @cached_property
    def mean(self) -> Floats:
        """Conditional means."""
        first = self.joint.mean[: self.count]
        return first + self._gap @ self.slope if len(self.seen) else first

    @cached_property
    def root(self) -> Floats:
        """R with ``R'R`` the conditional covariance; what is only rounding is zero."""
        whole = self.joint.root[:, : self.count]
        if not len(self.seen):
            return whole
        rest = whole - self.joint.root[:, self.count :] @ self.slope
        rest[:, np.linalg.norm(rest, axis=0) < 1e-13 * np.linalg.norm(whole, axis=0)] = 0.0
        return np.asarray(rest)

    @cached_property
    def cov(self) -> Floats:
        """Conditional covariances."""
        return np.asarray(self.root.T @ self.root)

    def pull(self, by_mean: Floats, by_cov: Floats) -> Gradient:
        """The gradient of a number with these derivatives in the conditional means and (symmetric) covariances."""
        if not len(self.seen):
            return self.joint.pull(by_mean, by_cov)
        probe = np.concatenate([np.eye(self.count), -self.slope])
        along = probe @ by_mean
        weights = np.concatenate([np.zeros(self.count), self._weights])
        cov = probe @ by_cov @ probe.T + (np.outer(along, weights) + np.outer(weights, along)) / 2.0
        return self.joint.pull(along, cov)


def numbers_seen(values: Sequence[tuple[object, float | None]], question: object) -> Floats:
    """The values of the conditions; each must have one."""
    for name, value in values:
        if value is None:
            raise QueryError(f"{question}: '{name}' has no value; write for instance {name}=1 to get a number")
    return np.array([value for _, value in values], dtype=float)
