"""Conditions that independent errors obey: functions of one error and functions of the other do not covary.

For errors ``e_u`` and ``e_v``, each in units of its own spread, ``Cov(f_i(e_u), f_j(e_v)) = 0`` for f the tanh, the
bell ``exp(-e²/2)``, and the error itself: nine conditions for each pair. Location and scale may be estimated, for under
independence no condition moves with them to first order. ``J(a) = g' M^-1 g`` with the sums g and their spread M at the
same weights ``a`` of arrows (the continuously updated GMM of Hansen, Heaton and Yaron 1996).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from halftrek.bottom.arrays import Floats, Ints
from halftrek.graphs import Graph
from halftrek.inference.evidence.held_rows import HeldRows

FUNCTIONS = 3
CONDITIONS = FUNCTIONS**2  # for each pair of errors
AROUND = 12
Arrow = tuple[str, str]
_FLOOR = 1e-12  # added to the correlations of conditions, so that two that are one and the same do no harm


@dataclass(frozen=True, eq=False)
class Conditions:
    """Equations of some variables, and the pairs of them whose errors are independent.

    ``arrows`` have weights that are not given; ``numbers`` says which weights are one and the same. Free weights are in
    units of standard deviations, see ``to_raw``.
    """

    rows: HeldRows
    graph: Graph
    equations: tuple[str, ...]
    pairs: tuple[Arrow, ...]

    @property
    def count(self) -> int:
        """How many conditions there are."""
        return CONDITIONS * len(self.pairs)

    @cached_property
    def arrows(self) -> tuple[Arrow, ...]:
        """Arrows into the equations' variables whose weights are not given."""
        given = {(e.first, e.second) for e, x in self.graph.known.items() if isinstance(x, float)}
        return tuple((p, v) for v in self.equations for p in self.graph.parents(v) if (p, v) not in given)

    @cached_property
    def numbers(self) -> Ints:
        """The place of each arrow's weight among the weights; arrows that share a label share it."""
        labels = {(e.first, e.second): x for e, x in self.graph.known.items() if isinstance(x, str)}
        seen: dict[object, int] = {}
        return np.array([seen.setdefault(labels.get(arrow, arrow), len(seen)) for arrow in self.arrows], dtype=int)

    @property
    def unknowns(self) -> int:
        """How many weights are free."""
        return int(self.numbers.max(initial=-1)) + 1

    @cached_property
    def _units(self) -> Floats:
        """What an arrow's weight is multiplied by to be in units of standard deviations."""
        spread = dict(zip(self.rows.names, self.rows.spreads, strict=True))
        return np.array([spread[p] / spread[v] for p, v in self.arrows])

    @cached_property
    def unit(self) -> Floats:
        """The same for each free weight: of arrows with one label that of the first."""
        first = np.unique(self.numbers, return_index=True)[1]
        return self._units[first]

    def from_raw(self, weights: Floats) -> Floats:
        """Weights of the arrows, in the units of the data, as free weights."""
        first = np.unique(self.numbers, return_index=True)[1]
        return np.asarray(weights[first] * self._units[first])

    def to_raw(self, free: Floats) -> Floats:
        """The weight of each arrow in the units of the data."""
        return np.asarray((free / self.unit)[self.numbers])

    @cached_property
    def _fixed(self) -> Floats:
        """What each error is a sum of, before the free weights: a row for each column of the rows."""
        place = {v: i for i, v in enumerate(self.rows.names)}
        found = np.zeros((len(place), len(self.equations)))
        for j, v in enumerate(self.equations):
            found[place[v], j] = 1.0
        for e, x in self.graph.known.items():
            if isinstance(x, float) and e.kind == "->" and e.first in place and e.second in self.equations:
                ratio = self.rows.spreads[place[e.first]] / self.rows.spreads[place[e.second]]
                found[place[e.first], self.equations.index(e.second)] -= x * ratio
        return found

    @cached_property
    def _places(self) -> tuple[list[int], list[int]]:
        place = {v: i for i, v in enumerate(self.rows.names)}
        return [place[p] for p, _ in self.arrows], [self.equations.index(v) for _, v in self.arrows]

    @cached_property
    def _columns(self) -> tuple[Ints, Floats]:
        """The columns of the rows that errors are made of, and their values, a line for each."""
        used = np.asarray(self._fixed.any(axis=1))
        used[self._places[0]] = True
        return np.flatnonzero(used), np.ascontiguousarray(self.rows.values[:, used].T)

    @cached_property
    def _sides(self) -> tuple[list[int], list[int]]:
        at = self.equations.index
        return [at(u) for u, _ in self.pairs], [at(v) for _, v in self.pairs]

    @cached_property
    def _room(self) -> tuple[Floats, Floats]:
        """Functions of errors and products of them: new memory of this size costs more than to write to it again."""
        n = len(self.rows.values)
        return np.empty((len(self.equations), FUNCTIONS, n)), np.empty((self.count, n))

    def errors(self, free: Floats) -> Floats:
        """The errors of all equations, centred, in units of their spread."""
        mix = self._fixed.copy()
        mix[self._places] -= self.to_raw(free) * self._units
        used, columns = self._columns
        found = (mix[used].T @ columns).T  # each error in one stretch of memory
        spread = np.sqrt(np.maximum(self.rows.average(found**2), 1e-300))
        return np.asarray(found / spread)

    def residuals(self, free: Floats) -> Floats:
        """The conditions, each in units of its chance variation and free of the others: J is the sum of squares."""
        from scipy.linalg.lapack import dtrtrs  # what solve_triangular calls: checks cost more than nine equations

        sums, spread = self.rows.sums(self.products(free))
        size = np.sqrt(np.maximum(np.diag(spread), 1e-300))
        root = np.linalg.cholesky(spread / np.outer(size, size) + _FLOOR * np.eye(len(size)))
        return np.asarray(dtrtrs(root, sums / size, lower=True)[0])

    def products(self, free: Floats) -> Floats:
        """What each row adds to each condition; the next call writes over it."""
        errors = self.errors(free)
        features, found = self._room
        for k, function in enumerate((np.tanh(errors), np.exp(-0.5 * errors**2), errors)):
            np.subtract(function.T, self.rows.average(function)[:, None], out=features[:, k])
        for k, (u, v) in enumerate(zip(*self._sides, strict=True)):
            for i in range(FUNCTIONS):
                start = CONDITIONS * k + FUNCTIONS * i
                np.multiply(features[u, i], features[v], out=found[start : start + FUNCTIONS])
        return found.T

    def statistic(self, free: Floats) -> float:
        """J at these weights."""
        return float((self.residuals(free) ** 2).sum())

    def starts(self, fitted: Floats) -> Iterator[Floats]:
        """Where to begin: at the fitted weights, at regressions, at nothing, and at places all around."""
        yield self.from_raw(fitted)
        yield self._regressions()
        yield np.zeros(self.unknowns)
        yield from np.tan(np.random.default_rng(0).uniform(-1.5, 1.5, (AROUND, self.unknowns)))

    def _regressions(self) -> Floats:
        found = np.zeros(self.unknowns)
        place = {v: i for i, v in enumerate(self.rows.names)}
        for v in self.equations:
            mine = [(k, place[p]) for k, (p, w) in zip(self.numbers, self.arrows, strict=True) if w == v]
            if mine:
                columns = self.rows.values[:, [at for _, at in mine]]
                found[[k for k, _ in mine]] = np.linalg.lstsq(columns, self.rows.values[:, place[v]], rcond=None)[0]
        return found
