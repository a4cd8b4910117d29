"""Do the checks reject true models as often as they promise? Clusters, heavy tails, few units, missing values.

Writes ``docs/benchmarks/sizes.{json,md}``; cells that were not run again keep their results. Every cell is seeded by
its name, so that it can be run again alone: ``python -m benchmarks.sizes --only "factor, t5"``. The full study takes
about ten minutes on two cores.
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
from halftrek.inference import contradictions, measures, robust_measures
from halftrek.inference.checks.constraints import constraint_tests
from halftrek.inference.checks.multiplicity import holm
from halftrek.inference.checks.robust_fit import measures_by_units, ratio_mixture
from halftrek.queries import TotalEffect

OUT = Path(__file__).parent.parent / "docs" / "benchmarks"
LEVEL = 0.05
DRAWS = 250

PAGE = """# Do the checks hold their size?

True models, rejected at the 5 % level: in how many samples of 100? `python -m benchmarks.sizes` makes this page again.

How to read it: a check that does what it says has 5, or less where it corrects for several tests (`tests()`,
`contradictions`, by Holm). Two Monte Carlo standard errors are about 3 points (250 samples). **Bold**: more than 5 by
three such errors. *plain* treats rows as independent and normal; *robust* is from the spread over independent units,
which is the default where rows are in clusters, and `robust=True` elsewhere; *scaled* is the usual scaled test (Yuan
and Bentler, as `estimator = "MLR"` has it), for comparison. In the clusters half of every error's variance is common
to a cluster.

- Rows in clusters: checks that treat rows as independent reject most true models. Those by cluster hold, with eight
  clusters still nearly. The scaled test does not correct for few clusters.
- Heavy tails (multivariate t with five degrees of freedom): plain tests of independences and of the whole reject three
  to eight times as often as they say.
