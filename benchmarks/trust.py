"""May every interval be trusted? Designs in which information is scarce, and what halftrek prints for them.

A sample misses in silence if the interval does not hold the truth and nothing beside it says that it may not. A cell of
the study is good if at most 8 % of its samples do, and, where its intervals cover 93 to 97 % of the time, if at most
5 % of them carry a warning all the same: a tool that always warns says nothing.

    python -m benchmarks.trust [--samples 2000] [--only "front door"] [--write]
"""

from __future__ import annotations

import argparse
import json
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from benchmarks.trust_designs import Cell, cells

FOLDER = Path(__file__).parents[1] / "docs" / "benchmarks"
SILENT, FALSE_ALARM = 0.08, 0.05
COVERS = (0.93, 0.97)


@dataclass(frozen=True)
class Row:
    """What came of a cell."""

    family: str
    design: str
    front: str
    samples: int
    coverage: float
    warned: float
    silent: float
    kinds: dict[str, int]
    good: bool
    misfit_said: float = 0.0


def run(cell: Cell, samples: int, seed: int = 0) -> Row:
    """Draw the samples of a cell and count."""
    rng = np.random.default_rng(np.random.SeedSequence([seed, *cell.design.encode(), *cell.front.encode()]))
    found = [cell.draw(rng) for _ in range(samples)]
    coverage = float(np.mean([s.covers for s in found]))
    # what is said of a wrong graph is no false alarm
    warned = float(np.mean([s.doubted and not (cell.misfit and s.misfit) for s in found]))
    silent = float(np.mean([not s.covers and not s.doubted for s in found]))
    kinds: dict[str, int] = {}
    for s in found:
        kinds[s.kind] = kinds.get(s.kind, 0) + 1
    false_alarm = COVERS[0] <= coverage <= COVERS[1] and warned > FALSE_ALARM and not cell.misfit
    good = silent <= SILENT and not false_alarm
    said = float(np.mean([s.misfit for s in found]))
    return Row(cell.family, cell.design, cell.front, samples, coverage, warned, silent, kinds, good, said)


PAGE = """# May every interval be trusted?

Designs in which information is scarce: few rows for many causes, few clusters, values that are hardly seen, weak
instruments, small groups, a graph that is wrong, an answer at the border of what it can be. In each, samples are drawn
from a known model, and halftrek is asked without a word about intervals. A sample *misses in silence* if the interval
does not hold the truth and nothing beside it says that it may not.

`python -m benchmarks.trust --write` makes this page again; every cell is seeded by its name (`--only "front door"`). A
cell is good if at most 8 % of its samples miss in silence, and, where its intervals cover 93 to 97 % of the time, if at
most 5 % carry a warning all the same. The Monte Carlo error of a share of 5 % is {error} points with {samples} samples.

![coverage and silent misses of every cell](trust.png)

{verdict}

"""


def _row_of(job: tuple[int, int]) -> Row:
    k, samples = job
    return run(list(cells())[k], samples)


def write(rows: list[Row], folder: Path) -> None:
    """The results as data, as a page and as a picture."""
    (folder / "trust.json").write_text(json.dumps([asdict(r) for r in rows], indent=1) + "\n", encoding="utf-8")
    most = max(r.samples for r in rows)
    bad = [r for r in rows if not r.good]
    verdict = f"{len(rows) - len(bad)} of {len(rows)} cells are good."
    if left := sum(1 for _ in cells()) - len(rows):
        verdict += f" {left} cells of the grid have not been run yet."
    if bad:
        verdict += " Not good: " + "; ".join(f"{r.design} ({r.front})" for r in bad) + "."
    parts = [PAGE.format(samples=f"{most:,}", error=f"{100 * np.sqrt(0.05 * 0.95 / most):.1f}", verdict=verdict)]
    for family in dict.fromkeys(r.family for r in rows):
        parts.append(f"## {family[0].upper()}{family[1:]}\n\n")
        parts.append("| design | front | covers | warns | misses in silence | intervals taken | samples |\n")
        parts.append("|---|---|---|---|---|---|---|\n")
        for r in rows:
            if r.family == family:
                kinds = ", ".join(f"{k} {v / r.samples:.0%}" for k, v in sorted(r.kinds.items(), key=lambda x: -x[1]))
                told = f"{r.misfit_said:.1%} (wrong graph)" if r.misfit_said > r.warned else f"{r.warned:.1%}"
                shares = f"{r.coverage:.1%} | {told} | {r.silent:.1%}"
                parts.append(f"| {r.design} | {r.front} | {shares} | {kinds} | {r.samples:,} |\n")
        parts.append("\n")
    (folder / "trust.md").write_text("".join(parts).rstrip() + "\n", encoding="utf-8")
    _draw(rows, folder / "trust.png")


def _draw(rows: list[Row], path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 0.24 * len(rows) + 1.2), sharey=True, layout="constrained")
    at = np.arange(len(rows))[::-1]
    families = list(dict.fromkeys(r.family for r in rows))
    colours = [f"C{families.index(r.family)}" for r in rows]
    errors = [200 * np.sqrt(max(r.coverage * (1 - r.coverage), 1e-4) / r.samples) for r in rows]
    for y, r, colour, error in zip(at, rows, colours, errors, strict=True):
        left.errorbar(100 * r.coverage, y, xerr=error, fmt="o", color=colour, markersize=4)
        right.plot(100 * r.silent, y, "o", color=colour, markersize=4)
    left.axvspan(93, 97, color="0.93")
    left.set_xlabel("intervals that hold the truth, %")
    right.axvline(8, color="0.6", linewidth=1)
    right.set_xlabel("samples that miss in silence, %")
    right.set_xlim(left=0)
    left.set_yticks(at, [f"{r.design}, {r.front}" for r in rows], fontsize=7)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="x", color="0.9")
        axes.set_axisbelow(True)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=2000)
    parser.add_argument("--only", default="", help="families or designs that have this in their name")
    parser.add_argument("--missing", action="store_true", help="only cells that have no result yet")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--write", action="store_true", help=f"write {FOLDER.name}/trust.json, .md and .png")
    args = parser.parse_args()
    every = list(cells())
    chosen = [k for k, c in enumerate(every) if args.only in f"{c.family}: {c.design} {c.front}"]
    kept = {}
    if (FOLDER / "trust.json").exists():
        kept = {(r["design"], r["front"]): Row(**r) for r in json.loads((FOLDER / "trust.json").read_text())}
    if args.missing:
        chosen = [k for k in chosen if (every[k].design, every[k].front) not in kept]
    begun = time.perf_counter()
    with ProcessPoolExecutor(args.workers) as pool:
        waiting = {pool.submit(_row_of, (k, args.samples)): k for k in chosen}
        for done in as_completed(waiting):
            row = done.result()
            kept[row.design, row.front] = row
            mark = "" if row.good else "   <-- not good"
            print(
                f"{row.design + ', ' + row.front:68s} covers {row.coverage:.3f}  warned {row.warned:.3f}  silent "
                f"{row.silent:.3f}  {row.kinds}  {time.perf_counter() - begun:.0f} s{mark}",
                flush=True,
            )
            if args.write:  # after every cell, so that a run that is stopped loses nothing
                write([kept[c.design, c.front] for c in every if (c.design, c.front) in kept], FOLDER)


if __name__ == "__main__":
    main()
