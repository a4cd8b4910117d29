"""Sums of variables given the values of others, and how the conditional distribution moves with the joint one.

Of one model, or of many at once: all arrays may have leading axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.errors import QueryError
from halftrek.models.kernels import choleskys
from halftrek.queries.affine import Joint
from halftrek.queries.derivatives import Gradient, outer
from halftrek.queries.numbers import refused

APART = 0.1  # share of its length that the others leave each condition, so that products keep all digits
SINGULAR = 1e-10  # relative size below which a direction of the evidence has no spread


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
    def evidence(self) -> tuple[Floats, Floats, Floats]:
        """The conditions' columns of the root, of length one where they vary; their pseudo-inverse; their lengths."""
        root = self.joint.root[..., self.count :]
        scale = np.linalg.norm(root, axis=-2)
        scale = np.where(scale > 0.0, scale, 1.0)
        columns = root / scale[..., None, :]
        turned = np.swapaxes(columns, -1, -2)
        if len(self.seen) == 1:  # a column of length one, or nothing
            return columns, turned, scale
        products = turned @ columns
        lower = choleskys(products.reshape(-1, *products.shape[-2:]))
        if (lower.diagonal(axis1=-2, axis2=-1) > APART).all():
            return columns, np.linalg.inv(products) @ turned, scale
        return columns, np.linalg.pinv(columns, rcond=SINGULAR), scale

    @cached_property
    def slope(self) -> Floats:
        """Regression slopes, one row for each condition and one column for each sum."""
        _, inverse, scale = self.evidence
        return np.asarray(inverse @ self.joint.root[..., : self.count]) / scale[..., :, None]

    @cached_property
    def _weights(self) -> Floats:
        """``Cov(conditions)^+ (seen - mean)``."""
        _, inverse, scale = self.evidence
        along = inverse @ (np.swapaxes(inverse, -1, -2) @ (self._gap / scale)[..., None])
        return np.asarray(along[..., 0] / scale)

    @cached_property
    def _gap(self) -> Floats:
        """What was seen beside the means; refused where the other values determine one. What is fixed has its mean."""
        columns, inverse, scale = self.evidence
        mean = self.joint.mean[..., self.count :]
        size = np.maximum(np.abs(mean), np.abs(self.seen))
        scale = np.where(columns.any(axis=-2), scale, np.where(size > 0.0, size, 1.0))
        gap = self.seen - mean
        standard = (gap / scale)[..., None]
        left = standard - np.swapaxes(columns, -1, -2) @ (np.swapaxes(inverse, -1, -2) @ standard)
        wrong = (np.abs(left) > 1e-8 * (1.0 + np.abs(standard)))[..., 0]
        if not wrong.any():
            return np.asarray(gap)
        culprit = self.joint.sums[self.count + int(np.argmax(np.abs(left))) % len(self.seen)]
        why = f"{culprit} cannot have this value in this model, the other values determine it. Leave it out of the "
        return refused(gap, np.asarray(wrong.any(axis=-1)), self.question, why + "condition")

    @cached_property
    def mean(self) -> Floats:
        """Conditional means."""
        first = self.joint.mean[..., : self.count]
        return np.asarray(first + (self._gap[..., None, :] @ self.slope)[..., 0, :]) if len(self.seen) else first

    @cached_property
    def root(self) -> Floats:
        """R with ``R'R`` the conditional covariance; what is only rounding is zero."""
        whole = self.joint.root[..., : self.count]
        if not len(self.seen):
            return whole
        rest = whole - self.joint.root[..., self.count :] @ self.slope
        rounding = np.linalg.norm(rest, axis=-2) < 1e-13 * np.linalg.norm(whole, axis=-2)
        return np.where(rounding[..., None, :], 0.0, rest)

    @cached_property
    def cov(self) -> Floats:
        """Conditional covariances."""
        return np.asarray(np.swapaxes(self.root, -1, -2) @ self.root)

    def pull(self, by_mean: Floats, by_cov: Floats) -> Gradient:
        """The gradient of a number with these derivatives in the conditional means and (symmetric) covariances."""
        if not len(self.seen):
            return self.joint.pull(by_mean, by_cov)
        own = np.broadcast_to(np.eye(self.count), (*self.slope.shape[:-2], self.count, self.count))
        probe = np.concatenate([own, -self.slope], axis=-2)
        along = (probe @ by_mean[..., None])[..., 0]
        weights = np.concatenate([np.zeros_like(self.joint.mean[..., : self.count]), self._weights], axis=-1)
        moved = outer(along, weights)
        cov = probe @ by_cov @ np.swapaxes(probe, -1, -2) + (moved + np.swapaxes(moved, -1, -2)) / 2.0
        return self.joint.pull(along, cov)


def numbers_seen(values: Sequence[tuple[object, float | None]], question: object) -> Floats:
    """The values of the conditions; each must have one."""
    for name, value in values:
        if value is None:
            raise QueryError(f"{question}: '{name}' has no value; write for instance {name}=1 to get a number")
    return np.array([value for _, value in values], dtype=float)
