"""The set in two or more coordinates: searched from many points, its ends proved by branch and bound.

From inside: exact sets along lines through the best points (these also show that an end is infinite), and programs that
climb to the ends. From outside: no model lies beyond an end. Holes between pieces are proved in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from math import inf, isfinite

import numpy as np
from flint import arb, fmpq

from halftrek.bottom.arrays import Floats
from halftrek.bottom.progress import Advance, silent
from halftrek.partial.exact.compiled import CompiledClaims, CompiledForm
from halftrek.partial.exact.conditions import Claim
from halftrek.partial.exact.questions import Form
from halftrek.partial.exact.rational import exact
from halftrek.partial.sets.boxes import Branch, box_of, branches_of, far_along, poles_across, within
from halftrek.partial.sets.line import Line, line_pieces, place_on_line, places_on_line
from halftrek.partial.sets.pieces import Found, Piece, Reached, endless_on, farthest, narrowed, united
from halftrek.partial.sets.proof.beyond import Beyond
from halftrek.partial.sets.proof.multipliers import multipliers_at
from halftrek.partial.sets.proof.prove import Outcome, prove
from halftrek.partial.sets.search import (
    Problem,
    anywhere,
    binding_at,
    driven,
    feasible_points,
    improved,
    outwards,
    repaired,
    spread_starts,
)

TOLERANCE = 1e-7  # of proofs, in the size of the answer
MOST_PROVED = 3  # coordinates
_ROUNDS = 4
_STEPS = 6  # that a progress bar shows
_HUGE = 1e4  # beside what is usual: perhaps there is no limit
_ENDLESS = 1e5  # beyond reason
_STARTS = 5  # of programs for an end
_STARTS_ALONE = 24  # where nothing but they will tell
_FAR = 30.0  # times as far as programs found first: no end was met on the way
_NEAR = 12  # boxes that are left, from which programs look for a point
_LINES = 12  # points through which lines are looked at for one value


class Space:
    """A question and claims in some of the coordinates of a tower."""

    def __init__(
        self,
        form: Form,
        claims: Sequence[Claim],
        coordinates: Sequence[int],
        columns: Sequence[int],
        sound: Callable[[Floats], bool] = anywhere,
        advance: Advance = silent,
        quick: bool = False,
    ) -> None:
        """``columns``: whose weight each coordinate is; ``sound``: is a model there? ``quick``: give up soon."""
        self.advance, self.quick, self.rounds = advance, quick, 2 if quick else _ROUNDS
        self.form, self.claims, self.coordinates, self.count = form, list(claims), list(coordinates), len(columns)
        self.columns, self.sound = columns, sound
        self.compiled = CompiledForm.of(form, self.coordinates)
        self.problem = self._problem(self.claims)
        self.rng = np.random.default_rng(7)
        self.boxes = 0
        self.scale = 0.0  # of the answer, from what it is at points of the set
        self.shown: list[Floats] = []  # points of the set on lines that show ends

    def _problem(self, claims: Sequence[Claim]) -> Problem:
        low, high = box_of(claims, self.coordinates)
        held = CompiledClaims([claim.formula for claim in claims], self.coordinates)
        columns = tuple(self.columns[k] for k in self.coordinates)
        return Problem(self.compiled, held, low, high, columns, lambda u: self.sound(self._whole(u)))

    @cached_property
    def branches(self) -> list[tuple[Branch, Problem]]:
        """The space cut at poles."""
        return [(branch, self._problem(branch.claims)) for branch in branches_of(self.form, self.claims)]

    def _prove(self, beyond: Beyond | None, end: Reached | None = None) -> Outcome:
        """Prove that nothing lies beyond, on each side of the poles."""
        outcome = Outcome(True, 0, np.zeros((0, len(self.coordinates))))
        for branch, problem in self.branches:
            here = beyond
            if here is not None and branch.side is not None:
                here = replace(here, side=branch.side, known=True)
            if here is not None and end is not None and end.u is not None and isfinite(inner := self._inner(end)):
                u = end.u[self.coordinates]
                here = replace(here, multipliers=multipliers_at(branch.claims, problem, here, inner, u))
            outcome = prove(problem, here, quick=self.quick)
            self.boxes += outcome.boxes
            if not outcome.proved:
                break
        return outcome

    def possible(self) -> tuple[Floats | None, bool]:
        """A point where the claims hold, or None; and whether that is certain."""
        points = feasible_points(self.problem, self.rng)
        if len(points):
            return points[0], True
        nothing = self._nothing()
        if nothing.pieces and (u := nothing.pieces[0].low.u) is not None:
            return u[self.coordinates], True
        return None, nothing.proved

    def found(self) -> Found:
        """The set."""
        points = feasible_points(self.problem, self.rng)
        if not len(points):
            return self._nothing()
        with np.errstate(all="ignore"):
            self.scale = float(np.nanmedian(np.abs(self.problem.form.both(points)[0])))
        pieces = self._united(self._along_lines(points))
        pieces = self._united([*pieces, *self._far_and_near_poles(points, pieces)])
        self.advance(1, _STEPS)
        for k, sign in enumerate((-1.0, 1.0)):
            pieces = self._united([*pieces, *self._end(sign, points, pieces)])
            self.advance(2 + k, _STEPS)
        self.shown += [end.u[self.coordinates] for p in pieces for end in (p.low, p.high) if end.u is not None]
        pieces = self._connected(pieces, points)
        self.advance(4, _STEPS)
        return self._proved(pieces)

    def _proved(self, pieces: list[Piece]) -> Found:
        """The ends and holes proved, as far as they can be."""
        few = proved = len(self.coordinates) <= MOST_PROVED
        for k, sign in enumerate((-1.0, 1.0)):
            self.advance(4 + k, _STEPS)
            done, pieces = self._prove_end(sign, pieces) if few else (False, pieces)
            if not done:
                if self.quick:
                    return Found(pieces, False, self.boxes)
                proved = False
                pieces = self._without_huge(sign, pieces) if few else self._followed(sign, pieces)
        if not few:  # nor is any hole between what was found
            return Found([Piece(pieces[0].low, pieces[-1].high)], proved=False, boxes=self.boxes)
        if len(pieces) > 1:
            done, pieces = self._prove_holes(pieces)
            proved = proved and done
        return Found(pieces, proved, self.boxes)

    # -- from inside ------------------------------------------------------------------------------

    def _along_lines(self, points: Floats) -> list[Piece]:
        """Exact sets along lines through some points: along each coordinate, and between them."""
        with np.errstate(all="ignore"):
            values = self.problem.form.both(points)[0]
        order = np.argsort(np.where(np.isfinite(values), values, 0.0))
        chosen = [points[order[k]] for k in dict.fromkeys((0, len(order) // 2, len(order) - 1))]
        found: list[Piece] = []
        for u in chosen:
            for k in range(len(self.coordinates)):
                found += self._on_line(u, np.eye(len(self.coordinates))[k])
        found += self._on_line(chosen[0], chosen[-1] - chosen[0])
        far = np.argsort(-np.abs(points).max(axis=1))[:4]
        for u in (chosen[0], chosen[-1], *points[far]):
            found += self._outward(u)
        return found

    def _far_and_near_poles(self, points: Floats, pieces: Sequence[Piece]) -> list[Piece]:
        """Sets along lines that stay inside up to infinity or a pole, where an answer that has no end shows it.

        Far out the terms of the highest degree tell where claims hold, at a pole what they are there.
        """
        d = len(self.coordinates)
        endless = bool(pieces) and pieces[0].low.value == -inf and pieces[-1].high.value == inf
        if endless or not 2 <= d <= MOST_PROVED:
            return []
        found: list[Piece] = []
        for at, k in enumerate(self.coordinates):
            asked = [(fmpq(0), far_along(self.claims, k, sign)) for sign in (1, -1)]
            asked += [(value, claims) for b, _ in self.branches for value, claims in poles_across(b, k)]
            for base in points[: 1 if d == 2 else 3]:
                for value, claims in asked:
                    start = base.copy()
                    start[at] = 0.0
                    placed = list(self._placed(start))
                    placed[k] = value
                    for j in self.coordinates:
                        if j != k:
                            found += self._across(claims, placed, j, k)
        return found

    def _across(self, claims: Sequence[Claim], start: list[fmpq], j: int, k: int) -> list[Piece]:
        """Sets along lines in one coordinate, at places of another where claims hold."""
        steps = [tuple(fmpq(int(i == at)) for i in range(self.count)) for at in (j, k)]
        found: list[Piece] = []
        try:
            for x in places_on_line(claims, Line((*start[:j], fmpq(0), *start[j + 1 :]), steps[0])):
                through = (*start[:j], x, *start[j + 1 :])
                own = line_pieces(self.form, self.claims, Line(through, steps[1]))
                if own:
                    self.shown.append(np.array([float(arb(through[i]).mid()) for i in self.coordinates]))
                found += own
        except ZeroDivisionError:  # the line lies in a pole
            pass
        return found

    def _outward(self, u: Floats) -> list[Piece]:
        """Sets along lines from a point on, away from zero in the coordinates of one column: where limits are cones."""
        columns = np.array(self.problem.columns)
        return [p for column in dict.fromkeys(columns) for p in self._on_line(u, np.where(columns == column, u, 0.0))]

    def _on_line(self, start: Floats, step: Floats) -> list[Piece]:
        if not np.abs(step).max() > 0.0:
            return []
        line = Line(self._placed(start), self._placed(step))
        try:
            return line_pieces(self.form, self.claims, line)
        except ZeroDivisionError:  # the line lies in a pole
            return []

    def _placed(self, values: Floats) -> tuple[fmpq, ...]:
        """Numbers of some coordinates as numbers of all."""
        found = [fmpq(0)] * self.count
        for k, value in zip(self.coordinates, values.tolist(), strict=True):
            found[k] = exact(value)
        return tuple(found)

    def place(self, low: float, high: float) -> Floats | None:
        """Where the answer is between two numbers and the claims hold, all coordinates; None if none is found.

        Lines show it exactly; where claims are equations no line stays on them, and programs go there.
        """
        claims = [*self.claims, within(self.form, low, high)]
        drawn = feasible_points(self.problem, np.random.default_rng(7))
        drawn = drawn[np.argsort(np.abs(drawn).max(axis=1, initial=0.0))]
        some = [*drawn[:_LINES], *drawn[_LINES :: max(1, len(drawn) // _LINES)]]
        starts = sorted([*self.shown, *some], key=lambda u: float(np.abs(u).max()))  # far out digits are lost
        for u in starts:
            for step in (*np.eye(len(u)), *(v - u for v in self.shown if v is not u)):
                line = Line(self._placed(u), self._placed(step))
                found = place_on_line(claims, line) if np.abs(step).max() > 0.0 else None
                if found is not None:
                    return line.point(arb(found))
        between = self._problem(claims)
        reached = next((u for u in (repaired(between, v) for v in starts) if u is not None), None)
        return None if reached is None else self._whole(reached)

    @staticmethod
    def _united(pieces: Iterable[Piece]) -> list[Piece]:
        return united(pieces, 2.0 * TOLERANCE)

    def _connected(self, pieces: list[Piece], points: Floats) -> list[Piece]:
        """Pieces that lines between their points join are one."""
        with np.errstate(all="ignore"):
            values = np.array([self.form.outward(float(x)) for x in self.problem.form.both(points[:400])[0]])
        for k in range(_ROUNDS * max(1, len(pieces))):
            gaps = list(pairwise(pieces))
            if not gaps:
                break
            left, right = gaps[k % len(gaps)]
            ends = [end.u[self.coordinates] for end in (left.high, right.low) if end.u is not None]
            between = points[:400][(values > left.high.value) & (values < right.low.value)][:1]
            middle = points[int(np.nanargmin(np.abs(values - np.nanmedian(values))))]
            found = list(pieces)
            for u in ends:
                anyone = points[int(self.rng.integers(len(points)))]
                others = [*between, *(v for v in ends if v is not u), middle, anyone]
                for v in others:
                    found += self._on_line(u, v - u)
            pieces = self._united(found)
        return pieces

    def _end(self, sign: float, points: Floats, pieces: Sequence[Piece]) -> list[Piece]:
        """The farthest that programs come on one side, unless it is infinite already."""
        if pieces and not isfinite(farthest(sign, pieces).value):
            return []
        count = _STARTS if len(self.coordinates) <= MOST_PROVED else _STARTS_ALONE
        with np.errstate(all="ignore"):
            starts = spread_starts(points, sign * self.problem.form.both(points)[0], count)
        starts += [end.u[self.coordinates] for p in pieces for end in (p.low, p.high) if end.u is not None]
        best = driven(self.problem, sign, starts[: count + 3])
        if best is None:
            return []
        far = self._outward(best[1]) if abs(best[0]) > _HUGE * self.scale else []
        return [self._piece(sign * best[0], best[1]), *far]

    def _piece(self, inner: float, u: Floats) -> Piece:
        end = Reached(self.form.outward(inner), self._whole(u), True, binding_at(self.claims, self.coordinates, u))
        return Piece(end, end)

    def _whole(self, u: Floats) -> Floats:
        found = np.zeros(self.count)
        found[self.coordinates] = u
        return found

    # -- from outside -----------------------------------------------------------------------------

    def _nothing(self) -> Found:
        if len(self.coordinates) > MOST_PROVED:
            return Found([], proved=False)
        outcome = self._prove(None)
        near = outcome.left[np.isfinite(outcome.left).all(axis=1)]
        for u in near[:: max(1, len(near) // _NEAR)]:
            if (reached := repaired(self.problem, u)) is not None:
                return self.around(reached)
        return Found([], outcome.proved, self.boxes)

    def around(self, u: Floats) -> Found:
        """The set from one point of it."""
        piece = self._piece(float(self.problem.form.both(u)[0]), u)
        self.scale = abs(piece.low.value)
        pieces = self._united([piece, *self._along_lines(u[None])])
        for sign in (-1.0, 1.0):
            pieces = self._united([*pieces, *self._end(sign, u[None], pieces)])
        return self._proved(pieces)

    def _followed(self, sign: float, pieces: list[Piece]) -> list[Piece]:
        """An end that programs alone found, followed outwards; if it goes many times as far, to infinity."""
        end = farthest(sign, pieces)
        if self.form.outer != "same" or end.u is None or not isfinite(end.value):
            return pieces
        first = sign * max(self.scale, abs(end.value))
        starts = [end.u[self.coordinates], *self.shown[:_LINES]]
        for u in outwards(self._answered, first, starts):
            pieces = self._united([*pieces, self._piece(float(self.problem.form.both(u)[0]), u)])
        return self._without_huge(sign, pieces, _FAR * abs(first))

    def _answered(self, low: float, high: float) -> Problem:
        """The same with an answer between two numbers."""
        return self._problem([*self.claims, within(self.form, low, high)])

    def _without_huge(self, sign: float, pieces: list[Piece], endless: float = inf) -> list[Piece]:
        """An end that is not proved and far out beyond reason is taken for infinite."""
        end, endless = farthest(sign, pieces), min(endless, _ENDLESS * max(self.scale, 1e-300))
        if self.form.outer != "same" or not sign * end.value > endless:
            return pieces
        return endless_on(sign, pieces)

    def _prove_end(self, sign: float, pieces: list[Piece]) -> tuple[bool, list[Piece]]:
        """Prove an end, or move it to where a box that is left shows more, and try again."""
        for _ in range(self.rounds):
            end = farthest(sign, pieces)
            if not isfinite(end.value):
                return True, pieces
            inner = self._inner(end)
            if self.form.outer == "normal" and not isfinite(inner):
                return True, pieces
            level = sign * inner + TOLERANCE * max(self.scale, abs(inner))
            outcome = self._prove(Beyond(sign, level), end)
            if outcome.proved:
                return True, pieces
            near = outcome.left[np.isfinite(outcome.left).all(axis=1)][:12]
            starts = [u for u in (repaired(self.problem, v) for v in near) if u is not None]
            best = improved(self.problem, sign, starts) if starts else None
            if best is None or best[0] <= level:
                return False, pieces
            lines = [p for k in range(len(self.coordinates)) for p in self._on_line(best[1], np.eye(len(best[1]))[k])]
            pieces = self._united([*pieces, self._piece(sign * best[0], best[1]), *lines])
        return False, pieces

    def _inner(self, end: Reached) -> float:
        if end.u is None or not end.attained:
            return self.form.inward(end.value)
        return float(self.problem.form.both(end.u[self.coordinates])[0])

    def _prove_holes(self, pieces: list[Piece]) -> tuple[bool, list[Piece]]:
        """Holes that are proved stay; others are taken for part of the set, which is then not proved to be sharp."""
        proved, sure = True, 0
        for _ in range(2 * _ROUNDS):
            if sure + 1 >= len(pieces):
                return proved, pieces
            left, right = pieces[sure], pieces[sure + 1]
            outcome = self._hole(left.high, right.low)
            if outcome is not None and outcome.proved:
                sure += 1
                continue
            if self.quick:
                return False, pieces
            near = np.zeros((0, 0)) if outcome is None else outcome.left[np.isfinite(outcome.left).all(axis=1)][:12]
            reached = [u for u in (repaired(self.problem, v) for v in near) if u is not None]
            lines = [p for u in reached for step in np.eye(len(u)) for p in self._on_line(u, step)]
            found = self._united([*pieces, *lines])
            if not narrowed(left.high.value, right.low.value, found):
                proved = False
                found = [*pieces[:sure], Piece(left.low, right.high), *pieces[sure + 2 :]]
            pieces = found
        return False, self._united([Piece(pieces[0].low, pieces[-1].high)])

    def _hole(self, left: Reached, right: Reached) -> Outcome | None:
        """Nothing between two ends, by halves, each with what binds at its end."""
        if self.form.spread is not None:
            return None
        low, high = self.form.inward(left.value), self.form.inward(right.value)
        margin = TOLERANCE * max(self.scale, abs(low), abs(high))
        middle = 0.5 * (low + high)
        first = self._prove(Beyond(1.0, low + margin, below=middle + margin), left)
        return self._prove(Beyond(-1.0, margin - high, below=margin - middle), right) if first.proved else first
