"""Effects over sets of directed paths: sums of products of legs, with their gradients.

A leg is the effect of one variable on another over all directed paths that go around some others. Direct effects,
total effects, effects through stations and indirect effects are sums of products of legs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from math import prod
from typing import overload

import numpy as np

from halftrek.bottom.arrays import Floats, Ints
from halftrek.graphs import Graph
from halftrek.graphs.reach import reach_of
from halftrek.models import CGLSCM, total_effects
from halftrek.queries import DirectEffect, PathEffect, Query, ThroughEffect, TotalEffect


@dataclass(frozen=True)
class Leg:
    """The effect over all directed paths from ``cause`` to ``effect`` that avoid ``around`` (see ``leg``).

    ``edge``: they avoid everything, so that only the edge is left; ``around`` is then not written out.
    """

    cause: str
    effect: str
    around: frozenset[str] = frozenset()
    edge: bool = False


Form = tuple[tuple[float, tuple[Leg, ...]], ...]  # signs and products of legs


@dataclass(frozen=True)
class PathSum:
    """An effect: ``forms`` are expressions that all give it; ``query`` asks for just this, if there is one."""

    forms: Sequence[Form]
    query: Query | None = None


def between(graph: Graph, cause: str, effect: str) -> frozenset[str]:
    """Variables on directed paths from cause to effect, the ends not counted."""
    reach = reach_of(graph)
    return frozenset(reach.names(reach.inside(cause, effect)))


def edge_leg(cause: str, effect: str) -> Leg:
    """The edge alone, which is nothing where there is none."""
    return Leg(cause, effect, edge=True)


def leg(graph: Graph, cause: str, effect: str, around: Collection[str] = ()) -> Leg:
    """The leg, naming only what lies on its paths, so that equal effects are equal legs."""
    reach = reach_of(graph)
    inside = reach.inside(cause, effect)
    kept = inside & reach.bits(around) if around else 0
    if kept == inside:
        return edge_leg(cause, effect)
    return Leg(cause, effect, frozenset(reach.names(kept))) if kept else Leg(cause, effect)


def around_of(graph: Graph, one: Leg) -> frozenset[str]:
    """The variables that a leg's paths avoid."""
    return between(graph, one.cause, one.effect) if one.edge else one.around


def edge_bits(graph: Graph, one: Leg) -> int:
    """The edges that the leg's paths use, as bits in the order of the graph."""
    reach = reach_of(graph)
    if one.edge:
        return reach.edge(one.cause, one.effect)
    if not one.around:
        return reach.edges_between(one.cause, one.effect)
    down = _walk(one.cause, one.around, graph.children)
    up = _walk(one.effect, one.around, graph.parents)
    return sum(1 << k for k, (u, v) in enumerate(graph.directed) if u in down and v in up)


def edges_of(graph: Graph, one: Leg) -> list[tuple[str, str]]:
    """The edges that the leg's paths use."""
    return reach_of(graph).edges_of(edge_bits(graph, one))


def direct(cause: str, effect: str) -> PathSum:
    """The edge."""
    return PathSum((((1.0, (edge_leg(cause, effect),)),),), DirectEffect(cause, effect))


def total(graph: Graph, cause: str, effect: str) -> PathSum:
    """All directed paths."""
    return PathSum((((1.0, (leg(graph, cause, effect),)),),), TotalEffect(cause, effect))


def through(graph: Graph, stations: Sequence[str]) -> PathSum:
    """All directed paths that visit the stations in this order."""
    legs = tuple(leg(graph, u, v) for u, v in pairwise(stations))
    return PathSum((((1.0, legs),),), ThroughEffect(tuple(stations)))


def along(path: Sequence[str]) -> PathSum:
    """One path."""
    legs = tuple(edge_leg(u, v) for u, v in pairwise(path))
    return PathSum((((1.0, legs),),), PathEffect(tuple(path)) if len(path) > 2 else DirectEffect(*path))


def avoiding(graph: Graph, cause: str, effect: str, mediators: Iterable[str]) -> PathSum:
    """All directed paths that visit none of the mediators."""
    whole = between(graph, cause, effect)
    kept = whole & frozenset(mediators)
    if kept == whole:
        return direct(cause, effect)
    return PathSum((((1.0, (leg(graph, cause, effect, kept),)),),), None if kept else TotalEffect(cause, effect))


def only_through(graph: Graph, stations: Sequence[str], mediators: Collection[str]) -> PathSum:
    """All directed paths that visit the stations in this order and no other mediator."""
    legs = tuple(leg(graph, u, v, mediators) for u, v in pairwise(stations))
    return PathSum((((1.0, legs),),))


def indirect(graph: Graph, cause: str, effect: str, mediators: Iterable[str] | None = None) -> PathSum:
    """All directed paths that visit a mediator (left out: any other variable): total less direct."""
    if mediators is None:
        kept, rest = None, edge_leg(cause, effect)
    else:
        kept = between(graph, cause, effect) & frozenset(mediators)
        rest = leg(graph, cause, effect, kept)
    whole = TotalEffect(cause, effect) if not edge_bits(graph, rest) else None
    return PathSum(IndirectForms(cause, effect, kept, rest if whole is None else None, graph), whole)


