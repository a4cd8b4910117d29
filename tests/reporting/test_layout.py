"""Places of nodes: causes to the left, nothing on top of anything, no needless crossings."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import isotonic_regression

from halftrek.graphs import Edge, Graph
from halftrek.reporting.plots.curves import curve, distance
from halftrek.reporting.plots.layout import _crossings, _net_of, _order_columns, _sides, _spread, lay_out
from tests.narrow import some


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    names = [f"v{i}" for i in range(draw(st.integers(1, 9)))]
    pairs = list(itertools.combinations(names, 2))
    chosen = st.lists(st.sampled_from(pairs), unique=True, max_size=10) if pairs else st.just([])
    latents = {}
    for k in range(draw(st.integers(0, 2))):
        latents[f"U{k}"] = draw(st.lists(st.sampled_from(names), unique=True, min_size=1, max_size=4))
    return Graph(draw(chosen), draw(chosen)[:4], latents, names)


@settings(max_examples=80, deadline=None, derandomize=True)
@given(graphs(), st.integers(1, 12))
def test_causes_lie_to_the_left_and_nodes_do_not_touch(graph: Graph, letters: int) -> None:
    widths = dict.fromkeys((*graph.observed, *graph.latents), 0.2 * letters + 0.5)
    layout = lay_out(graph, widths)
    assert set(layout.nodes) == {*graph.observed, *graph.latents}
    for u, v in graph.directed:
        assert layout.nodes[u][0] + widths[u] / 2 < layout.nodes[v][0] - widths[v] / 2
    for (a, (x, y)), (b, (p, q)) in itertools.combinations(layout.nodes.items(), 2):
        assert abs(x - p) >= (widths[a] + widths[b]) / 2 or abs(y - q) >= 0.7, (a, b)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(graphs())
def test_routes_join_their_ends_and_cover_every_edge(graph: Graph) -> None:
    layout = lay_out(graph)
    assert set(layout.routes) == set(graph.edges())
    for (u, _, v), route in layout.routes.items():
        assert route[0] == layout.nodes[u]
        assert route[-1] == layout.nodes[v]


@settings(max_examples=60, deadline=None, derandomize=True)
@given(graphs())
def test_no_edge_runs_through_the_middle_of_a_node_it_does_not_touch(graph: Graph) -> None:
    layout = lay_out(graph)
    assume(layout.routes)
    assume(len(layout.nodes) > 2)
    for (u, _, v), route in layout.routes.items():
        line = curve(route)
        others = {w: centre for w, centre in layout.nodes.items() if w not in (u, v)}
        assert all(distance(line, centre, 0.0).min() > -0.2 for centre in others.values()), (u, v)


@pytest.mark.parametrize(
    "graph",
    [
        Graph([("a", "b"), ("b", "c"), ("a", "d"), ("d", "c"), ("a", "c")]),
        Graph([("x1", "x2"), ("x2", "x3"), ("x3", "x4")], [("x1", "x3"), ("x1", "x4")]),
        Graph([("a", "p"), ("b", "q"), ("c", "r")], observed=["c", "a", "b", "q", "r", "p"]),
    ],
)
def test_graphs_without_crossings_are_drawn_without(graph: Graph) -> None:
    curves = [curve(route)[::4] for route in lay_out(graph).routes.values()]
    for first, second in some(itertools.combinations(curves, 2)):
        assert not any(_cross(a, b, c, d) for a, b in itertools.pairwise(first) for c, d in itertools.pairwise(second))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(graphs())
def test_crossings_are_pairs_in_opposite_order(graph: Graph) -> None:
    net = _net_of(graph)
    order, sides = dict(sorted(net.columns.items())), _sides(net)
    column_of = {v: k for k, members in order.items() for v in members}
    height = {v: i for members in order.values() for i, v in enumerate(members)}
    pieces = [sorted(piece, key=column_of.__getitem__) for piece in net.pieces]
    columns = list(order)
    assert all(columns.index(column_of[v]) - columns.index(column_of[u]) == 1 for u, v in pieces)
    opposite = sum(
        column_of[a] == column_of[c] and (height[a] - height[c]) * (height[b] - height[d]) < 0
        for (a, b), (c, d) in itertools.combinations(pieces, 2)
    )
    assert _crossings(order, sides) == opposite
    best = _order_columns(net)
    assert _crossings(best.columns, sides) <= opposite
    assert {k: sorted(m) for k, m in best.columns.items()} == {k: sorted(m) for k, m in order.items()}


def test_a_chain_is_straight_and_a_bow_is_not() -> None:
    chain = lay_out(Graph([("x", "m"), ("m", "y")], latents={"U": ["x", "y"]}))
    assert chain.nodes["x"][1] == pytest.approx(chain.nodes["m"][1], abs=0.02)
    assert chain.nodes["y"][1] == pytest.approx(chain.nodes["m"][1], abs=0.02)
    bow = lay_out(Graph([("x", "y")], [("x", "y")]))
    arrow, arc = (bow.routes[Edge("x", kind, "y")] for kind in ("->", "<->"))
    assert abs(arc[1][1] - arrow[len(arrow) // 2][1]) > 0.5


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.floats(-5, 5), st.floats(0.01, 3), st.floats(0, 2)), min_size=1, max_size=12))
def test_spread_is_isotonic_regression_around_the_gaps(cells: list[tuple[float, float, float]]) -> None:
    wishes, weights, gaps = (list(column) for column in zip(*cells, strict=True))
    offsets = np.concatenate([[0.0], np.cumsum(gaps[:-1])])
    expected = isotonic_regression(np.array(wishes) - offsets, weights=np.array(weights)).x + offsets
    np.testing.assert_allclose(_spread(wishes, weights, gaps[:-1]), expected, atol=1e-9)


def _cross(a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray) -> bool:
    def side(p: np.ndarray, q: np.ndarray, r: np.ndarray) -> float:
        return float((q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0]))

    return side(a, b, c) * side(a, b, d) < -1e-12 and side(c, d, a) * side(c, d, b) < -1e-12
