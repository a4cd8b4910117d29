"""The head of a CSV file: its delimiter, the names of its columns, and which of them hold numbers."""

from __future__ import annotations

import codecs
import gzip
import math
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from halftrek.errors import DataError

LOOKED_AT = 200  # rows after the header
PIECE = 1 << 16  # bytes that are read first
MOST = 1 << 26  # bytes that the header and the rows after it may have


@dataclass(frozen=True)
class Head:
    """What the first rows say."""

    columns: tuple[str, ...]
    delimiter: str
    decimal: str = "."
    booleans: frozenset[str] = frozenset()
    texts: frozenset[str] = frozenset()
    refused: dict[str, str] = field(default_factory=dict)
    identifiers: frozenset[str] = frozenset()
    only_returns: bool = False  # lines end with CR alone


def read_head(path: str, holes: Sequence[str]) -> Head:
    """Read the header and some rows of a CSV file, compressed by gzip or not."""
    text = _beginning(path)
    if not text.strip():
        raise DataError(f"{path!r} is empty; it needs a line with column names and rows of numbers")
    if "\0" in text:
        raise DataError(f"{path!r} is not a text file; give it the ending of its format")
    if not _LINE_END.split(text, maxsplit=1)[0].strip():
        raise DataError(f"the first line of {path!r} is blank; it must hold the names of the columns")
    bare = _QUOTED.sub("name", text)  # delimiters and line ends in quotes are none
    delimiter = _delimiter(_LINE_END.split(bare, maxsplit=1)[0], path)
    table = _records(text, delimiter)
    header = next(table)
    if header is None:
        raise DataError(f"the first line of {path!r} has quotes that do not enclose a name; correct the line")
    columns = tuple(cell.strip() for cell in header)
    if all(_number(cell, ".") for cell in columns):
        raise DataError(f"the first line of {path!r} holds numbers; it must hold the names of the columns")
    rows = [row for row in table if row is not None and len(row) == len(columns)]
    decimal = "," if delimiter == ";" and not _points(rows) and _commas(rows) else "."
    booleans: set[str] = set()
    texts: set[str] = set()
    identifiers: set[str] = set()
    refused: dict[str, str] = {}
    for k, name in enumerate(columns):
        values = [v for v in (row[k].strip() for row in rows) if v not in holes]
        if not name:
            refused[name] = "has no name in the header"
        elif values and all(v.lower() in ("true", "false") for v in values):
            booleans.add(name)
        elif any(not _number(v, decimal) for v in values):
            texts.add(name)
        elif any(_LONG.fullmatch(v) for v in values):
            identifiers.add(name)
    return Head(
        columns, delimiter, decimal, frozenset(booleans), frozenset(texts), refused, frozenset(identifiers),
        only_returns="\r" in bare and "\n" not in bare,
    )  # fmt: skip


def _beginning(path: str) -> str:
    """The first lines, whole ones, whether they end with LF, CR LF or CR."""
    try:
        with gzip.open(path) if path.lower().endswith(".gz") else open(path, "rb") as file:
            raw, ends, done = b"", {b"\n": 0, b"\r": 0}, False
            while not done and max(ends.values()) <= LOOKED_AT and len(raw) < MOST:
                part = file.read(max(PIECE, len(raw)))
                ends = {end: count + part.count(end) for end, count in ends.items()}
                raw, done = raw + part, not part
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path!r} cannot be read: {error}. Check the file and its permissions") from error
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise DataError(f"{path!r} is UTF-16 text; save the file as UTF-8")
    end = max(ends, key=lambda end: ends[end])  # in a file with CR LF it is LF, the first of two that are equal
    if not done and end not in raw:
        raise DataError(f"{path!r} has no line end in its first {len(raw) // 2**20} megabytes; it is no CSV file")
    if not done or ends[end] > LOOKED_AT + 1:
        raw = end.join(raw.split(end, LOOKED_AT + 1)[:-1]) + end
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{path!r} is not UTF-8 text; save the file as UTF-8") from error


def _delimiter(header: str, path: str) -> str:
    if path.lower().removesuffix(".gz").endswith(".tsv"):
        return "\t"
    return max((",", ";", "\t", "|"), key=header.count)


def _records(text: str, delimiter: str) -> Iterator[list[str] | None]:
    """The cells of each record, whatever their length; None for one with quotes in the wrong places."""
    sign = re.escape(delimiter)
    cell = re.compile(rf'(?:"([^"]*(?:""[^"]*)*)"|((?!")[^{sign}\r\n]*))({sign}|\r\n|[\r\n]|\Z)')
    place, row = 0, list[str]()
    while place < len(text):
        found = cell.match(text, place)
        if found is None:
            yield None
            after = _LINE_END.search(text, place)
            place, row = len(text) if after is None else after.end(), []
            continue
        row.append(found[2] if found[1] is None else found[1].replace('""', '"'))
        place = found.end()
        if found[3] != delimiter:
            yield row
            row = []
    if row:  # the file ends with a delimiter
        yield [*row, ""]


_LINE_END = re.compile(r"\r\n|[\r\n]")
_QUOTED = re.compile(r'(?<![^,;\t|\r\n])"[^"]*(?:""[^"]*)*"')
_LONG = re.compile(r"[-+]?0*[1-9]\d{15,}")  # from 2^53 = 9007199254740992 on a float tells no neighbours apart


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
