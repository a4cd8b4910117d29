"""Spark, classic and Connect: every number as from rows in memory, and no row comes to this process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import halftrek as ht
from halftrek.cli import main
from halftrek.data import Moments, Patterns, read, read_moments, read_patterns
from halftrek.data.by_group.grouping import group_reader
from halftrek.data.by_group.groups import read_groups
from halftrek.data.sources.databases import shown, table_at
from halftrek.data.sources.spark import from_spark, is_spark
from halftrek.data.sources.spark import sums as spark_sums
from halftrek.data.sources.spark.jobs import BATCH, PLAIN_BATCH, about_spark, larger_batches
from halftrek.data.sources.spark.session import spark_table
from halftrek.data.summing.sums import Column, Request
from halftrek.errors import DataError
from tests.data.sources.engine_tables import by_connect, folder, in_spark, spark_session, table_in, the_table
from tests.project.pages import ROOT

pytestmark = pytest.mark.filterwarnings("ignore::Warning")  # those of Spark; ours are tested elsewhere

GRAPH = 'age -> y; age -> smokes; smokes -> y; y -> "z z"; smokes <-> "z z"'


@cache
def wide_table() -> pl.DataFrame:
    """Fifty columns far from zero, whose rows are sorted, so that every part of them has other means."""
    rng = np.random.default_rng(5)
    values = 1e8 + np.sort(rng.normal(size=(3_000, 1)), axis=0) + 0.3 * rng.normal(size=(3_000, 50))
    values[:, 1] = rng.integers(0, 2, 3_000)
    values[:, 2] = rng.poisson(3.0, 3_000)
    holes = rng.random((3_000, 50)) < np.where(np.arange(50) % 25 == 7, 0.2, 0.0)
    columns = {f"v{k}": pl.Series(np.where(holes[:, k], np.nan, values[:, k])).fill_nan(None) for k in range(50)}
    return pl.DataFrame({**columns, "times": rng.integers(0, 3, 3_000)})


@cache
def wide_frame() -> Any:
    return in_spark(wide_table(), "wide")


def worst(found: Moments | Patterns, wanted: Moments | Patterns) -> float:
    """The largest difference of covariances, in standard deviations."""
    scale = np.sqrt(wanted.by_column[2])
    return float(np.abs((found.cov - wanted.cov) / np.outer(scale, scale)).max())


# -- sums ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weights", [{}, {"weights": "times"}], ids=["plain", "counts"])
def test_more_columns_than_expressions_take(weights: dict[str, Any]) -> None:
    names = [f"v{k}" for k in range(50)]
    found = read_moments(wide_frame(), names, missing="drop", **weights)
    wanted = read_moments(wide_table(), names, missing="drop", **weights)
    assert (found.n, found.dropped) == (wanted.n, wanted.dropped)
    assert found.kinds == wanted.kinds
    assert worst(found, wanted) < 1e-12
    holed, patterns = (read_patterns(x, names, **weights) for x in (wide_frame(), wide_table()))
    assert isinstance(holed, Patterns)
    assert isinstance(patterns, Patterns)
    assert (holed.rows == patterns.rows).all()
    assert (holed.observed == patterns.observed).all()
    assert worst(holed, patterns) < 1e-12


def exact_sums(table: pl.DataFrame, names: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Means and centred squares in twice the digits, row after row."""
    values = table.select(names).to_numpy().astype(np.longdouble)
    mean = values.mean(axis=0)
    return mean, (values - mean).T @ (values - mean)


def test_expressions_of_few_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    near = pl.DataFrame({"a": rng.normal(2.0, 1.0, 999), "b": rng.integers(0, 3, 999), "c": rng.poisson(40.0, 999)})
    frame = in_spark(near, "near")
    request = Request(tuple(Column(v, v) for v in near.columns))
    quick = spark_sums.quick_sums(frame, request)
    assert quick is not None  # otherwise the workers are compared with themselves below
    mean, squares = exact_sums(near, near.columns)
    scale = np.sqrt(np.diag(squares))
    assert np.abs((quick.squares[0] - squares) / np.outer(scale, scale)).max() < 1e-13
    np.testing.assert_allclose(quick.mean[0], mean.astype(float), rtol=1e-13)
    by_expressions = read_moments(frame)
    monkeypatch.setattr(spark_sums, "FEW", 0)
    by_workers = read_moments(frame)
    assert by_expressions.kinds == by_workers.kinds == read_moments(near).kinds
    assert worst(by_expressions, by_workers) < 1e-13


