"""Limits of several weights that meet limits of each in one place: what they say together are equations."""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum, hypot, inf, isclose

from halftrek.errors import InputError
from halftrek.partial.assumptions.kinds import AbsoluteSum, Assumption, Norm, Within
from halftrek.partial.assumptions.quantities import Weight

MEET = 1e-12  # relative difference up to which two limits meet


def as_equations(assumptions: Sequence[Assumption]) -> tuple[Assumption, ...]:
    """The assumptions, with equations in the place of those that leave one value to each of some weights.

    ``norm(a, b) <= c`` and ``b >= c`` say that a is 0 and b is c: searches and proofs find no room between the two.
    ``norm(a, b) <= 0`` says that both are 0. Raises InputError where limits of each leave a norm no room.
    """
    found = list(assumptions)
    for limit in [a for a in assumptions if isinstance(a, Norm | AbsoluteSum)]:
        nearest = {w: _nearest(w, found) for w in limit.weights}
        sizes = [abs(v) for v in nearest.values()]
        least = hypot(*sizes) if isinstance(limit, Norm) else fsum(sizes)
        if isclose(least, limit.limit, rel_tol=MEET, abs_tol=0.0):
            found = [a for a in found if a != limit and not (isinstance(a, Within) and a.quantity in nearest)]
            found += [Within(w, v, v) for w, v in nearest.items()]
        elif least > limit.limit:
            own = [a for a in found if isinstance(a, Within) and a.quantity in nearest]
            named = " and ".join(f"'{a}'" for a in (limit, *own))
            raise InputError(f"the assumptions {named} contradict each other: no model obeys all. Leave one out")
    return tuple(found)


def _nearest(weight: Weight, assumptions: Sequence[Assumption]) -> float:
    """The smallest value of a weight, without its sign, within its own limits."""
    own = [a for a in assumptions if isinstance(a, Within) and a.quantity == weight]
    low, high = max((a.low for a in own), default=-inf), min((a.high for a in own), default=inf)
    return low if low > 0.0 else high if high < 0.0 else 0.0
