"""Rows that are read again are the same rows, from every kind of source, with their weights and clusters."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from halftrek.data import RowReader, read_moments, row_reader, rows
from halftrek.errors import DataError
from tests.narrow import there

rng = np.random.default_rng(5)
TABLE = pd.DataFrame(rng.normal(size=(50, 3)), columns=["a", "b", "c"])
TABLE["w"] = rng.integers(0, 3, 50).astype(float)
TABLE["school"] = [f"s{k}" for k in rng.integers(0, 7, 50)]
TABLE["number"] = rng.integers(10, 17, 50)


def everything(reader: RowReader) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None]:
    blocks = list(reader.blocks())
    weights = None if blocks[0].weights is None else np.concatenate([b.weights for b in blocks])
    cluster = None if blocks[0].cluster is None else np.concatenate([b.cluster for b in blocks])
    return np.concatenate([b.values for b in blocks]), weights, cluster


def source_of(kind: str, folder: Path) -> Any:
    if kind == "pandas":
        return TABLE
    if kind == "dictionary":
        return {v: TABLE[v].to_numpy() for v in TABLE}
    if kind == "polars":
        return pl.from_pandas(TABLE)
    if kind == "lazy":
        return pl.from_pandas(TABLE).lazy()
    if kind == "arrow":
        return pa.Table.from_pandas(TABLE)
    if kind == "duckdb":
        return duckdb.connect().from_arrow(pa.Table.from_pandas(TABLE))
    path = folder / f"rows.{kind}"
    if kind == "csv":
        TABLE.to_csv(path, index=False)
    elif kind == "parquet":
        duckdb.from_arrow(pa.Table.from_pandas(TABLE)).write_parquet(str(path))
    else:
        import pyarrow.feather as feather

        feather.write_feather(pa.Table.from_pandas(TABLE), str(path))
    return path


def codes_of(labels: Any) -> np.ndarray:
    """Numbers in the order of first appearance."""
    return pd.factorize(pd.Series(list(labels)))[0]


@pytest.mark.parametrize(
    "kind", ["pandas", "dictionary", "polars", "lazy", "arrow", "duckdb", "csv", "parquet", "feather"]
)
@pytest.mark.parametrize("cluster", ["school", "number"])
def test_every_source_gives_the_same_rows_twice(kind: str, cluster: str, tmp_path: Path) -> None:
    reader = row_reader(source_of(kind, tmp_path), ["c", "a"], weights="w", cluster=cluster)
    used = TABLE[TABLE.w != 0]
    all_codes = codes_of(TABLE[cluster])[TABLE.w != 0]
    for _ in range(2):
        values, weights, codes = everything(reader)
        np.testing.assert_allclose(values, used[["c", "a"]], rtol=1e-12)
        np.testing.assert_array_equal(weights, used.w)
        np.testing.assert_array_equal(codes_of(codes), codes_of(all_codes))


def test_arrays_take_weights_and_clusters_as_arrays() -> None:
    X = TABLE[["a", "b", "c"]].to_numpy()
    for cluster in (TABLE.school, TABLE.school.tolist(), TABLE.number.to_numpy(), pl.Series(TABLE.school.tolist())):
        values, weights, codes = everything(row_reader(X, "abc", weights=TABLE.w.to_numpy() + 1, cluster=cluster))
        np.testing.assert_array_equal(values, X)
        np.testing.assert_array_equal(weights, TABLE.w + 1)
        np.testing.assert_array_equal(codes, codes_of(cluster))


def test_blocks_have_one_size_however_the_source_was_cut(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(rows, "BLOCK", 16)
    TABLE[:21].to_csv(tmp_path / "1.csv", index=False)
    TABLE[21:].to_csv(tmp_path / "2.csv", index=False)
    for source in (TABLE, str(tmp_path / "*.csv")):
        reader = row_reader(source, "ab", cluster="school")
        assert [len(b) for b in reader.blocks()] == [16, 16, 16, 2]
        values, _, codes = everything(reader)
        np.testing.assert_allclose(values, TABLE[["a", "b"]], rtol=1e-12)
        np.testing.assert_array_equal(codes, codes_of(TABLE.school))


def test_rows_with_holes_are_left_out_or_kept() -> None:
    incomplete = TABLE.copy()
    incomplete.loc[3, "a"] = np.nan
    incomplete.loc[7, "b"] = np.nan
    values, _, _ = everything(row_reader(incomplete, "ab", missing="drop"))
    np.testing.assert_array_equal(values, incomplete[["a", "b"]].dropna())
    kept, _, codes = everything(row_reader(incomplete, "ab", missing="fiml", cluster="school"))
    np.testing.assert_array_equal(kept, incomplete[["a", "b"]])
    assert len(there(codes)) == 50
    narrow = row_reader(incomplete, "ab", missing="drop").select(["a"])
    np.testing.assert_array_equal(everything(narrow)[0][:, 0], incomplete[["a", "b"]].dropna().a)


def test_what_is_gone_is_named() -> None:
    with pytest.raises(DataError, match=r"standard input can be read only once.*pass a table or a file"):
        next(row_reader("-", "ab").blocks())
    with pytest.raises(DataError, match="an open file can be read only once"):
        next(row_reader(io.StringIO("a,b\n1,2\n"), "ab").blocks())
    reader = pa.Table.from_pandas(TABLE).to_reader()
    with pytest.raises(DataError, match="an Arrow reader can be read only once"):
        next(row_reader(reader, "ab").blocks())
    with pytest.raises(DataError, match="a generator can be read only once"):
        next(row_reader(iter(()), "ab").blocks())


def test_rows_that_changed_are_noticed() -> None:
    frame = TABLE.copy()
    seen = read_moments(frame, ["a", "b"])
    reader = row_reader(frame, ["a", "b"])
    assert sum(len(b) for b in reader.blocks(like=seen)) == 50
    frame.loc[10, "b"] += 1e-3
    with pytest.raises(DataError, match="'b' are no longer those that the model was fitted to; fit again"):
        list(reader.blocks(like=seen))
    with pytest.raises(DataError, match="have 49 rows now, and had 50"):
        list(row_reader(TABLE[1:], "ab").blocks(like=seen))


def test_wrong_clusters_are_refused() -> None:
    with pytest.raises(DataError, match=r"no column 'shool' for the clusters. Did you mean 'school'"):
        row_reader(TABLE, "ab", cluster="shool").check()
    with pytest.raises(DataError, match="49 cluster labels for 50 rows"):
        row_reader(TABLE, "ab", cluster=TABLE.school[1:]).check()
    with pytest.raises(DataError, match="fewer entries than there are rows"):
        list(row_reader(TABLE, "ab", cluster=TABLE.school[1:]).blocks())
    with pytest.raises(DataError, match="more entries than there are rows"):
        list(row_reader(TABLE[1:], "ab", cluster=TABLE.school).blocks())
    with pytest.raises(DataError, match="one label for each row, not an array of shape"):
        list(row_reader(TABLE, "ab", cluster=np.zeros((50, 2))).blocks())
    for column, hole in (("school", None), ("number", np.nan)):
        incomplete = TABLE.copy()
        incomplete[column] = incomplete[column].astype(object if hole is None else float)
        incomplete.loc[4, column] = hole
        with pytest.raises(DataError, match=f"the cluster '{column}' is missing in row 5"):
            list(row_reader(incomplete, "ab", cluster=column).blocks())
