"""Do 95 % intervals cover? Every kind of interval, over graphs, sample sizes and noises, against known models.

Writes ``docs/benchmarks/coverage.{json,md,png}``; cells that were not run again keep their results. The full study
takes half an hour on two cores; ``--quick`` a few minutes. Every cell is seeded by its name, so that it can be run
again alone: ``--only "weak instrument"``.
"""

from __future__ import annotations

import argparse
import json
import zlib
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

import halftrek as ht
from benchmarks.problems import model_of

OUT = Path(__file__).parent.parent / "docs" / "benchmarks"
LEVEL = 0.95
SIZES = (100, 1_000, 10_000)
KINDS: dict[str, dict[str, object]] = {
    "delta": {"interval": "delta"},
    "observed": {"interval": "delta", "information": "observed"},
    "robust": {"interval": "robust"},
    "profile": {"interval": "profile"},
    "bootstrap": {"interval": "bootstrap", "replicates": 300},
    "bca": {"interval": "bootstrap", "ends": "bca", "replicates": 300},
    "parametric": {"interval": "parametric", "replicates": 300},
}
DRAWS = {"profile": 250, "bootstrap": 200, "bca": 200, "parametric": 200}
MOST = 600  # samples for the kinds that cost little


@dataclass(frozen=True)
class Case:
    """A graph with the weights of its edges (hidden causes are standard normal), and what is asked of it."""

    name: str
    graph: str
    weights: dict[str, float]
    question: str

    def model(self, n: int) -> ht.CGLSCM:
        weights = self.weights
        if self.name == "weak instrument":  # as weak at every size: the first stage's F is about 1 + 2²
            weights = weights | {"z -> x": 2.0 / np.sqrt(n) * np.sqrt(1.0 + 2.0**2)}
        return model_of(self.graph, weights)


PAGE = """# Do the intervals cover?

95 % intervals of every kind, on samples from models whose answer is known: in how many samples does the interval hold
the true value? `python -m benchmarks.coverage` makes this page again.

![coverage of every kind of interval](coverage.png)

How to read it: an interval that does what it says has 95. Bars in the picture are two Monte Carlo standard errors
wide to each side: about 1.8 points for the kinds with 600 samples (delta, observed, robust), 2.8 for profiles (250
samples), 3 for the bootstraps (200 samples of 300 replicates each). All kinds of a row saw the same samples, so that
they err together. **Bold**: further than three such errors from 95. "Refused": the sample has no interval of this
kind, and halftrek says so.

What theory says, and what is seen:

- Identified effects of moderate size, 1,000 rows or more: every kind has its 95 % within Monte Carlo error.
- A product of two small coefficients (the indirect effect in mediation) is skewed at n = 100: intervals from a
  standard error hold less than they promise. The profile and BCa come nearer; none is exact there.
- Sandwich errors and bootstraps estimate more from the rows and need more of them: with 100 rows they fall short by 1
  or 2 points, with skewed noise by up to 5. From 1,000 rows on they hold under normal, t5 and skewed noise.
  Coefficients of regressions with independent errors keep their normal-theory interval under such noise too, which is
  why delta holds there as well.
- A weak instrument (first-stage F about 5 at every n, strong confounding) has no asymptotics that help: more rows do
  not mend it. Intervals from a standard error and bootstraps may miss, on one side; the profile holds, at the price
  of being unbounded in some samples. `fit.query` warns: see [When not to trust an interval](../uncertainty.md).
- A bow beside the front door, whose own effect is not identified, changes nothing about the front-door effect's
  interval.
"""

