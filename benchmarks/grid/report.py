"""What the grid says: counts, what broke, what is refused and why, and what differs from the run before."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.grid.cells import Cell
from benchmarks.grid.rules import judged

Key = tuple[str, str]  # column, operation

SIGNS = {
    "ok": ".", "suspicious": "?", "meaningless": "m", "not there": "n", "should work": "w", "unjudged": "u",
    "crash": "X", "slow": "S", "same": " ", "not run": "-",
}  # fmt: skip
WORDS = {sign: word for word, sign in SIGNS.items()}
LEGEND = {
    "ok": "it worked", "suspicious": "it worked, but look", "meaningless": "refused, and rightly",
    "not there": "it means something, and is refused or absent", "should work": "refused, and all it needs is there",
    "unjudged": "refused, without a rule", "crash": "an error that is not ours", "slow": "beyond the limit of a cell",
    "same": "the column has the option already", "not run": "left out",
}  # fmt: skip


def standing(key: Key, cell: Cell) -> str:
    """What a cell counts as."""
    if cell["status"] in ("refused", "absent"):
        rule = judged(*key)
        return rule.verdict if rule else "unjudged"
    return "suspicious" if cell["status"] == "ok" and cell["doubts"] else str(cell["status"])


def contradictions(cells: Mapping[Key, Cell]) -> list[Key]:
    """Cells that work although their rule says that they mean nothing."""
    found = []
    for key, cell in cells.items():
        rule = judged(*key)
        if rule and rule.verdict == "meaningless" and standing(key, cell) == "ok":
            found.append(key)
    return found


@dataclass(frozen=True)
class Run:
    """All cells of one run as signs: a line for each operation, a place in it for each column."""

    head: dict[str, Any]
    columns: tuple[str, ...]
    lines: dict[str, str]

    @classmethod
    def of(cls, cells: Mapping[Key, Cell], columns: Sequence[str], rows: Sequence[str], head: dict[str, Any]) -> Run:
        def sign(key: Key) -> str:
            return SIGNS[standing(key, cells[key])] if key in cells else SIGNS["not run"]

        return cls(head, tuple(columns), {row: "".join(sign((column, row)) for column in columns) for row in rows})

    @classmethod
    def read(cls, stored: dict[str, Any]) -> Run:
        return cls(stored["head"], tuple(stored["columns"]), stored["lines"])

    def stored(self) -> dict[str, Any]:
        return {"head": self.head, "signs": SIGNS, "columns": list(self.columns), "lines": self.lines}

    def __iter__(self) -> Iterator[tuple[Key, str]]:
        for row, line in self.lines.items():
            for column, sign in zip(self.columns, line, strict=True):
                yield (column, row), WORDS[sign]

    def counts(self) -> Counter[str]:
        return Counter(word for _, word in self)


def differences(before: Run, after: Run) -> list[str]:
    """Cells that stand otherwise than they did, counted together by operation, and what came and went."""
    old, new = dict(before), dict(after)
    changed: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for key, word in new.items():
        if key in old and old[key] != word:
            changed[key[1], old[key], word].append(key[0])
    lines = [f"`{row}`: {a} -> {b} in {_named(columns)}" for (row, a, b), columns in changed.items()]
    for title, one, other in (("new", after, before), ("gone", before, after)):
        lines += [f"{title}: operation `{row}`" for row in one.lines if row not in other.lines]
        lines += [f"{title}: column {column}" for column in one.columns if column not in other.columns]
    return lines


def page(run: Run, cells: Mapping[Key, Cell], before: Run | None) -> str:
    """The report in Markdown."""
    counts = run.counts()
    parts = [
        "# Which operation works on which kind of data and model",
        f"`make grid` wrote this page on {run.head['date']} of the library at {_short(run)}: "
        f"{len(run.columns)} columns, {len(run.lines)} operations. `benchmarks/grid/rules.py` judges each refusal.",
        "| cells | sign | |\n|---:|---|---|\n"
        + "\n".join(f"| {counts[w]} | `{SIGNS[w]}` {w} | {LEGEND[w]} |" for w in SIGNS if counts[w]),
    ]
    if before is not None:
        told = [f"- {line}" for line in differences(before, run)] or ["None."]
        parts += [f"## Differences from the library at {_short(before)}", "\n".join(told)]
    if wrong := contradictions(cells):
        parts += ["## Cells that work against their rule", "\n".join(f"- {c}: `{r}`" for c, r in wrong)]
    parts += ["## Errors that are not ours", _by_message(cells, "crash")]
    slow = [f"- {c}: `{r}`" for (c, r), cell in cells.items() if cell["status"] == "slow"]
    parts += ["## Beyond the limit of a cell", "\n".join(slow) or "None."]
    parts += ["## Worked, but look", _doubts(cells)]
    for verdict in ("unjudged", "should work", "not there", "meaningless"):
        if counts[verdict]:
            parts += [f"## Refused: {verdict}", _by_reason(cells, verdict)]
    parts += ["## The matrix", "; ".join(f"{i} {c}" for i, c in enumerate(run.columns, 1)), _matrix(run)]
    parts += ["## By column", _by_column(run)]
    return "\n\n".join(parts) + "\n"


def closing_line(run: Run, cells: Mapping[Key, Cell]) -> str:
    """The figure."""
    counts = run.counts()
    told = ", ".join(f"{counts[word]} {word}" for word in SIGNS if counts[word] or word in ("unjudged", "not run"))
    return f"{sum(counts.values())} cells: {told}; {len(contradictions(cells))} against their rule"


def _short(run: Run) -> str:
    commit, _, changed = str(run.head["commit"]).partition(" ")
    return " ".join((commit[:12], changed)).strip()


def _named(columns: Sequence[str], most: int = 6) -> str:
    shown = "; ".join(columns[:most])
    return shown if len(columns) <= most else f"{shown}; and {len(columns) - most} more"


def _shape(message: str) -> str:
    """A message without its numbers, so that equal ones are counted together."""
    return re.sub(r"-?\d+(\.\d+)?(e-?\d+)?", "#", " ".join(message.split()))[:150]


def _by_message(cells: Mapping[Key, Cell], status: str) -> str:
    found: dict[str, list[Key]] = defaultdict(list)
    for key, cell in cells.items():
        if cell["status"] == status:
            found[f"{cell['error']}: {_shape(cell['message'])}"].append(key)
    lines = []
    for message, keys in sorted(found.items(), key=lambda item: -len(item[1])):
        rows, columns = dict.fromkeys(r for _, r in keys), dict.fromkeys(c for c, _ in keys)
        lines.append(f"- {len(keys)}: `{message}` at {', '.join(f'`{r}`' for r in rows)} ({_named(list(columns), 60)})")
    return "\n".join(lines) or "None."


def _doubts(cells: Mapping[Key, Cell]) -> str:
    found: dict[Key, list[tuple[str, str]]] = defaultdict(list)
    for (column, row), cell in cells.items():
        for doubt in cell["doubts"] if cell["status"] == "ok" else ():
            found[row, _shape(doubt)].append((column, doubt))
    ordered = sorted(found.items(), key=lambda item: -len(item[1]))
    lines = [f"- `{row}`: {hits[0][1][:200]} ({_named([c for c, _ in hits])})" for (row, _), hits in ordered]
    return "\n".join(lines) or "None."


def _by_reason(cells: Mapping[Key, Cell], verdict: str) -> str:
    """Each rule once: how many cells, which operations, and one of the sentences that a user reads."""
    found: dict[str, list[Key]] = defaultdict(list)
    for key, cell in cells.items():
        if standing(key, cell) == verdict:
            rule = judged(*key)
            found[rule.reason if rule else "no rule"].append(key)
    lines = []
    for reason, keys in sorted(found.items(), key=lambda item: -len(item[1])):
        rows = Counter(r for _, r in keys)
        named = ", ".join(f"`{r}` {n}" for r, n in rows.most_common(8)) + (" ..." if len(rows) > 8 else "")
        example = " ".join(cells[keys[0]]["message"].split())[:160]
        lines.append(f'- {len(keys)}: {reason} At {named}. Said for instance: "{example}"')
    return "\n".join(lines)


def _matrix(run: Run) -> str:
    width = max(map(len, run.lines))
    return "```text\n" + "\n".join(f"{row:{width}s} |{line}|" for row, line in run.lines.items()) + "\n```"


def _by_column(run: Run) -> str:
    every = [word for word in SIGNS if run.counts()[word]]
    of: dict[str, Counter[str]] = defaultdict(Counter)
    for (column, _), word in run:
        of[column][word] += 1
    lines = ["| column | " + " | ".join(every) + " |", "|---|" + "---:|" * len(every)]
    lines += [f"| {column} | " + " | ".join(str(of[column][w]) for w in every) + " |" for column in run.columns]
    return "\n".join(lines)
