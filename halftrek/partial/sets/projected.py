"""Two or three free coordinates, and a question about one of them: exactly, by projection.

Where that one is fixed, claims are signs of polynomials in the others. Whether they can all hold changes only where a
root of these comes or goes or two of them meet: at roots of coefficients, discriminants and resultants, which are
polynomials without one of the others (Collins 1975, McCallum 1988). With two others the same is done twice. Between
two roots in the first coordinate one rational number tells.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import combinations, pairwise

import numpy as np
from flint import arb, fmpq, fmpq_mpoly

from halftrek.bottom.arrays import Floats
from halftrek.partial.exact.compiled import Compiled, CompiledClaims
from halftrek.partial.exact.conditions import All, Atom, Claim, Formula, Some, atoms_of
from halftrek.partial.exact.curve import along, real_roots
from halftrek.partial.exact.questions import Form
from halftrek.partial.exact.rational import Rational, coordinates_in, exact
from halftrek.partial.sets.boxes import within
from halftrek.partial.sets.line import Line, as_float, as_rational, place_on_line, places_on_line, set_along
from halftrek.partial.sets.pieces import Piece, Reached
from halftrek.partial.sets.search import SLACK, binding_at

_FAR = 3e4  # units: so near an end, one at such a distance is a limit
_POLE = 1e-6  # share of its terms, below which the bottom of a quotient is taken for nothing
_INSIDE = 1e-10  # of a coordinate, from an end inwards, where there are models
_MOST_FACTORS, _MOST_DEGREES = 14, 24  # polynomials in two coordinates, and their degrees in sum, that are looked at

Place = tuple[fmpq, ...]  # a number for each coordinate of the tower


class Projection:
    """A question about one coordinate, ``own``, with claims about it and one or two ``others``."""

    def __init__(self, form: Form, claims: Sequence[Claim], coordinates: Sequence[int], count: int) -> None:
        self.form, self.claims, self.coordinates, self.count = form, list(claims), list(coordinates), count
        self.written = self.claims
        self.replaced: tuple[int, Rational] | None = None  # a coordinate in whose place the answer stands
        if len(form.coordinates) > 1:
            self.form, self.claims, at, was = solved_for_answer(form, claims)
            self.replaced = at, was
        (self.own,) = self.form.coordinates
        self.others = sorted(set(coordinates) - {self.own}, key=self._height)

    @staticmethod
    def suits(form: Form, coordinates: Sequence[int]) -> bool:
        """Two or three coordinates, and a question about one of them, or of first degree in one."""
        if not 2 <= len(coordinates) <= 3 or len(form.coordinates) <= 1:
            return 2 <= len(coordinates) <= 3 and len(form.coordinates) == 1
        return form.spread is None and bool(_of_first_degree(form))

    def _height(self, k: int) -> tuple[int, int]:
        """How high the powers of a coordinate are in claims, the lowest last: it goes first, and the others grow less."""
        degrees = [int(a.polynomial.degrees()[k]) for c in self.claims for a in atoms_of(c.formula)]
        return -max(degrees, default=0), k

    def _unit(self, k: int) -> tuple[fmpq, ...]:
        return tuple(fmpq(int(i == k)) for i in range(self.count))

    def _across(self, x: fmpq) -> Line:
        """All values of the one other coordinate where the own one is x."""
        (other,) = self.others
        return Line(tuple(x * one for one in self._unit(self.own)), self._unit(other))

    def _at(self, x: fmpq) -> Projection:
        """The same in the two other coordinates, where the own one is x."""
        ring = self.form.main.ring
        fixed = [Claim(_with(claim.formula, self.own, ring.number(x)), claim.reason) for claim in self.claims]
        return Projection(Form("quotient", ring.coordinate(self.others[0])), fixed, self.others, self.count)

    @cached_property
    def _factors(self) -> list[fmpq_mpoly]:
        polynomials = (p for c in self.claims for a in atoms_of(c.formula) for p in (a.polynomial, a.pole))
        return _irreducible(p for p in polynomials if p is not None)

    @cached_property
    def too_many(self) -> bool:
        """True if so much changes that it would take too long to find out where."""
        if len(self.others) < 2:
            return False
        first = _irreducible(_changes(self._factors, self.others[-1]))
        degrees = sum(int(p.degrees()[self.others[0]]) for p in first)
        return len(first) > _MOST_FACTORS or degrees > _MOST_DEGREES

    @cached_property
    def stretches(self) -> list[tuple[fmpq | None, fmpq | None]]:
        """Values of the own coordinate at which the claims can hold; None for an open end."""
        nothing = (fmpq(0),) * self.count
        changing = self._factors
        for other in reversed(self.others):
            changing = _irreducible(_changes(changing, other))
        roots: list[arb] = []
        for polynomial in changing:
            for root in real_roots(along(polynomial, nothing, self._unit(self.own))):
                if not any(root.overlaps(other) for other in roots):
                    roots.append(root)
        cuts = sorted(as_rational(root) for root in roots)
        ends: list[fmpq | None] = [None, *cuts, None]
        found: list[tuple[fmpq | None, fmpq | None]] = []
        for left, right in pairwise(ends):
            if next(self._places(_between(left, right)), None) is not None:
                if found and found[-1][1] == left and left is not None:
                    found[-1] = (found[-1][0], right)
                else:
                    found.append((left, right))
            elif left is not None and (not found or found[-1][1] != left) and self._touching(left) is not None:
                found.append((left, left))
        return found

    def _places(self, x: fmpq) -> Iterator[Place]:
        """Places where the own coordinate is x and the claims hold, one in each stretch."""
        if len(self.others) == 1:
            line = self._across(x)
            inside = places_on_line(self.claims, line)
            if not inside and (alone := place_on_line(self.claims, line)) is not None:
                inside = [exact(alone)]
            yield from (self._moved(line, s) for s in inside)
            return
        inner = self._at(x)
        for low, high in inner.stretches:
            if low is not None and low == high:
                alone_there = inner._touching(low)
                if alone_there is not None:
                    yield self._with_own(alone_there, x)
            else:
                yield from (self._with_own(place, x) for place in inner._places(_between(low, high)))

    def _with_own(self, place: Place, x: fmpq) -> Place:
        return (*place[: self.own], x, *place[self.own + 1 :])

    @staticmethod
    def _moved(line: Line, s: fmpq) -> Place:
        return tuple(a + s * b for a, b in zip(line.start, line.step, strict=True))

    def _touching(self, x: fmpq) -> Place | None:
        """A place where the claims hold, as far as rounding tells, and no pole is; for one number alone."""
        if len(self.others) == 2:
            inner = self._at(x)
            found = next(self._places(x), None)
            if found is None:
                (last,) = inner.others
                changing = _irreducible(_changes(inner._factors, last))
                turns = [p.derivative(inner.own) for p in changing]
                nothing, unit = (fmpq(0),) * self.count, self._unit(inner.own)
                roots = [root for p in (*changing, *turns) for root in real_roots(along(p, nothing, unit))]
                tried = (inner._touching(as_rational(root)) for root in roots)
                found = next((self._with_own(place, x) for place in tried if place is not None), None)
            return found if found is not None and self._held(found) else None
        line = self._across(x)
        candidates: list[arb] = []
        for factor in self._factors:
            polynomial = along(factor, line.start, line.step)
            candidates += [*real_roots(polynomial), *real_roots(polynomial.derivative())]
        places = (self._moved(line, as_rational(root)) for root in candidates)
        return next((place for place in places if self._held(place)), None)

    def _held(self, place: Place) -> bool:
        here, there = _floats(place), self._on_fibre(place)
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
            found = [u for u in map(self._on_fibre, self._places(exact(near))) if u is not None]
            if found:
                return min(found, key=lambda u: float(np.abs(u).max()))  # the farther out, the fewer digits
        return None

    def _on_fibre(self, place: Place) -> Floats | None:
        """A place in the coordinates of the tower."""
        found = _floats(place)
        if self.replaced is not None:
            j, u = self.replaced
            below = u.bottom(*place)
            if below == 0:
                return None
            found[j] = as_float(u.top(*place) / below)
        return found

    def place(self, low: float, high: float) -> Floats | None:
        """Where the answer is between two numbers and the claims hold."""
        found = place_on_line([self._limits(), within(self.form, low, high)], Line.axis(self.count, self.own))
        return None if found is None else self._model(found)


def _floats(place: Place) -> Floats:
    return np.array([as_float(x) for x in place])


def _irreducible(polynomials: Iterable[fmpq_mpoly]) -> list[fmpq_mpoly]:
    """All their factors, each once."""
    found: list[fmpq_mpoly] = []
    for polynomial in polynomials:
        if not polynomial.is_constant():
            found += [factor for factor, _ in polynomial.factor()[1] if factor not in found]
    return found


def _changes(factors: Sequence[fmpq_mpoly], other: int) -> Iterator[fmpq_mpoly]:
    """Polynomials without one coordinate, at whose roots something may change for its values."""
    both = [factor for factor in factors if other in coordinates_in(factor)]
    yield from (factor for factor in factors if other not in coordinates_in(factor))
    for factor in both:
        degree = int(factor.degrees()[other])
        yield from _by_power(factor, other, degree + 1)
        if degree > 1:
            yield factor.discriminant(other)
    yield from (one.resultant(two, other) for one, two in combinations(both, 2))


def _nothing(polynomial: Compiled, u: Floats) -> bool:
    size = Compiled(np.abs(polynomial.coefficients), polynomial.exponents).values(np.abs(u))
    return bool(abs(float(polynomial.values(u))) <= _POLE * float(size))


def _between(left: fmpq | None, right: fmpq | None) -> fmpq:
    if left is None:
        return fmpq(0) if right is None else right - fmpq(1)
    return left + fmpq(1) if right is None else (left + right) / fmpq(2)


def _of_first_degree(form: Form) -> list[int]:
    """The coordinates in which a quotient is of first degree, those first whose factor does not vanish."""
    top, bottom = form.main.top, form.main.bottom
    found = [j for j in sorted(form.coordinates) if max(int(top.degrees()[j]), int(bottom.degrees()[j])) <= 1]
    return sorted(found, key=lambda j: bottom.degrees()[j] > 0 or not _by_power(top, j, 2)[1].is_constant())


def solved_for_answer(form: Form, claims: Sequence[Claim]) -> tuple[Form, list[Claim], int, Rational]:
    """The answer as a coordinate in place of one in which it is a quotient of first degree.

    ``v = (a u + b) / (c u + e)`` gives ``u = (b - e v) / (c v - a)``; claims are rewritten with that. Also which
    coordinate v stands for now, and what u is.
    """
    ring, j = form.main.ring, _of_first_degree(form)[0]
    (b, a), (e, c) = (_by_power(polynomial, j, 2) for polynomial in (form.main.top, form.main.bottom))
    v = ring.coordinate(j)
    u = (Rational(ring, b) - Rational(ring, e) * v) / (Rational(ring, c) * v - Rational(ring, a))
    moved = [Claim(_with(claim.formula, j, u), claim.reason) for claim in claims]
    return Form("quotient", v), moved, j, u


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
