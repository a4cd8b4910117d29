"""A category as several nodes: every edge is spread over the indicators, and nothing else changes."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings

import halftrek as ht
from halftrek.errors import GraphError
from halftrek.graphs import with_indicators
from tests.graphs.random_graphs import graphs


@given(graphs())
@settings(max_examples=60, deadline=None)
def test_edges_are_spread_and_the_rest_stays(graph: ht.Graph) -> None:
    roots = [v for v in graph.observed if not graph.parents(v) and not graph.latent_parents(v)]
    assume(roots)
    chosen = roots[0]
    parts = [f"{chosen}=b", f"{chosen}=c"]
    found = with_indicators(graph, {chosen: parts})

    def back(v: str) -> str:
        return chosen if v in parts else v

    assert {(back(u), back(v)) for u, v in found.directed} == set(graph.directed)
    assert len(found.directed) == len(graph.directed) + len(graph.children(chosen))
    arcs = {frozenset(pair) for pair in found.bidirected} - {frozenset(parts)}
    assert {frozenset(map(back, pair)) for pair in arcs} == set(map(frozenset, graph.bidirected))
    assert frozenset(parts) in set(map(frozenset, found.bidirected))
    assert dict(found.latents) == dict(graph.latents)
    assert list(dict.fromkeys(map(back, found.observed))) == list(graph.observed)
    assert with_indicators(found, {chosen: parts}) == found  # drawn already


def test_one_indicator_is_a_0_1_node() -> None:
    graph = ht.graph("arm -> y; arm <-> z; z -> y")
    assert with_indicators(graph, {"arm": ["arm=new"]}) == ht.graph('"arm=new" -> y; "arm=new" <-> z; z -> y')


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x -> arm -> y", "x -> arm makes it an effect"),
        ("latent U; U -> {arm, y}", "U -> arm makes it an effect"),
        ("arm -> y [a]; x -> y [a]", "an edge for each of its levels"),
        ("x -> y", "'arm' is no observed variable"),
    ],
)
def test_what_has_no_meaning_is_refused(text: str, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        with_indicators(ht.graph(text), {"arm": ["arm=new", "arm=old"]})
