"""Quotients of polynomials in the free coordinates, exact; the polynomials are FLINT's."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from flint import Ordering, fmpq, fmpq_mpoly, fmpq_mpoly_ctx

Number = fmpq | float | int


def exact(value: Number) -> fmpq:
    """The number that a float is, to the last bit."""
    return value if isinstance(value, fmpq) else fmpq(*float(value).as_integer_ratio())


class Ring:
    """Polynomials in some named coordinates."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.context = fmpq_mpoly_ctx.get(tuple(f"u{k}" for k in range(max(count, 1))), Ordering.lex)
        self.one_polynomial = self.context.constant(1)
        self.zero, self.one = Rational(self, self.context.constant(0)), Rational(self, self.one_polynomial)

    def number(self, value: Number) -> Rational:
        """A constant."""
        return Rational(self, self.context.constant(exact(value)))

    def coordinate(self, k: int) -> Rational:
        """One of the coordinates."""
        return Rational(self, self.context.gens()[k])


class Rational:
    """``top / bottom`` without common factors; the bottom is 1 wherever it can be."""

    __slots__ = ("bottom", "ring", "top")

    def __init__(self, ring: Ring, top: fmpq_mpoly, bottom: fmpq_mpoly | None = None) -> None:
        self.ring = ring
        if bottom is None or bottom.is_one():
            self.top, self.bottom = top, ring.one_polynomial
        elif bottom.is_constant():
            self.top, self.bottom = top / bottom.leading_coefficient(), ring.one_polynomial
        else:
            common = top.gcd(bottom)
            if not common.is_one():
                top, bottom = top / common, bottom / common
            lead = bottom.leading_coefficient()
            self.top, self.bottom = top / lead, bottom / lead
            if self.bottom.is_one():
                self.bottom = ring.one_polynomial

    def __add__(self, other: Rational) -> Rational:
        if self.bottom is other.bottom or self.bottom == other.bottom:
            return Rational(self.ring, self.top + other.top, self.bottom)
        return Rational(
            self.ring, self.top * other.bottom + other.top * self.bottom, self.bottom * other.bottom
        )

    def __neg__(self) -> Rational:
        return Rational(self.ring, -self.top, self.bottom)

    def __sub__(self, other: Rational) -> Rational:
        return self + (-other)

    def __mul__(self, other: Rational) -> Rational:
        return Rational(self.ring, self.top * other.top, self.bottom * other.bottom)

    def __truediv__(self, other: Rational) -> Rational:
        return Rational(self.ring, self.top * other.bottom, self.bottom * other.top)

    def times(self, factor: Number) -> Rational:
        """Times a constant."""
        return Rational(self.ring, self.top * exact(factor), self.bottom)

    @property
    def is_zero(self) -> bool:
        """True if it is nothing everywhere."""
        return bool(self.top.is_zero())

    @property
    def coordinates(self) -> frozenset[int]:
        """The coordinates that it depends on."""
        return coordinates_in(self.top) | coordinates_in(self.bottom)

    @property
    def sign(self) -> fmpq_mpoly:
        """A polynomial with the same sign wherever the quotient has one: square factors of the bottom do not matter."""
        if self.bottom.is_constant():
            return self.top
        constant, factors = self.bottom.factor_squarefree()
        odd = (factor for factor, power in factors if power % 2)
        return reduce(lambda a, b: a * b, odd, self.top if constant > 0 else -self.top)


def coordinates_in(polynomial: fmpq_mpoly) -> frozenset[int]:
    """The coordinates of which a polynomial has a power."""
    return frozenset(k for k, degree in enumerate(polynomial.degrees()) if degree > 0)


def total(parts: Sequence[Rational], ring: Ring) -> Rational:
    """The sum."""
    return reduce(lambda a, b: a + b, parts) if parts else ring.zero


def solved(matrix: list[list[Rational]], right: list[Rational]) -> list[Rational] | None:
    """``matrix^-1 right`` by elimination; None if the matrix is singular everywhere."""
    size = len(right)
    rows = [[*line, value] for line, value in zip(matrix, right, strict=True)]
    for k in range(size):
        pivot = next((i for i in range(k, size) if not rows[i][k].is_zero), None)
        if pivot is None:
            return None
        rows[k], rows[pivot] = rows[pivot], rows[k]
        for i in range(k + 1, size):
            if not rows[i][k].is_zero:
                factor = rows[i][k] / rows[k][k]
                rows[i] = [a if b.is_zero else a - factor * b for a, b in zip(rows[i], rows[k], strict=True)]
    found: list[Rational] = [right[0]] * size
    for k in reversed(range(size)):
        value = rows[k][size]
        for j in range(k + 1, size):
            value = value - rows[k][j] * found[j]
        found[k] = value / rows[k][k]
    return found
