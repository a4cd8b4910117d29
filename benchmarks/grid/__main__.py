"""The command: ``python -m benchmarks.grid``."""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from pathlib import Path

import benchmarks.grid
from benchmarks.grid.cells import Cell, answered
from benchmarks.grid.columns import columns
from benchmarks.grid.looks import looked_at
from benchmarks.grid.operations import operations
from benchmarks.grid.report import Key, Run, closing_line, contradictions, page
from benchmarks.tools import library_commit, machine

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"
CELLS = ROOT / ".bench" / "grid.jsonl"  # the last run, whole; not in git


def read_cells() -> dict[Key, Cell]:
    """The cells of the last run."""
    lines = map(json.loads, CELLS.read_text().splitlines()) if CELLS.exists() else ()
    return {(cell.pop("column"), cell.pop("operation")): cell for cell in lines}


def ask(wanted: list[Key], seconds: int, jobs: int, keep: Path) -> dict[Key, Cell]:
    """Run cells, keep each as it comes, and say how far they are."""
    cells: dict[Key, Cell] = {}
    begun, column = time.perf_counter(), ""
    keep.parent.mkdir(exist_ok=True)
    with keep.open("w") as lines:
        for key, cell in answered(wanted, looked_at, seconds, jobs):
            if key[0] != column:
                column, passed = key[0], time.perf_counter() - begun
                print(f"{passed:5.0f} s  {len(cells):5d} of {len(wanted)}  {column}", file=sys.stderr, flush=True)
            cells[key] = cell
            print(json.dumps({"column": key[0], "operation": key[1]} | cell), file=lines, flush=True)
    return {key: cells[key] for key in wanted}


def show(cells: dict[Key, Cell]) -> None:
    for (column, row), cell in cells.items():
        told = cell["message"] or cell["words"]
        print(f"{column} x {row}: {cell['status']} {cell['error']} {told} {cell['doubts'] or ''}".rstrip())


def main() -> int:
    parser = argparse.ArgumentParser(
        description=benchmarks.grid.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--columns", default="", help="a regular expression")
    parser.add_argument("--rows", default="", help="a regular expression")
    parser.add_argument("--show", action="store_true", help="print each cell")
    parser.add_argument("--judge", action="store_true", help="judge the cells of the last run again; none is run")
    parser.add_argument("--seconds", type=int, default=20, help="of processor time, for one cell")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    options = parser.parse_args()

    every = [(c, r) for c in columns() for r in operations()]
    wanted = [(c, r) for c, r in every if re.search(options.columns, c) and re.search(options.rows, r)]
    if not wanted:
        parser.error("no cell has such a column and row")
    whole = wanted == every
    if options.judge:
        known = read_cells()
        cells = {key: known[key] for key in wanted if key in known}
    else:
        cells = ask(wanted, options.seconds, options.jobs, CELLS if whole else CELLS.with_name("grid-some.jsonl"))
    if options.show:
        show(cells)
    asked, rows = (list(dict.fromkeys(names)) for names in zip(*wanted, strict=True))
    run = Run.of(cells, asked, rows, {"commit": library_commit()} | machine())
    if whole:
        stored = RESULTS / "grid.json"
        before = Run.read(json.loads(stored.read_text())) if stored.exists() else None
        (RESULTS / "grid.md").write_text(page(run, cells, before))
        stored.write_text(json.dumps(run.stored(), indent=1) + "\n")
    print(closing_line(run, cells))
    return int(bool(run.counts()["unjudged"] or run.counts()["not run"] or contradictions(cells)))


if __name__ == "__main__":
    sys.exit(main())
