"""What engines raise reaches users as errors of ours, with the engine's own words behind them; Ctrl-C stays Ctrl-C."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import halftrek as ht
from halftrek.data import read_moments, row_reader
from halftrek.data.by_group.grouping import group_reader
from halftrek.data.by_group.groups import read_groups
from halftrek.data.sources import memory as frames
from halftrek.data.sources.guard import in_our_words, is_interruption
from halftrek.errors import DataError
from tests.project.pages import ROOT


def closed_relation() -> Any:
    connection = duckdb.connect()
    relation = connection.sql("select 1.0 a union all select 2.0")
    connection.close()
    return relation


def failing_relation() -> Any:
    return duckdb.connect().sql("select a::double a from (values ('1'), ('x')) t(a)")


@pytest.mark.parametrize(
    ("data", "message", "cause"),
    [
        (pl.LazyFrame({"a": [1, 2]}).select("nosuch"), "the polars query .*nosuch.*; check its expressions", True),
        (pl.LazyFrame({"a": ["1", "x"]}).select(pl.col("a").cast(float)), "the polars query .*column 'a'", True),
        (closed_relation, "the DuckDB relation .*closed; keep its connection open", True),
        (failing_relation, "the DuckDB relation .*'x' to DOUBLE.*; check its query", True),
        (pd.DataFrame({"a": [1.0], "g": [1]}).groupby("g"), "DataFrameGroupBy is not a table .*by='column'", False),
        (pa.array([1.0, 2.0]), "one column is not a table", False),
        (pa.chunked_array([[1.0, 2.0]]), "one column is not a table", False),
        (pa.schema([]), "an Arrow Schema; give a table", False),
        ({"a": [[1], [2, 3]]}, "column 'a' must be a list of numbers", True),
        ({"a": [10**400, 1]}, "column 'a' holds a number too large", False),
        ([[10**400], [1]], "a list of data must be", False),
        ({"a": np.ma.array(["x", "y"], mask=[False, True])}, "column 'a' holds values that are not numbers", False),
        ({"a\ud800": [1.0, 2.0]}, "not valid text", False),
    ],
)
def test_errors_are_ours(data: Any, message: str, cause: bool) -> None:
    data = data() if callable(data) else data
    with pytest.raises(DataError, match=message) as caught:
        read_moments(data)
    assert (caught.value.__cause__ is not None) == cause
    with pytest.raises(ht.HalftrekError):
        ht.fit("a -> b", data)


def test_a_connection_that_is_closed_in_the_middle() -> None:
    """DuckDB ends a reading that has begun; what would be wrong are the moments of some of the rows."""
    connection = duckdb.connect()
    connection.execute("create table rows as select i::double a, (i * i)::double b from range(2_000_000) t(i)")
    seen: list[int] = []

    def close(done: int, _: int | None) -> None:
        seen.append(done)
        connection.close()

    found = read_moments(connection.table("rows"), progress=close)
    assert 0 < seen[0] < seen[-1] == 2_000_000
    assert found.n == 2_000_000
    assert found.mean[0] == pytest.approx(1_999_999 / 2, rel=1e-14)


def test_a_table_that_is_dropped_after_the_fit() -> None:
    connection = duckdb.connect()
    connection.execute("create table visits as select i::double x, (i * i % 7)::double y, i % 2 g from range(50) t(i)")
    relation = connection.table("visits")
    fit = ht.fit("x -> y", relation)
    connection.execute("drop table visits")
    again: list[Callable[[], object]] = [
        lambda: fit.effect("x", "y", interval="robust"),
        lambda: fit.predict(relation, "y"),
        lambda: ht.fit("x -> y", relation, by="g"),
    ]
    for ask in again:
        with pytest.raises(DataError, match=r"the DuckDB relation cannot be read: .* visits does not exist"):
            ask()


@pytest.mark.parametrize("names", [5, [5], [["a"]], ["a", None]])
def test_names_that_are_no_texts(names: Any) -> None:
    with pytest.raises(DataError, match=r"names .*not"):
        read_moments({"a": [1.0, 2.0]}, names)


def test_a_text_of_megabytes_does_not_drown_the_error(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_bytes(b"a,b\n1,2\n3," + b"x" * 3_000_000 + b"\n5,6\n")
    with pytest.raises(DataError, match="line 3 has more than two million characters") as caught:
        read_moments(tmp_path / "x.csv", ["a"])
    assert len(str(caught.value.__cause__)) < 3_000


# -- long whole numbers ----------------------------------------------------------------------------

LONG = [2**53, 2**53 + 1] * 3
COLUMNS = {"a": [1.0, 2.0, 4.0, 3.0, 7.0, 5.0], "b": [2.0, 1.0, 5.0, 3.0, 6.0, 9.0], "id": LONG}


def with_long_numbers(kind: str, folder: Path) -> Any:
    frame = pd.DataFrame(COLUMNS)
    if kind == "csv":
        frame.to_csv(folder / "t.csv", index=False)
        return folder / "t.csv"
    if kind == "parquet":
        frame.to_parquet(folder / "t.parquet")
        return folder / "t.parquet"
    if kind == "feather":
        frame.to_feather(folder / "t.feather")
        return folder / "t.feather"
    if kind == "files":
        frame[:3].to_csv(folder / "t-1.csv", index=False)
        frame[3:].to_parquet(folder / "t-2.parquet")
        return str(folder / "t-*")
    if kind.startswith("duckdb"):
        connection = duckdb.connect()
        connection.register("t", frame)
        return connection.sql("select a, b, id::HUGEINT id from t" if kind == "duckdb huge" else "select * from t")
    simple: dict[str, Any] = {
        "dict": COLUMNS,
        "pandas": frame,
        "pandas nullable": frame.convert_dtypes(),
        "pandas arrow": frame.astype({"id": "int64[pyarrow]"}),
        "polars": pl.DataFrame(COLUMNS),
        "lazy": pl.LazyFrame(COLUMNS),
        "arrow": pa.table(COLUMNS),
        "arrow unsigned": pa.table({**COLUMNS, "id": pa.array(LONG, pa.uint64())}),
    }
    return simple[kind]


KINDS = "dict,pandas,pandas nullable,pandas arrow,polars,lazy,arrow,arrow unsigned,duckdb,duckdb huge,csv,parquet"


@pytest.mark.parametrize("kind", [*KINDS.split(","), "feather", "files"])
def test_long_numbers_are_rounded_as_values_and_exact_as_labels(kind: str, tmp_path: Path) -> None:
    source = with_long_numbers(kind, tmp_path)
    assert read_moments(source, ["id"]).mean[0] == pytest.approx(2**53, rel=1e-15)
    groups = read_groups(group_reader(source, "id", ("a", "b"))[0])
    assert groups.keys == (2**53, 2**53 + 1)
    np.testing.assert_array_equal(groups.n, [3, 3])
    codes = np.concatenate([b.cluster for b in row_reader(source, ["a"], cluster="id").blocks()])
    np.testing.assert_array_equal(codes, [0, 1, 0, 1, 0, 1])


@pytest.mark.parametrize("library", [pl.DataFrame, pl.LazyFrame, pd.DataFrame, pa.table])
def test_labels_of_which_some_are_whole(library: Any) -> None:
    """polars takes the kind of a column from its first entry, which is a whole number here."""
    labels = [0.0, 0.5, 1.5] * 8
    table = library({"a": np.arange(24.0), "b": np.cos(np.arange(24.0)), "dose": labels})
    found = ht.fit("a -> b", table, by="dose").query("a ~> b")
    assert np.asarray(found["group"]).tolist() == [0.0, 0.5, 1.5]


def test_long_labels_beside_the_table() -> None:
    for labels in (
        LONG,
        np.array(LONG),
        pd.Series(LONG),
        pl.Series(LONG),
        [2**70, 2**70 + 1] * 3,
        [1.5, 2**53 + 1] * 3,
    ):
        blocks = row_reader(COLUMNS, ["a"], cluster=labels).blocks()
        np.testing.assert_array_equal(np.concatenate([b.cluster for b in blocks]), [0, 1, 0, 1, 0, 1])


def test_labels_that_are_rounded_already_are_refused(tmp_path: Path) -> None:
    late = tmp_path / "late.csv"  # the first rows do not show that numbers are long
    late.write_text("a,id\n" + "1,2\n" * 500 + f"2,{2**53 + 1}\n")
    for source in ({"a": [1.0, 2.0], "id": [2.0**60, 1.0]}, {"a": [1.0, 2.0], "id": [2.0**53, 1.0]}, late):
        with pytest.raises(DataError, match=r"'id'.* as a float, which does not tell such long numbers apart"):
            list(row_reader(source, ["a"], cluster="id").blocks())


def test_values_that_differ_in_their_last_digits_only() -> None:
    stamps = 1_700_000_000_000_000_000 + np.arange(40) * 30
    y = np.sin(np.arange(40))
    incomplete = np.where(np.arange(40) == 3, np.nan, y)
    for columns in ({"x": stamps, "y": y}, {"x": stamps, "y": incomplete}, pa.table({"x": stamps, "y": y})):
        with pytest.raises(DataError, match=r"values of 'x' have more than 15 digits .*subtract a constant"):
            ht.fit("x -> y", columns)
    with pytest.raises(DataError, match="more than 15 digits"):
        ht.fit("x -> y", {"x": stamps, "y": y}, by=["u", "v"] * 20)
    seconds = ht.moments({"x": stamps[0] + np.arange(40) * 10**9, "y": y})  # here rounding is a part in a million
    assert seconds.cov[0, 0] == pytest.approx(np.var(np.arange(40)) * 1e18, rel=1e-6)


@pytest.mark.parametrize("label", [[1], {}, np.zeros(2), {1}])
def test_labels_that_are_none(label: Any) -> None:
    with pytest.raises(DataError, match=r"row 2 of the clusters holds a \w+, which is no label"):
        ht.fit("a -> b", COLUMNS, cluster=["x", label, "y", "x", "y", "x"]).query("a ~> b")


@pytest.mark.parametrize("hole", [None, float("nan"), pd.NA, pd.NaT, np.datetime64("nat")])
def test_missing_labels(hole: Any) -> None:
    with pytest.raises(DataError, match="missing in row 2"):
        ht.fit("a -> b", COLUMNS, cluster=["x", hole, "y", "x", "y", "x"]).query("a ~> b")


# -- interruptions ---------------------------------------------------------------------------------

INTERRUPTED = """
import os, signal, threading
import duckdb
import halftrek as ht
query = "select sum(hash(range))::double a from range(100000000000) group by range % 3"
ht.moments(duckdb.connect().sql("select range::double a from range(9)"))  # everything is loaded now
threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    ht.moments(duckdb.connect().sql(query))
except KeyboardInterrupt:
    print("interrupted")
