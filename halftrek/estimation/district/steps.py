"""One rule for every second-order loop: when a step is accepted, when it is Newton's, and when it was the last.

``gain`` is the decrease of F that a step promises; ``firm`` how far its Hessian is from singular, from 0 to 1.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from halftrek.bottom.arrays import Flags, Floats

STEPS = 12  # of Newton alone; what takes more has lost its way
NEAR = 1e-2  # gain below which the exact Hessian is tried, and from which on it has to be shown to be positive definite
FAR = 1.0  # gain that no quadratic can be trusted with
SLACK = 1e-13  # F is not known better than this
RIDGE = 1e-11  # keeps flat directions solvable; the gradient has nothing in them
SOLID = 1e-7  # share of a pivot that is left: more, and the matrix is safely positive definite
QUADRATIC = 1e-11  # gain, by firmness, from which a Newton step leaves nothing that shows in ten digits
LEFT = 1e-19  # the same of the gain that is foreseen for the next step

OneOrMany = TypeVar("OneOrMany", float, Floats)


def has_fallen(new: OneOrMany, old: OneOrMany, gain: OneOrMany) -> Flags | bool:
    """Whether F has fallen by enough of what the step promised, for one district or each of many."""
    return new <= old - 1e-4 * gain + SLACK * (1.0 + abs(old))


def is_last(gain: Floats | float, firm: Floats | float, next_gain: float = np.inf) -> Flags | bool:
    """Whether a Newton step leaves nothing to do, or the next one would: it squares the error on firm ground."""
    return (gain < QUADRATIC * firm * firm) | (next_gain < LEFT * firm * firm)


def gain_after(gain: float, before: float) -> float:
    """What the next Newton step would gain: by how much they square the error is known from the last two."""
    return 16.0 * gain**3 / before**2
