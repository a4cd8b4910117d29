"""Questions without a form in polynomials: several events, an interval, what is given events. These are searched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from halftrek.arrays import Floats
from halftrek.partial.exact.compiled import CompiledClaims
from halftrek.partial.exact.conditions import Claim
from halftrek.partial.fibre import Fibre
from halftrek.partial.sets.boxes import box_of
from halftrek.partial.sets.pieces import Piece, Reached
from halftrek.partial.sets.search import Problem, feasible_points, improved, spread_starts
from halftrek.queries import Query
from halftrek.queries.evaluate import values_of
from halftrek.queries.gradients import gradients_of

_LOOKED_AT = 300  # models whose answers are computed; an integral each


@dataclass(frozen=True, eq=False)
class ModelForm:
    """A question as a function of the coordinates, by the answers of the models there."""

    query: Query
    fibre: Fibre
    units: Floats

    def both(self, u: Floats) -> tuple[Floats, Floats]:
        """Answers and slopes."""
        models, moves = self.fibre.both(u * self.units)
        with np.errstate(all="ignore"):
            value = values_of(self.query, models)[0][..., 0]
            gradient = gradients_of(self.query, models).values[0]
        return value, moves.along(gradient.T, gradient.omega) * self.units


def searched(query: Query, fibre: Fibre, units: Floats, claims: Sequence[Claim]) -> list[Piece]:
    """The smallest and the largest answer that programs from many points find."""
    coordinates = range(fibre.dimension)
    low, high = box_of(claims, list(coordinates))
    held = CompiledClaims([claim.formula for claim in claims], list(coordinates))
    form = ModelForm(query, fibre, units)
    problem = Problem(form, held, low, high)  # type: ignore[arg-type]
    points = feasible_points(problem, np.random.default_rng(7))[:_LOOKED_AT]
    if not len(points):
        return []
    ends = []
    for sign in (-1.0, 1.0):
        best = improved(problem, sign, spread_starts(problem, points, sign))
        if best is None:
            return []
        ends.append(Reached(sign * best[0], best[1]))
    return [Piece(*ends)]
