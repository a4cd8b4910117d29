"""Files and tables of engines that say themselves which of their columns are ordered."""

from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

import halftrek as ht
from halftrek.data.columns.ordered import in_order, ordered_columns
from halftrek.errors import DataError
from tests.results.test_column_kinds import front_door


def test_files_that_call_columns_ordered_are_believed(tmp_path: Path) -> None:
    rows, levels = front_door(400, 3), ["low", "mid", "high"]
    ordered = pd.Categorical(np.array(levels)[np.digitize(rows["m"], [0.6, 1.5])], levels, ordered=True)
    frame = pd.DataFrame({"x": rows["x"], "m": ordered})
    frame.to_parquet(tmp_path / "pandas.parquet")
    frame.to_feather(tmp_path / "pandas.feather")
    enum = pl.DataFrame({"x": rows["x"].to_numpy(), "m": pl.Series(list(ordered), dtype=pl.Enum(levels))})
    enum.write_parquet(tmp_path / "polars.parquet")
    pa.parquet.write_table(pa.Table.from_pandas(frame), tmp_path / "groups.parquet", row_group_size=50)
    own = ht.fit("x -> m", frame)
    files = [tmp_path / name for name in ("pandas.parquet", "pandas.feather", "polars.parquet", "groups.parquet")]
    for source in (*files, str(files[0]), pa.Table.from_pandas(frame)):
        np.testing.assert_array_equal(ht.fit("x -> m", source).moments.cov, own.moments.cov)
    unordered = frame.assign(m=pd.Categorical(ordered, levels, ordered=False))
    unordered.to_parquet(tmp_path / "unordered.parquet")
    with pytest.raises(
        DataError, match=r"for levels in an order give them, the lowest first, as kinds=\{'m': \[...\]\}"
    ):
        ht.fit("x -> m", tmp_path / "unordered.parquet")


@pytest.mark.parametrize(
    "said",
    [
        {"_PL_ENUM_VALUES2": "3;low5;m;ïd4;high"},
        {"_PL_ENUM_VALUES": "3;low5;m;ïd4;high"},
        {"POLARS.CATEGORICAL_TYPE": "ENUM"},
        {},
    ],
)
def test_enums_as_versions_of_polars_write_them(said: dict[str, str], tmp_path: Path) -> None:
    levels = ["low", "m;ïd", "high"]
    texts = pa.DictionaryArray.from_arrays(pa.array([2, 0, 2, 0], pa.int32()), pa.array(levels))
    table = pa.Table.from_arrays([texts], schema=pa.schema([pa.field("m", texts.type, metadata=said)]))
    pa.parquet.write_table(table, tmp_path / "polars.parquet")
    with pa.ipc.new_file(tmp_path / "polars.arrow", table.schema) as file:
        file.write_table(table)
    expected = {"m": in_order("m", tuple(levels))} if said else {}
    for source in (table, tmp_path / "polars.parquet", tmp_path / "polars.arrow"):
        assert ordered_columns(source) == expected


def test_types_of_duckdb_that_somebody_made_have_an_order() -> None:
    rows, levels = front_door(400, 3), ["low", "mid", "high"]
    frame = pd.DataFrame({"x": rows["x"], "m": np.array(levels)[np.digitize(rows["m"], [0.6, 1.5])]})
    unordered = frame.assign(m=frame["m"].astype("category"))
    own = ht.fit("x -> m", frame, kinds={"m": levels})
    with duckdb.connect() as connection:
        connection.register("given", frame)
        connection.register("plain", unordered)
        connection.execute("CREATE TYPE size AS ENUM ('low', 'mid', 'high')")
        connection.execute("CREATE TABLE sizes AS SELECT x, m::size AS m FROM given")
        for relation in (connection.table("sizes"), connection.sql("SELECT m, x FROM sizes WHERE x < 100")):
            np.testing.assert_allclose(ht.fit("x -> m", relation).moments.cov, own.moments.cov, rtol=1e-12)
        with pytest.raises(DataError, match=r"for levels in an order give them"):
            ht.fit("x -> m", connection.sql("SELECT * FROM plain"))
