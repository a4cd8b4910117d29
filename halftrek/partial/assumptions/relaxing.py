"""The graph with the edges that assumptions name: an edge that it lacks is there, and held within the assumption."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from halftrek.errors import InputError
from halftrek.graphs import Graph
from halftrek.graphs.order import find_cycle
from halftrek.partial.assumptions.kinds import AbsoluteSum, Assumption, Compared, Confounded, Norm, Within, names_of
from halftrek.partial.assumptions.quantities import (
    Endogeneity,
    ErrorCorrelation,
    ErrorCovariance,
    Quantity,
    Weight,
)

Pair = tuple[str, str]


def relaxed(graph: Graph, assumptions: Iterable[Assumption]) -> Graph:
    """The graph with every edge that an assumption names; an arrow that closes a cycle is an InputError."""
    assumptions = tuple(assumptions)
    graph = with_roots(graph, assumptions)
    arrows = dict.fromkeys(graph.directed)
    arcs: dict[Pair, None] = {}
    for assumption in assumptions:
        for kind, u, v in _edges(assumption, graph):
            if kind == "->" and (u, v) not in arrows:
                arrows[u, v] = None
                if cycle := find_cycle(graph.nodes, arrows):
                    raise InputError(
                        f"'{assumption}' adds the arrow {u} -> {v} to the graph, which closes a cycle: "
                        f"{' -> '.join(cycle)}. Feedback is not supported; turn the arrow, or assume something of "
                        f"{u} <-> {v}"
                    )
            elif kind == "<->" and v not in graph.spouses(u) and (v, u) not in arcs:
                arcs[u, v] = None
    if len(arrows) == len(graph.directed) and not arcs:
        return graph
    return graph.with_(directed=arrows, bidirected=(*graph.bidirected, *arcs))


def with_roots(graph: Graph, assumptions: Iterable[Assumption]) -> Graph:
    """The graph in which hidden roots that assumptions name are variables of their own; their variance stays 1."""
    named = {v for a in assumptions for v in names_of(a) if v in graph.latents}
    return graph.with_(variances={**graph.variances, **dict.fromkeys(named, 1.0)}) if named else graph


def _edges(assumption: Assumption, graph: Graph) -> Iterator[tuple[str, str, str]]:
    """The edges that an assumption names."""
    match assumption:
        case Within(quantity):
            yield from _edge(quantity, graph)
        case Compared(left, right):
            yield from _edge(left, graph)
            yield from _edge(right, graph)
        case Norm(weights) | AbsoluteSum(weights):
            for weight in weights:
                yield from _edge(weight, graph)
        case Confounded(pair):
            yield "<->", pair.first, pair.second


def _edge(quantity: Quantity, graph: Graph) -> Iterator[tuple[str, str, str]]:
    match quantity:
        case Weight(u, v):
            yield "->", u, v
        case ErrorCovariance(u, v) | ErrorCorrelation(u, v):
            yield "<->", u, v
        case Endogeneity(u, v):
            if u not in graph.descendants((v, *graph.spouses(v))):  # else the two covary in the graph already
                yield "<->", u, v
