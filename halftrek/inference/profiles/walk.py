"""Walks along the profile of an answer: from the maximum outwards until the deviance reaches a cut.

The deviance at a value c of the answer is ``n (F(c) - F_min)``, twice what the log-likelihood loses if the answer is
held at c. Its signed root is close to a straight line, and its slope is the multiplier: Newton steps find the cut.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.inference.information.landscape import Landscape, Point
from halftrek.inference.profiles.constrained import Held, best_at, local_model, moved_to, peak, returned

CLOSE = 1e-7  # how near to the cut a deviance has to come
FAR = 1e5  # multiples of the first step beyond which an end counts as infinite
LEVEL = 0.1  # share of the cut that a deviance may still gain where it counts as levelled off
LOWER = 1e-5  # deviance below zero that is no rounding: the maximum was none
LOST = 2  # steps beyond an end that may fail before the walk there is given up
LOST_HERE = 24  # steps on the way to an end that may fail
BRANCHES = 4  # other ways to reach a value that are tried at an end


@dataclass(frozen=True, eq=False)
class Walk:
    """A landscape with its maximum, and the first step to take in the answer."""

    land: Landscape
    top: Held
    step: float

    @property
    def close(self) -> float:
        """How near to a value the answer is held."""
        return 1e-9 * self.step

    @property
    def estimate(self) -> float:
        """The answer at the maximum."""
        return self.top.level

    def deviance(self, held: Held) -> float:
        """Twice the log-likelihood that is lost at a point."""
        return self.land.n * (held.value - self.top.value)

    def climb(self, held: Held) -> float:
        """How the deviance moves with the answer."""
        return self.land.n * held.multiplier

    def reach(self, held: Held, level: float) -> Held | None:
        """The best point at another level, from one at a level nearby; None if the way there is not found."""
        for start in moved_to(self.land, held, level, close=self.close):
            found = best_at(self.land, start, level, close=self.close, bend=held.model.bend)
            if found.converged:
                return found
        return None


@dataclass(frozen=True, eq=False)
class End:
    """One end of an interval: a number with its point, infinite, or nan if the walk got lost."""

    level: float
    held: Held | None = None


class HigherGroundError(Exception):
    """A point with a higher likelihood than the maximum that the walk began at."""

    def __init__(self, point: Point) -> None:
        super().__init__("a higher likelihood than at the maximum")
        self.point = point


def start_walk(land: Landscape, cut: float, start: Point | None = None) -> Walk:
    """The maximum of the likelihood, and a step that should about reach the cut."""
    best = peak(land, land.at(land.start) if start is None else start)
    level = land.answer(best)
    model = local_model(land, best)
    path, H = model.path, land.hessian(best)
    bend = max(float(path @ H @ path), 0.0)
    # where the likelihood is almost flat, no further than parameters move by about one standard deviation
    longest = 2.0 / max(float(np.abs(path).max(initial=0.0)), 1e-300)
    step = min(float(np.sqrt(2.0 * cut / (land.n * bend))) if bend > 0.0 else np.inf, longest)
    return Walk(land, Held(best, level, 0.0, model, converged=True), step)


def find_end(walk: Walk, side: int, cut: float) -> End:
    """The first value on one side of the estimate at which the deviance reaches the cut."""
    held = walk.top
    for _ in range(8):
        end = _first_crossing(walk, held, side, cut)
        if end.held is None:
            return end
        other = _other_branch(walk, end.held)
        if other is None:
            return end
        held = other  # the value can be reached at a smaller loss: go on from there
    return End(float("nan"))


def _first_crossing(walk: Walk, held: Held, side: int, cut: float) -> End:
    step, longest, lost = walk.step, float("inf"), 0
    for _ in range(120):
        found = walk.reach(held, held.level + side * step)
        if found is None:
            lost += 1
            step /= 3.0
            longest = step
            if step < 1e-6 * walk.step or lost > LOST_HERE:
                return End(float("nan"))
            continue
        deviance = walk.deviance(found)
        if deviance < -LOWER:
            raise HigherGroundError(found.point)
        if deviance >= cut:
            return _refine(walk, held, found, cut)
        held = found
        distance = side * (held.level - walk.estimate)
        if _levelled(walk, held, side, cut):
            return End(side * float("inf"))
        longest *= 2.0  # a step that was too far is not tried again at once
        step = min(_next_step(walk, held, side, cut, distance), longest)
    return End(float("nan"))


def _levelled(walk: Walk, held: Held, side: int, cut: float) -> bool:
    """True if the deviance will not reach the cut any more: it approaches its limit as 1 / distance, or faster."""
    distance = side * (held.level - walk.estimate)
    if distance > FAR * walk.step:
        return True
    left = distance * side * walk.climb(held)
    return distance > 10.0 * walk.step and left < LEVEL * cut and walk.deviance(held) + left < (1.0 - 1e-3) * cut


def _next_step(walk: Walk, held: Held, side: int, cut: float, distance: float) -> float:
    """To where the root of the deviance should reach the cut, and a little further; at most twice as far as so far."""
    root = float(np.sqrt(max(walk.deviance(held), 0.0)))
    rise = side * walk.climb(held) / (2.0 * root) if root > 0.0 else 0.0
    wanted = 1.05 * (np.sqrt(cut) - root) / rise if rise > 0.0 else np.inf
    return float(min(max(wanted, 1e-3 * walk.step), 2.0 * max(distance, walk.step)))


def _refine(walk: Walk, low: Held, high: Held, cut: float) -> End:
    """The crossing between a point below the cut and one above, by Newton steps on the root of the deviance."""
    goal = float(np.sqrt(cut))
    for _ in range(60):
        roots = [float(np.sqrt(max(walk.deviance(h), 0.0))) for h in (low, high)]
        nearest = low if goal - roots[0] < roots[1] - goal else high
        if abs(walk.deviance(nearest) - cut) < CLOSE:
            return End(nearest.level, nearest)
        if abs(high.level - low.level) < 1e-13 * (abs(high.level) + walk.step):
            return End(nearest.level, nearest)
        level = _newton_level(walk, nearest, goal)
        a, b = sorted((low.level, high.level))
        margin = 1e-3 * (b - a)
        if not a < level < b:
            level = low.level + (high.level - low.level) * (goal - roots[0]) / max(roots[1] - roots[0], 1e-300)
            level = float(np.clip(level, a + margin, b - margin))
        found = walk.reach(nearest, level) or walk.reach(low if nearest is high else high, level)
        if found is None:
            return End(float("nan"))
        if walk.deviance(found) < -LOWER:
            raise HigherGroundError(found.point)
        low, high = (found, high) if walk.deviance(found) < cut else (low, found)
    return End(float("nan"))


def _newton_level(walk: Walk, held: Held, goal: float) -> float:
    root = float(np.sqrt(max(walk.deviance(held), 0.0)))
    rise = walk.climb(held) / (2.0 * root) if root > 0.0 else 0.0
    return held.level + (goal - root) / rise if rise else float("nan")


def _other_branch(walk: Walk, held: Held) -> Held | None:
    """A better point at the same level, reached from the maximum by moving one parameter alone.

    A product of two coefficients, for instance, comes to zero by either of them.
    """
    land, top = walk.land, walk.top.point
    weight = np.abs(land.slope(top)) / np.sqrt(np.maximum(np.abs(np.diag(land.hessian(top))), 1e-300))
    order = [int(a) for a in land.relevant[np.argsort(-weight[land.relevant])]]
    for a in order[:BRANCHES] if len(order) > 1 else []:
        alone: Floats = np.zeros(len(top.theta))
        alone[a] = 1.0
        start = returned(land, top, held.level, alone, walk.close)
        if start is None:
            continue
        found = best_at(land, start, held.level, close=walk.close, rival=held.point)
        if found.converged and walk.deviance(found) < walk.deviance(held) - 1e-5:
            return found
    return None


def return_beyond(walk: Walk, end: Held, side: int, cut: float) -> float | None:
    """Where, beyond an end, the deviance falls under the cut again for good; None if it does not."""
    held, outside, inside = end, end, None
    step, lost = 0.05 * side * (end.level - walk.estimate), 0
    for _ in range(80):
        found = walk.reach(held, held.level + side * step)
        if found is None:
            lost += 1
            if lost > LOST:  # every way that is not found costs as much as many that are
                return None
            step /= 3.0
            continue
        held = found
        if walk.deviance(held) >= cut:
            outside, inside = held, None
        elif inside is None:
            inside = held
        if inside is not None and _levelled(walk, held, side, cut):
            back = _refine(walk, inside, outside, cut).level
            return None if np.isnan(back) else back
        distance = side * (held.level - walk.estimate)
        if distance > FAR * walk.step:
            return None
        step = min(2.0 * step, distance)
    return None


def restarted(walk: Walk, point: Point, cut: float) -> Walk:
    """The walk from higher ground."""
    fresh = start_walk(walk.land, cut, point)
    return fresh if fresh.top.value < walk.top.value else replace(walk, top=fresh.top)
