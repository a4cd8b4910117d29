"""Latent projection and canonical form keep what they must keep."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from halftrek.errors import GraphError
from halftrek.graphs import Graph
from tests.graphs.random_graphs import graphs, quick, random_model, statements


@given(graphs(names="abcdef"), st.data())
@quick
def test_projection_keeps_every_m_separation(graph: Graph, data: st.DataObject) -> None:
    onto = [v for v in graph.observed if data.draw(st.booleans())] or [graph.observed[0]]
    projected = graph.project(onto)
    assert projected.observed == tuple(onto)
    assert not projected.latents
    for x, y, z in statements(onto):
        assert projected.m_separated(x, y, z) == graph.m_separated(x, y, z)
    for x in onto:
        assert projected.descendants(x) == graph.descendants(x) & set(onto)


@given(graphs(names="abcdef"), st.data())
@quick
def test_projection_in_two_steps_is_projection_at_once(graph: Graph, data: st.DataObject) -> None:
    some = [v for v in graph.observed if data.draw(st.integers(0, 3))] or [graph.observed[0]]
    few = [v for v in some if data.draw(st.booleans())] or [some[0]]
    assert graph.project(some).project(few) == graph.project(few)


@given(graphs(names="abcdef"), st.data(), st.integers(0, 10**6))
@quick
def test_projected_graph_has_an_edge_for_every_weight_of_the_marginal_model(
    graph: Graph, data: st.DataObject, seed: int
) -> None:
    """Solve the removed variables out of the equations: what is left has the pattern of the projection."""
    onto = [v for v in graph.observed if data.draw(st.booleans())]
    assume(len(onto) >= 2)
    model = random_model(graph, seed)
    kept = [model.names.index(v) for v in onto]
    gone = [i for i in range(len(model.names)) if i not in kept]
    through = np.linalg.inv(np.eye(len(gone)) - model.T[np.ix_(gone, gone)])
    spread = through @ model.T[np.ix_(gone, kept)]  # removed error -> kept equation
    weights = model.T[np.ix_(kept, kept)] + model.T[np.ix_(kept, gone)] @ spread
    errors = np.zeros((len(model.names), len(kept)))
    errors[kept, range(len(kept))] = 1.0
    errors[gone] = spread
    covariance = errors.T @ model.omega @ errors
    projected = graph.project(onto)
    for (i, u), (j, v) in permutations(enumerate(onto), 2):
        assert ((u, v) in projected.directed) == (abs(weights[i, j]) > 1e-9)
        assert (v in projected.siblings(u)) == (abs(covariance[i, j]) > 1e-9)


def test_a_latent_becomes_a_clique_and_a_lone_child_nothing() -> None:
    graph = Graph(latents={"U": ["a", "b", "c"], "V": ["a"], "W": []}, observed=["d"])
    assert graph.project() == Graph(bidirected=[("a", "b"), ("a", "c"), ("b", "c")], observed=["d"])


def test_projection_keeps_coefficients_of_edges_that_stand_alone() -> None:
    graph = Graph(
        [("a", "b"), ("a", "m"), ("m", "b"), ("b", "c")],
        [("a", "c"), ("b", "c")],
        {"U": ["a", "c"]},
        coefficients={"a -> b": 0.5, "b -> c": 2.0, "a <-> c": 0.1, "b <-> c": "r", "a -> m": 1.0, "U -> a": 1.0},
    )
    assert dict(graph.project().coefficients) == {"a -> b": 0.5, "a -> m": 1.0, "b -> c": 2.0, "b <-> c": "r"}
    assert dict(graph.project(["a", "b", "c"]).coefficients) == {"b -> c": 2.0, "b <-> c": "r"}


@given(graphs())
@quick
def test_canonical_has_no_bidirected_edge_and_projects_back(graph: Graph) -> None:
    drawn = graph.canonical()
    assert not drawn.bidirected
    assert len(drawn.latents) == len(graph.latents) + len(graph.bidirected)
    assert drawn.directed == graph.directed
    assert drawn.project() == graph.project()


def test_canonical_names_do_not_clash() -> None:
    graph = Graph([("U1", "U3")], [("U1", "U3")], {"U2": ["U1"]}, coefficients={"U1 -> U3": 0.5})
    assert graph.canonical() == Graph(
        [("U1", "U3")], latents={"U2": ["U1"], "U4": ["U1", "U3"]}, coefficients={"U1 -> U3": 0.5}
    )


def test_canonical_refuses_to_forget_a_known_covariance() -> None:
    fixed = Graph([], [("a", "b")], coefficients={"a <-> b": 0.3})
    with pytest.raises(GraphError, match="'a <-> b' is known"):
        fixed.canonical()
    equal = Graph([], [("a", "b"), ("b", "c")], coefficients={"a <-> b": "r", "b <-> c": "r"})
    with pytest.raises(GraphError, match="is known"):
        equal.canonical()
    named = Graph([], [("a", "b")], coefficients={"a <-> b": "r"})  # one label alone restricts nothing
    assert named.canonical() == Graph(latents={"U1": ["a", "b"]})
