"""Derivatives of an answer in coefficients, error covariances and means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from halftrek.model import Floats

Scale = Literal["plain", "log", "logit", "atanh"]


@dataclass(frozen=True, eq=False)
class Gradient:
    """Derivatives of one number: in T, in Omega (symmetric, ``dq = tr(omega dOmega)``), and in the means."""

    T: Floats
    omega: Floats
    mean: Floats

    def __add__(self, other: Gradient) -> Gradient:
        return Gradient(self.T + other.T, self.omega + other.omega, self.mean + other.mean)

    def __mul__(self, factor: float) -> Gradient:
        return Gradient(self.T * factor, self.omega * factor, self.mean * factor)

    @staticmethod
    def zero(size: int) -> Gradient:
        """The gradient of a constant."""
        return Gradient(np.zeros((size, size)), np.zeros((size, size)), np.zeros(size))


@dataclass(frozen=True, eq=False)
class Linearized:
    """Gradients of an answer: of its values (an effect, or a mean for each outcome) and of its variances.

    ``scale`` is where the values are closer to normal, and where intervals are made: logarithm for variances, logit for
    probabilities, atanh for correlations.
    """

    values: tuple[Gradient, ...]
    variances: tuple[Gradient, ...] = ()
    scale: Scale = "plain"
