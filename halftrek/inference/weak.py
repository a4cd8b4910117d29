"""Is the likelihood around an answer the parabola that a standard error takes it for?

At the ends of a 95 % interval from a standard error the deviance should be 3.84. Two steps along the least favourable
direction show what it is. Where it is far off, the interval is too: weak instruments, small samples, boundaries.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from halftrek.estimation import Fit
from halftrek.inference.constrained import Held, best_at, local_model, moved_to
from halftrek.inference.districts import district_landscape
from halftrek.inference.landscape import Landscape, Target
from halftrek.model import Floats
from halftrek.queries import Query

TOO_LOW, TOO_HIGH = 0.6, 1.7  # shares of the nominal deviance within which an interval's end is taken as right
STEPS = 2
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
    def sentence(self) -> str:
        """What is wrong, and what to do."""
        return (
            f"a standard error describes the likelihood of this answer badly (deviance {self.low:.3g} at the lower end "
            f"of the interval and {self.high:.3g} at the upper, where {self.nominal:.3g} is meant): use "
            f'fit.query(..., interval="profile")'
        )


def curvature(fit: Fit, query: Query, k: int, ends: Floats, nominal: float) -> Curvature | None:
    """The deviance at the ends of the k-th value's interval; None where there is nothing to look at.

    Fits with missing values, and answers with very many parameters, are not looked at.
    """
    if fit.patterns is not None or not np.isfinite(ends).all() or not ends[0] < ends[1]:
        return None
    land = district_landscape(fit, Target(query, "value", k))
    if not len(land.relevant) or len(land.start) > LARGEST:
        return None
    point = land.at(land.start)
    if not np.isfinite(point.value):
        return None
    top = Held(point, land.answer(point), 0.0, local_model(land, point), converged=True)
    low, high = (_deviance(land, top, float(end), float(ends[1] - ends[0])) for end in ends)
    return Curvature(low, high, nominal) if np.isfinite([low, high]).all() else None


def _deviance(land: Landscape, top: Held, level: float, width: float) -> float:
    """Twice the log-likelihood lost at a level after a few steps: not less than what a full search would find."""
    found = [
        best_at(land, start, level, width=width, steps=STEPS, bend=top.model.bend).value
        for start in moved_to(land, top, level, width=width)
    ]
    return land.n * (min(found, default=float("inf")) - top.value)
