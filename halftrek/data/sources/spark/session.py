"""A query that a Spark server answers, by its address; what is missing for it is said in words."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from halftrek.data.sources.guard import in_our_words
from halftrek.data.sources.spark.jobs import about_spark
from halftrek.errors import DataError

_HERE = re.compile(r"local(\[[\d*, ]+\])?")


def is_spark_address(address: str) -> bool:
    """Whether Spark is meant: a Connect server, a cluster of Spark's own, or one within this process."""
    return address.startswith(("sc://", "spark://")) or bool(_HERE.fullmatch(address))


@contextmanager
def spark_table(address: str, query: str) -> Iterator[object]:
    """The rows of a query as a frame of Spark, at ``sc://host:15002``, ``spark://host:7077`` or ``local[2]``."""
    if find_spec("pyspark") is None:
        raise DataError("an address of Spark needs pyspark: pip install 'pyspark[connect]'")
    remote = address.startswith("sc://")
    if not remote:
        refuse_no_java()
    from pyspark.sql import SparkSession

    with in_our_words(about_spark):
        before = SparkSession.getActiveSession()
        builder = SparkSession.builder
        session = (builder.remote(address) if remote else builder.master(address)).getOrCreate()
    try:
        with in_our_words(about_spark):
            frame = session.sql(query)
        yield frame
    finally:
        if session is not before:  # one that was there already is somebody else's
            session.stop()


def refuse_no_java() -> None:
    """Raise if there is no Java to run Spark in."""
    home = os.environ.get("JAVA_HOME")
    program = "java.exe" if os.name == "nt" else "java"
    there = shutil.which("java") if home is None else os.path.exists(os.path.join(home, "bin", program))
    if not there:
        where = "none was found" if home is None else f"JAVA_HOME names {home!r}, which has none"
        raise DataError(
            f"Spark runs in Java, and {where}: install Java 17 and set JAVA_HOME to its folder, or ask a Spark server, "
            f"which needs none here, with an address sc://host:15002"
        )
