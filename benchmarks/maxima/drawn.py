"""What a kind of random models gives: models with their truth, units, what is done to rows; and pieces of models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from benchmarks.maxima.model import Entry, Model, level, spread
from halftrek.bottom.choices import Equal

Rng = np.random.Generator


@dataclass(frozen=True)
class Drawn:
    """Models, one a group; variables that share a unit; what groups hold equal; holes and cuts of the rows."""

    models: tuple[Model, ...]
    families: Mapping[str, str]
    equal: tuple[Equal, ...] = ()
    holes: float = 0.0
    cuts: Mapping[str, tuple[float, ...]] = field(default_factory=dict)  # shares of rows up to each
    weighted: bool = False
    fewest: int = 60


def signed(rng: Rng, low: float, high: float) -> float:
    return float(rng.choice([-1.0, 1.0]) * rng.uniform(low, high))


def covariance(rng: Rng, sd: Sequence[float] | np.ndarray, strong: float = 0.6) -> np.ndarray:
    """Any covariance matrix with these deviations; correlations of at most so much, more or less."""
    count = len(sd)
    rows = rng.standard_normal((count, count + 2))
    R = rows @ rows.T
    R /= np.sqrt(np.outer(np.diag(R), np.diag(R)))
    return np.asarray((strong * R + (1.0 - strong) * np.eye(count)) * np.outer(sd, sd))


def together(names: Sequence[str], cov: np.ndarray, *, held: bool = False) -> list[Entry]:
    """All variances and covariances of some variables."""
    return [spread(u, v, cov[i, j], held=held) for j, v in enumerate(names) for i, u in enumerate(names) if i <= j]


def intercepts(rng: Rng, names: Sequence[str]) -> list[Entry]:
    return [level(v, 2.0 * rng.standard_normal()) for v in names]


def alone(model: Model, shared: str = "") -> dict[str, str]:
    """A unit for each variable, or one for all."""
    return {v: shared or v for v in model.names}
