"""Effects taken apart, in words and tables of at most 80 columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from halftrek.reporting.tables import Cell, number, paragraph, table

if TYPE_CHECKING:
    from halftrek.inference.tables.decomposition import Decomposition, Share
    from halftrek.inference.tables.mediation import Mediation, Route


def describe_decomposition(found: Decomposition) -> str:
    """Each path with its part of the total."""
    many = "one directed path" if found.paths == 1 else f"{found.paths:,} directed paths"
    head = f"The effect of {found.cause} on {found.effect} along {many}"
    rows = [*found.rows, replace(found.total, path="total")]
    marks = _marks([row.note for row in rows])
    lines = [
        (row.path, *_numbers(row), "" if math.isnan(row.share) else f"{100 * row.share:.1f} %", marks.get(row.note, ""))
        for row in rows
    ]
    parts = [paragraph(head), _table(("path", "effect", "std. error", "low", "high", "share", ""), lines, marks)]
    return "\n".join([*parts, _level(found.level)])


def describe_mediation(found: Mediation) -> str:
    """Total, direct and indirect effects, and the proportion mediated."""
    head = f"The effect of {found.cause} on {found.effect}, mediated by {', '.join(found.mediators)}"
    marks = _marks([row.note for row in found.rows])
    lines = []
    for row in found.rows:
        route = "" if row.kind == "indirect" else row.route
        lines.append((row.kind, route, *_numbers(row), marks.get(row.note, "")))
    parts = [paragraph(head), _table(("", "along", "effect", "std. error", "low", "high", ""), lines, marks)]
    parts.append(_level(found.level))
    share = found.proportion
    if share is None:
        parts.append("  proportion mediated: not known, for indirect and total effect are not both")
    else:
        text = f"proportion mediated: {number(share.value)}{_ends(share.interval)}"
        if math.isinf(share.fieller[0]):
            text += "; by Fieller's method no finite interval"
        elif not math.isnan(share.fieller[0]):
            text += f"; by Fieller's method{_ends(share.fieller)}"
        parts.append(paragraph(text, indent=2))
    return "\n".join([*parts, *(paragraph(f"warning: {w}", indent=2) for w in found.warnings)])


def _table(headers: tuple[str, ...], lines: Sequence[tuple[Cell, ...]], marks: dict[str, str]) -> str:
    """A table whose last column points to the notes under it."""
    if not marks:
        return table(headers[:-1], [line[:-1] for line in lines])
    notes = [paragraph(f"{mark} {note}", indent=2) for note, mark in marks.items()]
    return "\n".join([table(headers, lines), *notes])


def _marks(notes: Sequence[str]) -> dict[str, str]:
    """A number for each different note."""
    return {note: f"[{k}]" for k, note in enumerate(dict.fromkeys(filter(None, notes)), 1)}


def _numbers(row: Share | Route) -> tuple[Cell, ...]:
    return tuple("" if math.isnan(x) else x for x in (row.est, row.se, row.ci_low, row.ci_high))


def _ends(ends: tuple[float, float]) -> str:
    return "" if math.isnan(ends[0]) else f", from {number(ends[0])} to {number(ends[1])}"


def _level(level: float) -> str:
    return f"  low and high are the ends of {100 * level:g}% intervals"
