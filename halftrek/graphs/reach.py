"""Who causes whom, for all pairs at once: sets of variables and of edges are the bits of numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from halftrek.graphs.graph import Graph


def reach_of(graph: Graph) -> Reach:
    """Of a graph, which keeps it: for those who ask of many pairs."""
    return graph._reach


class Reach:
    """The directed paths of a graph. Bit i of some variables is the i-th in causal order, of some edges the i-th."""

    def __init__(self, order: tuple[str, ...], edges: Sequence[tuple[str, str]]) -> None:
        self.order = order
        self.edges = edges
        self.place = {v: i for i, v in enumerate(order)}

    @cached_property
    def _sweeps(self) -> tuple[list[int], list[int], list[int], list[int]]:
        """For each variable: it and what it causes, it and its causes, the edges out of the first, those into these."""
        count, place = len(self.order), self.place
        down, up = [1 << i for i in range(count)], [1 << i for i in range(count)]
        tails, heads = [0] * count, [0] * count
        out: list[list[tuple[int, int]]] = [[] for _ in range(count)]
        into: list[list[tuple[int, int]]] = [[] for _ in range(count)]
        for k, (u, v) in enumerate(self.edges):
            out[place[u]].append((place[v], 1 << k))
            into[place[v]].append((place[u], 1 << k))
        for i in range(count):
            for j, edge in into[i]:
                up[i] |= up[j]
                heads[i] |= heads[j] | edge
        for i in reversed(range(count)):
            for j, edge in out[i]:
                down[i] |= down[j]
                tails[i] |= tails[j] | edge
        return down, up, tails, heads

    def below(self, cause: str) -> int:
        """The variable and all that it causes."""
        return self._sweeps[0][self.place[cause]]

    def above(self, effect: str) -> int:
        """The variable and all that cause it."""
        return self._sweeps[1][self.place[effect]]

    def inside(self, cause: str, effect: str) -> int:
        """Variables on directed paths from one to the other, the ends not counted."""
        i, j = self.place[cause], self.place[effect]
        return self._sweeps[0][i] & self._sweeps[1][j] & ~(1 << i | 1 << j)

    def edges_between(self, cause: str, effect: str) -> int:
        """The edges on directed paths from one to the other."""
        return self._sweeps[2][self.place[cause]] & self._sweeps[3][self.place[effect]]

    def edge(self, cause: str, effect: str) -> int:
        """The edge from one to the other, if there is one."""
        k = self._number.get((cause, effect))
        return 0 if k is None else 1 << k

    @cached_property
    def _number(self) -> dict[tuple[str, str], int]:
        return {edge: k for k, edge in enumerate(self.edges)}

    def bits(self, variables: Iterable[str]) -> int:
        """A set of variables as a number."""
        found = 0
        for v in variables:
            found |= 1 << self.place[v]
        return found

    def names(self, variables: int) -> Iterator[str]:
        """The variables of a set, causes first."""
        return (self.order[i] for i in members(variables))

    def edges_of(self, edges: int) -> list[tuple[str, str]]:
        """The edges of a set, in the order of the graph."""
        return [self.edges[k] for k in members(edges)]


def members(bits: int) -> Iterator[int]:
    """The places of the bits that are set, lowest first."""
    while bits:
        low = bits & -bits
        yield low.bit_length() - 1
        bits ^= low
