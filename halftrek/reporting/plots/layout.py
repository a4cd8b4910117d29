"""Places for a graph's nodes and routes for its edges: causes to the left of their effects, few crossings.

The method of Sugiyama, Tagawa and Toda (1981): columns by longest path, order within columns by sweeps of medians,
heights by sweeps of averages. Edges that pass a column get a place of their own in it, so that no edge runs through
a node. A bidirected edge is laid out like a hidden cause of its two ends; its place becomes the top of its arc.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from halftrek.graphs import Edge

if TYPE_CHECKING:
    from halftrek.graphs import Graph

Point = tuple[float, float]

_COLUMN = 1.9  # distance of neighbouring columns of observed variables, in heights of a node
_GAP = 1.5  # vertical distance of neighbouring nodes
_CLIMB = 0.55  # width for one unit that an edge climbs: a steeper one would touch the nodes above or below its ends
_PASS = 0.75  # ... of an edge that passes by, to its neighbour


@dataclass(frozen=True)
class Layout:
    """Centres of the nodes, and for each edge ``(from, kind, to)`` the points that its line visits."""

    nodes: Mapping[str, Point]
    routes: Mapping[Edge, tuple[Point, ...]]


@dataclass(frozen=True)
class _Net:
    """What is laid out: places (nodes, passes, arcs) in columns and the pieces of edges that join them."""

    columns: dict[int, list[str]]
    pieces: list[tuple[str, str]]
    chains: dict[Edge, list[str]]
    light: frozenset[str]  # places of hidden causes and arcs: they yield to the others
    passes: frozenset[str]


def lay_out(graph: Graph, widths: Mapping[str, float] | None = None) -> Layout:
    """The places of a graph's nodes; ``widths`` of nodes in heights, where they are wider than high."""
    net = _order_columns(_net_of(graph))
    heights = _heights(net)
    across = _across(net, widths or {}, heights)
    place = {v: (across[k], heights[v]) for k, members in net.columns.items() for v in members}
    nodes = {v: place[v] for v in (*graph.observed, *graph.latents)}
    return Layout(nodes, {edge: tuple(place[v] for v in chain) for edge, chain in net.chains.items()})


def _net_of(graph: Graph) -> _Net:
    rank = _ranks(graph)
    columns: dict[int, list[str]] = {}
    for v in graph.topological_order:
        columns.setdefault(rank[v], []).append(v)
    light: list[str] = []
    for u, kids in graph.latents.items():
        rank[u] = _between([rank[c] for c in kids])
        columns.setdefault(rank[u], []).append(u)
        light.append(u)
    passes: list[str] = []
    for u, v in graph.bidirected:
        top = f"{u}<->{v}"
        rank[top] = _between([rank[u], rank[v]])
        columns.setdefault(rank[top], []).append(top)
        light.append(top)
        passes.append(top)
    pieces: list[tuple[str, str]] = []

    def connect(start: str, end: str, label: str) -> list[str]:
        chain, step = [start], 1 if rank[end] > rank[start] else -1
        for k in range(rank[start] + step, rank[end], step):
            if k in columns:
                chain.append(f"{label}@{k}")
                columns[k].append(chain[-1])
        chain.append(end)
        passes.extend(chain[1:-1])
        if start in light:
            light.extend(chain[1:-1])
        pieces.extend(pairwise(chain))
        return chain

    chains: dict[Edge, list[str]] = {Edge(u, "->", v): connect(u, v, f"{u}->{v}") for u, v in graph.directed}
    for u, kids in graph.latents.items():
        chains.update({Edge(u, "->", c): connect(u, c, f"{u}->{c}") for c in kids})
    for u, v in graph.bidirected:
        top = f"{u}<->{v}"
        back, forth = connect(top, u, f"{top}<"), connect(top, v, f"{top}>")
        chains[Edge(u, "<->", v)] = [*reversed(back), *forth[1:]]
    return _Net(columns, pieces, chains, frozenset(light), frozenset(passes))