- Normal rows: the robust checks cost nothing in size.
"""


@dataclass(frozen=True)
class Case:
    """A graph, a larger one, a question, and rows from errors: as many columns as variables and hidden causes."""

    name: str
    graph: str
    larger: str
    question: TotalEffect
    columns: int
    rows: Callable[[np.ndarray], dict[str, np.ndarray]]


def _chain(noise: np.ndarray) -> dict[str, np.ndarray]:
    a, b, c, d, e, h = noise.T
    b = 0.6 * a + b + 0.7 * h
    c = 0.7 * b + c
    d = 0.5 * c + 0.3 * a + d + 0.7 * h
    return {"a": a, "b": b, "c": c, "d": d, "e": 0.6 * d + e}


def _factor(noise: np.ndarray) -> dict[str, np.ndarray]:
    return {v: noise[:, k] + 0.8 * noise[:, 5] for k, v in enumerate("abcde")}


def _instruments(noise: np.ndarray) -> dict[str, np.ndarray]:
    z1, z2, z3, x, y, h = noise.T
    x = 0.5 * (z1 + z2 + z3) + x + 0.7 * h
    return {"z1": z1, "z2": z2, "z3": z3, "x": x, "y": 0.5 * x + y + 0.7 * h}


CHAIN, FACTOR = "a -> b -> c -> d -> e; b <-> d; a -> d", "latent f; f -> {a, b, c, d, e}"
INSTRUMENTS = "z1 -> x; z2 -> x; z3 -> x; x -> y; x <-> y; z1 <-> z2; z1 <-> z3; z2 <-> z3"
CASES = (
    Case("chain", CHAIN, CHAIN + "; a -> c; c -> e", TotalEffect("b", "e"), 6, _chain),
    Case("factor", FACTOR, FACTOR + "; a <-> b; c <-> d", TotalEffect("a", "b"), 6, _factor),
    Case("instruments", INSTRUMENTS, INSTRUMENTS + "; z1 -> y", TotalEffect("x", "y"), 6, _instruments),
)


@dataclass(frozen=True)
class Design:
    """Independent rows (no clusters) or clusters of some sizes; heavy tails; a share of holes."""

    name: str
    sizes: tuple[int, ...] = ()
    n: int = 0
    heavy: bool = False
    holes: float = 0.0

    def draw(self, rng: np.random.Generator, columns: int) -> tuple[np.ndarray, np.ndarray | None]:
        if not self.sizes:
            noise = rng.normal(size=(self.n, columns))
            return (noise / np.sqrt(rng.chisquare(5, size=(self.n, 1)) / 3.0) if self.heavy else noise), None
        labels = np.repeat(np.arange(len(self.sizes)), self.sizes)
        between = rng.normal(size=(len(self.sizes), columns))[labels]
        return np.sqrt(0.5) * (between + rng.normal(size=between.shape)), labels


DESIGNS = (
    Design("normal, n = 200", n=200),
    Design("t5, n = 100", n=100, heavy=True),
    Design("t5, n = 300", n=300, heavy=True),
    Design("t5, n = 1,000", n=1_000, heavy=True),
    Design("60 clusters of 20", sizes=(20,) * 60),
    Design("30 clusters of 20", sizes=(20,) * 30),
    Design("15 clusters of 20", sizes=(20,) * 15),
    Design("8 clusters of 20", sizes=(20,) * 8),
    Design("40 clusters of 4 to 60", sizes=tuple(int(k) for k in np.linspace(4, 60, 40))),
    Design("t5, n = 300, a tenth missing", n=300, heavy=True, holes=0.1),
    Design("40 clusters of 15, a tenth missing", sizes=(15,) * 40, holes=0.1),
)
CHECKS = (
    "tests, plain", "tests, robust", "whole, plain", "whole, scaled", "whole, robust", "nested, plain",
    "nested, robust", "contradictions, robust",
)  # fmt: skip


@dataclass(frozen=True)
class Result:
    case: str
    design: str
    check: str
    draws: int
    rejected: float


def run(cell: tuple[str, str, int]) -> list[Result]:
    case = next(c for c in CASES if c.name == cell[0])
    design = next(d for d in DESIGNS if d.name == cell[1])
    rng = np.random.default_rng(zlib.crc32(f"{case.name} {design.name}".encode()))
    found: dict[str, list[bool]] = {check: [] for check in CHECKS}
    for _ in range(cell[2]):
        noise, labels = design.draw(rng, case.columns)
        rows = {v: np.where(rng.random(len(x)) < design.holes, np.nan, x) for v, x in case.rows(noise).items()}
        small, large = (ht.fit(g, rows, cluster=labels) for g in (case.graph, case.larger))
        for check, rejected in _checked(case, small, large).items():
            found[check].append(rejected)
    return [Result(case.name, design.name, check, cell[2], float(np.mean(x))) for check, x in found.items() if x]


def _checked(case: Case, small: ht.Fit, large: ht.Fit) -> dict[str, bool]:
    plain, ratio = measures(small), max(0.0, 2.0 * (large.loglik - small.loglik))
    spread, scaled = ratio_mixture(small, large), robust_measures(small, plain=plain).pvalue_scaled
    whole, bigger = measures_by_units(small)[0].pvalue, measures(large)
    from scipy.special import chdtrc

    found = {
        f"tests, {word}": bool(holm(np.array([r.p for r in constraint_tests(small, robust)])).min() < LEVEL)
        for word, robust in (("plain", False), ("robust", True))
    }
    found["whole, plain"] = plain.pvalue is not None and plain.pvalue < LEVEL
    found["whole, scaled"] = scaled is None or scaled < LEVEL  # no scaling factor: the test does not exist
    found["whole, robust"] = whole is not None and whole < LEVEL
    found["nested, plain"] = bool(chdtrc(plain.df - bigger.df, ratio) < LEVEL)
    found["nested, robust"] = spread is not None and spread.p(ratio) < LEVEL
    if case.name != "factor":  # of indicators no effect is asked for
        found["contradictions, robust"] = bool(contradictions(small, case.question, level=LEVEL, robust=True))
    return found


def table(results: list[Result]) -> str:
    """Markdown: a block for each graph, a row for each design, a column for each check."""
    lines = []
    for case in dict.fromkeys(r.case for r in results):
        chosen = [r for r in results if r.case == case]
        checks = [c for c in CHECKS if any(r.check == c for r in chosen)]
        lines += [f"\n**{case}**\n", f"| rows | {' | '.join(checks)} |", "|---|" + "---:|" * len(checks)]
        for design in dict.fromkeys(r.design for r in chosen):
            found = {r.check: r for r in chosen if r.design == design}
            lines.append(f"| {design} | " + " | ".join(_entry(found[c]) for c in checks) + " |")
    return "\n".join(lines)


def _entry(r: Result) -> str:
    text = f"{100 * r.rejected:.1f}"
    return f"**{text}**" if r.rejected > LEVEL + 3.0 * np.sqrt(LEVEL * (1.0 - LEVEL) / r.draws) else text


def write(results: list[Result], folder: Path) -> None:
    stored = folder / "sizes.json"
    known = {(c["case"], c["design"], c["check"]): c for c in json.loads(stored.read_text())} if stored.exists() else {}
    known |= {(r.case, r.design, r.check): asdict(r) for r in results}
    order = [(c.name, d.name, check) for c in CASES for d in DESIGNS for check in CHECKS]
    every = [Result(**known[key]) for key in order if key in known]
    stored.write_text(json.dumps([asdict(r) for r in every], indent=1) + "\n")
    (folder / "sizes.md").write_text(PAGE + table(every) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=DRAWS)
    parser.add_argument("--only", default="", help='run only cells with this text in "graph, rows"')
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path, default=OUT, help="folder to write to")
    options = parser.parse_args()
    cells = [(c.name, d.name, options.draws) for c in CASES for d in DESIGNS if options.only in f"{c.name}, {d.name}"]
    with ProcessPoolExecutor(options.workers) as pool:
        for k, found in enumerate(pool.map(run, cells), 1):
            sizes = "  ".join(f"{r.check} {100 * r.rejected:.1f}" for r in found)
            print(f"{k:2d}/{len(cells)} {found[0].case}, {found[0].design}: {sizes}", flush=True)
            write(found, options.out)


if __name__ == "__main__":
    main()
