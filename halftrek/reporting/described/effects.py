"""Effects in words and tables: all of them, and one taken apart."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from halftrek.bottom.words import one_precision
from halftrek.identification.verdict import method_in_words
from halftrek.reporting.document import Described, Heading, Paragraph, Remark, Table, known, p_value
from halftrek.reporting.tables import Cell
from halftrek.reporting.text import as_text

if TYPE_CHECKING:
    from halftrek.inference.tables.decomposition import Decomposition, Share
    from halftrek.inference.tables.effects import Effect
    from halftrek.inference.tables.mediation import Mediation, Route


def effects_document(rows: Sequence[Effect], level: float) -> Described:
    """Every effect that the graph has, with a number where it is identified."""
    if not rows:
        return (Paragraph("The graph has no directed path between observed variables: no effect to list."),)
    return Heading(f"Effects ({100 * level:g}% intervals)"), effects_table(rows)


def effects_table(rows: Sequence[Effect]) -> Table:
    """One line for each effect; the last column says why there is no number, or what to know of it."""
    wide = ("p", "standardised", "known by")
    heads = ("", "kind", "effect", "std. error", "low", "high", *wide, "note")
    lines: list[tuple[Cell, ...]] = [
        (
            f"{r.cause} ~> {r.effect}",
            r.kind,
            *_numbers(r),
            p_value(r.p),
            known(r.std),
            method_in_words(r.method),
            r.note,
        )
        for r in rows
    ]
    noted = None if any(r.note for r in rows) else -1
    return Table(heads[:noted], [line[:noted] for line in lines], wide=wide)


def describe_decomposition(found: Decomposition) -> str:
    """Each path with its part of the total, as text."""
    return as_text(decomposition_document(found))


def decomposition_document(found: Decomposition) -> Described:
    """Each path with its part of the total."""
    many = "one directed path" if found.paths == 1 else f"{found.paths:,} directed paths"
    head = Heading(f"The effect of {found.cause} on {found.effect} along {many}")
    return head, *decomposition_table(found), _level(found.level)


def decomposition_table(found: Decomposition) -> Described:
    """The paths and the total, with notes under them."""
    rows = [*found.rows, replace(found.total, path="total")]
    marks = _marks([row.note for row in rows])
    lines = [
        (row.path, *_numbers(row), "" if math.isnan(row.share) else f"{100 * row.share:.1f} %", marks.get(row.note, ""))
        for row in rows
    ]
    return _table(("path", "effect", "std. error", "low", "high", "share", ""), lines, marks, {len(rows) - 1})


def describe_mediation(found: Mediation) -> str:
    """Total, direct and indirect effects, and the proportion mediated, as text."""
    return as_text(mediation_document(found))


def mediation_document(found: Mediation) -> Described:
    """Total, direct and indirect effects, and the proportion mediated."""
    head = Heading(f"The effect of {found.cause} on {found.effect}, mediated by {', '.join(found.mediators)}")
    marks = _marks([row.note for row in found.rows])
    lines = [
        (row.kind, "" if row.kind == "indirect" else row.route, *_numbers(row), marks.get(row.note, ""))
        for row in found.rows
    ]
    table = _table(("", "along", "effect", "std. error", "low", "high", ""), lines, marks)
    warnings = [Remark(f"warning: {w}") for w in found.warnings]
    return head, *table, _level(found.level), Remark(_proportion(found)), *warnings


def _proportion(found: Mediation) -> str:
    share = found.proportion
    if share is None:
        return "proportion mediated: not known, for indirect and total effect are not both"
    text = f"proportion mediated: {one_precision(share.value, *share.interval)[0]}{_ends(share.value, share.interval)}"
    if math.isinf(share.fieller[0]):
        return f"{text}; by Fieller's method no finite interval"
    return text if math.isnan(share.fieller[0]) else f"{text}; by Fieller's method{_ends(share.value, share.fieller)}"


def _table(
    heads: tuple[str, ...], lines: Sequence[tuple[Cell, ...]], marks: dict[str, str], marked: Collection[int] = ()
) -> Described:
    """A table whose last column points to the notes under it."""
    if not marks:
        return (Table(heads[:-1], [line[:-1] for line in lines], marked=marked),)
    return Table(heads, lines, marked=marked), *(Remark(f"{mark} {note}") for note, mark in marks.items())


def _marks(notes: Sequence[str]) -> dict[str, str]:
    """A number for each different note."""
    return {note: f"[{k}]" for k, note in enumerate(dict.fromkeys(filter(None, notes)), 1)}


def _numbers(row: Effect | Share | Route) -> tuple[Cell, ...]:
    return tuple(map(known, (row.est, row.se, row.ci_low, row.ci_high)))


def _ends(value: float, ends: tuple[float, float]) -> str:
    if math.isnan(ends[0]):
        return ""
    _, low, high = one_precision(value, *ends)
    return f", from {low} to {high}"


def _level(level: float) -> Remark:
    return Remark(f"low and high are the ends of {100 * level:g}% intervals")
