"""Errors as sentences for the page, with the place in the text where there is one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halftrek.errors import (
    DataError,
    GraphError,
    GraphSyntaxError,
    HalftrekError,
    NotIdentifiedError,
    QueryError,
    QuestionSyntaxError,
    TextError,
    UnsaidKindError,
)
from halftrek.reporting.records import Record
from halftrek.web.work.answers import NOT_HERE

if TYPE_CHECKING:
    from halftrek.web.work.bench import Source

_CODES: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (GraphSyntaxError, "graph syntax"),
    (QuestionSyntaxError, "question syntax"),
    (GraphError, "graph"),
    (QueryError, "question"),
    (DataError, "data"),
    (NotIdentifiedError, "not identified"),
    (NOT_HERE, "not installed"),
    (HalftrekError, "input"),
)
_PYTHON = " (read as {0} syntax; give syntax=... if it is another)"
_DEFECT = "this is a defect of halftrek, not of what you asked; the other parts of the page go on working"


def refused(error: Exception, source: Source | None) -> tuple[int, Record]:
    """The status and the record of an error; what nobody meant to raise is a defect, and its words stay here."""
    code = next((word for kind, word in _CODES if isinstance(error, kind)), None)
    if isinstance(error, MemoryError):
        return 422, record("data", "this takes more memory than there is; use fewer columns or rows")
    if isinstance(error, RecursionError):
        return 422, record("input", "this is nested too deeply; write it in a simpler way")
    if code is None:
        return 500, record("internal", _DEFECT)
    text = error.reason if isinstance(error, TextError) else str(error)
    for notation in ("arrows", "lavaan", "dagitty", "dot"):
        text = text.replace(_PYTHON.format(notation), f" (read as {notation}; choose the notation if it is another)")
    if source is not None and source.get("path"):
        text = text.replace(source["path"], source["name"])
    place = None
    if isinstance(error, TextError) and error.text:
        place = {"start": error.start, "end": error.end, "line": error.line, "column": error.column}
    verdict = error.verdict if isinstance(error, NotIdentifiedError) else None
    asks = {"asks": error.variable} if isinstance(error, UnsaidKindError) else {}
    return 422, {
        **record(code, text),
        "place": place,
        "verdict": None if verdict is None else verdict.to_dict(),
        **asks,
    }


def record(code: str, sentence: str) -> Record:
    """An error that has no place."""
    return {"code": code, "sentence": sentence, "place": None, "verdict": None}
