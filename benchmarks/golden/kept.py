"""The frozen file: a head that says what made it, then one line of JSON for each cell, compressed."""

from __future__ import annotations

import json
import lzma
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.golden.numbers import Block, Number
from benchmarks.tools import library_commit, machine

ROOT = Path(__file__).parents[2]
FILE = ROOT / "benchmarks" / "results" / "golden.jsonl.xz"

Name = tuple[str, str]  # of a cell: its column and its operation


@dataclass(frozen=True)
class Cell:
    """What ``numbers`` found in a result."""

    lone: dict[str, Number]
    words: dict[str, str | list[str]]
    blocks: dict[str, Block]

    @property
    def size(self) -> int:
        """How many numbers are compared."""
        held = [entry for block in self.blocks.values() for entry in block["numbers"].values()]
        return len(self.lone) + sum(len(one) if isinstance(one, list) else len(one["first"]) + 5 for one in held)


@dataclass(frozen=True)
class Frozen:
    """All cells of a file. ``commits`` has those that were frozen later than the others, by another commit."""

    head: dict[str, Any]
    cells: dict[Name, Cell]
    commits: dict[Name, str] = field(default_factory=dict)

    @property
    def slow(self) -> set[Name]:
        """Cells that took too long to be frozen."""
        return {(column, operation) for column, operation in self.head["slow"]}

    @staticmethod
    def read(path: Path = FILE) -> Frozen:
        """A frozen file."""
        with lzma.open(path, "rt", encoding="utf-8") as lines:
            head = json.loads(next(lines))
            cells: dict[Name, Cell] = {}
            commits: dict[Name, str] = {}
            for line in map(json.loads, lines):
                name = line["column"], line["operation"]
                cells[name] = Cell(**line["numbers"])
                if "commit" in line:
                    commits[name] = line["commit"]
        return Frozen(head, cells, commits)

    def write(self, path: Path = FILE) -> None:
        """The same as a file, cells in the order of columns and operations, so that like numbers stand together."""
        with lzma.open(path, "wt", encoding="utf-8", preset=6) as file:
            file.write(_line(self.head))
            for name in sorted(self.cells):
                line: dict[str, Any] = {"column": name[0], "operation": name[1]}
                if name in self.commits:
                    line["commit"] = self.commits[name]
                file.write(_line(line | {"numbers": vars(self.cells[name])}))

    def renewed(self, later: Frozen, asked: set[Name]) -> Frozen:
        """Cells that were asked for again are as they are now, and say by which commit; the others stay."""
        commit = later.head["commit"]
        kept = {name: cell for name, cell in self.cells.items() if name not in asked}
        commits = {name: one for name, one in self.commits.items() if name in kept}
        if commit != self.head["commit"]:
            commits |= dict.fromkeys(later.cells, commit)
        slow = sorted((self.slow - asked) | later.slow)
        return Frozen(self.head | {"slow": [list(name) for name in slow]}, kept | later.cells, commits)


def head(slow: set[Name]) -> dict[str, Any]:
    """What made the numbers: the commit, the libraries that compute, and the machine."""
    import numpy
    import scipy

    return {
        "commit": commit(),
        "numpy": numpy.__version__,
        "scipy": scipy.__version__,
        "machine": machine(),
        "slow": [list(name) for name in sorted(slow)],
    }


def commit() -> str:
    """The commit of the library's code, which must be as it was committed."""
    found = library_commit()
    if " " in found:
        raise SystemExit("halftrek/ is not as it was committed: numbers are frozen with the commit that made them")
    return found


def _line(record: dict[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n"
