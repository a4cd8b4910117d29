"""Ordered and ranked columns: do intervals by influence cover, has the scaled test its size, are causes recovered?

Front door, napkin and mediation with a yes/no outcome and a scale in the middle, whose true answers are known; an
instrument for a cause that acts, and for one that is behind its category; twelve items of 5,000 rows and three small
studies for the time, beside lavaan where there is R.
Writes ``docs/benchmarks/layer.{json,md}``. ``--samples 1000`` is the full study, ``--quick`` a few samples.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.stats import norm

import halftrek as ht
from halftrek.bottom.arrays import Floats
from halftrek.bottom.choices import ColumnKind
from halftrek.layer import RowInfluence, layer_of

OUT = Path(__file__).parent.parent / "docs" / "benchmarks"
SIZES = (300, 1_000)
SAMPLES = 200

Rows = dict[str, Floats]
Draw = Callable[[np.random.Generator, int], Rows]


@dataclass(frozen=True)
class Design:
    """How rows are made, which graph they are fitted by, and the true answers."""

    name: str
    graph: str
    kinds: dict[str, ColumnKind]
    draw: Draw
    truths: dict[str, float]


def _front_door(rng: np.random.Generator, n: int) -> Rows:
    u, x, m, y = rng.normal(size=(4, n))
    x = 0.6 * u + 0.8 * x
    m = 0.7 * x + np.sqrt(0.51) * m
    y = 0.6 * m + 0.4 * u + 0.6 * y
    return {"x": x, "m": np.digitize(m, [-0.8, 0.0, 0.8]), "y": y > 0.5}


def _napkin(rng: np.random.Generator, n: int) -> Rows:
    u, v, w, r, x, y = rng.normal(size=(6, n))
    w = 0.5 * u + 0.5 * v + 0.7 * w
    r = 0.8 * w + 0.6 * r
    x = 0.7 * r + 0.5 * u + 0.6 * x
    y = 0.6 * x + 0.5 * v + 0.7 * y
    return {"w": w, "r": np.digitize(r, [-0.7, 0.1, 0.9]), "x": x, "y": y > 0.4}


def _mediation(rng: np.random.Generator, n: int) -> Rows:
    x, m, y = rng.normal(size=(3, n))
    m = 0.5 * x + np.sqrt(0.75) * m
    y = 0.3 * x + 0.5 * m + 0.8 * y
    return {"x": x, "m": np.digitize(m, [-1.0, -0.3, 0.3, 1.0]), "y": y > 0.6}


def _chain(rng: np.random.Generator, n: int) -> Rows:
    a, b, c, d = rng.normal(size=(4, n))
    b = 0.6 * a + 0.8 * b
    c = 0.5 * b + np.sqrt(0.75) * c
    d = 0.6 * c + 0.8 * d
    return {"a": np.exp(a), "b": np.digitize(b, [-0.8, 0.0, 0.8]), "c": c, "d": d > 0.5}


_IN_FRONT = float(np.sqrt(0.36 * 0.51 + 0.16 + 0.36))
_NAPKIN = float(np.sqrt(0.25 + 0.49))
_MEDIATED = float(np.sqrt(0.25 * 0.75 + 0.64))
_SD = {
    "front": float(np.sqrt(0.36 + 0.16 + 0.36 + 2 * 0.6 * 0.4 * 0.7 * 0.6)),
    "mediation": float(np.sqrt(0.09 + 0.25 + 0.64 + 2 * 0.3 * 0.5 * 0.5)),
}
DESIGNS = (
    Design(
        "front door",
        "x -> m -> y; x <-> y",
        {"m": "behind", "y": "ordered"},
        _front_door,
        {"P(y > 0 | do(x=1))": float(norm.sf((0.5 - 0.42) / _IN_FRONT)), "x ~> y": 0.42 / _SD["front"]},
    ),
    Design(
        "napkin",
        "w -> r -> x -> y; w <-> x; w <-> y",
        {"r": "behind", "y": "ordered"},
        _napkin,
        {"P(y > 0 | do(x=1))": float(norm.sf((0.4 - 0.6) / _NAPKIN))},
    ),
    Design(
        "mediation",
        "x -> m -> y; x -> y",
        {"m": "behind", "y": "ordered"},
        _mediation,
        {"P(y > 0 | do(x=1))": float(norm.sf((0.6 - 0.55) / _MEDIATED)), "x -> m -> y": 0.25 / _SD["mediation"]},
    ),
)
CHAIN = Design("chain", "a -> b -> c -> d", {"a": "ranked", "b": "behind", "d": "ordered"}, _chain, {})


def _fitted(design: Design, n: int, seed: int) -> ht.Fit:
    rng = np.random.default_rng([n, seed])
    rows = {v: np.asarray(column, dtype=float) for v, column in design.draw(rng, n).items()}
    return ht.fit(design.graph, rows, kinds=design.kinds)


def coverage(samples: int) -> list[dict[str, object]]:
    """In how many samples an interval holds the truth."""
    lines: list[dict[str, object]] = []
    for design in DESIGNS:
        for n in SIZES:
            held = dict.fromkeys(design.truths, 0)
            done = 0
            for seed in range(samples):
                try:
                    fit = _fitted(design, n, seed)
                except ht.DataError:  # a table with an empty cell
                    continue
                done += 1
                for question, truth in design.truths.items():
                    low, high = fit.query(question).estimate.intervals[0]  # type: ignore[union-attr]
                    held[question] += bool(low <= truth <= high)
            for question, count in held.items():
                line = {"design": design.name, "n": n, "question": question, "samples": done, "covers": count / done}
                lines.append(line)
                print(line, flush=True)
    return lines


def test_size(samples: int) -> list[dict[str, object]]:
    """How often a true graph is rejected at .05, by the scaled test and by the plain one."""
    lines: list[dict[str, object]] = []
    for n in SIZES:
        found = [_fitted(CHAIN, n, seed) for seed in range(samples)]
        scaled = float(np.mean([fit.measures()["pvalue"] < 0.05 for fit in found]))
        plain = float(np.mean([fit.measures(robust=False)["pvalue"] < 0.05 for fit in found]))
        line: dict[str, object] = {"n": n, "samples": samples, "scaled": scaled, "unscaled": plain}
        lines.append(line)
        print(line, flush=True)
    return lines


def recovery(samples: int, n: int = 4_000) -> list[dict[str, object]]:
    """The mean of an effect of 1 over samples of an instrument graph, for both kinds of cause and of outcome.

    That on a yes/no outcome is in standard deviations of its error where the cause acts, of what is behind it else.
    """
    lines: list[dict[str, object]] = []
    kinds: tuple[ColumnKind, ...] = ("acts", "behind")
    for kind in kinds:
        for outcome in ("measured", "yes/no"):
            found = [_recovered(kind, outcome, n, seed) for seed in range(samples)]
            error = float(np.std(found, ddof=1) / np.sqrt(samples))
            line: dict[str, object] = {"kind": kind, "outcome": outcome, "samples": samples}
            line |= {"mean": float(np.mean(found)), "error": error}
            lines.append(line)
            print(line, flush=True)
    return lines


def _recovered(kind: ColumnKind, outcome: str, n: int, seed: int) -> float:
    """The effect of one sample, per its true value."""
    z, u, e, f = np.random.default_rng([n, seed]).normal(size=(4, n))
    cause = 0.8 * z + 0.6 * u + 0.8 * e  # of variance 1.64
    d = (cause > 0.3).astype(float)
    y = (d if kind == "acts" else cause) + 0.7 * u + np.sqrt(0.51) * f  # an error of variance 1
    kinds: dict[str, ColumnKind] = {"d": kind}
    unit = 1.0 if kind == "acts" else float(np.sqrt(1.64))  # of what is behind, which counts as 1
    if outcome == "yes/no":
        y, kinds["y"] = (y > 0.5).astype(float), "ordered"
        unit /= 1.0 if kind == "acts" else float(np.sqrt(1.64 + 1.0 + 2.0 * 0.6 * 0.7))
    fit = ht.fit("z -> d -> y; d <-> y", {"z": z, "d": d, "y": y}, kinds=kinds)
    return float(fit.query("d ~> y").value) / unit


def _twelve() -> Floats:
    drawn = np.random.default_rng(0).multivariate_normal(np.zeros(12), 0.4 + 0.6 * np.eye(12), 5_000)
    return np.asarray(drawn)


def items() -> dict[str, float]:
    """Processor seconds of twelve items of 5,000 rows: moments, and what rows add to them."""
    rows = np.digitize(_twelve(), [-1.0, -0.3, 0.3, 1.0])
    names = [f"i{k}" for k in range(12)]
    start = time.process_time()
    layer = layer_of(names, rows.astype(float), dict.fromkeys(names, "ordered"))
    middle = time.process_time()
    RowInfluence(layer).products(rows.astype(float), np.arange(12))
    return {"moments": middle - start, "influence": time.process_time() - middle}


R_SCRIPT = """
suppressMessages(library(lavaan))
given <- commandArgs(trailingOnly = TRUE)
data <- read.csv(given[1])
ordered <- strsplit(given[3], ",")[[1]]
fitted <- function() sem(paste(readLines(given[2]), collapse = "\\n"), data, ordered = ordered, std.lv = TRUE,
                         parameterization = "theta", conditional.x = FALSE, fixed.x = FALSE)
