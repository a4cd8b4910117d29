"""The graph itself: its pieces, its order, its districts, what it refuses."""

import itertools
import pickle
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halftrek.errors import GraphError
from halftrek.graphs import Edge, Graph, quoted
from halftrek.graphs.order import find_cycle
from halftrek.notes import Note
from tests.graphs.random_graphs import graphs, quick


def test_names_come_from_stated_then_edges_then_latents() -> None:
    graph = Graph([("b", "a")], [("c", "b")], {"U": ["d", "a"]}, ["lonely"])
    assert graph.observed == ("lonely", "b", "a", "c", "d")
    assert graph.parents("a") == ("b",)
    assert graph.children("b") == ("a",)
    assert graph.children("U") == ("d", "a")
    assert graph.siblings("b") == ("c",)
    assert graph.latent_parents("a") == ("U",)
    assert graph.spouses("a") == ("d",)
    assert "a" in graph
    assert "U" not in graph
    assert len(graph) == 5


def test_ancestors_and_descendants_hold_the_variable_itself() -> None:
    graph = Graph([("a", "b"), ("b", "c"), ("d", "c")])
    assert graph.ancestors("b") == {"a", "b"}
    assert graph.ancestors(["b", "d"]) == {"a", "b", "d"}
    assert graph.descendants("a") == {"a", "b", "c"}
    assert graph.topological_order == ("a", "b", "d", "c")


def test_an_arrow_out_of_a_latent_makes_a_child() -> None:
    assert Graph([("U", "x"), ("U", "y")], latents={"U": []}) == Graph(latents={"U": ["x", "y"]})


@given(graphs(names="abcdef"))
@quick
def test_districts_are_the_classes_of_the_spouse_relation(graph: Graph) -> None:
    together = {v: {v} for v in graph.observed}
    for _ in graph.observed:  # transitive closure, the slow way
        for v in graph.observed:
            for w in list(together[v]):
                together[v] |= {w, *graph.spouses(w)}
    assert {frozenset(d) for d in graph.districts} == {frozenset(s) for s in together.values()}
    rank = {v: i for i, v in enumerate(graph.topological_order)}
    for district in graph.districts:
        assert [rank[v] for v in district] == sorted(rank[v] for v in district)
        assert all(graph.district(v) == district for v in district)


@given(graphs(names="abcdef"))
@quick
def test_order_puts_causes_first_and_bow_free_is_what_it_says(graph: Graph) -> None:
    rank = {v: i for i, v in enumerate(graph.topological_order)}
    assert sorted(rank) == sorted(graph.observed)
    assert all(rank[u] < rank[v] for u, v in graph.directed)
    assert graph.is_bow_free == (not any(u in graph.spouses(v) for u, v in graph.directed))


@given(graphs())
@quick
def test_graph_is_a_value(graph: Graph) -> None:
    turned = Graph(
        graph.directed[::-1],
        [(v, u) for u, v in graph.bidirected],
        {u: kids[::-1] for u, kids in reversed(list(graph.latents.items()))},
        graph.observed[::-1],
    )
    assert turned == graph
    assert hash(turned) == hash(graph)
    assert pickle.loads(pickle.dumps(graph)) == graph
    assert eval(repr(graph), {"Graph": Graph}) == graph


def test_a_bidirected_edge_has_no_direction_also_where_its_covariance_is_known() -> None:
    one = Graph([], [("x", "y")], coefficients={"x <-> y": 0.5})
    other = Graph([], [("y", "x")], coefficients={"x <-> y": 0.5})
    assert one == other
    assert hash(one) == hash(other)
    assert one != Graph([], [("x", "y")], coefficients={"x <-> y": 0.4})
    assert one != Graph([], [("x", "y")])


def test_induced_deletes_and_keeps_what_is_known() -> None:
    graph = Graph(
        [("a", "b"), ("b", "c")],
        [("a", "c")],
        {"U": ["a", "b"], "V": ["b"]},
        coefficients={"a -> b": 0.5, "U -> a": "l", "a <-> c": 0.1, "b -> c": 2},
    )
    kept = graph.induced(["a", "c"])
    assert kept == Graph([], [("a", "c")], {"U": ["a"]}, coefficients={"U -> a": "l", "a <-> c": 0.1})


@quick
@given(graphs(), st.integers(0, 9), st.data())
def test_with_replaces_what_it_is_given_and_keeps_the_rest(graph: Graph, number: int, data: st.DataObject) -> None:
    known = {f"{u} {kind} {v}": float(number) for u, kind, v in graph.edges()[::2]}
    graph = graph.with_(coefficients=known, notes=[Note("indices with holes")])
    same = graph.with_()
    assert same == graph
    assert (same.observed, same.notes, dict(same.coefficients)) == (graph.observed, graph.notes, known)
    assert graph.with_(coefficients={}).coefficients == {}
    more = graph.with_(directed=[*graph.directed, (graph.topological_order[-1], "new")])
    assert set(more.edges()) - set(graph.edges()) == {(graph.topological_order[-1], "->", "new")}
    assert (more.observed, dict(more.coefficients)) == ((*graph.observed, "new"), known)
    assert more.with_(directed=graph.directed, observed=graph.observed) == graph
    for part, pairs in (("directed", graph.directed), ("bidirected", graph.bidirected)):
        if pairs:
            gone = data.draw(st.sampled_from(list(pairs)))
            less = graph.with_(**{part: [pair for pair in pairs if pair != gone]})  # type: ignore[arg-type]
            kind = "->" if part == "directed" else "<->"
            assert set(graph.edges()) - set(less.edges()) == {(gone[0], kind, gone[1])}
            assert dict(less.coefficients) == {k: x for k, x in known.items() if k != f"{gone[0]} {kind} {gone[1]}"}
    assert graph.with_(latents={}).latents == {}


