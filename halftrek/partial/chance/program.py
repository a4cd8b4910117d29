"""A question, the assumptions and the likelihood over one vector, and the three programs that ends are made of.

- ``nearest``: the least deviance of a model that obeys the assumptions;
- ``least_loss``: the same where the answer has a given value;
- ``furthest``: the largest or smallest answer of all models within a deviance.

All derivatives are analytic. SLSQP solves them from a start; whoever calls chooses several.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf
from typing import NamedTuple, TypedDict

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.errors import HalftrekError
from halftrek.partial.assumptions import Conditions, State
from halftrek.partial.chance.coordinates import Coordinates, Lines, Place
from halftrek.partial.chance.deviance import Deviance
from halftrek.partial.chance.equations import Equations
from halftrek.queries import Query
from halftrek.queries.evaluate import values_of
from halftrek.queries.gradients import gradients_of

STEPS = 60  # of SLSQP; a dozen are usual
FEWER = 35  # where the answer has no end in reach more would be in vain
ENDED = (0, 8)  # how SLSQP ends at an optimum: within its tolerance, or where rounding leaves no better step
STOPPED = 9  # and where it has made all its steps; far out rounding can keep it from seeing that it is there
KEPT = 1e-6  # by which a condition may be broken, in units of the noise
FTOL = 1e-9  # of half a deviance, and of what is kept
LOST = 1e12  # deviance where there is no likelihood


@dataclass(frozen=True, eq=False)
class Point:
    """Everything at one vector: numbers, and their derivatives along it."""

    vector: Floats
    place: Place
    answer: float
    answer_slope: Floats
    loss: float
    loss_slope: Floats
    equations: Floats
    equation_slopes: Floats
    limits: Floats  # must not be negative: assumptions, then noise variances
    limit_slopes: Floats
    graph_equations: int  # so many of the equations are the graph's, the others are assumptions

    @property
    def broken(self) -> float:
        """By how much the graph or an assumption is broken, in units of the noise."""
        return float(max(np.abs(self.equations).max(initial=0.0), -self.limits.min(initial=0.0)))

    def with_held(self, held: int | None) -> Point:
        """The same where one number of the vector is a constant."""
        if held is None:
            return self
        moving = np.ones(len(self.vector))
        moving[held] = 0.0
        return replace(
            self,
            answer_slope=self.answer_slope * moving,
            loss_slope=self.loss_slope * moving,
            equation_slopes=self.equation_slopes * moving,
            limit_slopes=self.limit_slopes * moving,
        )


class _Left(Exception):
    """Answers are beyond those that a program is asked for."""


class _Kept(NamedTuple):
    """What a program keeps: equations ("eq"), or numbers that are not negative ("ineq")."""

    kind: str
    value: Callable[[Point], Floats]
    slopes: Callable[[Point], Floats]


class _Constraint(TypedDict):
    type: str
    fun: Callable[[Floats], Floats]
    jac: Callable[[Floats], Floats]


class Program:
    """The programs of one question; the last point is remembered, since value and slope are asked for in turn."""

    def __init__(
        self, coordinates: Coordinates, deviance: Deviance, query: Query, conditions: Conditions, component: int = 0
    ) -> None:
        self.coordinates, self.deviance = coordinates, deviance
        self.query, self.conditions, self.component = query, conditions, component
        self.equations = Equations.of(coordinates)
        self.points = 0  # how many were looked at
        self._last: Point | None = None
        self._units: Floats | None = None  # of conditions: by how much noise moves each

    def at(self, vector: Floats) -> Point:
        """Everything at a vector."""
        if self._last is not None and np.array_equal(self._last.vector, vector):
            return self._last
        self.points += 1
        place = self.coordinates.place(vector)
        kept, noise = self.equations.values(place)
        ends = np.cumsum([2, len(kept), len(self.conditions), len(noise)])
        lines = Lines.zero(int(ends[-1]), len(place.T))
        answer, loss = self._answer(place, lines), self._loss(place, lines)
        self.equations.write(lines, 2, place)
        values = self._assumed(place, lines, int(ends[1]))
        lines.own[ends[2] :] = self.equations.noise
        slopes = self.coordinates.pull(place, lines)
        parts = np.split(slopes, ends[:-1])
        values, assumed = self._in_units(values, parts[2])
        equal = self.conditions.equal
        self._last = Point(
            vector.copy(), place, answer, slopes[0], loss, slopes[1],
            np.concatenate([kept, values[equal]]), np.concatenate([parts[1], assumed[equal]]),
            np.concatenate([values[~equal], noise]), np.concatenate([assumed[~equal], parts[3]]),
            len(kept),
        )  # fmt: skip
        return self._last

    def broken(self, vector: Floats) -> float:
        """By how much the graph or an assumption is broken at a vector, without asking for the answer."""
        place = self.coordinates.place(vector)
        kept, noise = self.equations.values(place)
        values = np.zeros(0)
        if len(self.conditions):
            lines = Lines.zero(len(self.conditions), len(place.T))
            values = self._assumed(place, lines, 0)
            values, _ = self._in_units(values, self.coordinates.pull(place, lines))
        equal = self.conditions.equal
        kept, limits = np.concatenate([kept, values[equal]]), np.concatenate([values[~equal], noise])
        return float(max(np.abs(kept).max(initial=0.0), -limits.min(initial=0.0)))

    def _answer(self, place: Place, lines: Lines) -> float:
        try:
            value = float(values_of(self.query, place)[0][self.component])
            found = gradients_of(self.query, place, far=True).values[self.component]
        except (HalftrekError, np.linalg.LinAlgError):
            return float("nan")
        lines.T[0], lines.omega[0], lines.mean[0] = found.T, found.omega, found.mean
        return value

    def _loss(self, place: Place, lines: Lines) -> float:
        try:
            loss, lines.mean[1], lines.sigma[1] = self.deviance.at(place.mean, place.cov)
        except np.linalg.LinAlgError:
            return LOST
        return loss

    def _assumed(self, place: Place, lines: Lines, first: int) -> Floats:
        """Assumptions as numbers that must not be negative."""
        if not len(self.conditions):
            return np.zeros(0)
        noise = place.W.diagonal() - (place.loadings**2).sum(axis=0) if len(place.loadings) else None
        values, slopes = self.conditions.both(State(place.T, place.W, place.cov, noise))
        some = slice(first, first + len(values))
        lines.T[some], lines.omega[some], lines.sigma[some] = -slopes.T, -slopes.omega, -slopes.sigma
        at = np.arange(len(place.T))
        lines.own[some, at, at] -= slopes.noise
        return np.asarray(-values)

    def _in_units(self, values: Floats, slopes: Floats) -> tuple[Floats, Floats]:
        """Assumptions in units of what noise moves them by, which are those of the first point looked at."""
        if self._units is None:
            lengths = np.linalg.norm(slopes, axis=1)
            usual = 1.0 / np.sqrt(self.coordinates.n)
            self._units = np.where(lengths > 1e-6 * usual, lengths, usual)
        return values / self._units, slopes / self._units[:, None]

    def nearest(self, start: Floats) -> Point | None:
        """The least deviance under the assumptions; None if no way to obey them is found."""
        return self._solved(start, _half_loss, _half_slope)

    def least_loss(self, start: Floats, value: float, scale: float) -> Point | None:
        """The least deviance where the answer is ``value``; ``scale`` is how far answers move by chance."""
        held = _Kept("eq", lambda p: np.array([(p.answer - value) / scale]), lambda p: p.answer_slope[None] / scale)
        found = self._solved(start, _half_loss, _half_slope, held)
        return found if found is not None and abs(found.answer - value) <= KEPT * scale else None

    def furthest(
        self, start: Floats, side: int, cut: float, leave: float = inf, held: int | None = None
    ) -> Point | None:
        """The largest (``side`` 1) or smallest answer of models within a deviance, from a start.

        None too where answers get as large as ``leave`` on the way: there may be no end. ``held``: a number of the
        vector that stays as it is.
        """
        # with this unit the multiplier of the loss is about one half at the end: SLSQP begins with the right curvature
        unit = side * np.sqrt(cut) / max(float(np.linalg.norm(self.at(start).answer_slope)), 1e-300)
        within = _Kept("ineq", lambda p: np.array([cut - p.loss]), lambda p: -p.loss_slope[None])

        def away(point: Point) -> float:
            if abs(point.answer) > leave:
                raise _Left
            return float(-unit * point.answer)

        try:
            found = self._solved(start, away, lambda p: -unit * p.answer_slope, within, FEWER, held)
        except _Left:
            return None
        return found if found is not None and found.loss <= cut + KEPT * (1.0 + cut) else None

    def _solved(
        self,
        start: Floats,
        value: Callable[[Point], float],
        slope: Callable[[Point], Floats],
        more: _Kept | None = None,
        steps: int = STEPS,
        held: int | None = None,
    ) -> Point | None:
        from scipy.optimize import Bounds, minimize

        units, first = self.coordinates.units_at(start), self.at(start)
        every = [] if more is None else [more]
        if len(first.equations):
            every.append(_Kept("eq", lambda p: p.equations, lambda p: p.equation_slopes))
        if len(first.limits):
            every.append(_Kept("ineq", lambda p: p.limits, lambda p: p.limit_slopes))
        low, high = self.coordinates.reach
        if held is not None:
            low, high = low.copy(), high.copy()
            low[held] = high[held] = start[held]
        with np.errstate(all="ignore"):
            found = minimize(
                lambda y: value(self.at(y * units)), start / units, jac=lambda y: slope(self.at(y * units)) * units,
                constraints=[self._constraint(one, units) for one in every],
                method="SLSQP", bounds=Bounds(low / units, high / units), options={"maxiter": steps, "ftol": FTOL},
            )  # fmt: skip
        if found.status not in ENDED and (held is None or found.status != STOPPED):
            return None
        point = self.at(np.asarray(found.x) * units)
        return point if np.isfinite(point.answer) and point.broken <= KEPT else None

    def _constraint(self, kept: _Kept, units: Floats) -> _Constraint:
        return {
            "type": kept.kind,
            "fun": lambda y: kept.value(self.at(y * units)),
            "jac": lambda y: kept.slopes(self.at(y * units)) * units,
        }


def _half_loss(point: Point) -> float:
    """Half of a deviance: SLSQP begins with curvature one, which is that of half the loss in the covariance."""
    return 0.5 * point.loss


def _half_slope(point: Point) -> Floats:
    return 0.5 * point.loss_slope
