"""Which independences a graph implies: m-separation and a basis of separable pairs."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from halftrek.errors import GraphError
from halftrek.graphs.independences.basis import separable_pairs
from halftrek.graphs.order import reachable

if TYPE_CHECKING:
    from halftrek.graphs.graph import Graph


def m_separated(graph: Graph, x: Iterable[str], y: Iterable[str], given: Iterable[str]) -> bool:
    """True if every path between ``x`` and ``y`` is blocked by ``given``; linear in the size of the graph.

    A walk is blocked at a collider that is no ancestor of ``given``, and at any other variable in ``given``.
    """
    return Walks(graph).separated(x, y, given)


def implied_independences(graph: Graph) -> list[tuple[str, str, tuple[str, ...]]]:
    """One ``(x, y, given)`` for each pair that is not adjacent and that some set separates; ``given`` is minimal.

    If any set separates a pair, then its observed ancestors do (Richardson and Spirtes 2002); of these the ones next to
    x are kept, of these the ones next to y, which leaves a set none of whose members can be spared (van der Zander,
    Liśkiewicz and Textor 2019).
    """
    return separable_pairs(graph)


def minimal_separator(walks: Walks, x: str, y: str, pool: frozenset[str]) -> frozenset[str] | None:
    """A set that separates x and y and none of whose members can be spared; ``pool`` are their ancestors."""
    ends = {x, y}
    everything = pool - ends
    from_x = walks.visited((x,), everything, pool, within=pool)
    if y in from_x:
        return None
    beside_x = everything & from_x
    return beside_x & walks.visited((y,), beside_x, pool, within=pool)


class Walks:
    """The edges of a graph, hidden causes as nodes, laid out for walking."""

    def __init__(self, graph: Graph, without: Iterable[tuple[str, str]] = ()) -> None:
        """``without`` are arrows that count as missing."""
        self._observed = graph.observed
        self._hidden = frozenset((*graph.latents, *graph._hubs))  # a block joins its members as a hidden cause does
        self._into, self._out, self._arcs = graph._ways
        gone = tuple(without)
        if gone:
            self._into, self._out = dict(self._into), dict(self._out)
        for u, v in gone:
            self._into[v] = tuple(w for w in self._into[v] if w != u)
            self._out[u] = tuple(w for w in self._out[u] if w != v)

    def separated(
        self, x: Iterable[str], y: Iterable[str], given: Iterable[str], *, within: Collection[str] | None = None
    ) -> bool:
        """True if every path between ``x`` and ``y`` is blocked by ``given``.

        Open paths stay among the ancestors of all three, so ``within`` may be any set of variables that holds these.
        """
        start, goal, blocked = tuple(x), set(y), set(given)
        for here, there, words in (
            (set(start), goal, "both sides of an independence"),
            (set(start) | goal, blocked, "an independence and in its condition"),
        ):
            if not here.isdisjoint(there):
                name = next(v for v in self._observed if v in here and v in there)
                raise GraphError(f"{name!r} is on {words}; name it once")
        colliders = reachable(blocked, self._into)
        return goal.isdisjoint(self.visited(start, blocked, colliders, within))

    def visited(
        self,
        start: Iterable[str],
        blocked: Collection[str],
        open_colliders: Collection[str],
        within: Collection[str] | None = None,
    ) -> set[str]:
        """Every node that an open walk from ``start`` arrives at, blocked ones included.

        Each node is entered at most twice: over an arrowhead, and over a tail. ``within`` keeps the walk among these
        observed variables.
        """
        begin = set(start)
        over_head: set[str] = set()
        over_tail: set[str] = set(begin)
        stack = [(v, False) for v in begin]
        while stack:
            v, entered_at_head = stack.pop()
            passes = v in begin or v not in blocked
            if passes:
                for w in self._out[v]:
                    if w not in over_head and (within is None or w in within):
                        over_head.add(w)
                        stack.append((w, True))
            if v in self._hidden or not (v in open_colliders if entered_at_head else passes):
                continue
            for w in self._into[v]:
                if w not in over_tail and (within is None or w in within or w in self._hidden):
                    over_tail.add(w)
                    stack.append((w, False))
            for w in self._arcs[v]:
                if w not in over_head and (within is None or w in within):
                    over_head.add(w)
                    stack.append((w, True))
        return over_head | over_tail
