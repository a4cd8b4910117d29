"""All minimal sets that m-separate two sets of variables, one after the other with polynomial delay.

Minimal sets are among the ancestors of both sides, and there they are the minimal vertex separators of an undirected
graph: the moral graph of the ancestors, in which each district and its causes are joined pairwise (van der Zander,
Liśkiewicz and Textor 2014, 2019). Variables that must not be in a set are taken out of that graph and what was next to
them is joined. The separators of what is left are listed by Takata's algorithm (2010).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import TYPE_CHECKING

from halftrek.graphs.order import reachable

if TYPE_CHECKING:
    from halftrek.graphs.graph import Graph

Near = dict[str, set[str]]
_LEFT, _RIGHT = "left", "right"  # the two sides, each as one node


def minimal_separators(
    graph: Graph,
    x: Iterable[str],
    y: Iterable[str],
    *,
    without: Iterable[tuple[str, str]] = (),
    never: Iterable[str] = (),
) -> Iterator[frozenset[str]]:
    """Every minimal set that m-separates ``x`` and ``y``, once; those next to ``x`` come first.

    ``without`` are arrows that count as missing, ``never`` are variables that no set may hold.
    """
    left, right, gone = set(x), set(y), set(without)
    into = {v: [u for u in graph.parents(v) if (u, v) not in gone] for v in graph.observed}
    above = reachable(left | right, into)
    near = _moral(graph, above, into)
    _take_out(near, set(never) & above - left - right)
    order = [v for v in graph.topological_order if v in near and v not in left and v not in right]
    undirected = _Undirected(order, near, left, right)
    for found in undirected.separators():
        yield frozenset(v for i, v in enumerate(order) if found >> i & 1)


def _moral(graph: Graph, above: frozenset[str], into: dict[str, list[str]]) -> Near:
    near: Near = {v: set() for v in above}
    for district in graph.induced(above).districts:
        together = {*district, *(u for v in district for u in into[v])}
        for v in together:
            near[v] |= together
    return {v: others - {v} for v, others in near.items()}


def _take_out(near: Near, variables: set[str]) -> None:
    """Remove variables; two that were joined through them are joined."""
    while variables:
        start = variables.pop()
        group, border, stack = {start}, set[str](), [start]
        while stack:
            for v in near[stack.pop()] - group:
                if v in variables:
                    variables.discard(v)
                    group.add(v)
                    stack.append(v)
                else:
                    border.add(v)
        for v in group:
            del near[v]
        for u, v in combinations(border, 2):
            near[u].add(v)
            near[v].add(u)
        for v in border:
            near[v] -= group


class _Undirected:
    """A graph of which sets of nodes are the bits of a number; the two sides are its last nodes."""

    def __init__(self, order: list[str], near: Near, left: set[str], right: set[str]) -> None:
        self._a, self._b = 1 << len(order), 2 << len(order)
        bit = {v: 1 << i for i, v in enumerate(order)}
        bit |= dict.fromkeys(left, self._a) | dict.fromkeys(right, self._b)
        self._near: dict[int, int] = dict.fromkeys(bit.values(), 0)
        for v, others in near.items():
            for w in others:
                self._near[bit[v]] |= bit[w]
        self._near = {one: others & ~one for one, others in self._near.items()}

    def separators(self) -> Iterator[int]:
        """Every minimal separator of the two sides.

        A minimal separator S is told by the part A that it leaves of the left side: S is what is next to A. Each step
        splits the possible A into those that hold a node v and those that do not; ``close`` gives the least of the
        first kind, so that a branch without any is left at once.
        """
        if self._near[self._a] & self._b:
            return
        stack = [(self._a, self._near[self._b] | self._b)]
        while stack:
            inside, outside = stack.pop()
            inside = self._close(inside)
            if inside & outside:
                continue
            border = self._border(inside)
            choice = border & ~outside
            if not choice:
                yield border
                continue
            v = choice & -choice
            stack += [(inside | v, outside), (inside, outside | v)]

    def _close(self, inside: int) -> int:
        """The part of the left side that the separator nearest to ``inside`` leaves."""
        far = self._part(self._b, self._border(inside))
        return self._part(self._a, self._border(far))

    def _part(self, start: int, removed: int) -> int:
        """The nodes connected with the start when some are removed."""
        found, new = start, start
        while new:
            one = new & -new
            fresh = self._near[one] & ~(found | removed)
            found |= fresh
            new = (new ^ one) | fresh
        return found

    def _border(self, inside: int) -> int:
        around, left = 0, inside
        while left:
            one = left & -left
            around |= self._near[one]
            left ^= one
        return around & ~inside
