"""What the data say of a linear Gaussian model: ``(names, n, mean, cov)``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from halftrek.errors import DataError

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Moments:
    """Sufficient statistics of rows: their number, means, and covariance with divisor ``n``."""

    names: tuple[str, ...]
    n: float
    mean: Floats
    cov: Floats

    def select(self, names: Sequence[str]) -> Moments:
        """The moments of some columns, in the given order."""
        where = {v: i for i, v in enumerate(self.names)}
        at = [where[v] for v in names]
        return Moments(tuple(names), self.n, self.mean[at], self.cov[np.ix_(at, at)])
