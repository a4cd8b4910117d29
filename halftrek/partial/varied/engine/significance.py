"""The first value of an edge at which the interval of an answer holds a target."""

from __future__ import annotations

import numpy as np

from halftrek.bottom.arrays import Floats, Ints
from halftrek.inference import How
from halftrek.partial.varied.engine.bracket import Bracket, narrowed
from halftrek.partial.varied.engine.crossings import Crossing, reach_of
from halftrek.partial.varied.engine.family import Family
from halftrek.partial.varied.engine.points import Points

STEPS = 8  # values to each side that are looked at
FARTHEST = 0.95  # correlation of errors, or weight in standard deviations, up to which is looked


def where_lost(family: Family, target: float, above: bool, how: How, nearest: Crossing | None) -> Crossing | None:
    """The nearest such value; None if there is none before the answer is the target, or within reach."""
    if family.by_share:
        most = FARTHEST if nearest is None else abs(nearest.share)
    else:
        most = FARTHEST * reach_of(family) if nearest is None else abs(nearest.value)
    ratios = np.linspace(0.0, 1.0, STEPS + 1)[1:] * most
    found = [_side(family, target, above, how, side * ratios) for side in (1.0, -1.0)]
    return min((one for one in found if one is not None), key=lambda c: c.size, default=None)


def _side(family: Family, target: float, above: bool, how: How, along: Floats) -> Crossing | None:
    points = _points(family, along)
    last, where = None, 0.0
    for k, place in enumerate(along):
        margin = _margin(family, points, k, target, above, how)
        if np.isnan(margin):
            continue
        if margin <= 0.0:
            if last is None:
                last = _margin(family, _points(family, np.zeros(1)), 0, target, above, how)
            return _between(family, target, above, how, (where, float(place)), (last, margin))
        last, where = margin, float(place)
    return None


def _between(
    family: Family, target: float, above: bool, how: How, ends: tuple[float, float], margins: tuple[float, float]
) -> Crossing | None:
    def step(_at: Ints, values: Floats, near: Floats) -> tuple[Floats, Floats]:
        points = _points(family, values)
        return near, np.array([_margin(family, points, k, target, above, how) for k in range(len(values))])

    low, high = (np.array([x]) for x in ends)
    at_low, at_high = (np.array([x]) for x in margins)
    root, _ = narrowed(Bracket(low, high, at_low, at_high, np.zeros((1, 0))), step, 0.0, close=1e-9)
    if np.isnan(root[0]):
        return None
    points = _points(family, root)
    return Crossing(float(points.values(family.edges)[0, 0]), float(family.shares(points)[0, 0]))


def _points(family: Family, along: Floats) -> Points:
    return family.at_shares(along[:, None]) if family.by_share else family.at(along[:, None])


def _margin(family: Family, points: Points, at: int, target: float, above: bool, how: How) -> float:
    """How far the interval's nearer end is from the target, on the side of the answer."""
    if not points.there[at]:
        return float("nan")
    (low, high), *_ = family.judged(points, at, how).estimate.intervals
    return float(low - target if above else target - high)
