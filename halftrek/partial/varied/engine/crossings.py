"""Where an answer reaches a target as one edge is varied, beyond poles too."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from halftrek.bottom.arrays import Floats, Ints
from halftrek.partial.varied.engine.bracket import Bracket, narrowed
from halftrek.partial.varied.engine.family import Family
from halftrek.partial.varied.engine.points import Points

RATIOS = (0.01, 0.03, 0.06, 0.1, 0.15, 0.2, 0.26, 0.32, 0.4, 0.5, 0.6, 0.75, 0.95, 1.2, 1.6, 2.2, 3.2, 5.0, 9.0)
COARSE = 3  # of these only every third where each is a fit
FINER = 9  # values between two that a pole lies between


@dataclass(frozen=True)
class Crossing:
    """The value of an edge at which an answer is the target, and the same without units (see ``Family.shares``)."""

    value: float
    share: float

    @property
    def size(self) -> float:
        """By which the nearest is chosen."""
        return abs(self.value if np.isnan(self.share) else self.share)


@dataclass(frozen=True, eq=False)
class Scan:
    """Values of one edge in order, on the scale that is searched, and the models and answers there."""

    along: Floats
    points: Points
    answers: Floats

    def sides(self) -> Ints:
        """Places between which the answer may have changed, both of them with a model."""
        there = np.isfinite(self.answers)
        return np.flatnonzero(there[1:] & there[:-1])


def scanned(family: Family) -> Scan:
    """Values to both sides of zero, more of them around poles."""
    if not family.by_share:
        ratios = np.array(RATIOS if family.direct else RATIOS[1::COARSE])
        return _scan(family, np.concatenate([-ratios[::-1], [0.0], ratios]) * reach_of(family))
    ratios = np.array(RATIOS)
    if family.edges[0].kind == "<->":
        ratios = ratios / np.sqrt(1.0 + ratios**2)
    first = _scan(family, np.concatenate([-ratios[::-1], [0.0], ratios]))
    turns = family.turns(first.points)
    flips = [k for k in first.sides() if turns[k] * turns[k + 1] < 0.0]
    if not flips:
        return first
    more = [np.linspace(first.along[k], first.along[k + 1], FINER + 2)[1:-1] for k in flips]
    return _scan(family, np.sort(np.concatenate([first.along, *more])))


def reach_of(family: Family) -> float:
    """The size at which a correlation of errors, or a weight in standard deviations, would be one."""
    edge = family.edges[0]
    i, j = (family.fitted.model.names.index(v) for v in (edge.first, edge.second))
    if edge.kind == "->":
        return float(family.units[0])
    return float(np.sqrt(family.fitted.model.omega[i, i] * family.fitted.model.omega[j, j]))


def crossings(family: Family, target: float) -> list[Crossing]:
    """Every place that the scan sees, the nearest to zero first."""
    scan = scanned(family)
    off = scan.answers - target
    low = np.array([k for k in scan.sides() if off[k] * off[k + 1] <= 0.0 and off[k] != 0.0], dtype=np.intp)
    exact = np.flatnonzero(off == 0.0)
    known = scan.points.solutions
    near = np.zeros((len(low), 0)) if known is None else known[low]
    bracket = Bracket(scan.along[low], scan.along[low + 1], off[low], off[low + 1], near)

    def step(_at: Ints, values: Floats, near: Floats) -> tuple[Floats, Floats]:
        points = family.near(values[:, None], near) if family.by_share else family.at(values[:, None])
        return near if points.solutions is None else points.solutions, points.answers(family.behind)

    root, _ = narrowed(bracket, step, target)
    found = np.concatenate([root[np.isfinite(root)], scan.along[exact]])
    if not len(found):
        return []
    points = _scan(family, found).points
    pairs = zip(points.values(family.edges)[:, 0], family.shares(points)[:, 0], strict=True)
    return sorted((Crossing(float(v), float(s)) for v, s in pairs), key=lambda c: c.size)


def _scan(family: Family, along: Floats) -> Scan:
    points = family.at_shares(along[:, None]) if family.by_share else family.at(along[:, None])
    return Scan(along, points, points.answers(family.behind))
