"""Folders of files are one table: hive partitions are columns, and only what is asked for is read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

import halftrek as ht
from halftrek.data import read_moments
from halftrek.errors import DataError


@pytest.fixture
def rows() -> pl.DataFrame:
    rng = np.random.default_rng(8)
    x = rng.normal(size=300)
    year = np.repeat([2024, 2025, 2026], 100)
    return pl.DataFrame({"x": x, "y": 2.0 * x + rng.normal(size=300), "year": year, "site": ["a", "b", "c"] * 100})


def in_hive(rows: pl.DataFrame, folder: Path, ending: str) -> Path:
    for (year, site), part in rows.group_by("year", "site"):
        inside = folder / f"year={year}" / f"site={site}"
        inside.mkdir(parents=True)
        own = part.select("x", "y")
        if ending == "parquet":
            own.write_parquet(inside / "part-0.parquet")
        elif ending == "csv":
            own.write_csv(inside / "part-0.csv")
        else:
            own.write_ipc(inside / "part-0.arrow")
    (folder / "_SUCCESS").touch()
    (folder / ".part.crc").write_bytes(b"\0\1")
    return folder


@pytest.mark.parametrize("ending", ["parquet", "csv", "arrow"])
def test_hive_partitions_are_columns(rows: pl.DataFrame, tmp_path: Path, ending: str) -> None:
    folder = in_hive(rows, tmp_path / "visits", ending)
    found = read_moments(folder, ["x", "y", "year"])
    wanted = read_moments(rows, ["x", "y", "year"])
    assert found.n == 300
    assert np.abs(found.cov - wanted.cov).max() < 1e-12
    assert list(ht.fit("x -> y", str(folder), by="site")) == ["a", "b", "c"]


def test_an_address_is_read_as_a_path_is(rows: pl.DataFrame, tmp_path: Path) -> None:
    folder = in_hive(rows, tmp_path / "visits", "parquet")
    found = read_moments(f"file://{folder}", ["x", "y"])
    assert np.abs(found.cov - read_moments(rows, ["x", "y"]).cov).max() < 1e-12
    with pytest.raises(DataError, match="there is nothing at"):
        read_moments(f"file://{tmp_path}/nowhere", ["x"])


def test_only_the_columns_that_are_asked_for_are_read(tmp_path: Path) -> None:
    """A wide file whose other columns cannot be decoded is read all the same."""
    wide = pa.table({f"v{k}": np.arange(50.0) * (k + 1) for k in range(2_000)})
    folder = tmp_path / "wide"
    folder.mkdir()
    pq.write_table(wide, folder / "part.parquet")
    with open(folder / "part.parquet", "r+b") as file:  # spoil the last column
        meta = pq.ParquetFile(folder / "part.parquet").metadata
        file.seek(meta.row_group(0).column(1_999).data_page_offset)
        file.write(b"\xff" * 40)
    assert read_moments(folder, ["v0", "v7"]).n == 50
    with pytest.raises(DataError, match="cannot be read"):
        read_moments(folder, ["v0", "v1999"])


@pytest.mark.parametrize(
    ("names", "message"),
    [([], "has no Parquet, CSV or Arrow files"), (["a.parquet", "b.csv"], "files of several kinds")],
)
def test_what_is_no_table_is_refused(tmp_path: Path, names: list[str], message: str) -> None:
    for name in names:
        (tmp_path / name).touch()
    with pytest.raises(DataError, match=message):
        read_moments(tmp_path, ["x"])


def two_files(folder: Path, ending: str, first: dict[str, object], second: dict[str, object]) -> Path:
    folder.mkdir()
    for k, columns in enumerate((first, second)):
        table = pa.table(columns)
        if ending == "parquet":
            pq.write_table(table, folder / f"{k}.parquet")
        else:
            csv.write_csv(table, folder / f"{k}.csv")
    return folder


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_files_that_write_a_column_in_other_ways(ending: str, tmp_path: Path) -> None:
    """Whole numbers in the first file, fractions in the next; or nothing at all in the first."""
    x, whole = np.arange(50.0) ** 2, np.arange(50)
    table = {"x": np.tile(x, 2), "z": np.concatenate([whole, whole + 0.5])}
    found = read_moments(two_files(tmp_path / "a", ending, {"x": x, "z": whole}, {"x": x, "z": whole + 0.5}))
    np.testing.assert_allclose(found.cov, read_moments(table).cov, rtol=1e-13)
    folder = two_files(tmp_path / "b", ending, {"x": x, "z": pa.nulls(50)}, {"x": x, "z": whole})
    assert read_moments(folder, missing="drop").mean[1] == pytest.approx(24.5)
    both = two_files(tmp_path / "c", ending, {"x": x[:0], "z": whole[:0]}, {"x": x, "z": whole})
    assert read_moments(both).n == 50


@pytest.mark.parametrize("ending", ["parquet", "csv"])
@pytest.mark.parametrize("lacking", [0, 1])
def test_a_file_that_lacks_a_column_is_refused(ending: str, lacking: int, tmp_path: Path) -> None:
    """Arrow would fill it with nulls, and the fit take them for missing values."""
    parts: list[dict[str, object]] = [{"x": np.arange(9.0), "y": np.arange(9.0)}, {"x": np.arange(9.0)}]
    folder = two_files(tmp_path / "t", ending, *(parts if lacking else parts[::-1]))
    with pytest.raises(DataError, match=r"0\.\w+ and .*1\.\w+ have different columns: 'y' in one of them only"):
        read_moments(folder, ["x", "y"], missing="drop")


def test_texts_in_a_folder_are_read_as_files_of_text_are(tmp_path: Path) -> None:
    for year, site in (("2025", "a%2Fb"), ("__HIVE_DEFAULT_PARTITION__", "c")):
        inside = tmp_path / "t" / f"year={year}" / f"site={site}"
        inside.mkdir(parents=True)
        (inside / "rows.csv").write_text("x;y\n0,5;1\n1,5;3\n2,5;4\n")
    assert read_moments(tmp_path / "t", ["x", "y"]).mean[0] == 1.5
    assert read_moments(tmp_path / "t", ["y", "year"], missing="drop").n == 3
    assert list(ht.fit("x -> y", str(tmp_path / "t"), by="site")) == ["a/b", "c"]
    (tmp_path / "t" / "year=2025" / "site=a%2Fb" / "rows.csv").write_text("x;y\n0,5;1\n1,5;3;9\n")
    with pytest.raises(DataError, match=r"rows.csv', line 3 has 3 values where the header has 2"):
        read_moments(tmp_path / "t", ["x", "y"])
    (tmp_path / "t" / "year=2025" / "site=a%2Fb" / "rows.csv").write_text("x;year\n0,5;1\n")
    with pytest.raises(DataError, match="the column 'year' is in the names of folders and in files below them"):
        read_moments(tmp_path / "t", ["x"])


def test_columns_that_differ_in_capitals_only(tmp_path: Path) -> None:
    """DuckDB has no two such columns, and gives the second another name."""
    columns = {"x": np.arange(9.0), "X": np.arange(9.0) ** 2, "X_1": np.cos(np.arange(9.0)), "g": list("aabbaabba")}
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    names = ["X", "x", "X_1"]
    found, wanted = (read_moments(source, names) for source in (tmp_path / "t.parquet", columns))
    np.testing.assert_allclose(found.cov, wanted.cov, rtol=1e-13)
    assert list(ht.fit("x -> X", str(tmp_path / "t.parquet"), by="g")) == ["a", "b"]
