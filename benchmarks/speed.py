"""Speed: fits by size, giant districts, rows in files, the bootstrap, the census, and whole processes."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.problems import QUESTIONS, Problem, giant_problem, paper_problem, question_problem, random_problem
from benchmarks.tools import (
    ANANKE,
    DOWHY,
    GGM,
    HALFTREK,
    LAVAAN,
    LINEARMODELS,
    ONE_THREAD,
    OPENMX,
    PGMPY,
    SEM,
    SEMOPY,
    Tool,
    ask,
    run,
    version,
)

Timing = dict[str, Any]
LIMIT = 180.0  # seconds that a tool is given for one problem, its start and all repeats included
ROUNDS = 4
SMALL = 30  # variables: up to here the noise of a machine matters more than its speed
FITTERS: tuple[tuple[str, Tool, str], ...] = (
    ("halftrek", HALFTREK, "fit"),
    ("halftrek, new graph", HALFTREK, "new graph"),
    ("halftrek, standard errors", HALFTREK, "standard errors"),
    ("halftrek, standard errors in a pandas frame", HALFTREK, "frame"),
    ("ggm", GGM, "fit"),
    ("lavaan, no standard errors", LAVAAN, "no standard errors"),
    ("lavaan", LAVAAN, "standard errors"),
    ("OpenMx", OPENMX, "standard errors"),
    ("sem", SEM, "standard errors"),
    ("semopy", SEMOPY, "standard errors"),
    ("ananke", ANANKE, "fit"),
)


def timing(section: str, problem: str, tool: str, found: dict[str, Any], **more: Any) -> Timing:
    """An entry of the result file: median and middle half of the milliseconds, or why there are none."""
    entry: Timing = {"section": section, "problem": problem, "tool": tool, **more}
    taken = found.get("milliseconds")
    if taken is not None:
        taken = np.atleast_1d(np.asarray(taken, dtype=float))
        low, median, high = np.quantile(taken, [0.25, 0.5, 0.75])
        entry.update(median=float(median), low=float(low), high=float(high), repeats=len(taken))
        print(f"{section:14s} {problem:28s} {tool:28s} {median:12.3f} ms", flush=True)
    else:
        entry["why"] = next((str(found[k]) for k in ("absent", "gave_up", "error", "refused") if k in found), "nothing")
        if "beyond" in found:
            entry["beyond"] = found["beyond"]
        print(f"{section:14s} {problem:28s} {tool:28s} {entry['why']}", flush=True)
    return entry


def fits(quick: bool, only: Sequence[str] = (), problems: Collection[str] | None = None) -> list[Timing]:
    """From moments to a fit, by size; a tool that has given up is not asked about larger problems.

    Small problems are asked in several rounds, tool after tool: a machine that is busy for a while slows them all.
    """
    limit = 6.0 if quick else LIMIT
    fitters = [fitter for fitter in FITTERS if not only or fitter[1].name in only]
    found, tired = [], dict[tuple[str, str], dict[str, Any]]()
    for section, name, size, problem in _fit_problems(quick):
        if problems is not None and name not in problems:
            continue
        rounds = 1 if quick or size > SMALL else ROUNDS
        problem.hints["seconds"] = 0.5 if quick else 6.0 / rounds
        answers: dict[str, dict[str, Any]] = {}
        for _ in range(rounds):
            for label, tool, variant in fitters:
                if (section, label) not in tired:
                    answer = ask(tool, problem, "time", variant, seconds=limit)
                    answers[label] = _pooled(answers.get(label), answer)
                    if "gave_up" in answer:
                        tired[section, label] = {**answer, "gave_up": f"gave up at {size:,} variables"}
        for label, _, _ in fitters:
            answer = answers.get(label) or tired[section, label]
            found.append(timing(section, name, label, answer, size=size))
    return found


def _pooled(before: dict[str, Any] | None, now: dict[str, Any]) -> dict[str, Any]:
    """The repeats of two rounds together; a round that failed says nothing about the others."""
    if before is None or "milliseconds" not in before:
        return now
    if "milliseconds" not in now:
        return before
    return {**now, "milliseconds": [*before["milliseconds"], *now["milliseconds"]]}


def _fit_problems(quick: bool) -> list[tuple[str, str, int, Problem]]:
    some = [("paper", name, 3 + k, paper_problem(name)) for k, name in enumerate(("front-door", "napkin"))]
    sizes = (30,) if quick else (10, 30, 100, 300, 1_000, 3_000)
    some += [("size", f"{p:,} variables", p, random_problem(p)) for p in sizes]
    giants = (30,) if quick else (50, 100, 200)
    return some + [("giant district", f"one district of {p}", p, giant_problem(p)) for p in giants]


def bootstrap(quick: bool) -> list[Timing]:
    """The napkin's effect from 10,000 rows with an interval from rows drawn again."""
    replicates = 20 if quick else 1_000
    napkin = next(q for q in QUESTIONS if q.name == "napkin")
    problem = question_problem(napkin, 10_000, 1)
    problem.hints.update(replicates=replicates, seconds=1.0 if quick else 5.0)
    tools = ((HALFTREK, "halftrek"), (LAVAAN, "lavaan"), (SEM, "sem"), (OPENMX, "OpenMx"))
    limit = 40.0 if quick else 900.0
    name = f"napkin, {replicates:,} replicates"
    return [
        timing("bootstrap", name, label, ask(tool, problem, "time", "bootstrap", seconds=limit))
        for tool, label in tools
    ]