"""


def test_an_interruption_of_the_engine_is_one() -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, cwd=ROOT, timeout=60, check=False
    )
    assert (done.stdout, done.stderr, done.returncode) == ("interrupted\n", "", 0)


@pytest.mark.parametrize(
    "error", [duckdb.InterruptException("INTERRUPT Error: Interrupted!"), pa.ArrowCancelled("stop")]
)
@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.feather"])
def test_an_interruption_while_a_file_is_read(
    error: Exception, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = pd.DataFrame(COLUMNS)
    {"t.csv": frame.to_csv, "t.parquet": frame.to_parquet, "t.feather": frame.to_feather}[name](tmp_path / name)

    def interrupt(*_: Any) -> Any:
        raise error

    monkeypatch.setattr(frames, "_arrow_numbers", interrupt)
    with pytest.raises(KeyboardInterrupt):
        read_moments(tmp_path / name, ["a"])


def test_an_interruption_is_heard_beside_polars() -> None:
    """Once polars is imported, waits begin again after Ctrl-C: one without an end would never hear of it."""
    code = (
        "import os, signal, threading, polars; from halftrek.data.sources.guard import interruptible\n"
        "stopped = threading.Event()\n"
        "threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()\n"
        "try: interruptible(lambda: print('not stopped:', not stopped.wait(15.0)), stopped.set)\n"
        "except KeyboardInterrupt: print('heard')"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["not stopped: False", "heard"]


def test_what_is_no_interruption() -> None:
    assert not is_interruption(ValueError("Query interrupted"))
    with pytest.raises(MemoryError), in_our_words(lambda error: DataError(str(error))):
        raise MemoryError
    with pytest.raises(DataError, match="much"), in_our_words(lambda error: DataError(str(error)), memory=True):
        raise MemoryError("much")


# -- files that change while they are read ---------------------------------------------------------

CUT_SHORT = """
import os, sys
import numpy as np, pyarrow as pa
import halftrek as ht
path, seekable = sys.argv[1], sys.argv[2] == "file"
table = pa.table({"a": np.arange(2_000_000.0), "b": np.sin(np.arange(2_000_000.0))})
with pa.OSFile(path, "wb") as sink, (pa.ipc.new_file if seekable else pa.ipc.new_stream)(sink, table.schema) as writer:
    writer.write_table(table, max_chunksize=50_000)
