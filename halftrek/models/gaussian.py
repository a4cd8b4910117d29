"""A multivariate normal distribution over named variables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from halftrek.bottom.arrays import Floats
from halftrek.bottom.portable import Portable
from halftrek.errors import QueryError
from halftrek.graphs import did_you_mean
from halftrek.models.kernels import choleskys
from halftrek.models.rows import Rows
from halftrek.upward import Faces

APART = 1e6  # ratio of variances up to which a decomposition keeps enough digits of the smaller
SURELY = 1e-3  # share of its standard deviation that others leave a variable which they surely do not determine


@dataclass(frozen=True, eq=False)
class Gaussian(Portable, Faces):
    """N(mean, cov) over ``names``; the covariance may be singular (a variable held by an intervention)."""

    names: tuple[str, ...]
    mean: Floats
    cov: Floats

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", tuple(self.names))
        object.__setattr__(self, "mean", frozen(self.mean))
        object.__setattr__(self, "cov", frozen(self.cov))

    @property
    def variance(self) -> Floats:
        """Variances, one for each name."""
        return frozen(np.diag(self.cov))

    @property
    def sd(self) -> Floats:
        """Standard deviations, one for each name."""
        return frozen(np.sqrt(np.maximum(np.diag(self.cov), 0.0)))

    def marginal(self, names: str | Iterable[str]) -> Gaussian:
        """The distribution of some of the variables."""
        at = self._places((names,) if isinstance(names, str) else tuple(names))
        return Gaussian(tuple(self.names[i] for i in at), self.mean[at], self.cov[np.ix_(at, at)])

    def given(self, values: Mapping[str, float]) -> Gaussian:
        """The distribution of the other variables, given the values of some.

        Uses a pseudo-inverse, so that variables without variance (held by an intervention) may be conditioned on
        at the value they have.
        """
        if not values:
            return self
        at = self._places(tuple(values))
        rest = [i for i in range(len(self.names)) if i not in set(at)]
        gap = np.array([float(v) for v in values.values()]) - self.mean[at]
        cross = self.cov[np.ix_(rest, at)]
        spread = self.cov[np.ix_(at, at)]
        inverse = pseudo_inverse(spread)
        size = np.sqrt(np.maximum(np.diag(spread), 0.0))
        size = np.where(size > 0.0, size, np.maximum(np.abs(self.mean[at]), np.abs(self.mean[at] + gap)))
        impossible = np.abs(gap - spread @ (inverse @ gap)) > 1e-8 * size
        if impossible.any():
            culprit = list(values)[int(np.argmax(impossible))]
            raise QueryError(
                f"{culprit!r} cannot have the value {values[culprit]!r} here: it is fixed by the intervention "
                f"and the other values. Leave it out of the condition"
            )
        slope = cross @ inverse
        cov = self.cov[np.ix_(rest, rest)] - slope @ cross.T
        return Gaussian(tuple(self.names[i] for i in rest), self.mean[rest] + slope @ gap, (cov + cov.T) / 2.0)

    def sample(self, n: int, random_state: int | np.random.Generator | None = None) -> Rows:
        """``n`` rows, columns in the order of ``names``."""
        rng = np.random.default_rng(random_state)
        units = spread_units(np.diag(self.cov))
        values, vectors = np.linalg.eigh(self.cov / np.outer(units, units))
        root = units[:, None] * vectors * np.sqrt(np.maximum(values, 0.0))
        return Rows(self.mean + rng.standard_normal((n, len(self.names))) @ root.T, self.names)

    def _places(self, names: tuple[str, ...]) -> list[int]:
        where = {v: i for i, v in enumerate(self.names)}
        for v in names:
            if v not in where:
                raise QueryError(f"there is no variable {v!r} in this distribution.{did_you_mean(v, self.names)}")
        return [where[v] for v in names]

    def __repr__(self) -> str:
        if len(self.names) == 1:
            return f"{self.names[0]} ~ N({self.mean[0]:.6g}, {self.cov[0, 0]:.6g})"
        return f"Gaussian(names={self.names}, mean={self.mean}, cov=\n{self.cov})"


def pseudo_inverse(cov: Floats) -> Floats:
    """The inverse of a covariance, or of a stack of them; zero along what does not vary, whatever the units."""
    scale = np.sqrt(np.maximum(np.diagonal(cov, axis1=-2, axis2=-1), 0.0))
    scale = np.where(scale > 0.0, scale, 1.0)
    units = scale[..., :, None] * scale[..., None, :]
    return np.asarray(np.linalg.pinv(cov / units, rcond=1e-14, hermitian=True) / units) if cov.size else cov


def covariance_root(cov: Floats) -> Floats:
    """R with ``R'R = cov``, of one covariance or of a stack; directions without variance get exactly none.

    Else their noise would be square-rooted.
    """
    size = cov.shape[-1]
    variances = np.maximum(cov.diagonal(axis1=-2, axis2=-1), 0.0)
    scale = np.sqrt(variances)[..., None, :]
    if np.count_nonzero(cov) == np.count_nonzero(variances):
        return np.asarray(np.eye(size) * scale)
    scale = np.where(scale > 0.0, scale, 1.0)
    standard = cov / (scale.swapaxes(-1, -2) * scale)
    lower = choleskys(standard.reshape(-1, size, size)).reshape(cov.shape)
    if (lower.diagonal(axis1=-2, axis2=-1) > SURELY).all():
        return np.asarray(lower.swapaxes(-1, -2) * scale)
    values, vectors = np.linalg.eigh(standard)
    spread = np.sqrt(np.where(values < 1e-13, 0.0, values))
    return np.asarray((vectors * spread[..., None, :]).swapaxes(-1, -2) * scale)


def spread_units(variances: Floats) -> Floats:
    """What to measure variables in before their covariance is decomposed.

    The units they have, unless variances differ so much that the smallest would drown in the rounding of the largest.
    """
    there = variances[variances > 0.0]
    if not len(there) or there.max() <= APART * there.min():
        return np.ones(len(variances))
    return np.asarray(np.sqrt(np.where(variances > 0.0, variances, 1.0)))


def frozen(array: ArrayLike) -> Floats:
    """A read-only float array (a copy only if it was writable)."""
    given = np.asarray(array, dtype=float)
    if given.flags.writeable:
        given = given.copy()
        given.flags.writeable = False
    return given
