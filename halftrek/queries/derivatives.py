"""Derivatives of an answer in coefficients, error covariances and means.

A derivative is zero where the answer does not depend on a parameter, and nobody should ask whether data tell that
parameter. Where zero comes about by cancelling, rounding leaves a little: sums are compared with their parts, so that
what counts as rounding does not depend on the units of any variable.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from halftrek.bottom.arrays import Floats

Scale = Literal["plain", "log", "logit", "atanh"]

ROUNDING = 1e-12  # share of its parts below which a sum is rounding


def added(*parts: Floats) -> Floats:
    """The sum of arrays, zero where it is rounding."""
    total, sizes = parts[0], np.abs(parts[0])
    for part in parts[1:]:
        total, sizes = total + part, sizes + np.abs(part)
    return np.where(np.abs(total) <= ROUNDING * sizes, 0.0, total)


def product(a: Floats, b: Floats) -> Floats:
    """``a b`` (of many models: of their last axes), zero where it is rounding."""
    total = a @ b
    return np.where(np.abs(total) <= ROUNDING * (np.abs(a) @ np.abs(b)), 0.0, total)


def mapped(matrix: Floats, vector: Floats) -> Floats:
    """``matrix vector``, zero where it is rounding."""
    return product(matrix, vector[..., None])[..., 0]


def outer(column: Floats, row: Floats) -> Floats:
    """``column row'`` (of many models: of their last axes)."""
    return np.asarray(column[..., :, None] * row[..., None, :])


@dataclass(frozen=True, eq=False)
class Gradient:
    """Derivatives of one number: in T, in Omega (symmetric, ``dq = tr(omega dOmega)``), and in the means.

    Of many models the arrays have leading axes, as those of the models have.
    """

    T: Floats
    omega: Floats
    mean: Floats

    def __add__(self, other: Gradient) -> Gradient:
        return Gradient(added(self.T, other.T), added(self.omega, other.omega), added(self.mean, other.mean))

    def __mul__(self, factor: float | Floats) -> Gradient:
        by = np.asarray(factor)[..., None]
        return Gradient(self.T * by[..., None], self.omega * by[..., None], self.mean * by)

    @staticmethod
    def zero(like: Floats) -> Gradient:
        """The gradient of a constant, for models with such coefficients T."""
        return Gradient(np.zeros(like.shape), np.zeros(like.shape), np.zeros(like.shape[:-1]))

    def split(self) -> tuple[Gradient, ...]:
        """The gradients of several numbers, of which this has one after the other along the first axis."""
        return tuple(Gradient(*parts) for parts in zip(self.T, self.omega, self.mean, strict=True))


@dataclass(frozen=True, eq=False)
class Linearized:
    """Gradients of an answer: of its values (an effect, or a mean for each outcome) and of its variances.

    ``scale`` is where the values are closer to normal, and where intervals are made: logarithm for variances, logit for
    probabilities, atanh for correlations.
    """

    values: tuple[Gradient, ...]
    variances: tuple[Gradient, ...] = ()
    scale: Scale = "plain"
