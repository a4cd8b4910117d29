"""Columns of a Spark frame that Spark cannot be asked for by their names: dots, backquotes, x beside X."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest

import halftrek as ht
from halftrek.data.sources.spark import is_spark
from tests.data.sources.engine_tables import spark_session

pytestmark = pytest.mark.filterwarnings("ignore::Warning")  # those of Spark; ours are tested elsewhere

NAMES = {
    "dots and backquotes": ("visit.age", "a`b", "how.often", "g`"),
    "capitals and our own": ("x", "X", "c1", "state"),
}


@cache
def rows() -> dict[str, Any]:
    rng = np.random.default_rng(4)
    x = rng.normal(size=300)
    y = 0.5 * x + rng.normal(size=300)
    holes = [None if lost else value for lost, value in zip(rng.random(300) < 0.1, y.tolist(), strict=True)]
    return {"x": x.tolist(), "y": holes, "w": rng.integers(0, 3, 300).tolist(), "g": rng.integers(0, 3, 300).tolist()}


def tables(names: tuple[str, ...]) -> tuple[pl.DataFrame, Any]:
    """The rows here and in Spark, under these names."""
    here = pl.DataFrame(rows())
    there = spark_session().createDataFrame(here.rows(), "x double, y double, w long, g long").repartition(3)
    return here.rename(dict(zip(here.columns, names, strict=True))), there.toDF(*names)


@pytest.mark.parametrize("names", NAMES.values(), ids=NAMES)
def test_columns_of_any_name(names: tuple[str, ...]) -> None:
    x, y, w, g = names
    graph = ht.Graph([(x, y)])
    answers: list[list[float]] = []
    for table in tables(names):
        weighted, clustered = ht.fit(graph, table, weights=w), ht.fit(graph, table, cluster=g)
        asked = [weighted.effect(x, y), weighted.effect(x, y, interval="robust"), clustered.effect(x, y)]
        groups = ht.fit(graph, table, by=g)
        assert groups.keys == (0, 1, 2)
        answers.append(
            [*(float(one.se or 0.0) for one in asked), *np.asarray(groups.effect(x, y)["se"], dtype=float).tolist()]
        )
    np.testing.assert_allclose(answers[1], answers[0], rtol=1e-12)
    there = tables(names)[1]
    drawn = ht.fit(graph, there).effect(x, y, interval="bootstrap", replicates=20, random_state=1)
    assert 0.0 < float(drawn.se or 0.0) < 1.0


@pytest.mark.parametrize("names", NAMES.values(), ids=NAMES)
def test_predictions_beside_columns_of_any_name(names: tuple[str, ...]) -> None:
    x, y, *_ = names
    here, there = tables(names)
    fit = ht.fit(ht.Graph([(x, y)]), here)
    found, wanted = fit.predict(there, y), fit.predict(here, y)
    assert is_spark(found)
    assert found.columns[:5] == [*names, f"{y}_expected"]
    assert [field.dataType for field in found.schema.fields[:4]] == [field.dataType for field in there.schema.fields]
    values = sorted((row[0], row[4], row[6]) for row in found.collect())
    expected = sorted(zip(here[x], np.asarray(wanted[y]), np.asarray(wanted["se"]), strict=True))
    np.testing.assert_allclose(values, expected, rtol=1e-9)


def test_a_new_column_that_differs_in_capitals_only() -> None:
    """Spark has se and SE for one: a frame with both could not be written to a file."""
    here, there = tables(("x", "y", "SE", "g"))
    found = ht.fit("x -> y", here).predict(there, "y")
    assert found.columns[4:7] == ["y_expected", "noise_sd", "se_expected"]
    assert found.select("se_expected").count() == 300
