"""What arithmetic a computation is done in: exact modulo a prime, or in floating point."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


class Field(Protocol):
    """The operations that evaluation at a point needs."""

    def number(self, value: float | Fraction) -> float: ...

    def reduce(self, a: Array) -> Array: ...

    def scalar(self, value: float) -> float: ...

    def mul(self, a: Array, b: Array) -> Array: ...

    def matmul(self, a: Array, b: Array) -> Array: ...

    def solve(self, matrix: Array, right: Array) -> Array | None: ...

    def total_effects(self, weights: Array) -> Array: ...

    def covariance(self, weights: Array, omega: Array) -> Array: ...

    @property
    def dtype(self) -> type[np.float64] | type[np.int64]: ...


@dataclass(frozen=True)
class Reals:
    """Floating point."""

    def number(self, value: float | Fraction) -> float:
        """The value as a float."""
        return float(value)

    def reduce(self, a: Array) -> Array:
        """Nothing to reduce."""
        return a

    def scalar(self, value: float) -> float:
        """Nothing to reduce."""
        return value

    def mul(self, a: Array, b: Array) -> Array:
        """Elementwise product."""
        return np.asarray(a * b)

    def matmul(self, a: Array, b: Array) -> Array:
        """Matrix product."""
        return np.asarray(a @ b)

    def solve(self, matrix: Array, right: Array) -> Array | None:
        """The solution of a square system, None if it is singular."""
        try:
            return np.asarray(np.linalg.solve(matrix, right))
        except np.linalg.LinAlgError:
            return None

    def total_effects(self, weights: Array) -> Array:
        """``(I - T)^-1`` of edge weights whose causes come before their effects."""
        identity = np.eye(len(weights))
        return np.asarray(np.linalg.solve(identity - weights, identity))

    def covariance(self, weights: Array, omega: Array) -> Array:
        """``B' Omega B`` with the total effects B."""
        total = self.total_effects(weights)
        return np.asarray(total.T @ (omega @ total))

    @property
    def dtype(self) -> type[np.float64]:
        """Type of the arrays."""
        return np.float64
