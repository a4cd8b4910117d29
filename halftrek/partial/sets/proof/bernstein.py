"""Polynomials over boxes in the form of Bernstein: coefficients enclose all values, and halving a box is a product.

A polynomial over a box is a sum of Bernstein polynomials, which are not negative and add up to one. So it lies between
its smallest and its largest coefficient there, and the closer the smaller the box is: the error falls with the square.
The reach of rounding is counted along (``pad``), so that the enclosure is certain.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import comb

import numpy as np

from halftrek.bottom.arrays import Flags, Floats
from halftrek.partial.exact.compiled import Compiled

EPS = float(np.finfo(float).eps)


@dataclass(frozen=True)
class Side:
    """The values of one coordinate: from low to high."""

    low: float
    high: float

    def point(self, t: Floats) -> Floats:
        """The coordinate at ``0 <= t <= 1``."""
        return self.low + (self.high - self.low) * t

    def powers(self, n: int) -> Floats:
        """Row k: the coefficients in t of ``u^k``."""
        found = np.zeros((n + 1, n + 1))
        row = np.array([1.0])
        for k in range(n + 1):
            found[k, : k + 1] = row
            row = np.convolve(row, np.array([self.low, self.high - self.low]))
        return found


@lru_cache(maxsize=64)
def _to_bernstein(n: int) -> Floats:
    """From coefficients of ``t^j`` to those of Bernstein polynomials: ``C(i,j)/C(n,j)``."""
    return np.array([[comb(i, j) / comb(n, j) for j in range(n + 1)] for i in range(n + 1)])


@lru_cache(maxsize=64)
def _halves(n: int) -> tuple[Floats, Floats]:
    """The coefficients on the two halves as products with those on the whole; every entry is exact."""
    left = np.array([[comb(i, j) / 2.0**i for j in range(n + 1)] for i in range(n + 1)])
    return left, left[::-1, ::-1].copy()


@dataclass(frozen=True, eq=False)
class Boxed:
    """A polynomial over many boxes at once: ``(boxes, n1 + 1, ..., nd + 1)``, and how far rounding reaches."""

    b: Floats
    pad: float

    @staticmethod
    def of(polynomial: Compiled, sides: tuple[Side, ...], degrees: tuple[int, ...]) -> Boxed:
        """Over the box of some sides, with at least its own degrees."""
        whole = np.zeros([n + 1 for n in degrees])
        np.add.at(whole, tuple(polynomial.exponents.T), polynomial.coefficients)
        size = np.abs(whole)
        for k, (side, n) in enumerate(zip(sides, degrees, strict=True)):
            change = _to_bernstein(n) @ side.powers(n).T
            bound = np.abs(_to_bernstein(n)) @ np.abs(side.powers(n)).T
            whole = np.moveaxis(np.tensordot(change, whole, axes=(1, k)), 0, k)
            size = np.moveaxis(np.tensordot(bound, size, axes=(1, k)), 0, k)
        steps = 4 * sum(n + 2 for n in degrees)
        return Boxed(whole[None], EPS * steps * float(size.max()))

    def halved(self, axis: int) -> Boxed:
        """Every box cut in two across an axis: all left halves, then all right ones."""
        n = self.b.shape[1 + axis] - 1
        left, right = _halves(n)
        moved = np.moveaxis(self.b, 1 + axis, -1)
        both = np.concatenate([moved @ left.T, moved @ right.T])
        size = float(np.abs(self.b).max(initial=0.0))
        return Boxed(np.moveaxis(both, -1, 1 + axis), self.pad + (n + 2) * EPS * size)

    def only(self, keep: Flags | slice) -> Boxed:
        """Some of the boxes."""
        return Boxed(self.b[keep], self.pad)

    def variation(self) -> Floats:
        """``(boxes, d)``: how much the coefficients change along each axis, on average."""
        d = self.b.ndim - 1
        found = np.zeros((len(self.b), d))
        for k in range(d):
            n = self.b.shape[1 + k] - 1
            if n:
                steps = np.abs(np.diff(self.b, axis=1 + k))
                found[:, k] = n * steps.reshape(len(self.b), -1).mean(axis=1)
        return found

    @property
    def lowest(self) -> Floats:
        """Nothing in the box is below."""
        return np.asarray(self.b.reshape(len(self.b), -1).min(axis=1) - self.pad)

    @property
    def highest(self) -> Floats:
        """Nothing in the box is above."""
        return np.asarray(self.b.reshape(len(self.b), -1).max(axis=1) + self.pad)
