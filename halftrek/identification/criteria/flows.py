"""Paths without a common vertex: how many lead from some vertices to others, and from which."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Hashable, Mapping, Sequence
from itertools import pairwise
from typing import TypeVar

from halftrek.graphs import Graph

Node = TypeVar("Node", bound=Hashable)
Side = tuple[str, str]  # "left" or "right" and a variable; "hidden" and a hidden cause that joins the two
Network = dict[Side, tuple[Side, ...]]


def disjoint_paths(
    arrows: Mapping[Node, Sequence[Node]], sources: Sequence[Node], sinks: Collection[Node]
) -> list[Node]:
    """Where the paths of a largest vertex-disjoint system start, earlier sources preferred.

    Augmenting paths: a vertex that is in use is left again along the path that comes into it, which gives way.
    """
    after: dict[Node, Node | None] = {}  # the next vertex of the path through a vertex, None where it ends
    before: dict[Node, Node] = {}
    starts: list[Node] = []
    for source in sources:
        if len(starts) == len(sinks):
            break
        found = _augmenting(arrows, source, sinks, after, before)
        if found is None:
            continue
        starts.append(source)
        given_up = [(u, w) for (w, enters), (u, again) in pairwise(found) if enters and not again and u != w]
        taken = [(u, w) for (u, enters), (w, again) in pairwise(found) if again and not enters and u != w]
        for u, w in given_up:
            del after[u], before[w]
        for u, w in taken:
            after[u], before[w] = w, u
        after[found[-1][0]] = None
    return starts


def _augmenting(
    arrows: Mapping[Node, Sequence[Node]],
    source: Node,
    sinks: Collection[Node],
    after: Mapping[Node, Node | None],
    before: Mapping[Node, Node],
) -> list[tuple[Node, bool]] | None:
    """A walk from a source to a free sink; each vertex with True where it is entered, False where it is left."""
    first = (source, True)
    came: dict[tuple[Node, bool], tuple[Node, bool] | None] = {first: None}
    queue = deque([first])
    while queue:
        state = queue.popleft()
        u, entered = state
        moves: list[tuple[Node, bool]] = []
        if entered:
            if u not in after:
                moves.append((u, False))
            elif u in before:
                moves.append((before[u], False))
        else:
            if u in sinks and after.get(u, u) is not None:
                walk: list[tuple[Node, bool]] = []
                step: tuple[Node, bool] | None = state
                while step is not None:
                    walk.append(step)
                    step = came[step]
                return walk[::-1]
            moves += [(w, True) for w in arrows.get(u, ()) if after.get(u) != w]
            if u in after:
                moves.append((u, True))
        for move in moves:
            if move not in came:
                came[move] = state
                queue.append(move)
    return None


def half_trek_network(graph: Graph) -> Network:
    """Half-treks as paths from the left copy of a variable to the right copy of another.

    Hidden causes count as bidirected edges between all their children.
    """
    network: Network = {("right", v): tuple(("right", w) for w in graph.children(v)) for v in graph.observed}
    for v in graph.observed:
        network["left", v] = (("right", v), *(("right", w) for w in graph.spouses(v)))
    return network


def latent_half_trek_network(graph: Graph, ends: Collection[str] = ()) -> Network:
    """Half-treks that share no hidden cause; into ``ends`` they come from hidden causes alone."""
    network: Network = {
        ("right", v): tuple(("right", w) for w in graph.children(v) if w not in ends) for v in graph.observed
    }
    children = _hidden_children(graph)
    for v in graph.observed:
        own = tuple(("hidden", u) for u, kids in children.items() if v in kids)
        network["left", v] = (("right", v), *own)
    for u, kids in children.items():
        network["hidden", u] = tuple(("right", w) for w in kids)
    return network


def trek_network(graph: Graph, without: Collection[tuple[str, str]] = ()) -> Network:
    """Treks as paths from left copies, up against the arrows, to right copies, down along them.

    On the right the edges in ``without`` are missing.
    """
    network: Network = {
        ("right", v): tuple(("right", w) for w in graph.children(v) if (v, w) not in without) for v in graph.observed
    }
    for v in graph.observed:
        up = tuple(("left", p) for p in graph.parents(v))
        across = tuple(("right", w) for w in graph.siblings(v))
        hidden = tuple(("hidden", u) for u in graph.latent_parents(v))
        network["left", v] = (("right", v), *across, *hidden, *up)
    for u, kids in graph.latents.items():
        network["hidden", u] = tuple(("right", w) for w in kids)
    return network


def _hidden_children(graph: Graph) -> dict[str, tuple[str, ...]]:
    """Children of hidden causes, a bidirected edge being one with two."""
    arcs = {f"{u} <-> {v}": (u, v) for u, v in graph.bidirected}
    return {**arcs, **graph.latents}
