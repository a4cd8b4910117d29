"""The limits: one product of matrices, a bare scan, the floating-point operations of a fit, the Cramér-Rao bound."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import halftrek as ht
from benchmarks.problems import QUESTIONS, giant_problem, random_problem
from halftrek.reproduction.bound import cramer_rao

SHAPES = ((1_000_000, 10), (100_000, 100), (20_000, 1_000), (10_000_000, 4))
FILE_SHAPE = (2_000_000, 10)


def in_turn(
    first: Callable[[], object], second: Callable[[], object], repeats: int = 7
) -> tuple[list[float], list[float]]:
    """Milliseconds of two ways, taken in turn so that a busy machine slows both."""
    times: tuple[list[float], list[float]] = ([], [])
    for turn in range(repeats + 1):
        for way, taken in zip((first, second), times, strict=True):
            start = time.perf_counter()
            way()
            if turn:
                taken.append(1e3 * (time.perf_counter() - start))
    return times


def _entry(what: str, floor: str, base: list[float], ours: list[float]) -> dict[str, Any]:
    """Least times: noise only ever adds."""
    entry = {"what": what, "floor": floor, "floor_ms": min(base), "halftrek_ms": min(ours)}
    entry["ratio"] = entry["halftrek_ms"] / entry["floor_ms"]
    print(
        f"limit          {what:52s} {entry['floor_ms']:10.2f} {entry['halftrek_ms']:10.2f} {entry['ratio']:6.2f}",
        flush=True,
    )
    return entry


def moments_of_arrays(quick: bool) -> list[dict[str, Any]]:
    """Moments of an array in memory against the one product that they cannot do without."""
    rng, found = np.random.default_rng(0), []
    for n, p in SHAPES[:1] if quick else SHAPES:
        for order in ("C", "F"):
            for offset in (0.0, 1e8):
                table = np.asarray(rng.standard_normal((n, p)) + offset, order=order)
                times = in_turn(lambda t=table: t.T @ t, lambda t=table: ht.moments(t))
                what = f"array {n:,} × {p:,}, {'rows' if order == 'C' else 'columns'} together, mean {offset:g}"
                found.append(_entry(what, "one BLAS product", *times))
    return found


def moments_of_files(quick: bool) -> list[dict[str, Any]]:
    """Moments of frames and files: against the product, and against a scan that only sums."""
    import duckdb
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    import pyarrow.parquet as pq

    n, p = (FILE_SHAPE[0] // 10, FILE_SHAPE[1]) if quick else FILE_SHAPE
    table = np.random.default_rng(1).standard_normal((n, p))
    columns = {f"x{k}": table[:, k].copy() for k in range(p)}
    frames = {"pandas": pd.DataFrame(columns), "polars": pl.DataFrame(columns), "arrow": pa.table(columns)}
    found = []
    for name, frame in frames.items():
        times = in_turn(lambda: table.T @ table, lambda f=frame: ht.moments(f), 5)
        found.append(_entry(f"{name} frame {n:,} × {p}", "one BLAS product", *times))
    sums = ", ".join(f"sum(x{k})" for k in range(p))
    with tempfile.TemporaryDirectory() as folder:
        path, text = Path(folder) / "rows.parquet", Path(folder) / "rows.csv"
        pq.write_table(pa.table(columns), path)
        frames["polars"].head(n // 10).write_csv(text)

        def scan(source: str) -> object:
            return duckdb.connect().sql(f"SELECT {sums} FROM {source}").fetchall()

        times = in_turn(lambda: scan(f"read_parquet('{path}')"), lambda: ht.moments(path), 5)
        found.append(_entry(f"Parquet {n:,} × {p}", "a DuckDB scan with sums", *times))
        times = in_turn(lambda: scan(f"read_csv('{text}')"), lambda: ht.moments(text), 5)
        found.append(_entry(f"CSV {n // 10:,} × {p}", "a DuckDB scan with sums", *times))
    return found


def operations(fit: ht.Fit) -> float:
    """Floating-point operations that second-order steps of the fit's districts cannot do without.

    A district of d variables with k free parameters: each step factors and inverts a d × d covariance and multiplies it
    with the residuals' (4 d³), fills a k × k matrix of second derivatives from products that are there (8 k²), and
    solves with it (k³ / 3). A district of one variable is one regression on its parents.
    """
    graph, total = fit.graph, 0.0
    for report in fit.districts:
        inside = set(report.members)
        arrows = sum(v in inside for _, v in graph.directed)
        d = len(inside)
        if d == 1:
            total += (arrows + 1) ** 3 / 3
            continue
        arcs = sum(u in inside for u, _ in graph.bidirected) + sum(set(c) <= inside for c in graph.latents.values())
        k = arrows + arcs + d
        total += max(report.iterations, 1) * (4 * d**3 + 8 * k**2 + k**3 / 3)
    return total


def matmul_rate(size: int = 1_000) -> float:
    """Floating-point operations a second in a product of matrices, the best of a few."""
    matrix, best = np.random.default_rng(0).standard_normal((size, size)), np.inf
    for _ in range(8):
        start = time.perf_counter()
        matrix @ matrix
        best = min(best, time.perf_counter() - start)
    return 2.0 * size**3 / best


def fits(quick: bool) -> list[dict[str, Any]]:
    """Fits against the time that their districts' operations would take at the rate of a matrix product."""
    rate, found = matmul_rate(), []
    problems = [(f"{p:,} variables", random_problem(p)) for p in ((100,) if quick else (100, 300, 1_000))]
    problems += [(f"one district of {p}", giant_problem(p)) for p in ((50,) if quick else (50, 100, 200))]
    for name, problem in problems:
        graph, moments, taken = problem.graph, problem.moments, []
        fit = ht.fit(graph, moments)
        for _ in range(5):
            start = time.perf_counter()
            fit = ht.fit(graph, moments)
            taken.append(1e3 * (time.perf_counter() - start))
        needed = operations(fit)
        entry = _entry(f"fit, {name}", f"its operations at {rate / 1e9:.0f} GFLOP/s", [1e3 * needed / rate], taken)
        found.append({**entry, "operations": needed, "steps": max(d.iterations for d in fit.districts)})
    return found


def efficiency(quick: bool) -> list[dict[str, Any]]:
    """Mean squared error of E[y | do(x=1)] over many samples, against the least variance that any estimate can have."""
    samples, rows, found = (30 if quick else 1_000), 1_000, []
    for question in QUESTIONS:
        if not question.identified or question.holes or "bow" in question.name:
            continue
        model = question.model()
        truth = float(model.do({question.cause: 1.0}).mean[model.names.index(question.effect)])
        bound = cramer_rao(model, "free", {question.cause: 1.0}, question.effect, rows)[0]
        asked = f"P({question.effect} | do({question.cause}=1))"
        errors = []
        for k in range(samples):
            fit = ht.fit(model.graph, question.sample(rows, 1_000 + k), names=model.names)
            errors.append(float(fit.query(asked).mean) - truth)
        squared = np.square(errors)
        ratio, spread = squared.mean() / bound, squared.std(ddof=1) / np.sqrt(samples) / bound
        entry = {"question": question.name, "samples": samples, "rows": rows, "bound": bound, "ratio": float(ratio)}
        found.append({**entry, "spread": float(spread)})
        print(f"bound          {question.name:28s} error² / bound {ratio:.3f} ± {spread:.3f}", flush=True)
    return found


def measure(quick: bool) -> dict[str, list[dict[str, Any]]]:
    return {
        "floors": [*moments_of_arrays(quick), *moments_of_files(quick), *fits(quick)],
        "efficiency": efficiency(quick),
    }
