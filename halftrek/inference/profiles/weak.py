"""Is the likelihood around an answer the parabola that a standard error takes it for?

At the ends of a 95 % interval from a standard error the deviance should be 3.84. Two steps along the least favourable
direction show what it is. Where it is far off, the interval is too: weak instruments, small samples, boundaries.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.estimation import Fitted
from halftrek.inference.information.base import kind_of_data
from halftrek.inference.information.districts import district_landscape
from halftrek.inference.information.landscape import Landscape, Point, Target
from halftrek.inference.profiles.constrained import Held, line_search, local_model, moved_to
from halftrek.notes import Note, note
from halftrek.queries import Query

TOO_LOW, TOO_HIGH = 0.6, 1.7  # shares of the nominal deviance within which an interval's end is taken as right
STEPS = 4
NEAR = 1e-2  # how near to an end, as a share of the interval, the answer is held; the rest is counted in
LARGEST = 150  # parameters beyond which a look costs more than it tells


@dataclass(frozen=True)
class Curvature:
    """Deviances at the two ends of an interval, and what both should be."""

    low: float
    high: float
    nominal: float

    @property
    def doubtful(self) -> bool:
        """True if an end is far from where the likelihood would put it."""
        shares = np.array([self.low, self.high]) / self.nominal
        return bool(((shares < TOO_LOW) | (shares > TOO_HIGH)).any())

    @property
    def note(self) -> Note:
        """What is wrong, and what to do."""
        return note("no parabola", low=self.low, high=self.high, nominal=self.nominal)


def curvature(fit: Fitted, query: Query, k: int, ends: Floats, nominal: float) -> Curvature | None:
    """The deviance at the ends of the k-th value's interval; None where there is nothing to look at.

    Fits whose districts are not separate, and answers with very many parameters, are not looked at.
    """
    if not kind_of_data(fit).by_district or not np.isfinite(ends).all() or not ends[0] < ends[1]:
        return None
    land = district_landscape(fit, Target(query, "value", k))
    if not len(land.relevant) or len(land.start) > LARGEST:
        return None
    point = land.at(land.start)
    if not np.isfinite(point.value):
        return None
    top = Held(point, land.answer(point), 0.0, local_model(land, point), converged=True)
    low, high = (_deviance(land, top, float(end), NEAR * float(ends[1] - ends[0])) for end in ends)
    return Curvature(low, high, nominal) if np.isfinite([low, high]).all() else None


def _deviance(land: Landscape, top: Held, level: float, close: float) -> float:
    """Twice the log-likelihood lost at a level, as the best that a quadratic promises after a step or two."""
    lost = float("nan")
    for start in moved_to(land, top, level, close=close):
        point: Point | None = start
        for _ in range(STEPS):
            if point is None:
                break
            model = local_model(land, point, top.model.bend)
            missing = model.multiplier * (level - land.answer(point))
            here = point.value - top.value + missing
            if model.decrement < 0.05 * here:
                return land.n * (here - model.decrement)
            lost = float(np.fmin(lost, land.n * here))
            point = line_search(land, point, level, model, close)
    return lost
