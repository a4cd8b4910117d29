"""Paths one by one, against all walks that there are and against m-separation."""

from __future__ import annotations

from itertools import pairwise, permutations

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import halftrek as ht
from halftrek.graphs.independences.paths import Path, paths_between


@st.composite
def small_graphs(draw: st.DrawFn) -> ht.Graph:
    """Five variables, any arrows forwards, any arcs, perhaps a hidden cause."""
    names = [f"v{k}" for k in range(5)]
    pairs = [(u, v) for i, u in enumerate(names) for v in names[i + 1 :]]
    arrows, arcs = (
        draw(st.lists(st.sampled_from(pairs), unique=True)),
        draw(st.lists(st.sampled_from(pairs), max_size=4)),
    )
    hidden = draw(st.sets(st.sampled_from(names), max_size=3))
    return ht.Graph(arrows, arcs, {"U": sorted(hidden)} if len(hidden) > 1 else {}, names)


def every_path(graph: ht.Graph, start: str, end: str) -> set[tuple[tuple[str, str, str], ...]]:
    """All paths as the edges that they meet, by trying every order of stations."""
    joined: dict[frozenset[str], list[tuple[str, str, str]]] = {}
    for edge in graph.edges():
        joined.setdefault(frozenset((edge[0], edge[2])), []).append(tuple(edge))  # type: ignore[arg-type]
    others = [v for v in (*graph.observed, *graph.latents) if v not in (start, end)]
    found: set[tuple[tuple[str, str, str], ...]] = set()
    for size in range(len(others) + 1):
        for between in permutations(others, size):
            ways: list[tuple[tuple[str, str, str], ...]] = [()]
            stations = (start, *between, end)
            for u, v in pairwise(stations):
                ways = [(*way, edge) for way in ways for edge in joined.get(frozenset((u, v)), [])]
            found.update(ways)
    return found


@given(small_graphs())
@settings(max_examples=60, deadline=None)
def test_all_paths_and_no_others(graph: ht.Graph) -> None:
    found, complete = paths_between(graph, "v0", "v4", most=100_000)
    assert complete
    assert len(found) == len({path.edges for path in found})
    assert {tuple(map(tuple, path.edges)) for path in found} == every_path(graph, "v0", "v4")
    lengths = [len(path.edges) for path in found]
    assert lengths == sorted(lengths)


@given(small_graphs(), st.sets(st.sampled_from(["v1", "v2", "v3"])))
@settings(max_examples=150, deadline=None)
def test_a_path_is_open_unless_the_ends_are_separated(graph: ht.Graph, known: set[str]) -> None:
    found, _ = paths_between(graph, "v0", "v4", known, most=100_000)
    assert any(path.open for path in found) == (not graph.m_separated("v0", "v4", known))


@given(small_graphs())
@settings(max_examples=60, deadline=None)
def test_causal_paths_are_the_directed_ones(graph: ht.Graph) -> None:
    found, _ = paths_between(graph, "v0", "v4", most=100_000)
    arrows = nx.DiGraph(graph.directed)
    arrows.add_nodes_from(graph.observed)
    assert {p.variables for p in found if p.kind == "causal"} == {
        tuple(p) for p in nx.all_simple_paths(arrows, "v0", "v4")
    }


def only(text: str, start: str, end: str, *known: str) -> Path:
    (path,) = paths_between(ht.graph(text), start, end, known)[0]
    return path


def test_words_and_kinds() -> None:
    assert str(only("y -> x", "x", "y")) == "x <- y"
    assert only("y -> x", "x", "y").kind == "confounding"
    assert str(only("x <-> y", "x", "y")) == "x <-> y"
    assert only("x -> m -> y", "x", "y", "m").kind == "blocked"
    assert only("x -> c; y -> c; c -> d", "x", "y", "d").open  # what comes of a collider opens it
    assert only("x -> c; y -> c", "x", "y").colliders == ("c",)
    assert only("latent U; U -> x; U -> y", "x", "y").variables == ("x", "U", "y")


def test_many_paths_are_cut_and_said_to_be() -> None:
    layers = "; ".join(f"a{k} -> {{b{k}, c{k}}}; {{b{k}, c{k}}} -> a{k + 1}" for k in range(9))
    found, complete = paths_between(ht.graph(layers), "a0", "a9", most=50)
    assert len(found) == 50
    assert not complete
    everybody = ht.graph(" <-> ".join(f"v{k}" for k in range(20)) + "; v0 -> v1")
    assert paths_between(everybody, "v0", "v19")[0]


def test_ends_that_are_none() -> None:
    graph = ht.graph("x -> y; z")
    assert paths_between(graph, "x", "z") == ((), True)
    with pytest.raises(ht.GraphError, match="twice"):
        paths_between(graph, "x", "x")
    with pytest.raises(ht.GraphError, match="'w'"):
        paths_between(graph, "x", "w")
