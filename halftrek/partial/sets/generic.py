"""Questions without a form in polynomials: several events, an interval, what is given events. These are searched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isfinite

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
from halftrek.queries.gradients import both_of, gradients_of
from halftrek.queries.types import Distribution

_LOOKED_AT = 300  # models whose answers are computed; an integral each
_STARTS = 3  # of them, from which programs begin
_DIGITS = 1e-10  # integrals have no more
_FAR = 1e3  # units, up to which answers have digits: error variances grow as squares, and take them from all else
_DISTANCES = np.array([50.0, 100.0, 200.0, 400.0])  # from which limits are told
_THIRD = np.array([-1.0, 14.0, -56.0, 64.0]) / 21.0  # the limit without what falls as 1 / distance, its square, cube
_SECOND = np.array([0.0, 1.0, -6.0, 8.0]) / 3.0  # without the first two
_AGREE = 1e-5  # by which the two may differ
_NEAR = 1e-6  # by which a limit may miss the best answer and still be what it nears
_GROWS = 1.3  # steps so many times as large at twice the distance: there is no limit
_ALIKE = 1e-9  # by which answers differ that are one
_NOTHING = 1e-9


@dataclass(frozen=True, eq=False)
class ModelForm:
    """A question as a function of the coordinates, by the answers of the models there."""

    query: Query
    fibre: Fibre
    units: Floats

    def values(self, u: Floats) -> Floats:
        """Answers alone."""
        try:
            with np.errstate(all="ignore"):
                return np.asarray(values_of(self.query, self.fibre.at(u * self.units))[0][..., 0])
        except (HalftrekError, np.linalg.LinAlgError):
            return np.full(u.shape[:-1], np.nan)

    def both(self, u: Floats) -> tuple[Floats, Floats]:
        """Answers and slopes; nan where a model has no answer, as with an event of probability nothing."""
        models, moves = self.fibre.both(u * self.units)
        try:
            with np.errstate(all="ignore"):
                if isinstance(self.query, Distribution):
                    value = values_of(self.query, models)[0][..., 0]
                    gradient = gradients_of(self.query, models, far=True).values[0]
                else:
                    value, gradient = both_of(self.query, models)
        except (HalftrekError, np.linalg.LinAlgError):
            return np.full(u.shape[:-1], np.nan), np.full(u.shape, np.nan)
        return value, moves.along(gradient.T, gradient.omega) * self.units


def searched(query: Query, fibre: Fibre, units: Floats, claims: Sequence[Claim]) -> list[Piece]:
    """The smallest and the largest answer that programs from many points find."""
    coordinates = list(range(fibre.dimension))
    if not coordinates:
        return _one(query, fibre)
    low, high = box_of(claims, coordinates)
    held = CompiledClaims([claim.formula for claim in claims], coordinates)
    form = ModelForm(query, fibre, units)
    problem = Problem(form, held, low, high, reach=_FAR, digits=_DIGITS)  # type: ignore[arg-type]
    points = feasible_points(problem, np.random.default_rng(7))
    points = points[np.abs(points).max(axis=1, initial=0.0) <= _FAR][:_LOOKED_AT]
    if not len(points):
        return []
    ends: list[Reached] = []
    values = form.values(points)
    for sign in (-1.0, 1.0):
        best = improved(problem, sign, spread_starts(points, sign * values, _STARTS))
        if best is None:
            return []
        there = Reached(sign * best[0], best[1], True, binding_at(claims, coordinates, best[1]))
        ends.append(_farther(problem, form, sign, there))
    first, last = ends
    if isfinite(first.value) and last.value - first.value <= _ALIKE * max(1.0, abs(first.value)):
        return [Piece(first, first)]
    return [Piece(first, last)]


def _one(query: Query, fibre: Fibre) -> list[Piece]:
    """The answer of the only model; a QueryError if it has none."""
    end = Reached(float(values_of(query, fibre.at(np.zeros(0)).one())[0][0]), np.zeros(0))
    return [Piece(end, end)]


def _farther(problem: Problem, form: ModelForm, sign: float, best: Reached) -> Reached:
    """What answers come to far out, if that is beyond the best: infinity, or a limit that they near as 1 / distance."""
    assert best.u is not None
    axes = [s * axis for axis in np.eye(len(best.u)) for s in (-1.0, 1.0)]
    found = best
    for way in (best.u / max(float(np.abs(best.u).max(initial=0.0)), 1e-300), *axes):
        places = _DISTANCES[:, None] * way
        if not len(way) or not all(bool(problem.claims.holds(u)) for u in places):
            continue
        values = form.values(places)
        if not np.isfinite(values).all():
            continue
        steps = sign * np.diff(values)
        if steps[0] > _NOTHING and (steps[1:] > _GROWS * steps[:-1]).all():
            return Reached(sign * inf, None, False)
        limit = float(_THIRD @ values)
        if abs(limit - float(_SECOND @ values)) > _AGREE * max(1.0, abs(limit)):
            continue
        limit = 0.0 if abs(limit) < _NOTHING else limit
        if sign * (limit - found.value) > -_NEAR * abs(found.value):
            found = Reached(limit, places[-1], attained=False)
    return found
