"""What dagitty draws beside the model is kept: places, roles, the box; read, written back, saved, never compared."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import halftrek as ht
from halftrek.errors import GraphError
from halftrek.graphs.forms.sketch import ROLES, Sketch
from tests.syntax.test_round_trip import marked_graphs

TEXT = """dag {
  bb="-2,-1.5,3,2"
  "blood pressure" [outcome,pos="1.5,0.25"]
  x [exposure,pos="-1,0"]
  age [adjusted,pos="0,-1"]
  plain
  U [latent,pos="0,1"]
  age -> "blood pressure"
  x -> "blood pressure"
  U -> "blood pressure"
  U -> x
}"""
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def sketched_graphs(draw: st.DrawFn) -> ht.Graph:
    """Graphs with awkward names, of which some have places and roles."""
    graph = draw(marked_graphs())
    names = [*graph.observed, *graph.latents]
    places = tuple((v, draw(NUMBERS), draw(NUMBERS)) for v in names if draw(st.booleans()))
    roles = tuple((v, role) for v in graph.observed for role in ROLES if draw(st.integers(0, 3)) == 0)
    box = draw(st.none() | st.tuples(NUMBERS, NUMBERS, NUMBERS, NUMBERS))
    return graph.with_(sketch=Sketch(places, roles, box))


@given(graph=sketched_graphs())
@settings(max_examples=150, deadline=None, derandomize=True)
def test_written_and_read_back(graph: ht.Graph) -> None:
    back = ht.graph(ht.format_graph(graph, "dagitty"), syntax="dagitty")
    assert back == graph
    assert back.sketch == graph.sketch
    assert back.positions == graph.positions
    assert back.roles == graph.roles


def test_a_text_of_dagitty_comes_back_as_it_was() -> None:
    graph = ht.graph(TEXT)
    assert ht.format_graph(graph, "dagitty") == TEXT
    assert graph.positions == {"blood pressure": (1.5, 0.25), "x": (-1.0, 0.0), "age": (0.0, -1.0), "U": (0.0, 1.0)}
    assert graph.roles == {"blood pressure": ("outcome",), "x": ("exposure",), "age": ("adjusted",)}


def test_short_words_and_looks_that_are_not_understood() -> None:
    graph = ht.graph(
        'dag { x [e, a, pos="1,2"]; y [O=yes, pos="left"]; z [pos="1"]; w [pos="nan,1"]; bb="0,0"; x -> y }'
    )
    assert graph.roles == {"x": ("exposure", "adjusted"), "y": ("outcome",)}
    assert graph.positions == {"x": (1.0, 2.0)}
    assert ht.graph("dag { x [pos]; x -> y }").sketch is None


def test_other_notations_have_no_sketch() -> None:
    assert ht.graph("x -> y; latent U; U -> {x, y}").sketch is None
    assert ht.graph('digraph { x [pos="1,2!"]; x -> y; bb="0,0,1,1" }').sketch is None
    again = ht.graph(ht.format_graph(ht.graph(TEXT), "arrows"))
    assert again == ht.graph(TEXT)
    assert (again.positions, again.roles) == ({}, {})


def test_equal_graphs_may_be_drawn_differently() -> None:
    graph = ht.graph(TEXT)
    moved = ht.graph(TEXT.replace("-1,0", "-1,7").replace("adjusted,", ""))
    assert moved.sketch != graph.sketch
    assert moved == graph
    assert hash(moved) == hash(graph)


def test_it_goes_where_the_graph_goes(tmp_path: Path) -> None:
    graph = ht.graph(TEXT)
    for same in (pickle.loads(pickle.dumps(graph)), copy.deepcopy(graph), ht.load(ht.save(graph, tmp_path / "g.json"))):
        assert same == graph
        assert same.sketch == graph.sketch
    assert graph.with_(directed=[]).sketch == graph.sketch
    assert graph.with_(coefficients={"x -> blood pressure": 0.5}).sketch == graph.sketch
    fewer = graph.induced(["age", "blood pressure"])
    assert fewer.positions == {"blood pressure": (1.5, 0.25), "age": (0.0, -1.0), "U": (0.0, 1.0)}
    assert fewer.roles == {"blood pressure": ("outcome",), "age": ("adjusted",)}
    assert "U" not in graph.project().positions
    model = ht.CGLSCM.from_parameters(names=["x", "y"], T=[[0.0, 0.5], [0.0, 0.0]])
    fit = ht.fit(ht.graph('dag { x [pos="1,2"]; x -> y }'), model.sample(50, random_state=1))
    assert fit.graph.positions == {"x": (1.0, 2.0)}


@pytest.mark.parametrize("change", ["1e999", '"wide"', "null"])
def test_a_file_with_a_place_that_is_none_is_refused(change: str, tmp_path: Path) -> None:
    path = ht.save(ht.graph('dag { x [pos="1.25,2"]; x -> y }'), tmp_path / "g.json")
    path.write_text(path.read_text().replace("1.25", change))
    with pytest.raises(ht.InputError):
        ht.load(path)


def test_a_sketch_says_what_is_wrong_with_it() -> None:
    with pytest.raises(GraphError, match="the place of 'x' is"):
        Sketch((("x", float("nan"), 0.0),))
    with pytest.raises(GraphError, match="'x' has the role 'cause'; roles are exposure, outcome, adjusted"):
        Sketch(roles=(("x", "cause"),))  # type: ignore[arg-type]
    with pytest.raises(GraphError, match="four finite numbers"):
        Sketch(box=(0.0, 0.0, 1.0, float("inf")))