def test_a_known_coefficient_may_be_written_from_either_end() -> None:
    graph = Graph([("x", "y")], [("x", "z")], coefficients={"y <- x": 1, "z<->x": "c"})
    assert dict(graph.coefficients) == {"x -> y": 1.0, "x <-> z": "c"}


@pytest.mark.parametrize(
    ("pieces", "words"),
    [
        ({"directed": [("x", "x")]}, "'x' has an edge to itself"),
        ({"directed": ["xy"]}, "pair of names, not 'xy'"),
        ({"directed": [("x", "y", "z")]}, "pair of names"),
        ({"directed": [("x", 3)]}, "non-empty text, not 3"),
        ({"directed": [("x", " ")]}, "non-empty text"),
        ({"observed": [" x"]}, "begins or ends with a space"),
        ({"observed": ["a -> b"]}, "holds an arrow"),
        ({"observed": "xyz"}, "observed must be a list"),
        ({"latents": {"U": "xyz"}}, "children of 'U' must be a list"),
        ({}, "no observed variable"),
        ({"latents": {"U": []}}, "no observed variable"),
        ({"latents": {"U": ["x"]}, "observed": ["U"]}, "'U' is both latent and observed"),
        ({"directed": [("x", "y")], "coefficients": {"y -> x": 1}}, "no such edge"),
        ({"directed": [("x", "y")], "coefficients": {"x y": 1}}, "an edge is written"),
        ({"directed": [("x", "y")], "coefficients": {"x -> y": float("nan")}}, "finite number"),
        ({"directed": [("x", "y")], "coefficients": {"x -> y": None}}, "finite number or a label"),
        ({"directed": [("x", "y")], "coefficients": {"x -> y": ""}}, "finite number or a label, not ''"),
        ({"directed": [("x", "y")], "coefficients": {"x -> y": "0.5"}}, "reads as the number '0.5'"),
        ({"bidirected": [("x", "y")], "coefficients": {"x <-> y": 1, "y <-> x": 2}}, "two coefficients"),
        ({"directed": [("a", "b"), ("b", "c"), ("c", "a"), ("z", "a")]}, "cycle: a -> b -> c -> a"),
    ],
)
def test_what_is_no_graph_is_refused_in_words(pieces: dict[str, Any], words: str) -> None:
    with pytest.raises(GraphError, match=words):
        Graph(**pieces)


def test_unknown_and_hidden_variables_are_named() -> None:
    graph = Graph([("income", "health")], latents={"U": ["health"]})
    with pytest.raises(GraphError, match="Did you mean 'income'"):
        graph.parents("incone")
    with pytest.raises(GraphError, match="'U' is hidden"):
        graph.ancestors("U")
    with pytest.raises(GraphError, match="name is needed here, not \\['health'\\]"):
        graph.parents(cast("str", ["health"]))


def test_find_cycle_gives_a_real_cycle_not_what_hangs_on_it() -> None:
    arrows = [("r", "a"), ("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("d", "e")]
    cycle = find_cycle(list("reabcd"), arrows)
    assert cycle[0] == cycle[-1]
    assert len(cycle) == 4
    assert all(pair in arrows for pair in itertools.pairwise(cycle))
    assert find_cycle(list("ab"), [("a", "b")]) == []


def test_edge_text() -> None:
    assert Edge.read(str(Edge("a b", "->", "c"))) == ("a b", "->", "c")
    assert Edge.read("y<-x") == ("x", "->", "y")
    assert Edge.read(" y <-> x") == Edge("x", "<->", "y").turned == ("y", "<->", "x")
    for text in ("x", "-> y", "x -- y"):
        with pytest.raises(GraphError, match="an edge is written"):
            Edge.read(text)
    assert quoted("größe_1.b") == "größe_1.b"
    assert quoted('a "b"\\') == '"a \\"b\\"\\\\"'


def test_three_thousand_variables() -> None:
    names = [f"v{i}" for i in range(3000)]
    arrows = [(names[i // 2], names[i]) for i in range(1, 3000)]
    graph = Graph(arrows, zip(names[:1000], names[1000:2000], strict=True), {"U": names[1500:]}, names)
    assert len(graph.districts) == 501


def test_neighbours_of_no_variable_are_refused_by_name() -> None:
    graph = Graph([("x", "y")], latents={"U": ["x", "y"]})
    assert graph.children("U") == ("x", "y")
    cases: tuple[tuple[Any, str], ...] = (
        ("q", "no observed variable 'q'"),
        ("U", "'U' is hidden"),
        (["x"], "name is needed"),
    )
    for near in (graph.parents, graph.siblings, graph.latent_parents, graph.spouses):
        for wrong, words in cases:
            with pytest.raises(GraphError, match=words):
                near(wrong)
