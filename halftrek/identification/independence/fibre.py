"""All linear models that share one distribution, when errors without an arc between them are independent.

Tramontano, Drton and Etesami (2024): errors are not normal, and confounding may have any form. The error of ``v`` may
be exchanged for ``e_v - sum c_a e_a`` without harm to any independence if the sum runs over ancestors ``a`` whose
siblings are all siblings of ``v``: whatever is independent of ``e_v`` is then independent of each of these. The
weights of the arrows into ``v`` move by ``w = (I - T) c``: a number for each parent, with ``B[R, pa(v)] w = 0``, where
``R`` are the other ancestors. Each equation moves on its own, so that the models are a product of such spaces.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from halftrek.graphs import Graph, written
from halftrek.identification.local.jacobian import random_point
from halftrek.identification.local.parameters import Parameters, Point, parameters_of
from halftrek.identification.numbers.fields import Reals
from halftrek.identification.numbers.modular import PRIMES, PrimeField

if TYPE_CHECKING:
    from halftrek.identification.numbers.fields import Array
    from halftrek.identification.numbers.modular import Ints

Arrow = tuple[str, str]


def with_any_confounding(graph: Graph) -> Graph:
    """The graph whose hidden causes are arcs, which may stand for dependence of any form; given weights stay."""
    arcs = {frozenset(pair) for pair in graph.bidirected}
    for kids in graph.latents.values():
        arcs |= {frozenset(pair) for pair in combinations(kids, 2)}
    order = graph.topological_order
    pairs = [(u, v) for u, v in combinations(order, 2) if frozenset((u, v)) in arcs]
    given = {e: x for e, x in graph.known.items() if isinstance(x, float) and e.kind == "->" and e.first in graph}
    return Graph(graph.directed, pairs, {}, graph.observed, written(given))


def says_more(graph: Graph) -> bool:
    """True if ``with_any_confounding`` leaves out something that is assumed: a refusal is not the last word then."""
    wide = any(len(kids) > 2 for kids in graph.latents.values())
    return wide or any(isinstance(x, str) or e.kind == "<->" or e.first not in graph for e, x in graph.known.items())


def telling_ancestors(graph: Graph, v: str) -> tuple[str, ...]:
    """``R``: ancestors that the error of ``v`` cannot be mixed with, for something would then depend on it."""
    mine, above = {v, *graph.spouses(v)}, graph.ancestors(v)
    return tuple(a for a in graph.topological_order if a in above and not {a, *graph.spouses(a)} <= mine)


def tellers(graph: Graph, v: str) -> tuple[str, ...]:
    """Variables whose errors would depend on that of ``v``, were its weights others: no siblings, and next to ``R``."""
    mine = {v, *graph.spouses(v)}
    near = {s for a in telling_ancestors(graph, v) for s in (a, *graph.spouses(a))}
    return tuple(s for s in graph.topological_order if s in near - mine)


@dataclass(frozen=True, eq=False)
class Fibre:
    """The models of a graph that share one distribution, modulo a prime or in floating point.

    ``labels`` names arrows that have one weight in common: where one of them is determined, all are.
    """

    graph: Graph  # without hidden causes and labels, see ``with_any_confounding``
    labels: dict[Arrow, str]

    @cached_property
    def table(self) -> Parameters:
        """The free parameters."""
        return parameters_of(self.graph)

    @cached_property
    def known(self) -> frozenset[Arrow]:
        """Arrows whose weights the distribution determines; True only where two points modulo two primes agree."""
        given = {(e.first, e.second) for e in self.graph.known}
        while True:
            kernels = [self._kernels(self._at(number), given) for number in (0, 1)]
            found = given | {(p, v) for p, v in self.graph.directed if all(_stays(kernel, p, v) for kernel in kernels)}
            named = {self.labels[arrow] for arrow in found if arrow in self.labels}
            found |= {arrow for arrow, label in self.labels.items() if label in named}
            if found == given:
                return frozenset(found)
            given = found

    def _at(self, number: int) -> Point:
        return random_point(self.table, PrimeField(PRIMES[number]), 401 + number)

    def _kernels(self, point: Point, given: Collection[Arrow]) -> dict[str, tuple[tuple[str, ...], Ints]]:
        """For each variable the parents whose weights are free, and the directions in which these move."""
        field = point.field
        assert isinstance(field, PrimeField)
        names = self.graph.topological_order
        place = {v: i for i, v in enumerate(names)}
        total = field.total_effects(point.matrices(names)[0])
        found = {}
        for v in names:
            free = tuple(p for p in self.graph.parents(v) if (p, v) not in given)
            if not free:
                continue
            rows = [place[a] for a in telling_ancestors(self.graph, v)]
            effects = total[np.ix_(rows, [place[p] for p in free])]
            found[v] = (free, field.null_space(effects) if rows else np.eye(len(free), dtype=np.int64))
        return found

    def moved(self, number: int, seed: int) -> tuple[Point, Point]:
        """A random point modulo a prime, and another one with the same distribution."""
        point = self._at(number)
        field = PrimeField(PRIMES[number])
        rng = np.random.default_rng(seed)
        weights: dict[Arrow, int] = {}
        for v, (free, kernel) in self._kernels(point, self.known).items():
            steps = field.matmul(kernel, field.random((kernel.shape[1], 1), rng))[:, 0]
            weights |= {(p, v): int(step) for p, step in zip(free, steps, strict=True)}
        return point, self._with_steps(point, weights)

    def real_pair(self, values: Array, rng: np.random.Generator, size: float) -> tuple[Point, Point]:
        """A point in floating point, and another one with the same distribution, ``size`` away."""
        point = Point(self.table, Reals(), values)
        names = self.graph.topological_order
        place = {v: i for i, v in enumerate(names)}
        total = point.field.total_effects(point.matrices(names)[0])
        weights: dict[Arrow, float] = {}
        for v in names:
            free = tuple(p for p in self.graph.parents(v) if (p, v) not in self.known)
            rows = [place[a] for a in telling_ancestors(self.graph, v)]
            if free:
                kernel = _null_space(total[np.ix_(rows, [place[p] for p in free])])
                steps = kernel @ rng.uniform(-size, size, kernel.shape[1])
                weights |= {(p, v): float(step) for p, step in zip(free, steps, strict=True)}
        return point, self._with_steps(point, weights)

    def _with_steps(self, point: Point, steps: Mapping[Arrow, float]) -> Point:
        """The point with other weights, and with the covariances of errors that keep the distribution as it is."""
        field, names = point.field, self.graph.topological_order
        place = {v: i for i, v in enumerate(names)}
        T, _, W = point.matrices(names)
        sigma = field.covariance(T, W)
        for (p, v), step in steps.items():
            T[place[p], place[v]] = field.scalar(T[place[p], place[v]] + step)
        inverse = field.reduce(np.eye(len(names), dtype=field.dtype) - T)
        omega = field.matmul(inverse.T, field.matmul(sigma, inverse))
        values = point.values.copy()
        for e in self.table.entries:
            if e.parameter is not None:
                source = T if e.kind == "direct" else omega
                values[e.parameter] = source[place[e.source], place[e.target]]
        return Point(self.table, field, values)


def fibre_of(graph: Graph) -> Fibre:
    """The models that share a distribution with a generic model of the graph."""
    labels = {
        (e.first, e.second): x
        for e, x in graph.known.items()
        if isinstance(x, str) and e.kind == "->" and e.first in graph
    }
    return Fibre(with_any_confounding(graph), labels)


def _stays(kernels: dict[str, tuple[tuple[str, ...], Ints]], p: str, v: str) -> bool:
    free, kernel = kernels.get(v, ((), None))
    return p not in free or (kernel is not None and not kernel[free.index(p)].any())


def _null_space(matrix: Array) -> Array:
    if not len(matrix):
        return np.eye(matrix.shape[1])
    _, values, vectors = np.linalg.svd(matrix)
    rank = int((values > 1e-9 * max(values.max(initial=0.0), 1e-300)).sum())
    return np.asarray(vectors[rank:].T)
