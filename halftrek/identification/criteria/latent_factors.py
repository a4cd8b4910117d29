"""The latent-factor half-trek criterion (Barber, Drton, Sturma and Weihs 2022), variable by variable.

Hidden causes H with many children are let in between v and its instruments Y; as many other children Z of H, whose own
equations are solved, take up what H does: the error of v is replaced by a combination of the errors of Z. Graphically:
Y shares hidden causes with Z and v only within H, and half-treks without sided intersection lead from Y to the parents
of v and, through H alone, to Z. A random point confirms that the system is invertible.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import combinations
from typing import TYPE_CHECKING

from halftrek.identification.criteria.flows import disjoint_paths, latent_half_trek_network
from halftrek.identification.recipes.recipe import Combination, LinearStep, cleaned, direct

if TYPE_CHECKING:
    from halftrek.graphs import Graph
    from halftrek.identification.criteria.bench import Bench

_FEWEST_CHILDREN = 4  # v, one more in Z, and two in Y: fewer children make a hidden cause useless here
_MOST_CAUSES = 2  # hidden causes that are let in at once


def latent_factor_half_trek(bench: Bench, known: Collection[str] = ()) -> tuple[LinearStep, ...]:
    """Steps for every variable that the criterion solves, in an order in which they can be carried out."""
    graph = bench.point.parameters.graph
    solved = {v for v in bench.names if all(direct(p, v) in known for p in graph.parents(v))}
    waiting = [v for v in bench.names if v not in solved]
    steps: list[LinearStep] = []
    grown = True
    while grown:
        grown = False
        for v in list(waiting):
            step = _solve(bench, graph, v, solved)
            if step is not None:
                steps.append(step)
                solved.add(v)
                waiting.remove(v)
                grown = True
    return tuple(steps)


def _solve(bench: Bench, graph: Graph, v: str, solved: Collection[str]) -> LinearStep | None:
    parents = graph.parents(v)
    for causes, others in _helpers(graph, v, solved):
        rows = list(_instruments(graph, v, causes, others, solved))
        columns = (*parents, *others)
        if len(rows) < len(columns):
            continue
        rows.sort(key=lambda r: r.variable not in parents)  # a regression, where it will do
        network = latent_half_trek_network(graph, others)
        ends = {("right", w) for w in columns}
        used = {side[1] for side in disjoint_paths(network, [("left", r.variable) for r in rows], ends)}
        if len(used) < len(columns):
            continue
        picked = tuple(r for r in rows if r.variable in used)
        errors = tuple(cleaned(z, graph.parents(z)) for z in others)
        outputs = (*(direct(p, v) for p in parents), *(None for _ in others))
        step = LinearStep(picked, (*map(Combination, parents), *errors), Combination(v), outputs)
        if bench.invertible(step):
            return step
    return None


def _helpers(graph: Graph, v: str, solved: Collection[str]) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Hidden causes to let in and the variables that take up what they do, fewest first."""
    large = [u for u, kids in graph.latents.items() if len(kids) >= _FEWEST_CHILDREN]
    for size in range(min(_MOST_CAUSES, len(large)) + 1):
        for causes in combinations(large, size):
            touched = {c for u in causes for c in graph.latents[u]}
            fit = [z for z in graph.observed if z in touched and z in solved and z not in (v, *graph.parents(v))]
            for others in combinations(fit, size):
                yield causes, others


def _instruments(
    graph: Graph, v: str, causes: Collection[str], others: Collection[str], solved: Collection[str]
) -> Iterator[Combination]:
    """Variables whose own error meets those of v and the others in the chosen hidden causes alone."""
    group = {v, *others}
    near = {*group}
    for w in group:
        near.update(graph.siblings(w))
        near.update(c for u in graph.latent_parents(w) if u not in causes for c in graph.latents[u])
    reached = graph.descendants(near)
    for y in graph.topological_order:
        if y not in near and y not in reached:
            yield Combination(y)
        elif y not in near and y in solved:
            yield cleaned(y, graph.parents(y))
