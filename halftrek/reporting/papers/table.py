"""Several answers as one table, grouped by outcome: for reading, for papers, and as a frame."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from halftrek.bottom.choices import Interval
from halftrek.bottom.frames import as_frame
from halftrek.bottom.portable import Portable
from halftrek.errors import InputError, NotIdentifiedError
from halftrek.identification import Verdict
from halftrek.inference.intervals import KINDS
from halftrek.reporting.document import Described, Heading, Printed, Remark, Table, known, p_value
from halftrek.reporting.tables import Cell, count, number
from halftrek.results.answers import Answer, Refusal, Several
from halftrek.results.sets.bounds import Bounds
from halftrek.results.words.answer_lines import Line, columns_of, lines_of, outcomes_of
from halftrek.results.words.publication import answers_statistic, answers_table
from halftrek.upward import Tabled

Given = Answer | NotIdentifiedError | Verdict
_SEVERAL = "several values fit the data equally well, and no amount of data chooses between them"
_BOUNDS = "bounds, not an interval of confidence: the graph leaves open every value between them"
_CRUDE = "crude: what the rows say without the graph, an association"


@dataclass(frozen=True, eq=False, repr=False)
class AnswerTable(Portable, Tabled):
    """Answers below each other, those to one outcome together; ``labels`` say where each is from, if that was given."""

    answers: tuple[Answer, ...]
    labels: tuple[str, ...] = ()

    @property
    def outcomes(self) -> tuple[str, ...]:
        """The outcomes that the answers are about, as groups of the table."""
        return tuple(dict.fromkeys(_outcome(one) for one in self.answers))

    def by_outcome(self) -> tuple[AnswerTable, ...]:
        """A table for each outcome; with maketables, ``ETable(table.by_outcome())`` has a column for each."""
        kept = [[i for i, one in enumerate(self.answers) if _outcome(one) == v] for v in self.outcomes]
        return tuple(
            AnswerTable(tuple(self.answers[i] for i in places), tuple(self.labels[i] for i in places if self.labels))
            for places in kept
        )

    def to_frame(self) -> Any:
        """A tidy frame: (label) question outcome est se z p ci_low ci_high level n form note, as of an answer."""
        pairs = [
            (label, line)
            for label, one in zip(self.labels or ("",) * len(self), self.answers, strict=True)
            for line in lines_of(one)
        ]
        columns = columns_of(tuple(line for _, line in pairs))
        named: dict[str, list[str | float]] = {"label": [label for label, _ in pairs]} if self.labels else {}
        return as_frame({**named, **columns}, next((one.library for one in self.answers if one.library), ""))

    def __len__(self) -> int:
        return len(self.answers)

    def __iter__(self) -> Iterator[Answer]:
        return iter(self.answers)

    def __str__(self) -> str:
        return self.summary()

    __repr__ = __str__

    # The plug-in protocol of the package maketables: ETable([table]) has a row for each answer.

    @property
    def __maketables_coef_table__(self) -> Any:
        return answers_table(self.answers)

    def __maketables_stat__(self, key: str) -> int | float | str | None:
        return answers_statistic(self.answers, key)

    @property
    def __maketables_depvar__(self) -> str:
        return ", ".join(dict.fromkeys(v for one in self.answers for v in outcomes_of(one.query)))

    @property
    def __maketables_default_stat_keys__(self) -> list[str]:
        return ["N"]


def table(answers: Given | Iterable[Given] | Mapping[str, Given | Iterable[Given]]) -> AnswerTable:
    """Answers as one table, grouped by outcome: ``to_latex``, ``to_word``, ``to_typst``, ``to_html``, ``to_frame``.

    A question that was refused may stand among them: give the NotIdentifiedError that was caught, or the verdict. A
    mapping names where answers are from, as in ``ht.table({"all rows": a, "without outliers": b})``.
    """
    if isinstance(answers, Mapping):
        pairs = [(str(name), one) for name, some in answers.items() for one in _each(some)]
    else:
        pairs = [("", one) for one in _each(answers)]
    if not pairs:
        raise InputError('there is no answer to make a table of: ht.table([fit.query("x ~> y"), ...])')
    found = tuple(_answer(one) for _, one in pairs)
    return AnswerTable(found, tuple(name for name, _ in pairs) if isinstance(answers, Mapping) else ())


def _each(some: Given | Iterable[Given]) -> list[Given]:
    if isinstance(some, Answer | NotIdentifiedError | Verdict):
        return [some]
    if isinstance(some, str) or not isinstance(some, Iterable):
        raise _no_answer(some)
    return list(some)


def _answer(given: Given) -> Answer:
    """The answer, or what stands in its place where a question was refused."""
    match given:
        case Answer():
            return given
        case NotIdentifiedError(answer=Answer() as instead):
            return instead
        case NotIdentifiedError(verdict=Verdict() as verdict):
            return Answer(verdict.query, Refusal(), verdict)
        case Verdict() if not given.identified:
            return Answer(given.query, Refusal(), given)
        case Verdict():
            raise InputError(
                f'{given.query} is identified, and a verdict has no number: ask fit.query("{given.query}")'
            )
    raise _no_answer(given)


def _no_answer(given: object) -> InputError:
    if isinstance(given, Tabled):
        return InputError(
            f"a table is made of answers, and {type(given).__name__} is a table already: its to_latex(), to_word() and "
            "to_html() give it"
        )
    return InputError(f"a table is made of answers, and {_short(given)} is none: ask fit.query(...) first")


def _short(given: object) -> str:
    text = repr(given)
    return text if len(text) <= 60 else f"something of the type {type(given).__name__}"


def _outcome(one: Answer) -> str:
    return ", ".join(outcomes_of(one.query))


def answer_table_document(found: AnswerTable) -> Described:
    """The answers with their intervals; what is not one number as what it is, and notes under the table."""
    shown = [line for outcome in found.outcomes for line in _shown(found, outcome)]
    sure = [one.estimate for _, _, one, _ in shown if one.estimate is not None]
    levels, kinds = {e.level for e in sure}, {e.kind for e in sure}
    counts = {one.n for _, _, one, _ in shown if one.n is not None}
    marks: dict[str, str] = {}
    rows: list[list[Cell]] = []
    begins: list[int] = []
    for outcome, label, one, crude in shown:
        if not rows or outcome != rows[-1][0]:
            begins.append(len(rows))
        rows += _rows(label, outcome, one, marks, crude=crude, several=len(kinds) > 1)
    for k in range(len(rows) - 1, 0, -1):  # each outcome once
        if k not in begins:
            rows[k][0] = ""
    heads = ["outcome", "", "question", "estimate", "std. error", "low", "high", "p", "level", "rows", ""]
    dropped = {0} if len(found.outcomes) == 1 else set()  # the heading names it
    dropped |= {1} if not found.labels else set()
    dropped |= {8} if len(levels) < 2 else set()
    dropped |= {9} if len(counts) < 2 else set()
    dropped |= {10} if not marks else set()
    kept = [j for j in range(len(heads)) if j not in dropped]
    table = Table(
        [heads[j] for j in kept],
        [[row[j] for j in kept] for row in rows],
        wide=("level", "rows"),
        parts=begins,
    )
    head = Heading(f"Answers on {', '.join(found.outcomes)}" if any(found.outcomes) else "Answers")
    remarks: list[Printed] = [Remark(f"{mark} {text}") for text, mark in marks.items()]
    return head, table, *remarks, *_under(levels, kinds, counts)


def _shown(found: AnswerTable, outcome: str) -> Iterator[tuple[str, str, Answer, bool]]:
    """The answers on one outcome with their labels, each followed by what the rows say without the graph, if asked."""
    for label, one in zip(found.labels or ("",) * len(found), found.answers, strict=True):
        if _outcome(one) == outcome:
            yield outcome, label, one, False
            if one.crude is not None:
                yield outcome, label, one.crude, True


def _rows(
    label: str, outcome: str, one: Answer, marks: dict[str, str], *, crude: bool, several: bool
) -> list[list[Cell]]:
    notes = [_CRUDE] if crude else []
    if several and one.estimate is not None:
        kind = KINDS[one.estimate.kind].words
        notes += [] if any(kind in note for note in one.remarks) else [f"interval: {kind}"]
    match one.result:
        case Several(values):
            notes.append(_SEVERAL)
            cells = [" or ".join(number(value) for value in values)]
        case Bounds() as found:
            notes.append(_BOUNDS)
            cells = [found.words]
        case Refusal():
            cells = ["no number"]
            notes += [] if one.verdict is None else [one.verdict.explain().splitlines()[0]]
        case _:
            cells = []
    notes += [*one.warnings, *one.remarks]
    mark = "".join(marks.setdefault(note, f"[{len(marks) + 1}]") for note in dict.fromkeys(notes))
    n = None if one.n is None else count(one.n)
    if cells:
        return [[outcome, label, str(one.query), cells[0], None, None, None, None, None, n, mark]]
    return [
        [outcome, label, _asked(one, line), line.est, *map(known, (line.se, line.ci_low, line.ci_high)),
         p_value(line.p), None if math.isnan(line.level) else f"{100 * line.level:g}%", n, mark]
        for line in lines_of(one)
    ]  # fmt: skip


def _asked(one: Answer, line: Line) -> str:
    """The question; of a distribution, that the number is the mean of an outcome."""
    if one.distribution is None:
        return line.question
    return f"{line.question}, mean" if len(one.distribution.names) == 1 else f"{line.question}, mean of {line.outcome}"


def _under(levels: set[float], kinds: set[Interval], counts: set[float]) -> Sequence[Remark]:
    """What holds for all lines."""
    said = []
    if len(levels) == 1:
        (level,) = levels
        words = f", {KINDS[next(iter(kinds))].words}" if len(kinds) == 1 and kinds != {"delta"} else ""
        said.append(f"low and high are the ends of {100 * level:g}% intervals{words}")
    if levels:
        said.append("p is two-sided, from the standard error")
    rows = next(iter(counts)) if len(counts) == 1 else None
    if rows is not None:
        said.append(f"{count(rows)} rows")
    return [Remark("; ".join(said))] if said else []