def processes(quick: bool) -> list[Timing]:
    """Start, read a file of 10,000 rows, fit, answer: the whole process, as the clock on the wall has it."""
    found = []
    for name, tools in (
        ("front-door", (HALFTREK, SEMOPY, ANANKE, DOWHY, PGMPY)),
        ("instrument", (HALFTREK, SEMOPY, ANANKE, DOWHY, LINEARMODELS, PGMPY)),
    ):
        if quick and name != "front-door":
            continue
        whole = f"{name}, a whole process"
        question = next(q for q in QUESTIONS if q.name == name)
        with tempfile.TemporaryDirectory() as folder:
            problem = question_problem(question, 10_000, 1)
            problem.hints["intervals"] = False  # by bootstrap they would be most of DoWhy's time
            problem.write(Path(folder))
            data, graph = str(Path(folder) / "data_0.csv"), question.graph
            script = shutil.which("halftrek", path=str(Path(sys.executable).parent))
            if script:
                line = [script, "effect", graph, data, question.cause, question.effect]
                found.append(
                    timing("process", whole, "halftrek, command line", _wall(lambda line=line: _run(line), quick))
                )
            for tool in tools:
                if version(tool) is None:
                    continue
                line = tool.command(Path(folder), "answer", *filter(None, [tool.variant]))
                found.append(timing("process", whole, tool.name, _wall(lambda line=line: _run(line), quick)))
    return found


def _run(line: list[str]) -> None:
    subprocess.run(line, capture_output=True, timeout=300, check=True, env=ONE_THREAD)


def _wall(call: Callable[[], None], quick: bool) -> dict[str, Any]:
    taken = []
    try:
        for _ in range(2 if quick else 7):
            start = time.perf_counter()
            call()
            taken.append(1e3 * (time.perf_counter() - start))
    except subprocess.TimeoutExpired:
        return {"gave_up": "no answer in 300 s"}
    except subprocess.CalledProcessError as error:
        return {"error": (error.stderr.decode().strip().splitlines() or ["failed"])[-1][:120]}
    return {"milliseconds": taken[1:]}


