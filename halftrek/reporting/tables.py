"""Numbers and tables in plain text, at most 80 columns wide, or as wide as the page is set."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import takewhile

from halftrek.errors import printable

WIDTH = 80
_DECIMALS = 6  # at most, of a column
_ITEM = re.compile(r" *(- )?")  # what a line of a list begins with
_ERROR, _ENDS = "std. error", ("low", "high")  # heads of columns that stand behind the number they are about
_FIGURES = 8  # before and after the point, that small entries may ask of a column
Cell = str | float | int | None
_NUMBER = re.compile(r"(< )?[-−]?[\d.,]+( ?%)?|fixed")  # a cell that is text already, and stands with numbers

_width: ContextVar[int] = ContextVar("width", default=WIDTH)


class PValue(float):
    """A p-value, which is printed as papers do; frames and JSON have the number."""


def page_width() -> int:
    """Columns of the page that is written for."""
    return _width.get()


@contextmanager
def page(width: int) -> Iterator[None]:
    """Text made inside is for a page of that width, for instance a narrow terminal."""
    token = _width.set(width)
    try:
        yield
    finally:
        _width.reset(token)


def number(value: float, digits: int = 4) -> str:
    """A number with so many significant digits, without an exponent where it reads well without."""
    if math.isnan(value):
        return "undefined"
    if math.isinf(value):
        return "infinite" if value > 0 else "-infinite"
    if value == 0.0:
        return "0"
    rounded = float(f"{value:.{digits - 1}e}")
    exponent = math.floor(math.log10(abs(rounded)))
    if exponent < -4 or exponent > 8:
        return f"{value:.{digits - 1}e}"
    return f"{rounded:.{max(0, digits - 1 - exponent)}f}"


def count(value: float) -> str:
    """A number of rows, with commas; sums of weights need not be whole."""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.2f}"


def table(headers: Sequence[str], rows: Sequence[Sequence[Cell]], *, indent: int = 2, digits: int = 4) -> str:
    """Aligned columns: words to the left, numbers to the right with one number of decimals per column.

    Too wide for the page: the widest column of words is folded. A narrow page that still does not hold the columns
    gets the rows one below the other.
    """
    for row in rows:
        if len(row) != len(headers):
            raise ValueError(f"a row of {len(row)} cells under {len(headers)} headers: {row!r}")
    headers = [printable(head) for head in headers]
    columns = texts_of(headers, [[row[j] for row in rows] for j in range(len(headers))], digits)
    numeric = [is_numeric([row[j] for row in rows]) for j in range(len(headers))]
    widths = [max(map(len, (head, *column))) for head, column in zip(headers, columns, strict=True)]
    spare = page_width() - indent - 2 * (len(headers) - 1)
    while sum(widths) > spare and not all(numeric):
        widest = max((j for j, n in enumerate(numeric) if not n), key=lambda j: widths[j])
        if widths[widest] <= 12:
            break
        widths[widest] = max(12, widths[widest] - (sum(widths) - spare))
    if sum(widths) > spare and page_width() < WIDTH:
        return _stacked(headers, columns, indent)
    lines = _fold(headers, widths, numeric, indent)
    lines.append(" " * indent + "  ".join("-" * w for w in widths))
    for i in range(len(rows)):
        lines += _fold([column[i] for column in columns], widths, numeric, indent)
    return "\n".join(lines)


def paragraph(text: str, *, indent: int = 0) -> str:
    """Text folded to the page, its own line breaks kept; an item of a list is folded under its first word."""
    margin = " " * indent
    folded = (
        textwrap.wrap(
            line,
            max(20, page_width() - indent),
            break_long_words=False,
            subsequent_indent=" " * len(_ITEM.match(line)[0]),  # type: ignore[index]  # matches every line
        )
        or [""]
        for line in printable(text).splitlines()
    )
    return "\n".join((margin + line).rstrip() for lines in folded for line in lines)


def facts(pairs: Sequence[tuple[str, str]], *, indent: int = 2) -> str:
    """Names and values in two columns, long values folded under themselves."""
    width = max((len(name) for name, _ in pairs), default=0)
    lines: list[str] = []
    for name, value in pairs:
        head = " " * indent + printable(name).ljust(width) + "  "
        folded = paragraph(value, indent=len(head)).splitlines() or [""]
        lines += [(head + folded[0].strip()).rstrip(), *folded[1:]]
    return "\n".join(lines)


def _stacked(headers: Sequence[str], columns: Sequence[Sequence[str]], indent: int) -> str:
    """Each row as its first cell with the others below, by name; empty cells are left out."""
    blocks = []
    for first, *cells in zip(*columns, strict=True):
        rest = [(head, cell) for head, cell in zip(headers[1:], cells, strict=True) if cell]
        blocks.append(paragraph(first, indent=indent) + "\n" + facts(rest, indent=indent + 2))
    return "\n".join(blocks)


def _fold(cells: Sequence[str], widths: Sequence[int], numeric: Sequence[bool], indent: int) -> list[str]:
    pieces = [textwrap.wrap(cell, w) or [""] for cell, w in zip(cells, widths, strict=True)]
    lines = []
    for i in range(max(map(len, pieces))):
        line = [
            (piece[i] if i < len(piece) else "").rjust(w) if right else (piece[i] if i < len(piece) else "").ljust(w)
            for piece, w, right in zip(pieces, widths, numeric, strict=True)
        ]
        lines.append((" " * indent + "  ".join(line)).rstrip())
    return lines


def texts_of(heads: Sequence[str], columns: Sequence[Sequence[Cell]], digits: int) -> list[list[str]]:
    """The cells of columns as text: one number of decimals for a column, so many that a small entry keeps two digits.

    An entry that is too small for that has an exponent, and so have all where the largest is too large or too small. A
    number, its standard error and its interval have the same decimals.
    """
    found: list[list[str]] = []
    while len(found) < len(heads):
        first = len(found)
        after = takewhile(lambda j: heads[j] in (_ERROR, *_ENDS), range(first + 1, len(heads)))
        together = (first, *after)
        ends = [cell for j in together if heads[j] in _ENDS for cell in columns[j]]
        others = [cell for j in together if heads[j] not in _ENDS for cell in columns[j]]
        decimals = _decimals(others, digits, ends)
        for j in together:
            found.append([_cell(cell, digits, decimals, whole=heads[j] in _ENDS) for cell in columns[j]])
    return found


def _decimals(cells: Sequence[Cell], digits: int, ends: Sequence[Cell] = ()) -> int | None:
    """Of a column; the ends of intervals, which may be near zero by chance, ask for no more. None: exponents."""
    floats = _sizes(cells)
    if not floats:
        return None
    largest = max(floats + _sizes(ends))
    decimals = max(0, digits - 1 - math.floor(math.log10(largest)))
    if largest >= 1e7 or decimals > _DECIMALS:
        return None
    most = min(_DECIMALS, _FIGURES - len(f"{largest:.0f}"))
    asked = [1 - math.floor(math.log10(x)) for x in floats if not x.is_integer()]
    return max(decimals, *(n for n in asked if n <= most), 0)


def _sizes(cells: Sequence[Cell]) -> list[float]:
    found = [abs(c) for c in cells if isinstance(c, float) and not isinstance(c, PValue)]
    return [size for size in found if math.isfinite(size) and size != 0.0]


def is_numeric(cells: Sequence[Cell]) -> bool:
    """True for a column of numbers, which stand to the right; empty cells and "fixed" may be among them."""
    if any(isinstance(cell, int | float) for cell in cells):
        return True
    texts = [cell for cell in cells if cell not in (None, "")]
    return bool(texts) and all(isinstance(cell, str) and _NUMBER.fullmatch(cell) for cell in texts)


def _cell(cell: Cell, digits: int, decimals: int | None, *, whole: bool = False) -> str:
    """A cell as text; ``whole``: never with an exponent beside entries that have none."""
    if cell is None:
        return ""
    if isinstance(cell, str):
        return printable(cell)
    if isinstance(cell, int):
        return f"{cell:,d}"
    if isinstance(cell, PValue):
        return number(cell) if math.isnan(cell) else "< 0.001" if cell < 0.001 else f"{cell:.3f}"
    if decimals is None or not math.isfinite(cell):
        return number(cell, digits)
    text = f"{cell:.{decimals}f}"
    lost = round(abs(cell) * 10**decimals) < 10 and float(text) != cell  # all but its first digit
    return f"{cell:.1e}" if lost and not whole else text
