"""The smallest J over the weights that are free, all of them or those that leave an answer at a value."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.inference.independence.conditions import Conditions

FAR = 1e3  # in units of standard deviations: from here on errors no longer change their shape
TRIED = 3  # starts from which J is followed down
_SINGULAR = 1e-9

Answer = Callable[[Floats], float]  # of free weights


@dataclass(frozen=True, eq=False)
class Least:
    """The smallest J that was found, and where."""

    statistic: float
    free: Floats


def least(given: Conditions, starts: Iterable[Floats]) -> Least:
    """Over all weights, from the best of the starts."""
    if not given.unknowns:
        nothing = np.zeros(0)
        return Least(given.statistic(nothing), nothing)
    found = (_descend(given.residuals, start) for start in _best(given.residuals, starts))
    return min(found, key=lambda one: one.statistic)


def least_at(
    given: Conditions, answer: Answer, value: float, solved: int, starts: Iterable[Floats], enough: float = 0.0
) -> Least:
    """Over the weights at which the answer has this value; it is affine in the weight number ``solved``.

    The best of the starts are tried one by one, until one of them leads to a J that is ``enough``.
    """
    others = [k for k in range(given.unknowns) if k != solved]

    def whole(rest: Floats) -> Floats | None:
        free = np.zeros(given.unknowns)
        free[others] = rest
        level = answer(free)
        free[solved] = 1.0
        slope = answer(free) - level
        if abs(slope) < _SINGULAR * (1.0 + abs(value)):
            return None
        free[solved] = (value - level) / slope
        return free

    def residuals(rest: Floats) -> Floats:
        free = whole(rest)
        return np.full(given.count, 1e3) if free is None else given.residuals(free)

    if not others:
        free = whole(np.zeros(0))
        assert free is not None  # the only weight there is: the answer moves with it
        return Least(given.statistic(free), free)
    found = Least(np.inf, np.zeros(len(others)))
    for start in _best(residuals, [start[others] for start in starts]):
        found = min(found, _descend(residuals, start), key=lambda one: one.statistic)
        if found.statistic <= enough:
            break
    free = whole(found.free)
    return Least(found.statistic if free is not None else np.inf, np.zeros(given.unknowns) if free is None else free)


def _best(residuals: Callable[[Floats], Floats], starts: Iterable[Floats]) -> list[Floats]:
    """The starts with the smallest J: most others lead to the same places."""
    return sorted(starts, key=lambda start: float((residuals(start) ** 2).sum()))[:TRIED]


def _descend(residuals: Callable[[Floats], Floats], start: Floats) -> Least:
    """By Levenberg and Marquardt, in angles: an error whose weight is infinite has a shape as any other."""
    from scipy.optimize import least_squares

    angles = np.arctan(start)
    found = least_squares(
        lambda x: residuals(np.tan(x)), angles, method="lm", xtol=1e-5, ftol=1e-5, max_nfev=30 * (len(start) + 1)
    )
    return Least(2.0 * float(found.cost), np.tan(found.x))