FRONT = "latent U; U -> {x, y}; x -> m -> y"
FRONT_WEIGHTS = {"x -> m": 0.7, "m -> y": 0.6, "U -> x": 0.8, "U -> y": 0.7}
CASES = (
    Case("front-door", FRONT, FRONT_WEIGHTS, "x ~> y"),
    Case("front-door, mean under do(x)", FRONT, FRONT_WEIGHTS, "P(y | do(x=1))"),
    Case(
        "napkin",
        "latent U; latent V; w -> z -> x -> y; U -> {w, x}; V -> {w, y}",
        {"w -> z": 0.8, "z -> x": 0.7, "x -> y": 0.6, "U -> w": 0.6, "U -> x": 0.6, "V -> w": 0.6, "V -> y": 0.6},
        "x ~> y",
    ),
    Case(
        "strong instrument",
        "latent U; z -> x -> y; U -> {x, y}",
        {"z -> x": 0.8, "x -> y": 0.5, "U -> x": 0.8, "U -> y": 0.8},
        "x ~> y",
    ),
    Case(
        "weak instrument",
        "latent U; z -> x -> y; U -> {x, y}",
        {"x -> y": 0.5, "U -> x": 2.0, "U -> y": 2.0},
        "x ~> y",
    ),
    Case(
        "Verma",
        "latent U; a -> b -> c -> d; U -> {b, d}",
        {"a -> b": 0.7, "b -> c": 0.8, "c -> d": 0.6, "U -> b": 0.7, "U -> d": 0.7},
        "b ~> d",
    ),
    Case(
        "mediation, indirect effect",
        "x -> m -> y; x -> y",
        {"x -> m": 0.2, "m -> y": 0.2, "x -> y": 0.3},
        "x ~> m ~> y",
    ),
    Case(
        "latent factor",
        "latent F; F -> {a, b, c, y}; a -> y",
        {"F -> a": 0.8, "F -> b": 0.7, "F -> c": 0.7, "F -> y": 0.6, "a -> y": 0.4},
        "a ~> y",
    ),
    Case(
        "front-door beside a bow",
        FRONT + "; latent V; V -> {p, q}; p -> q",
        {**FRONT_WEIGHTS, "p -> q": 0.5, "V -> p": 0.8, "V -> q": 0.8},
        "x ~> y",
    ),
)
NOISES: dict[str, Callable[[np.random.Generator, tuple[int, int]], np.ndarray]] = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "t5": lambda rng, shape: rng.standard_t(5, shape) / np.sqrt(5.0 / 3.0),
    "skewed": lambda rng, shape: rng.exponential(size=shape) - 1.0,
}


@dataclass(frozen=True)
class Cell:
    case: str
    n: int
    noise: str
    draws: tuple[tuple[str, int], ...]  # by kind of interval


@dataclass(frozen=True)
class Result:
    case: str
    n: int
    noise: str
    kind: str
    draws: int
    refused: int  # no fit, or no interval
    coverage: float
    error: float  # Monte Carlo standard error
    too_low: float  # share of intervals that lie below the truth
    too_high: float
    width: float  # median
    unbounded: float


def cells(quick: bool) -> list[Cell]:
    found = []
    for case in CASES:
        for n in SIZES:
            found.append(Cell(case.name, n, "normal", tuple((k, 60 if quick else DRAWS.get(k, MOST)) for k in KINDS)))
    for name in ("front-door", "strong instrument", "napkin"):
        for noise in ("t5", "skewed"):
            few = tuple((k, 60 if quick else MOST) for k in ("delta", "robust"))
            found += [Cell(name, n, noise, few) for n in SIZES]
    return found


def run(cell: Cell) -> list[Result]:
    """All kinds of interval on the same samples; the costly kinds on the first of them."""
    case = next(c for c in CASES if c.name == cell.case)
    model = case.model(cell.n)
    truth = float(model.query(case.question).value)
    rng = np.random.default_rng(zlib.crc32(f"{cell.case} {cell.n} {cell.noise}".encode()))
    p, q = len(model.names), len(model.latents)
    ends: dict[str, list[tuple[float, float]]] = {kind: [] for kind, _ in cell.draws}
    for draw in range(max(count for _, count in cell.draws)):
        noise = NOISES[cell.noise](rng, (cell.n, p + q))
        errors = noise[:, :p] * np.sqrt(model.psi) + noise[:, p:] @ model.C + model.mu
        try:
            fit = ht.fit(model.graph, errors @ model.B, names=model.names)
        except ht.HalftrekError:
            fit = None
        for kind, count in cell.draws:
            if draw < count:
                ends[kind].append(_ends(fit, case.question, kind, draw))
    return [_result(cell, kind, np.array(found), truth) for kind, found in ends.items()]


def _ends(fit: ht.Fit | None, question: str, kind: str, seed: int) -> tuple[float, float]:
    if fit is None:
        return np.nan, np.nan
    try:
        low, high = fit.query(question, level=LEVEL, random_state=seed, **KINDS[kind]).interval
    except ht.HalftrekError:
        return np.nan, np.nan
    return float(low), float(high)


def _result(cell: Cell, kind: str, ends: np.ndarray, truth: float) -> Result:
    known = ends[~np.isnan(ends).any(axis=1)]
    done, width = max(len(known), 1), known[:, 1] - known[:, 0]
    coverage = float(((known[:, 0] <= truth) & (truth <= known[:, 1])).sum() / done)
    return Result(
        cell.case,
        cell.n,
        cell.noise,
        kind,
        draws=len(ends),
        refused=len(ends) - len(known),
        coverage=coverage,
        error=float(np.sqrt(max(coverage * (1.0 - coverage), 0.25 / done) / done)),
        too_low=float((known[:, 1] < truth).sum() / done),
        too_high=float((known[:, 0] > truth).sum() / done),
        width=float(np.median(width)) if width.size else float("nan"),
        unbounded=float((~np.isfinite(width)).sum() / done),
    )


