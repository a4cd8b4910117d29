"""Graphs that keep many covariances as one block are the graphs of all the pairs, whatever is asked of them."""

import pickle
import random
import tracemalloc
from itertools import combinations

import numpy as np
import pytest

from halftrek.data import Moments
from halftrek.errors import GraphError
from halftrek.estimation import fit
from halftrek.graphs import Arcs, Graph
from halftrek.identification import identify
from halftrek.queries import TotalEffect
from halftrek.storage.codec import decode, encode
from halftrek.syntax import format_graph, parse_graph

NAMES = "abcdefgh"


def blocks(*words: str) -> tuple[tuple[str, ...], ...]:
    """The letters of each word as one block."""
    return tuple(map(tuple, words))


def _both(seed: int) -> tuple[Graph, Graph]:
    """A random graph with blocks, and the same with all pairs written out."""
    rng = random.Random(seed)
    order = list(NAMES)
    rng.shuffle(order)
    directed = [pair for pair in combinations(order, 2) if rng.random() < 0.25]
    shuffled = rng.sample(order, len(order))
    cliques = [tuple(shuffled[:3]), tuple(shuffled[3:7])][: rng.randint(1, 2)]
    inside = {frozenset(p) for block in cliques for p in combinations(block, 2)}
    loose = [p for p in combinations(order, 2) if rng.random() < 0.15 and frozenset(p) not in inside]
    latents = {"U": rng.sample(order, 2)} if rng.random() < 0.4 else {}
    arcs = Arcs(tuple(loose), tuple(cliques))
    return Graph(directed, arcs, latents, order), Graph(directed, tuple(arcs), latents, order)


@pytest.mark.parametrize("seed", range(40))
def test_everything_is_the_same(seed: int) -> None:
    kept, written = _both(seed)
    assert isinstance(kept.bidirected, Arcs)
    assert isinstance(written.bidirected, tuple)
    same = kept
    assert kept == same
    assert kept == written
    assert written == kept
    assert hash(kept) == hash(written)
    assert kept.bidirected == written.bidirected
    assert written.bidirected == kept.bidirected
    assert len(kept.bidirected) == len(written.bidirected)
    assert [kept.bidirected[i] for i in range(-3, 3)] == [written.bidirected[i] for i in range(-3, 3)]
    assert all((p in kept.bidirected) == (p in written.bidirected) for p in combinations(NAMES, 2))
    assert kept.districts == written.districts
    assert kept.is_bow_free == written.is_bow_free
    assert kept.edges() == written.edges()
    assert kept.edge_count == len(written.edges())
    assert kept.implied_independences() == written.implied_independences()
    for v in NAMES:
        assert kept.siblings(v) == written.siblings(v)
        assert kept.spouses(v) == written.spouses(v)
    rng = random.Random(seed)
    for _ in range(10):
        x, y, *given = rng.sample(NAMES, rng.randint(2, 5))
        assert kept.m_separated(x, y, given) == written.m_separated(x, y, given)
        keep = rng.sample(NAMES, 5)
        assert kept.induced(keep) == written.induced(keep)
        assert sorted(kept.induced(keep).bidirected) == sorted(written.induced(keep).bidirected)
        assert kept.project(keep) == written.project(keep)
    assert kept.canonical() == written.canonical()
    assert pickle.loads(pickle.dumps(kept)) == kept
    assert decode(encode(kept)) == kept
    assert repr(kept).replace("(", "[").replace(")", "]").replace(",]", "]") == repr(written).replace("(", "[").replace(
        ")", "]"
    )
    for syntax in ("arrows", "lavaan", "dagitty", "dot"):
        if syntax != "lavaan" or not kept.latents:
            assert parse_graph(format_graph(kept, syntax), syntax) == written


def test_different_graphs_differ() -> None:
    kept = Graph([], Arcs((), blocks("abc", "def")))
    for other in (
        Graph([], Arcs((), blocks("abd", "cef"))),
        Graph([], [*combinations("abd", 2), *combinations("cef", 2)]),
        Graph([], Arcs((("a", "d"),), blocks("abc", "def"))),
        Graph([], Arcs((), blocks("abcdef"))),
    ):
        assert kept != other
        assert other != kept


