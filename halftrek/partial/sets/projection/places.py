"""Places on the fibre as rational numbers: whether claims hold there, and what they are in floats."""

from __future__ import annotations

import numpy as np
from flint import fmpq

from halftrek.bottom.arrays import Floats
from halftrek.partial.exact.compiled import Compiled
from halftrek.partial.exact.conditions import All, Atom, Formula
from halftrek.partial.sets.line import as_float

_POLE = 1e-6  # share of its terms, below which the bottom of a quotient is taken for nothing
_EXACTLY = 1e-28  # share of its terms that a polynomial is at a root that is known to 160 bits

Place = tuple[fmpq, ...]  # a number for each coordinate of the tower


def together(formula: Formula) -> list[Atom]:
    """Signs that all have to be so, not as alternatives."""
    if isinstance(formula, Atom):
        return [formula]
    return [atom for part in formula.parts for atom in together(part)] if isinstance(formula, All) else []


def holds_exactly(formula: Formula, place: Place) -> bool:
    """True if signs are as they should be, or nothing to many digits: places are known to 160 bits."""
    if not isinstance(formula, Atom):
        each = (holds_exactly(part, place) for part in formula.parts)
        return all(each) if isinstance(formula, All) else any(each)
    value = formula.polynomial(*place)
    if value <= 0:
        return True
    terms = Compiled.of(formula.polynomial, range(len(place)))
    return as_float(value) <= _EXACTLY * float(
        Compiled(abs(terms.coefficients), terms.exponents).values(abs(floats(place)))
    )


def floats(place: Place) -> Floats:
    """The nearest floats."""
    return np.array([as_float(x) for x in place])


def nothing(polynomial: Compiled, u: Floats) -> bool:
    """True if a polynomial is next to nothing beside its terms."""
    size = Compiled(np.abs(polynomial.coefficients), polynomial.exponents).values(np.abs(u))
    return bool(abs(float(polynomial.values(u))) <= _POLE * float(size))