def table(results: list[Result]) -> str:
    """Markdown: a block for each noise, one row for each graph and size, one column for each kind."""
    lines = []
    for noise in dict.fromkeys(r.noise for r in results):
        chosen = [r for r in results if r.noise == noise]
        kinds = list(dict.fromkeys(r.kind for r in chosen))
        lines += [f"\n**{noise} noise**\n", f"| graph | n | {' | '.join(kinds)} |", "|---|---:|" + "---:|" * len(kinds)]
        for case, n in dict.fromkeys((r.case, r.n) for r in chosen):
            found = {r.kind: r for r in chosen if (r.case, r.n) == (case, n)}
            lines.append(f"| {case} | {n:,} | " + " | ".join(_entry(found[k]) for k in kinds if k in found) + " |")
    return "\n".join(lines)


def _entry(r: Result) -> str:
    text = f"{100 * r.coverage:.1f}"
    if abs(r.coverage - LEVEL) > 3 * max(r.error, np.sqrt(LEVEL * (1 - LEVEL) / max(r.draws - r.refused, 1))):
        text = f"**{text}**"
    return text + (f" ({r.refused} refused)" if r.refused else "")


def figure(results: list[Result], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    from halftrek.reporting.plots.figures import BLUE, GREEN, INK, ORANGE, PURPLE, SKY, VERMILION

    colours = (BLUE, SKY, ORANGE, VERMILION, GREEN, PURPLE, INK)
    normal = [r for r in results if r.noise == "normal"]
    cases, kinds = list(dict.fromkeys(r.case for r in normal)), list(dict.fromkeys(r.kind for r in normal))
    fig, axes = plt.subplots(3, 3, figsize=(11, 8.5), sharex=True, sharey=True, squeeze=False, layout="constrained")
    for ax, case in zip(axes.flat, cases, strict=False):
        ax.axhline(100 * LEVEL, color="0.6", lw=1)
        for k, kind in enumerate(kinds):
            mine = [r for r in normal if (r.case, r.kind) == (case, kind)]
            x = np.array([SIZES.index(r.n) for r in mine]) + (k - (len(kinds) - 1) / 2) * 0.11
            y = np.array([100 * r.coverage for r in mine])
            bars = np.array([196 * r.error for r in mine])
            ax.errorbar(x, y, bars, fmt="o", ms=4, lw=1, color=colours[k], label=kind)
        ax.set_title(case, fontsize=10)
        ax.set_xticks(range(len(SIZES)), [f"n = {n:,}" for n in SIZES])
        ax.set_ylim(82, 100.5)
    for ax in axes[:, 0]:
        ax.set_ylabel("coverage, %")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside lower center", ncols=len(kinds), frameon=False)
    fig.savefig(path, dpi=110)


def write(results: list[Result], folder: Path) -> None:
    """The results as data, table and figure; cells that are there already and were not run again are kept."""
    folder.mkdir(exist_ok=True, parents=True)
    stored = folder / "coverage.json"
    known = (
        {(c["case"], c["n"], c["noise"], c["kind"]): c for c in json.loads(stored.read_text())}
        if stored.exists()
        else {}
    )
    known |= {(r.case, r.n, r.noise, r.kind): asdict(r) for r in results}
    order = [(c.case, c.n, c.noise, kind) for c in cells(False) for kind, _ in c.draws]
    every = [Result(**known[key]) for key in order if key in known]
    stored.write_text(json.dumps([asdict(r) for r in every], indent=1) + "\n")
    (folder / "coverage.md").write_text(PAGE + table(every) + "\n")
    figure(every, folder / "coverage.png")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="60 samples for each cell, nothing written")
    parser.add_argument("--only", help="run only cells whose graph has this text in its name")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path, default=OUT, help="folder to write to")
    options = parser.parse_args()
    wanted = [c for c in cells(options.quick) if not options.only or options.only in c.case]
    results = []
    with ProcessPoolExecutor(options.workers) as pool:
        for k, found in enumerate(pool.map(run, wanted), 1):
            results += found
            covered = "  ".join(f"{r.kind} {100 * r.coverage:.1f} ± {100 * r.error:.1f}" for r in found)
            print(f"{k:2d}/{len(wanted)} {found[0].case}, n = {found[0].n:,}, {found[0].noise}: {covered}", flush=True)
    print(table(results))
    if not options.quick:
        write(results, options.out)


if __name__ == "__main__":
    main()
