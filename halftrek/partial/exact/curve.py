"""Questions and claims along one coordinate: polynomials in one variable, their roots isolated, their signs exact."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf, sqrt
from typing import Any

from flint import acb, arb, arb_poly, ctx, fmpq, fmpq_mpoly, fmpq_poly

from halftrek.partial.exact.conditions import All, Atom, Claim, Formula, atoms_of
from halftrek.partial.exact.questions import Form
from halftrek.partial.exact.rational import Rational

PRECISION = 160  # bits of isolated roots
Place = arb | int  # a root, or -1 and 1 for the two ends of the line


def along(polynomial: fmpq_mpoly, start: Sequence[fmpq], step: Sequence[fmpq]) -> fmpq_poly:
    """The polynomial at ``start + s step``, as a polynomial in s."""
    moving = [k for k, value in enumerate(step) if value != 0]
    if len(moving) == 1 and step[moving[0]] == 1 and start[moving[0]] == 0:
        return _along_axis(polynomial, start, moving[0])
    found = fmpq_poly([0])
    powers: dict[tuple[int, int], fmpq_poly] = {}
    for exponents, coefficient in polynomial.to_dict().items():
        term = fmpq_poly([coefficient])
        for k, power in enumerate(exponents):
            if power:
                if (k, power) not in powers:
                    powers[k, power] = fmpq_poly([start[k], step[k]]) ** int(power)
                term = term * powers[k, power]
        found += term
    return found


def _along_axis(polynomial: fmpq_mpoly, start: Sequence[fmpq], k: int) -> fmpq_poly:
    """The polynomial in one coordinate, numbers in place of the others."""
    left = polynomial.subs({i: value for i, value in enumerate(start) if i != k})
    if left.is_zero():
        return fmpq_poly([0])
    found = [fmpq(0)] * (int(left.degrees()[k]) + 1)
    for exponents, coefficient in left.to_dict().items():
        found[int(exponents[k])] = coefficient
    return fmpq_poly(found)


@dataclass(frozen=True, eq=False)
class Quotient:
    """``top / bottom`` in one variable, without common factors."""

    top: fmpq_poly
    bottom: fmpq_poly

    @staticmethod
    def of(value: Rational, start: Sequence[fmpq], step: Sequence[fmpq]) -> Quotient:
        """A quotient along a line; the bottom may vanish all along it (ZeroDivisionError)."""
        return Quotient.reduced(along(value.top, start, step), along(value.bottom, start, step))

    @staticmethod
    def reduced(top: fmpq_poly, bottom: fmpq_poly) -> Quotient:
        """Without common factors."""
        if bottom.is_zero():
            raise ZeroDivisionError("the line lies in a pole")
        common = top.gcd(bottom)
        return Quotient(top // common, bottom // common) if common.degree() > 0 else Quotient(top, bottom)

    def __mul__(self, other: Quotient) -> Quotient:
        return Quotient.reduced(self.top * other.top, self.bottom * other.bottom)

    def __sub__(self, other: Quotient) -> Quotient:
        top = self.top * other.bottom - other.top * self.bottom
        return Quotient.reduced(top, self.bottom * other.bottom)

    def __truediv__(self, other: Quotient) -> Quotient:
        return Quotient.reduced(self.top * other.bottom, self.bottom * other.top)

    def times(self, factor: fmpq) -> Quotient:
        """Times a number."""
        return Quotient(self.top * factor, self.bottom)

    @cached_property
    def slope(self) -> Quotient:
        """The derivative."""
        top = self.top.derivative() * self.bottom - self.top * self.bottom.derivative()
        return Quotient.reduced(top, self.bottom * self.bottom)

    def limit(self, place: Place, inside: fmpq) -> float:
        """The limit towards a place from a point inside."""
        if isinstance(place, int):
            return self._far(place)
        below = at_root(self.bottom, place)
        if not below.contains(0):
            return float((at_root(self.top, place) / below).mid())
        above = at_root(self.top, place)
        near = self.bottom(inside)
        return inf if (above > 0) == (near > 0) else -inf

    def _far(self, side: int) -> float:
        if self.top.is_zero():
            return 0.0
        above, below = self.top.degree(), self.bottom.degree()
        if above < below:
            return 0.0
        lead = self.top.leading_coefficient() / self.bottom.leading_coefficient()
        if above == below:
            return float(arb(lead).mid())
        sign = side if (above - below) % 2 else 1
        return inf if lead * sign > 0 else -inf


def real_roots(polynomial: fmpq_poly) -> list[arb]:
    """The real roots, each once, to many digits; none for nothing and for constants."""
    if polynomial.degree() < 1:
        return []
    before = ctx.prec
    ctx.prec = PRECISION
    try:
        if polynomial.degree() == 1:
            return [arb(-polynomial[0] / polynomial[1])]
        found: Any = polynomial.numer().complex_roots()  # pairs of a root and its multiplicity
        return [acb(root).real for root, _ in found if acb(root).imag == 0]
    finally:
        ctx.prec = before


def at_root(polynomial: fmpq_poly, place: arb) -> arb:
    """The value at a ball, to as many digits as roots have."""
    before = ctx.prec
    ctx.prec = PRECISION
    try:
        return arb_poly(polynomial)(place)
    finally:
        ctx.prec = before


@dataclass(frozen=True, eq=False)
class CurveForm:
    """A question along a line."""

    form: Form
    main: Quotient
    spread: Quotient | None

    @staticmethod
    def of(form: Form, start: Sequence[fmpq], step: Sequence[fmpq]) -> CurveForm:
        """The question at ``start + s step``."""
        spread = None if form.spread is None else Quotient.of(form.spread, start, step)
        return CurveForm(form, Quotient.of(form.main, start, step), spread)

    @cached_property
    def _factor(self) -> fmpq:
        return fmpq(*self.form.factor.as_integer_ratio())

    @cached_property
    def turning(self) -> list[fmpq_poly]:
        """Polynomials among whose roots are all places where it turns, has a pole, or changes its sign."""
        if self.spread is None:
            return [self.main.slope.top, self.main.bottom]
        found = [self.main.bottom, self.main.top, self.spread.top, self.spread.bottom]
        if self.form.shape == "ratio":
            twice = self.main.slope * self.spread
            return [*found, (twice.times(fmpq(2)) - self.main * self.spread.slope).top]
        squared = (self.main.slope * self.main.slope * self.spread).times(fmpq(4))
        other = (self.spread.slope * self.spread.slope).times(self._factor * self._factor)
        return [*found, (squared - other).top]

    def is_jump(self, place: arb) -> bool:
        """True where what is divided by the root of a spread has none left: the limit is not the value there."""
        return self.form.shape == "ratio" and self.spread is not None and at_root(self.spread.top, place).contains(0)

    def limit(self, place: Place, inside: fmpq) -> float:
        """The inner value towards a place, from a point inside."""
        if self.spread is None:
            return self.main.limit(place, inside)
        if self.form.shape == "ratio":
            square = (self.main * self.main / self.spread).limit(place, inside)
            sign = _sign(self.main.top(inside)) * _sign(self.main.bottom(inside))
            return sign * sqrt(max(square, 0.0)) if sign else 0.0
        return self._root_limit(place, inside)

    def _root_limit(self, place: Place, inside: fmpq) -> float:
        assert self.spread is not None
        mean, variance = self.main.limit(place, inside), self.spread.limit(place, inside)
        factor = self.form.factor
        if abs(mean) < inf or variance < inf:
            return mean + factor * sqrt(max(variance, 0.0)) if variance < inf else _signed(factor)
        if (mean > 0) == (factor > 0):
            return mean
        share = abs(factor) * sqrt(max((self.spread / (self.main * self.main)).limit(place, inside), 0.0))
        if share != 1.0:
            return mean if share < 1.0 else -mean
        rest = self.main * self.main - self.spread.times(self._factor * self._factor)
        return 0.5 * (rest / self.main).limit(place, inside)


def _signed(factor: float) -> float:
    return inf if factor > 0 else -inf


def _sign(value: fmpq) -> int:
    return (value > 0) - (value < 0)


@dataclass(frozen=True, eq=False)
class CurveClaim:
    """A claim along a line: its formula, with polynomials in one variable."""

    claim: Claim
    polynomials: dict[int, fmpq_poly]  # by the id of each atom
    poles: tuple[fmpq_poly, ...]
    formula: Formula

    @staticmethod
    def of(claim: Claim, start: Sequence[fmpq], step: Sequence[fmpq]) -> CurveClaim:
        """The claim at ``start + s step``."""
        atoms = list(atoms_of(claim.formula))
        polynomials = {id(atom): along(atom.polynomial, start, step) for atom in atoms}
        poles = tuple(along(atom.pole, start, step) for atom in atoms if atom.pole is not None)
        return CurveClaim(claim, polynomials, poles, claim.formula)

    def holds(self, place: fmpq) -> bool:
        """True if the claim holds at a number, exactly."""
        return _holds(self.formula, lambda atom: self.polynomials[id(atom)](place) <= 0)

    def holds_at_root(self, place: arb) -> bool:
        """True if the claim holds at a root, where signs that are nothing to many digits are taken for nothing."""
        if any(at_root(pole, place).contains(0) for pole in self.poles):
            return False

        def at_most(atom: Atom) -> bool:
            value = at_root(self.polynomials[id(atom)], place)
            return bool(value.contains(0) or value < 0)

        return _holds(self.formula, at_most)


def _holds(formula: Formula, test: object) -> bool:
    if isinstance(formula, Atom):
        return bool(test(formula))  # type: ignore[operator]
    each = (_holds(part, test) for part in formula.parts)
    return all(each) if isinstance(formula, All) else any(each)
