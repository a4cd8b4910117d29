"""Every engine gives the same answers from one table with missing values, weights, groups and clusters."""

from __future__ import annotations

import sqlite3
from typing import Any

import numpy as np
import polars as pl
import pytest

import halftrek as ht
from halftrek.data import Moments, Patterns, read_moments, read_patterns
from halftrek.data.missing import gather
from halftrek.data.sources import lazy
from halftrek.errors import DataError
from tests.data.sources.engine_tables import ENGINES, folder, postgres_address, table_in, the_table

pytestmark = pytest.mark.filterwarnings("ignore::Warning")  # those of engines; ours are tested elsewhere

GRAPH = 'age -> y; age -> smokes; smokes -> y; y -> "z z"; smokes <-> "z z"'
NAMES = ("x", "y", "z z", "smokes")
WEIGHTS: list[dict[str, str]] = [{}, {"weights": "times"}, {"sampling_weights": "share"}]


def assert_close(found: Moments, wanted: Moments) -> None:
    assert found.n == wanted.n
    assert found.dropped == wanted.dropped
    assert found.kinds == wanted.kinds
    assert type(found.weighting) is type(wanted.weighting)
    scale = np.sqrt(np.diag(wanted.cov))
    assert np.abs((found.mean - wanted.mean) / scale).max() < 1e-7  # a mean of 1e8 has eight digits left
    assert np.abs((found.cov - wanted.cov) / np.outer(scale, scale)).max() < 1e-12


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("weights", WEIGHTS, ids=["plain", "counts", "sampling"])
def test_moments(engine: str, weights: dict[str, Any]) -> None:
    wanted = read_moments(the_table(), NAMES, missing="drop", **weights)
    assert_close(read_moments(table_in(engine), NAMES, missing="drop", **weights), wanted)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("weights", WEIGHTS, ids=["plain", "counts", "sampling"])
def test_patterns(engine: str, weights: dict[str, Any]) -> None:
    found = read_patterns(table_in(engine), NAMES, **weights)
    wanted = read_patterns(the_table(), NAMES, **weights)
    assert isinstance(found, Patterns)
    assert isinstance(wanted, Patterns)
    assert (found.observed == wanted.observed).all()
    assert (found.rows == wanted.rows).all()
    assert np.abs(found.n / wanted.n - 1.0).max() < 1e-12
    assert found.kinds == wanted.kinds
    scale = np.sqrt(wanted.available[1])
    assert np.abs((found.mean - wanted.mean) / scale).max() < 1e-7
    assert np.abs((found.cov - wanted.cov) / np.outer(scale, scale)).max() < 1e-12


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("given", "asked"),
    [
        ({"missing": "drop"}, {}),
        ({"missing": "drop"}, {"interval": "robust"}),
        ({"missing": "drop", "cluster": "clinic"}, {}),
        ({"missing": "drop", "cluster": "clinic", "sampling_weights": "share"}, {}),
        ({}, {}),
    ],
    ids=["plain", "robust", "clusters", "weighted clusters", "missing values"],
)
def test_answers(engine: str, given: dict[str, Any], asked: dict[str, Any]) -> None:
    found = ht.fit(GRAPH, table_in(engine), **given).query("age ~> y", **asked)
    wanted = ht.fit(GRAPH, the_table(), **given).query("age ~> y", **asked)
    numbers = np.array([found.value, *found.interval])
    assert np.abs(numbers - [wanted.value, *wanted.interval]).max() < (1e-10 if "missing" in given else 1e-8)
    assert [note.code for note in found.notes] == [note.code for note in wanted.notes]


UNITS: dict[str, dict[str, Any]] = {
    "rows": {},
    "counts": {"weights": "times"},
    "sampling weights": {"sampling_weights": "share"},
    "clusters": {"cluster": "clinic"},
    "counts in clusters": {"cluster": "clinic", "weights": "times"},
    "sampling weights in clusters": {"cluster": "site", "sampling_weights": "share"},
}


