"""Parquet files of many columns: read by row group, with the same numbers as any other way."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pytest

from halftrek.data import read_moments, read_patterns
from halftrek.data.sources import files, parquet
from halftrek.data.sources.parquet import WIDE, wide_blocks
from halftrek.data.summing.accumulate import rows_in
from halftrek.errors import DataError

COLUMNS = WIDE + 10


@pytest.fixture
def path(tmp_path: Path) -> str:
    rng = np.random.default_rng(3)
    table = 1e6 + rng.normal(size=(COLUMNS, 5_000))
    frame = pl.DataFrame({f"v{k}": column for k, column in enumerate(table)})
    frame = frame.with_columns(
        pl.col("v0").cast(pl.Int64),
        (pl.col("v1") > 1e6).alias("v1"),
        pl.when(pl.col("v2") < 1e6 + 1.5).then(pl.col("v2")).alias("v2"),
        pl.Series("v3", table[3].astype(np.float32)),
        pl.Series("words", ["a", "b"] * 2_500),
    )
    frame.write_parquet(tmp_path / "wide.parquet", row_group_size=1_234)
    return str(tmp_path / "wide.parquet")


@pytest.mark.parametrize("group", [parquet.GROUP, 0])  # row groups as a whole, and in pieces
def test_the_same_moments_as_from_memory(path: str, group: int, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"v{k}" for k in range(COLUMNS)]
    assert wide_blocks(path, tuple(names)) is not None
    monkeypatch.setattr(parquet, "GROUP", group)
    found, wanted = read_patterns(path, names), read_patterns(pl.read_parquet(path), names)
    assert np.array_equal(found.n, wanted.n)
    assert np.abs(found.mean - wanted.mean).max() < 1e-8
    assert np.abs(found.cov - wanted.cov).max() < 1e-8
    assert found.kinds == wanted.kinds
    monkeypatch.setattr(files, "wide_blocks", lambda *_: None)
    other = read_moments(path, names, missing="drop")
    monkeypatch.undo()
    monkeypatch.setattr(parquet, "GROUP", group)
    monkeypatch.setattr(parquet, "NUMBERS", 100_000)
    again = read_moments(path, names, missing="drop")
    assert np.abs(again.cov - other.cov).max() < 1e-8
    assert again.dropped == other.dropped > 0


def test_few_columns_and_texts_go_another_way(path: str) -> None:
    assert wide_blocks(path, ("v0", "v1")) is None
    assert wide_blocks(path, (*(f"v{k}" for k in range(COLUMNS)), "words")) is None


def test_a_file_that_was_cut_short_is_refused(path: str) -> None:
    whole = Path(path).read_bytes()
    Path(path).write_bytes(whole[: len(whole) // 2] + whole[-4_000:])
    with pytest.raises(DataError, match="cannot be read as a Parquet file"):
        read_moments(path, [f"v{k}" for k in range(COLUMNS)], missing="drop")


def test_duckdb_hands_over_fewer_rows_of_wider_tables() -> None:
    wide = ", ".join(f"(i + {k})::double AS v{k}" for k in range(100))
    for query, most in (("i::double AS v0", 65_536), (wide, files.NUMBERS // 100)):
        relation = duckdb.connect().sql(f"SELECT {query} FROM range(70_000) AS t(i)")
        sizes = [rows_in(block) for block in files.from_relation(relation).blocks(tuple(relation.columns))]
        assert sum(sizes) == 70_000
        assert most / 2 < max(sizes) <= most
