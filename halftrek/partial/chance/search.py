"""From the identified set outwards: every value that some model within the cut of the likelihood has.

Ends are programs of their own (``Program.furthest``). Whether values beyond them come back, through infinity or over a
hole of the set, is seen from the least loss at a value: ``least_loss`` walks over the gap from both sides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from math import inf

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.partial.chance.active import Binding, binding_at
from halftrek.partial.chance.cut import cut_for
from halftrek.partial.chance.program import Point, Program

Ends = tuple[float, float]
Factor = Callable[[Floats], float]  # by which the cut grows, for data that move an end along a direction

FAR = (10.0, 1e2, 1e3)  # multiples of the answer's own scale at which values stand for infinity
FARTHEST = 1e4  # and beyond which no end is looked for
LEAVE = 30.0  # and at which a program stops that may have no end
HOPELESS = 5.0  # multiples of the cut, lost at the first of them, from which on nothing farther is kept
HELD = (25.0, 50.0, 100.0, 200.0)  # weights between standardized variables that stand for those that grow without end
LARGE = 20.0  # one that perhaps does
TOLD = 1e-5  # by which limits of second and third order may differ
SETTLED = 1e-3  # share of a slope that may be unexplained at an end
ALIKE = 1e-4  # share of a cut within which two are one: 1e-4 of an interval's reach beyond the set
ROUNDS = 6  # of a cut and what binds at the end that it gives
STEPS = 8  # over a gap
TURNS = 4  # closer looks at the highest loss in a gap ...
NEAR = 0.7  # ... if it is above this share of the cut
CLOSE = 1e-7  # of the answer's scale, at which an end in a gap is known


@dataclass(frozen=True, eq=False)
class Found:
    """An end of an interval: its value, and where it is attained, unless that is nowhere."""

    value: float
    cut: float
    point: Point | None = None
    binding: Binding | None = None

    @property
    def restrictions(self) -> int:
        """How many restrictions the truth at this end would put on the data."""
        return 1 if self.binding is None else self.binding.restrictions


@dataclass(frozen=True, eq=False)
class Beyond:
    """The farthest model looked at on one side, and whether the data keep answers as far as that, and farther."""

    point: Point | None
    kept: bool


def as_it_is(_: Floats) -> float:
    """The factor of a likelihood that is not scaled."""
    return 1.0


@dataclass(frozen=True, eq=False)
class Search:
    """What is looked for: values up to a level, by the programs of one question, within the range of its answers."""

    program: Program
    level: float
    origin: Floats
    range: Ends = (-inf, inf)
    factor: Factor = as_it_is
    _cuts: dict[Point, float] = field(default_factory=dict)  # where the answer is held, known already

    def cut_at(self, point: Point, side: int) -> tuple[float, Binding]:
        """The loss up to which a value is kept, given what binds where it is attained."""
        binding = binding_at(self.program.coordinates, point, side)
        cut = cut_for(binding.restrictions, self.level, equal=binding.equal)
        return cut * self.factor(binding.direction), binding

    def end(self, starts: Iterable[Point], side: int) -> Found | None:
        """The farthest value to one side, from several starts; None where the program gets lost from all of them."""
        best: Found | None = None
        for start in starts:
            found = self._end_from(start.vector, side)
            if found is not None and (best is None or side * (found.value - best.value) > 0.0):
                best = found
        far = best is not None and not np.isfinite(self.range[side > 0]) and abs(best.value) > FARTHEST * self.scale
        return None if far else best

    def walked(self, start: Point, beyond: Point, side: int) -> Found | None:
        """The farthest value before one that the data exclude, by the loss alone; None if they do not exclude it."""
        if self._excess(beyond) <= 0.0:
            return None
        point = self._crossing(start, beyond)
        cut, binding = self.cut_at(point, side)
        return Found(point.answer, cut, point, binding)

    def limit(self, start: Point, side: int) -> Found | None:
        """An end that models only approach as a weight grows: the weight is held far out, and farther, and the end's
        own limit taken. None if none grows at the start, or if the ends there do not tell a limit.

        Not as far as they can go: error variances grow as squares, and take their digits from everything else.
        """
        weights, unit = self.program.coordinates.parts[0], float(np.sqrt(self.program.coordinates.n))
        sizes = np.abs(start.vector[weights]) / unit
        if not len(sizes) or sizes.max() < LARGE:
            return None
        held, growing, found = int(np.argmax(sizes)), sizes > LARGE, []
        for distance in HELD:
            vector = start.vector.copy()
            vector[weights] *= np.where(growing, distance * unit / abs(vector[held]), 1.0)
            end = self._end_from(vector, side, held)
            if end is None or end.point is None:
                return None
            found.append(end)
            start = end.point
        a, b, c, d = (end.value for end in found)
        limit = (64.0 * d - 56.0 * c + 14.0 * b - a) / 21.0  # without what falls as 1 / distance, its square, its cube
        if abs(limit - (8.0 * d - 6.0 * c + b) / 3.0) > TOLD * max(1.0, self.scale):
            return None
        last = found[-1]
        inside = self._end_from(start.vector, side) if side * (limit - last.value) < 0.0 else None
        return Found(limit, last.cut, last.point, last.binding) if inside is None else inside

    def _end_from(self, start: Floats, side: int, held: int | None = None) -> Found | None:
        cut = cut_for(1, self.level)
        vector = self.aside(start, side, cut, held)
        leave = (
            inf
            if np.isfinite(self.range[side > 0])
            else max(LEAVE * self.scale, 3.0 * abs(self.program.at(start).answer))
        )
        for _ in range(ROUNDS):
            point = self.program.furthest(vector, side, cut, leave, held)
            if point is None:
                return None
            wanted, binding = self.cut_at(point.with_held(held), side)
            if binding.unexplained > SETTLED or abs(point.loss - cut) > 1e-5 * cut:
                return None  # not at an end: the program stopped on its way
            if abs(wanted - cut) <= ALIKE * cut:
                return Found(point.answer, cut, point, binding)
            if wanted < cut and binding.restrictions > 1:  # with a smaller cut more would bind: keep the larger
                return Found(point.answer, cut, point, binding)
            cut, vector = wanted, point.vector
        return None

    def aside(self, start: Floats, side: int, cut: float, held: int | None = None) -> Floats:
        """A start off the fibre: where the loss has a slope, and the answer gets larger as fast as it can."""
        point = self.program.at(start).with_held(held)
        if point.loss > 1e-2 * cut:
            return start
        direction = binding_at(self.program.coordinates, point, side).direction
        length = float(np.linalg.norm(direction))
        if length == 0.0 or not np.isfinite(length):
            direction = np.zeros(len(start))
            direction[self.program.coordinates.parts[1]] = 1.0
            length = float(np.linalg.norm(direction))
        return np.asarray(start + np.sqrt(cut) * direction / length)

    @cached_property
    def scale(self) -> float:
        """How far the answer moves where weights between standardized variables move by one."""
        points = self.program.coordinates
        here = self.program.at(self.origin)
        return max(float(np.linalg.norm(here.answer_slope)) * float(np.sqrt(points.n)), 1e-12)

    def beyond(self, start: Point, side: int, *, first: float | None = None, early: bool = True) -> Beyond:
        """Whether the data keep answers that are as good as infinite.

        ``first`` is a value to begin with. ``early``: stop where so much is lost that nothing farther can be kept,
        unless values come back through infinity.
        """
        if np.isfinite(self.range[side > 0]):
            return Beyond(None, kept=False)
        points: list[Point] = []
        here = start
        for value in ([] if first is None else [first]) + [side * multiple * self.scale for multiple in FAR]:
            if side * (value - here.answer) <= 0.0:
                continue
            walk = self.walk(here, value, early)
            if not walk:
                return Beyond(here if points else None, kept=False)
            here = walk[-1]
            points.append(here)
            cut = self.cut_at(here, side)[0]
            if here.loss > HOPELESS * cut and early:
                return Beyond(here, kept=False)
        if len(points) < 2:
            return Beyond(here, kept=False)
        # the loss comes to its limit as 1 / value
        limit = points[-1].loss + (points[-1].loss - points[-2].loss) / (FAR[-1] / FAR[-2] - 1.0)
        if here.loss < cut <= limit:  # it crosses the cut far out
            value = 2.0 * here.answer * (limit - here.loss) / max(limit - cut, 1e-300)
            farther = self._reached(here, value) if abs(value) < FARTHEST * self.scale else None
            return Beyond(here, kept=True) if farther is None else Beyond(farther, kept=farther.loss < cut)
        return Beyond(here, kept=here.loss < cut)

    def walk(self, start: Point, value: float, early: bool = False) -> list[Point]:
        """The least loss at a value, at once or in steps; nothing if the way is lost.

        ``early``: in steps, up to where all hope is lost.
        """
        at_once = self._reached(start, value)
        if at_once is not None:
            return [at_once]
        found = [start]
        scale = self.scale
        for step in np.tan(np.linspace(np.arctan(start.answer / scale), np.arctan(value / scale), 8)[1:]) * scale:
            moved = self._reached(found[-1], float(step))
            if moved is None:
                return found[1:] if early and self._excess(found[-1]) > 0.0 else []
            found.append(moved)
            if early and moved.loss > HOPELESS * self._cut(moved):
                break
        return found[1:]

    def _reached(self, start: Point, value: float) -> Point | None:
        unit = max(abs(value), self.scale) / np.sqrt(self.program.coordinates.n)
        return self.program.least_loss(start.vector, value, unit)

    def over(self, left: Point, right: Point) -> list[Ends]:
        """What the data exclude between two values that they do not: stretches of a gap, none if it is closed."""
        scale = self.scale
        at = np.tan(np.linspace(np.arctan(left.answer / scale), np.arctan(right.answer / scale), STEPS + 2)) * scale
        known = {float(at[0]): left, float(at[-1]): right}
        self._cross(known, at[1:-1], left)
        if len(known) < len(at) or any(self._excess(point) > 0.0 for point in known.values()):
            self._cross(known, at[-2:0:-1], right)  # the other way round there may be less to lose
        for _ in range(TURNS):
            self._look_closer(known)
        order = sorted(known)
        inside = [self._excess(known[v]) <= 0.0 for v in order]
        inside[0] = inside[-1] = True
        cuts = [
            self._crossing(known[a], known[b]).answer
            for (a, b), (ours, theirs) in zip(pairwise(order), pairwise(inside), strict=True)
            if ours != theirs
        ]
        return list(zip(cuts[::2], cuts[1::2], strict=True))

    def _cross(self, known: dict[float, Point], values: Floats, here: Point) -> None:
        """The least loss at values of a gap, one after another; what is known already stays if it is less."""
        for value in map(float, values):
            moved = self._reached(here, value)
            if moved is None:
                continue
            here = moved
            if value not in known or moved.loss < known[value].loss:
                known[value] = moved

    def _excess(self, point: Point) -> float:
        return point.loss - self._cut(point)

    def _cut(self, point: Point) -> float:
        """The cut where the answer is held: it is as large as it can be, or as small; the slopes tell which."""
        if point not in self._cuts:
            both = (self.cut_at(point, side) for side in (-1, 1))
            self._cuts[point] = min(both, key=lambda one: one[1].unexplained)[0]
        return self._cuts[point]

    def _look_closer(self, known: dict[float, Point]) -> None:
        """One more value beside the highest loss, unless that is beyond the cut already."""
        order, scale = sorted(known), self.scale
        if len(order) < 3:
            return
        k = max(range(1, len(order) - 1), key=lambda i: known[order[i]].loss)
        highest = known[order[k]]
        if not NEAR - 1.0 < self._excess(highest) / self._cut(highest) <= 0.0:
            return
        wider = max((order[k - 1], order[k + 1]), key=lambda v: abs(np.arctan(v / scale) - np.arctan(order[k] / scale)))
        value = float(np.tan((np.arctan(wider / scale) + np.arctan(order[k] / scale)) / 2.0) * scale)
        moved = self._reached(known[order[k]], value)
        if moved is not None:
            known[value] = moved

    def _crossing(self, a: Point, b: Point) -> Point:
        """Between a value that is kept and one that is not, the last that is kept."""
        (low, f_low), (high, f_high) = (a, self._excess(a)), (b, self._excess(b))
        if f_low > 0.0:
            (low, f_low), (high, f_high) = (high, f_high), (low, f_low)
        stuck, scale = 0, self.scale
        for _ in range(80):
            x, y = np.arctan(low.answer / scale), np.arctan(high.answer / scale)
            if abs(y - x) <= CLOSE or -CLOSE <= f_low <= 0.0:
                break
            share = 0.5 if stuck > 1 or f_low >= f_high else float(np.clip(f_low / (f_low - f_high), 0.02, 0.98))
            moved = self._reached(low, float(np.tan(x + share * (y - x))) * scale)
            if moved is None:
                break
            excess = self._excess(moved)
            stuck = stuck + 1 if share != 0.5 and (excess <= 0.0) == (share < 0.5) else 0
            if excess <= 0.0:
                low, f_low = moved, excess
            else:
                high, f_high = moved, excess
        return low


def merged(pieces: Sequence[Ends]) -> tuple[Ends, ...]:
    """Pieces from left to right, those that overlap or touch as one."""
    found: list[Ends] = []
    for low, high in sorted(pieces):
        if found and low <= found[-1][1]:
            found[-1] = (found[-1][0], max(high, found[-1][1]))
        else:
            found.append((low, high))
    return tuple(found)
