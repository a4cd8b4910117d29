"""Documents in LaTeX that plain pdflatex takes: no package, ASCII alone, every special letter escaped."""

from __future__ import annotations

import re
from collections.abc import Sequence

from halftrek.queries.written.latex_letters import latex_text
from halftrek.reporting.document import (
    Described,
    Facts,
    Grid,
    Heading,
    Listing,
    Paragraph,
    Printed,
    Remark,
    Table,
    grid,
    plain,
)
from halftrek.reporting.papers.signs import with_arrows, with_minus

_LINE = 345.0  # points of a line of the class article
_SIZES = (("", 5.1, 12.0), ("\\small", 4.7, 6.0), ("\\footnotesize", 4.3, 6.0))  # points of a letter, of a gap
_LEAST = 12  # letters of a folded column


def as_latex(document: Described, *, caption: str | None = None, label: str | None = None) -> str:
    """A ``table`` with the document's tables, its first heading as the caption, and its remarks under the last one."""
    pieces = list(document)
    first = pieces[0] if pieces else None
    if isinstance(first, Heading):
        caption, pieces = first.words if caption is None else caption, pieces[1:]
    last = max((i for i, piece in enumerate(pieces) if isinstance(piece, Table | Facts)), default=-1)
    lines = ["\\begin{table}[htbp]", "\\centering"]
    if caption:
        lines.append(f"\\caption{{{latex_words(caption)}}}")
    if label:
        lines.append(f"\\label{{{re.sub(r'[^A-Za-z0-9:.-]', '-', label)}}}")
    for piece in pieces[: last + 1]:
        lines += _above(piece)
    notes = [latex_words(_words(piece)) for piece in pieces[last + 1 :] if not isinstance(piece, Table | Facts)]
    if notes:
        body = "\n\n".join(notes)
        lines += ["", "\\medskip", f"\\parbox{{\\linewidth}}{{\\footnotesize\\raggedright\n{body}}}"]
    return "\n".join([*lines, "\\end{table}", ""])


def latex_words(text: str) -> str:
    """Text in LaTeX, with the arrows of questions as arrows."""
    return latex_text(with_arrows(text))


def _above(piece: Printed) -> list[str]:
    match piece:
        case Table():
            return _tabular(piece)
        case Facts(pairs):
            rows = [f"{latex_words(name)} & {latex_words(plain(value))} \\\\" for name, value in pairs]
            spec = "l@{\\quad}p{0.7\\linewidth}"
            return [f"\\begin{{tabular}}{{{spec}}}", "\\hline", *map(_safe, rows), "\\hline", "\\end{tabular}"]
        case Heading(words):
            return ["", "\\medskip", f"\\textbf{{{latex_words(words)}}}", ""]
        case Paragraph() | Remark() | Listing():
            return ["", latex_words(_words(piece)), ""]


def _words(piece: Heading | Paragraph | Remark | Listing) -> str:
    return piece.code if isinstance(piece, Listing) else plain(piece.words)


def _tabular(table: Table) -> list[str]:
    shown = grid(table)
    spec, begin, end = _layout(shown)
    folded = [one.startswith("p") for one in spec]
    lines = [*begin, f"\\begin{{tabular}}{{{''.join(spec)}}}", "\\hline"]
    lines += [_row([*map(latex_words, shown.heads)]), "\\hline"]
    for k, row in enumerate(shown.rows):
        if k in table.parts and k:
            lines.append("\\hline")
        cells = [latex_words(with_minus(c) if n else c) for c, n in zip(row, shown.numeric, strict=True)]
        lines.append(_row([f"\\raggedright {c}" if f else c for c, f in zip(cells, folded, strict=True)]))
    lines += ["\\hline", "\\end{tabular}", *end]
    return [*lines, "", latex_words(shown.cut)] if shown.cut else lines


def _layout(shown: Grid) -> tuple[list[str], list[str], list[str]]:
    """The columns, and smaller letters where a line would not hold them; if that is not enough, words are folded."""
    widths = [max(map(_letters, column)) for column in zip(shown.heads, *shown.rows, strict=True)]
    spec = ["r" if numeric else "l" for numeric in shown.numeric]

    def over(letter: float, gap: float) -> float:
        return letter * sum(widths) + gap * len(widths) - _LINE

    size, letter, gap = next((s for s in _SIZES if over(*s[1:]) <= 0.0), _SIZES[-1])
    words = [j for j, numeric in enumerate(shown.numeric[:-1]) if not numeric]  # \raggedright ends the last column
    extra = over(letter, gap) / letter
    for j in sorted(words, key=lambda j: -widths[j]):  # the widest first, and the next where that is not enough
        if extra > 0.0 and widths[j] > _LEAST:
            room = max(float(_LEAST), widths[j] - extra)
            spec[j] = f"p{{{room * letter:.0f}pt}}"
            extra -= widths[j] - room
    return spec, [f"{{{size}\\setlength{{\\tabcolsep}}{{{gap / 2:g}pt}}"] if size else [], ["}"] if size else []


def _letters(text: str) -> int:
    """How many letters wide a cell is; a wavy arrow is set as wide as four."""
    return len(text) + 2 * text.count("~>")


def _row(cells: Sequence[str]) -> str:
    return _safe(" & ".join(cells) + " \\\\")


def _safe(row: str) -> str:
    """A row whose beginning the end of the row above does not take for an option of its own."""
    return "{}" + row if row.startswith(("[", "*")) else row
