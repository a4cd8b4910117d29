"""Proof that no model lies beyond an end: branch and bound over boxes of the free coordinates.

The space is cut into boxes, also ones that reach to infinity. A box is done with if some claim fails everywhere in it,
or if the answer stays on this side of the end everywhere in it. Others are halved. The last test is sharpest with the
claims that bind at the end added in, each times its multiplier (``g <= 0`` only helps): near the end that sum is flat,
so that its enclosure on a small box is tight, and few boxes are looked at.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np

from halftrek.arrays import Flags, Floats
from halftrek.partial.exact.compiled import Compiled
from halftrek.partial.exact.conditions import All, Atom, Formula
from halftrek.partial.sets.bernstein import Boxed
from halftrek.partial.sets.beyond import Beyond, goal_of, is_told, joined, ruled_out, scaled, tests_of
from halftrek.partial.sets.charts import Chart, charts_of
from halftrek.partial.sets.search import Problem

_MOST_BOXES = 250_000
_AT_ONCE = 4_000
_LEVELS = 90


@dataclass(frozen=True, eq=False)
class Outcome:
    """``proved``, or points of boxes that are left (``(k, d)``)."""

    proved: bool
    boxes: int
    left: Floats


def prove(problem: Problem, beyond: Beyond | None) -> Outcome:
    """Try to show that no point where the claims hold lies beyond; None: that no point is there at all."""
    seen = 0
    for chart in charts_of(problem.low, problem.high, problem.columns):
        room = _Room(problem, beyond, chart)
        seen += room.search(_MOST_BOXES - seen)
        if room.open is not None:
            return Outcome(False, seen, room.open)
    return Outcome(True, seen, np.zeros((0, problem.dimension)))


class _Room:
    """One box of the start, and what comes of it."""

    def __init__(self, problem: Problem, beyond: Beyond | None, chart: Chart) -> None:
        self.problem, self.beyond, self.chart = problem, beyond, chart
        self.d = problem.dimension
        self.start = {key: self._boxed([atom])[0] for key, atom in problem.claims.atoms.items()}
        tests = [] if beyond is None else tests_of(problem.form, beyond)
        families = {number: [one for one, own in tests if own == number] for _, number in tests}
        self.tests = [boxed for members in families.values() for boxed in self._boxed(members)]
        self.mixed: Boxed | None = None
        if beyond is not None and beyond.multipliers and beyond.below == inf:
            self.mixed = self._boxed([self._mixture(beyond)])[0]
        self.open: Floats | None = None

    def _boxed(self, family: list[Compiled]) -> list[Boxed]:
        """Polynomials that are compared with each other, in the same degrees."""
        powers = self.chart.powers(family)
        moved = [self.chart.moved(one, powers) for one in family]
        degrees = tuple(max(one.degrees[k] for one in moved) for k in range(self.d))
        return [Boxed.of(one, self.chart.sides, degrees) for one in moved]

    def _mixture(self, beyond: Beyond) -> Compiled:
        """The goal, less multipliers times claims; at most zero rules a box out."""
        parts = [goal_of(self.problem.form, beyond)]
        parts += [scaled(self.problem.claims.atoms[id(m.atom)], -m.weight) for m in beyond.multipliers]
        return joined(parts)

    def search(self, most: int) -> int:
        """Halve boxes, depth first in batches, until none is left or there are too many; how many were looked at."""
        corner, width = np.zeros((1, self.d)), np.ones((1, self.d))
        stack = [(0, corner, width, self.start, self.tests, self.mixed)]
        seen = 0
        while stack:
            level, corner, width, atoms, tests, mixed = stack.pop()
            seen += len(corner)
            keep = self._undecided(atoms, tests, mixed)
            if not keep.any():
                continue
            corner, width = corner[keep], width[keep]
            atoms = {key: boxed.only(keep) for key, boxed in atoms.items()}
            tests = [boxed.only(keep) for boxed in tests]
            mixed = None if mixed is None else mixed.only(keep)
            if seen > most or level >= _LEVELS:
                self.open = self.chart.points(corner + 0.5 * width)
                return seen
            axis = level % self.d
            half = width.copy()
            half[:, axis] /= 2.0
            moved = corner.copy()
            moved[:, axis] += half[:, axis]
            corner, width = np.concatenate([corner, moved]), np.concatenate([half, half])
            atoms = {key: boxed.halved(axis) for key, boxed in atoms.items()}
            tests = [boxed.halved(axis) for boxed in tests]
            mixed = None if mixed is None else mixed.halved(axis)
            for first in range(0, len(corner), _AT_ONCE):
                some = slice(first, first + _AT_ONCE)
                stack.append(
                    (
                        level + 1,
                        corner[some],
                        width[some],
                        {key: Boxed(boxed.b[some], boxed.pad) for key, boxed in atoms.items()},
                        [Boxed(boxed.b[some], boxed.pad) for boxed in tests],
                        None if mixed is None else Boxed(mixed.b[some], mixed.pad),
                    )
                )
        return seen

    def _undecided(self, atoms: dict[int, Boxed], tests: list[Boxed], mixed: Boxed | None) -> Flags:
        count = len(next(iter([*atoms.values(), *tests])).b) if atoms or tests else 1
        keep = np.ones(count, dtype=bool)
        for formula in self.problem.claims.formulas:
            keep &= ~_fails(formula, atoms)
        if self.beyond is None:
            return keep
        keep &= ~self._ruled_out(tests)
        if mixed is not None:
            flat = (mixed.highest <= 0.0) & is_told(self.problem.form, self.beyond, tests)
            for multiplier in self.beyond.multipliers:
                for other in multiplier.unless:
                    flat &= _fails(other, atoms)
            keep &= ~flat
        return keep

    def _ruled_out(self, tests: list[Boxed]) -> Flags:
        assert self.beyond is not None
        return ruled_out(self.problem.form, self.beyond, tests)


def _fails(formula: Formula, atoms: dict[int, Boxed]) -> Flags:
    """Where a formula surely fails."""
    if isinstance(formula, Atom):
        return np.asarray(atoms[id(formula)].lowest > 0.0)
    parts = [_fails(part, atoms) for part in formula.parts]
    if not parts:
        return np.zeros(len(next(iter(atoms.values())).b) if atoms else 1, dtype=bool)
    together = np.logical_or if isinstance(formula, All) else np.logical_and
    return np.asarray(together.reduce(parts))
