"""Documents as plain text, and what prints a fit or an answer that way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from halftrek.errors import printable
from halftrek.reporting.document import Described, Facts, Heading, Listing, Printed, Remark, Table, plain
from halftrek.reporting.tables import Cell, facts, paragraph, table

if TYPE_CHECKING:
    from halftrek.inference import Parameter
    from halftrek.results.answers import Answer
    from halftrek.results.fit import Fit


def as_text(document: Described) -> str:
    """Pieces below each other: a heading right above what follows, a remark right under what it is about."""
    text = ""
    for before, piece in zip((None, *document), document, strict=False):
        close = isinstance(before, Heading) or isinstance(piece, Remark | Listing)
        text += ("\n" if close else "\n\n" if text else "") + _printed(piece)
    return text


def _printed(piece: Printed) -> str:
    match piece:
        case Heading(words):
            return paragraph(words)
        case Facts(pairs):
            return facts([(name, plain(value)) for name, value in pairs])
        case Table():
            return _table(piece)
        case Listing(code):  # to copy: never folded
            return "\n".join(f"      {line}".rstrip() for line in printable(code).splitlines())
        case _:
            return paragraph(plain(piece.words), indent=2)


def _table(piece: Table) -> str:
    """The columns that 80 letters have room for and that say something, and how many rows there are more."""
    shown = piece.rows[: piece.most]
    kept = [j for j, head in enumerate(piece.heads) if head not in piece.wide and _says(shown, j)]
    rows = [[row[j] for j in kept] for row in shown]
    left = len(piece.rows) - len(rows)
    more = f"\n  ... and {left:,} more, see {piece.more}" if left else ""
    return table([piece.heads[j] for j in kept], rows, digits=piece.digits) + more


def _says(rows: Sequence[Sequence[Cell]], j: int) -> bool:
    return not rows or any(row[j] not in (None, "") for row in rows)


def summarize_fit(fit: Fit, rows: Sequence[Parameter] | None = None) -> str:
    """What was fitted to what, how it ended, and every parameter (``rows``: with another kind of interval)."""
    from halftrek.reporting.described.fits import fit_document

    return as_text(fit_document(fit, rows))


def describe_answer(answer: Answer) -> str:
    """The question, the number or the distribution, and what to know before trusting it."""
    from halftrek.reporting.described.answers import answer_document

    return as_text(answer_document(answer))
