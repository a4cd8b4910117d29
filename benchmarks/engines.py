"""What do the moments of a large table cost, beside the engine's own plain reading of it? Time and memory.

Writes ``docs/benchmarks/engines.md``, and the short table in ``docs/howto/big-data.md``, whole and in one run with the
lines of Spark (``benchmarks/spark.py``): ``python -m benchmarks.engines --write``. Each number is measured in processes
of its own, on one thread of linear algebra and two of the engine, in rounds of which the median counts. Beside each
engine's *sums* stands a *bare* scan of the same columns: one sum of each column by the engine itself, or for a table in
memory one pass of numpy. Data lie in a folder of their own, which is removed at the end. To try it: ``--share 0.01``
takes that share of the rows, ``--only parquet`` keeps to the cases with that word in their names, and ``--docs FOLDER``
writes there.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, cast

import numpy as np

from benchmarks import engines_page

PIECE = 500_000  # rows that are made at a time
THREADS = 2  # of the engines
ROUNDS = 3  # one reading varies by a sixth


@dataclass(frozen=True)
class Case:
    """A table and how it is read: bare by the engine, and for its moments."""

    name: str
    table: str
    rows: int
    columns: int
    read: int  # columns that are read


def names(count: int) -> list[str]:
    """The columns of a table."""
    return [f"v{k}" for k in range(count)]


# -- tables ----------------------------------------------------------------------------------------


def pieces(rows: int, columns: int) -> list[tuple[int, int]]:
    """How a table is cut while it is made: the number of each piece and its rows."""
    step = max(1, min(PIECE, 20_000_000 // columns))
    return [(k, min(step, rows - start)) for k, start in enumerate(range(0, rows, step))]


def piece_of(number: int, rows: int, columns: int) -> np.ndarray:
    """Rows with one common cause, about a mean of ten."""
    rng = np.random.default_rng(number)
    table = rng.standard_normal((columns, rows), dtype=np.float32).astype(np.float64)
    return np.asarray(10.0 + table + 0.5 * table[0])


def make(path: Path, case: Case) -> None:
    """Write the table of a case, piece by piece."""
    import pyarrow as pa
    from pyarrow import csv, parquet

    cut = pieces(case.rows, case.columns)
    head = names(case.columns)
    if case.table in ("folder", "hive"):
        for number, rows in cut:
            inside = path / (f"part={number % 4}" if case.table == "hive" else ".")
            inside.mkdir(parents=True, exist_ok=True)
            table = pa.table(dict(zip(head, piece_of(number, rows, case.columns), strict=True)))
            parquet.write_table(table, inside / f"rows-{number}.parquet", compression="snappy")
        return
    writer, sink = None, cast("Any", str(path))
    for number, rows in cut:
        table = pa.table(dict(zip(head, piece_of(number, rows, case.columns), strict=True)))
        if case.table == "parquet":
            writer = writer or parquet.ParquetWriter(path, table.schema, compression="snappy")
            writer.write_table(table, row_group_size=122_880)
        else:
            if writer is None:
                sink = pa.CompressedOutputStream(str(path), "gzip") if path.suffix == ".gz" else str(path)
                writer = csv.CSVWriter(sink, table.schema)
            writer.write_table(table)
    assert writer is not None
    writer.close()
    if not isinstance(sink, str):
        sink.close()


# -- readers ---------------------------------------------------------------------------------------


def source_of(case: Case, path: str) -> object:
    """What is handed to ``ht.moments``."""
    if case.name.startswith("DuckDB"):
        import duckdb

        connection = duckdb.connect(path, read_only=True)
        connection.execute(f"SET threads = {THREADS}")
        if "limit" in case.name:
            connection.execute("SET memory_limit = '200MB'")
        return connection.table("rows")
    if case.name.startswith("polars"):
        import polars as pl

        return pl.scan_parquet(path) if "lazy" in case.name else pl.read_parquet(path)
    if case.name.startswith("pandas"):
        import pandas as pd

        return pd.read_parquet(path)
    if case.name.startswith("numpy"):
        return np.concatenate([piece_of(k, n, case.columns).T for k, n in pieces(case.rows, case.columns)])
    return path


def bare(case: Case, source: object, path: str) -> Callable[[], object]:
    """The engine's own plain reading of the same columns."""
    used = names(case.read)
    if isinstance(source, np.ndarray):
        return lambda: source.sum(axis=0)
    if case.name.startswith("pandas"):
        return lambda: source[used].sum()  # type: ignore[index]
    if case.name.startswith("polars"):
        import polars as pl

        frame = source.lazy()  # type: ignore[attr-defined]
        return lambda: frame.select(pl.col(used).sum()).collect(engine="streaming")
    import duckdb

    sums = ", ".join(f'sum("{v}")' for v in used)
    if case.name.startswith("DuckDB"):
        return lambda: source.aggregate(sums).fetchall()  # type: ignore[attr-defined]
    connection = duckdb.connect()
    connection.execute(f"SET threads = {THREADS}")
    place = f"{path}/**/*.parquet" if os.path.isdir(path) else path
    return lambda: connection.execute(f"SELECT {sums} FROM '{place}'").fetchall()


