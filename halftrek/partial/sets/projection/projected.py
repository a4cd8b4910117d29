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
from math import inf

import numpy as np
from flint import arb, fmpq, fmpq_mpoly

from halftrek.bottom.arrays import Floats
from halftrek.partial.assumptions.kinds import AbsoluteSum, Norm, Within
from halftrek.partial.exact.compiled import Compiled, CompiledClaims
from halftrek.partial.exact.conditions import All, Atom, Claim, Some, atoms_of
from halftrek.partial.exact.curve import along, real_roots
from halftrek.partial.exact.questions import Form
from halftrek.partial.exact.rational import Rational, coordinates_in, exact
from halftrek.partial.sets.boxes import within
from halftrek.partial.sets.line import (
    Line,
    as_float,
    as_rational,
    number_between,
    place_on_line,
    set_along,
)
from halftrek.partial.sets.pieces import Piece, Reached
from halftrek.partial.sets.projection.losing import (
    changes,
    decided,
    equations_in,
    irreducible,
    meeting,
    of_first_degree,
    opposite,
    solved_for_answer,
    with_quotient,
)
from halftrek.partial.sets.projection.places import Place, floats, holds_exactly, nothing, together
from halftrek.partial.sets.projection.signs import Signs
from halftrek.partial.sets.search import SLACK, binding_at

_FAR = 3e4  # units: so near an end, one at such a distance is a limit
_FARTHEST = 1e6  # units, up to which floats tell whether a claim holds: farther out its highest powers hide the rest
_INSIDE = (0.0, 1e-10, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4)  # of a coordinate, from an end inwards, where there are models
_AT = 1e-8  # of these, up to which it is at the end
_EQUAL = 1e-9  # share by which two values of a coordinate differ that are one
_MOST_FACTORS, _MOST_DEGREES = 26, 60  # polynomials in two coordinates, and their degrees in sum, that are looked at

Stretch = tuple[fmpq | None, fmpq | None]


