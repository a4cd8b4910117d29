"""Effects over sets of directed paths: sums of products of legs, with their gradients.

A leg is the effect of one variable on another over all directed paths that go around some others. Direct effects,
total effects, effects through stations and indirect effects are sums of products of legs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from halftrek.arrays import Floats
from halftrek.graphs import Graph
from halftrek.models import CGLSCM, total_effects
from halftrek.queries import DirectEffect, PathEffect, Query, ThroughEffect, TotalEffect


@dataclass(frozen=True)
class Leg:
    """The effect over all directed paths from ``cause`` to ``effect`` that avoid ``around`` (see ``leg``)."""

    cause: str
    effect: str
    around: frozenset[str] = frozenset()


Form = tuple[tuple[float, tuple[Leg, ...]], ...]  # signs and products of legs


@dataclass(frozen=True)
class PathSum:
    """An effect: ``forms`` are expressions that all give it; ``query`` asks for just this, if there is one."""

    forms: tuple[Form, ...]
    query: Query | None = None


def between(graph: Graph, cause: str, effect: str) -> frozenset[str]:
    """Variables on directed paths from cause to effect, the ends not counted."""
    return (graph.descendants(cause) & graph.ancestors(effect)) - {cause, effect}


def leg(graph: Graph, cause: str, effect: str, around: Iterable[str] = ()) -> Leg:
    """The leg, naming only what lies on its paths, so that equal effects are equal legs."""
    return Leg(cause, effect, frozenset(around) & between(graph, cause, effect))


def edges_of(graph: Graph, one: Leg) -> list[tuple[str, str]]:
    """The edges that the leg's paths use."""
    down = _walk(one.cause, one.around, graph.children)
    up = _walk(one.effect, one.around, graph.parents)
    return [(u, v) for u, v in graph.directed if u in down and v in up]


def direct(graph: Graph, cause: str, effect: str) -> PathSum:
    """The edge."""
    one = leg(graph, cause, effect, between(graph, cause, effect))
    return PathSum((((1.0, (one,)),),), DirectEffect(cause, effect))


def total(graph: Graph, cause: str, effect: str) -> PathSum:
    """All directed paths."""
    return PathSum((((1.0, (leg(graph, cause, effect),)),),), TotalEffect(cause, effect))


def through(graph: Graph, stations: Sequence[str]) -> PathSum:
    """All directed paths that visit the stations in this order."""
    legs = tuple(leg(graph, u, v) for u, v in pairwise(stations))
    return PathSum((((1.0, legs),),), ThroughEffect(tuple(stations)))


def along(graph: Graph, path: Sequence[str]) -> PathSum:
    """One path."""
    legs = tuple(leg(graph, u, v, between(graph, u, v)) for u, v in pairwise(path))
    return PathSum((((1.0, legs),),), PathEffect(tuple(path)) if len(path) > 2 else DirectEffect(*path))


def avoiding(graph: Graph, cause: str, effect: str, mediators: Iterable[str]) -> PathSum:
    """All directed paths that visit none of the mediators."""
    whole = between(graph, cause, effect)
    kept = whole & frozenset(mediators)
    if kept == whole:
        return direct(graph, cause, effect)
    return PathSum((((1.0, (leg(graph, cause, effect, kept),)),),), None if kept else TotalEffect(cause, effect))


def only_through(graph: Graph, stations: Sequence[str], mediators: Iterable[str]) -> PathSum:
    """All directed paths that visit the stations in this order and no other mediator."""
    legs = tuple(leg(graph, u, v, mediators) for u, v in pairwise(stations))
    return PathSum((((1.0, legs),),))


def indirect(graph: Graph, cause: str, effect: str, mediators: Iterable[str] | None = None) -> PathSum:
    """All directed paths that visit a mediator (left out: any other variable): total less direct."""
    whole = between(graph, cause, effect)
    kept = whole if mediators is None else whole & frozenset(mediators)
    order = [v for v in graph.topological_order if v in kept]
    rest = leg(graph, cause, effect, kept)
    difference: Form = ((1.0, (leg(graph, cause, effect),)), (-1.0, (rest,)))
    by_first: Form = tuple((1.0, (leg(graph, cause, m, kept), leg(graph, m, effect))) for m in order)
    by_last: Form = tuple((1.0, (leg(graph, cause, m), leg(graph, m, effect, kept))) for m in order)
    if not edges_of(graph, rest):
        return PathSum((*total(graph, cause, effect).forms, by_first, by_last), TotalEffect(cause, effect))
    return PathSum((difference, by_first, by_last))


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
        return float(self.model.T[i, j] if self._is_edge(one) else self.effects(one.around)[i, j])

    def slope(self, one: Leg) -> Floats:
        """Derivatives in T."""
        i, j = self.place[one.cause], self.place[one.effect]
        if self._is_edge(one):
            slope = np.zeros_like(self.model.T)
            slope[i, j] = 1.0
            return slope
        B = self.effects(one.around)
        slope = np.outer(B[i], B[:, j])
        slope[:, [self.place[v] for v in one.around]] = 0.0
        return slope

    def estimate(self, effect: PathSum) -> float:
        """The effect."""
        return float(sum(sign * np.prod([self.value(one) for one in legs]) for sign, legs in effect.forms[0]))

    def gradient(self, effect: PathSum) -> Floats:
        """Its derivatives in T."""
        slope = np.zeros_like(self.model.T)
        for sign, legs in effect.forms[0]:
            values = [self.value(one) for one in legs]
            for k, one in enumerate(legs):
                slope += sign * float(np.prod(values[:k] + values[k + 1 :])) * self.slope(one)
        return slope

    def _is_edge(self, one: Leg) -> bool:
        return one.around == self._between(one.cause, one.effect)

    def _between(self, cause: str, effect: str) -> frozenset[str]:
        key = (cause, effect)
        if key not in self._gaps:
            self._gaps[key] = between(self.model.graph, cause, effect)
        return self._gaps[key]

    @cached_property
    def _gaps(self) -> dict[tuple[str, str], frozenset[str]]:
        return {}


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
        if one.around == between(self.graph, one.cause, one.effect):
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