@pytest.mark.parametrize(
    ("column", "why"),
    [
        ([1e8, 1e8 + 1, 1e8 + 3] * 9, "far from zero, about which sums would lose their digits"),
        ([1.0, None, 3.0] * 9, "holes"),
        ([0.5, 1.5, 2.5] * 9, "few values, of which the map does not tell"),
        ([1.0, float("inf"), 2.0] * 9, "an infinite value"),
    ],
)
def test_what_is_not_plain_is_left_to_workers(column: list[float | None], why: str) -> None:
    frame = spark_session().createDataFrame([(x, float(k)) for k, x in enumerate(column)], "a double, b double")
    assert spark_sums.quick_sums(frame, Request((Column("a", "a"), Column("b", "b")))) is None, why
    if float("inf") in column:
        with pytest.raises(DataError, match="column 'a' holds an infinite value; remove or replace it"):
            read_moments(frame)
        return
    found = read_moments(frame, missing="drop")
    assert found.kinds == read_moments({"a": column, "b": range(27)}, missing="drop").kinds


def test_too_many_patterns_are_bounded_with_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(8)
    values = rng.normal(size=(2_000, 7))
    values[rng.random(values.shape) < 0.4] = np.nan
    table = pl.DataFrame({f"v{k}": pl.Series(values[:, k]).fill_nan(None) for k in range(7)})
    monkeypatch.setattr(read, "PATTERNS", 400)
    found = read_patterns(in_spark(table, "holes"))
    assert isinstance(found, Patterns)
    assert found.left_out > 0
    assert found.rows.sum() + found.empty == 2_000
    assert "too many patterns of missing values to keep them all" in found.sentence


# -- groups -------------------------------------------------------------------------


@pytest.mark.parametrize("columns", [2, 13], ids=["expressions", "workers"])
def test_a_hundred_thousand_groups(columns: int) -> None:
    rng = np.random.default_rng(1)
    groups = 100_000 if columns == 2 else 2_000
    key = rng.permutation(np.repeat(np.arange(groups), 3))
    table = pl.DataFrame({"key": key, **{f"v{k}": rng.normal(size=3 * groups) for k in range(columns)}})
    names = tuple(f"v{k}" for k in range(columns))
    found, wanted = (
        read_groups(group_reader(source, "key", names)[0]) for source in (in_spark(table, f"groups{columns}"), table)
    )
    assert len(found) == groups
    assert found.keys == wanted.keys
    assert (found.n == wanted.n).all()
    np.testing.assert_allclose(found.cov, wanted.cov, atol=1e-12)
    np.testing.assert_allclose(found.mean, wanted.mean, atol=1e-12)


# -- columns back ------------------------------------------------------------------------------------


def test_the_size_of_batches_is_the_users() -> None:
    """It is larger for us alone, and only where nobody has set one."""
    settings = spark_session().conf
    with larger_batches(spark_session(), 10):
        assert settings.get(BATCH) == "100000"
    assert settings.get(BATCH) == PLAIN_BATCH
    with larger_batches(spark_session(), 1_000):  # ten thousand rows of so many columns are large already
        assert settings.get(BATCH) == PLAIN_BATCH
    settings.set(BATCH, "777")
    try:
        with larger_batches(spark_session(), 10):
            assert settings.get(BATCH) == "777"
        assert settings.get(BATCH) == "777"
    finally:
        settings.unset(BATCH)
    with pytest.raises(ZeroDivisionError), larger_batches(spark_session(), 10):
        _ = 1 / 0
    assert settings.get(BATCH) == PLAIN_BATCH


def rows_of(frame: Any, key: str, names: list[str]) -> np.ndarray:
    """Columns of a frame in the order of a key."""
    lines = sorted((row[key], [row[v] for v in names]) for row in frame.collect())
    return np.array([line for _, line in lines], dtype=float)


