"""Missing values at size: a fit and one effect with its interval, beside lavaan where R has it.

Every size is measured in a process of its own, one thread, in processor seconds. Writes ``docs/benchmarks/missing.md``;
``python -m benchmarks.missing --quick`` leaves out the large sizes and writes nothing.
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
from dataclasses import asdict, dataclass
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
        causes = rng.choice(j, min(j, max(1, rng.poisson(1.5))), replace=False)
        T[causes, j] = rng.uniform(0.3, 0.8, len(causes)) * rng.choice([-1.0, 1.0], len(causes)) / np.sqrt(len(causes))
    while np.count_nonzero(np.triu(W, 1)) < round(0.3 * p):
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
        "fit": middle - begin, "effect": end - middle, "patterns": patterns, "value": answer.value,
        "se": float("nan") if answer.se is None else answer.se,
    }  # fmt: skip


def measure_alone(size: Size) -> dict[str, float]:
    """This library, in a process of its own with one thread."""
    text = json.dumps(asdict(size))
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "benchmarks.missing", "--one", text]
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


def main() -> None:
    """All sizes, side by side."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes only; nothing is written")
    parser.add_argument("--busy", default="quiet", help="a word on what else the machine did")
    parser.add_argument("--patience", type=float, default=PATIENCE, help="seconds that lavaan is waited for")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(measure(Size(**json.loads(given.one)))))
        return
    text = PAGE.format(busy=given.busy)
    print(text, end="")
    for size in SIZES:
        if given.quick and size.large:
            continue
        found = line(size, measure_alone(size), measure_lavaan(size, given.patience))
        print(found, flush=True)
        text += found + "\n"
    if not given.quick:
        OUT.write_text(text)


if __name__ == "__main__":
    main()