_STREAM = """
import json, resource, sys, time
path, way = sys.argv[1:]
if way == "moments":
    import halftrek as ht
    call = lambda: ht.moments(path)
else:
    import duckdb
    names = duckdb.sql(f"SELECT * FROM read_parquet('{path}') LIMIT 0").columns
    sums = ", ".join(f"sum({v})" for v in names)
    call = lambda: duckdb.connect().sql(f"SELECT {sums} FROM read_parquet('{path}')").fetchall()
start = time.perf_counter()
call()
first = time.perf_counter() - start
taken = [] if first > 5 else [first]
for _ in range(0 if first > 5 else max(3, min(50, int(3 / first)))):
    start = time.perf_counter()
    call()
    taken.append(time.perf_counter() - start)
taken = taken[1:] or [first]
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({"milliseconds": [1e3 * t for t in taken], "megabytes": peak}))
"""


def rows(quick: bool) -> list[Timing]:
    """Moments streamed from Parquet, beside a bare scan of the same file; the peak of memory is that of the process."""
    import duckdb

    found = []
    with tempfile.TemporaryDirectory() as folder:
        for exponent in range(3, 7 if quick else 9):
            n = 10**exponent
            if shutil.disk_usage(folder).free < 3 * 24 * n:
                found.append(
                    timing("rows", f"{n:,} rows", "halftrek", {"error": "not enough disk for the file"}, size=n)
                )
                continue
            path = Path(folder) / f"rows{exponent}.parquet"
            normal = "sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random())"
            drawn = f"SELECT {normal} AS x, {normal} AS u, {normal} AS v FROM range({n})"
            duckdb.sql(f"COPY (SELECT x + u AS x, x + v AS m, u + v AS y FROM ({drawn})) TO '{path}' (FORMAT parquet)")
            for label, way in (("halftrek", "moments"), ("a bare DuckDB scan", "scan")):
                answer = run([sys.executable, "-c", _STREAM, str(path), way], 1_800)
                more = {"megabytes": answer.get("megabytes"), "size": n}
                found.append(timing("rows", f"{n:,} rows", label, answer, **more))
            path.unlink()
    return found


def census(quick: bool) -> list[Timing]:
    """Every edge and total effect of all graphs of three, or four, variables."""
    from benchmarks import census as counting

    found = []
    for size in (3,) if quick else (3, 4):
        start = time.perf_counter()
        right = counting.census(size)
        taken = {"milliseconds": [1e3 * (time.perf_counter() - start)]}
        found.append(timing("census", f"all graphs of {size} variables", "halftrek", taken, right=right))
    return found


def exponents(timings: list[Timing]) -> list[dict[str, Any]]:
    """How cost grows with size: the slope of log time on log size, over the upper half of the sizes measured."""
    grown = []
    for section in ("size", "giant district", "rows"):
        for tool in dict.fromkeys(t["tool"] for t in timings if t["section"] == section):
            mine = [t for t in timings if (t["section"], t["tool"]) == (section, tool) and "median" in t]
            mine = sorted(mine, key=lambda t: t["size"])[-3:]
            if len(mine) > 2:  # two points always lie on a line
                slope = np.polyfit(np.log([t["size"] for t in mine]), np.log([t["median"] for t in mine]), 1)[0]
                sizes = [mine[0]["size"], mine[-1]["size"]]
                grown.append({"section": section, "tool": tool, "exponent": float(slope), "sizes": sizes})
    return grown


def measure_again(before: list[Timing], quick: bool, tools: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    """The fits of some tools that failed once more, in the place of those of an earlier run."""
    failed = {t["problem"] for t in before if t["tool"] in tools and "median" not in t and "beyond" not in t}
    new = {(t["section"], t["problem"], t["tool"]): t for t in fits(quick, tools, failed)}
    timings = [new.get((t["section"], t["problem"], t["tool"]), t) for t in before]
    return {"timings": timings, "growth": exponents(timings)}


def measure(quick: bool) -> dict[str, list[dict[str, Any]]]:
    timings = [*fits(quick), *bootstrap(quick), *processes(quick), *rows(quick), *census(quick)]
    return {"timings": timings, "growth": exponents(timings)}
