"""The same change in later code: lines have moved, files have other names, functions stand elsewhere.

A change is first looked for in its file, or in what ``benchmarks/moved.toml`` says became of it: the function, the
statement and what the statement becomes; then the statement in a function of the same name, then in any; then in the
whole package by both names; last by the changed piece alone, where the statement around it was rewritten. Each time one
place must be meant. What is not found so is gone.
"""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.mutations.changes import ROOT, Change, Made, changes_in, files_of

Result = Mapping[str, Any]
Meant = Callable[[Change, Result, Path], bool]
MOVED = ROOT / "benchmarks" / "moved.toml"


def table_of(path: Path = MOVED) -> dict[str, tuple[str, ...]]:
    """What became of files and rooms."""
    moved = tomllib.loads(path.read_text(encoding="utf-8"))["moved"]
    return {old: (new,) if isinstance(new, str) else tuple(new) for old, new in moved.items()}


def homes(file: str, moved: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """A file and all that it became; a room that became one file took its files along."""
    known, asked = [file], [file]
    while asked:
        one = asked.pop(0)
        parts = one.split("/")
        names = ["/".join(parts[:k]) for k in range(len(parts), 0, -1)]
        old = next((name for name in names if name in moved), None)
        for new in moved[old] if old else ():
            successor = new if new.endswith(".py") else new + one.removeprefix(old or "")
            if successor not in known:
                known.append(successor)
                asked.append(successor)
    return tuple(known)


def copy_number(change: Change, made: Made, root: Path = ROOT) -> int:
    """Which one it is where a function has the same statement several times, and the change makes the same of it."""
    before = (c for c in changes_in(change.file, root)[: change.number] if _same_function(c, change))
    return sum(c.made(root).statement_after == made.statement_after for c in before)


def _same_function(one: Change, other: Change) -> bool:
    return (one.function, one.statement) == (other.function, other.statement)


def found_again(result: Result, moved: Mapping[str, tuple[str, ...]], root: Path = ROOT) -> Change | None:
    """Where a change of former results stands now; None if it is gone."""
    files = [file for file in homes(result["file"], moved) if (root / file).exists()]
    near = [change for file in files for change in changes_in(file, root)]
    exact = [c for c in near if c.function == result["function"] and _statement(c, result, root)]
    if exact:
        return exact[min(int(result["copy"]), len(exact) - 1)]
    far = [change for file in files_of(root) for change in changes_in(file, root)]
    ways: tuple[tuple[list[Change], tuple[Meant, ...]], ...] = (
        (near, (_named, _statement)),
        (near, (_statement,)),
        (far, (_named, _statement)),
        (near, (_named, _piece)),
        (far, (_named, _piece)),
    )
    for where, meant in ways:
        found = [change for change in where if all(means(change, result, root) for means in meant)]
        if len(found) == 1:
            return found[0]
    return None


def _named(change: Change, result: Result, _: Path) -> bool:
    return bool(change.function) and change.function.split(".")[-1] == result["function"].split(".")[-1]


def _statement(change: Change, result: Result, root: Path) -> bool:
    same: bool = change.statement == result["statement"]
    return same and bool(change.made(root).statement_after == result["statement_after"])


def _piece(change: Change, result: Result, root: Path) -> bool:
    """A number alone says too little."""
    if isinstance(ast.parse(result["before"], mode="eval").body, ast.Constant):
        return False
    made = change.made(root)
    return bool((made.before, made.after) == (result["before"], result["after"]))
