"""The space of the free coordinates as boxes, also where it has no limits: far out, directions and 1 / distance.

Coordinates of one column grow together: error variances are quadratic in them. So the columns' own spaces are closed
by their directions at infinity. Near zero the coordinates are as they are; far out, where one of them is the largest,
it is ``+-1/t`` and the others are ``s/t``, with ``0 <= t <= 1/2`` and ``-1 <= s <= 1``. A polynomial times the right
power of t is one in these again, with the same sign.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import isfinite

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.partial.exact.compiled import Compiled
from halftrek.partial.sets.proof.bernstein import Side

_MIDDLE = 2.0


@dataclass(frozen=True)
class Chart:
    """One box: its sides, and of each column's open coordinates which is the largest, if they are far out."""

    sides: tuple[Side, ...]
    groups: tuple[tuple[int, ...], ...]
    far: tuple[tuple[int, float] | None, ...]

    def powers(self, polynomials: Sequence[Compiled]) -> tuple[int, ...]:
        """The power of t for each column that makes all of some polynomials polynomials again."""
        return tuple(
            max((int(p.exponents[:, list(group)].sum(axis=1).max(initial=0)) for p in polynomials), default=0)
            for group in self.groups
        )

    def moved(self, polynomial: Compiled, powers: tuple[int, ...]) -> Compiled:
        """The polynomial in the coordinates of this chart, times powers of t."""
        exponents, coefficients = polynomial.exponents.copy(), polynomial.coefficients.copy()
        for group, far, power in zip(self.groups, self.far, powers, strict=True):
            if far is None:
                continue
            k, sign = far
            if sign < 0.0:
                coefficients = coefficients * (-1.0) ** polynomial.exponents[:, k]
            exponents[:, k] = power - polynomial.exponents[:, list(group)].sum(axis=1)
        return Compiled(coefficients, exponents)

    def points(self, t: Floats) -> Floats:
        """Points of the box, ``(boxes, d)`` in [0, 1], as coordinates; infinite at t = 0."""
        u = np.stack([side.point(t[:, k]) for k, side in enumerate(self.sides)], axis=-1)
        with np.errstate(divide="ignore", invalid="ignore"):
            for group, far in zip(self.groups, self.far, strict=True):
                if far is not None:
                    k, sign = far
                    scale = 1.0 / u[:, k]
                    for j in group:
                        u[:, j] = u[:, j] * scale if j != k else sign * scale
        return u


def charts_of(low: Floats, high: Floats, columns: Sequence[int]) -> Iterator[Chart]:
    """Boxes that together are everything; ``columns`` says which column each coordinate is of."""
    open_ones = [k for k in range(len(low)) if not (isfinite(low[k]) and isfinite(high[k]))]
    groups = tuple(
        tuple(k for k in open_ones if columns[k] == column) for column in dict.fromkeys(columns[k] for k in open_ones)
    )
    choices = [[None, *((k, sign) for k in group for sign in (1.0, -1.0))] for group in groups]
    for far in product(*choices):
        sides = [Side(float(a), float(b)) for a, b in zip(low, high, strict=True)]
        for group, one in zip(groups, far, strict=True):
            for k in group:
                if one is None:
                    sides[k] = Side(-_MIDDLE, _MIDDLE)
                else:
                    sides[k] = Side(0.0, 1.0 / _MIDDLE) if one[0] == k else Side(-1.0, 1.0)
        yield Chart(tuple(sides), groups, far)
