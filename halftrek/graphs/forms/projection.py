"""Hidden variables turned into bidirected edges, and back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from itertools import combinations
from typing import TYPE_CHECKING

from halftrek.errors import GraphError
from halftrek.graphs.edges import Edge, written

if TYPE_CHECKING:
    from halftrek.graphs.checks import Coefficient, Pair
    from halftrek.graphs.graph import Graph


def project(graph: Graph, onto: Iterable[str]) -> Graph:
    """Latent projection (Verma 1993): a graph over ``onto`` with the same m-separations and no hidden variable.

    ``u -> v`` if a directed path leads from u to v through removed variables only; ``u <-> v`` if two such paths lead
    to u and v from one removed variable, or from the two ends of a bidirected edge. What is known of an edge is kept
    where the edge stands alone; where removed paths add to it, its weight is no longer the one that was known.
    """
    chosen = set(onto)
    keep = tuple(v for v in graph.observed if v in chosen)
    below = _kept_below(graph, chosen)
    arrows = dict.fromkeys((u, v) for u in keep for c in graph.children(u) for v in _landing(c, chosen, below))
    arcs = dict.fromkeys(_confounded(graph, keep, below))
    known: dict[Edge, Coefficient] = {}
    for u, v in arrows:
        through = any(v in below[c] for c in graph.children(u) if c not in chosen)
        if not through:
            known.update(_known_of(graph, Edge(u, "->", v)))
    if any(edge.kind == "<->" for edge in graph.known):
        alone = _untouched_arcs(graph, chosen, below)
        for u, v in alone & set(arcs):
            known.update(_known_of(graph, Edge(u, "<->", v)) or _known_of(graph, Edge(v, "<->", u)))
    variances, intercepts = ({v: x for v, x in part.items() if v in chosen} for part in _equations(graph, chosen))
    return graph.with_(
        directed=arrows, bidirected=arcs, latents={}, observed=keep, coefficients=written(known),
        variances=variances, intercepts=intercepts,
    )  # fmt: skip


def _equations(graph: Graph, chosen: set[str]) -> Iterator[Mapping[str, Coefficient]]:
    """Error variances and intercepts that are known, of variables to which nothing that is removed adds."""
    for part in (graph.variances, graph.intercepts):
        yield {
            v: x
            for v, x in part.items()
            if not (graph.latent_parents(v) or any(u not in chosen for u in graph.parents(v)))
        }


def canonical(graph: Graph) -> Graph:
    """Each bidirected edge replaced by a hidden cause of its two ends, named U1, U2, ... past the names in use."""
    taken = {*graph.observed, *graph.latents}
    fresh = _fresh_names(taken)
    hidden = dict(graph.latents)
    for u, v in graph.bidirected:
        edge = str(Edge(u, "<->", v))
        if edge in graph.restrictions:
            raise GraphError(
                f"the error covariance of '{edge}' is known ({graph.restrictions[edge]}), and a hidden cause has no "
                f"place for that. Remove this coefficient before asking for the canonical graph"
            )
        hidden[next(fresh)] = (u, v)
    return graph.with_(bidirected=(), latents=hidden)


def _kept_below(graph: Graph, chosen: set[str]) -> dict[str, dict[str, None]]:
    """For each removed variable, the kept ones that it reaches through removed ones."""
    below: dict[str, dict[str, None]] = {}
    for v in reversed(graph.topological_order):
        if v not in chosen:
            below[v] = dict.fromkeys(w for c in graph.children(v) for w in _landing(c, chosen, below))
    for u, kids in graph.latents.items():
        below[u] = dict.fromkeys(w for c in kids for w in _landing(c, chosen, below))
    return below


def _landing(variable: str, chosen: Container[str], below: Mapping[str, Iterable[str]]) -> Iterable[str]:
    return (variable,) if variable in chosen else below[variable]


def _confounded(graph: Graph, keep: tuple[str, ...], below: Mapping[str, dict[str, None]]) -> Iterator[Pair]:
    """Pairs of kept variables that get a bidirected edge, each pair in the order of the variables."""
    place = {v: i for i, v in enumerate(keep)}
    for a, b in graph.bidirected:
        for u in _landing(a, place, below):
            for v in _landing(b, place, below):
                if u != v:
                    yield (u, v) if place[u] < place[v] else (v, u)
    for reached in below.values():
        yield from combinations(sorted(reached, key=place.__getitem__), 2)


def _untouched_arcs(graph: Graph, chosen: set[str], below: Mapping[str, dict[str, None]]) -> set[Pair]:
    """Kept bidirected edges whose error covariance nothing that was removed adds to."""
    keep = tuple(v for v in graph.observed if v in chosen)
    times = Counter(_confounded(graph, keep, below))
    place = {v: i for i, v in enumerate(keep)}
    own = ((a, b) if place[a] < place[b] else (b, a) for a, b in graph.bidirected if a in chosen and b in chosen)
    return {pair for pair in own if times[pair] == 1}


def _known_of(graph: Graph, edge: Edge) -> dict[Edge, Coefficient]:
    return {edge: graph.known[edge]} if edge in graph.known else {}


def _fresh_names(taken: set[str]) -> Iterator[str]:
    number = 0
    while True:
        number += 1
        if f"U{number}" not in taken:
            yield f"U{number}"
