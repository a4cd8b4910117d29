"""Proof that no model lies beyond an end: branch and bound over boxes of the free coordinates.

The space is cut into boxes, also ones that reach to infinity. A box is done with if some claim fails everywhere in it,
or if the answer stays on this side of the end everywhere in it. Others are halved. The last test is sharpest with the
claims that bind at the end added in, each times its multiplier (``g <= 0`` only helps): near the end that sum is flat,
so that its enclosure on a small box is tight, and few boxes are looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from halftrek.bottom.arrays import Flags, Floats, Ints
from halftrek.models.kernels import quiet
from halftrek.partial.exact.compiled import Compiled
from halftrek.partial.exact.conditions import All, Atom, Formula
from halftrek.partial.sets.proof.bernstein import Boxed
from halftrek.partial.sets.proof.beyond import Beyond, goal_of, is_told, joined, ruled_out, scaled, tests_of
from halftrek.partial.sets.proof.charts import Chart, charts_of
from halftrek.partial.sets.search import Problem

_MOST_BOXES = (30_000, 200_000)  # at first, and where that is not enough
_AT_ONCE = 4_000
_NARROW = 1e-13  # of a box that cannot be decided


@dataclass(frozen=True, eq=False)
class Outcome:
    """``proved``, or points of boxes that are left (``(k, d)``)."""

    proved: bool
    boxes: int
    left: Floats


@dataclass(frozen=True, eq=False)
class _Batch:
    """Boxes, in [0, 1], with the polynomials over them: claims by the id of their atoms, tests, and the mixture."""

    corner: Floats
    width: Floats
    atoms: dict[int, Boxed]
    tests: list[Boxed]
    mixed: Boxed | None

    def only(self, keep: Flags | slice) -> _Batch:
        """Some of the boxes."""
        return _Batch(
            self.corner[keep],
            self.width[keep],
            {key: boxed.only(keep) for key, boxed in self.atoms.items()},
            [boxed.only(keep) for boxed in self.tests],
            None if self.mixed is None else self.mixed.only(keep),
        )

    def halved(self, axis: int) -> _Batch:
        """All boxes cut in two across an axis."""
        half = self.width.copy()
        half[:, axis] /= 2.0
        moved = self.corner.copy()
        moved[:, axis] += half[:, axis]
        return _Batch(
            np.concatenate([self.corner, moved]),
            np.concatenate([half, half]),
            {key: boxed.halved(axis) for key, boxed in self.atoms.items()},
            [boxed.halved(axis) for boxed in self.tests],
            None if self.mixed is None else self.mixed.halved(axis),
        )

    def axes(self) -> Ints:
        """Across which axis to cut each box: where the polynomial varies most that is nearest to deciding it."""
        nearest = np.full(len(self.corner), np.inf)
        widest = np.argmax(self.width, axis=1)
        found = widest.copy()
        candidates = [(boxed, -boxed.lowest) for boxed in self.atoms.values()]
        if self.mixed is not None:
            candidates.append((self.mixed, self.mixed.highest))
        for boxed, missing in candidates:
            varies = boxed.variation()
            size = varies.sum(axis=1)
            with quiet():
                share = np.where(size > 0.0, missing / size, np.inf)
            better = (missing > 0.0) & (share < nearest)
            nearest = np.where(better, share, nearest)
            found = np.where(better, np.argmax(varies, axis=1), found)
        narrow = self.width[np.arange(len(found)), found] < 1e-6 * self.width.max(axis=1)
        return np.asarray(np.where(narrow, widest, found))


def prove(problem: Problem, beyond: Beyond | None, *, quick: bool = False) -> Outcome:
    """Try to show that no point where the claims hold lies beyond; None: that no point is there at all.

    Far out boxes are directions, of the coordinates of a column together or of each by itself: along a ridge that runs
    to infinity in one of them, boxes close only in the second way. ``quick``: not with many boxes.
    """
    few, many = _MOST_BOXES
    alone = tuple(range(problem.dimension))
    outcome = _tried(problem, beyond, problem.columns, few)
    seen, narrow = outcome.boxes, outcome.boxes <= few  # more boxes help only where these have run out
    open_ones = ~np.isfinite(problem.low) | ~np.isfinite(problem.high)
    shared = len({problem.columns[k] for k in np.flatnonzero(open_ones)}) < int(open_ones.sum())
    for columns, most, hopeful in ((alone, few, shared), (problem.columns, many, not narrow and not quick)):
        if not outcome.proved and hopeful:
            outcome = _tried(problem, beyond, columns, most)
            seen += outcome.boxes
    return Outcome(outcome.proved, seen, outcome.left)


def _tried(problem: Problem, beyond: Beyond | None, columns: Sequence[int], most: int) -> Outcome:
    seen = 0
    for chart in charts_of(problem.low, problem.high, columns):
        room = _Room(problem, beyond, chart)
        seen += room.search(most - seen)
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
        if beyond is not None:
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
        start = _Batch(np.zeros((1, self.d)), np.ones((1, self.d)), self.start, self.tests, self.mixed)
        stack = [start]
        seen = 0
        while stack:
            batch = stack.pop()
            seen += len(batch.corner)
            keep = self._undecided(batch)
            if not keep.any():
                continue
            batch = batch.only(keep)
            if seen > most or float(batch.width.max(axis=1).min()) < _NARROW:
                self.open = self.chart.points(batch.corner + 0.5 * batch.width)
                return seen
            axes = batch.axes()
            for axis in dict.fromkeys(axes.tolist()):
                halves = batch.only(axes == axis).halved(axis)
                stack += [halves.only(slice(k, k + _AT_ONCE)) for k in range(0, len(halves.corner), _AT_ONCE)]
        return seen

    def _undecided(self, batch: _Batch) -> Flags:
        atoms, tests, mixed = batch.atoms, batch.tests, batch.mixed
        keep = np.ones(len(batch.corner), dtype=bool)
        for formula in self.problem.claims.formulas:
            keep &= ~_fails(formula, atoms)
        if self.beyond is None:
            return keep
        keep &= ~ruled_out(self.problem.form, self.beyond, tests)
        if mixed is not None:
            flat = (mixed.highest <= 0.0) & is_told(self.problem.form, self.beyond, tests)
            for multiplier in self.beyond.multipliers:
                for other in multiplier.unless:
                    flat &= _fails(other, atoms)
            keep &= ~flat
        return keep


def _fails(formula: Formula, atoms: dict[int, Boxed]) -> Flags:
    """Where a formula surely fails."""
    if isinstance(formula, Atom):
        return np.asarray(atoms[id(formula)].lowest > 0.0)
    parts = [_fails(part, atoms) for part in formula.parts]
    if not parts:  # nothing is asked for
        return np.zeros(1, dtype=bool)
    together = np.logical_or if isinstance(formula, All) else np.logical_and
    return np.asarray(together.reduce(parts))
