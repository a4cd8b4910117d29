"""Every source gives the same moments; weights, missing values, progress, and bad input in memory."""

from __future__ import annotations

import datetime
import io
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from halftrek.data import Moments, read_moments
from halftrek.data.sources import memory as frames
from halftrek.data.weights import Counted
from halftrek.errors import DataError, MissingExtraError
from halftrek.models import Rows

NAMES = ["a", "b b", 'q"c', "flag"]


@pytest.fixture(scope="module")
def columns() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    n = 3000
    a = rng.standard_normal(n) + 100.0
    return {
        "a": a,
        "b b": rng.integers(-50, 50, n),
        'q"c': (np.round(8 * (a + rng.standard_normal(n))) / 8).astype(np.float32),  # eighths: the same in text
        "flag": rng.random(n) < 0.3,
    }


class OnlyStream:
    """Something that offers an Arrow stream and nothing else."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)


def source(kind: str, columns: dict[str, np.ndarray], folder: Path) -> Any:
    table = pa.table(columns)
    frame = pd.DataFrame(columns)
    matrix = np.column_stack(list(columns.values())).astype(float)
    if kind == "csv file object":
        return io.BytesIO(frame.to_csv(index=False).encode())
    if kind == "text file object":
        return io.StringIO(frame.to_csv(index=False))
    if kind == "parquet file object":
        pq.write_table(table, folder / "t.parquet")
        return io.BytesIO((folder / "t.parquet").read_bytes())
    if kind in ("csv", "csv.gz", "txt"):
        frame.to_csv(folder / f"t.{kind}", index=False)
        return folder / f"t.{kind}"
    if kind == "excel csv":
        frame.to_csv(folder / "t.csv", index=False, sep=";", decimal=",", encoding="utf-8-sig", lineterminator="\r\n")
        return str(folder / "t.csv")
    if kind == "tsv":
        frame.to_csv(folder / "t.tsv", index=False, sep="\t")
        return str(folder / "t.tsv")
    if kind == "parquet":
        pq.write_table(table, folder / "t[1].parquet", row_group_size=500)
        return folder / "t[1].parquet"
    if kind == "feather":
        pyarrow.feather.write_feather(table, folder / "t.feather", chunksize=800)
        return folder / "t.feather"
    if kind == "arrow stream file":
        with pa.OSFile(str(folder / "t.arrow"), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table, max_chunksize=900)
        return folder / "t.arrow"
    if kind == "glob":
        pq.write_table(table.slice(0, 1000), folder / "part-1.parquet")
        pq.write_table(table.slice(1000, 1).select([3, 2, 0, 1]), folder / "part-2.parquet")
        table.slice(1001).to_pandas().to_csv(folder / "part-3.csv", index=False)
        return str(folder / "part-*")
    if kind == "duckdb":
        return duckdb.connect().from_arrow(table)
    if kind == "duckdb sql":
        duckdb_connection = duckdb.connect()
        duckdb_connection.register("t", table)
        return duckdb_connection.sql('SELECT a::DECIMAL(38, 20) AS a, "b b"::HUGEINT AS "b b", "q""c", flag FROM t')
    simple: dict[str, Any] = {
        "array": Rows(matrix, tuple(columns)),
        "fortran": np.asfortranarray(matrix),
        "list": matrix.tolist(),
        "dict": columns,
        "dict of lists": {v: list(x) for v, x in columns.items()},
        "records": frame.to_records(index=False),
        "pandas": frame,
        "pandas nullable": frame.convert_dtypes(),
        "pandas arrow": frame.astype({"a": "float64[pyarrow]", "b b": "int64[pyarrow]", "flag": "bool[pyarrow]"}),
        "polars": pl.DataFrame(columns),
        "polars chunks": pl.concat([pl.DataFrame(columns)[:1001], pl.DataFrame(columns)[1001:]], rechunk=False),
        "polars lazy": pl.LazyFrame(columns),
        "arrow": table,
        "arrow reader": table.to_reader(max_chunksize=1000),
        "arrow batch": table.to_batches()[0],
        "arrow stream": OnlyStream(table),
    }
    return simple[kind]


KINDS = """array,fortran,list,dict,dict of lists,records,pandas,pandas nullable,pandas arrow,polars,polars chunks,
polars lazy,arrow,arrow reader,arrow batch,arrow stream,csv,csv.gz,txt,tsv,excel csv,csv file object,
text file object,parquet file object,parquet,feather,arrow stream file,glob,duckdb,duckdb sql""".replace(
    "\n", ""
).split(",")


@pytest.mark.parametrize("kind", KINDS)
def test_every_source_gives_the_same(
    kind: str, columns: dict[str, np.ndarray], tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setattr(frames, "PIECE", 640)
    matrix = np.column_stack(list(columns.values())).astype(float)
    seen: list[tuple[int, int | None]] = []
    plain = kind in ("fortran", "list")
    m = read_moments(
        source(kind, columns, tmp_path),
        NAMES if plain else None,
        progress=lambda done, total: seen.append((done, total)),
    )
    assert m.names == tuple(NAMES)
    assert m.n == 3000
    assert m.dropped == 0
    np.testing.assert_allclose(m.mean, matrix.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(m.cov, np.cov(matrix, rowvar=False, ddof=0), rtol=1e-9, atol=1e-12)
    assert seen[-1][0] == 3000
    assert seen[-1][1] in (3000, None)
    if not plain:
        some = read_moments(source(kind, columns, tmp_path), ["flag", "a"])
        assert some.names == ("flag", "a")
        np.testing.assert_allclose(some.cov, m.select(["flag", "a"]).cov, rtol=1e-11)
        weighted = read_moments(source(kind, columns, tmp_path), ["a", "b b"], weights="flag")
        kept = matrix[matrix[:, 3] == 1][:, :2]
        assert weighted.n == len(kept)
        np.testing.assert_allclose(weighted.cov, np.cov(kept, rowvar=False, ddof=0), rtol=1e-9)
        weights = np.arange(3000) % 3
        repeated = np.repeat(matrix[:, :2], weights, axis=0)
        by_array = read_moments(source(kind, columns, tmp_path), ["a", "b b"], weights=weights)
        assert by_array.n == len(repeated)
        np.testing.assert_allclose(by_array.cov, np.cov(repeated, rowvar=False, ddof=0), rtol=1e-9)
        with pytest.raises(DataError, match=r"no column 'A'\. Did you mean 'a'"):
            read_moments(source(kind, columns, tmp_path), ["A"])


def with_holes(kind: str, folder: Path) -> Any:
    a, b = [1.0, None, 3.0, 4.5, 5.0], [2, 1, None, 7, 0]
    frame = pd.DataFrame({"a": a, "b": b, "t": list("vwxyz")})
    if kind == "csv":
        frame.to_csv(folder / "h.csv", index=False, na_rep="NA")
        return folder / "h.csv"
    if kind == "parquet":
        pl.DataFrame({"a": a, "b": b, "t": list("vwxyz")}).write_parquet(folder / "h.parquet")
        return folder / "h.parquet"
    table = {"a": a, "b": b, "t": list("vwxyz")}
    matrix = frame[["a", "b"]].to_numpy(dtype=float)
    masked = np.ma.masked_invalid(matrix)
    named = {"pandas": frame, "polars": pl.DataFrame(table), "arrow": pa.table(table), "dict": table}
    return {**named, "array": matrix, "masked": masked}[kind]


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "dict", "array", "masked", "csv", "parquet"])
def test_missing_values(kind: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r'2 of 5 rows have missing values, in a \(1\), b \(1\).*missing="drop"'):
        read_moments(with_holes(kind, tmp_path), ["a", "b"])
    m = read_moments(with_holes(kind, tmp_path), ["a", "b"], missing="drop")
    kept = np.array([[1.0, 2.0], [4.5, 7.0], [5.0, 0.0]])
    assert (m.n, m.dropped) == (3, 2)
    np.testing.assert_allclose(m.cov, np.cov(kept, rowvar=False, ddof=0))
    light = read_moments(with_holes(kind, tmp_path), ["a", "b"], weights=[1, 0, 0, 1, 2])
    assert (light.n, light.dropped) == (4, 0)
    if kind not in ("array", "masked"):
        assert read_moments(with_holes(kind, tmp_path), ["b"], missing="drop").dropped == 1
        with pytest.raises(DataError, match=r"column 't'.*names="):
            read_moments(with_holes(kind, tmp_path))


def test_holes_beyond_the_first_chunk_and_a_hole_in_the_first_row() -> None:
    table = np.random.default_rng(1).standard_normal((200_000, 3)) + 1e8
    table[0, 0] = table[150_000, 1] = table[199_999, 2] = np.nan
    m = read_moments(table, missing="drop")
    kept = table[~np.isnan(table).any(axis=1)]
    assert (m.n, m.dropped) == (199_997, 3)
    np.testing.assert_allclose(m.cov, np.cov(kept - 1e8, rowvar=False, ddof=0), atol=1e-12)
    with pytest.raises(DataError, match="3 of 200000 rows"):
        read_moments(table)


def test_weights_equal_repeated_rows() -> None:
    rng = np.random.default_rng(2)
    table = rng.standard_normal((400, 3)) + np.array([0.0, 1e8, -5.0])
    counts = rng.integers(0, 4, 400)
    repeated, m = np.repeat(table, counts, axis=0), read_moments(table, weights=counts)
    assert m.n == counts.sum()
    np.testing.assert_allclose(m.cov, np.cov(repeated - [0, 1e8, 0], rowvar=False, ddof=0), atol=1e-12)
    assert m.weighting == Counted(float((counts > 0).sum()))


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, -1, 1], "hold -1"),
        ([1, np.nan, 1], "hold nan"),
        ([1, 1], "2 weights for 3 rows"),
        (["x", "y", "z"], "numbers"),
        ([[1, 1, 1]], "one number for each row"),
        ([0.2, 0.3, 0.5], r"hold 0\.2; weights= count rows .* sampling_weights=\.\.\."),
        ("share", r"'share' hold 0\.5; .* sampling_weights='share'"),
        ([0, 1, 0], "leave 1 of 3 rows"),
        ("W", "no column 'W'"),
        ("a", "cannot be a variable"),
        ("bad", "'bad' hold -3"),
    ],
)
def test_bad_weights(weights: Any, message: str) -> None:
    columns = {"a": [1.0, 2, 3], "b": [0.0, 1, 0], "bad": [1, -3, 1], "share": [1.0, 2.0, 0.5]}
    with pytest.raises(DataError, match=message):
        read_moments(columns, ["a", "b"], weights=weights)


def test_weights_of_the_wrong_number_in_a_stream() -> None:
    table = pa.table({"a": [1.0, 2.0, 3.0]})
    for k in (2, 4):
        with pytest.raises(DataError, match=f"{k} weights for 3 rows"):
            read_moments(table.to_reader(), weights=np.ones(k))


NOW = datetime.datetime(2024, 5, 1)


@pytest.mark.parametrize(
    ("data", "names", "message"),
    [
        (np.zeros(5), None, "2 dimensions"),
        (np.zeros((2, 2, 2)), None, "2 dimensions"),
        (np.zeros((3, 2)), ["a", "b", "c"], "2 columns, but 3 names"),
        (np.zeros((3, 2), dtype=complex), None, "complex"),
        (np.array([["1", "x"]], dtype=object), None, "for instance '1'"),
        (np.array([[NOW]], dtype="M8[s]"), None, "dates"),
        (np.zeros((0, 2)), None, "no rows"),
        (np.zeros((1, 2)), None, "only 1 row"),
        (np.zeros((3, 0)), None, "no columns"),
        (np.array([[1, 2], [np.inf, 0], [1, 1]]), ["a", "b"], r"'a' holds an infinite value \(row 2\)"),
        (np.array([[1e308], [-1e308], [1.0]]), ["a"], "'a' are too large"),
        ([[1, 2], [3]], None, "same length"),
        ({"a": [1, 2], "b": [1]}, None, "different lengths"),
        ({"a": [[1, 2], [3, 4]]}, None, "shape"),
        ({"a": [1, "x"]}, None, "'a' holds .*'x'"),
        (pd.DataFrame({"a": [1.0, 2], "t": ["u", "v"]}), None, "'t' holds .*'u'.*names="),
        (pd.DataFrame({"a": [1.0, 2], "t": [1, "v"]}), ["t"], "'t' holds .*'v'"),
        (pd.DataFrame({"a": [1.0, 2], "t": [NOW, NOW]}), None, "'t' holds dates"),
        (pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"]), None, "2 columns named 'a'"),
        (pd.DataFrame({"a": [1j, 2]}), None, "'a' holds .*1j"),
        (pl.DataFrame({"a": [1.0, 2], "t": [NOW, NOW]}), None, "'t' holds dates"),
        (pl.LazyFrame({"a": [1.0, 2], "t": ["u", "v"]}), None, "'t' holds .*'u'.*names="),
        (pa.table({"a": [1.0], "t": ["u"]}), ["t"], "'t' holds .*'u'.*leave it out"),
        (pa.table({"a": [1.0], "t": [NOW]}), ["t"], "'t' holds timestamp"),
        (pa.table([[1.0], [2.0]], names=["a", "a"]), None, "2 columns named 'a'"),
        (pa.table({"a": [1.0, 2.0]}), ["a", "a"], "asked for twice"),
        (pa.table({"a": [1.0, 2.0]}), "a", "not one text"),
        (pa.table({"a": [1.0, 2.0]}), [], "no columns"),
        (pd.DataFrame({"a": [1.0, np.nan], "b": [1, 2]}), None, "missing values"),
        (42, None, "cannot be read from a int"),
    ],
)
def test_bad_input(data: Any, names: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_moments(data, names)


def test_unused_columns_do_no_harm() -> None:
    frame = pd.DataFrame([[1, "x", 2.0, 3], [2, "y", np.nan, 5], [4, "z", 0.0, 1]], columns=["a", "t", "t", 7])
    assert read_moments(frame, ["a", "7"]).names == ("a", "7")
    assert frame.columns.tolist() == ["a", "t", "t", 7]


def test_moments_as_a_source() -> None:
    m = Moments(("a", "b"), 9, np.zeros(2), np.eye(2))
    assert read_moments(m) is m
    assert read_moments(m, ["b"]).names == ("b",)
    with pytest.raises(DataError, match="no rows to weight"):
        read_moments(m, weights=[1.0])
    with pytest.raises(DataError, match="missing must be"):
        read_moments(m, missing="keep")  # type: ignore[arg-type]


def test_all_rows_incomplete() -> None:
    with pytest.raises(DataError, match="fewer than 2 of 3 rows are complete"):
        read_moments(np.array([[1, np.nan], [np.nan, 2], [3, 4]]), missing="drop")


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a,b\n1,2\n3,5\n")))
    m = read_moments("-", ["b"])
    assert (m.n, m.mean[0]) == (2, 3.5)


def test_a_parquet_file_is_streamed(tmp_path: Path) -> None:
    n = 600_000
    x = np.random.default_rng(3).standard_normal(n)
    pq.write_table(pa.table({"a": x, "b": x**2, "c": x**3}), tmp_path / "long.parquet", row_group_size=50_000)
    del x
    done: list[int] = []
    tracemalloc.start()
    before = pa.total_allocated_bytes()
    m = read_moments(tmp_path / "long.parquet", progress=lambda rows, _total: done.append(rows))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert m.n == n
    assert len(done) > 5
    assert peak < 6_000_000
    assert pa.total_allocated_bytes() - before < 1_000_000


def test_missing_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.csv").write_text("a\n1\n2\n")
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(MissingExtraError, match=r"halftrek\[sql\]"):
        read_moments(tmp_path / "a.csv")


def test_arrow_nulls_in_slices_are_missing_values() -> None:
    column = pa.array([1.0, None, 3.0, 4.5, None, 2.0, -1.0, None, 0.5, 7.0])
    other = pa.array(range(10))
    for start in (0, 1, 3):
        part = pa.table({"x": column, "y": other}).slice(start)
        wanted = pd.DataFrame({"x": column.to_pylist()[start:], "y": range(start, 10)}).dropna()
        found = read_moments(part, missing="drop")
        assert found.dropped == 10 - start - len(wanted)
        np.testing.assert_allclose(found.mean, wanted.mean())
        np.testing.assert_allclose(found.cov, wanted.cov(ddof=0))
