"""Changes of a world that make a difference for a variable."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halftrek.identification.local.smooth import with_changes
from halftrek.queries.kinds.variants import Change, Scale, Shift, Target, Variant
from halftrek.queries.types import Composite

if TYPE_CHECKING:
    from halftrek.graphs import Graph


def simplified(graph: Graph, query: Composite) -> Composite:
    """The question with only those changes at each variable that reach it.

    Draws of one variable that different outcomes share may no longer be shared: it tells what has to be known, not what
    the answer is.
    """
    return with_changes(query, lambda v: relevant_changes(graph, v))


def relevant_changes(graph: Graph, v: Variant) -> dict[Target, Change]:
    """What is met on the way back from a variable to its causes, up to what is held."""
    met: set[Target] = set()
    found, stack = {v.variable}, [v.variable]
    while stack:
        here = stack.pop()
        if here in v.changes:
            met.add(here)
            if not isinstance(v.changes[here], Shift | Scale):
                continue
        for cause in graph.parents(here):
            if (cause, here) in v.changes:
                met.add((cause, here))
            elif cause not in found:
                found.add(cause)
                stack.append(cause)
    return {t: _inside(graph, c) for t, c in v.changes.items() if t in met}


def _inside(graph: Graph, change: Change) -> Change:
    if isinstance(change, Variant):
        return Variant(change.variable, relevant_changes(graph, change))
    return change
