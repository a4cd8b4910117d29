"""Verdicts in words, and many verdicts on one graph as a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from halftrek.reporting.tables import facts, page_width, paragraph, table

if TYPE_CHECKING:
    from halftrek.identification import Verdict

_ORDER = ("identified", "finite", "not identified", "undecided")
_INDENT = 2
_LEAST_FORMULA = 12  # narrower, a formula says nothing and is left out


def describe_verdict(verdict: Verdict) -> str:
    """May it be known from data of this graph, how, and why."""
    head = facts([("question", str(verdict.query)), ("verdict", verdict_line(verdict))])
    return head + "\n\n" + paragraph(verdict.explain(), indent=2)


def verdict_line(verdict: Verdict) -> str:
    """The status with how it was found."""
    line = str(verdict.status)
    if verdict.status == "finite" and verdict.degree:
        line += f": up to {verdict.degree} values fit equally well"
    elif verdict.method:
        line += f" ({verdict.method})"
    return line


def verdict_table(verdicts: Sequence[Verdict]) -> str:
    """One line for each query: the verdict, how it was found and the beginning of the formula; then the counts."""
    if not verdicts:
        return paragraph(
            "The graph has no arrow between observed variables: there is nothing to decide.", indent=_INDENT
        )
    rows = [(str(v.query), _status(v), v.method) for v in verdicts]
    headers = ("query", "verdict", "method")
    used = sum(max(map(len, column)) + 2 for column in zip(headers, *rows, strict=True))
    room = page_width() - _INDENT - used
    if room >= _LEAST_FORMULA:
        formulas = [_shortened(v.estimand or "", room) for v in verdicts]
        text = table((*headers, "formula"), [(*row, f) for row, f in zip(rows, formulas, strict=True)], indent=_INDENT)
    else:
        text = table(headers, rows, indent=_INDENT)
    counts = Counter[str](v.status for v in verdicts)
    return f"{text}\n\n{' ' * _INDENT}" + ", ".join(f"{counts[s]} {s}" for s in _ORDER if counts[s])


def _status(verdict: Verdict) -> str:
    return f"{verdict.degree} values" if verdict.status == "finite" and verdict.degree else str(verdict.status)


def _shortened(text: str, room: int) -> str:
    return text if len(text) <= room else text[: room - 1].rstrip() + "…"
