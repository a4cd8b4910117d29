"""Documents in Typst: all words are strings, in which a quote and a backslash alone mean something."""

from __future__ import annotations

from collections.abc import Sequence

from halftrek.errors import printable
from halftrek.reporting.document import Described, Facts, Heading, Listing, Printed, Table, grid, plain
from halftrek.reporting.papers.signs import with_arrows, with_minus


def as_typst(document: Described, *, caption: str | None = None, label: str | None = None) -> str:
    """A ``figure`` with the document's tables, its first heading as the caption, its remarks in small letters."""
    pieces = list(document)
    first = pieces[0] if pieces else None
    if isinstance(first, Heading):
        caption, pieces = first.words if caption is None else caption, pieces[1:]
    inner = ",\n    ".join(part for piece in pieces for part in _inner(piece))
    above = [f"caption: figure.caption(position: top, {_text(caption)})"] if caption else []
    options = ["kind: table", *above]
    name = "".join(c if c.isascii() and (c.isalnum() or c in ":.-_") else "-" for c in label or "")
    tail = f" <{name}>" if name else ""
    return f"#figure(\n  stack(\n    spacing: 0.8em,\n    {inner},\n  ),\n  {', '.join(options)},\n){tail}\n"


def _inner(piece: Printed) -> list[str]:
    match piece:
        case Table():
            return _table(piece)
        case Facts(pairs):
            cells = [cell for name, value in pairs for cell in (name, plain(value))]
            return [_grid(2, ("left", "left"), (), cells)]
        case Heading(words):
            return [f"strong({_text(words)})"]
        case Listing(code):
            return [f"align(left, raw({_text(code)}))"]
        case _:
            return [f"align(left, text(size: 0.85em, {_text(plain(piece.words))}))"]


def _table(table: Table) -> list[str]:
    shown = grid(table)
    sides = ["right" if numeric else "left" for numeric in shown.numeric]
    cells: list[str] = []
    lines = {k for k in table.parts if k}
    for row, texts in enumerate(shown.rows):
        cells += [_LINE] if row in lines else []
        cells += [with_minus(cell) if n else cell for cell, n in zip(texts, shown.numeric, strict=True)]
    cut = [f"text(size: 0.85em, {_text(shown.cut)})"] if shown.cut else []
    return [_grid(len(sides), sides, shown.heads, cells), *cut]


_LINE = "\0line"


def _grid(width: int, sides: Sequence[str], heads: Sequence[str], cells: Sequence[str]) -> str:
    rule = "table.hline(stroke: 0.5pt)"
    top = [f"table.header({', '.join(map(_text, heads))})", rule] if heads else []
    body = [rule if cell == _LINE else _text(cell) for cell in cells]
    parts = [f"columns: {width}", f"align: ({', '.join(sides)},)", "stroke: none", rule, *top, *body, rule]
    return "table(" + ", ".join(parts) + ")"


def _text(words: str) -> str:
    """A string of Typst."""
    shown = printable(with_arrows(words)).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{shown}"'
