"""Questions without a form in polynomials: several events, an interval, what is given events. These are searched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.errors import HalftrekError
from halftrek.partial.exact.compiled import CompiledClaims
from halftrek.partial.exact.conditions import Claim
from halftrek.partial.fibre import Fibre
from halftrek.partial.sets.boxes import box_of
from halftrek.partial.sets.pieces import Piece, Reached
from halftrek.partial.sets.search import Problem, binding_at, feasible_points, improved, spread_starts
from halftrek.queries import Query
from halftrek.queries.evaluate import values_of
from halftrek.queries.gradients import gradients_of

_LOOKED_AT = 300  # models whose answers are computed; an integral each
_FAR = 1e6  # units, where a limit is as good as reached
_NEAR = 1e-5  # by which an answer there may miss it
_GROWS = 1.3  # times as large at twice the distance: there is no limit
_NOTHING = 1e-9


@dataclass(frozen=True, eq=False)
class ModelForm:
    """A question as a function of the coordinates, by the answers of the models there."""

    query: Query
    fibre: Fibre
    units: Floats

    def both(self, u: Floats) -> tuple[Floats, Floats]:
        """Answers and slopes; nan where a model has no answer, as with an event of probability nothing."""
        models, moves = self.fibre.both(u * self.units)
        try:
            with np.errstate(all="ignore"):
                value = values_of(self.query, models)[0][..., 0]
                gradient = gradients_of(self.query, models, far=True).values[0]
        except (HalftrekError, np.linalg.LinAlgError):
            return np.full(u.shape[:-1], np.nan), np.full(u.shape, np.nan)
        return value, moves.along(gradient.T, gradient.omega) * self.units


def searched(query: Query, fibre: Fibre, units: Floats, claims: Sequence[Claim]) -> list[Piece]:
    """The smallest and the largest answer that programs from many points find."""
    coordinates = list(range(fibre.dimension))
    low, high = box_of(claims, coordinates)
    held = CompiledClaims([claim.formula for claim in claims], coordinates)
    form = ModelForm(query, fibre, units)
    problem = Problem(form, held, low, high, reach=_FAR)  # type: ignore[arg-type]
    points = feasible_points(problem, np.random.default_rng(7))
    points = points[np.abs(points).max(axis=1) <= _FAR][:_LOOKED_AT]
    if not len(points):
        return []
    usual = float(np.nanmedian(np.abs(form.both(points)[0])))
    ends = []
    for sign in (-1.0, 1.0):
        best = improved(problem, sign, spread_starts(problem, points, sign))
        if best is None:
            return []
        there = Reached(sign * best[0], best[1], True, binding_at(claims, coordinates, best[1]))
        ends.append(_farther(problem, sign, there, usual))
    return [Piece(*ends)]


def _farther(problem: Problem, sign: float, best: Reached, usual: float) -> Reached:
    """What answers come to far out, if that is beyond the best: infinity, or a limit that they near as 1 / distance.

    ``usual``: the size of a usual answer.
    """
    assert best.u is not None
    axes = [s * axis for axis in np.eye(len(best.u)) for s in (-1.0, 1.0)]
    found = best
    for way in (best.u / max(float(np.abs(best.u).max()), 1e-300), *axes):
        near, far = _FAR * way, 2.0 * _FAR * way
        a, b = (float(problem.form.both(u)[0]) for u in (near, far))
        if not np.isfinite([a, b]).all() or not bool(problem.claims.holds(near) and problem.claims.holds(far)):
            continue
        if sign * b > 0.0 and abs(b) > _GROWS * abs(a) and abs(b) > np.sqrt(_FAR) * usual:
            return Reached(sign * inf, None, False)
        limit = 2.0 * b - a
        limit = 0.0 if abs(limit) < _NOTHING else limit
        if sign * (limit - found.value) > -_NEAR * abs(found.value) and abs(limit - b) <= _NEAR:
            found = Reached(limit, far, attained=False)
    return found