def test_columns_are_added_where_the_rows_are() -> None:
    frame, table = table_in("Spark"), the_table()
    fit = ht.fit(GRAPH, table)
    order = np.argsort(table["x"].to_numpy(), kind="stable")
    cases: list[tuple[Callable[[Any], Any], list[str]]] = [
        (lambda rows: fit.predict(rows, "y"), ["y_expected", "noise_sd", "se", "ci_low", "ci_high", "pi_low"]),
        (
            lambda rows: fit.counterfactual(rows, {"age": "+1"}, "y", unidentified="nan"),
            ["y_expected", "noise_sd", "se", "ci_low", "ci_high"],
        ),
        (lambda rows: fit.model.counterfactual(rows, {"age": "times"}, "y"), ["y_expected", "noise_sd"]),
    ]
    for ask, names in cases:
        found = ask(frame)
        assert is_spark(found)
        assert found.columns[: len(frame.columns)] == frame.columns
        wanted = ask(table).to_dict(as_series=False)
        there = rows_of(found, "x", names)
        here = np.array([wanted[v.removesuffix("_expected")] for v in names], dtype=float).T[order]
        np.testing.assert_allclose(there, here, rtol=1e-9, atol=1e-9)
    with pytest.raises(ht.QueryError, match="hold 'age' at a number or"):
        fit.counterfactual(frame, {"age": np.zeros(3_000)}, "y")


def test_no_row_comes_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything that can bring rows here is forbidden; what is collected is one state for each part of the rows."""
    frame = table_in("Spark")
    seen: list[int] = []
    kind: Any = type(frame)
    collect = kind.collect

    def counted(self: Any) -> list[Any]:
        assert self.columns == ["place", "state"]
        rows = list(collect(self))
        seen.append(len(rows))
        return rows

    def forbidden(*_: object, **__: object) -> None:
        raise AssertionError("rows are brought here")

    monkeypatch.setattr(kind, "collect", counted)
    for name in ("toPandas", "toLocalIterator", "take", "head", "first", "tail", "toArrow", "_collect_as_arrow"):
        if hasattr(kind, name):
            monkeypatch.setattr(kind, name, forbidden)
    fit = ht.fit(GRAPH, frame, cluster="clinic")
    fit.query("age ~> y", interval="robust")
    fit.query("age ~> y", interval="bootstrap", replicates=20)
    fit.predict(frame, "y", interval="robust")
    ht.fit('age -> y; y -> "z z"', frame, by="site", weights="times")
    ht.fit("age -> times", frame, by="clinic").query("age ~> times")
    ht.fit('age -> y; "site=south" -> y', frame, categories={"site": "north"}, missing="drop")
    assert 0 < max(seen) <= 3


# -- what goes wrong ---------------------------------------------------------------------------------


def test_errors_are_ours() -> None:
    frame = table_in("Spark")
    with pytest.raises(DataError, match=r"the Spark frame cannot be read: .*ZERO.*; check its query"):
        read_moments(frame.selectExpr("raise_error('ZERO') + 1.0 as a", "y"), missing="drop")
    with pytest.raises(DataError, match="rows of an engine have no order, so weights must be the name"):
        read_moments(frame, ["x", "y"], weights=np.ones(3_000))
    with pytest.raises(DataError, match=r"the weights in 'share' hold .*; weights= count rows"):
        read_moments(frame, ["x", "age"], weights="share")
    with pytest.raises(DataError, match="take a sample of them"):
        list(from_spark(frame).blocks(("x",)))
    grouped: Any = frame.groupBy("site")
    with pytest.raises(DataError, match="GroupedData"):
        read_moments(grouped)


@pytest.mark.parametrize(
    ("said", "ours"),
    [
        ("ModuleNotFoundError: No module named 'halftrek'", "workers have no halftrek: .*PYSPARK_PYTHON"),
        ("[PYTHON_VERSION_MISMATCH] Python in worker has different version", "another Python than this one"),
        ("Cannot call methods on a stopped SparkContext", "the Spark session is gone"),
        ("[SESSION_CLOSED] the session was closed", "the Spark session is gone"),
        ("[SESSION_OR_CONTEXT_NOT_EXISTS] there is no context", "the Spark session is gone"),
        ("SparkContext or SparkSession should be created first.", "the Spark session is gone"),  # of Spark 3.5
        ("[UNRESOLVED_COLUMN] a column `q` cannot be resolved", "the Spark frame cannot be read: .*q"),
    ],
)
def test_what_spark_says_in_our_words(said: str, ours: str) -> None:
    with pytest.raises(DataError, match=ours):
        raise about_spark(RuntimeError(said))


def test_a_traceback_of_a_worker_is_its_last_line() -> None:
    said = (
        "\n  An exception was thrown from the Python worker. Please see the stack trace below.\n"
        'Traceback (most recent call last):\n  File "jobs.py", line 44, in as_row\n    return made({"a": 1})\n'
        "TypeError: unhashable type: 'list'\n\n\tat org.apache.spark.api: x\n"
    )
    assert "cannot be read: TypeError: unhashable type: 'list'; check its query" in str(about_spark(RuntimeError(said)))


STOPPED = """
import halftrek as ht
from tests.data.sources.engine_tables import spark_session
session = spark_session()
frame = session.createDataFrame([(float(k), float(k * k)) for k in range(9)], "a double, b double")
session.stop()
try:
    ht.fit("a -> b", frame)
