"""Where an answer runs off to infinity between two values of an edge."""

from __future__ import annotations

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.partial.varied.engine.family import Family
from halftrek.partial.varied.engine.points import Points

ROUNDS, PARTS = 4, 12  # how often, and into how many parts, a stretch is divided
GROWTH = 100.0  # of the largest weight: a pole, not a change of signs for another reason


def poles_between(family: Family, values: Floats, points: Points) -> list[float]:
    """The values of one edge, in order, beside which its models have no bound; ``values`` are sorted."""
    if not family.direct:
        return []
    turns = family.turns(points)
    flips = np.flatnonzero(turns[1:] * turns[:-1] < 0.0)
    found = [_pole(family, values[k], values[k + 1], _size(points, int(k))) for k in flips]
    return [value for value in found if value is not None]


def _size(points: Points, k: int) -> float:
    return float(np.abs(points.T[[k, k + 1]]).max())


def _pole(family: Family, low: float, high: float, size: float) -> float | None:
    largest = 0.0
    for _ in range(ROUNDS):
        values = np.linspace(low, high, PARTS + 1)
        points = family.at(values[:, None])
        turns = family.turns(points)
        there = np.flatnonzero(np.isfinite(turns))
        signs = np.sign(turns[there])
        changes = np.flatnonzero(signs[1:] != signs[:-1])
        if not len(changes):
            return None
        low, high = float(values[there[changes[0]]]), float(values[there[changes[0] + 1]])
        largest = float(np.nanmax(np.abs(points.T)))
    return 0.5 * (low + high) if largest > GROWTH * size else None
