"""A basis of the independences that a graph implies, with sets of variables as the bits of numbers.

Among the ancestors of a pair every collider is open once all of them are given: then x is next to its causes, its
effects, the districts of both itself and these, and all that causes those. ``separation`` has the same walks step by
step, for any question.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from halftrek.graphs.reach import members, reach_of

if TYPE_CHECKING:
    from halftrek.graphs.graph import Graph


def separable_pairs(graph: Graph) -> list[tuple[str, str, tuple[str, ...]]]:
    """One ``(x, y, given)`` for each pair that is not adjacent and that some set separates; ``given`` is minimal."""
    order, reach = graph.topological_order, reach_of(graph)
    near = _Near(graph)
    above = [reach.above(v) for v in order]
    found: list[tuple[str, str, tuple[str, ...]]] = []
    for j, y in enumerate(order):
        adjacent = near.around[j]
        for i in range(j):
            if adjacent >> i & 1:
                continue
            given = near.separator(i, j, above[i] | above[j])
            if given is not None:
                found.append((order[i], y, tuple(order[k] for k in members(given))))
    return found


class _Near:
    """For each variable, in causal order: its causes, its effects, and those whose errors covary with its own."""

    def __init__(self, graph: Graph) -> None:
        reach = reach_of(graph)
        self.into = [reach.bits(graph.parents(v)) for v in graph.topological_order]
        self.out = [reach.bits(graph.children(v)) for v in graph.topological_order]
        self.arcs = [reach.bits(graph.spouses(v)) for v in graph.topological_order]
        triples = list(zip(self.into, self.out, self.arcs, strict=True))
        self.around = [a | b | c for a, b, c in triples]
        self.heads = [b | c for _, b, c in triples]  # what is entered over an arrowhead
        self.behind = [a | c for a, _, c in triples]  # where a walk goes on from a collider

    def separator(self, x: int, y: int, pool: int) -> int | None:
        """A set that separates two variables and of which none can be spared; ``pool`` are their ancestors."""
        ends = 1 << x | 1 << y
        beside = self._beside(x, pool)
        if beside >> y & 1:
            return None
        beside &= ~ends
        return self._met(y, beside, pool)

    def _beside(self, x: int, pool: int) -> int:
        """What is next to x when all of the pool is given."""
        heads = (self.out[x] | self.arcs[x]) & pool
        new, found = heads, self.into[x]
        while new:
            more = 0
            for v in members(new):
                found |= self.into[v]
                more |= self.arcs[v]
            new = more & pool & ~heads
            heads |= new
        return found | heads

    def _met(self, y: int, blocked: int, pool: int) -> int:
        """Which of the blocked are met by walks from y that end there, unless they run into one head on."""
        free, shut, unmet = pool & ~blocked & ~(1 << y), blocked, blocked  # shut: not entered over a head yet
        waiting, colliders = 1 << y, 0
        while waiting or colliders:
            if waiting:
                v = waiting.bit_length() - 1
                waiting ^= 1 << v
                around, heads = self.around[v], self.heads[v] & shut
            else:
                v = colliders.bit_length() - 1
                colliders ^= 1 << v
                around, heads = self.behind[v], self.arcs[v] & shut
            unmet &= ~around
            if not unmet:
                return blocked
            if heads:
                shut ^= heads
                colliders |= heads
            new = around & free
            if new:
                free ^= new
                waiting |= new
        return blocked & ~unmet
