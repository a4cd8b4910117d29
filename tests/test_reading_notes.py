"""What the text of a graph says and the graph does not hold: a warning where it is read, and a note of the graph."""

import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import halftrek as ht


def test_what_a_text_says_and_the_graph_does_not_hold_is_warned_of_where_it_is_read(tmp_path: Path) -> None:
    text = "m ~ a*x\ny ~ b*x\nab := a*b"
    (tmp_path / "model.lavaan").write_text(text)
    ways: tuple[Callable[[], ht.Graph], ...] = (
        lambda: ht.graph(text),
        lambda: ht.graph(tmp_path / "model.lavaan"),
        lambda: ht.identify(text, "x ~> y").graph,
        lambda: ht.fit(text, cov=np.eye(3), n=10).graph,
    )
    for read in ways:
        with pytest.warns(ht.HalftrekWarning) as warned:
            graph = read()
        assert [note.code for note in graph.notes] == ["lavaan outcomes"]
        assert [str(one.message) for one in warned] == [str(note) for note in graph.notes]
        assert {one.filename for one in warned} == {__file__}
        assert graph == ht.Graph([("x", "m"), ("x", "y")], coefficients={"x -> m": "a", "x -> y": "b"})
        assert pickle.loads(pickle.dumps(graph)).notes == graph.notes
        assert dict(pickle.loads(pickle.dumps(graph)).definitions) == dict(graph.definitions) == {"ab": "a * b"}
        assert ht.graph(graph) is graph  # said once
        ht.save(graph, tmp_path / "graph.json")
        assert ht.load(tmp_path / "graph.json").notes == graph.notes
        assert ht.load(tmp_path / "graph.json").definitions == graph.definitions
    assert ht.graph("x -> y").notes == ()


def test_one_row_that_is_left_out_is_a_row() -> None:
    table = {"x": [1.0, 2.0, 4.0, 3.0, 5.0], "y": [2.0, 1.0, 5.0, 4.0, float("nan")]}
    said = [str(note) for note in ht.fit("x -> y", table, missing="drop").effect("x", "y").notes]
    assert "1 row with missing values was left out" in said
    table["x"][0] = float("nan")
    said = [str(note) for note in ht.fit("x -> y", table, missing="drop").effect("x", "y").notes]
    assert "2 rows with missing values were left out" in said
