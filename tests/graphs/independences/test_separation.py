"""m-separation against networkx and against random models; the basis of independences against all statements."""

import itertools
import random

import networkx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halftrek.errors import GraphError
from halftrek.graphs import Graph
from tests.graphs.random_graphs import graphs, partial_correlation, quick, random_model, statements
from tests.narrow import some


def explicit_dag(graph: Graph) -> networkx.DiGraph:
    """The graph with every bidirected edge and hidden cause as a node."""
    dag = networkx.DiGraph(graph.directed)
    dag.add_nodes_from(graph.observed)
    dag.add_edges_from((("hidden", u), c) for u, kids in graph.latents.items() for c in kids)
    for u, v in graph.bidirected:
        dag.add_edges_from([((u, v), u), ((u, v), v)])
    return dag


@given(graphs())
@quick
def test_m_separation_is_d_separation_with_the_latents_drawn(graph: Graph) -> None:
    dag = explicit_dag(graph)
    for x, y, z in some(statements(graph.observed)):
        assert graph.m_separated(x, y, z) == networkx.is_d_separator(dag, {x}, {y}, set(z))


@given(graphs(names="abcdef", smallest=4), st.randoms(use_true_random=False))
@quick
def test_sets_are_separated_like_networkx_says(graph: Graph, random: random.Random) -> None:
    dag = explicit_dag(graph)
    for _ in range(10):
        names = random.sample(graph.observed, len(graph))
        cut = sorted(random.sample(range(1, len(names)), 2))
        x, y, z = names[: cut[0]], names[cut[0] : cut[1]], names[cut[1] :]
        assert graph.m_separated(x, y, z) == networkx.is_d_separator(dag, set(x), set(y), set(z))


@given(graphs(), st.integers(0, 10**6))
@quick
def test_m_separation_is_a_zero_partial_correlation_and_conversely(graph: Graph, seed: int) -> None:
    models = [random_model(graph, seed), random_model(graph, seed + 1)]
    for x, y, z in some(statements(graph.observed)):
        largest = max(abs(partial_correlation(model, x, y, z)) for model in models)
        if graph.m_separated(x, y, z):
            assert largest < 1e-9
        else:
            assert largest > 1e-9


@given(graphs(names="abcdef"))
@quick
def test_basis_has_one_minimal_statement_for_each_separable_pair(graph: Graph) -> None:
    basis = graph.implied_independences()
    found = {frozenset((x, y)): z for x, y, z in basis}
    assert len(found) == len(basis)
    for x, y in itertools.combinations(graph.observed, 2):
        separable = any(graph.m_separated(a, b, z) for a, b, z in statements(graph.observed) if {a, b} == {x, y})
        assert separable == (frozenset((x, y)) in found)
    for x, y, z in basis:
        assert graph.m_separated(x, y, z)
        for size in range(len(z)):
            assert not any(graph.m_separated(x, y, less) for less in itertools.combinations(z, size))


def test_known_bases() -> None:
    assert Graph([("a", "b"), ("b", "c")]).implied_independences() == [("a", "c", ("b",))]
    assert Graph([("a", "b"), ("c", "b")]).implied_independences() == [("a", "c", ())]
    assert Graph([("a", "b"), ("b", "c")], [("a", "c")]).implied_independences() == []
    verma = Graph([("a", "b"), ("b", "c"), ("c", "d")], [("b", "d")])
    assert verma.implied_independences() == [("a", "c", ("b",))]  # a and d are joined by an inducing path
    assert Graph(latents={"U": ["a", "b", "c"]}).implied_independences() == []


def test_a_variable_is_named_once() -> None:
    graph = Graph([("a", "b"), ("b", "c")])
    with pytest.raises(GraphError, match="'b' is on both sides"):
        graph.m_separated(["a", "b"], ["b", "c"])
    with pytest.raises(GraphError, match="'a' is on an independence and in its condition"):
        graph.m_separated("a", "c", ["a"])
    with pytest.raises(GraphError, match="no observed variable 'd'"):
        graph.m_separated("a", "d")


def test_a_thousand_variables() -> None:
    names = [f"v{i}" for i in range(1000)]
    chain = Graph(list(itertools.pairwise(names)), latents={"U": [names[0], names[2]]})
    assert not chain.m_separated(names[0], names[-1])
    assert chain.m_separated(names[0], names[-1], names[500])
    assert not chain.m_separated(names[0], names[-1], names[1])