except ht.DataError as error:
    print("OURS", error)
"""

STOPPED_IN_THE_MIDDLE = """
import threading, time
import halftrek as ht
from tests.data.sources.engine_tables import spark_session
session = spark_session()

def slow(batches):
    for batch in batches:
        time.sleep(60.0)
        yield batch

frame = session.range(9).selectExpr("id + 0.5 as a", "id * 0.25 as b").mapInArrow(slow, "a double, b double")

def stop():
    while not session.sparkContext.statusTracker().getActiveStageIds():  # until rows are read, on any machine
        time.sleep(0.1)
    session.stop()

threading.Thread(target=stop, daemon=True).start()
try:
    ht.fit("a -> b", frame)
except ht.DataError as error:
    print("OURS", error)
"""


def run_apart(code: str, *words: str, **environment: str) -> str:
    ours = ("SPARK_", "HALFTREK_SPARK", "PYSPARK_GATEWAY")  # of the session in this process; the other has its own
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, *words],
        cwd=ROOT, capture_output=True, text=True, env={**kept, **environment}, check=False, timeout=600,
    )  # fmt: skip
    return done.stdout + done.stderr


def test_a_stopped_session() -> None:
    assert "OURS the Spark session is gone" in run_apart(STOPPED)
    spark_session()  # sets JAVA_HOME, which the other process needs
    said = run_apart(STOPPED_IN_THE_MIDDLE)
    assert "OURS the Spark session is gone" in said
    assert "Nothing was kept of what it had done" in said


def test_without_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for home in (None, str(tmp_path)):
        monkeypatch.setenv("PATH", str(tmp_path))
        if home is None:
            monkeypatch.delenv("JAVA_HOME", raising=False)
        else:
            monkeypatch.setenv("JAVA_HOME", home)
        with pytest.raises(DataError, match=r"Spark runs in Java, and .*: install Java 17"), spark_table("local", "x"):
            pass


def people_query() -> str:
    table_in("Spark")  # writes the file
    return f"select * from parquet.`{folder() / 'people.parquet'}`"


def test_a_query_by_an_address(capsys: pytest.CaptureFixture[str]) -> None:
    spark_session()
    address = "sc://localhost" if by_connect() else "local[2,4]"
    assert main(["fit", GRAPH, "--sql", people_query(), "--connect", address, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    expected = ht.fit(GRAPH, the_table())
    assert found["n"] == expected.n
    assert found["loglik"] == pytest.approx(expected.loglik, rel=1e-10)
    assert spark_session().range(3).count() == 3  # a session that was there already goes on


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("insert into people values (1)", "one SELECT and nothing else; this is insert"),
        ("select * from nobody", "cannot be read: .*nobody"),
    ],
)
def test_a_query_that_spark_cannot_or_may_not_run(query: str, said: str) -> None:
    spark_session()
    address = "sc://localhost" if by_connect() else "local[2,4]"
    with pytest.raises(DataError, match=said), table_at(address, query) as frame:
        read_moments(frame)


OWN_SESSION = """
import sys
from halftrek.cli import main
from pyspark.sql import SparkSession
print("CODE", main(["fit", "age -> y", "--sql", sys.argv[1], "--connect", "local[1]", "--missing", "drop"]))
print("LEFT", SparkSession.getActiveSession())
"""


def test_a_session_of_the_command_ends_with_it() -> None:
    spark_session()  # sets JAVA_HOME, which the other process needs
    said = run_apart(OWN_SESSION, people_query())
    assert "CODE 0" in said
    assert "LEFT None" in said


def test_a_token_of_connect_is_never_shown() -> None:
    address = "sc://127.0.0.1:1/;token=hush;user_id=me"
    assert shown(address) == "sc://127.0.0.1:1/;token=***;user_id=me"
