"""Requests with data: the fit, answers, effects, paths, checks, and what holds where the graph does not decide."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, cast

from halftrek.bottom.choices import EffectKind
from halftrek.errors import InputError, MissingExtraError, NotIdentifiedError
from halftrek.graphs import Edge
from halftrek.queries.checks import variables_of
from halftrek.reporting.records import Record, answer_record, fit_record
from halftrek.web.work.bench import Bench, Request
from halftrek.web.work.graphs import independences

if TYPE_CHECKING:
    from halftrek.results.answers import Answer
    from halftrek.results.fit import Fit

REJECTED = 0.05  # p-value, adjusted, below which the data contradict a constraint


def fit(asked: Request, bench: Bench) -> Record:
    """The fit, and the weights to write on the graph."""
    from halftrek.cli.analysis import Uncertainty
    from halftrek.cli.fitting import parameters

    found = bench.fit(asked)
    rows = parameters(found, Uncertainty(**asked.uncertainty)) if asked.uncertainty else found.params(as_frame=False)
    edges = [
        {
            "edge": list(row.edge),
            **{key: value for key, value in asdict(row).items() if key not in ("lhs", "op", "rhs")},
        }
        for row in rows
        if row.op != "~1" and row.lhs != row.rhs
    ]
    return {"fit": fit_record(found, rows), "edges": edges}


def answer(asked: Request, bench: Bench) -> Record:
    """The answer with its interval and notes; a refusal is an answer too."""
    from halftrek.results.given.inputs import read_question
    from halftrek.results.words.answer_lines import lines_of

    fitted, question = bench.fit(asked), asked.text("question")
    unseen = set(fitted.graph.hidden).intersection(variables_of(read_question(question)))  # rows say nothing of these
    found = _answered(fitted, question, asked, crude=asked.flag("crude") and not unseen)
    lines = [asdict(line) for line in lines_of(found)]
    return {
        "verdict": None if found.verdict is None else found.verdict.to_dict(),
        "answer": answer_record(found),
        "shown": str(found).splitlines(),
        "rows": lines,
    }


def _answered(found: Fit, question: str, asked: Request, *, crude: bool = False) -> Answer:
    try:
        return found.query(question, crude=crude, **asked.uncertainty)
    except NotIdentifiedError as error:
        if error.answer is None:
            raise
        return cast("Answer", error.answer)


def answers(found: Fit, asked: Request) -> list[Answer]:
    """The answers to all questions of a request."""
    return [_answered(found, question, asked) for question in asked.texts("questions")]


def effects(asked: Request, bench: Bench) -> Record:
    """Every effect that the graph has."""
    from halftrek.results.answering import how_of
    from halftrek.results.words.listings import effect_rows_of

    kind = cast(EffectKind, asked.text("kind") or "all")
    rows = effect_rows_of(bench.fit(asked), how_of(**asked.uncertainty), kind=kind)
    return {"level": asked.level, "effects": [asdict(row) for row in rows]}


def decomposition(asked: Request, bench: Bench) -> Record:
    """A total effect path by path."""
    found = bench.fit(asked).decompose(
        asked.text("cause"), asked.text("effect"), most=asked.whole("most", 20), **asked.uncertainty
    )
    return {"decomposition": found.to_dict()}


def checks(asked: Request, bench: Bench) -> Record:
    """How well the graph fits, and what in it the data contradict."""
    found = bench.fit(asked)
    implied = independences(found.graph)
    notes: list[str] = []
    tests = _rows(found.tests, notes)
    record = {
        "measures": found.measures(),
        "r2": _rows(found.r2, notes),
        "tests": tests,
        "residuals": _rows(found.residuals, notes),
        "modifications": _rows(found.modifications, notes),
        "note": " ".join(dict.fromkeys(notes)),
    }
    return {"checks": record, "contradicted": _contradicted(tests or [], implied), "implied": implied}


def _rows(make: Callable[[], object], notes: list[str]) -> list[Record] | None:
    """A table as records; where these data do not allow it, none, and why."""
    from halftrek.cli.fitting import rows_of

    try:
        return [dict(row) for row in rows_of(make())]
    except InputError as error:
        notes.append(str(error))
        return None


def _contradicted(tests: list[Record], implied: list[Record]) -> list[Record]:
    """Tests come in the order of the independences, and after these what is none."""
    found: list[Record] = []
    pairs = iter(implied)
    for test in tests:
        pair = next(pairs, None) if test["kind"] == "independence" else None
        p = test["p_adjusted"]
        if isinstance(p, float) and p < REJECTED:
            found.append(
                {
                    "constraint": test["constraint"],
                    "between": None if pair is None else pair["between"],
                    "given": None if pair is None else pair["given"],
                    "p_adjusted": p,
                    "estimate": test["estimate"],
                }
            )
    return found


def sensitivity(asked: Request, bench: Bench) -> Record:
    """The answer along the correlation of two errors."""
    from halftrek.partial.varied.asking import varied

    found = bench.fit(asked)
    if asked.fitting.get("kinds"):
        raise InputError("what is hidden cannot be varied yet where columns are ordered, ranked, or act")
    first, second = asked.texts("arc")
    for v in (first, second):
        found.graph.parents(v)  # an unknown or hidden name is refused here, with a hint
    curve = varied(found, asked.text("question"), [Edge(first, "<->", second)], level=asked.level)
    return {"sensitivity": curve.to_dict()}


def bounds(asked: Request, bench: Bench) -> Record:
    """What the data leave open under assumptions."""
    found = bench.fit(asked).bounds(asked.text("question"), assume=asked.texts("assume"), level=asked.level)
    return {"bounds": found.to_dict()}


NOT_HERE = (MissingExtraError,)
