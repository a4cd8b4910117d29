"""Every absent edge that data leave free, given growing values: where does the answer reach a target?

An absent edge with a value is a constant in the equations of the graph itself, so all edges are walked together, step
by step along the real line. An edge whose walk ends before the answer is there, at a pole for instance, is left to
``crossings``, which goes round poles.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from halftrek.bottom.arrays import Flags, Floats, Ints
from halftrek.estimation import Fitted
from halftrek.estimation.space import make_space
from halftrek.graphs import Graph
from halftrek.inference.checks.edges.scores import Edges
from halftrek.partial.varied.engine.bracket import Bracket, narrowed
from halftrek.partial.varied.engine.edges import plain
from halftrek.partial.varied.engine.equations import Equations, make_equations, start_of
from halftrek.partial.varied.engine.orders import graphs_of
from halftrek.partial.varied.engine.points import points_of
from halftrek.partial.varied.engine.walk import others, settled, undetermined
from halftrek.partial.varied.engine.within import districts_of, is_large, within
from halftrek.queries import Query

RATIOS = (0.02, 0.08, 0.16, 0.26, 0.38, 0.52, 0.7, 0.95, 1.3, 1.8, 2.6, 4.0, 7.0)  # k: correlations k / sqrt(1 + k²)
SAME = 1e-9  # share of an answer by which rounding moves it
FEW = (0.3, 1.5)  # that show whether an answer moves at all
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


def sweep(fitted: Fitted, query: Query, edges: Edges, target: float, ratios: Sequence[float] = RATIOS) -> Sweep:
    """All edges, some at a time."""
    walks = _Walks.of(fitted)
    places, parts = [np.zeros(0, dtype=np.intp)], []
    for at, system in walks.systems(edges):
        some = max(1, NUMBERS // max(1, 2 * len(system.equations.pairs) * system.equations.size))
        places.append(at)
        parts += [_swept(system, query, piece, target, ratios) for piece in edges.take(at).pieces(some)]
    back = np.argsort(np.concatenate(places))
    return Sweep(
        *(np.concatenate([getattr(part, k) for part in parts] or [np.zeros(0)])[back] for k in Sweep.__annotations__)
    )


def elsewhere(fitted: Fitted) -> Fitted | None:
    """Another model of the graph with the fitted covariance; None if data determine the parameters."""
    walks = _Walks.of(fitted)
    if not walks.flat:
        return None
    for there in others(walks.equations, walks.start, np.zeros((1, 0))):
        points = points_of(walks.equations, there, fitted, walks.graph)
        if points.there[0]:
            return replace(fitted, graph=walks.graph, model=points.model(0, walks.graph))
    return None


@dataclass(frozen=True, eq=False)
class _Walks:
    """What all walks share."""

    fitted: Fitted
    graph: Graph
    equations: Equations
    start: Floats

    @staticmethod
    def of(fitted: Fitted) -> _Walks:
        graph = plain(fitted.graph)
        space = make_space(graph, fitted.model.names, fitted.options)
        equations = make_equations(space, fitted.model.cov, ())
        start = start_of(equations, space, space.vector(fitted.model))
        return _Walks(fitted, graph, equations, start)

    @cached_property
    def flat(self) -> bool:
        """True if the fitted covariance leaves unknowns open."""
        return undetermined(self.equations, self.start)

    def systems(self, edges: Edges) -> Iterator[tuple[Ints, _Walks]]:
        """Places of edges with what they share: of all, or where equations are many of those in the same districts."""
        if self.graph.hidden or not is_large(self.equations):
            yield np.arange(len(edges)), self
            return
        ours = districts_of(self.graph, self.fitted.model.names, self.equations)
        into = ours[edges.second]
        touched = np.sort(np.stack([np.where(edges.arrow, into, ours[edges.first]), into]), axis=0)
        kinds, which = np.unique(touched, axis=1, return_inverse=True)
        for k, both in enumerate(kinds.T):
            equations, start = within(self.equations, self.start, np.isin(ours, both))
            yield np.flatnonzero(which.ravel() == k), replace(self, equations=equations, start=start)

    def units(self, edges: Edges) -> Floats:
        """The values of edges at which their ratio is one, in standard deviations."""
        T, C = (
            self.equations.T.put(self.equations.T0, self.start[None]),
            self.equations.C.put(self.equations.C0, self.start[None]),
        )
        noise = np.sqrt(np.diagonal(self.equations.errors(T, C)[0][0]))
        return np.where(edges.arrow, 1.0, noise[edges.first] * noise[edges.second])

    def raw(self, edges: Edges) -> Floats:
        """What one of these is in the units of the data."""
        sd, i, j = self.equations.sd, edges.first, edges.second
        return np.where(edges.arrow, sd[j] / sd[i], sd[i] * sd[j])

    def with_values(self, edges: Edges, values: Floats) -> Equations:
        """The equations with a value for one edge each."""
        T0 = np.repeat(self.equations.T0[None], len(edges), axis=0)
        W0 = np.repeat(self.equations.W0[None], len(edges), axis=0)
        arrow, arc = np.flatnonzero(edges.arrow), np.flatnonzero(~edges.arrow)
        T0[arrow, edges.first[arrow], edges.second[arrow]] = values[arrow]
        W0[arc, edges.first[arc], edges.second[arc]] = values[arc]
        W0[arc, edges.second[arc], edges.first[arc]] = values[arc]
        return replace(self.equations, T0=T0, W0=W0)


@dataclass(frozen=True, eq=False)
class _Many:
    """Some edges on their walks, to one side each."""

    walks: _Walks
    query: Query
    edges: Edges
    graphs: tuple[tuple[Graph, Ints], ...]

    @staticmethod
    def of(walks: _Walks, query: Query, edges: Edges) -> _Many:
        return _Many(walks, query, edges, graphs_of(walks.graph, walks.fitted.model.names, edges))

    def step(self, at: Ints, values: Floats, z: Floats) -> tuple[Floats, Floats]:
        """From solutions nearby, some edges with their values: solutions and answers, nan where there is none."""
        equations = self.walks.with_values(self.edges.take(at), values)
        there = settled(equations, z, np.zeros((len(at), 0)), self.walks.flat)
        found = np.full(len(at), np.nan)
        points = points_of(equations, there, self.walks.fitted, self.walks.graph)
        for graph, members in self.graphs:
            mine = np.flatnonzero(np.isin(at, members))
            if len(mine):
                found[mine] = replace(points.take(mine), graph=graph).answers(self.query)
        return there, found

    def shares(self, values: Floats, z: Floats) -> Floats:
        """The values as correlations of errors, or as weights in standard deviations."""
        points = points_of(self.walks.with_values(self.edges, values), z, self.walks.fitted, self.walks.graph)
        noise = np.sqrt(np.diagonal(points.W, axis1=1, axis2=2))
        lines, i, j = np.arange(len(self.edges)), self.edges.first, self.edges.second
        sizes = noise[lines, i] * noise[lines, j]
        return np.where(self.edges.arrow, values, values * self.walks.raw(self.edges) / sizes)


def _swept(walks: _Walks, query: Query, edges: Edges, target: float, ratios: Sequence[float]) -> Sweep:
    """Every edge to both sides: the first half of each array is the side of positive values."""
    both = edges.take(np.tile(np.arange(len(edges)), 2))
    unit = walks.units(both) * np.repeat([1.0, -1.0], len(edges))
    many = _Many.of(walks, query, both)
    base = float(points_of(walks.equations, walks.start[None], walks.fitted, walks.graph).answers(query)[0])
    count = len(both)
    z, last, value = np.repeat(walks.start[None], count, axis=0), np.full(count, base - target), np.zeros(count)
    alive, lost = np.ones(count, dtype=bool), np.zeros(count, dtype=bool)
    moved, ended = np.zeros(count), np.full(count, np.inf)
    bracket = Bracket.empty(count, len(walks.start))
    for k in ratios:
        at = np.flatnonzero(alive)
        if not len(at):
            break
        there, found = many.step(at, k * unit[at], z[at])
        f, gone = found - target, np.isnan(found)
        moved[at] = np.fmax(moved[at], np.abs(found - base))
        crossed = ~gone & (f * last[at] <= 0.0)
        here = at[crossed]
        bracket.put(here, value[here], k * unit[here], last[here], f[crossed], z[here])
        ended[at[crossed | gone]], lost[at[gone]], alive[at[crossed | gone]] = k, True, False
        on = at[~gone]
        z[on], last[on], value[on] = there[~gone], f[~gone], k * unit[on]
    root, solution = narrowed(bracket, lambda at, values, near: many.step(at, values, near), target)
    lost |= np.isfinite(bracket.low) & np.isnan(root)  # the sign changed at a pole
    share = many.shares(root, solution)
    if base == target:
        root, share, lost = np.zeros(count), np.zeros(count), np.zeros(count, dtype=bool)
    moves = moved > SAME * (abs(base) + float(np.nanmax(moved, initial=0.0)))
    return _nearer(root * walks.raw(both), share, moves, lost, ended)


def _nearer(value: Floats, share: Floats, moves: Flags, lost: Flags, ended: Floats) -> Sweep:
    """Of the two sides of each edge the one whose value is nearer to zero; lost if the other ended before that."""
    one, other = (np.split(x, 2) for x in (value, share))
    size = np.abs(np.array(other))
    best = np.argmin(np.where(np.isnan(size), np.inf, size), axis=0)
    lines = np.arange(len(best))
    left, end = np.array(np.split(lost, 2)), np.array(np.split(ended, 2))
    gone = left[best, lines] | (left[1 - best, lines] & (end[1 - best, lines] <= end[best, lines]))
    moved, other_side = np.split(moves, 2)
    return Sweep(np.array(one)[best, lines], np.array(other)[best, lines], np.asarray(moved | other_side), gone)
