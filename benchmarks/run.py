"""All benchmarks in one run: sets up the peers, measures, and writes numbers, tables and figures.

``python benchmarks/run.py`` (hours; ``make bench``) or ``python benchmarks/run.py --quick`` (minutes;
``make bench-quick``: small sizes, few samples, only peers that are set up already). Results go to ``docs/benchmarks``.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[0] = str(ROOT)  # modules here are benchmarks.x, and none of them hides a package's name

from benchmarks import accuracy, limits, report, speed  # noqa: E402
from benchmarks.tools import HALFTREK, PEERS, how_to_install, machine, set_up, version  # noqa: E402

PARTS = {"accuracy": accuracy.measure, "speed": speed.measure, "limits": limits.measure}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes, few samples, nothing is installed")
    parser.add_argument("--only", choices=list(PARTS), nargs="+", default=list(PARTS), help="parts to measure again")
    parser.add_argument(
        "--again", metavar="TOOL", nargs="+", default=[], help="only these tools' fits, into results.json"
    )
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "benchmarks", help="folder for the results")
    parser.add_argument("--tables", action="store_true", help="measure nothing, write the tables of results.json again")
    options = parser.parse_args()
    path = options.out / "results.json"
    options.out.mkdir(parents=True, exist_ok=True)
    results = json.loads(path.read_text()) if path.exists() else {}
    if options.again:
        results["speed"] = speed.measure_again(results["speed"]["timings"], options.quick, options.again)
        results["runs"]["speed"].setdefault("again", {}).update(dict.fromkeys(options.again, machine()["date"]))
        path.write_text(json.dumps(results, indent=1) + "\n")
    elif not options.tables:
        for tool in PEERS:
            set_up(tool, install=not options.quick)
        results["versions"] = {t.name: version(t) or how_to_install(t) for t in (HALFTREK, *PEERS)}
        for part in options.only:
            start = time.perf_counter()
            results[part] = PARTS[part](options.quick)
            minutes = round((time.perf_counter() - start) / 60, 1)
            results.setdefault("runs", {})[part] = {"quick": options.quick, "minutes": minutes, **machine()}
            path.write_text(json.dumps(results, indent=1) + "\n")  # what is measured is kept, whatever comes next
    report.write(results, options.out)


if __name__ == "__main__":
    main()