class Projection:
    """A question about one coordinate, ``own``, with claims about it and one or two ``others``."""

    def __init__(
        self, form: Form, claims: Sequence[Claim], coordinates: Sequence[int], count: int, strict: bool = False
    ) -> None:
        """``strict``: claims that hold at one place alone do so to many digits, not only as far as floats tell."""
        self.form, self.claims, self.coordinates, self.count = form, list(claims), list(coordinates), count
        self.written, self.strict = self.claims, strict
        self.replaced: tuple[int, Rational] | None = None  # a coordinate in whose place the answer stands
        if len(form.coordinates) > 1:
            self.form, self.claims, at, was = solved_for_answer(form, claims)
            self.replaced = at, was
        (self.own,) = self.form.coordinates
        self.others = sorted(set(coordinates) - {self.own}, key=self._height)
        self.inside: list[tuple[float, float]] = []  # values of the own coordinate of which it is known

    def knows(self, pieces: Sequence[Piece]) -> None:
        """Answers that models are known to have need not be looked at again, where the own coordinate is the answer."""
        u = self.form.main.ring.coordinate(self.own)
        if self.form.spread is None and (self.form.main - u).is_zero:
            self.inside = [(p.low.value, p.high.value) for p in pieces if p.low.value < p.high.value]

    @staticmethod
    def suits(form: Form, coordinates: Sequence[int]) -> bool:
        """Two or three coordinates, and a question about one of them, or of first degree in one."""
        if not 2 <= len(coordinates) <= 3 or len(form.coordinates) <= 1:
            return 2 <= len(coordinates) <= 3 and len(form.coordinates) == 1
        return form.spread is None and bool(of_first_degree(form))

    def _height(self, k: int) -> tuple[int, int]:
        """How high the powers of a coordinate are in claims, the lowest last: it goes first, so that little grows."""
        degrees = [int(a.polynomial.degrees()[k]) for c in self.claims for a in atoms_of(c.formula)]
        return -max(degrees, default=0), k

    def _unit(self, k: int) -> tuple[fmpq, ...]:
        return tuple(fmpq(int(i == k)) for i in range(self.count))

    def _across(self, x: fmpq) -> Line:
        """All values of the one other coordinate where the own one is x."""
        (other,) = self.others
        return Line(tuple(x * one for one in self._unit(self.own)), self._unit(other))

    def _at(self, x: fmpq, strict: bool) -> Projection | None:
        """The same in the two other coordinates, where the own one is x; None if a claim cannot hold there."""
        ring = self.form.main.ring
        fixed = []
        for claim in self.claims:
            if not strict and claim.coordinates == {self.own}:
                if not bool(CompiledClaims([claim.formula], [self.own]).holds(np.array([as_float(x)]), SLACK)):
                    return None
                continue
            formula = decided(with_quotient(claim.formula, self.own, ring.number(x)))
            if formula is False:
                return None
            if formula is not True:
                fixed.append(Claim(formula, claim.reason))
        return Projection(Form("quotient", ring.coordinate(self.others[0])), fixed, self.others, self.count, strict)

    @cached_property
    def _factors(self) -> list[fmpq_mpoly]:
        polynomials = (p for c in self.claims for a in atoms_of(c.formula) for p in (a.polynomial, a.pole))
        return irreducible(p for p in polynomials if p is not None)

    @cached_property
    def _exact(self) -> list[list[fmpq_mpoly]]:
        """Polynomials that have to be zero in any case, each by its factors that are no pole."""
        atoms = [a for c in self.claims for a in together(c.formula) if not a.polynomial.is_constant()]
        found: list[list[fmpq_mpoly]] = []
        for one, other in combinations(atoms, 2):
            if opposite(one.polynomial, other.polynomial):
                poles = [] if one.pole is None else irreducible([one.pole])
                factors = [factor for factor in irreducible([one.polynomial]) if factor not in poles]
                if factors and factors not in found:
                    found.append(factors)
        return found

    @cached_property
    def _equation(self) -> list[fmpq_mpoly]:
        """The factors of a polynomial that claims hold at zero, if the coordinate that goes first is in all of them."""
        last = self.others[-1]
        return next((some for some in self._exact if all(last in coordinates_in(f) for f in some)), [])

    @cached_property
    def _second(self) -> list[fmpq_mpoly]:
        """The factors of a polynomial without the coordinate that goes first that two equations hold at zero."""
        found = (meeting(one, two, self.others[-1]) for one, two in combinations(self._exact, 2))
        return next((irreducible(some) for some in found if some), [])

    @cached_property
    def _few(self) -> list[fmpq_mpoly] | None:
        """Polynomials in the own coordinate of which one has to be zero; None unless equations leave points alone."""
        (last,) = self.others
        for factors in self._exact:
            if not any(last in coordinates_in(f) for f in factors):
                return factors
        return self._second or None

    @cached_property
    def too_many(self) -> bool:
        """True if so much changes that it would take too long to find out where."""
        if len(self.others) < 2:
            return False
        first = irreducible(changes(self._factors, self.others[-1], self._equation))
        degrees = sum(int(p.degrees()[self.others[0]]) for p in first)
        return len(first) > _MOST_FACTORS or degrees > _MOST_DEGREES

    @cached_property
    def _cuts(self) -> list[fmpq]:
        """Values of the own coordinate at which something may change, in order."""
        changing = irreducible(changes(self._factors, self.others[-1], self._equation))
        if len(self.others) == 2:
            second = self._second if all(self.others[0] in coordinates_in(f) for f in self._second) else []
            changing = irreducible(changes(changing, self.others[0], second))
        roots: list[arb] = []
        for root in self._roots(changing):
            if not any(root.overlaps(other) for other in roots):
                roots.append(root)
        return sorted(as_rational(root) for root in roots)

    def _roots(self, polynomials: Iterable[fmpq_mpoly]) -> Iterator[arb]:
        """The roots of polynomials in the own coordinate."""
        nothing, unit = (fmpq(0),) * self.count, self._unit(self.own)
        return (root for polynomial in polynomials for root in real_roots(along(polynomial, nothing, unit)))

    @cached_property
    def _cells(self) -> list[Stretch]:
        """Stretches between cuts, and single cuts, at which the claims can hold."""
        if len(self.others) == 1 and self._few is not None:
            known = sorted({as_rational(root) for root in self._roots(self._few)})
            return [(x, x) for x in known if self._touching(x)]
        ends: list[fmpq | None] = [None, *self._cuts, None]
        found: list[Stretch] = []
        for left, right in pairwise(ends):
            x = number_between(left, right)
            if any(low < x < high for low, high in self._known) or self._somewhere(x):
                found.append((left, right))
            elif self._alone and left is not None and (not found or found[-1][1] != left) and self._touching(left):
                found.append((left, left))
        return found

    @property
    def _known(self) -> Iterator[tuple[fmpq, fmpq]]:
        far = fmpq(10) ** 300
        for low, high in self.inside:
            yield (-far if low == -inf else exact(low)), (far if high == inf else exact(high))

    @cached_property
    def stretches(self) -> list[Stretch]:
        """Values of the own coordinate at which the claims can hold; None for an open end."""
        found: list[Stretch] = []
        for left, right in self._cells:
            if found and left is not None and found[-1][1] == left:
                found[-1] = (found[-1][0], right)
            else:
                found.append((left, right))
        return found

    @cached_property
    def equations(self) -> list[fmpq_mpoly]:
        """Polynomials that claims hold at zero, all of them together; weights of which a norm is nothing too.

        A range has the two signs of one polynomial as alternatives, and is none.
        """
        each = [(c.reason, *equations_in(c.formula)) for c in self.claims]
        found = [
            p for reason, own, _ in each if not (isinstance(reason, Within) and reason.low < reason.high) for p in own
        ]
        across = ((p, q) for a, b in combinations(each, 2) for p in a[2] for q in b[2])
        found += [p for p, q in across if opposite(p, q)]
        norms = [c.formula for c in self.claims if isinstance(c.reason, Norm | AbsoluteSum) and c.reason.limit == 0.0]
        return found + [atom.polynomial for formula in norms for atom in atoms_of(formula)]

    @cached_property
    def _alone(self) -> bool:
        """Can claims hold at single values of the own coordinate, not by a rare chance?

        One equation in all coordinates leaves stretches of each. With one other coordinate that chance is looked at,
        too: an assumption may be chosen so that one model obeys.
        """
        if len(self.others) == 1:
            return bool(self.equations) or not self.strict
        return len(self.equations) > 1 or any(not coordinates_in(p).issuperset(self.others) for p in self.equations)

    def _somewhere(self, x: fmpq) -> bool:
        """Can the claims hold where the own coordinate is x, a number between two cuts?"""
        if len(self.others) == 1:
            return next(self._signs.places(self._across(x), self._equation, usual=True), None) is not None
        inner = self._at(x, strict=True)
        if inner is None:
            return False
        if inner._few is not None:
            return any(inner._touching(as_rational(root)) for root in inner._roots(inner._few))
        if any(inner._somewhere(number_between(left, right)) for left, right in pairwise([None, *inner._cuts, None])):
            return True
        return inner._alone and any(inner._touching(cut) for cut in inner._cuts)

    def _places(self, x: fmpq) -> Iterator[Place]:
        """Places where the own coordinate is x and the claims hold, one in each stretch."""
        if len(self.others) == 1:
            line = self._across(x)
            yield from (self._moved(line, s) for s in self._signs.places(line, self._equation))
            return
        inner = self._at(x, strict=True)
        for low, high in inner._cells if inner is not None else ():
            assert inner is not None
            if low is not None and low == high:
                if (alone := inner._touching(low)) is not None:
                    yield self._with_own(alone, x)
            else:
                yield from (self._with_own(place, x) for place in inner._places(number_between(low, high)))

    @cached_property
    def _signs(self) -> Signs:
        return Signs.of(self.claims, self._factors)

    def _with_own(self, place: Place, x: fmpq) -> Place:
        return (*place[: self.own], x, *place[self.own + 1 :])

    @staticmethod
    def _moved(line: Line, s: fmpq) -> Place:
        return tuple(a + s * b for a, b in zip(line.start, line.step, strict=True))

    def _touching(self, x: fmpq) -> Place | None:
        """A place where the claims hold, as far as rounding tells, and no pole is; for one number alone."""
        if len(self.others) == 2:
            inner = self._at(x, strict=False)
            found = next(self._places(x), None)
            if found is None and inner is not None:
                (last,) = inner.others
                changing = inner._few or irreducible(changes(inner._factors, last, inner._equation))
                roots = inner._roots((*changing, *(p.derivative(inner.own) for p in changing)))
                tried = (inner._touching(as_rational(root)) for root in roots)
                found = next((self._with_own(place, x) for place in tried if place is not None), None)
            return found if found is not None and self._held(found) else None
        line = self._across(x)
        candidates: list[arb] = []
        for factor in self._equation or self._factors:
            polynomial = along(factor, line.start, line.step)
            candidates += [*real_roots(polynomial), *real_roots(polynomial.derivative())]
        known = sorted({as_rational(root) for root in candidates})
        inside = [number_between(a, b) for a, b in pairwise([None, *known, None])]
        places = [self._moved(line, s) for s in (*known, *inside)]
        near = self._compiled[0].holds(np.array([floats(place) for place in places])[:, self.coordinates], SLACK)
        return next((places[k] for k in np.flatnonzero(near) if self._held(places[k])), None)

    @cached_property
    def _compiled(self) -> tuple[CompiledClaims, CompiledClaims]:
        both = (self.claims, self.written)
        first, second = (CompiledClaims([claim.formula for claim in claims], self.coordinates) for claims in both)
        return first, second

    def _held(self, place: Place) -> bool:
        here, there = floats(place), self._on_fibre(place)
        if there is None or (self.strict and not all(holds_exactly(claim.formula, place) for claim in self.claims)):
            return False
        for claims, compiled, u in zip((self.claims, self.written), self._compiled, (here, there), strict=True):
            own = u[self.coordinates]
            far = not self.strict and not np.abs(own).max() < _FARTHEST
            if far or not np.isfinite(own).all() or not bool(compiled.holds(own, SLACK)):
                return False
            poles = [atom.pole for claim in claims for atom in atoms_of(claim.formula) if atom.pole is not None]
            if any(nothing(Compiled.of(pole, self.coordinates), own) for pole in poles):
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
        u, apart = self._model(float(end.u[self.own]))
        binding = binding_at(self.written, self.coordinates, u[self.coordinates]) if u is not None else ()
        attained = end.attained and u is not None and float(abs(u).max()) < _FAR and apart <= _AT
        return Reached(end.value, u, attained, binding if attained else ())

    def _model(self, x: float) -> tuple[Floats | None, float]:
        """A point where the own coordinate is x, or a little beside, and the claims hold, not far out if it can be.

        And how far beside: where that is much, x is a limit.
        """
        best, apart = None, 0.0
        for step in _INSIDE:
            for near in dict.fromkeys((x - step * max(1.0, abs(x)), x + step * max(1.0, abs(x)))):
                places = [*self._places(exact(near)), *(self._single(near) if step == 0.0 else ())]
                for u in (u for u in map(self._on_fibre, places) if u is not None):
                    if best is None or float(np.abs(u).max()) < float(np.abs(best).max()):
                        best, apart = u, step  # the farther out, the fewer digits
            if best is not None and float(np.abs(best).max()) < _FAR:
                break
        return best, apart

    def _single(self, x: float) -> Iterator[Place]:
        """The places where claims hold at one value of the own coordinate alone, which is x to its digits."""
        for left, right in self._cells:
            alone = left is not None and left == right and abs(as_float(left) - x) <= _EQUAL * max(1.0, abs(x))
            if alone and left is not None and (place := self._touching(left)) is not None:
                yield place

    def _on_fibre(self, place: Place) -> Floats | None:
        """A place in the coordinates of the tower."""
        found = floats(place)
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
        return None if found is None else self._model(found)[0]
