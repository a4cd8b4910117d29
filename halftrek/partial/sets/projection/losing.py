"""Polynomials that lose a coordinate: by resultants, by a number in its place, or by the answer in its place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, product

from flint import fmpq, fmpq_mpoly

from halftrek.partial.exact.conditions import Atom, Claim, Formula, Some
from halftrek.partial.exact.questions import Form
from halftrek.partial.exact.rational import Rational, coordinates_in


def irreducible(polynomials: Iterable[fmpq_mpoly]) -> list[fmpq_mpoly]:
    """All their factors, each once."""
    found: list[fmpq_mpoly] = []
    for polynomial in polynomials:
        if not polynomial.is_constant():
            found += [factor for factor, _ in polynomial.factor()[1] if factor not in found]
    return found


def changes(factors: Sequence[fmpq_mpoly], other: int, equation: Sequence[fmpq_mpoly] = ()) -> Iterator[fmpq_mpoly]:
    """Polynomials without one coordinate, at whose roots something may change for its values.

    Where one of ``equation`` has to be zero, only its roots matter, and where others meet these (McCallum 1999).
    """
    both = [factor for factor in factors if other in coordinates_in(factor)]
    yield from (factor for factor in factors if other not in coordinates_in(factor))
    for factor in equation or both:
        degree = int(factor.degrees()[other])
        yield from _by_power(factor, other, degree + 1)
        if degree > 1:
            yield factor.discriminant(other)
    for one, two in combinations(both, 2):
        if not equation or one in equation or two in equation:
            yield one.resultant(two, other)


def meeting(one: Sequence[fmpq_mpoly], two: Sequence[fmpq_mpoly], other: int) -> list[fmpq_mpoly]:
    """Polynomials without one coordinate, one of which is zero where a factor of each of two products is.

    Nothing if they share a factor, so that they meet everywhere on it.
    """
    found = []
    for f, g in product(one, two):
        if f == g:
            return []
        lacking = next((p for p in (f, g) if other not in coordinates_in(p)), None)
        found.append(f.resultant(g, other) if lacking is None else lacking)
    return [] if any(p.is_zero() for p in found) else found


def decided(formula: Formula) -> Formula | bool:
    """A formula without signs of numbers, which are known."""
    if isinstance(formula, Atom):
        if formula.pole is not None and formula.pole.is_zero():
            return False
        constant = formula.polynomial.is_constant() and (formula.pole is None or formula.pole.is_constant())
        known = formula.polynomial.is_zero() or formula.polynomial.leading_coefficient() < 0
        return known if constant else formula
    parts = [decided(part) for part in formula.parts]
    settles = isinstance(formula, Some)  # one that holds is enough, or one that fails is too much
    if any(part is settles for part in parts):
        return settles
    left = tuple(part for part in parts if not isinstance(part, bool))
    return type(formula)(left) if left else not settles


def opposite(one: fmpq_mpoly, other: fmpq_mpoly) -> bool:
    """True if one is the other times a negative number."""
    first, second = one.leading_coefficient(), other.leading_coefficient()
    return bool((first > 0) != (second > 0) and (one * second - other * first).is_zero())


def equations_in(formula: Formula) -> tuple[list[fmpq_mpoly], list[fmpq_mpoly]]:
    """Polynomials that have to be at most zero and at least zero at once, not as alternatives; and all polynomials."""
    if isinstance(formula, Atom):
        return [], [] if formula.polynomial.is_zero() else [formula.polynomial]
    parts = [equations_in(part) for part in formula.parts]
    found = [polynomial for own, _ in parts for polynomial in own]
    if not isinstance(formula, Some):
        pairs = ((one, other) for a, b in combinations(parts, 2) for one in a[1] for other in b[1])
        found += [one for one, other in pairs if opposite(one, other)]
    return found, [polynomial for _, all_own in parts for polynomial in all_own]


def of_first_degree(form: Form) -> list[int]:
    """The coordinates in which a quotient is of first degree, those first whose factor does not vanish."""
    top, bottom = form.main.top, form.main.bottom
    found = [j for j in sorted(form.coordinates) if max(int(top.degrees()[j]), int(bottom.degrees()[j])) <= 1]
    return sorted(found, key=lambda j: bottom.degrees()[j] > 0 or not _by_power(top, j, 2)[1].is_constant())


def solved_for_answer(form: Form, claims: Sequence[Claim]) -> tuple[Form, list[Claim], int, Rational]:
    """The answer as a coordinate in place of one in which it is a quotient of first degree.

    ``v = (a u + b) / (c u + e)`` gives ``u = (b - e v) / (c v - a)``; claims are rewritten with that. Also which
    coordinate v stands for now, and what u is.
    """
    ring, j = form.main.ring, of_first_degree(form)[0]
    (b, a), (e, c) = (_by_power(polynomial, j, 2) for polynomial in (form.main.top, form.main.bottom))
    v = ring.coordinate(j)
    u = (Rational(ring, b) - Rational(ring, e) * v) / (Rational(ring, c) * v - Rational(ring, a))
    moved = [Claim(with_quotient(claim.formula, j, u), claim.reason) for claim in claims]
    pole = u.bottom * _put(form.main.bottom, j, u).top  # there no u gives v, or any does
    if not pole.is_constant():
        moved.append(Claim(Atom(ring.zero.top, pole), "the answer"))
    return Form("quotient", v), moved, j, u


def _by_power(polynomial: fmpq_mpoly, j: int, count: int) -> list[fmpq_mpoly]:
    """The coefficients of the powers of one coordinate."""
    terms: list[dict[tuple[int, ...], fmpq]] = [{} for _ in range(count)]
    for e, c in polynomial.to_dict().items():
        terms[int(e[j])][*e[:j], 0, *e[j + 1 :]] = c
    return [polynomial.context().from_dict(part) for part in terms]


def with_quotient(formula: Formula, j: int, u: Rational) -> Formula:
    """A formula with a quotient in place of one coordinate."""
    if not isinstance(formula, Atom):
        return type(formula)(tuple(with_quotient(part, j, u) for part in formula.parts))
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