def _ranks(graph: Graph) -> dict[str, int]:
    """Even columns by the longest path; a root is drawn up to its first effect."""
    rank: dict[str, int] = {}
    for v in graph.topological_order:
        rank[v] = 2 + max((rank[p] for p in graph.parents(v)), default=-2)
    for v in reversed(graph.topological_order):
        kids = graph.children(v)
        if kids and not graph.parents(v):
            rank[v] = min(rank[c] for c in kids) - 2
    return rank


def _between(ranks: Sequence[int]) -> int:
    """The column nearest to the middle of some others that is none of them, so that no edge stays in a column."""
    low, high = min(ranks, default=0), max(ranks, default=0)
    middle = sum(ranks) / max(1, len(ranks))
    free = [k for k in range(low - 1, high + 1) if k not in ranks]
    return min(free, key=lambda k: (k < low and low < high, abs(k - middle), k))


def _order_columns(net: _Net) -> _Net:
    """Orders the columns so that pieces of edges cross little; the best of a fixed number of sweeps is kept."""
    sides = _sides(net)
    order = {k: list(members) for k, members in sorted(net.columns.items())}
    best, fewest = {k: list(m) for k, m in order.items()}, _crossings(order, sides)
    for sweep in range(24):
        if fewest == 0:
            break
        forward = sweep % 2 == 0
        position = _positions(order)
        for k in sorted(order, reverse=not forward):
            pull = {}
            for v in order[k]:
                behind = sides[v][0 if forward else 1] or sides[v][1 if forward else 0]
                pull[v] = _mean([position[w] for w in behind], position[v])
            order[k].sort(key=lambda v: (pull[v], position[v]))
            position.update(_positions({k: order[k]}))
        _swap_neighbours(order, sides)
        crossings = _crossings(order, sides)
        if crossings < fewest:
            best, fewest = {k: list(m) for k, m in order.items()}, crossings
    return _Net(best, net.pieces, net.chains, net.light, net.passes)


def _sides(net: _Net) -> dict[str, tuple[list[str], list[str]]]:
    """For each place those before it and those after it; pieces join neighbouring columns only."""
    column_of = {v: k for k, members in net.columns.items() for v in members}
    sides: dict[str, tuple[list[str], list[str]]] = {v: ([], []) for v in column_of}
    for u, v in net.pieces:
        first, second = (u, v) if column_of[u] < column_of[v] else (v, u)
        sides[first][1].append(second)
        sides[second][0].append(first)
    return sides


def _positions(order: Mapping[int, Sequence[str]]) -> dict[str, float]:
    return {v: i - (len(m) - 1) / 2 for m in order.values() for i, v in enumerate(m)}


def _swap_neighbours(order: dict[int, list[str]], sides: Mapping[str, tuple[list[str], list[str]]]) -> None:
    """Exchanges neighbours in a column where that lowers the number of crossings, until nothing is gained."""
    position = _positions(order)
    for _ in range(8):
        gained = False
        for members in order.values():
            for i in range(len(members) - 1):
                u, v = members[i], members[i + 1]
                if _crossings_of(u, v, sides, position) > _crossings_of(v, u, sides, position):
                    members[i], members[i + 1] = v, u
                    position[u], position[v] = position[v], position[u]
                    gained = True
        if not gained:
            return


def _crossings_of(
    u: str, v: str, sides: Mapping[str, tuple[list[str], list[str]]], position: Mapping[str, float]
) -> int:
    """How often the pieces of ``u`` and ``v`` cross when ``u`` is below ``v``."""
    return sum(
        position[a] > position[b] for mine, other in zip(sides[u], sides[v], strict=True) for a in mine for b in other
    )


