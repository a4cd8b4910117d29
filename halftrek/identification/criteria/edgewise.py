"""The edgewise half-trek criterion (Chen 2016; Weihs et al. 2018): edges one by one, or a few into the same variable.

For edges from W into v, instruments y are cleaned of the causes whose effects are known. Graphically: what is left of y
must have no half-trek from v, no trek to the other unsolved parents of v, and a system of half-treks without sided
intersection must lead from the instruments to W. A random point confirms that the system is invertible, since hidden
causes with many children and fixed or equal coefficients can make it singular.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING

from halftrek.identification.criteria.flows import Network, disjoint_paths, half_trek_network
from halftrek.identification.recipes.recipe import Combination, LinearStep, cleaned, direct

if TYPE_CHECKING:
    from halftrek.graphs import Graph
    from halftrek.identification.criteria.bench import Bench

_MOST_PARENTS = 6  # beyond, only sets of one or two parents and the set of all are tried


def edgewise_half_trek(bench: Bench, known: Collection[str] = ()) -> tuple[LinearStep, ...]:
    """Steps for every edge that the criterion solves, in an order in which they can be carried out."""
    return tuple(edgewise_steps(bench, known))


def edgewise_steps(bench: Bench, known: Collection[str] = ()) -> Iterator[LinearStep]:
    """The steps one after another, for those who need only the first of them."""
    reach = _Reach(bench.point.parameters.graph)
    settled = set(known)
    grown = True
    while grown:
        grown = False
        for v in bench.names:
            step = _solve(bench, reach, v, settled)
            while step is not None:
                grown = True
                yield step
                settled |= {q for q in step.outputs if q is not None}
                step = _solve(bench, reach, v, settled)


@dataclass(frozen=True)
class _Reach:
    """Who is reached from whom by half-treks (``half``) and by treks (``full``)."""

    graph: Graph

    @cached_property
    def near(self) -> dict[str, set[str]]:
        return {v: {v, *self.graph.spouses(v)} for v in self.graph.observed}

    @cached_property
    def half(self) -> dict[str, frozenset[str]]:
        return {v: self.graph.descendants(self.near[v]) for v in self.graph.observed}

    @cached_property
    def full(self) -> dict[str, frozenset[str]]:
        above = {v: self.graph.ancestors(v) for v in self.graph.observed}
        return {v: frozenset().union(*(self.half[a] for a in above[v])) for v in self.graph.observed}

    @cached_property
    def network(self) -> Network:
        return half_trek_network(self.graph)


def _solve(bench: Bench, reach: _Reach, v: str, settled: Collection[str]) -> LinearStep | None:
    """The smallest set of unsolved parents of v that can be solved for."""
    parents = reach.graph.parents(v)
    unsolved = [p for p in parents if direct(p, v) not in settled]
    for chosen in _subsets(unsolved):
        rows = list(_instruments(reach, v, set(unsolved) - set(chosen), settled))
        if len(rows) < len(chosen):
            continue
        rows.sort(key=lambda r: r.variable not in chosen)  # a regression, where it will do
        ends = {("right", w) for w in chosen}
        used = {side[1] for side in disjoint_paths(reach.network, [("left", r.variable) for r in rows], ends)}
        if len(used) < len(chosen):
            continue
        target = cleaned(v, [p for p in parents if p not in unsolved])
        outputs = tuple(direct(w, v) for w in chosen)
        picked = tuple(r for r in rows if r.variable in used)
        step = LinearStep(picked, tuple(Combination(w) for w in chosen), target, outputs)
        if bench.invertible(step):
            return step
    return None


def _subsets(unsolved: list[str]) -> Iterator[tuple[str, ...]]:
    count = len(unsolved)
    sizes = range(1, count + 1) if count <= _MOST_PARENTS else (1, 2, count)
    for size in sizes:
        yield from combinations(unsolved, size)


def _instruments(reach: _Reach, v: str, others: set[str], settled: Collection[str]) -> Iterator[Combination]:
    """Variables that may serve, as they are where that will do, else without the effects that are known."""
    for y in reach.graph.topological_order:
        if y in reach.near[v]:
            continue
        if y not in reach.half[v] and not reach.full[y] & others:
            yield Combination(y)
            continue
        solved = [q for q in reach.graph.parents(y) if direct(q, y) in settled]
        left = [q for q in reach.graph.parents(y) if q not in solved]
        met = reach.half[y].union(*(reach.full[q] for q in left))
        if not reach.half[v].intersection(left) and not met & others:
            yield cleaned(y, solved)