def test_a_graph_with_another_part_keeps_its_blocks() -> None:
    graph = Graph([("a", "y")], Arcs((("a", "y"),), blocks("abc", "def")), coefficients={"c <-> a": 0.5, "a -> y": 1})
    for other in (
        graph.with_(),
        graph.with_(directed=()),
        graph.with_(latents={"U": ["a", "b"]}),
        graph.with_(notes=()),
    ):
        assert isinstance(other.bidirected, Arcs)
        assert other.bidirected.blocks == blocks("abc", "def")
        assert other.coefficients["a <-> c"] == 0.5
    assert dict(graph.with_(directed=()).coefficients) == {"a <-> c": 0.5}


def test_arcs_are_equal_where_their_pairs_are() -> None:
    arcs = Arcs((("a", "d"),), blocks("abc"))
    assert arcs == Arcs((("a", "d"),), blocks("abc"))
    assert arcs != Arcs((("b", "d"),), blocks("abc"))
    assert arcs != Arcs((("a", "d"),), blocks("abd"))
    assert arcs == (("a", "d"), ("a", "b"), ("a", "c"), ("b", "c"))
    assert arcs != (("a", "d"), ("a", "b"), ("a", "c"), ("b", "d"))
    assert arcs != (("a", "d"), ("a", "b"), ("a", "c"))
    assert arcs != [*arcs]


def test_what_is_no_block() -> None:
    for wrong in (blocks("ab"), blocks("aab"), blocks("abc", "cde"), (("a", "b", " c"),)):
        with pytest.raises(GraphError):
            Arcs((), wrong)
    hidden = Graph([], Arcs((), blocks("abc")), {"b": ["a"]})
    assert hidden.hidden == ("b",)
    assert len(hidden.bidirected) == 3


def test_pairs_within_a_block_are_said_once() -> None:
    graph = Graph([], Arcs((("b", "a"), ("a", "d")), blocks("abc")))
    assert tuple(graph.bidirected) == (("a", "d"), ("a", "b"), ("a", "c"), ("b", "c"))
    known = Graph([], Arcs((("b", "a"),), blocks("abc")), coefficients={"b <-> a": 0.5})
    assert dict(known.coefficients) == {"a <-> b": 0.5}
    assert parse_graph(format_graph(known)) == known


def test_two_thousand_causes_are_one_block() -> None:
    tracemalloc.start()
    graph = parse_graph("y ~ " + " + ".join(f"x{i}" for i in range(2000)))
    assert len(graph.bidirected) == 1_999_000
    assert len(graph.districts) == 2
    assert graph == parse_graph(format_graph(graph))
    assert len(repr(graph)) < 200_000
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 60e6  # two million pairs take hundreds


def test_the_notation_of_a_block() -> None:
    assert parse_graph("{a, b, c} <-> {c, a, b}") == Graph([], combinations("abc", 2))
    many = ", ".join(f"x{i}" for i in range(40))
    graph = parse_graph(f"{{{many}}} <-> {{{many}}}; x0 -> y")
    assert isinstance(graph.bidirected, Arcs)
    assert format_graph(graph) == f"x0 -> y\n{{{many}}} <-> {{{many}}}" or "observed" in format_graph(graph)
    assert parse_graph(format_graph(graph)) == graph
    twice = parse_graph(f"{{{many}}} <-> {{{many}}}; {{x0, x1, z}} <-> {{x0, x1, z}}")
    assert len(twice.bidirected) == 40 * 39 // 2 + 2


def test_a_block_of_causes_is_fitted_by_its_moments() -> None:
    rng = np.random.default_rng(1)
    names = [f"x{i}" for i in range(40)]
    rows = rng.normal(size=(300, 41)) @ rng.normal(size=(41, 41))
    moments = Moments((*names, "y"), 300, rows.mean(axis=0), np.cov(rows.T, bias=True))
    graph = parse_graph("y ~ " + " + ".join(names))
    assert isinstance(graph.bidirected, Arcs)
    found = fit(graph, moments)
    assert found.status.converged
    order = [found.model.names.index(v) for v in moments.names]
    assert found.model.cov[np.ix_(order, order)] == pytest.approx(moments.cov, rel=1e-8, abs=1e-8)
    _, logdet = np.linalg.slogdet(moments.cov)
    assert found.loglik == pytest.approx(-150 * (41 * np.log(2 * np.pi) + logdet + 41))
    assert identify(graph, TotalEffect("x3", "y")).identified
