"""Where things are looked for: the box that claims leave, and the space cut at its poles.

Where the bottom of a quotient changes its sign a claim about the quotient says nothing, but its polynomial, which is
multiplied by that bottom, is zero and seems to hold. So the space is cut there: on each side the bottom has one sign,
and claims are about tops alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product

import numpy as np
from flint import arb, fmpq, fmpq_mpoly

from halftrek.bottom.arrays import Floats
from halftrek.partial.exact.conditions import All, Atom, Claim, Formula, atoms_of
from halftrek.partial.exact.questions import Form
from halftrek.partial.exact.rational import coordinates_in, exact

_MOST_POLES = 3  # at which the space is cut
POLE = "a pole"  # why a branch ends


@dataclass(frozen=True, eq=False)
class Branch:
    """Claims on one side of all poles; ``side`` is the sign of the bottom of the question there, None if not known."""

    claims: list[Claim]
    side: float | None


def branches_of(form: Form, claims: Sequence[Claim]) -> list[Branch]:
    """The space cut at poles; as it is where there are none, or too many."""
    lead, own = _odd_factors(form.main.bottom)
    poles: list[fmpq_mpoly] = []
    for bottom in (form.main.bottom, *(a.pole for c in claims for a in atoms_of(c.formula) if a.pole is not None)):
        poles += [factor for factor in _odd_factors(bottom)[1] if factor not in poles]
    if len(poles) > _MOST_POLES:
        return [Branch(list(claims), None)]
    found = []
    for signs in product((1, -1), repeat=len(poles)):
        sides = [Claim(Atom(-pole * sign), POLE) for pole, sign in zip(poles, signs, strict=True)]
        moved = [Claim(_divided(c.formula, poles, signs), c.reason) for c in claims] if poles else list(claims)
        side = lead * reduce(lambda a, b: a * b, (signs[poles.index(factor)] for factor in own), 1)
        found.append(Branch([*moved, *sides], float(side)))
    return found


def _odd_factors(polynomial: fmpq_mpoly) -> tuple[int, list[fmpq_mpoly]]:
    """The factors at which a polynomial changes its sign, and the sign of the constant before them."""
    if polynomial.is_constant():
        return (1 if polynomial.leading_coefficient() > 0 else -1), []
    constant, factors = polynomial.factor()
    return (1 if constant > 0 else -1), [factor for factor, power in factors if power % 2]


def _divided(formula: Formula, poles: Sequence[fmpq_mpoly], signs: Sequence[int]) -> Formula:
    """A formula without the factors that are there for the sign of a bottom alone."""
    if not isinstance(formula, Atom):
        return type(formula)(tuple(_divided(part, poles, signs) for part in formula.parts))
    polynomial = formula.polynomial
    if formula.pole is not None and not polynomial.is_zero():
        for factor in _odd_factors(formula.pole)[1]:
            polynomial = polynomial / factor * signs[poles.index(factor)]
    return Atom(polynomial, formula.pole)


def box_of(claims: Sequence[Claim], coordinates: Sequence[int]) -> tuple[Floats, Floats]:
    """The smallest box that claims which are linear in one coordinate leave."""
    low, high = np.full(len(coordinates), -np.inf), np.full(len(coordinates), np.inf)
    waiting = [claim.formula for claim in claims]
    while waiting:
        formula = waiting.pop()
        if isinstance(formula, All):
            waiting += formula.parts
        elif isinstance(formula, Atom):
            limit = _linear(formula)
            if limit is None or limit[0] not in coordinates:
                continue
            k, slope, value = limit
            at = list(coordinates).index(k)
            if slope > 0.0:
                high[at] = min(high[at], value)
            else:
                low[at] = max(low[at], value)
    crossed = low > high  # no model obeys; the search says so
    return np.where(crossed, high, low), np.where(crossed, low, high)


def _linear(atom: Atom) -> tuple[int, float, float] | None:
    """``slope u + constant <= 0`` as coordinate, slope, and the limit; the limit is rounded outwards."""
    polynomial = atom.polynomial
    own = coordinates_in(polynomial)
    if len(own) != 1 or polynomial.total_degree() != 1:
        return None
    (k,) = own
    slope = constant = None
    for exponents, coefficient in polynomial.to_dict().items():
        if exponents[k]:
            slope = coefficient
        else:
            constant = coefficient
    assert slope is not None
    value = float(arb(-constant / slope).mid()) if constant is not None else 0.0
    outward = np.nextafter(value, np.inf if slope > 0 else -np.inf)
    return k, 1.0 if slope > 0 else -1.0, float(outward) if value else 0.0


def far_along(claims: Sequence[Claim], k: int, sign: int) -> list[Claim]:
    """What claims come to as one coordinate goes to infinity: their terms of the highest degree in it."""
    return [Claim(_leading(claim.formula, k, sign), claim.reason) for claim in claims]


def _leading(formula: Formula, k: int, sign: int) -> Formula:
    if not isinstance(formula, Atom):
        return type(formula)(tuple(_leading(part, k, sign) for part in formula.parts))
    polynomial = formula.polynomial
    if polynomial.is_zero():
        return formula
    degree = int(polynomial.degrees()[k])
    terms = {e: c for e, c in polynomial.to_dict().items() if int(e[k]) == degree}
    kept = {(*e[:k], 0, *e[k + 1 :]): c for e, c in terms.items()}
    return Atom(polynomial.context().from_dict(kept) * sign**degree)


def poles_across(branch: Branch, k: int) -> list[tuple[fmpq, list[Claim]]]:
    """Poles at one value of a coordinate, on one side, with the claims there that are not about poles."""
    found = []
    others = [claim for claim in branch.claims if claim.reason != POLE]
    for claim in branch.claims:
        if claim.reason == POLE and isinstance(claim.formula, Atom):
            polynomial = claim.formula.polynomial
            if coordinates_in(polynomial) == {k} and polynomial.total_degree() == 1:
                terms = {int(e[k]): c for e, c in polynomial.to_dict().items()}
                found.append((-terms.get(0, fmpq(0)) / terms[1], others))
    return found


def within(effect: Form, low: float, high: float) -> Claim:
    """An effect between two numbers."""
    ring = effect.main.ring
    above = ring.number(exact(low)) - effect.main
    below = effect.main - ring.number(exact(high))
    return Claim(All((Atom(above.sign), Atom(below.sign))), "the effect")