def _crossings(order: Mapping[int, Sequence[str]], sides: Mapping[str, tuple[list[str], list[str]]]) -> int:
    position = _positions(order)
    found = 0
    for members in order.values():
        ends = [position[w] for v in members for w in sorted(sides[v][1], key=position.__getitem__)]
        passed: list[float] = []  # ends of the pieces that began lower, sorted: those above this end are crossed
        for end in ends:
            found += len(passed) - bisect_right(passed, end)
            insort(passed, end)
    return found


def _heights(net: _Net) -> dict[str, float]:
    """Heights near the average of the neighbours', with the order and the distances in each column kept."""
    beside = _neighbours(net)
    firm = {v: beside[v] if v in net.light else [w for w in beside[v] if w not in net.light] for v in beside}
    heights = {v: _GAP * (i - (len(m) - 1) / 2) for m in net.columns.values() for i, v in enumerate(m)}
    columns = sorted(net.columns)
    for sweep in range(60):
        for k in columns if sweep % 2 == 0 else reversed(columns):
            members = net.columns[k]
            wishes = [_mean([heights[w] for w in (firm[v] or beside[v])], heights[v]) for v in members]
            weights = [0.001 if v in net.light else 0.3 if v in net.passes else 1.0 for v in members]
            gaps = [_PASS if {v, w} & net.passes else _GAP for v, w in pairwise(members)]
            heights.update(zip(members, _spread(wishes, weights, gaps), strict=True))
    return heights


def _spread(wishes: Sequence[float], weights: Sequence[float], gaps: Sequence[float]) -> list[float]:
    """The places nearest to the wishes, in weighted squares, that keep order and gaps (pool adjacent violators)."""
    offsets = [0.0]
    for gap in gaps:
        offsets.append(offsets[-1] + gap)
    blocks: list[tuple[float, float, int]] = []  # (value, weight, members)
    for wish, weight, offset in zip(wishes, weights, offsets, strict=False):
        value, mass, count = wish - offset, weight, 1
        while blocks and blocks[-1][0] > value:
            before, heavy, members = blocks.pop()
            value = (value * mass + before * heavy) / (mass + heavy)
            mass, count = mass + heavy, count + members
        blocks.append((value, mass, count))
    level = [value for value, _, count in blocks for _ in range(count)]
    return [v + offset for v, offset in zip(level, offsets, strict=False)]


def _across(net: _Net, widths: Mapping[str, float], heights: Mapping[str, float]) -> dict[int, float]:
    """Horizontal places of the columns: wide enough for their widest node and for edges that climb."""
    first, last = min(net.columns), max(net.columns)
    climbs = _climbs(net, heights)
    width = {k: max((widths.get(v, 0.0) for v in net.columns.get(k, ())), default=0.0) for k in range(first, last + 1)}
    across = {first: 0.0}
    for k in range(first + 1, last + 1):
        across[k] = across[k - 1] + _COLUMN / 2
        reach = max(k - 2, first)
        for j, room in ((reach, 1.15), (k - 1, 0.6)):
            if width[j] and width[k]:
                across[k] = max(across[k], across[j] + (width[j] + width[k]) / 2 + room)
        for j, climb in climbs.get(k, ()):
            across[k] = max(across[k], across[j] + _CLIMB * (climb - _GAP))
    return across


def _climbs(net: _Net, heights: Mapping[str, float]) -> dict[int, list[tuple[int, float]]]:
    """For each column those before it from which a piece comes, and how far the piece climbs."""
    column_of = {v: k for k, members in net.columns.items() for v in members}
    found: dict[int, list[tuple[int, float]]] = {}
    for u, v in net.pieces:
        low, high = sorted((column_of[u], column_of[v]))
        found.setdefault(high, []).append((low, abs(heights[u] - heights[v])))
    return found


def _neighbours(net: _Net) -> dict[str, list[str]]:
    beside: dict[str, list[str]] = {v: [] for members in net.columns.values() for v in members}
    for u, v in net.pieces:
        beside[u].append(v)
        beside[v].append(u)
    return beside


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise
