"""Trek separation (Weihs et al. 2018): a coefficient as the ratio of two determinants of covariances.

For x -> v let S and T have |S| = |T| + 1, T without x, v and descendants of v. If treks without sided intersection lead
from S to T and x, and none from S to T and v once x -> v and the known edges into v are cut on the right, then the
coefficient is the entry of x in the solution of ``Cov(S, T + x) b = Cov(S, v - known part)``. Candidates come from
determinants at a random point, where a vanishing one shows at once; the treks then decide.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from halftrek.identification.criteria.determinants import determinants
from halftrek.identification.criteria.flows import Network, disjoint_paths, trek_network
from halftrek.identification.recipes.recipe import Combination, LinearStep, cleaned, direct

if TYPE_CHECKING:
    from halftrek.identification.criteria.bench import Bench
    from halftrek.identification.numbers.modular import Ints

_MOST_COLUMNS = 2  # the size of T


def trek_separation(bench: Bench, known: Collection[str] = ()) -> tuple[LinearStep, ...]:
    """Steps for every edge that the criterion solves, in an order in which they can be carried out."""
    graph = bench.point.parameters.graph
    settled, steps = set(known), list[LinearStep]()
    whole = trek_network(graph)
    batches = [
        np.array(list(combinations(range(len(bench.names)), size + 1)), dtype=np.int64)
        for size in range(_MOST_COLUMNS + 1)
    ]
    grown = True
    while grown:
        grown = False
        for x, v in graph.directed:
            key = direct(x, v)
            if key not in settled:
                step = _solve(bench, whole, batches, x, v, settled)
                if step is not None:
                    steps.append(step)
                    settled.add(key)
                    grown = True
    return tuple(steps)


def _solve(
    bench: Bench, whole: Network, batches: list[Ints], x: str, v: str, settled: Collection[str]
) -> LinearStep | None:
    graph = bench.point.parameters.graph
    gone = [p for p in graph.parents(v) if direct(p, v) in settled]
    cut = trek_network(graph, [(p, v) for p in (x, *gone)])
    below = graph.descendants(v)
    allowed = [w for w in bench.names if w != x and w not in below]
    for sources, others in _candidates(bench, batches, x, v, gone, allowed):
        starts = [("left", s) for s in sources]
        ends = [("right", w) for w in others]
        if len(disjoint_paths(whole, starts, {*ends, ("right", x)})) < len(starts):
            continue
        if len(disjoint_paths(cut, starts, {*ends, ("right", v)})) == len(starts):
            continue
        outputs = (direct(x, v), *(None for _ in others))
        columns = tuple(map(Combination, (x, *others)))
        step = LinearStep(tuple(map(Combination, sources)), columns, cleaned(v, gone), outputs)
        if bench.invertible(step):
            return step
    return None


def _candidates(
    bench: Bench, batches: list[Ints], x: str, v: str, gone: list[str], allowed: list[str]
) -> Iterator[tuple[list[str], tuple[str, ...]]]:
    """S and T, small ones first, with ``det Cov(S, T + x) != 0`` and ``det Cov(S, T + rest of v) = 0`` at the point."""
    f, place, sigma = bench.field, bench.place, bench.sigma
    residual = sigma[:, place[v]].copy()
    for p in (x, *gone):
        residual = f.reduce(residual - f.mul(sigma[:, place[p]], bench.T[place[p], place[v]]))
    cause = sigma[:, place[x]]
    for size, chosen in enumerate(batches):
        if len(chosen) == 0:
            return
        for others in combinations(allowed, size):
            columns = sigma[:, [place[w] for w in others]][chosen]
            zero = determinants(f, residual[chosen], columns) == 0
            for i in np.flatnonzero(zero):
                if determinants(f, cause[chosen[[i]]], columns[[i]])[0]:
                    yield [bench.names[k] for k in chosen[i]], others
