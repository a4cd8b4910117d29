"""Folders of files are one table: hive partitions are columns, and only what is asked for is read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

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
