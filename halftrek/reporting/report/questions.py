"""One question of a report: may it be known, by which formula or why not, the number, what it means."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from halftrek.bottom.words import one_precision
from halftrek.errors import DataError, NotIdentifiedError, QueryError
from halftrek.inference import How
from halftrek.inference.intervals import KINDS
from halftrek.queries import Query, TotalEffect, check_query
from halftrek.queries.seen import has_crude
from halftrek.reporting.described.answers import answer_document
from halftrek.reporting.described.verdicts import verdict_span
from halftrek.reporting.document import (
    Bullets,
    Chapter,
    Document,
    Facts,
    Formula,
    Heading,
    Listing,
    Notice,
    Paragraph,
    Piece,
    Remark,
    Span,
    Table,
)
from halftrek.reporting.plots.drawing import edge_weights
from halftrek.reporting.report.acting import NO_NUMBER
from halftrek.reporting.report.answers import by_instruments, densities, paths
from halftrek.reporting.report.rests import by_independence, if_independent, left, rests_on
from halftrek.reporting.tables import Cell, number
from halftrek.results.answering import answer, crude_of
from halftrek.results.answers import Refusal
from halftrek.results.given.inputs import read_question, refuse_defined
from halftrek.results.given.reading import identify
from halftrek.results.words.wording import in_words

if TYPE_CHECKING:
    from halftrek.graphs import Graph
    from halftrek.identification import Verdict
    from halftrek.identification.local.witness import Witness
    from halftrek.results.answers import Answer
    from halftrek.results.fit import Fit
    from halftrek.results.sets.bounds import Bounds

_MOST = 40  # edges of the two models of a witness that are listed
_ELSEWHERE = ("question", "answer", "value", "mean", "estimand", "warning")  # have places of their own
_LONG = 90  # characters of a question in a heading


@dataclass(frozen=True, eq=False)
class Asked:
    """A question with its verdict; ``answer`` is None where there is no number, and ``obstacle`` says why."""

    query: Query
    verdict: Verdict
    answer: Answer | None = None
    obstacle: str = ""
    left: Bounds | None = None  # of a refused number
    independent: Answer | str = ""  # of a refused number, if errors are independent; or why there is nothing to say
    instead: str = "identified, no value asked"  # of a number that there is not


def read_questions(questions: str | Query | Iterable[str | Query], graph: Graph) -> tuple[Query, ...]:
    """One question or several, as text or not; raises for text that is none and for unknown variables."""
    several = (questions,) if isinstance(questions, (str, Query)) else tuple(questions)
    for question in several:
        refuse_defined(question, graph)
    found = tuple(read_question(q) for q in several)
    for query in found:
        check_query(query, graph)
    return found


def ask(fit: Fit, query: Query, how: How) -> Asked:
    """The answer, or the refusal: a question that is not identified has no number."""
    try:
        found = answer(fit, query, **asdict(how))
    except NotIdentifiedError as refusal:
        instead = refusal.answer.result if refusal.answer is not None else None
        known = instead.leaves if isinstance(instead, Refusal) else None
        obstacle = "It cannot be known from data like these, however many."
        return Asked(query, refusal.verdict, None, obstacle, known, if_independent(fit, query, how.level))
    except QueryError as error:  # values that were left out: identification is all that was asked
        verdict, obstacle = identify(fit.graph, query), f"There is a verdict and no number: {error}."
        instead = Asked.instead if fit.acting is None else NO_NUMBER
        return Asked(query, verdict, None, obstacle, instead=instead)
    assert found.verdict is not None  # of a fit there always is one
    return Asked(query, found.verdict, replace(found, crude=_crude(fit, query, how)))


def _crude(fit: Fit, query: Query, how: How) -> Answer | None:
    """What the rows say without the graph, where they say something."""
    try:
        return crude_of(fit, query, **asdict(how)) if has_crude(query) and fit.acting is None else None
    except (DataError, QueryError):  # no row has all that it takes, what it takes does not vary, or is hidden
        return None


def short(asked: Asked) -> list[str | Span]:
    """The question with its answer in one line."""
    found = [verdict_span(asked.verdict)] if asked.answer is None else _headline(asked.answer)
    if asked.answer is None and asked.verdict.identified:
        found = [Span(asked.instead, "good")]
    return [Span(str(asked.query), "code"), ": ", *found]


def question_chapter(fit: Fit, asked: Asked, k: int, how: How, common: Collection[str] = ()) -> Chapter:
    """Everything on one question, but warnings that are ``common`` to all and stand above."""
    canonical = str(asked.query)
    shown = canonical if len(canonical) <= _LONG else canonical[: _LONG - 1] + "…"
    parts: list[Piece] = [] if shown == canonical else [Paragraph([Span(canonical, "code")])]
    parts.append(Paragraph(f"In words: {in_words(asked.query)}."))
    parts.append(Paragraph(["Can it be known? ", verdict_span(asked.verdict)]))
    if asked.answer is not None:
        parts += _answered(fit, asked.answer, asked.verdict, k, how, common)
    elif asked.verdict.identified:
        parts += [Remark(asked.obstacle), *(_formula(asked.verdict) if fit.acting is None else [])]
    else:
        parts += _refused(asked, f"q{k}")
    return Chapter(f"question-{k}", f"Question {k}: {shown}", parts)


# -- with a number -------------------------------------------------------------------------------


def _answered(fit: Fit, found: Answer, verdict: Verdict, k: int, how: How, common: Collection[str]) -> Document:
    warnings = [_sentence(w) for w in found.warnings if w not in common]
    parts: list[Piece] = [Paragraph(_headline(found), "answer")]
    parts += [Notice(warnings)] if warnings else []
    parts += _numbers(found)
    if fit.acting is not None:
        return [*parts, Heading("In sentences"), Paragraph(_explanation(found, "The formula: "))]
    parts += _formula(verdict)
    parts += [Heading("In sentences"), Paragraph(_explanation(found))]
    parts += densities(fit, found, f"q{k}")
    if isinstance(found.query, TotalEffect):
        parts += paths(fit, found.query, f"q{k}", how)
    return [*parts, *by_instruments(fit, found, how), *rests_on(fit, found.query)]


def _headline(found: Answer) -> list[str | Span]:
    """The number with its interval."""
    distribution = found.distribution
    if distribution is None:
        figure, interval = _figure(found, float(found.value), 0)
        return [Span(figure, "strong"), interval]
    words: list[str | Span] = []
    for i, v in enumerate(distribution.names):
        sd = float(distribution.sd[i])
        figure, interval = _figure(found, float(distribution.mean[i]), i)
        words += ["; " if i else "", f"{v}: mean " if sd else f"{v} is ", Span(figure, "strong")]
        words += [interval, f", standard deviation {number(sd)}" if sd else ""]
    return words


def _figure(found: Answer, value: float, i: int) -> tuple[str, str]:
    """A number, and its interval in brackets to the same decimals."""
    sure = found.estimate
    if sure is None or np.isnan(sure.intervals[i]).any():
        return _minus(number(value)), ", without an interval"
    figure, low, high = map(_minus, one_precision(value, *sure.intervals[i]))
    return figure, f" ({100 * sure.level:g}% interval {low} to {high})"


def _numbers(found: Answer) -> Document:
    """The answer as everywhere, less what stands in other places of this chapter."""
    facts, *joint = answer_document(found)
    assert isinstance(facts, Facts)
    pairs = [(name, words) for name, words in facts.pairs if name not in _ELSEWHERE]
    plain = found.estimate is not None and found.estimate.kind == "delta"  # other kinds are named with the error
    sure = [("kind of interval", KINDS["delta"].words)] if plain else []
    return [Facts([*pairs, *sure]), *joint]


def _formula(verdict: Verdict) -> Document:
    if not verdict.estimand:
        return []
    ground = "whatever the form of the equations" if verdict.scope == "nonparametric" else "given linear equations"
    return [Remark(f"What it is a function of, {ground}:"), Formula(verdict.estimand)]


def _explanation(found: Answer, *without: str) -> str:
    """The sentences less those that stand in other places of this section, and those that begin ``without``."""
    kept: list[str] = []
    left = False
    for line in found.explain().splitlines():
        if not line.startswith("  "):  # what is indented belongs to the line above
            left = line.startswith(("The question: ", "Note: ", *without))
        kept += [] if left else [line]
    return "\n".join(kept)


# -- without one ---------------------------------------------------------------------------------


def _refused(asked: Asked, name: str) -> Document:
    verdict = asked.verdict
    parts: list[Piece] = [Notice([asked.obstacle], "No number is given.")]
    parts.append(Paragraph("\n".join((verdict.explain().splitlines()[0], *verdict.reasons))))
    if asked.left is not None:
        parts += left(asked.left, name)
    if asked.independent:
        parts += by_independence(asked.independent, name)
    if verdict.witness is not None:
        parts += _witness(verdict.graph, verdict.witness)
    if verdict.helps:
        parts += [Heading("What would help"), Remark("Any one of these:"), Bullets(verdict.helps)]
    if verdict.next_steps:
        parts.append(Heading("What to do next"))
    for step in verdict.next_steps:
        parts += [Paragraph(step.text), Listing(step.line())]
    return parts


def _witness(graph: Graph, witness: Witness) -> Document:
    """The two models side by side; edges that differ first."""
    names, rows = witness.models[0].names, list[tuple[Cell, ...]]()
    weights = [edge_weights(graph, model) for model in witness.models]
    for edge in weights[0]:
        rows.append((str(edge), *(w[edge] for w in weights)))
    for i, v in enumerate(names):
        rows.append((f"variance of the error of {v}", *(float(model.W[i, i]) for model in witness.models)))
    apart = [abs(float(a) - float(b)) > 1e-9 for _, a, b in rows]  # type: ignore[arg-type]
    rows.sort(key=lambda row: abs(float(row[1]) - float(row[2])) <= 1e-9)  # type: ignore[arg-type]
    first, second = witness.answers
    rows.insert(0, (f"answer: {witness.quantity}", float(first), float(second)))
    close = max(witness.largest_difference, 1e-16)
    return [
        Heading("Two models that no data can tell apart"),
        Paragraph(
            f"Both have this graph, and the same covariance matrix of the observed variables (to {close:.0e}). Yet "
            f"they disagree on the answer. What differs stands first, in bold."
        ),
        Table(("", "one model", "the other"), rows, most=_MOST, marked=range(1 + sum(apart))),
    ]


def _sentence(words: str) -> str:
    return words[0].upper() + words[1:] + ("" if words.endswith(".") else ".")


def _minus(figure: str) -> str:
    return figure.replace("-", "−")


def common_warnings(asked: Sequence[Asked]) -> set[str]:
    """Warnings that come with every answer, where there are several."""
    several = [set(one.answer.warnings) for one in asked if one.answer is not None]
    return set.intersection(*several) if len(several) > 1 else set()


def warnings_of(asked: Sequence[Asked]) -> list[str]:
    """What the questions say that a reader must not miss, each once."""
    found: list[str] = []
    for one in asked:
        if not one.verdict.identified:
            found.append(f"{one.query} has no number: it is {verdict_span(one.verdict).words}.")
        elif one.answer is not None:
            found += [_sentence(w) for w in one.answer.warnings]
    return list(dict.fromkeys(found))
