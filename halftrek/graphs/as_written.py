"""A graph as it is written, which is what may be remembered of it."""

from __future__ import annotations

from halftrek.graphs.graph import Graph


class Written:
    """Equal only to a graph that lists the same things in the same order: the key of everything that is remembered.

    Graphs that differ in order are equal, but their tables have other rows first and their sums other last digits.
    Nothing that a user is told may depend on what was asked before.
    """

    __slots__ = ("graph",)

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    def __hash__(self) -> int:
        return hash(self.graph)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Written):
            return NotImplemented
        a, b = self.graph, other.graph
        return a is b or (
            a.observed == b.observed
            and a.directed == b.directed
            and a.bidirected == b.bidirected
            and list(a.latents.items()) == list(b.latents.items())
            and list(a.known.items()) == list(b.known.items())
            and a.hidden == b.hidden
            and list(a.variances.items()) == list(b.variances.items())
            and list(a.intercepts.items()) == list(b.intercepts.items())
        )
