"""Missing values at size: a fit and one effect with its interval, beside lavaan where R has it, and bootstraps.

Every size is measured in a process of its own, one thread, in processor seconds. Writes ``docs/benchmarks/missing.md``;
``python -m benchmarks.missing --quick`` leaves out the large sizes and writes nothing, ``--bootstraps`` measures these
alone and leaves the rest of the page as it is.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

OUT = Path(__file__).parent.parent / "docs" / "benchmarks" / "missing.md"
PATIENCE = 900.0  # seconds that lavaan is waited for

PAGE = """# Missing values at size

Processor seconds, one thread, each line in a process of its own: reading the table and the fit by full information,
then one effect with its interval and all the checks that an answer brings along. `python -m benchmarks.missing` makes
this page again. lavaan: `lavaan(..., missing = "fiml")` with its standard errors and its test of fit, without reading
the table; neither has the time to load its libraries. Random graphs with 1.5 parents a variable and 0.3 arcs, values
missing at random places. *Difference*: of the two effects, in standard errors. A dash: not tried; `>`: stopped there.
The machine was {busy}.

| variables | rows | missing | patterns | fit | effect | lavaan | times | difference |
|---:|---:|---:|---:|---:|---:|---:|---:|---:|
"""

BOOTSTRAPS = """
## Bootstraps

Processor milliseconds for a replicate of one effect, `interval="bootstrap"`, in complete rows and in the same rows with
10 % of the values missing: {replicates:,} replicates, {fewer} of 100,000 rows; the better of {times} times, each with
draws of its own. Each replicate is at the maximum of the likelihood of its own rows, to three millionths of a
standard error. `python -m benchmarks.missing --bootstraps` makes this table again. The machine was {busy}.

| variables | parents | rows | patterns | complete | 10 % missing | times |
|---:|---:|---:|---:|---:|---:|---:|
"""

WHY = """
A complete replicate is next to free: its moments are one product of its counts with the products of columns, and
coefficients follow in closed form. With missing values a replicate has to be looked at where its own maximum is, and
before that after each step on the way: two or three times from 20,000 rows on, three or four times at 5,000, five or
six at 1,000, beside a first look that all share. What makes a look cheap:

- What fills a hole depends on the columns that have an entry beside it in the inverse covariance of the model, and on
  no others. So the holes of a row fall into sets that nothing connects, and rows of many patterns share these. In
  20,000 rows of 20 variables with 1.5 parents each there are 3,667 patterns, whose inverses have 36,800 entries; the
  sets are 1,312, with 13,300.
- Sets that many rows have are summed up once, for all looks at a replicate.
- As long as a step leaves much more than single precision shows, the look after it is in single precision; the last
  looks are in double precision, and say where the maximum is.

