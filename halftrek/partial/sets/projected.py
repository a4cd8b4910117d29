"""Two free coordinates, and a question about one of them: exactly, by projection.

Where that one is fixed, claims are signs of polynomials in the other. Whether they can all hold changes only where a
root of these comes or goes or two of them meet: at roots of leading coefficients, discriminants and resultants, which
are polynomials in the first coordinate alone (Collins 1975). Between two such roots one rational number tells.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import combinations, pairwise

import numpy as np
from flint import arb, fmpq, fmpq_mpoly

from halftrek.bottom.arrays import Floats
from halftrek.partial.exact.compiled import Compiled, CompiledClaims
from halftrek.partial.exact.conditions import All, Atom, Claim, Formula, Some, atoms_of
from halftrek.partial.exact.curve import along, real_roots
from halftrek.partial.exact.questions import Form
from halftrek.partial.exact.rational import Rational, coordinates_in
from halftrek.partial.sets.boxes import within
from halftrek.partial.sets.line import Line, as_float, as_rational, place_on_line, set_along
from halftrek.partial.sets.pieces import Piece, Reached
from halftrek.partial.sets.search import SLACK, binding_at

_FAR = 3e4  # units: so near an end, one at such a distance is a limit
_POLE = 1e-6  # share of its terms, below which the bottom of a quotient is taken for nothing
_INSIDE = 1e-10  # of a coordinate, from an end inwards, where there are models


class Projection:
    """A question about one coordinate, ``own``, with claims about it and one ``other``."""

    def __init__(self, form: Form, claims: Sequence[Claim], coordinates: Sequence[int], count: int) -> None:
        self.form, self.claims, self.coordinates, self.count = form, list(claims), list(coordinates), count
        self.written = self.claims
        self.replaced: tuple[int, Rational] | None = None  # a coordinate in whose place the answer stands
        if len(form.coordinates) > 1:
            solved = solved_for_answer(form, claims, coordinates)
            assert solved is not None
            self.form, self.claims, at, was = solved
            self.replaced = at, was
        (self.own,) = self.form.coordinates
        (self.other,) = set(coordinates) - {self.own}

    @staticmethod
    def suits(form: Form, coordinates: Sequence[int]) -> bool:
        """Two coordinates, and a question about one of them, or of first degree in one."""
        if len(coordinates) != 2 or len(form.coordinates) == 1:
            return len(coordinates) == 2
        parts = (form.main.top, form.main.bottom)
        return form.spread is None and any(all(p.degrees()[j] <= 1 for p in parts) for j in form.coordinates)

    def _unit(self, k: int) -> tuple[fmpq, ...]:
        return tuple(fmpq(int(i == k)) for i in range(self.count))

    def _across(self, x: fmpq) -> Line:
        """All values of the other coordinate where the own one is x."""
        return Line(tuple(x * one for one in self._unit(self.own)), self._unit(self.other))

    def _factors(self) -> list[fmpq_mpoly]:
        found: list[fmpq_mpoly] = []
        for claim in self.claims:
            for atom in atoms_of(claim.formula):
                for polynomial in (atom.polynomial, atom.pole):
                    if polynomial is not None and not polynomial.is_constant():
                        found += [factor for factor, _ in polynomial.factor()[1] if factor not in found]
        return found

    def _changes(self) -> list[fmpq_mpoly]:
        """Polynomials in the own coordinate, at whose roots something may change."""
        factors = self._factors()
        both = [factor for factor in factors if self.other in coordinates_in(factor)]
        found = [factor for factor in factors if self.other not in coordinates_in(factor)]
        for factor in both:
            degree = int(factor.degrees()[self.other])
            found += _by_power(factor, self.other, degree + 1)
            if degree > 1:
                found.append(factor.discriminant(self.other))
        found += [one.resultant(two, self.other) for one, two in combinations(both, 2)]
        return [polynomial for polynomial in found if not polynomial.is_constant()]

    @cached_property
    def stretches(self) -> list[tuple[fmpq | None, fmpq | None]]:
        """Values of the own coordinate at which the claims can hold; None for an open end."""
        nothing = (fmpq(0),) * self.count
        roots: list[arb] = []
        for polynomial in self._changes():
            for root in real_roots(along(polynomial, nothing, self._unit(self.own))):
                if not any(root.overlaps(other) for other in roots):
                    roots.append(root)
        cuts = sorted(as_rational(root) for root in roots)
        ends: list[fmpq | None] = [None, *cuts, None]
        found: list[tuple[fmpq | None, fmpq | None]] = []
        for left, right in pairwise(ends):
            if place_on_line(self.claims, self._across(_between(left, right))) is not None:
                if found and found[-1][1] == left and left is not None:
                    found[-1] = (found[-1][0], right)
                else:
                    found.append((left, right))
            elif left is not None and (not found or found[-1][1] != left) and self._touches(left):
                found.append((left, left))
        return found

    def _touches(self, x: fmpq) -> bool:
        """Can the claims hold at one number alone, as far as rounding tells, and not at a pole?"""
        line = self._across(x)
        candidates: list[arb] = []
        for factor in self._factors():
            polynomial = along(factor, line.start, line.step)
            candidates += [*real_roots(polynomial), *real_roots(polynomial.derivative())]
        return any(self._held(line, float(root.mid())) for root in candidates)

    def _held(self, line: Line, place: float) -> bool:
        here, there = line.point(arb(place)), self._on_fibre(line, place)
        if there is None:
            return False
        for claims, u in ((self.claims, here), (self.written, there)):
            own = u[self.coordinates]
            if not np.isfinite(own).all():
                return False
            if not bool(CompiledClaims([claim.formula for claim in claims], self.coordinates).holds(own, SLACK)):
                return False
            poles = [atom.pole for claim in claims for atom in atoms_of(claim.formula) if atom.pole is not None]
            if any(_nothing(Compiled.of(pole, self.coordinates), own) for pole in poles):
                return False
        return True

    def _limits(self) -> Claim:
        u = self.form.main.ring.coordinate(self.own)
        parts = []
        for low, high in self.stretches:
            ends = [] if low is None else [Atom((u.ring.number(low) - u).top)]
            ends += [] if high is None else [Atom((u - u.ring.number(high)).top)]
            parts.append(All(tuple(ends)))
        return Claim(Some(tuple(parts)), "the other coordinate")

    def pieces(self) -> list[Piece]:
        """The set; nothing if no number was found at which the claims can hold."""
        if not self.stretches:
            return []
        found = set_along(self.form, [self._limits()], Line.axis(self.count, self.own)).pieces
        return [Piece(self._back(piece.low), self._back(piece.high)) for piece in found]

    def _back(self, end: Reached) -> Reached:
        if end.u is None:
            return Reached(end.value, None, False)
        u = self._model(float(end.u[self.own]))
        binding = binding_at(self.written, self.coordinates, u[self.coordinates]) if u is not None else ()
        attained = end.attained and u is not None and float(abs(u).max()) < _FAR
        return Reached(end.value, u, attained, binding if attained else ())

    def _model(self, x: float) -> Floats | None:
        """A point where the own coordinate is x, or a little beside, and the claims hold."""
        step = _INSIDE * max(1.0, abs(x))
        for near in (x, x - step, x + step, x - 100.0 * step, x + 100.0 * step):
            line = self._across(fmpq(*near.as_integer_ratio()))
            place = place_on_line(self.claims, line)
            if place is not None:
                return self._on_fibre(line, place)
        return None

    def _on_fibre(self, line: Line, place: float) -> Floats | None:
        """A point of a line in the coordinates of the tower."""
        found = line.point(arb(place))
        if self.replaced is not None:
            j, u = self.replaced
            at = [a + fmpq(*place.as_integer_ratio()) * b for a, b in zip(line.start, line.step, strict=True)]
            below = u.bottom(*at)
            if below == 0:
                return None
            found[j] = as_float(u.top(*at) / below)
        return found

    def place(self, low: float, high: float) -> Floats | None:
        """Where the answer is between two numbers and the claims hold."""
        found = place_on_line([self._limits(), within(self.form, low, high)], Line.axis(self.count, self.own))
        return None if found is None else self._model(found)


def _nothing(polynomial: Compiled, u: Floats) -> bool:
    size = Compiled(np.abs(polynomial.coefficients), polynomial.exponents).values(np.abs(u))
    return bool(abs(float(polynomial.values(u))) <= _POLE * float(size))


def _between(left: fmpq | None, right: fmpq | None) -> fmpq:
    if left is None:
        return fmpq(0) if right is None else right - fmpq(1)
    return left + fmpq(1) if right is None else (left + right) / fmpq(2)


def solved_for_answer(
    form: Form, claims: Sequence[Claim], coordinates: Sequence[int]
) -> tuple[Form, list[Claim], int, Rational] | None:
    """The answer as a coordinate in place of one in which it is a quotient of first degree; None if there is none.

    ``v = (a u + b) / (c u + e)`` gives ``u = (b - e v) / (c v - a)``; claims are rewritten with that. Also which
    coordinate v stands for now, and what u is.
    """
    top, bottom = form.main.top, form.main.bottom
    ring = form.main.ring
    for j in sorted(form.coordinates):
        if len(coordinates) != 2 or max(int(top.degrees()[j]), int(bottom.degrees()[j])) > 1:
            continue
        (b, a), (e, c) = (_by_power(polynomial, j, 2) for polynomial in (top, bottom))
        v = ring.coordinate(j)
        u = (Rational(ring, b) - Rational(ring, e) * v) / (Rational(ring, c) * v - Rational(ring, a))
        moved = [Claim(_with(claim.formula, j, u), claim.reason) for claim in claims]
        return Form("quotient", v), moved, j, u
    return None


def _by_power(polynomial: fmpq_mpoly, j: int, count: int) -> list[fmpq_mpoly]:
    """The coefficients of the powers of one coordinate."""
    terms: list[dict[tuple[int, ...], fmpq]] = [{} for _ in range(count)]
    for e, c in polynomial.to_dict().items():
        terms[int(e[j])][*e[:j], 0, *e[j + 1 :]] = c
    return [polynomial.context().from_dict(part) for part in terms]


def _with(formula: Formula, j: int, u: Rational) -> Formula:
    """A formula with a quotient in place of one coordinate."""
    if not isinstance(formula, Atom):
        return type(formula)(tuple(_with(part, j, u) for part in formula.parts))
    value = _put(formula.polynomial, j, u)
    pole = value.bottom * u.bottom
    if formula.pole is not None:
        pole = pole * _put(formula.pole, j, u).top
    return Atom(value.sign, None if pole.is_constant() else pole)


def _put(polynomial: fmpq_mpoly, j: int, u: Rational) -> Rational:
    found = u.ring.zero
    for part in reversed(_by_power(polynomial, j, int(polynomial.degrees()[j]) + 1)):
        found = found * u + Rational(u.ring, part)
    return found
