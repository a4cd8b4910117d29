"""A graph where its author placed it: nodes at the given places, on one scale that keeps them apart, lines around them.

Arrows are straight unless a node stands in the way; bidirected edges are arcs, so that an arrow beside one is seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, starmap
from typing import TYPE_CHECKING

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.graphs import Edge
from halftrek.reporting.plots.curves import HEIGHT, curve, distance
from halftrek.reporting.plots.layout import Layout, Point

if TYPE_CHECKING:
    from halftrek.graphs import Graph

_BESIDE = 1.1  # room between neighbours, for a line with a number
_ABOVE = 1.5  # vertical distance of nodes that stand above each other
_WIDEST = 7.0  # of the picture, for each node: places that are nearly one are not pulled apart at any price
_CLEAR = 0.12  # between a line and a node that it passes
_NEAR = 0.25  # between lines that seem to be one
_NODE = 4  # lines that an edge rather meets than a node
_MANY = 60  # lines that a line is kept away from
_BENDS = (0.0, 0.18, -0.18, 0.32, -0.32, 0.5, -0.5)  # of arrows, in lengths of the line
_ARCS = (0.25, -0.25, 0.4, -0.4, 0.6, -0.6)  # of bidirected edges: above, then below


def lay_out_as_drawn(graph: Graph, widths: Mapping[str, float]) -> Layout | None:
    """The layout by the graph's own places; None unless every observed variable has one, apart from the others."""
    given = {v: (x, -y) for v, (x, y) in graph.positions.items()}  # they grow downwards, ours upwards
    if not given or not all(v in given for v in graph.observed):
        return None
    scale = _scale(given, widths)
    if scale is None:
        return None
    nodes = {v: (scale * x, scale * y) for v, (x, y) in given.items()}
    for u, kids in graph.latents.items():
        if u not in nodes:
            nodes[u] = _beside(nodes, widths, u, kids)
    nodes = {v: nodes[v] for v in (*graph.observed, *graph.latents)}
    return Layout(nodes, _routes(graph, nodes, widths))


def _scale(places: Mapping[str, Point], widths: Mapping[str, float]) -> float | None:
    """The smallest at which no two nodes touch; None if two have the same place."""
    needed = 0.0
    for u, v in combinations(places, 2):
        across, up = (abs(a - b) for a, b in zip(places[u], places[v], strict=True))
        if across == up == 0.0:
            return None
        room = (widths.get(u, 1.0) + widths.get(v, 1.0)) / 2 + _BESIDE
        needed = max(needed, min(room / across if across else np.inf, _ABOVE / up if up else np.inf))
    size = max(np.ptp([place[k] for place in places.values()]) for k in (0, 1))
    return min(needed, _WIDEST * len(places) / size) if size else 1.0


def _beside(nodes: Mapping[str, Point], widths: Mapping[str, float], name: str, kids: Sequence[str]) -> Point:
    """A place for a hidden cause that has none: near the middle of its children, where nobody stands."""
    x, y = np.mean([nodes[c] for c in kids] if kids else list(nodes.values()), axis=0)
    for step in range(40):
        up = _ABOVE / 2 * ((step + 1) // 2) * (1 if step % 2 else -1)
        taken = any(
            abs(x - a) < (widths.get(name, 1.0) + widths.get(v, 1.0)) / 2 + 0.2 and abs(y + up - b) < HEIGHT + 0.2
            for v, (a, b) in nodes.items()
        )
        if not taken:
            return float(x), float(y + up)
    return float(x), float(y)


def _routes(graph: Graph, nodes: Mapping[str, Point], widths: Mapping[str, float]) -> dict[Edge, tuple[Point, ...]]:
    """Each edge by the way that meets fewest nodes and earlier lines; of several such the straightest."""
    routes: dict[Edge, tuple[Point, ...]] = {}
    drawn: list[Floats] = []
    for edge in starmap(Edge, graph.edges()):
        others = [(place, widths.get(v, 1.0)) for v, place in nodes.items() if v not in (edge.first, edge.second)]
        best, least = None, np.inf
        for points in _ways(edge, nodes):
            line = curve(points)
            met = sum(bool((distance(line, place, width) < _CLEAR).any()) for place, width in others)
            inside = line[len(line) // 5 : -len(line) // 5 : max(1, len(line) // 40)]
            cost = _NODE * met + sum(_apart(inside, other) < _NEAR for other in drawn[:_MANY])
            if cost < least:
                best, least, chosen = points, cost, inside
            if not cost:
                break
        assert best is not None
        routes[edge] = best
        drawn.append(chosen)
    return routes


def _ways(edge: Edge, nodes: Mapping[str, Point]) -> Iterator[tuple[Point, ...]]:
    """Straight, then bent more and more to either side."""
    (x0, y0), (x1, y1) = nodes[edge.first], nodes[edge.second]
    side = 1.0 if (x1, y1) >= (x0, y0) else -1.0  # the same from either end
    for bend in _BENDS if edge.kind == "->" else _ARCS:
        over = (x0 + x1) / 2 + side * bend * (y0 - y1), (y0 + y1) / 2 + side * bend * (x1 - x0)
        yield ((x0, y0), over, (x1, y1)) if bend else ((x0, y0), (x1, y1))


def _apart(first: Floats, second: Floats) -> float:
    """The smallest distance of two lines."""
    return float(np.min(np.linalg.norm(first[:, None] - second[None], axis=2)))
