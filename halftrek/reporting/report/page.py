"""The pieces of a page: text, tables, notices, formulas, and the frame around them; all text is escaped here."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from html import escape

from halftrek.identification.verdict import in_lines
from halftrek.reporting.report.style import STYLE
from halftrek.reporting.tables import Cell, column_texts

Markup = str  # HTML that needs no more escaping
_WRAPPED = 30  # letters from which on a cell may have several lines
_NUMBER = re.compile(r"(< )?[-−]?[\d.,]+%?")  # a cell that is text already, and stands with numbers
_MINUS = re.compile(r"(?<=[\s(])-(?=[\d.])")
_SUM = re.compile(r"Σ_(?:\{([^}]*)\}|(\S+))")


@dataclass(frozen=True)
class Section:
    """A chapter: the anchor, the heading, what stands under it."""

    name: str
    title: str
    parts: tuple[Markup, ...]


def page(title: str, subtitle: str, lead: Sequence[Markup], sections: Sequence[Section]) -> str:
    """The whole file."""
    contents = "\n".join(f'<li><a href="#{s.name}">{escape(s.title)}</a></li>' for s in sections)
    body = "\n".join(
        f'<section id="{s.name}">\n<h2>{escape(s.title)}</h2>\n' + "\n".join(filter(None, s.parts)) + "\n</section>"
        for s in sections
    )
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="generator" content="halftrek">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<link rel="icon" href="data:,">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n"
        f'<header>\n<h1>{escape(title)}</h1>\n<p class="soft">{escape(subtitle)}</p>\n</header>\n'
        f'{"".join(lead)}\n<nav aria-label="Contents">\n<ol>\n{contents}\n</ol>\n</nav>\n{body}\n'
        f"</main>\n</body>\n</html>\n"
    )


def text(words: str, kind: str = "") -> Markup:
    """A paragraph."""
    return f"<p{_class(kind)}>{escape(words)}</p>"


def soft(words: str) -> Markup:
    """A remark."""
    return text(words, "soft")


def heading(words: str) -> Markup:
    return f"<h3>{escape(words)}</h3>"


def bullets(items: Sequence[str]) -> Markup:
    return "<ul>\n" + "\n".join(f"<li>{escape(item)}</li>" for item in items) + "\n</ul>" if items else ""


def badge(words: str, *, good: bool) -> Markup:
    return f'<span class="badge {"good" if good else "bad"}">{escape(words)}</span>'


def code(words: str) -> Markup:
    return f"<code>{escape(words)}</code>"


def listing(words: str) -> Markup:
    """Code to copy."""
    return f"<pre><code>{escape(words)}</code></pre>"


def notice(sentences: Sequence[str], head: str = "") -> Markup:
    """A box that nobody overlooks; empty if there is nothing to say."""
    if not sentences:
        return ""
    first = f"<p><strong>{escape(head)}</strong></p>" if head else ""
    body = text(sentences[0]) if len(sentences) == 1 else bullets(sentences)
    return f'<div class="notice" role="note">{first}{body}</div>'


def prose(words: str) -> Markup:
    """Sentences with their own line breaks; an indented line belongs to the one above."""
    paragraphs: list[str] = []
    for line in words.splitlines():
        if line.startswith("  ") and paragraphs:
            paragraphs[-1] += f"<br>&emsp;{_signs(line.strip())}"
        elif line.strip():
            paragraphs.append(_signs(line))
    return "\n".join(f"<p>{paragraph}</p>" for paragraph in paragraphs)


def formula(words: str) -> Markup:
    """An estimand: sums with what they run over below the line, clauses on lines of their own."""
    lines = in_lines(words).splitlines()
    shown = [f"<div{_class('where' if line.startswith('  ') else '')}>{_symbols(line.strip())}</div>" for line in lines]
    return f'<div class="formula">{"".join(shown)}</div>'


def _symbols(line: str) -> Markup:
    sums = _SUM.sub(lambda m: f"Σ<sub>{m[1] or m[2]}</sub>", escape(line, quote=False))
    return sums.replace(" - ", " − ")


def _signs(line: str) -> Markup:
    return _MINUS.sub("−", escape(line))


def facts(pairs: Sequence[tuple[str, Markup]]) -> Markup:
    """Names and values, which are markup already."""
    rows = "\n".join(f"<tr><th>{escape(name)}</th><td>{value}</td></tr>" for name, value in pairs)
    return f'<div class="scroll"><table class="facts"><tbody>\n{rows}\n</tbody></table></div>'


def table(
    headers: Sequence[str],
    rows: Sequence[Sequence[Cell]],
    *,
    digits: int = 4,
    most: int | None = None,
    more: str = "",
    marked: Collection[int] = (),
) -> Markup:
    """Aligned columns; beyond ``most`` rows it is cut and says so, with ``more`` on where to find the rest.

    A column of which no row has anything is left out; ``marked`` are the numbers of rows that stand out.
    """
    shown = rows if most is None else rows[:most]
    columns = [[_known(row[j]) for row in shown] for j in range(len(headers))]
    used = [j for j, column in enumerate(columns) if any(cell not in (None, "") for cell in column)]
    numeric = {j for j in used if all(_is_number(cell) for cell in columns[j])}
    texts = {j: [_minus(t) if j in numeric else t for t in column_texts(columns[j], digits)] for j in used}
    top = "".join(f"<th{_class('n' if j in numeric else '')}>{escape(headers[j])}</th>" for j in used)
    lines = []
    for i in range(len(shown)):
        cells = (f"<td{_class(_kind(j in numeric, texts[j][i]))}>{escape(texts[j][i])}</td>" for j in used)
        lines.append(f"<tr{_class('differs' if i in marked else '')}>{''.join(cells)}</tr>")
    body = "\n".join(lines)
    whole = f'<div class="scroll"><table><thead><tr>{top}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>'
    if len(shown) < len(rows):
        whole += soft(f"{len(shown)} of {len(rows):,} rows are shown. {more}".strip())
    return whole


def p_value(p: float | None) -> Cell:
    """A p-value as papers print it."""
    if p is None or math.isnan(p):
        return None
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def _is_number(cell: Cell) -> bool:
    return cell in (None, "") or not isinstance(cell, str) or bool(_NUMBER.fullmatch(cell))


def _known(cell: Cell) -> Cell:
    return None if isinstance(cell, float) and math.isnan(cell) else cell


def _minus(words: str) -> str:
    return re.sub(r"^-", "−", words).replace("e-", "e−")


def _kind(numeric: bool, words: str) -> str:
    if numeric:
        return "n"
    return "w" if len(words) > _WRAPPED else ""


def _class(kind: str) -> str:
    return f' class="{kind}"' if kind else ""
