"""Compare two result files of the benchmarks and name what became slower beyond the noise of both.

``python benchmarks/compare.py old.json new.json [--strict]``. A timing counts as slower when its median is at least a
quarter above the old one and the middle halves of the two do not overlap. Exit status 0, or 1 with ``--strict`` if
anything is slower: timings inform, they are no test.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LEAST = 1.25  # smaller changes are of no interest even if they are no noise


@dataclass(frozen=True)
class Change:
    """One timing in two runs, milliseconds."""

    what: str
    old: float
    new: float
    clear: bool  # beyond the spread of both

    @property
    def ratio(self) -> float:
        return self.new / self.old


def changes(old: dict[str, Any], new: dict[str, Any], tool: str = "halftrek") -> Iterator[Change]:
    """Timings of one tool that both runs have."""
    before = {_key(t): t for t in old["speed"]["timings"]}
    for after in new["speed"]["timings"]:
        was = before.get(_key(after))
        if was is None or not after["tool"].startswith(tool) or "median" not in after or "median" not in was:
            continue
        apart = after["low"] > was["high"] if after["median"] > was["median"] else after["high"] < was["low"]
        yield Change(" / ".join(_key(after)), was["median"], after["median"], apart)


def slower(found: list[Change]) -> list[Change]:
    return [c for c in found if c.clear and c.ratio >= LEAST]


def faster(found: list[Change]) -> list[Change]:
    return [c for c in found if c.clear and c.ratio <= 1.0 / LEAST]


def _key(timing: dict[str, Any]) -> tuple[str, str, str]:
    return timing["section"], timing["problem"], timing["tool"]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--strict", action="store_true", help="exit status 1 if something is slower")
    options = parser.parse_args(arguments)
    old, new = (json.loads(path.read_text()) for path in (options.old, options.new))
    kinds = [{k: run["runs"]["speed"].get(k) for k in ("processor", "cores", "python", "quick")} for run in (old, new)]
    if kinds[0] != kinds[1]:
        print("The two runs are of different machines, Pythons or kinds: read the changes with that in mind.")
    found = list(changes(old, new))
    for word, some in (("slower", slower(found)), ("faster", faster(found))):
        for c in sorted(some, key=lambda c: -abs(c.ratio - 1)):
            print(f"{word}: {c.what}: {c.old:.3g} ms -> {c.new:.3g} ms ({c.ratio:.2f} times)")
    print(f"{len(found)} timings compared, {len(slower(found))} slower, {len(faster(found))} faster")
    return 1 if options.strict and slower(found) else 0


if __name__ == "__main__":
    sys.exit(main())