def measure(case: Case, path: str, what: str) -> dict[str, float]:
    """Processor seconds and peak memory of one reading, in this process."""
    import halftrek as ht

    source = source_of(case, path)
    used = names(case.read)
    tiny = {v: np.arange(5.0) for v in ("a", "b")}
    ht.moments(tiny, ["a", "b"])  # imports are not what is measured
    import duckdb
    import pyarrow  # noqa: F401

    duckdb.connect().execute("select 1").fetchall()
    run = bare(case, source, path) if what == "bare" else lambda: ht.moments(source, used)
    before = _held()
    began, wall = time.process_time(), time.perf_counter()
    run()
    return {
        "seconds": time.process_time() - began,
        "wall": time.perf_counter() - wall,
        "memory": _held(peak=True) - before,
    }


def _held(*, peak: bool = False) -> float:
    """The memory of this process in megabytes: now, from where on the peak counts anew; or at its peak since."""
    if not peak:
        Path("/proc/self/clear_refs").write_text("5")
    lines = Path("/proc/self/status").read_text().splitlines()
    (found,) = (text.split()[1] for text in lines if text.startswith("VmHWM:" if peak else "VmRSS:"))
    return int(found) / 1024


# -- the walk --------------------------------------------------------------------------------------


def cases(largest: int) -> list[Case]:
    """All tables and readers."""
    million, ten = 1_000_000, 10_000_000
    both = [("1e7 x 10", ten, 10), ("1e6 x 100", million, 100)]
    found = [Case(f"numpy, {word}", "numpy", rows, p, p) for word, rows, p in both]
    for reader in ("pandas", "polars", "polars lazy"):
        found += [Case(f"{reader}, {word}", "parquet", rows, p, p) for word, rows, p in both]
    found += [Case(f"DuckDB, {word}", "duckdb", rows, p, p) for word, rows, p in both]
    found += [Case(f"DuckDB, {word}, limit of 200 MB", "duckdb", rows, p, p) for word, rows, p in both]
    found += [Case(f"Parquet, {word}", "parquet", rows, p, p) for word, rows, p in both]
    return [
        *found,
        Case("Parquet, 1e5 x 200", "parquet", 100_000, 200, 200),
        Case("Parquet, 1e6 x 200", "parquet", million, 200, 200),
        Case("Parquet, 1e5 x 2,000, 5 read", "parquet", 100_000, 2_000, 5),
        Case("folder of Parquet, 1e7 x 10", "folder", ten, 10, 10),
        Case("hive partitions, 1e7 x 10", "hive", ten, 10, 10),
        Case("CSV, 2e6 x 10", "csv", 2 * million, 10, 10),
        Case("CSV, compressed, 3e5 x 10", "csv.gz", 300_000, 10, 10),
        Case(f"Parquet, {largest:,} x 5", "parquet", largest, 5, 5),
    ]


def prepared(folder: Path, case: Case) -> Path:
    """The data of a case, made if they are not there yet."""
    path = folder / f"{case.rows}-{case.columns}.{case.table}"
    if case.table in ("numpy",) or path.exists():
        return path
    if case.table == "duckdb":
        import duckdb

        rows = prepared(folder, Case("", "parquet", case.rows, case.columns, 0))
        with duckdb.connect(str(path)) as connection:
            connection.execute(f"CREATE TABLE rows AS SELECT * FROM '{rows}'")
        return path
    make(path, case)
    return path