fit <- fitted()
taken <- min(replicate(3, sum(system.time({ fit <- fitted(); parameterEstimates(fit) })[1:2])))
cat(sprintf('{"seconds": %.6f, "chi2": %.12g, "version": "%s"}', taken, fitMeasures(fit, "chisq"),
            packageVersion("lavaan")))
"""
REFERENCE = Path(__file__).parent.parent / "tests" / "reference" / "ordered"


def races() -> list[tuple[str, Rows, str, str, dict[str, ColumnKind]]]:
    """A name, rows, the graph, lavaan's text, kinds: twelve items of 5,000 rows by two factors, three small studies."""
    names = [f"i{k}" for k in range(12)]
    first, second = names[:6], names[6:]
    table = np.digitize(_twelve(), [-1.0, -0.3, 0.3, 1.0])
    factors = f"latent F; latent G; F -> {{{', '.join(first)}}}; G -> {{{', '.join(second)}}}; F <-> G"
    wide = dict(zip(names, table.T.astype(float), strict=True))
    every: dict[str, ColumnKind] = dict.fromkeys(names, "ordered")
    found = [("12 items, 5,000 rows", wide, factors, f"F =~ {' + '.join(first)}\nG =~ {' + '.join(second)}", every)]
    small: tuple[tuple[str, str, str, dict[str, ColumnKind]], ...] = (
        ("items", "q1 <-> {q2, q3, q4}; q2 <-> {q3, q4}; q3 <-> q4", "q1 ~~ q2 + q3 + q4\nq2 ~~ q3 + q4\nq3 ~~ q4",
         dict.fromkeys(("q1", "q2", "q3", "q4"), "ordered")),
        ("front_door", "x -> m -> y; x <-> y", "m ~ x\ny ~ m\nx ~~ y", {"m": "behind", "y": "ordered"}),
        ("mediation", "t -> {a, b, c}; a -> {b, c}; b -> c", "a ~ t\nb ~ t + a\nc ~ t + a + b",
         {"a": "behind", "c": "ordered"}),
    )  # fmt: skip
    for name, graph, text, kinds in small:
        with (REFERENCE / f"{name}.csv").open(encoding="utf-8") as lines:
            head = lines.readline().strip().replace('"', "").split(",")
            columns = np.loadtxt(lines, delimiter=",").T
        found.append((f"{name}, {columns.shape[1]} rows", dict(zip(head, columns, strict=True)), graph, text, kinds))
    return found


