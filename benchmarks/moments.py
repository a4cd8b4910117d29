"""What moments cost: against one BLAS product of an array in memory, and against a bare scan of a file.

Run as ``python benchmarks/moments.py``; prints one table. The aim is a ratio of at most 2 for arrays.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from halftrek.moments import read_moments

SHAPES = ((1_000_000, 10), (100_000, 100), (20_000, 1_000), (10_000_000, 4))
FILE_SHAPE = (2_000_000, 10)


def best_of(first: Callable[[], object], second: Callable[[], object], repeats: int = 7) -> tuple[float, float]:
    """Least times of two ways, taken in turn so that a busy machine slows both."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(repeats):
        for way, taken in zip((first, second), times, strict=True):
            start = time.perf_counter()
            way()
            taken.append(time.perf_counter() - start)
    return min(times[0]), min(times[1])


def line(what: str, base: float, ours: float) -> None:
    print(f"{what:<46}{base * 1e3:>12.1f}{ours * 1e3:>12.1f}{ours / base:>9.2f}", flush=True)


def arrays(rng: np.random.Generator) -> None:
    for n, p in SHAPES:
        for order in ("C", "F"):
            for offset in (0.0, 1e8):
                table = np.asarray(rng.standard_normal((n, p)) + offset, order=order)
                base, ours = best_of(lambda t=table: t.T @ t, lambda t=table: read_moments(t))
                line(f"array {n:,} x {p:,}, {order} order, mean {offset:g}", base, ours)


def frames_and_files(rng: np.random.Generator) -> None:
    import duckdb
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    import pyarrow.parquet as pq

    n, p = FILE_SHAPE
    table = rng.standard_normal((n, p))
    columns = {f"x{k}": table[:, k].copy() for k in range(p)}
    frames = {"pandas": pd.DataFrame(columns), "polars": pl.DataFrame(columns), "arrow": pa.table(columns)}
    for name, frame in frames.items():
        base, ours = best_of(lambda: table.T @ table, lambda f=frame: read_moments(f), 5)
        line(f"{name} {n:,} x {p} against the array's product", base, ours)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        pq.write_table(pa.table(columns), path)
        sums = ", ".join(f"sum(x{k})" for k in range(p))

        def scan() -> object:
            return duckdb.connect().sql(f"SELECT {sums} FROM read_parquet('{path}')").fetchall()

        line(f"Parquet {n:,} x {p} against a bare scan (sums)", *best_of(scan, lambda: read_moments(path), 5))
        text = Path(folder) / "rows.csv"
        frames["polars"].head(n // 10).write_csv(text)

        def scan_text() -> object:
            return duckdb.connect().sql(f"SELECT {sums} FROM read_csv('{text}')").fetchall()

        line(f"CSV {n // 10:,} x {p} against a bare scan (sums)", *best_of(scan_text, lambda: read_moments(text), 5))


def main() -> None:
    print(f"{'':<46}{'base, ms':>12}{'moments, ms':>12}{'ratio':>9}")
    rng = np.random.default_rng(0)
    arrays(rng)
    frames_and_files(rng)


if __name__ == "__main__":
    main()
