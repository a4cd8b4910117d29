"""Models with factors: a fit with standard errors, beside lavaan where R has it, in one run.

Processor seconds, one thread, without loading libraries or reading rows: both begin with covariances. Writes
``docs/benchmarks/factors.md``; ``python -m benchmarks.factors --dry`` only prints.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import halftrek as ht
from halftrek.bottom.arrays import Floats
from halftrek.data import Moments

OUT = Path(__file__).parent.parent / "docs" / "benchmarks" / "factors.md"
ROWS = 1000
PATIENCE = 900.0  # seconds that lavaan is waited for
ROUNDS = 3

PAGE = """# Factors: speed beside lavaan

Factors that covary, each with items of its own, and three factors of which each causes the next with errors that
covary between two waves (the shape of PoliticalDemocracy). A fit with the standard errors of all parameters from the
covariances of 1,000 rows: processor seconds, one thread, the best of {rounds} rounds for halftrek and of one to three
for lavaan {version}. *Difference*: of the log-likelihoods. `python -m benchmarks.factors` makes this page again. The
machine was {busy}.

| model | free parameters | halftrek | lavaan | times | difference |
|---|---:|---:|---:|---:|---:|
"""

R_SCRIPT = """
given <- commandArgs(trailingOnly = TRUE)
suppressPackageStartupMessages(library(lavaan))
S <- as.matrix(read.csv(given[1], check.names = FALSE)); rownames(S) <- colnames(S)
text <- paste(readLines(given[2]), collapse = "\\n")
best <- Inf
for (round in 1:3) {
  used <- system.time(fit <- sem(text, sample.cov = S, sample.nobs = as.numeric(given[3]), sample.cov.rescale = FALSE))
  best <- min(best, used[1] + used[2])
  if (best > 5) break
}
cat(sprintf('{"seconds": %.4f, "loglik": %.8f, "version": "%s"}', best, fitMeasures(fit, "logl"),
            as.character(packageVersion("lavaan"))))
"""


@dataclass(frozen=True)
class Case:
    """A model with covariances that it fits but for noise."""

    name: str
    text: str
    names: tuple[str, ...]
    cov: Floats


def cases() -> Iterator[Case]:
    """From nine items to two hundred."""
    yield _covarying(3, 3)
    yield _waves()
    for factors, items in ((10, 5), (30, 4), (50, 4)):
        yield _covarying(factors, items)


def _covarying(factors: int, items: int) -> Case:
    names = tuple(f"x{k}_{i}" for k in range(factors) for i in range(items))
    text = "\n".join(f"F{k} =~ " + " + ".join(f"x{k}_{i}" for i in range(items)) for k in range(factors))
    rng = np.random.default_rng(factors)
    mixed = rng.normal(size=(factors, 2 * factors))
    spread = mixed @ mixed.T / (2 * factors) + 0.3
    loadings = np.zeros((factors, factors * items))
    for k in range(factors):
        loadings[k, k * items : (k + 1) * items] = rng.uniform(0.5, 1.2, items)
    return Case(f"{factors} factors x {items} items", text, names, _drawn(loadings.T @ spread @ loadings, rng))


def _waves() -> Case:
    names = tuple([f"x{i}" for i in (1, 2, 3)] + [f"y{i}" for i in range(1, 9)])
    text = (
        "A =~ x1 + x2 + x3\nB =~ y1 + y2 + y3 + y4\nC =~ y5 + y6 + y7 + y8\nB ~ A\nC ~ A + B\n"
        "y1 ~~ y5\ny2 ~~ y4 + y6\ny3 ~~ y7\ny4 ~~ y8\ny6 ~~ y8"
    )
    rng = np.random.default_rng(3)
    effects = np.array([[1.0, 0.7, 0.9], [0.0, 1.0, 0.6], [0.0, 0.0, 1.0]])
    loadings = np.zeros((3, 11))
    for k, (first, last) in enumerate(((0, 3), (3, 7), (7, 11))):
        loadings[k, first:last] = rng.uniform(0.7, 1.2, last - first)
    common = loadings.T @ effects.T @ effects @ loadings
    return Case("three factors in two waves", text, names, _drawn(common, rng))


def _drawn(common: Floats, rng: np.random.Generator) -> Floats:
    rows = rng.multivariate_normal(np.zeros(len(common)), common + np.eye(len(common)), size=ROWS)
    return np.cov(rows.T, ddof=0)


def ours(case: Case) -> tuple[float, float, int]:
    """Seconds, log-likelihood, and free parameters but the means."""
    graph = ht.from_lavaan(case.text)
    moments = Moments(case.names, ROWS, np.zeros(len(case.names)), case.cov)
    best, fit = np.inf, None
    for _ in range(ROUNDS):
        start = time.process_time()
        fit = ht.fit(graph, moments)
        fit.params(interval="delta")
        best = min(best, time.process_time() - start)
    assert fit is not None
    return best, fit.loglik, int(fit.measures()["parameters"])


def theirs(case: Case) -> dict[str, float | str] | None:
    """Seconds and log-likelihood of lavaan; None without it, or if it does not end."""
    if shutil.which("Rscript") is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        table, text, script = (Path(folder) / name for name in ("cov.csv", "model.txt", "run.R"))
        np.savetxt(table, case.cov, delimiter=",", header=",".join(case.names), comments="", fmt="%.17g")
        text.write_text(case.text, encoding="utf-8")
        script.write_text(R_SCRIPT, encoding="utf-8")
        line = ["Rscript", str(script), str(table), str(text), str(ROWS)]
        threads = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        try:
            done = subprocess.run(line, capture_output=True, text=True, timeout=PATIENCE, check=False, env=threads)
        except subprocess.TimeoutExpired:
            return None
        found: dict[str, float | str] = json.loads(done.stdout) if done.returncode == 0 else {}
        return found or None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dry", action="store_true", help="print only")
    parser.add_argument("--most", type=int, default=10**9, help="no models with more items")
    args = parser.parse_args()
    busy, lines, version = f"{os.getloadavg()[0]:.0f} busy of {os.cpu_count()} processors", [], "(not there)"
    for case in cases():
        if len(case.names) > args.most:
            continue
        seconds, loglik, free = ours(case)
        other = theirs(case)
        line = f"| {case.name} | {free} | {seconds:.3f} | - | - | - |"
        if other is not None:
            version, taken = str(other["version"]), float(other["seconds"])
            apart = abs(float(other["loglik"]) - loglik)
            line = f"| {case.name} | {free} | {seconds:.3f} | {taken:.2f} | {taken / seconds:.0f} | {apart:.1e} |"
        print(line, flush=True)
        lines.append(line)
    if not args.dry:
        page = PAGE.format(rounds=ROUNDS, version=version, busy=busy) + "\n".join(lines) + "\n"
        OUT.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