try:
    ht.moments(path, progress=lambda done, total: os.truncate(path, 4096))
except ht.HalftrekError as error:
    print(error)
"""


@pytest.mark.parametrize("kind", ["file", "stream"])
def test_an_arrow_file_that_is_cut_short_while_it_is_read(kind: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CUT_SHORT, str(tmp_path / "t.arrow"), kind], capture_output=True, text=True, cwd=ROOT,
        timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "cannot be read as an Arrow file" in done.stdout or "was cut short while it was read" in done.stdout


def test_a_stream_that_was_cut_between_two_batches(tmp_path: Path) -> None:
    table = pa.table({"a": np.arange(300.0)})
    with pa.OSFile(str(tmp_path / "t.arrow"), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table[:100])
        writer.write_table(table[100:200])
        sink.flush()
        size = sink.tell()
        writer.write_table(table[200:])
    assert read_moments(tmp_path / "t.arrow").n == 300
    with (tmp_path / "t.arrow").open("r+b") as file:
        file.truncate(size)
    with pytest.raises(DataError, match="its end is missing"):
        read_moments(tmp_path / "t.arrow")


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_a_file_that_is_cut_short_while_it_is_read(name: str, tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": np.sin(np.arange(400_000.0)), "b": np.cos(np.arange(400_000.0))})
    frame.to_csv(tmp_path / name) if name == "t.csv" else frame.to_parquet(tmp_path / name, row_group_size=20_000)
    size = (tmp_path / name).stat().st_size
    with pytest.raises(DataError, match=r"'.*t\.\w+'.* (cut short|cannot be read|values where|not a number)"):
        read_moments(tmp_path / name, ["a", "b"], progress=lambda *_: os.truncate(tmp_path / name, size // 2))


def test_columns_that_differ_in_capitals_only() -> None:
    """DuckDB and SQLite have x and X for one name, and would give the first of them for both."""
    import ibis

    query = "select range::double as x, 100.0 - range as X, range % 2 as g, range % 5 as G from range(20)"
    relation = duckdb.connect().sql(query)
    assert relation.columns == ["x", "X", "g", "G"]
    np.testing.assert_allclose(read_moments(relation, ["X", "x"]).mean, [90.5, 9.5])
    assert ht.fit("x", relation, by="G").keys == (0, 1, 2, 3, 4)
    connection = sqlite3.connect(":memory:")
    connection.execute("create table t as select 1.0 as x, 5.0 as y union select 2.0, 7.0 union select 4.0, 6.0")
    table = ibis.sqlite.from_connection(connection).table("t")
    twins = table.select("x", X=table.y).limit(3)
    with pytest.raises(DataError, match="the columns 'x' and 'X' are one name to SQLite; rename one of them"):
        read_moments(twins, ["X"])
