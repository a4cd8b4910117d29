"""Golden values: does every number of the grid come out as it did?

    python -m benchmarks.golden                                   run all cells, compare with the frozen numbers
    python -m benchmarks.golden --columns complete --rows effect  some cells: both are regular expressions
    python -m benchmarks.golden --write                           freeze: what comes out now is right
    python -m benchmarks.golden --write --rows 'query: RR'        freeze these cells anew; they say by which commit
    python -m benchmarks.golden --made OTHER.jsonl.xz             compare with what another run froze; nothing runs
    python -m benchmarks.golden --jobs 2                          several columns side by side

Frozen numbers are in benchmarks/results/golden.jsonl.xz (``--file`` names another). Whoever renames a field, an
operation, or a word that programs read adds a line to benchmarks/golden/renamed.toml; tolerances, each with its reason,
are in tolerances.py. The exit status is 1 if a number differs beyond its tolerance, is gone, or a cell no longer works.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from time import perf_counter

from benchmarks.golden.judged import Judged, judged
from benchmarks.golden.kept import FILE, Cell, Frozen, Name, head
from benchmarks.golden.numbers import numbers_of
from benchmarks.golden.renamed import Renamed
from benchmarks.golden.report import report
from benchmarks.grid.cells import answered
from benchmarks.grid.columns import columns
from benchmarks.grid.operations import operations

LIMIT = 90  # seconds of CPU time that a cell may take; what takes longer is named in the file, and not asked again
PATIENCE = 2  # times as long when it is compared, perhaps on a slower machine
SLOW = 15.0  # seconds from which on a frozen cell is named, too


def main(words: list[str] | None = None) -> int:
    """Run cells, or read them, and freeze or compare them."""
    options = _options(words)
    wanted = _wanted(options.columns, options.rows)
    if options.write:
        return _freeze(options.file, wanted, whole=not (options.columns or options.rows), jobs=options.jobs)
    renamed = Renamed.read()
    frozen = renamed.of(Frozen.read(options.file))
    old = {name: cell for name, cell in frozen.cells.items() if _matches(name, options.columns, options.rows)}
    if options.made:
        made = {n: c for n, c in Frozen.read(options.made).cells.items() if _matches(n, options.columns, options.rows)}
        failed: dict[Name, str] = {}
    else:
        asked = [name for name in wanted if name not in frozen.slow]
        made, failed, _ = _run(asked, PATIENCE * LIMIT, options.jobs)
    found: Judged = judged(old, made, failed)
    print(report(found, slow=sorted(frozen.slow & set(wanted)), head=frozen.head))
    return 1 if found.differences or found.lost else 0


def _options(words: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser("benchmarks.golden", description="every number of the grid, as it was frozen")
    parser.add_argument("--columns", default="", metavar="REGEX", help="kinds of data and models")
    parser.add_argument("--rows", default="", metavar="REGEX", help="operations")
    parser.add_argument("--write", action="store_true", help="freeze what comes out now")
    parser.add_argument("--file", type=Path, default=FILE, help="the frozen numbers")
    parser.add_argument("--made", type=Path, help="compare with these instead of running")
    parser.add_argument("--jobs", type=int, default=1, help="processes, a column each")
    return parser.parse_args(words)


def _matches(name: Name, column: str, operation: str) -> bool:
    return bool(re.search(column, name[0]) and re.search(operation, name[1]))


def _wanted(column: str, operation: str) -> list[Name]:
    return [name for c in columns() for o in operations() if _matches(name := (c, o), column, operation)]


def _run(wanted: list[Name], limit: int, jobs: int) -> tuple[dict[Name, Cell], dict[Name, str], dict[Name, float]]:
    """Cells that work, what the others said, and how long each took."""
    made: dict[Name, Cell] = {}
    failed: dict[Name, str] = {}
    seconds: dict[Name, float] = {}
    begun, at = perf_counter(), ""
    for name, cell in answered(wanted, numbers_of, limit, jobs):
        if name[0] != at:
            at = name[0]
            print(f"{perf_counter() - begun:6.0f} s  {at}", file=sys.stderr, flush=True)
        seconds[name] = cell["seconds"]
        if "numbers" in cell:
            made[name] = Cell(**cell["numbers"])
        else:
            failed[name] = f"{cell['status']}: {cell['error']} {cell['message'] or ' '.join(cell['doubts'])}"
    return made, failed, seconds


def _freeze(path: Path, wanted: list[Name], whole: bool, jobs: int) -> int:
    head(set())  # refuses before the run, not after it
    made, failed, seconds = _run(wanted, LIMIT, jobs)
    slow = {name for name, said in failed.items() if said.startswith("slow")}
    frozen = Frozen(head(slow), made)
    broken = [name for name, said in failed.items() if "numbers.py" in said]
    for column, operation in broken:
        print(f"not taken apart: {operation} of {column}: {failed[column, operation]}")
    for name in sorted(wanted, key=lambda name: -seconds[name]):
        if seconds[name] > SLOW:
            print(f"{seconds[name]:.0f} s{', not frozen' if name in slow else ''}: {name[1]} of {name[0]}")
    (frozen if whole else Frozen.read(path).renewed(frozen, set(wanted))).write(path)
    count = sum(cell.size for cell in made.values())
    print(f"{len(made)} cells, {count} numbers frozen, {len(slow)} too slow: {path.stat().st_size} bytes")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
