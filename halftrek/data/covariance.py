"""A covariance matrix as people write it down: full, a triangle, or a frame with names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
from numpy.typing import ArrayLike

from halftrek.bottom.arrays import Floats
from halftrek.errors import DataError


def given_covariance(cov: object, names: Sequence[str] | None) -> tuple[tuple[str, ...], Floats]:
    """Names and full symmetric matrix, from any of the forms."""
    framed = _from_frame(cov)
    if framed is not None:
        found, matrix = framed
        if names is not None and set(names) != set(found):
            raise DataError(f"names says {list(names)}, but the frame of the covariance has {list(found)}")
        matrix = _filled(matrix, found)
        if names is None:
            return found, matrix
        at = [found.index(v) for v in names]
        return tuple(names), matrix[np.ix_(at, at)]
    matrix = _square(cov)
    p = len(matrix)
    if names is None:
        own = getattr(cov, "names", None)
        names = [f"x{k + 1}" for k in range(p)] if own is None else list(own)
    if len(names) != p:
        raise DataError(f"the covariance is of {p} variables, but {len(names)} names are given")
    return tuple(names), _filled(matrix, names)


def _square(cov: object) -> Floats:
    """The square matrix behind a full matrix, nested rows of lengths 1 … p, or a flat lower triangle."""
    nested = _nested_rows(cov)
    if nested is not None:
        lengths = [len(row) for row in nested]
        if len(nested) > 1 and lengths == list(range(1, len(nested) + 1)):
            return _unfolded(_numbers([x for row in nested for x in row]))
        if len(set(lengths)) > 1:
            raise DataError(
                f"the rows of the covariance have the lengths {lengths}; a lower triangle has 1, 2, …, a full matrix "
                f"the same length throughout"
            )
        cov = nested
    matrix = _numbers(cov)
    if matrix.ndim == 0:
        matrix = matrix.reshape(1, 1)
    if matrix.ndim == 1:
        return _unfolded(matrix)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.size == 0:
        raise DataError(f"a covariance matrix is square, not of shape {matrix.shape}")
    return matrix


def _nested_rows(cov: object) -> list[list[float]] | None:
    """A list of rows, with holes for None; None for an array, a flat list, or a text."""
    if isinstance(cov, (np.ndarray, str)) or not isinstance(cov, Sequence):
        return None
    if not all(isinstance(row, (Sequence, np.ndarray)) and not isinstance(row, str) for row in cov):
        return None
    return [[np.nan if x is None else x for x in row] for row in cov]


def _unfolded(flat: Floats) -> Floats:
    p = (round((8 * len(flat) + 1) ** 0.5) - 1) // 2
    if p * (p + 1) // 2 != len(flat) or p == 0:
        raise DataError(
            f"a flat lower triangle of p variables has p(p+1)/2 numbers (1, 3, 6, 10, 15, …), not {len(flat)}"
        )
    matrix = np.zeros((p, p))
    matrix[np.tril_indices(p)] = flat
    return np.asarray(np.tril(matrix, -1) + matrix.T)


def _numbers(values: object) -> Floats:
    if np.iscomplexobj(cast("ArrayLike", values)):
        raise DataError("the covariance holds complex numbers; give real ones")
    try:
        return np.array(values, dtype=float)
    except (TypeError, ValueError):
        raise DataError("the covariance must be a matrix of numbers, or its lower triangle") from None


def _filled(matrix: Floats, names: Sequence[str]) -> Floats:
    """The symmetric matrix; a triangle above the diagonal that was left empty is copied from below."""
    above = matrix[np.triu_indices(len(matrix), 1)]
    if np.isnan(above).all() or (not above.any() and np.tril(matrix, -1).any()):
        matrix = np.tril(matrix) + np.tril(matrix, -1).T
    if np.isnan(matrix).any():
        i, j = (int(k) for k in np.argwhere(np.isnan(matrix))[0])
        raise DataError(f"the covariance of {names[i]!r} and {names[j]!r} is missing; fill it in")
    gap = np.abs(matrix - matrix.T)
    scale = np.sqrt(np.abs(np.outer(np.diag(matrix), np.diag(matrix))))
    if (gap > 1e-8 * scale).any():
        i, j = (int(k) for k in np.unravel_index(int(np.argmax(gap)), gap.shape))
        raise DataError(
            f"the covariance matrix is not symmetric: {names[i]!r} with {names[j]!r} is {matrix[i, j]:g} in one place "
            f"and {matrix[j, i]:g} in the other. Give the right one in both, or the lower triangle alone"
        )
    return np.asarray((matrix + matrix.T) / 2.0)


def _from_frame(cov: object) -> tuple[tuple[str, ...], Floats] | None:
    """Names and numbers of a frame; row names (an index, or a first column of text) must be the column names."""
    if isinstance(cov, (np.ndarray, Sequence)) or not hasattr(cov, "columns"):
        return None
    labels = [str(v) for v in cov.columns]
    if len(set(labels)) < len(labels):
        twice = next(v for v in labels if labels.count(v) > 1)
        raise DataError(f"the frame of the covariance has two columns {twice!r}; name each variable once")
    import narwhals as nw

    frame = nw.from_native(cov, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        raise DataError("the covariance must be a matrix of numbers, its lower triangle, or a frame in memory")
    rows = [str(v) for v in cov.index] if hasattr(cov, "index") else None
    text = [v for v, kind in frame.schema.items() if kind == nw.String]
    names = [v for v in frame.columns if v not in text[:1]]
    if text:
        rows = [str(v) for v in frame.get_column(text[0]).to_list()]
    matrix = _numbers([[np.nan if x is None else x for x in frame.get_column(v).to_list()] for v in names]).T
    columns = tuple(str(v) for v in names)
    if matrix.shape != (len(columns), len(columns)):
        raise DataError(f"a covariance matrix is square, not of shape {matrix.shape}")
    if rows is None or rows == [str(k) for k in range(len(columns))]:
        return columns, matrix
    if set(rows) != set(columns):
        lone = sorted(set(rows) ^ set(columns))
        raise DataError(f"the rows and columns of the covariance have different names: {lone[:6]}")
    return columns, matrix[[rows.index(v) for v in columns]]
