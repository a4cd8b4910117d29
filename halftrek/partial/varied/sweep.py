"""Every absent edge that data leave free, given growing values: where does the answer reach a target?

An absent edge with a value is a constant in the equations of the graph itself, so all edges are walked together, step
by step along the real line. An edge whose walk ends before the answer is there, at a pole for instance, is left to
``crossings``, which goes round poles.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from halftrek.arrays import Flags, Floats
from halftrek.estimation import Fitted
from halftrek.estimation.space import make_space
from halftrek.graphs import Graph
from halftrek.inference.checks.scores import Edges
from halftrek.partial.varied.edges import plain
from halftrek.partial.varied.equations import Equations, make_equations, start_of
from halftrek.partial.varied.points import Points, points_of
from halftrek.partial.varied.walk import settled, undetermined
from halftrek.queries import Query

RATIOS = (0.02, 0.08, 0.16, 0.26, 0.38, 0.52, 0.7, 0.95, 1.3, 1.8, 2.6, 4.0, 7.0)  # k: correlations k / sqrt(1 + k²)
SAME = 1e-9  # share of an answer by which rounding moves it
NUMBERS = 3_000_000  # derivatives that are held at a time


@dataclass(frozen=True, eq=False)
class Sweep:
    """For each edge: the value nearest to zero at which the answer is the target; nan where none was found.

    ``share`` is the same as a correlation of errors, or as a weight in standard deviations. ``moves`` tells edges along
    which the answer changes at all, ``lost`` those whose walk ended early.
    """

    value: Floats
    share: Floats
    moves: Flags
    lost: Flags


@dataclass(frozen=True, eq=False)
class Sweeper:
    """What all walks share."""

    fitted: Fitted
    query: Query
    graph: Graph
    equations: Equations
    start: Floats
    flat: bool

    @staticmethod
    def of(fitted: Fitted, query: Query) -> Sweeper:
        """The walks of a fit."""
        graph = plain(fitted.graph)
        space = make_space(graph, fitted.model.names, fitted.options)
        equations = make_equations(space, fitted.model.cov, ())
        start = start_of(equations, space, space.vector(fitted.model))
        return Sweeper(fitted, query, graph, equations, start, undetermined(equations, start))

    def units(self, edges: Edges) -> Floats:
        """The values of edges at which the ratio is one, in standard deviations."""
        T, C = (e.put(c, self.start[None]) for e, c in ((self.equations.T, self.equations.T0), (self.equations.C, self.equations.C0)))
        noise = np.sqrt(np.diagonal(self.equations.errors(T, C)[0][0]))
        return np.where(edges.arrow, 1.0, noise[edges.first] * noise[edges.second])

    def step(self, edges: Edges, values: Floats, z: Floats) -> Floats:
        """Solutions in which each edge has its value, from solutions nearby."""
        T0 = np.repeat(self.equations.T0[None], len(edges), axis=0)
        W0 = np.repeat(self.equations.W0[None], len(edges), axis=0)
        line, i, j, arrow = np.arange(len(edges)), edges.first, edges.second, edges.arrow
        T0[line[arrow], i[arrow], j[arrow]] = values[arrow]
        W0[line[~arrow], i[~arrow], j[~arrow]] = W0[line[~arrow], j[~arrow], i[~arrow]] = values[~arrow]
        return settled(replace(self.equations, T0=T0, W0=W0), z, np.zeros((len(edges), 0)), self.flat)


def sweep(fitted: Fitted, query: Query, edges: Edges, target: float) -> Sweep:
    """All edges, some at a time."""
    walks = Sweeper.of(fitted, query)
    equations = len(walks.equations.pairs)
    some = max(1, NUMBERS // max(1, 2 * equations * walks.equations.size))
    parts = [_swept(walks, piece, target) for piece in edges.pieces(some)]
    names = ("value", "share", "moves", "lost")
    return Sweep(*(np.concatenate([getattr(part, name) for part in parts]) if parts else np.zeros(0) for name in names))


def _swept(walks: Sweeper, edges: Edges, target: float) -> Sweep:
    """Every edge to both sides: the first half of each array is the side of positive values."""
    both = edges.take(np.tile(np.arange(len(edges)), 2))
    unit = walks.units(both) * np.repeat([1.0, -1.0], len(edges))
    read = Reader(walks, both)
    base = float(walks.answers(walks.graph, walks.start[None])[0])
    z = np.repeat(walks.start[None], len(both), axis=0)
    last, value = np.full(len(both), base - target), np.zeros(len(both))
    alive, lost = np.full(len(both), base != target), np.zeros(len(both), dtype=bool)
    low = high = np.full(len(both), np.nan)
    z_low, f_low, f_high = z.copy(), last.copy(), last.copy()
    moved, ratio = np.zeros(len(both)), np.full(len(both), np.inf)
    for k in RATIOS:
        at = np.flatnonzero(alive)
        if not len(at):
            break
        there = walks.step(both.take(at), k * unit[at], z[at])
        f = read.answers(at, there) - target
        gone = np.isnan(f)
        moved[at] = np.fmax(moved[at], np.abs(f - last[at]))
        crossed = ~gone & (f * last[at] <= 0.0)
        here = at[crossed]
        low, high = _put(low, here, value[here]), _put(high, here, k * unit[here])
        z_low[here], f_low[here], f_high[here] = z[here], last[here], f[crossed]
        ratio[at[crossed | gone]] = k
        lost[at[gone]], alive[at[crossed | gone]] = True, False
        on = at[~gone]
        z[on], last[on], value[on] = there[~gone], f[~gone], k * unit[on]
    found, models = _refined(walks, read, low, high, z_low, f_low, f_high, target, base)
    lost |= np.isfinite(low) & np.isnan(found)  # the sign changed at a pole
    share = read.shares(models, found)
    if base == target:
        found, share = np.zeros(len(both)), np.zeros(len(both))
    return _nearer(edges, read.raw(found), share, moved > SAME * (abs(base) + np.abs(moved).max(initial=0.0)), lost, ratio)