@dataclass(frozen=True)
class IndirectForms(Sequence[Form]):
    """The forms of an indirect effect, each written out when it is asked for: most never are.

    The total less the ``rest`` (None: there is none), then by the first mediator on a path, and by the last one.
    ``kept`` are the mediators; None: all there are.
    """

    cause: str
    effect: str
    kept: frozenset[str] | None
    rest: Leg | None
    graph: Graph = field(compare=False, repr=False)

    def __len__(self) -> int:
        return 3

    @overload
    def __getitem__(self, index: int) -> Form: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Form]: ...

    def __getitem__(self, index: int | slice) -> Form | Sequence[Form]:
        if isinstance(index, slice):
            return tuple(self[k] for k in range(*index.indices(3)))
        if not -3 <= index < 3:
            raise IndexError(index)
        graph, ends = self.graph, (self.cause, self.effect)
        if index % 3 == 0:
            return self._less_rest
        kept = between(graph, *ends) if self.kept is None else self.kept
        order = [v for v in graph.topological_order if v in kept]
        if index % 3 == 1:
            return tuple((1.0, (leg(graph, self.cause, m, kept), leg(graph, m, self.effect))) for m in order)
        return tuple((1.0, (leg(graph, self.cause, m), leg(graph, m, self.effect, kept))) for m in order)

    @cached_property
    def _less_rest(self) -> Form:
        """The first form: the one that is asked for again, for the number and for its gradient."""
        whole: Form = ((1.0, (leg(self.graph, self.cause, self.effect),)),)
        return whole if self.rest is None else (*whole, (-1.0, (self.rest,)))


@dataclass(frozen=True, eq=False)
class Weights:
    """Effects over paths in one model."""

    model: CGLSCM

    @cached_property
    def place(self) -> dict[str, int]:
        return {v: i for i, v in enumerate(self.model.names)}

    @cached_property
    def _inverses(self) -> dict[frozenset[str], Floats]:
        return {frozenset(): self.model.B}

    def effects(self, around: frozenset[str]) -> Floats:
        """Effects of every variable on every other, over paths that avoid some."""
        if around not in self._inverses:
            T = self.model.T.copy()
            T[:, [self.place[v] for v in around]] = 0.0
            self._inverses[around] = total_effects(T)
        return self._inverses[around]

    def value(self, one: Leg) -> float:
        i, j = self.place[one.cause], self.place[one.effect]
        return float(self.model.T[i, j] if one.edge else self.effects(one.around)[i, j])

    @cached_property
    def ends(self) -> tuple[Ints, Ints]:
        """Where each edge of the graph begins and ends."""
        pairs = [(self.place[u], self.place[v]) for u, v in self.model.graph.directed]
        tails, heads = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
        return tails, heads

    @cached_property
    def _number(self) -> dict[tuple[str, str], int]:
        return {edge: k for k, edge in enumerate(self.model.graph.directed)}

    @cached_property
    def _halves(self) -> tuple[Floats, Floats]:
        """The effect of each variable on the tail of each edge, and that of its head on each variable."""
        tails, heads = self.ends
        return self.model.B[:, tails], np.ascontiguousarray(self.model.B[heads].T)

    def slope(self, one: Leg) -> Floats:
        """Derivatives in the weight of each edge."""
        tails, heads = self.ends
        if one.edge:
            slope = np.zeros(len(tails))
            at = self._number.get((one.cause, one.effect))
            if at is not None:
                slope[at] = 1.0
            return slope
        i, j = self.place[one.cause], self.place[one.effect]
        if not one.around:
            before, after = self._halves
            return np.asarray(before[i] * after[j])
        B = self.effects(one.around)
        slope = np.asarray(B[i][tails] * B[:, j][heads])
        slope[np.isin(heads, [self.place[v] for v in one.around])] = 0.0
        return slope

    def estimate(self, effect: PathSum) -> float:
        """The effect."""
        return float(sum(sign * prod(self.value(one) for one in legs) for sign, legs in effect.forms[0]))

    def gradient(self, effect: PathSum) -> Floats:
        """Its derivatives in the weight of each edge."""
        slope = np.zeros(len(self.ends[0]))
        for sign, legs in effect.forms[0]:
            if len(legs) == 1:
                slope += self.slope(legs[0]) if sign == 1.0 else sign * self.slope(legs[0])
                continue
            values = [self.value(one) for one in legs]
            for k, one in enumerate(legs):
                slope += sign * prod(values[:k] + values[k + 1 :]) * self.slope(one)
        return slope


@dataclass(frozen=True, eq=False)
class ManyWeights:
    """Effects over paths in many models of one graph: values alone, the first axis of ``T`` counting the models."""

    T: Floats
    names: tuple[str, ...]
    graph: Graph

    @cached_property
    def _inverses(self) -> dict[frozenset[str], Floats]:
        return {}

    def value(self, one: Leg) -> Floats:
        i, j = self.names.index(one.cause), self.names.index(one.effect)
        if one.edge:
            return np.asarray(self.T[:, i, j])
        if one.around not in self._inverses:
            T = self.T.copy()
            T[:, :, [self.names.index(v) for v in one.around]] = 0.0
            self._inverses[one.around] = total_effects(T)
        return np.asarray(self._inverses[one.around][:, i, j])

    def estimate(self, effect: PathSum) -> Floats:
        """The effect in each model."""
        parts = [sign * np.prod([self.value(one) for one in legs], axis=0) for sign, legs in effect.forms[0]]
        return np.asarray(np.sum(parts, axis=0))


def _walk(start: str, around: frozenset[str], near) -> set[str]:  # type: ignore[no-untyped-def]
    found, waiting = {start}, [start]
    while waiting:
        for v in near(waiting.pop()):
            if v not in found and v not in around:
                found.add(v)
                waiting.append(v)
    return found
