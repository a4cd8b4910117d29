"""A search for a minimum in units in which the function bends by about one everywhere.

Then a full step is nearly right from the first, and what the search learns of the curvature does the rest. Steps are
accepted as long as the value does not rise by more than rounding, so that the gradient can become as small as rounding
allows; searches that insist on a visible fall end long before.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from halftrek.bottom.arrays import Floats

REMEMBERED = 20  # steps from which the curvature is learnt
ROUNDING = 1e-13  # of a value, as a share of it
SHRINKING = 25  # times that a step is made shorter before the search gives up

Objective = Callable[[Floats], tuple[float, Floats]]


def descend(objective: Objective, x: Floats, *, enough: float, steps: int) -> tuple[Floats, Floats]:
    """Where the largest derivative is below ``enough``, or as near as the search comes, with the derivatives there."""
    value, gradient = objective(x)
    pairs: list[tuple[Floats, Floats]] = []
    for _ in range(steps):
        if np.abs(gradient).max(initial=0.0) < enough:
            break
        move = -_turned(gradient, pairs)
        fall = float(gradient @ move)
        if not fall < 0.0:
            pairs, move, fall = [], -gradient, -float(gradient @ gradient)
        share, slack = 1.0, ROUNDING * (1.0 + abs(value))
        for _ in range(SHRINKING):
            trial = x + share * move
            found, slope = objective(trial)
            if found <= value + 1e-4 * share * fall + slack:
                break
            share /= 3.0
        else:
            break
        if -fall < slack and np.linalg.norm(slope) >= np.linalg.norm(gradient):
            break  # nothing but rounding is left
        change = slope - gradient
        if (trial - x) @ change > 1e-10 * np.linalg.norm(trial - x) * np.linalg.norm(change):
            pairs = [*pairs[1 - REMEMBERED :], (trial - x, change)]
        x, value, gradient = trial, found, slope
    return x, gradient


def _turned(gradient: Floats, pairs: list[tuple[Floats, Floats]]) -> Floats:
    """The inverse of the curvature that was learnt, times the gradient (Nocedal 1980)."""
    found, shares = gradient.copy(), []
    for step, change in reversed(pairs):
        share = float(step @ found) / float(step @ change)
        found -= share * change
        shares.append(share)
    for (step, change), share in zip(pairs, reversed(shares), strict=True):
        found += (share - float(change @ found) / float(step @ change)) * step
    return found
