"""Edges that are varied: as users name them, and the graph in which they are free."""

from __future__ import annotations

from collections.abc import Sequence

from halftrek.errors import GraphError, InputError
from halftrek.graphs import Edge, Graph, written

EdgeLike = str | Edge | tuple[str, str]


def read_edges(graph: Graph, edge: EdgeLike | Sequence[EdgeLike]) -> tuple[Edge, ...]:
    """One edge or two: ``"x <-> m"``, ``"z -> y"``, or a list of two such texts."""
    several = isinstance(edge, list) or (isinstance(edge, tuple) and not isinstance(edge, Edge))
    given = tuple(edge) if several else (edge,)
    if not 1 <= len(given) <= 2:
        raise InputError(f"edge is one edge or a list of two, not {len(given)}")
    found = tuple(read_edge(graph, one) for one in given)
    if len(found) == 2 and found[0] in (found[1], found[1].turned):
        raise InputError(f"edge names {found[0]} twice; name two edges, or one")
    return found


def read_edge(graph: Graph, edge: object) -> Edge:
    """An edge between two observed variables that the graph has, or may have without a cycle."""
    try:
        found = edge if isinstance(edge, Edge) else Edge.read(edge)  # type: ignore[arg-type]
    except GraphError:
        raise InputError(f'edge is written "x -> y" or "x <-> y", not {edge!r}') from None
    for v in (found.first, found.second):
        graph.parents(v)  # an unknown or hidden name is refused here, with a hint
    if found.first == found.second:
        raise GraphError(f"{found} names {found.first!r} twice; an edge joins two variables")
    if found.kind == "->" and found.first in graph.descendants(found.second):
        raise GraphError(f"{found} would close a cycle, since {found.second} acts on {found.first} already")
    return found


def has_edge(graph: Graph, edge: Edge) -> bool:
    """True if the graph has the edge; a hidden cause of two variables is an arc between them."""
    ends = (edge.first, edge.second)
    if edge.kind == "->":
        return ends in graph.directed
    return any(set(arc) == set(ends) for arc in graph.bidirected)


def plain(graph: Graph) -> Graph:
    """The graph with an arc in the place of every hidden cause of two variables, which says the same.

    A hidden cause with a known weight says more, and stays.
    """
    known = {edge.first for edge in graph.known}
    small = {u: (kids[0], kids[1]) for u, kids in graph.latents.items() if len(kids) == 2 and u not in known}
    if not small:
        return graph
    latents = {u: kids for u, kids in graph.latents.items() if u not in small}
    pairs = list(small.values())
    joined = {frozenset(arc) for arc in graph.bidirected}
    new = [pair for pair in dict.fromkeys(pairs) if frozenset(pair) not in joined]
    return graph.with_(latents=latents, bidirected=(*graph.bidirected, *new))


def relaxed(graph: Graph, edges: Sequence[Edge]) -> Graph:
    """The graph with these edges in it, and free."""
    known = {e: x for e, x in graph.known.items() if e not in edges and e.turned not in edges}
    arrows = [(e.first, e.second) for e in edges if e.kind == "->" and not has_edge(graph, e)]
    arcs = [(e.first, e.second) for e in edges if e.kind == "<->" and not has_edge(graph, e)]
    return graph.with_(
        directed=(*graph.directed, *arrows), bidirected=(*graph.bidirected, *arcs), coefficients=written(known)
    )


def held(graph: Graph, edges: Sequence[Edge], values: Sequence[float]) -> Graph:
    """The same with each of the edges held at a weight, or at a covariance of two errors."""
    free = relaxed(graph, edges)
    known = dict(free.known) | {e: float(x) for e, x in zip(edges, values, strict=True)}
    return free.with_(coefficients=written(known))
