"""What names, shapes and numbers in a file must be."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from halftrek.bottom.arrays import Array, Floats
from halftrek.errors import GraphError
from halftrek.graphs.edges import check_name
from halftrek.storage.malformed import Malformed

_ROUNDING = 1e-6  # share of variances by which a matrix may fall short of being a covariance, and of being symmetric


def must(sound: bool | np.bool_, words: str) -> None:
    """Raise these words unless it is so."""
    if not sound:
        raise Malformed(words)


def named(names: Iterable[str], what: str) -> None:
    """Each a name that a variable can have, and each once."""
    given = tuple(names)
    must(len(set(given)) == len(given), f"{what} names a variable twice")
    for name in given:
        try:
            check_name(name)
        except GraphError as error:
            raise Malformed(f"{what}: {error}") from None


def shaped(array: Array, shape: tuple[int, ...], what: str) -> None:
    """Of this shape."""
    must(array.shape == shape, f"{what} has the shape {array.shape}, and {shape} is needed")


def finite(array: ArrayLike, what: str) -> None:
    """Without nan and infinity."""
    must(np.isfinite(array).all(), f"{what} holds a number that is not finite")


def covariance(matrices: Floats, what: str) -> None:
    """Symmetric and, but for rounding, without negative variance in any direction; one matrix or several."""
    for matrix in matrices if matrices.ndim == 3 else (matrices,):
        variances = np.diagonal(matrix)
        must((variances >= 0.0).all(), f"{what} has a negative variance")
        units = np.sqrt(np.where(variances > 0.0, variances, 1.0))
        with np.errstate(over="ignore", invalid="ignore"):
            scaled = matrix / units[:, None] / units
        must(np.isfinite(scaled).all(), f"{what} holds covariances far beyond the variances")
        must((np.abs(scaled - scaled.T) <= _ROUNDING).all(), f"{what} is not symmetric")
        try:
            np.linalg.cholesky(scaled + _ROUNDING * np.eye(len(scaled)))
        except np.linalg.LinAlgError:
            raise Malformed(f"{what} is not positive definite, so it is no covariance") from None


def number(value: float | None, what: str, *, above: float = -math.inf, least: float = -math.inf) -> None:
    """Finite, if there is one, and not too low."""
    if value is not None:
        must(math.isfinite(value) and value > above and value >= least, f"{what} cannot be {value!r}")
