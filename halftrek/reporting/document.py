"""What is printed, as values: a thing is described once, and rendered as text, in a notebook or on a report's page."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from halftrek.reporting.tables import Cell, PValue, is_numeric, texts_of


@dataclass(frozen=True)
class Span:
    """Words that look different: code, what counts most, a good or a bad verdict, a warning, an index."""

    words: str
    kind: Literal["code", "strong", "good", "bad", "warning", "sub"]


Words = str | Sequence[str | Span]


@dataclass(frozen=True)
class Heading:
    """Stands right above what follows."""

    words: str


@dataclass(frozen=True)
class Paragraph:
    """Sentences with their own line breaks; an indented line belongs to the one above."""

    words: Words
    kind: Literal["", "answer"] = ""


@dataclass(frozen=True)
class Remark:
    """A small sentence right under what it is about."""

    words: str


@dataclass(frozen=True)
class Bullets:
    """A list of sentences."""

    items: Sequence[Words]


@dataclass(frozen=True)
class Notice:
    """A box that nobody overlooks."""

    sentences: Sequence[str]
    head: str = ""


@dataclass(frozen=True)
class Listing:
    """Code to copy."""

    code: str


@dataclass(frozen=True)
class Formula:
    """An estimand."""

    words: str


@dataclass(frozen=True)
class Facts:
    """Names and values."""

    pairs: Sequence[tuple[str, Words]]


@dataclass(frozen=True)
class Table:
    """Columns with heads; ``wide`` are heads of columns that a page of 80 letters has no room for.

    Beyond ``most`` rows it is cut and says so, ``more`` has all; ``marked`` are the numbers of rows that stand out,
    ``parts`` of those that begin a part of the table.
    """

    heads: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    digits: int = 4
    wide: Collection[str] = ()
    most: int | None = None
    more: str = ""
    marked: Collection[int] = ()
    parts: Collection[int] = ()


@dataclass(frozen=True)
class Figure:
    """A picture as SVG, made by this package, with what it shows."""

    svg: str
    caption: str = ""


Printed = Heading | Paragraph | Remark | Listing | Facts | Table  # what plain text can show
Piece = Printed | Figure | Bullets | Notice | Formula
Described = Sequence[Printed]
Document = Sequence[Piece]


@dataclass(frozen=True)
class Chapter:
    """A part of a page: the anchor, the title, what stands under it."""

    name: str
    title: str
    parts: Document


def plain(words: Words) -> str:
    """The words alone."""
    return words if isinstance(words, str) else "".join(w if isinstance(w, str) else w.words for w in words)


@dataclass(frozen=True)
class Grid:
    """A table as texts: columns with nothing in any row are left out, ``numeric`` ones stand to the right.

    ``cut`` says how many of how many rows there are; empty if all are.
    """

    heads: Sequence[str]
    numeric: Sequence[bool]
    rows: Sequence[Sequence[str]]
    cut: str


def grid(table: Table) -> Grid:
    """The cells that are shown where there is room for every column."""
    rows = table.rows[: table.most]
    columns = [[_shown(row[j]) for row in rows] for j in range(len(table.heads))]
    used = [j for j, column in enumerate(columns) if any(cell not in (None, "") for cell in column)]
    texts = texts_of([table.heads[j] for j in used], [columns[j] for j in used], table.digits)
    numeric = [is_numeric(columns[j]) for j in used]
    more = f" {table.more} has all." if table.more else ""
    cut = f"{len(rows)} of {len(table.rows):,} rows are shown.{more}" if len(rows) < len(table.rows) else ""
    return Grid([table.heads[j] for j in used], numeric, list(zip(*texts, strict=True)), cut)


def known(value: float) -> float | None:
    """The number, None for nan."""
    return None if math.isnan(value) else value


def p_value(p: float) -> PValue | None:
    """A p-value as a cell."""
    return None if math.isnan(p) else PValue(p)


def p_words(p: float) -> str:
    """A p-value in a sentence."""
    return "p\u00a0<\u00a00.001" if p < 0.001 else f"p\u00a0=\u00a0{p:.3f}"


def _shown(cell: Cell) -> Cell:
    """The cell as a page shows it: nothing for nan."""
    return None if isinstance(cell, float) and math.isnan(cell) else cell
