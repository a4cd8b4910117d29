"""The free parameters of a graph, and its structural matrices at a point."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations, starmap
from typing import TYPE_CHECKING, Literal

import numpy as np

from halftrek.graphs import Edge, Graph, written

if TYPE_CHECKING:
    from halftrek.identification.numbers.fields import Array, Field

Kind = Literal["direct", "loading", "covariance", "noise"]


@dataclass(frozen=True)
class Entry:
    """One entry of a structural matrix: free (the number of its parameter) or fixed (``parameter`` is None)."""

    kind: Kind
    source: str
    target: str
    parameter: int | None
    value: float = 0.0


@dataclass(frozen=True)
class Parameters:
    """Which entries of T, C and W are free, which are fixed and which are equal.

    Where hidden variables have causes, ``graph`` has them as others and ``seen`` is the graph as it was given, whose
    observed variables alone have covariances.
    """

    graph: Graph
    entries: tuple[Entry, ...]
    texts: tuple[str, ...]
    seen: Graph | None = None

    @property
    def count(self) -> int:
        """Number of free parameters."""
        return len(self.texts)

    @cached_property
    def direct(self) -> dict[tuple[str, str], Entry]:
        """Entries of T by edge."""
        return {(e.source, e.target): e for e in self.entries if e.kind == "direct"}

    @cached_property
    def of_variable(self) -> dict[str, tuple[int, ...]]:
        """For each variable the parameters of its own equation and error."""
        found: dict[str, dict[int, None]] = {v: {} for v in self.graph.observed}
        for e in self.entries:
            if e.parameter is not None:
                found[e.target][e.parameter] = None
                if e.kind == "covariance":
                    found[e.source][e.parameter] = None
        return {v: tuple(f) for v, f in found.items()}

    @cached_property
    def blocks(self) -> tuple[tuple[str, ...], ...]:
        """Districts, those that share a label joined: the pieces that are identified independently of each other."""
        if self.seen is not None:
            return (self.graph.topological_order,)
        stated = (*self.graph.coefficients.values(), *self.graph.variances.values())
        if not any(isinstance(known, str) for known in stated):
            return self.graph.districts
        groups: list[tuple[set[str], set[int]]] = []
        for district in self.graph.districts:
            members, mine = set(district), {k for v in district for k in self.of_variable[v]}
            apart = []
            for other, theirs in groups:
                if mine & theirs:
                    members |= other
                    mine |= theirs
                else:
                    apart.append((other, theirs))
            groups = [*apart, (members, mine)]
        order = self.graph.topological_order
        return tuple(tuple(v for v in order if v in members) for members, _ in groups)

    @cached_property
    def block_of(self) -> tuple[int, ...]:
        """For each parameter the number of its block."""
        found = [0] * self.count
        for number, members in enumerate(self.blocks):
            for v in members:
                for k in self.of_variable[v]:
                    found[k] = number
        return tuple(found)

    @cached_property
    def entries_of(self) -> dict[str, tuple[int, ...]]:
        """For each variable the places of its own entries: those that stand in its column."""
        found: dict[str, list[int]] = {v: [] for v in self.graph.observed}
        for i, e in enumerate(self.entries):
            found[e.target].append(i)
        return {v: tuple(places) for v, places in found.items()}

    @cached_property
    def arrows(self) -> dict[str, tuple[tuple[str, int, int | None], ...]]:
        """For each variable its causes, each with the place of its entry and the number of its parameter."""
        direct = {v: [i for i in places if self.entries[i].kind == "direct"] for v, places in self.entries_of.items()}
        return {
            v: tuple((self.entries[i].source, i, self.entries[i].parameter) for i in places)
            for v, places in direct.items()
        }

    def among(self, variables: Collection[str]) -> list[int]:
        """Places of the entries of some variables, in their order."""
        if len(variables) == len(self.graph):
            return list(range(len(self.entries)))
        return sorted(i for v in variables for i in self.entries_of[v])


@dataclass(frozen=True, eq=False)
class Point:
    """Values of the parameters in some arithmetic."""

    parameters: Parameters
    field: Field
    values: Array

    @cached_property
    def entry_values(self) -> tuple[float, ...]:
        """The value of each entry as a plain number, in the order of ``parameters.entries``."""
        values, number = self.values.tolist(), self.field.number
        return tuple(number(e.value) if e.parameter is None else values[e.parameter] for e in self.parameters.entries)

    def matrices(self, names: tuple[str, ...]) -> tuple[Array, Array, Array]:
        """T, C and W among some variables (rows of C: the hidden causes of the graph)."""
        place = {v: i for i, v in enumerate(names)}
        hidden = {u: i for i, u in enumerate(self.parameters.graph.latents)}
        dtype = self.field.dtype
        T, W = np.zeros((len(names),) * 2, dtype), np.zeros((len(names),) * 2, dtype)
        C = np.zeros((len(hidden), len(names)), dtype)
        entries, values = self.parameters.entries, self.entry_values
        for at in self.parameters.among(names):
            e, value = entries[at], values[at]
            j = place[e.target]
            if e.kind == "loading":
                C[hidden[e.source], j] = value
            elif e.source in place:
                i = place[e.source]
                if e.kind == "direct":
                    T[i, j] = value
                else:
                    W[i, j] = W[j, i] = value
        return T, C, W


def parameters_of(graph: Graph) -> Parameters:
    """Table of the free parameters of a graph: edges, loadings, error covariances, noise variances."""
    numbers: dict[tuple[str, str], int] = {}
    texts: list[str] = []

    def free(kind: str, text: str) -> int:
        key = (kind, text)
        if key not in numbers:
            numbers[key] = len(texts)
            texts.append(text)
        return numbers[key]

    seen = graph if graph.hidden else None
    graph = graph.opened
    entries: list[Entry] = []
    for edge in starmap(Edge, graph.edges()):
        source, arrow, target = edge
        kind: Kind = "covariance" if arrow == "<->" else "loading" if source in graph.latents else "direct"
        known = graph.known.get(edge)
        if isinstance(known, float):
            entries.append(Entry(kind, source, target, None, known))
        else:
            entries.append(Entry(kind, source, target, free("edge" if known is None else "label", known or str(edge))))
    for v in graph.observed:
        held = graph.variances.get(v) if graph.variances else None
        if isinstance(held, float):
            entries.append(Entry("noise", v, v, None, held))
        else:
            entries.append(Entry("noise", v, v, free("noise" if held is None else "label", held or f"{v} <-> {v}")))
    return Parameters(graph, tuple(entries), tuple(texts), seen)


def without_redundant_latents(graph: Graph) -> Graph:
    """The graph with hidden causes of one child dropped and those of two children turned into bidirected edges.

    With free loadings the product of the two is a free error covariance, so nothing that can be identified changes.
    """
    if not graph.latents:
        return graph
    arcs = list(graph.bidirected)
    hidden: dict[str, tuple[str, ...]] = {}
    known = dict(graph.known)
    for u, kids in graph.latents.items():
        held = [edge for c in kids if (edge := Edge(u, "->", c)) in known]
        if len(kids) == 2 and not held:
            arcs.append((kids[0], kids[1]))
            for a, b in permutations(kids):
                known.pop(Edge(a, "<->", b), None)
        elif len(kids) >= 2:
            hidden[u] = kids
        else:
            for edge in held:  # it only adds to the noise of its child
                del known[edge]
    return graph.with_(bidirected=arcs, latents=hidden, coefficients=written(known))
