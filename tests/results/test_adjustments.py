"""``fit.adjustments``: each estimate is the regression on its set, and its faces."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import halftrek as ht
from halftrek.errors import QueryError
from halftrek.reporting import plot_adjustments
from halftrek.reporting.records import to_json
from halftrek.simulation import random_model

GRAPH = ht.graph("a -> {x, b}; b -> y; x -> m -> y; c -> {x, y}; c <-> b")


def rows(n: int = 300) -> pd.DataFrame:
    found = random_model(GRAPH, random_state=1).sample(n, random_state=2)
    return pd.DataFrame(np.asarray(found), columns=list(found.names or ()))


def slope(table: pd.DataFrame, given: tuple[str, ...]) -> tuple[float, float]:
    """The slope of x in the regression of y, and its error as R prints it."""
    X = np.column_stack([np.ones(len(table)), table[["x", *given]]])
    y = np.asarray(table["y"])
    bread = np.linalg.inv(X.T @ X)
    b = bread @ X.T @ y
    rest = y - X @ b
    return float(b[1]), float(np.sqrt(bread[1, 1] * rest @ rest / (len(y) - X.shape[1])))


@pytest.mark.parametrize("n", [30, 300])
def test_every_estimate_is_the_regression_on_its_set(n: int) -> None:
    table = rows(n)
    found = ht.fit(GRAPH, table).adjustments("x ~> y")
    assert [row.adjusted_for for row in found.adjusted] == [("a", "c"), ("b", "c")]
    for row in (found.crude, *found.adjusted):
        value, error = slope(table, row.adjusted_for)
        assert row.est == pytest.approx(value, rel=1e-9)
        assert row.se == pytest.approx(error, rel=1e-9 if n < 50 else 1e-2)
        assert row.ci_low < value < row.ci_high


def test_the_model_is_the_last_line() -> None:
    fit = ht.fit(GRAPH, rows())
    found, asked = fit.adjustments("x ~> y").model, fit.query("x ~> y")
    assert (found.est, found.se, (found.ci_low, found.ci_high)) == (asked.value, asked.se, asked.interval)


def test_an_arrow_is_adjusted_by_its_own_sets() -> None:
    table = rows()
    found = ht.fit(GRAPH, table).adjustments("m -> y")
    sets = ht.identify(GRAPH, "m -> y").adjustment_sets
    assert sets is not None
    assert [row.adjusted_for for row in found.adjusted] == list(sets)


def test_an_intervention_on_one_variable_is_its_effect() -> None:
    fit = ht.fit(GRAPH, rows())
    assert fit.adjustments("P(y | do(x))").rows == fit.adjustments("x ~> y").rows


def test_missing_values_count_the_rows_of_each_set() -> None:
    table = rows()
    table.loc[:59, "a"] = np.nan
    found = ht.fit(GRAPH, table).adjustments("x ~> y")
    assert [row.n for row in found.rows] == [300, 240, 300, 300]
    assert found.adjusted[0].est == pytest.approx(slope(table.dropna(), ("a", "c"))[0], rel=1e-9)
    assert "rows that have all" in found.summary()


def test_many_sets_are_bounded_with_a_word() -> None:
    graph = ht.graph("; ".join(f"x <- a{k} -> b{k} -> y" for k in range(5)) + "; x -> y")
    found = ht.fit(graph, random_model(graph, random_state=0).sample(400, random_state=1)).adjustments("x ~> y")
    assert len(found.adjusted) == 20
    assert not found.complete
    assert "more minimal sets than these 20" in found.summary()
    fewer = ht.fit(graph, random_model(graph, random_state=0).sample(400, random_state=1)).adjustments("x ~> y", most=3)
    assert len(fewer.adjusted) == 3


@pytest.mark.parametrize(
    ("graph", "words"), [("x -> m -> y; x <-> y", "known by front-door"), ("z -> x -> y; x <-> y", "fit.instruments")]
)
def test_where_no_adjustment_is_enough_another_way_is_named(graph: str, words: str) -> None:
    rng = np.random.default_rng(0)
    fit = ht.fit(graph, {v: rng.normal(size=50) for v in "zxmy" if v in graph})
    with pytest.raises(QueryError, match=words):
        fit.adjustments("x ~> y")


@pytest.mark.parametrize("question", ["E[y | do(x=1)]", "x ~> m ~> y", "P(y, m | do(x))"])
def test_other_questions_are_refused(question: str) -> None:
    with pytest.raises(QueryError, match="one variable on another"):
        ht.fit(GRAPH, rows()).adjustments(question)


def test_no_set_at_all_is_refused() -> None:
    with pytest.raises(QueryError, match="at least 1"):
        ht.fit(GRAPH, rows()).adjustments("x ~> y", most=0)


def test_four_faces() -> None:
    found = ht.fit(GRAPH, rows()).adjustments("x ~> y", level=0.9)
    assert repr(found).startswith("Adjustments(x ~> y: crude ")
    assert str(found) == found.summary()
    for words in ("nothing (crude)", "a, c", "the whole model", "90% intervals"):
        assert words in found.summary()
        assert words in found._repr_html_()
    frame = found.frame()
    assert list(frame["label"]) == ["nothing (crude)", "a, c", "b, c", "the whole model"]
    record = json.loads(to_json(found.to_dict()))
    assert [row["adjusted_for"] for row in record["estimates"]] == [[], ["a", "c"], ["b", "c"], []]


def test_the_picture_has_a_line_for_each() -> None:
    import matplotlib.pyplot as plt

    found = ht.fit(GRAPH, rows()).adjustments("x ~> y")
    ax = plot_adjustments(found)
    assert [label.get_text() for label in ax.get_yticklabels()] == [row.label for row in found.rows]
    points = [line for line in ax.lines if line.get_marker() == "o"]
    assert [float(np.asarray(line.get_xdata())[0]) for line in points] == [row.est for row in found.rows]
    assert len({line.get_color() for line in points}) == 3
    plt.close("all")
