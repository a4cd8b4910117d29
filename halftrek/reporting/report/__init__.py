"""One file that tells an analysis from question to data: self-contained HTML that prints well."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from halftrek.bottom.files import whole_file
from halftrek.bottom.progress import Advance, late_bar
from halftrek.errors import InputError
from halftrek.inference import How
from halftrek.inference.how import Uncertainty, asked
from halftrek.queries import Query, variables_of
from halftrek.reporting.document import Bullets, Chapter, Notice, Paragraph, Piece
from halftrek.reporting.html import question_ends
from halftrek.reporting.report.acting import left_out
from halftrek.reporting.report.assumptions import assumption_sentences
from halftrek.reporting.report.checks import checks_chapter
from halftrek.reporting.report.data import data_chapter
from halftrek.reporting.report.model import effects_chapter, graph_chapter, parameters_chapter
from halftrek.reporting.report.page import environment, page
from halftrek.reporting.report.questions import (
    ask,
    common_warnings,
    question_chapter,
    read_questions,
    short,
    warnings_of,
)
from halftrek.reporting.report.reproduce import reproduce_chapter
from halftrek.reporting.tables import count

if TYPE_CHECKING:
    from halftrek.results.fit import Fit

__all__ = ["report_html", "write_report"]

_NOTHING_ASKED = "No question was asked; all effects are listed below."


def write_report(
    fit: Fit,
    path: str | os.PathLike[str],
    questions: str | Query | Iterable[str | Query] = (),
    *,
    title: str | None = None,
    overwrite: bool = False,
    **uncertainty: Unpack[Uncertainty],
) -> Path:
    """Writes the report, whole or not at all, and gives its path."""
    how = asked(**uncertainty)
    target = Path(path)
    if target.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"a report is an HTML file: name it {str(target.with_suffix('.html'))!r}, not {str(target)!r}")
    with whole_file(target, overwrite=overwrite) as unfinished:  # before the work: what cannot be written is told first
        text = report_html(fit, questions, title=title, how=how, name=target.name)
        unfinished.write_text(text, encoding="utf-8", newline="\n")
    return target


def report_html(
    fit: Fit,
    questions: str | Query | Iterable[str | Query] = (),
    *,
    title: str | None = None,
    how: How | None = None,
    name: str = "report.html",
) -> str:
    """The report as text; a question that is not identified is shown as refused, with the reason."""
    environment()  # before the work: what is not installed is told at once
    with late_bar("report") as advance:
        return _report(fit, questions, title, how, name, advance)


def _report(
    fit: Fit,
    questions: str | Query | Iterable[str | Query],
    title: str | None,
    how: How | None,
    name: str,
    advance: Advance,
) -> str:
    how = How(interval=None) if how is None else how
    queries = read_questions(questions, fit.graph)
    asked = [ask(fit, query, how) for query in queries]
    common = common_warnings(asked)
    focus = _focus(queries)
    checks, found = checks_chapter(fit)
    head = title or _title(queries, fit)
    makers: list[Callable[[], Chapter]] = [
        lambda: graph_chapter(fit, question_ends(queries[0]) if queries else (None, None)),
        lambda: Chapter("assumptions", "What the numbers rest on", [Bullets(assumption_sentences(fit, how, focus))]),
        *(partial(question_chapter, fit, one, k, how, common) for k, one in enumerate(asked, 1)),
        lambda: effects_chapter(fit, how, focus),
        lambda: parameters_chapter(fit, how),
        lambda: checks,
        *([] if fit.acting is None else [left_out]),
        lambda: data_chapter(fit),
        lambda: reproduce_chapter(fit, [str(q) for q in queries], head, name, how),
    ]
    chapters: list[Chapter] = []
    advance(0, len(makers))
    for k, make in enumerate(makers, 1):
        chapters.append(make())
        advance(k, len(makers))
    warnings = [*_trouble(fit), *warnings_of(asked), *found]
    subtitle = f"A linear model of {len(fit.graph.observed)} variables, fitted to {count(fit.n)} rows with halftrek"
    lead: list[Piece] = [Bullets([short(one) for one in asked]) if asked else Paragraph(_NOTHING_ASKED)]
    lead += [Notice(list(dict.fromkeys(warnings)), "Before you trust these numbers")] if warnings else []
    return page(head, subtitle, lead, chapters)


def _focus(queries: Sequence[Query]) -> tuple[str, ...]:
    """The variables that questions name, in their order."""
    return tuple(dict.fromkeys(v for query in queries for v in sorted(variables_of(query))))


def _title(queries: Sequence[Query], fit: Fit) -> str:
    if len(queries) == 1:
        return f"Report on {queries[0]}"
    names = ", ".join(fit.graph.observed[:4]) + (", …" if len(fit.graph.observed) > 4 else "")
    return f"Report on a model of {names}"


def _trouble(fit: Fit) -> list[str]:
    """How the fit ended, unless all went well."""
    if fit.status.code == "converged":
        return []
    words = fit.status.findings() if fit.status.code == "flat" else str(fit.status)
    return [words[0].upper() + words[1:]]
