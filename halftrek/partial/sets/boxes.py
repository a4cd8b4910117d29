"""Limits of single coordinates that claims state, or force together: the box in which everything is looked for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from flint import arb

from halftrek.bottom.arrays import Floats
from halftrek.partial.exact.conditions import All, Atom, Claim
from halftrek.partial.exact.rational import coordinates_in


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
