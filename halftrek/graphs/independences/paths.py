"""Paths between two variables, one by one: which way their arrows point, and whether they are open."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from halftrek.errors import GraphError
from halftrek.graphs.edges import Edge

if TYPE_CHECKING:
    from collections.abc import Iterable

    from halftrek.graphs.graph import Graph

Kind = Literal["causal", "confounding", "blocked"]
_STEPS = 40_000  # along edges, beyond which no more paths are looked for
_EDGES = 5_000  # of a graph, beyond which none are


@dataclass(frozen=True)
class Path:
    """A way from one variable to another that meets none twice; edges as the graph has them, also if met backwards.

    ``open`` is False where a variable that is given stands in the way, or a collider of which nothing is given.
    """

    variables: tuple[str, ...]
    edges: tuple[Edge, ...]
    colliders: tuple[str, ...]
    open: bool

    @property
    def directed(self) -> bool:
        """True if every edge is an arrow forwards."""
        return all(e.kind == "->" and e.first == v for e, v in zip(self.edges, self.variables, strict=False))

    @property
    def kind(self) -> Kind:
        """What an open path carries: the effect, or something else; a path that is not open is blocked."""
        if not self.open:
            return "blocked"
        return "causal" if self.directed else "confounding"

    def __str__(self) -> str:
        signs = [_sign(e, v) for e, v in zip(self.edges, self.variables, strict=False)]
        rest = (f" {sign} {v}" for sign, v in zip(signs, self.variables[1:], strict=True))
        return self.variables[0] + "".join(rest)


def _sign(edge: Edge, start: str) -> str:
    return edge.kind if edge.kind == "<->" or edge.first == start else "<-"


def paths_between(
    graph: Graph, start: str, end: str, given: Iterable[str] = (), *, most: int = 200
) -> tuple[tuple[Path, ...], bool]:
    """Paths from ``start`` to ``end``, shortest first, and whether these are all of them.

    Hidden causes are stations on the way like others.
    """
    for v in (start, end, *given):
        graph.parents(v)  # an unknown or hidden name is refused here, with a hint
    if start == end:
        raise GraphError(f"a path joins two variables; {start!r} is named twice")
    if graph.edge_count > _EDGES:
        return (), False
    seen = frozenset(given)
    above = graph.ancestors(seen)
    ways: dict[str, list[tuple[Edge, str]]] = {}
    for u, kind, v in graph.edges():
        ways.setdefault(u, []).append((Edge(u, kind, v), v))
        ways.setdefault(v, []).append((Edge(u, kind, v), u))
    found: list[Path] = []
    budget = [_STEPS]
    left = _distances(ways, end)
    for length in range(left.get(start, len(left)), len(left)):
        for stations, edges in _of_length(ways, left, start, end, length, budget):
            if len(found) == most:
                return tuple(found), False
            found.append(_judged(stations, edges, seen, above))
        if budget[0] <= 0:
            return tuple(found), False
    return tuple(found), True


def _distances(ways: Mapping[str, list[tuple[Edge, str]]], end: str) -> dict[str, int]:
    """How many edges each variable is away from the end, whatever their direction."""
    far, queue = {end: 0}, deque([end])
    while queue:
        here = queue.popleft()
        for _, there in ways.get(here, ()):
            if there not in far:
                far[there] = far[here] + 1
                queue.append(there)
    return far


def _of_length(
    ways: Mapping[str, list[tuple[Edge, str]]],
    left: Mapping[str, int],
    start: str,
    end: str,
    length: int,
    budget: list[int],
) -> Iterator[tuple[tuple[str, ...], tuple[Edge, ...]]]:
    """The paths of exactly so many edges; a step that could not end in time is not taken."""
    stations, edges = [start], list[Edge]()
    ahead = [iter(ways.get(start, ()))]
    while ahead and budget[0] > 0:
        edge, there = next(ahead[-1], (None, ""))
        if edge is None:
            ahead.pop()
            stations.pop()
            if edges:
                edges.pop()
            continue
        budget[0] -= 1
        if there in stations or left[there] > length - len(edges) - 1:
            continue
        if there == end:
            if len(edges) + 1 == length:
                yield (*stations, there), (*edges, edge)
            continue
        stations.append(there)
        edges.append(edge)
        ahead.append(iter(ways[there]))


def _judged(stations: tuple[str, ...], edges: tuple[Edge, ...], given: frozenset[str], above: frozenset[str]) -> Path:
    inner = list(zip(stations[1:-1], pairwise(edges), strict=True))
    colliders = tuple(v for v, (before, after) in inner if _points_at(before, v) and _points_at(after, v))
    passed = (v not in given for v, _ in inner if v not in colliders)
    return Path(stations, edges, colliders, all(passed) and all(v in above for v in colliders))


def _points_at(edge: Edge, variable: str) -> bool:
    return edge.kind == "<->" or edge.second == variable