def beside_lavaan() -> list[dict[str, object]]:
    """Processor seconds of a fit by weighted least squares with standard errors, best of three: ours, and lavaan's."""
    lines: list[dict[str, object]] = []
    for name, rows, graph, text, kinds in races():
        taken, fit = [], None
        for _ in range(4):
            start = time.process_time()
            fit = ht.fit(graph, rows, kinds=kinds, estimator="dwls")
            fit.params()
            taken.append(time.process_time() - start)
        assert fit is not None
        line: dict[str, object] = {"case": name, "halftrek": min(taken[1:])}
        line |= _lavaan(rows, text, kinds) or {"lavaan": "-", "times": "-", "version": "-"}
        if isinstance(line["lavaan"], float):
            line["times"] = f"{line['lavaan'] / min(taken[1:]):.1f}"
        lines.append(line)
        print(line, flush=True)
    return lines


def _lavaan(rows: Rows, text: str, kinds: dict[str, ColumnKind]) -> dict[str, object] | None:
    if shutil.which("Rscript") is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        table, model, script = (Path(folder) / name for name in ("rows.csv", "model.txt", "run.R"))
        np.savetxt(table, np.column_stack(list(rows.values())), "%.17g", ",", header=",".join(rows), comments="")
        model.write_text(text + "\n", encoding="utf-8")
        script.write_text(R_SCRIPT, encoding="utf-8")
        line = ["Rscript", str(script), str(table), str(model), ",".join(kinds)]
        threads = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        done = subprocess.run(line, capture_output=True, text=True, check=True, env=threads)
    found = json.loads(done.stdout)
    return {"lavaan": float(found["seconds"]), "times": "", "version": found["version"]}


