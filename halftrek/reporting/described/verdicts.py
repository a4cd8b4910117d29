"""Verdicts in words, and many verdicts on one graph as a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from halftrek.identification.verdict import lines_to_paste, sentences
from halftrek.reporting.document import Described, Facts, Heading, Listing, Paragraph, Span, Table
from halftrek.reporting.tables import page_width
from halftrek.reporting.text import as_text

if TYPE_CHECKING:
    from halftrek.identification import Verdict
    from halftrek.notes.words import Front
    from halftrek.results.answers import Answer

_ORDER = ("identified", "finite", "not identified", "undecided")
_INDENT = 2
_LEAST_FORMULA = 12  # narrower, a formula says nothing and is left out


def describe_verdict(verdict: Verdict, *, details: bool = False, front: Front = "python") -> str:
    """May it be known from data of this graph, how, why, and what to do next where it may not."""
    return as_text(verdict_document(verdict, details=details, front=front))


def verdict_document(verdict: Verdict, *, details: bool = False, front: Front = "python") -> Described:
    """The question, the verdict, the reasons."""
    return _document(verdict, (), details, front)


def describe_refusal(refused: Answer, *, details: bool = False, front: Front = "python") -> str:
    """The same of a question that was asked of data: with what these leave of it."""
    from halftrek.results.words.explanation import left_in_words  # loads much that a verdict alone does not need

    assert refused.verdict is not None  # there is no refusal without one
    return as_text(_document(refused.verdict, left_in_words(refused), details, front))


def _document(verdict: Verdict, more: Sequence[str], details: bool, front: Front) -> Described:
    pairs = [("question", [Span(str(verdict.query), "code")]), ("verdict", [verdict_span(verdict)])]
    steps = [piece for text, line in lines_to_paste(verdict, front) for piece in (Paragraph(text), Listing(line))]
    head = [Heading("What to do next")] if steps else []
    words = "\n".join([sentences(verdict, details=details), *more])
    return Facts(pairs), Paragraph(words), *head, *steps


def verdict_span(verdict: Verdict) -> Span:
    """The status with how it was found."""
    line = str(verdict.status)
    if verdict.status == "finite" and verdict.degree:
        line += f": up to {verdict.degree} values fit equally well"
    elif verdict.identified and verdict.how:
        line += f" ({verdict.how})"
    return Span(line, "good" if verdict.identified else "bad")


def verdict_table(verdicts: Sequence[Verdict]) -> str:
    """One line for each query: the verdict, how it was found and the beginning of the formula; then the counts."""
    if not verdicts:
        return as_text([Paragraph("The graph has no arrow between observed variables: there is nothing to decide.")])
    rows = [(str(v.query), _status(v), "" if v.status == "not identified" else v.how) for v in verdicts]
    headers = ("query", "verdict", "method")
    used = sum(max(map(len, column)) + 2 for column in zip(headers, *rows, strict=True))
    room = page_width() - _INDENT - used
    table = Table(headers, rows)
    if room >= _LEAST_FORMULA:
        formulas = [_shortened(v.estimand or "", room) for v in verdicts]
        table = Table((*headers, "formula"), [(*row, f) for row, f in zip(rows, formulas, strict=True)])
    counts = Counter[str](v.status for v in verdicts)
    return as_text([table, Paragraph(", ".join(f"{counts[s]} {s}" for s in _ORDER if counts[s]))])


def _status(verdict: Verdict) -> str:
    return f"{verdict.degree} values" if verdict.status == "finite" and verdict.degree else str(verdict.status)


def _shortened(text: str, room: int) -> str:
    return text if len(text) <= room else text[: room - 1].rstrip() + "…"
