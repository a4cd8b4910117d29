"""The half-trek criterion of Foygel, Draisma and Drton (2012), variable by variable.

A system of half-treks without sided intersection from Y to pa(v) exists exactly when the matrix of the criterion's
linear system is invertible at generic parameters, so the criterion is read off one random point instead of a network
flow. With hidden causes of three or more children, fixed or equal coefficients the point obeys them, and the answer
is right for them too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from halftrek.identification.recipes.recipe import Combination, LinearStep, cleaned, direct

if TYPE_CHECKING:
    from halftrek.identification.criteria.bench import Bench


def half_trek(bench: Bench, known: Collection[str] = ()) -> tuple[LinearStep, ...]:
    """Steps for every variable that the criterion solves, in an order in which they can be carried out."""
    return tuple(half_trek_steps(bench, known))


def half_trek_steps(bench: Bench, known: Collection[str] = ()) -> Iterator[LinearStep]:
    """The steps one after another, for those who need only the first of them."""
    graph = bench.point.parameters.graph
    near = {v: {v, *graph.spouses(v)} for v in graph.observed}
    solved = {v for v in graph.observed if all(direct(p, v) in known for p in graph.parents(v))}
    waiting = [v for v in bench.names if v not in solved]
    progress = True
    while progress:
        progress = False
        for v in list(waiting):
            step = _system(bench, v, _candidates(bench, v, near[v], solved))
            if step is not None:
                yield step
                solved.add(v)
                waiting.remove(v)
                progress = True


def step_alone(bench: Bench, v: str) -> LinearStep | None:
    """The step of one variable, where it needs the errors of no other: then it is the same in whichever order."""
    graph = bench.point.parameters.graph
    return _system(bench, v, _candidates(bench, v, {v, *graph.spouses(v)}, ()))


def _candidates(bench: Bench, v: str, near: Collection[str], solved: Collection[str]) -> Iterator[Combination]:
    """Possible rows: parents first (a regression, where it will do), other variables, errors of solved variables."""
    graph = bench.point.parameters.graph
    reached, parents = graph.descendants(near), graph.parents(v)
    free = [y for y in bench.names if y not in reached]
    yield from (Combination(y) for y in free if y in parents)
    yield from (Combination(y) for y in free if y not in parents)
    yield from (cleaned(y, graph.parents(y)) for y in bench.names if y in reached and y in solved and y not in near)


def _system(bench: Bench, v: str, candidates: Iterator[Combination]) -> LinearStep | None:
    """The first rows that make the system of the parents invertible, looked for in a few rows at a time."""
    parents = bench.point.parameters.graph.parents(v)
    at = [bench.place[p] for p in parents]
    rows: list[Combination] = []
    system = np.zeros((0, len(at)), dtype=np.int64)
    chosen: list[int] = []
    while len(chosen) < len(parents):
        more = list(islice(candidates, max(len(parents), 2 * len(rows))))
        if not more:
            return None
        rows += more
        system = np.vstack([system, bench.covariances(more, at)])
        chosen = bench.field.independent(system)
    outputs = tuple(direct(p, v) for p in parents)
    columns = tuple(Combination(p) for p in parents)
    return LinearStep(tuple(rows[i] for i in chosen), columns, Combination(v), outputs)
