"""Reachability and order in directed graphs, on plain adjacency."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence


def reachable(start: Iterable[str], neighbours: Mapping[str, Iterable[str]]) -> frozenset[str]:
    """The start and everything that can be reached from it."""
    found = set(start)
    stack = list(found)
    while stack:
        for v in neighbours[stack.pop()]:
            if v not in found:
                found.add(v)
                stack.append(v)
    return frozenset(found)


def topological_sort(names: Sequence[str], children: Mapping[str, Iterable[str]]) -> tuple[str, ...]:
    """Causes before effects (Kahn), ties in the given order; shorter than ``names`` if there is a cycle."""
    place = {v: i for i, v in enumerate(names)}
    waiting = dict.fromkeys(names, 0)
    for v in names:
        for c in children[v]:
            waiting[c] += 1
    ready = [place[v] for v in names if not waiting[v]]
    heapq.heapify(ready)
    order: list[str] = []
    while ready:
        v = names[heapq.heappop(ready)]
        order.append(v)
        for c in children[v]:
            waiting[c] -= 1
            if not waiting[c]:
                heapq.heappush(ready, place[c])
    return tuple(order)


def find_cycle(names: Sequence[str], arrows: Iterable[tuple[str, str]]) -> list[str]:
    """Some directed cycle from its first name round to it again; empty if there is none."""
    children: dict[str, list[str]] = {v: [] for v in names}
    for u, v in arrows:
        children[u].append(v)
    order = set(topological_sort(names, children))
    left = [v for v in names if v not in order]
    if not left:
        return []
    parents = {v: u for u in left for v in children[u]}  # every variable left over has a parent left over
    path = [left[0]]
    seen = {path[0]: 0}
    while parents[path[-1]] not in seen:
        path.append(parents[path[-1]])
        seen[path[-1]] = len(path) - 1
    ring = path[seen[parents[path[-1]]] :][::-1]
    place = {v: i for i, v in enumerate(names)}
    first = ring.index(min(ring, key=place.__getitem__))
    return [*ring[first:], *ring[: first + 1]]


def neighbours(names: Iterable[str], pairs: Iterable[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    """For each name, the second ends of the pairs that begin with it."""
    near: dict[str, list[str]] = {v: [] for v in names}
    for u, v in pairs:
        near[u].append(v)
    return {v: tuple(others) for v, others in near.items()}


def connected(
    order: Sequence[str], near: Mapping[str, tuple[str, ...]], hidden: Mapping[str, tuple[str, ...]]
) -> tuple[tuple[str, ...], ...]:
    """Classes of variables that are near each other, or have a hidden cause in common; members in the given order."""
    joined: dict[str, tuple[str, ...]] = dict(near)
    if hidden:  # as nodes of their own: linear also where one has thousands of children
        above = neighbours(order, ((c, u) for u, kids in hidden.items() for c in kids))
        joined = {v: (*beside, *above[v]) for v, beside in joined.items()} | dict(hidden)
    found: dict[str, int] = {}
    groups: list[list[str]] = []
    for v in order:
        if v not in found:
            for w in reachable((v,), joined):
                found[w] = len(groups)
            groups.append([])
        groups[found[v]].append(v)
    return tuple(map(tuple, groups))