PAGE = """# Ordered and ranked columns

Intervals by influence, the scaled test, and both kinds of causes in categories, on rows whose truth is known.
`python -m benchmarks.layer` makes this page again.

## How often 95 % intervals hold the truth

| design | rows | question | samples | covers |
|---|---|---|---|---|
{coverage}

The outcome is yes or no, the variable in the middle a scale of four or five points.

## How often a true graph is rejected at .05

| rows | samples | scaled | unscaled |
|---|---|---|---|
{sizes}

## An effect of 1, by an instrument

| cause | outcome | samples of 4,000 | mean | its standard error |
|---|---|---|---|---|
{recovery}

## Time

Processor seconds of a fit by weighted least squares (`estimator="dwls"`) with standard errors, the best of three, in
one run beside lavaan's `sem(..., ordered = ...)`. The first is a model of two factors with 12 items of five points; the
others are the small studies of the tests.

| case | halftrek | lavaan | times | lavaan's version |
|---|---|---|---|---|
{races}

Twelve items of five points and 5,000 rows: {moments:.2f} s of processor time for all cuts and correlations,
{influence:.2f} s for what each row adds to them.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=SAMPLES)
    parser.add_argument("--recovery", type=int, default=100)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only-recovery", action="store_true", help="only causes, and keep what else was found before")
    parser.add_argument("--times", action="store_true", help="only measure times, and keep what else was found before")
    args = parser.parse_args()
    if args.times:
        known = json.loads((OUT / "layer.json").read_text(encoding="utf-8"))
        return _written({**known, "items": items(), "races": beside_lavaan()})
    if args.only_recovery:
        known = json.loads((OUT / "layer.json").read_text(encoding="utf-8"))
        return _written({**known, "recovery": recovery(args.recovery)})
    samples, times = (20, 5) if args.quick else (args.samples, args.recovery)
    found: dict[str, object] = {
        "coverage": coverage(samples),
        "sizes": test_size(samples),
        "recovery": recovery(times),
        "items": items(),
        "races": beside_lavaan(),
    }
    return _written(found)


def _written(found: dict[str, object]) -> None:
    OUT.mkdir(exist_ok=True)
    (OUT / "layer.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    (OUT / "layer.md").write_text(page(found), encoding="utf-8")


def page(found: dict[str, object]) -> str:
    """The results as a page."""

    def table(lines: object) -> str:
        assert isinstance(lines, list)
        shown = [[f"{x:.3f}" if isinstance(x, float) else str(x) for x in line.values()] for line in lines]
        return "\n".join(
            "| " + " | ".join(f"`{x}`" if "~>" in x or "->" in x else x.replace("|", "\\|") for x in row) + " |"
            for row in shown
        )

    times = found["items"]
    assert isinstance(times, dict)
    return PAGE.format(**{name: table(found[name]) for name in ("coverage", "sizes", "recovery", "races")}, **times)


if __name__ == "__main__":
    main()
