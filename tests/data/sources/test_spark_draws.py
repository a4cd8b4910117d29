"""Spark: rows drawn again, states of many parts, and tasks that fail; the numbers depend on the rows alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import halftrek as ht
from halftrek.data import read_moments
from halftrek.data.sources.spark import merging
from halftrek.data.sources.spark import sums as spark_sums
from halftrek.data.sources.spark.jobs import by_place
from halftrek.errors import DataError
from halftrek.inference.draws.bootstrap import replicates_of
from halftrek.syntax import parse_question
from tests.data.sources.engine_tables import in_spark, table_in, the_table

pytestmark = pytest.mark.filterwarnings("ignore::Warning")  # those of Spark; ours are tested elsewhere

GRAPH = 'age -> y; age -> smokes; smokes -> y; y -> "z z"; smokes <-> "z z"'


@pytest.mark.parametrize("given", [{}, {"missing": "drop"}], ids=["missing values", "complete rows"])
def test_jackknife_over_clusters(given: dict[str, Any]) -> None:
    asked = {"cluster": "clinic", "sampling_weights": "share", **given}
    found, wanted = (
        ht.fit(GRAPH, x, **asked).query("age ~> y", interval="jackknife") for x in (table_in("Spark"), the_table())
    )
    assert np.abs(np.array([found.se, *found.interval]) - [wanted.se, *wanted.interval]).max() < 1e-8
    again = ht.fit(GRAPH, table_in("Spark"), **asked).query("age ~> y", interval="bootstrap", replicates=200)
    assert again.se == pytest.approx(wanted.se, rel=0.25)


def test_bootstrap_with_missing_values() -> None:
    fits = [ht.fit(GRAPH, x) for x in (table_in("Spark"), the_table())]
    found, wanted = (fit.query("age ~> y", interval="bootstrap", replicates=400, random_state=1) for fit in fits)
    assert found.se == pytest.approx(wanted.se, rel=0.15)  # other draws of the same spread
    again = ht.fit(GRAPH, table_in("Spark")).query("age ~> y", interval="bootstrap", replicates=400, random_state=1)
    assert again.interval == found.interval


def replicates(fit: Any) -> list[float]:
    """The answers of a few replicates: their digits tell whether the draws are the same."""
    values, _ = replicates_of(fit, "bootstrap", 40, 1).values_of(parse_question("age ~> y"))
    assert np.unique(values).size > 30
    return [float(value) for value in values.ravel()]


@pytest.mark.parametrize(
    "given",
    [{}, {"missing": "drop", "weights": "times"}, {"cluster": "clinic"}, {"missing": "drop", "cluster": "clinic"}],
    ids=["missing values", "counts", "clusters and missing values", "clusters"],
)
def test_draws_do_not_depend_on_how_rows_lie(given: dict[str, Any]) -> None:
    frame = table_in("Spark")
    turned = frame.orderBy("share", ascending=False).coalesce(1).repartition(7)
    found, wanted = (replicates(ht.fit(GRAPH, x, **given)) for x in (turned, frame))
    assert found == pytest.approx(wanted, rel=1e-8)


def test_rows_that_are_alike_are_drawn_apart() -> None:
    """Every row stands there 25 times, in all parts of the table; drawn as one, errors would be five times as large."""
    rng = np.random.default_rng(4)
    a = rng.integers(0, 4, 120).astype(float)
    table = pl.DataFrame({"a": a, "b": a + rng.integers(0, 3, 120)})
    many = pl.concat([table] * 25)
    fits = [ht.fit("a -> b", x) for x in (in_spark(many, "alike", 5), many)]
    found, wanted = (fit.query("a ~> b", interval="bootstrap", replicates=500, random_state=1) for fit in fits)
    assert found.se == pytest.approx(wanted.se, rel=0.15)


def test_states_of_many_parts_are_merged_by_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(6)
    a = rng.normal(size=2_000)
    table = pl.DataFrame({"a": a, "b": a + rng.normal(size=2_000), "c": rng.integers(0, 50, 2_000)})
    frame, few = in_spark(table, "two hundred", 200), in_spark(table, "three")
    asked: list[Any] = []

    def noted(states: Any) -> dict[int, object]:
        asked.append(states)
        return by_place(states)

    monkeypatch.setattr(merging, "by_place", noted)
    monkeypatch.setattr(spark_sums, "FEW", 0)
    here = read_moments(few)
    assert len(asked) == 1  # small states come at once
    monkeypatch.setattr(merging, "SMALL", 10)
    by_workers, wanted = read_moments(frame), read_moments(table)
    assert len(asked) == 3
    assert 0 < len(by_place(asked[2])) <= merging.AT_ONCE
    for found in (here, by_workers):
        assert (found.n, found.kinds) == (wanted.n, wanted.kinds)
        np.testing.assert_allclose(found.cov, wanted.cov, rtol=1e-13)
    with pytest.raises(DataError, match="column 'b' holds an infinite value"):
        read_moments(few.selectExpr("a", "case when a > 3 then double('infinity') else b end as b"))


def fails_once(marker: str, batches: Iterable[Any]) -> Iterator[Any]:
    """In a worker: the first attempt at a part of the rows breaks in its middle."""
    from pyspark import TaskContext

    for k, batch in enumerate(batches):
        task = TaskContext.get()
        place = f"{marker}-{0 if task is None else task.partitionId()}"
        if k == 0 and not Path(place).exists():
            Path(place).touch()
            yield batch
            raise RuntimeError("this worker is lost")
        yield batch


def test_a_task_that_fails_once_changes_no_digit(tmp_path: Path) -> None:
    frame = in_spark(the_table(), "whole")
    broken = frame.mapInArrow(partial(fails_once, str(tmp_path / "failed")), frame.schema)

    def failed() -> int:
        """How many parts have failed since the last time."""
        marks = list(tmp_path.iterdir())
        for mark in marks:
            mark.unlink()
        return len(marks)

    found, wanted = (ht.fit(GRAPH, x) for x in (broken, frame))
    assert failed() > 0
    assert found.moments.cov.tobytes() == wanted.moments.cov.tobytes()
    assert found.moments.mean.tobytes() == wanted.moments.mean.tobytes()
    robust = [fit.query("age ~> y", interval="robust") for fit in (found, wanted)]
    assert failed() > 0
    assert robust[0].interval == robust[1].interval
    drawn = [replicates(fit) for fit in (found, wanted)]
    assert failed() > 0
    assert drawn[0] == drawn[1]