@pytest.mark.parametrize("engine", ["Ibis on SQLite", "Ibis on PostgreSQL", "Dask"])
@pytest.mark.parametrize("units", UNITS)
def test_robust_errors_come_from_sums(engine: str, units: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Products of what rows, or clusters, contribute are summed by the engine: no row is read after the fit."""
    found = ht.fit(GRAPH, table_in(engine), missing="drop", **UNITS[units])
    wanted = ht.fit(GRAPH, the_table(), missing="drop", **UNITS[units])

    def no_rows(*_: object) -> None:
        raise AssertionError("rows were read")

    monkeypatch.setattr(lazy, "batches_of", no_rows)
    for question in ("age ~> y", "E[y | do(age=1)]", 'smokes <-> "z z"'):
        ours, theirs = (fit.query(question, interval="robust") for fit in (found, wanted))
        assert [ours.value, *ours.interval] == pytest.approx([theirs.value, *theirs.interval], rel=1e-10)
    ours, theirs = (fit.params(interval="robust") for fit in (found, wanted))
    np.testing.assert_allclose(ours["se"], theirs["se"], rtol=1e-8)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("missing", ["fiml", "drop"])
def test_groups(engine: str, missing: Any) -> None:
    by = ["site", "smokes"]
    graph = 'age -> y; y -> "z z"; age <-> "z z"'
    found = ht.fit(graph, table_in(engine), by=by, missing=missing, weights="times")
    wanted = ht.fit(graph, the_table(), by=by, missing=missing, weights="times")
    assert found.keys == wanted.keys
    ours, theirs = found.query("age ~> y"), wanted.query("age ~> y")
    for name in ("estimate", "se", "low", "high", "n", "dropped"):
        assert np.asarray(ours[name]) == pytest.approx(np.asarray(theirs[name]), rel=1e-7)
    assert list(ours["note"]) == list(theirs["note"])


@pytest.mark.parametrize("engine", ["Ibis on SQLite", "Ibis on PostgreSQL", "Dask"])
def test_too_many_patterns_for_an_engine_to_send(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its rows are read then, as many patterns are kept as from rows in memory, and the fit says what was left out."""
    monkeypatch.setattr(lazy, "LINES", 40)
    found, wanted = (read_patterns(table, NAMES) for table in (table_in(engine), the_table()))
    assert isinstance(found, Patterns)
    assert isinstance(wanted, Patterns)
    assert (found.rows == wanted.rows).all()
    np.testing.assert_allclose(found.cov, wanted.cov, rtol=1e-6, atol=1e-6)
    monkeypatch.setattr(gather, "MOST", 50)
    fewer = read_patterns(table_in(engine), NAMES)
    assert isinstance(fewer, Patterns)
    assert fewer.left_out > 0
    assert "too many patterns of missing values" in fewer.sentence


def odd_in(engine: str, columns: dict[str, list[Any]]) -> Any:
    """Truth values and numbers in a table of their own."""
    import ibis

    table = pl.DataFrame(columns)
    if engine == "Dask":
        import dask.dataframe as dd

        make: Any = dd.from_pandas
        return make(table.to_pandas(), npartitions=2)
    kinds = {"Boolean": "boolean", "Int64": "bigint", "String": "text"}
    written = ", ".join(f"{v} {kinds.get(str(kind), 'double precision')}" for v, kind in table.schema.items())
    if engine == "Ibis on SQLite":
        path = folder() / "odd.db"
        with sqlite3.connect(path) as connection:
            connection.execute("drop table if exists odd")
            connection.execute(f"create table odd ({written})")
            connection.executemany(f"insert into odd values ({', '.join('?' * len(columns))})", table.rows())
        return ibis.sqlite.connect(path).table("odd")
    import psycopg

    with psycopg.connect(postgres_address()) as connection:
        connection.execute("drop table if exists odd")
        connection.execute(f"create table odd ({written})".encode())
        with connection.cursor().copy("copy odd from stdin") as copy:
            for row in table.rows():
                copy.write_row(row)
    return ibis.connect(postgres_address()).table("odd")


ODD = [k * 0.5 for k in range(30)]


@pytest.mark.parametrize("engine", ["Ibis on SQLite", "Ibis on PostgreSQL", "Dask"])
def test_odd_columns(engine: str) -> None:
    """Truth values, as values and as weights; whole numbers beyond long integers; what is too large to be squared."""
    truths, long = [k % 3 == 0 for k in range(30)], [1e20 * (k % 13 + 1) for k in range(30)]
    columns: dict[str, list[Any]] = {"x": ODD, "b": truths, "z": long, "y": [x * x * 1e200 for x in ODD]}
    table = odd_in(engine, columns)
    for names, given in ((["x", "b", "z"], {}), (["x", "z"], {"weights": "b"})):
        found, wanted = (read_moments(source, names, **given) for source in (table, columns))  # type: ignore[arg-type]
        assert found.kinds == wanted.kinds
        assert found.n == wanted.n
        np.testing.assert_allclose(found.cov, wanted.cov, rtol=1e-12)
    with pytest.raises(DataError, match="the values of 'y' are too large to be squared"):
        read_moments(table, ["x", "y"])


@pytest.mark.parametrize("engine", ["Ibis on SQLite", "Ibis on PostgreSQL", "Dask"])
@pytest.mark.parametrize(
    ("weights", "said"),
    [
        ([float("nan"), *ODD[1:]], "hold nan"),
        ([float("inf"), *ODD[1:]], "hold inf"),
        ([1.5, *[1.0] * 29], r"hold 1\.5; weights= count rows"),
        (["many"] * 30, "column 'w' holds values that are not numbers, for instance 'many'"),
    ],
)
def test_odd_weights(engine: str, weights: list[Any], said: str) -> None:
    with pytest.raises(DataError, match=said):
        read_moments(odd_in(engine, {"x": ODD, "w": weights}), ["x"], weights="w")


def test_decimals_of_any_length() -> None:
    """PostgreSQL's numeric may have more digits than Arrow's decimals, as averages have, and may be no number."""
    import ibis
    import psycopg

    with psycopg.connect(postgres_address()) as connection:
        connection.execute("drop table if exists decimals")
        connection.execute(
            "create table decimals as select age::numeric(60, 40) / 3 as x, times::numeric as w, "
            "case when y is null then 'NaN' else y::numeric end as y, (clinic % 3)::numeric(60, 40) / 3 as g "
            "from people"
        )
    table = ibis.connect(postgres_address()).table("decimals")
    here = the_table().select(x=pl.col("age") / 3, y="y", w="times", g=(pl.col("clinic") % 3) / 3)
    for weights in (None, "w"):
        found, wanted = (ht.fit("x -> y", source, weights=weights) for source in (table, here))
        assert found.n == wanted.n
        for interval in ("delta", "robust"):
            ours, theirs = (fit.effect("x", "y", interval=interval) for fit in (found, wanted))
            assert (ours.value, ours.se) == pytest.approx((theirs.value, theirs.se), rel=1e-10)
    groups, expected = (ht.fit("x -> y", source, by="g") for source in (table, here))
    assert groups.keys == expected.keys
    ours, theirs = (fits[1 / 3].effect("x", "y", interval="robust") for fits in (groups, expected))
    assert (ours.value, ours.se) == pytest.approx((theirs.value, theirs.se), rel=1e-8)
    clusters, wanted_errors = (ht.fit("x -> y", source, missing="drop", cluster="g") for source in (table, here))
    ours, theirs = (fit.effect("x", "y", interval="robust") for fit in (clusters, wanted_errors))
    assert ours.se == pytest.approx(theirs.se, rel=1e-8)


def test_long_labels_that_are_floats() -> None:
    """Neighbours are the same number, also where an engine brings rows of a label together."""
    odd = odd_in("Ibis on SQLite", {"x": ODD, "y": ODD[::-1], "g": [2.0**53 + k % 3 for k in range(30)]})
    with pytest.raises(DataError, match="does not tell such long numbers apart"):
        ht.fit("x -> y", odd, by="g")


def test_rows_of_a_group_are_asked_for_when_they_are_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A query for each of fifty thousand groups would take minutes, and more memory than Spark has."""
    import narwhals as nw

    asked: list[str] = []
    plain = nw.LazyFrame.filter

    def counted(self: Any, *conditions: Any) -> Any:
        asked.append(str(conditions))
        return plain(self, *conditions)

    monkeypatch.setattr(nw.LazyFrame, "filter", counted)
    found, wanted = (
        ht.fit("age -> share", source, by="clinic") for source in (table_in("Ibis on SQLite"), the_table())
    )
    found.effect("age", "share")
    assert len(set(asked)) == 1  # one group of forty stands for all where the question is looked at
    ours, theirs = (fits[7].effect("age", "share", interval="robust") for fits in (found, wanted))
    assert (ours.value, ours.se) == pytest.approx((theirs.value, theirs.se), rel=1e-8)
    assert len(set(asked)) == 2


def test_sums_of_other_rows_than_those_of_the_fit() -> None:
    """A table that changes between the fit and its robust errors is noticed by sums as it is by rows."""
    import ibis

    path = folder() / "moving.db"
    with sqlite3.connect(path) as connection:
        connection.execute("drop table if exists moving")
        connection.execute("create table moving (x real, y real, place text)")
        pairs = np.random.default_rng(3).normal(size=(50, 2)).tolist()
        connection.executemany("insert into moving values (?, ?, ?)", [(*p, "a" if p[0] > 0 else "b") for p in pairs])
    table = ibis.sqlite.connect(path).table("moving")
    fits = ht.fit("x -> y", table), ht.fit("x -> y", table), ht.fit("x -> y", table, cluster="place")
    assert fits[0].effect("x", "y", interval="robust").se == pytest.approx(fits[0].effect("x", "y").se, rel=0.5)
    with sqlite3.connect(path) as connection:
        connection.execute("update moving set x = 2 * x where place = 'a'")
    with pytest.raises(DataError, match="the values of 'x' are no longer those that the model was fitted to"):
        fits[1].effect("x", "y", interval="robust")
    with sqlite3.connect(path) as connection:
        connection.execute("insert into moving values (1.0, 1.0, null)")
    with pytest.raises(DataError, match="the column 'place' is missing in some rows"):
        fits[2].effect("x", "y")
    with sqlite3.connect(path) as connection:
        connection.execute("update moving set place = 'c' where place is null")
    with pytest.raises(DataError, match="have 51 rows now, and had 50"):
        fits[2].effect("x", "y")
