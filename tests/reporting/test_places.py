"""Pictures of graphs that say where their variables stand."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import halftrek as ht
from halftrek.graphs import Edge
from halftrek.graphs.forms.sketch import Sketch
from halftrek.reporting import graph_svg
from halftrek.reporting.plots.curves import HEIGHT, distance
from halftrek.reporting.plots.drawing import Drawing, make_drawing
from tests.narrow import some

SQUARE = 'dag { a [pos="0,0"]; b [pos="300,0"]; c [pos="0,200"]; d [pos="300,200"]; a -> b; a -> c; c -> d; b <-> d }'


def places(drawing: Drawing) -> dict[str, tuple[float, float]]:
    return {node.name: (node.x, node.y) for node in drawing.nodes}


def test_places_are_the_authors_and_grow_downwards() -> None:
    at = places(make_drawing(ht.graph(SQUARE)))
    assert at["a"][0] == at["c"][0] < at["b"][0] == at["d"][0]
    assert at["a"][1] == at["b"][1] > at["c"][1] == at["d"][1]
    assert (at["b"][0] - at["a"][0]) / (at["a"][1] - at["c"][1]) == pytest.approx(1.5)  # one scale for both


def test_svg_and_tikz_use_them_too() -> None:
    graph = ht.graph(SQUARE)
    other = graph.with_(sketch=Sketch(tuple((v, -x, y) for v, (x, y) in graph.positions.items())))
    assert graph == other
    assert graph_svg(graph) != graph_svg(other)
    assert graph.to_tikz() != other.to_tikz()
    assert "positions" not in graph.to_tikz()


NAMES = ["a", "b", "c", "d", "a long name", "e"]


@given(
    spots=st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9)), min_size=2, max_size=6, unique=True),
    unit=st.sampled_from([1e-3, 1.0, 250.0]),
)
@settings(max_examples=60, deadline=None, derandomize=True)
def test_nodes_do_not_touch(spots: list[tuple[int, int]], unit: float) -> None:
    names = NAMES[: len(spots)]
    placed = tuple((v, unit * x, unit * y) for v, (x, y) in zip(names, spots, strict=True))
    graph = ht.Graph(list(combinations(names, 2)), observed=names, sketch=Sketch(placed))
    drawing = make_drawing(graph)
    size = max(np.ptp([x for x, _ in spots]), np.ptp([y for _, y in spots]))
    for first, second in some(list(combinations(drawing.nodes, 2))):
        across, up = abs(first.x - second.x), abs(first.y - second.y)
        assert across >= (first.width + second.width) / 2 or up >= HEIGHT or size > 3 * len(spots)
    x = np.array([node.x for node in drawing.nodes])
    wished = np.array([spot[0] for spot in spots], dtype=float)
    assert np.allclose(x - x[0], (wished - wished[0]) * np.ptp(x) / max(1e-9, np.ptp(wished)))


def test_an_arrow_goes_round_a_node_that_stands_in_its_way() -> None:
    graph = ht.graph('dag { x [pos="0,0"]; m [pos="1,0"]; y [pos="2,0"]; x -> m -> y; x -> y; x <-> y }')
    drawing = make_drawing(graph)
    m = next(node for node in drawing.nodes if node.name == "m")
    lines = {stroke.edge: stroke for stroke in drawing.strokes}
    assert lines[Edge("x", "->", "m")].straight
    for edge in (Edge("x", "->", "y"), Edge("x", "<->", "y")):
        assert distance(lines[edge].line, (m.x, m.y), m.width).min() > 0.1
    arrow, arc = (lines[Edge("x", kind, "y")].line for kind in ("->", "<->"))
    assert np.sign(arrow[len(arrow) // 2, 1] - m.y) == -np.sign(arc[len(arc) // 2, 1] - m.y)  # not one upon the other


def test_without_a_place_for_everybody_they_are_chosen_as_for_other_graphs() -> None:
    plain = places(make_drawing(ht.graph("x -> m -> y")))
    for text in (
        'dag { x [pos="0,0"]; x -> m -> y }',
        'dag { x [pos="1,1"]; m [pos="1,1"]; y [pos="0,3"]; x -> m -> y }',
    ):
        assert places(make_drawing(ht.graph(text))) == plain


def test_hidden_causes_without_a_place_stand_where_nobody_does() -> None:
    texts = (
        'dag { x [pos="0,0"]; m [pos="1,0"]; y [pos="2,0"]; U [latent]; U -> x; U -> y; x -> m -> y }',
        'dag { x [pos="0,0"]; y [pos="2,0"]; U [latent]; x -> y }',
    )
    for text in texts:
        drawing = make_drawing(ht.graph(text))
        u = next(node for node in drawing.nodes if node.name == "U")
        for node in some([node for node in drawing.nodes if node is not u]):
            assert abs(node.x - u.x) > (node.width + u.width) / 2 or abs(node.y - u.y) > HEIGHT
    lone = make_drawing(ht.graph('dag { x [pos="5,5"] }'))
    assert len(lone.nodes) == 1
    crowd = "; ".join(f'r{k} [pos="{k},{k % 2}"]' for k in range(6))
    arcs = "; ".join(f"r{i} <-> r{j}" for i, j in combinations(range(6), 2))
    assert len(make_drawing(ht.graph(f"dag {{ {crowd}; {arcs} }}")).nodes) == 7  # with the dot that joins them
