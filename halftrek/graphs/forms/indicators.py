"""A variable of categories as several nodes: one for each of its indicator columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations, product

from halftrek.bottom.words import did_you_mean
from halftrek.errors import GraphError
from halftrek.graphs.graph import Graph


def with_indicators(graph: Graph, indicators: Mapping[str, Sequence[str]]) -> Graph:
    """The graph with a node for each indicator in place of the variable.

    What the variable causes, every indicator causes; what it shares hidden causes with (``<->``), every indicator does;
    and the indicators covary freely, as they must: of two only one can be 1. A linear model has no equation for a
    category, so that nothing may cause it. A graph that has indicators as its own nodes is left as it is.
    """
    indicators = {v: names for v, names in indicators.items() if v in graph.observed or not _drawn(graph, names)}
    for v in indicators:
        _refuse_effect(graph, v)
    for edge in graph.known:
        for end in (edge.first, edge.second):
            if end in indicators:
                raise GraphError(
                    f"{edge}: {end} is a category and has an edge for each of its levels; free this edge, or fix those "
                    f"of the levels with coefficients="
                )
    parts = {v: tuple(indicators.get(v, (v,))) for v in graph.observed}
    among = [pair for names in indicators.values() for pair in combinations(names, 2)]
    return graph.with_(
        directed=_spread(graph.directed, parts),
        bidirected=[*_spread(graph.bidirected, parts), *among],
        observed=[name for v in graph.observed for name in parts[v]],
    )


def _drawn(graph: Graph, names: Sequence[str]) -> bool:
    return any(name in graph.observed for name in names)


def _spread(pairs: Iterable[tuple[str, str]], parts: Mapping[str, tuple[str, ...]]) -> list[tuple[str, str]]:
    return [pair for u, v in pairs for pair in product(parts.get(u, (u,)), parts.get(v, (v,)))]


def _refuse_effect(graph: Graph, variable: str) -> None:
    if variable not in graph.observed:
        hint = did_you_mean(variable, graph.observed)
        raise GraphError(f"categories: {variable!r} is no observed variable of the graph.{hint}")
    above = [*graph.parents(variable), *graph.latent_parents(variable)]
    if above:
        raise GraphError(
            f"{variable} is a category, and {above[0]} -> {variable} makes it an effect, for which a linear model has "
            f"no equation. Take the arrow out, or write {variable} <-> {above[0]} if the two only go together; or code "
            f"{variable} as one 0/1 column of your own"
        )