def both(case: Case, path: Path) -> tuple[dict[str, float], dict[str, float]]:
    """The bare reading and that for the moments: medians of rounds in turn, so that both see the same machine."""
    rounds = [(asked(case, path, "bare"), asked(case, path, "sums")) for _ in range(ROUNDS)]
    bare, sums = ({what: median(one[what] for one in some) for what in some[0]} for some in zip(*rounds, strict=True))
    return bare, sums


def asked(case: Case, path: Path, what: str) -> dict[str, float]:
    """The measure of one reading, in a process of its own."""
    words = [sys.executable, "-m", "benchmarks.engines", "--measure", json.dumps([case.__dict__, str(path), what])]
    limits = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "POLARS_MAX_THREADS": str(THREADS)}
    done = subprocess.run(words, env={**os.environ, **limits}, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{case.name}, {what}: {done.stderr[-2000:]}")
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def in_spark(share: float) -> list[dict[str, Any]]:
    """What Spark needs, in a process of its own; it tells how far it is."""
    words = [sys.executable, "-m", "benchmarks.spark", "--json", "--share", str(share)]
    limits = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(words, env={**os.environ, **limits}, stdout=subprocess.PIPE, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def in_memory() -> list[str]:
    """Tables in memory beside one matrix product: lines of a table."""
    import pandas as pd
    import polars as pl

    import halftrek as ht

    lines = ["| table | `X'X` | numpy | pandas | polars | polars, seven chunks |", "|---|---:|---:|---:|---:|---:|"]
    for word, rows, p in (("1e6 x 10", 1_000_000, 10), ("2e5 x 100", 200_000, 100)):
        table = piece_of(0, rows, p)
        columns = dict(zip(names(p), table, strict=True))
        frame, X = pl.DataFrame(columns), np.ascontiguousarray(table.T)
        step = -(-rows // 7)
        cut = pl.concat([frame[k * step : (k + 1) * step] for k in range(7)], rechunk=False)
        calls: list[Callable[[], object]] = [partial(np.matmul, X.T, X)]
        calls += [partial(ht.moments, data, names(p)) for data in (X, pd.DataFrame(columns), frame, cut)]
        best = []
        for call in calls:
            times = []
            for _ in range(4):
                began = time.process_time()
                call()
                times.append(time.process_time() - began)
            best.append(min(times[1:]))
        lines.append(f"| {word} | " + " | ".join(f"{x:.3f}" for x in best) + " |")
    return lines


def main() -> None:
    """Measure all cases, or one in this process."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--measure", help=argparse.SUPPRESS)
    words.add_argument("--only", help="a word in the names of the cases; Spark is one")
    words.add_argument("--rows", type=int, default=100_000_000, help="of the largest table (default: 1e8)")
    words.add_argument("--share", type=float, default=1.0, help="of the rows of every table, to try it")
    words.add_argument("--write", action="store_true", help="write the pages")
    words.add_argument("--docs", type=Path, default=engines_page.DOCS, help="where the pages are")
    words.add_argument("--data", type=Path, help="a folder to keep the data in")
    args = words.parse_args()
    if args.measure:
        case, path, what = json.loads(args.measure)
        print(json.dumps(measure(Case(**case), path, what)))
        return
    if args.write and args.only is not None:
        raise SystemExit("a page is written whole, from all cases of one run; leave out --only")
    if args.write and args.share != 1.0 and args.docs == engines_page.DOCS:
        raise SystemExit("a share of the rows is a trial; write its pages elsewhere with --docs FOLDER")
    only, began = (args.only or "").lower(), time.monotonic()
    lines = [engines_page.HEAD]
    print(lines[0], flush=True)
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.data or Path(temporary)
        folder.mkdir(exist_ok=True)
        for case in cases(args.rows):
            if only in case.name.lower():
                some = replace(case, rows=max(1_000, int(case.rows * args.share)))
                path = prepared(folder, some)
                size = some.rows * some.read * 8 / 2**20
                lines.append(engines_page.line(case.name, *both(some, path), size))
                print(lines[-1], flush=True)
    spark = in_spark(args.share) if only in "spark" else []
    print("\n".join(engines_page.spark_lines(spark)), flush=True)
    if args.write:
        minutes = (time.monotonic() - began) / 60
        engines_page.write(args.docs, lines, in_memory(), spark, args.share, minutes)


if __name__ == "__main__":
    main()
