"""Results, kept line by line, so that a run that was interrupted goes on; their figures, and two of them compared."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from typing import Any

from benchmarks.mutations.changes import ROOT, files_of

Result = Mapping[str, Any]
WORDS = ("caught", "survived", "slow", "gone")


@dataclass(frozen=True)
class Kept:
    """A file of results: its head says what was asked of which code, and of a change the last line counts."""

    head: Result
    results: tuple[Result, ...]

    @classmethod
    def read(cls, path: Path) -> Kept:
        """What a former run wrote; nothing, if there was none."""
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else ["{}"]
        head, *results = map(json.loads, lines)
        return cls(head, tuple({result["id"]: result for result in results}.values()))


def fingerprint(root: Path = ROOT) -> str:
    """Of the package: numbers of changes are those of one state of it."""
    digest = hashlib.sha256()
    for file in files_of(root):
        digest.update(file.encode() + (root / file).read_bytes())
    return digest.hexdigest()[:16]


@dataclass(frozen=True)
class Figures:
    """How many changes came to what."""

    caught: int
    survived: int
    slow: int
    gone: int

    @classmethod
    def of(cls, results: Iterable[Result]) -> Figures:
        """Each result counts once."""
        found = Counter(result["outcome"] for result in results)
        return cls(*(found[word] for word in WORDS))

    @property
    def tried(self) -> int:
        """Without those that are gone."""
        return self.caught + self.survived + self.slow

    @property
    def share(self) -> float:
        """Of those tried, how many a test noticed by failing: slow ones count as not noticed."""
        return self.caught / self.tried if self.tried else float("nan")

    @property
    def error(self) -> float:
        """Standard error of the share, as of independent draws."""
        return sqrt(self.share * (1 - self.share) / self.tried) if self.tried else float("nan")

    def __str__(self) -> str:
        counts = f"{self.caught} killed, {self.survived} survived, {self.slow} slow, {self.gone} gone"
        return f"{counts}: {self.share:.1%} killed (standard error {self.error:.1%})"


@dataclass(frozen=True)
class Comparison:
    """The same changes before and after; those that are gone or missing in one of them do not take part."""

    pairs: tuple[tuple[Result, Result], ...]
    gone: tuple[Result, ...]

    @classmethod
    def of(cls, old: Sequence[Result], new: Sequence[Result]) -> Comparison:
        """By their names, which a change keeps for good."""
        later = {result["id"]: result for result in new}
        both = [(result, later[result["id"]]) for result in old if result["id"] in later]
        there = [(a, b) for a, b in both if "gone" not in (a["outcome"], b["outcome"])]
        return cls(tuple(there), tuple(b for a, b in both if b["outcome"] == "gone" != a["outcome"]))

    @property
    def lost(self) -> tuple[Result, ...]:
        """Killed before, not killed now: as they are now."""
        return tuple(b for a, b in self.pairs if a["outcome"] == "caught" != b["outcome"])

    @property
    def won(self) -> tuple[Result, ...]:
        """Killed now, not before."""
        return tuple(b for a, b in self.pairs if b["outcome"] == "caught" != a["outcome"])

    @property
    def change(self) -> float:
        """Of the share killed."""
        return (len(self.won) - len(self.lost)) / len(self.pairs) if self.pairs else float("nan")

    @property
    def error(self) -> float:
        """Standard error of the change: of a mean of -1, 0 and 1 over pairs."""
        n = len(self.pairs)
        return sqrt(((len(self.won) + len(self.lost)) / n - self.change**2) / n) if n else float("nan")

    @property
    def fell(self) -> bool:
        """By more than two standard errors."""
        return self.change < -2 * self.error

    def __str__(self) -> str:
        verdict = "fell by more than" if self.fell else "did not fall by more than"
        before, after = (Figures.of(side).share for side in zip(*self.pairs, strict=True)) if self.pairs else (0.0, 0.0)
        return (
            f"{len(self.pairs)} changes in both, {len(self.gone)} gone: {before:.1%} killed before, {after:.1%} now; "
            f"{len(self.lost)} lost, {len(self.won)} won, change {self.change:+.1%} (standard error {self.error:.1%}): "
            f"it {verdict} two standard errors"
        )


def line_of(result: Result) -> str:
    """One change in one line."""
    where = f"{result['file']}:{result['line']}"
    return f"{result['outcome']:8s} {where}  {result['function']}  {result['before']}  ->  {result['after']}"


def page_of(kept: Kept, title: str) -> str:
    """The figures, by room, and the changes that no test noticed."""
    rooms: dict[str, list[Result]] = {}
    for result in kept.results:
        rooms.setdefault(result["file"].split("/")[1], []).append(result)
    head = kept.head
    by_room = [f"| {room} | {Figures.of(results)} |" for room, results in sorted(rooms.items())]
    quick = sum(r["outcome"] == "survived" and r["quick"] for r in kept.results)
    missed = [r for r in kept.results if r["outcome"] != "caught"]
    listed = [
        f"| {r['outcome']}{' (quick)' if r['quick'] else ''} | {r['file']}:{r['line']} | {r['function']} | "
        f"{_cell(r['statement'])} | {_cell(r['statement_after'])} | {r['ran']} of {r['of']} |"
        for r in missed
    ]
    return "\n".join(
        [
            f"# {title}",
            "",
            f"{head['asked']}: {len(kept.results)} of {head['among']} changes.",
            f"At most {head['named_seconds']:g} CPU seconds for the tests that name the module, "
            f"{head['room_seconds']:g} for the others of its room, {head['test_seconds']:g} for one test.",
            "",
            f"**{Figures.of(kept.results)}.** {quick} of the survivors were tried by the first round alone.",
            "",
            "| Room | |",
            "|---|---|",
            *by_room,
            "",
            "What no test noticed, and how many tests of the last round ran before its time was over:",
            "",
            "| | Where | Function | Statement | Changed | Tests |",
            "|---|---|---|---|---|---|",
            *listed,
            "",
        ]
    )


def _cell(code: str) -> str:
    return "`" + " ".join(code.split()).replace("|", "\\|") + "`"
