"""Every way to adjust for confounders, as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halftrek.reporting.document import Described, Heading, Remark, Table, known
from halftrek.reporting.tables import Cell, count

if TYPE_CHECKING:
    from halftrek.results.beside.adjustments import Adjustments


def adjustments_document(found: Adjustments) -> Described:
    """Crude, each minimal set, and the whole model."""
    heads = ("adjusted for", "effect", "std. error", "low", "high", "rows", "note")
    several = len({row.n for row in found.rows}) > 1
    lines: list[tuple[Cell, ...]] = [
        (row.label, *map(known, (row.est, row.se, row.ci_low, row.ci_high)), count(row.n), row.note)
        for row in found.rows
    ]
    shown = [j for j, head in enumerate(heads) if (head != "rows" or several) and (head != "note" or _noted(found))]
    table = Table([heads[j] for j in shown], [[line[j] for j in shown] for line in lines])
    title = Heading(f"{found.query}: crude and adjusted ({100 * found.level:g}% intervals)")
    return [title, table, *(Remark(f"note: {words}") for words in found.remarks)]


def _noted(found: Adjustments) -> bool:
    return any(row.note for row in found.rows)
