"""Linear algebra of small matrices, without the wrappers that cost more than the arithmetic.

NumPy's wrappers take 8 µs a call and its kernels 2, and a small fit makes a dozen calls. The kernels are not public: if
they are ever gone, the wrappers do. Both raise LinAlgError for a matrix that cannot be factored; the functions of many
matrices leave nan for those that cannot.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from halftrek.bottom.arrays import Floats

_KERNELS: Any = getattr(np.linalg, "_umath_linalg", None)
_PRESENT = all(hasattr(_KERNELS, name) for name in ("cholesky_lo", "inv", "solve1"))


def cholesky(matrix: Floats) -> Floats:
    """The lower triangular root."""
    return _checked(_KERNELS.cholesky_lo(matrix)) if _PRESENT else np.linalg.cholesky(matrix)


def inverse(matrix: Floats) -> Floats:
    return _checked(_KERNELS.inv(matrix)) if _PRESENT else np.linalg.inv(matrix)


def solve(matrix: Floats, right: Floats) -> Floats:
    """``matrix^-1 right`` for one right-hand side."""
    return _checked(_KERNELS.solve1(matrix, right)) if _PRESENT else np.linalg.solve(matrix, right)


def choleskys(matrices: Floats) -> Floats:
    """The lower triangular roots of many matrices, nan for those that are not positive definite."""
    return _each(matrices, "cholesky_lo", np.linalg.cholesky)


def inverses(matrices: Floats) -> Floats:
    """The inverses of many matrices, nan for those that have none."""
    return _each(matrices, "inv", np.linalg.inv)


def share_left(matrix: Floats) -> float:
    """The least share of a diagonal entry that those before it leave: how far a matrix is from singular, 0 to 1."""
    return float((cholesky(matrix).diagonal() ** 2 / matrix.diagonal()).min())


def shares_left(matrices: Floats) -> Floats:
    """The same of many matrices, nan for those that are not positive definite."""
    with quiet():
        pivots = choleskys(matrices).diagonal(axis1=1, axis2=2) ** 2
        return np.asarray((pivots / matrices.diagonal(axis1=1, axis2=2)).min(axis=1))


def _each(matrices: Floats, name: str, wrapper: Callable[[Floats], Floats]) -> Floats:
    if _PRESENT:
        with quiet():
            found: Floats = getattr(_KERNELS, name)(matrices)
        return found
    found = np.full_like(matrices, np.nan)
    for i, matrix in enumerate(matrices):
        try:
            found[i] = wrapper(matrix)
        except np.linalg.LinAlgError:
            continue
    return found


def quiet() -> np.errstate:
    """The context to call these in: what fails is nan, raises here, and needs no warning."""
    return np.errstate(invalid="ignore", over="ignore", divide="ignore", under="ignore")


def _checked(found: Floats) -> Floats:
    if found.size and not found.flat[0] == found.flat[0]:  # a kernel that fails leaves nan everywhere
        raise np.linalg.LinAlgError("the matrix is singular or not positive definite")
    return found
