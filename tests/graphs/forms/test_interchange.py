"""networkx both ways."""

from collections.abc import Sequence
from typing import Any

import networkx
import pytest
from hypothesis import given

from halftrek.errors import GraphError
from halftrek.graphs import Graph
from tests.graphs.random_graphs import graphs, quick


@given(graphs())
@quick
def test_round_trip(graph: Graph) -> None:
    back = Graph.from_networkx(graph.to_networkx())
    assert back == graph
    assert back.observed == graph.observed


def test_attributes() -> None:
    graph = Graph([("x", "y")], [("x", "y")], {"U": ["y"]}, coefficients={"x -> y": 0.5, "x <-> y": "r", "U -> y": "l"})
    drawn = graph.to_networkx()
    assert drawn.nodes["U"] == {"hidden": True}
    assert drawn.nodes["x"] == {"hidden": False}
    assert drawn.edges["x", "y", "directed"] == {"kind": "directed", "coefficient": 0.5}
    assert drawn.edges["x", "y", "bidirected"] == {"kind": "bidirected", "coefficient": "r"}
    assert Graph.from_networkx(drawn) == graph


def test_plain_digraph_with_numbers_for_names() -> None:
    plain = networkx.DiGraph([(1, 2), (2, 3), ("U", 1), ("U", 3), ("V", 2)])
    plain.nodes["U"]["observed"] = "no"
    plain.nodes["V"]["latent"] = True
    assert Graph.from_networkx(plain) == Graph([("1", "2"), ("2", "3")], latents={"U": ["1", "3"], "V": ["2"]})


def test_a_bidirected_edge_may_be_given_in_both_directions() -> None:
    plain = networkx.DiGraph()
    plain.add_edge("x", "y", kind="bidirected", coefficient=0.2)
    plain.add_edge("y", "x", kind="bidirected", coefficient=0.2)
    assert Graph.from_networkx(plain) == Graph([], [("x", "y")], coefficients={"x <-> y": 0.2})


def make(
    edges: Sequence[tuple[str, str, dict[str, Any]]] = (),
    nodes: Sequence[tuple[Any, dict[str, Any]]] = (),
    kind: type[networkx.DiGraph] = networkx.DiGraph,
) -> networkx.DiGraph:
    drawn = kind()
    for node, marks in nodes:
        drawn.add_node(node, **marks)
    for u, v, marks in edges:
        drawn.add_edge(u, v, **marks)
    return drawn


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (networkx.Graph([("a", "b")]), "undirected networkx graph"),
        ("a -> b", "not str"),
        (make([("a", "b", {"kind": "wavy"})]), "kind='wavy'"),
        (make(nodes=[(1, {}), ("1", {})]), "would both be called '1'"),
        (make([("a", "b", {})], [("a", {"hidden": True, "observed": "yes"})]), "both hidden and observed"),
        (make([("a", "b", {})], [("a", {"hidden": "maybe"})]), "hidden='maybe'"),
        (make([("a", "b", {}), ("b", "a", {})]), "cycle"),
        (
            make([("a", "b", {"coefficient": 1}), ("a", "b", {"coefficient": 2})], kind=networkx.MultiDiGraph),
            "two coefficients",
        ),
    ],
)
def test_what_cannot_be_read(source: Any, words: str) -> None:
    with pytest.raises(GraphError, match=words):
        Graph.from_networkx(source)
