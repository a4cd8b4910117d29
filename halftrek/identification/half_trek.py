"""The half-trek criterion of Foygel, Draisma and Drton (2012), variable by variable.

A system of half-treks without sided intersection from Y to pa(v) exists exactly when the matrix of the criterion's
linear system is invertible at generic parameters, so the criterion is read off one random point instead of a network
flow. With hidden causes of three or more children, fixed or equal coefficients the point obeys them, and the answer
is right for them too.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import numpy as np

from halftrek.graph import edge_key
from halftrek.identification.recipe import Combination, LinearStep

if TYPE_CHECKING:
    from halftrek.identification.bench import Bench


def half_trek(bench: Bench, known: Collection[str] = ()) -> tuple[LinearStep, ...]:
    """Steps for every variable that the criterion solves, in an order in which they can be carried out."""
    graph = bench.point.parameters.graph
    near = {v: {v, *graph.spouses(v)} for v in graph.observed}
    reach = {v: graph.descendants(near[v]) for v in graph.observed}
    solved = {v for v in graph.observed if all(edge_key(p, "->", v) in known for p in graph.parents(v))}
    waiting = [v for v in bench.names if v not in solved]
    steps: list[LinearStep] = []
    progress = True
    while progress:
        progress = False
        for v in list(waiting):
            free = [y for y in bench.names if y not in reach[v]]
            cleaned = [y for y in bench.names if y in reach[v] and y in solved and y not in near[v]]
            free.sort(key=lambda y: y not in graph.parents(v))  # a regression, where it will do
            rows = [Combination(y) for y in free] + [_error(bench, y) for y in cleaned]
            step = _system(bench, v, rows)
            if step is not None:
                steps.append(step)
                solved.add(v)
                waiting.remove(v)
                progress = True
    return tuple(steps)


def _error(bench: Bench, y: str) -> Combination:
    parents = bench.point.parameters.graph.parents(y)
    return Combination(y, tuple((q, edge_key(q, "->", y)) for q in parents))


def _system(bench: Bench, v: str, rows: list[Combination]) -> LinearStep | None:
    parents = bench.point.parameters.graph.parents(v)
    if len(rows) < len(parents):
        return None
    vectors = np.zeros((len(rows), len(bench.names)), dtype=np.int64)
    for i, row in enumerate(rows):
        vectors[i, bench.place[row.variable]] = 1
        for q, _ in row.minus:
            vectors[i, bench.place[q]] = -bench.T[bench.place[q], bench.place[row.variable]]
    at = [bench.place[p] for p in parents]
    system = bench.field.matmul(bench.field.reduce(vectors), bench.sigma[:, at])
    _, chosen = bench.field.rref(system.T)
    if len(chosen) < len(parents):
        return None
    outputs = tuple(edge_key(p, "->", v) for p in parents)
    columns = tuple(Combination(p) for p in parents)
    return LinearStep(tuple(rows[i] for i in chosen), columns, Combination(v), outputs)