More parents leave fewer holes apart; where every pair of variables has an entry, the last two points alone help.
"""

R_SCRIPT = """
given <- commandArgs(trailingOnly = TRUE)
suppressPackageStartupMessages(library(lavaan))
data <- read.csv(given[1]); text <- paste(readLines(given[2]), collapse = "\\n")
begin <- proc.time()
fit <- lavaan(text, data = data, missing = "fiml", int.ov.free = TRUE, meanstructure = TRUE, fixed.x = FALSE)
rows <- parameterEstimates(fit)
took <- proc.time() - begin
row <- rows[rows$label == "effect", ]
cat(sprintf('{"seconds": %.4f, "value": %.10g, "se": %.10g}', took[1] + took[2], row$est[1], row$se[1]))
"""


@dataclass(frozen=True)
class Size:
    """A table to be made."""

    variables: int
    rows: int
    share: float
    peer: bool = True  # whether lavaan is tried
    large: bool = False
    parents: float = 1.5  # of a variable


SIZES = (
    Size(5, 1_000, 0.1),
    Size(10, 1_000, 0.1),
    Size(10, 10_000, 0.2),
    Size(20, 1_000, 0.2),
    Size(20, 10_000, 0.2),
    Size(20, 100_000, 0.2, peer=False, large=True),
    Size(40, 1_000, 0.2, large=True),
    Size(60, 1_000, 0.2, peer=False, large=True),
)


DRAWN = 1_000  # replicates in the table of bootstraps ...
FEWER = 100  # ... of many rows
TIMES = 2
DRAWN_SIZES = (
    *(Size(p, n, 0.1, large=n > 5_000) for p in (5, 10, 20) for n in (1_000, 5_000, 20_000, 100_000)),
    *(Size(20, n, 0.1, large=n > 5_000, parents=4.0) for n in (1_000, 5_000, 20_000)),
)


@dataclass(frozen=True)
class Problem:
    """Edges, and rows with nan for missing values."""

    arrows: list[tuple[int, int]]
    arcs: list[tuple[int, int]]
    table: np.ndarray
    target: int

    @property
    def graph(self) -> str:
        """As halftrek reads it."""
        lines = [f"v{i} -> v{j}" for i, j in self.arrows] + [f"v{i} <-> v{j}" for i, j in self.arcs]
        return "; ".join(lines)

    @property
    def lavaan(self) -> str:
        """As lavaan reads it, the total effect of the first variable on the target among its parameters."""
        lines = [f"v{j} ~ b{i}x{j}*v{i}" for i, j in self.arrows] + [f"v{i} ~~ v{j}" for i, j in self.arcs]
        lines += [f"v{i} ~~ v{i}" for i in range(self.table.shape[1])]
        paths = self._paths(0, self.target)
        lines.append("effect := " + " + ".join("*".join(f"b{i}x{j}" for i, j in path) for path in paths))
        return "\n".join(lines)

    def _paths(self, start: int, end: int) -> list[list[tuple[int, int]]]:
        if start == end:
            return [[]]
        return [[(i, j), *rest] for i, j in self.arrows if i == start for rest in self._paths(j, end)]


def make_problem(size: Size) -> Problem:
    """A random graph, and rows from it that lack values."""
    rng = np.random.default_rng(size.variables * 1_000_003 + size.rows)
    p = size.variables
    T, W = np.zeros((p, p)), np.eye(p)
    for j in range(1, p):
        causes = rng.choice(j, min(j, max(1, rng.poisson(size.parents))), replace=False)
        T[causes, j] = rng.uniform(0.3, 0.8, len(causes)) * rng.choice([-1.0, 1.0], len(causes)) / np.sqrt(len(causes))
    free = p * (p - 1) // 2 - int(
        np.count_nonzero(T)
    )  # a pair with an arrow has no arc, and small graphs are soon full
    while np.count_nonzero(np.triu(W, 1)) < min(round(0.3 * p), free):
        i, j = np.sort(rng.choice(p, 2, replace=False))
        if T[i, j] == 0.0:
            W[i, j] = W[j, i] = 0.3
    W += np.eye(p) * max(0.0, 0.3 - float(np.linalg.eigvalsh(W)[0]))
    errors = rng.standard_normal((size.rows, p)) @ np.linalg.cholesky(W).T
    total = np.linalg.inv(np.eye(p) - T)
    table = errors @ total + rng.normal(size=p)
    table[rng.random(table.shape) < size.share] = np.nan
    arrows = [(int(i), int(j)) for i, j in np.argwhere(T)]
    arcs = [(int(i), int(j)) for i, j in np.argwhere(np.triu(W, 1))]
    reached = np.flatnonzero(total[0])
    return Problem(arrows, arcs, table, int(reached[np.argmin(np.abs(reached - p // 2))]) or int(reached[-1]))


def measure(size: Size) -> dict[str, float]:
    """This library, in this process."""
    import halftrek as ht

    problem = make_problem(size)
    first = np.random.default_rng(0).normal(size=(60, 2))
    first[:9, 0] = np.nan
    ht.fit("a -> b", {"a": first[:, 0], "b": first[:, 1]}).effect("a", "b")  # loads what is loaded when needed
    columns = {f"v{i}": problem.table[:, i] for i in range(size.variables)}
    begin = time.process_time()
    fit = ht.fit(problem.graph, columns)
    middle = time.process_time()
    answer = fit.effect("v0", f"v{problem.target}")
    end = time.process_time()
    patterns = 0 if fit.patterns is None else len(fit.patterns)
    return {
        "fit": middle - begin, "effect": end - middle, "patterns": patterns, "value": float(answer.value),
        "se": float("nan") if answer.se is None else float(answer.se),
    }  # fmt: skip


def replicates_of(size: Size) -> int:
    """How many are drawn."""
    return DRAWN if size.rows <= 20_000 else FEWER


def measure_bootstrap(size: Size) -> dict[str, float]:
    """Bootstraps of complete rows and of rows that lack values, in this process."""
    import halftrek as ht

    found: dict[str, float] = {}
    for name, share in (("complete", 0.0), ("missing", size.share)):
        problem = make_problem(replace(size, share=share))
        fit = ht.fit(problem.graph, {f"v{i}": problem.table[:, i] for i in range(size.variables)})
        effect = "v0", f"v{problem.target}"
        fit.effect(*effect, interval="bootstrap", replicates=10)  # loads what is loaded when needed
        seconds, count = [], replicates_of(size)
        for seed in range(TIMES):
            begin = time.process_time()
            fit.effect(*effect, interval="bootstrap", replicates=count, random_state=seed)
            seconds.append(time.process_time() - begin)
        found |= {name: min(seconds), "patterns": 0 if fit.patterns is None else len(fit.patterns)}
    return found


def measure_alone(size: Size, what: str = "--one") -> dict[str, float]:
    """This library, in a process of its own with one thread."""
    text = json.dumps(asdict(size))
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "benchmarks.missing", what, text]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def measure_lavaan(size: Size, patience: float) -> dict[str, float] | None:
    """lavaan, as a program; None where R or lavaan is missing, and no value where it takes too long."""
    program = shutil.which("Rscript")
    if program is None or not size.peer:
        return None
    problem = make_problem(size)
    with tempfile.TemporaryDirectory() as folder:
        table, model, script = (Path(folder) / name for name in ("table.csv", "model.txt", "run.R"))
        names = ",".join(f"v{i}" for i in range(size.variables))
        lines = (",".join("NA" if np.isnan(x) else repr(float(x)) for x in row) for row in problem.table)
        table.write_text(names + "\n" + "\n".join(lines) + "\n")
        model.write_text(problem.lavaan + "\n")
        script.write_text(R_SCRIPT)
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        command = [program, str(script), str(table), str(model)]
        try:
            done = subprocess.run(
                command, check=True, capture_output=True, text=True, env=environment, timeout=patience
            )
        except subprocess.TimeoutExpired:
            return {"seconds": patience}
        except subprocess.CalledProcessError:
            return None
    found: dict[str, float] = json.loads(done.stdout[done.stdout.index("{") :])
    return found


def line(size: Size, own: dict[str, float], peer: dict[str, float] | None) -> str:
    """One line of the table."""
    total = own["fit"] + own["effect"]
    words = [f"{size.variables}", f"{size.rows:,}", f"{size.share:.0%}", f"{own['patterns']:,}"]
    words += [f"{own['fit']:.2f}", f"{own['effect']:.2f}"]
    if peer is None:
        words += ["–", "–", "–"]
    else:
        more = "" if "value" in peer else "> "
        gap = f"{abs(own['value'] - peer['value']) / own['se']:.0e}" if "value" in peer else "–"
        words += [f"{more}{peer['seconds']:.1f}", f"{more}{peer['seconds'] / total:.0f}", gap]
    return "| " + " | ".join(words) + " |"


def bootstraps(busy: str, *, quick: bool) -> str:
    """The second table."""
    text = BOOTSTRAPS.format(replicates=DRAWN, fewer=FEWER, times=TIMES, busy=busy)
    print(text, end="")
    for size in DRAWN_SIZES:
        if quick and size.large:
            continue
        own = measure_alone(size, "--one-bootstrap")
        words = [f"{size.variables}", f"{size.parents:g}", f"{size.rows:,}", f"{own['patterns']:,}"]
        words += [f"{1e3 * own[name] / replicates_of(size):.2f}" for name in ("complete", "missing")]
        words += [f"{own['missing'] / own['complete']:.1f}"]
        found = "| " + " | ".join(words) + " |\n"
        print(found, end="", flush=True)
        text += found
    return text + WHY


def main() -> None:
    """All sizes, side by side."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes only; nothing is written")
    parser.add_argument("--bootstraps", action="store_true", help="these alone; the rest of the page stays")
    parser.add_argument("--busy", default="quiet", help="a word on what else the machine did")
    parser.add_argument("--patience", type=float, default=PATIENCE, help="seconds that lavaan is waited for")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--one-bootstrap", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(measure(Size(**json.loads(given.one)))))
        return
    if given.one_bootstrap:
        print(json.dumps(measure_bootstrap(Size(**json.loads(given.one_bootstrap)))))
        return
    text = OUT.read_text().split(BOOTSTRAPS.splitlines()[1])[0].rstrip() + "\n" if given.bootstraps else fits(given)
    text += bootstraps(given.busy, quick=given.quick)
    if not given.quick:
        OUT.write_text(text)


def fits(given: argparse.Namespace) -> str:
    """The page as far as the first table."""
    text = PAGE.format(busy=given.busy)
    print(text, end="")
    for size in SIZES:
        if given.quick and size.large:
            continue
        found = line(size, measure_alone(size), measure_lavaan(size, given.patience))
        print(found, flush=True)
        text += found + "\n"
    return text


if __name__ == "__main__":
    main()
