"""The head of a CSV file: its delimiter, the names of its columns, and which of them hold numbers."""

from __future__ import annotations

import csv
import gzip
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from halftrek.errors import DataError

LOOKED_AT = 200  # rows after the header


@dataclass(frozen=True)
class Head:
    """What the first rows say."""

    columns: tuple[str, ...]
    delimiter: str
    decimal: str = "."
    booleans: frozenset[str] = frozenset()
    texts: frozenset[str] = frozenset()
    refused: dict[str, str] = field(default_factory=dict)


def read_head(path: str, holes: Sequence[str]) -> Head:
    """Read the header and some rows of a CSV file, compressed by gzip or not."""
    try:
        with gzip.open(path) if path.lower().endswith(".gz") else open(path, "rb") as raw:
            some = list(itertools.islice(raw, LOOKED_AT + 1))
        lines = [text.decode("utf-8-sig" if k == 0 else "utf-8") for k, text in enumerate(some)]
    except UnicodeDecodeError:
        raise DataError(f"{path!r} is not UTF-8 text; save the file as UTF-8") from None
    except (OSError, EOFError) as error:
        raise DataError(f"{path!r} cannot be read: {error}. Check the file and its permissions") from None
    if not any(line.strip() for line in lines):
        raise DataError(f"{path!r} is empty; it needs a line with column names and rows of numbers")
    if any("\0" in line for line in lines):
        raise DataError(f"{path!r} is not a text file; give it the ending of its format")
    if not lines[0].strip():
        raise DataError(f"the first line of {path!r} is blank; it must hold the names of the columns")
    delimiter = _delimiter(lines[0], path)
    table = list(csv.reader(lines, delimiter=delimiter))
    columns = tuple(cell.strip() for cell in table[0])
    if all(_number(cell, ".") for cell in columns):
        raise DataError(f"the first line of {path!r} holds numbers; it must hold the names of the columns")
    rows = [row for row in table[1:] if len(row) == len(columns)]
    decimal = "," if delimiter == ";" and not _points(rows) and _commas(rows) else "."
    booleans: set[str] = set()
    texts: set[str] = set()
    refused: dict[str, str] = {}
    for k, name in enumerate(columns):
        values = [v for v in (row[k].strip() for row in rows) if v not in holes]
        if not name:
            refused[name] = "has no name in the header"
        elif values and all(v.lower() in ("true", "false") for v in values):
            booleans.add(name)
        elif any(not _number(v, decimal) for v in values):
            texts.add(name)
    return Head(columns, delimiter, decimal, frozenset(booleans), frozenset(texts), refused)


def _delimiter(header: str, path: str) -> str:
    if path.lower().removesuffix(".gz").endswith(".tsv"):
        return "\t"
    return max((",", ";", "\t", "|"), key=header.count)


def _number(text: str, decimal: str) -> bool:
    try:
        value = float(text.replace(decimal, "."))
    except ValueError:
        return False
    return "_" not in text and (math.isfinite(value) or value != value or "inf" in text.lower())


def _points(rows: list[list[str]]) -> bool:
    return any("." in cell and _number(cell, ".") for row in rows for cell in row)


def _commas(rows: list[list[str]]) -> bool:
    return any("," in cell and _number(cell, ",") for row in rows for cell in row)
