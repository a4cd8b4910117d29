"""Numbers that carry their derivatives: the last axis holds the value and then one derivative per parameter."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from halftrek.identification.numbers.fields import Array, Field


def constant(field: Field, value: float, width: int) -> Array:
    """A number that depends on no parameter."""
    dual = np.zeros(width, field.dtype)
    dual[0] = field.number(value)
    return dual


def multiply(field: Field, a: Array, b: Array) -> Array:
    """Elementwise product, by the product rule."""
    product = field.mul(a[..., :1], b)
    product[..., 1:] = field.reduce(product[..., 1:] + field.mul(a[..., 1:], b[..., :1]))
    return product


def matmul(field: Field, a: Array, b: Array) -> Array:
    """Product of two matrices (axes row, column, derivatives)."""
    left, right = np.moveaxis(a, -1, 0), np.moveaxis(b, -1, 0)
    product = field.matmul(left[0], right) if len(right) else right
    changes = field.matmul(left[1:], right[0])
    product = np.concatenate([product[:1], field.reduce(product[1:] + changes)])
    return np.moveaxis(product, 0, -1)


def inverse(field: Field, a: Array) -> Array | None:
    """Inverse of a square matrix, ``d(A^-1) = -A^-1 dA A^-1``; None if it is singular."""
    slices = np.moveaxis(a, -1, 0)
    value = field.solve(slices[0], np.eye(a.shape[0], dtype=field.dtype))
    if value is None:
        return None
    changes = field.reduce(-field.matmul(field.matmul(value, slices[1:]), value))
    return np.moveaxis(np.concatenate([value[None], changes]), 0, -1)
