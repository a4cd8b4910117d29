"""Every way to adjust, side by side: the crude slope, one regression for each minimal set, and the whole model."""

from __future__ import annotations

import dataclasses
from dataclasses import asdict, dataclass
from typing import Any, Unpack

from halftrek.bottom.frames import as_frame
from halftrek.errors import NotIdentifiedError, QueryError
from halftrek.estimation import Fitted
from halftrek.graphs.hidden import refuse_hidden
from halftrek.identification import Verdict
from halftrek.identification.arrows.listed_sets import listed_sets
from halftrek.inference.evidence.seen import seen_fit
from halftrek.inference.how import Uncertainty
from halftrek.notes import Note, in_short, in_words, note
from halftrek.queries import DirectEffect, Distribution, Query, TotalEffect
from halftrek.results.answering import answer
from halftrek.results.answers import Answer
from halftrek.results.given.reading import asked_of
from halftrek.upward import Faces, Tabled

MOST = 20  # sets that are listed unless more are asked for


@dataclass(frozen=True)
class Adjustment(Faces):
    """One estimate: ``kind`` is "crude", "adjusted" for a minimal set, or "model" for all that the graph says."""

    kind: str
    adjusted_for: tuple[str, ...]
    est: float
    se: float
    ci_low: float
    ci_high: float
    n: float
    note: str = ""

    @property
    def label(self) -> str:
        """What is adjusted for, in words."""
        if self.kind != "adjusted":
            return {"crude": "nothing (crude)", "model": "the whole model"}[self.kind]
        return ", ".join(self.adjusted_for) or "nothing (none is needed)"


@dataclass(frozen=True)
class Adjustments(Tabled):
    """Estimates of one effect, beside the crude slope; ``complete`` is False where there are more sets than listed."""

    query: Query
    cause: str
    effect: str
    rows: tuple[Adjustment, ...]
    complete: bool = True
    level: float = 0.95
    notes: tuple[Note, ...] = ()
    library: str = ""

    @property
    def crude(self) -> Adjustment:
        """The slope of the cause alone."""
        return self.rows[0]

    @property
    def adjusted(self) -> tuple[Adjustment, ...]:
        """One regression for each minimal set, the smallest first."""
        return tuple(row for row in self.rows if row.kind == "adjusted")

    @property
    def model(self) -> Adjustment:
        """The estimate of the fitted model, which uses everything that the graph says."""
        return self.rows[-1]

    @property
    def remarks(self) -> tuple[str, ...]:
        """What to know of the table, in sentences."""
        return in_words(self.notes)

    def frame(self) -> Any:
        """A tidy frame: kind label est se ci_low ci_high n note; ``label`` says what was adjusted for."""
        names = [f.name for f in dataclasses.fields(Adjustment) if f.name != "adjusted_for"]
        columns = {name: [getattr(row, name) for row in self.rows] for name in ("kind", "label", *names[1:])}
        return as_frame(columns, self.library)

    to_frame = frame

    def fields(self) -> dict[str, object]:
        """By name, with the estimates in a list."""
        rows = [{**asdict(row), "adjusted_for": list(row.adjusted_for)} for row in self.rows]
        return {
            "query": str(self.query),
            "cause": self.cause,
            "effect": self.effect,
            "level": self.level,
            "complete": self.complete,
            "estimates": rows,
            "remarks": list(self.remarks),
        }

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        count = len(self.adjusted)
        more = "" if self.complete else " and more"
        return f"Adjustments({self.query}: crude {self.crude.est:.4g}, {count} minimal sets{more})"


def adjustments_of(
    fitted: Fitted, question: str | Query, *, most: int = MOST, **uncertainty: Unpack[Uncertainty]
) -> Adjustments:
    """The crude slope, one regression for each minimal adjustment set, and the model's own estimate."""
    if most < 1:
        raise QueryError(f"most is how many sets are listed, at least 1, not {most}")
    refuse_hidden(fitted.graph, "adjustments()")
    query, verdict = asked_of(fitted.graph, question)
    cause, effect, asked = _ends(query)
    found = listed_sets(fitted.graph, asked, most=most)
    if not verdict.identified:
        raise NotIdentifiedError(verdict.explain(), verdict)
    if not found:
        raise QueryError(_otherwise(query, cause, effect, verdict))
    rows = [_row("crude", (), _regression(fitted, cause, effect, (), uncertainty))]
    rows += [_row("adjusted", one, _regression(fitted, cause, effect, one, uncertainty)) for one in found]
    rows.append(_row("model", (), answer(fitted, asked, **uncertainty)))
    notes = []
    if not found.complete:
        notes.append(note("more sets", shown=len(found)))
    if any(row.n < fitted.n for row in rows):
        notes.append(note("rows of each set"))
    level = float(uncertainty.get("level", 0.95))
    return Adjustments(query, cause, effect, tuple(rows), found.complete, level, tuple(notes), fitted.frame)


def _ends(query: Query) -> tuple[str, str, Query]:
    """Cause, effect, and the question about the effect of one on the other."""
    match query:
        case TotalEffect(cause, effect) | DirectEffect(cause, effect):
            return cause, effect, query
        case Distribution(asks="intervention", names=(effect,), do=do) if len(do) == 1 and not query.seen:
            (cause,) = do
            return cause, effect, TotalEffect(cause, effect)
    raise QueryError(
        f"adjustment is for the effect of one variable on another, which {query} is not; ask for instance "
        f'fit.adjustments("x ~> y"), or "x -> y" for an arrow'
    )


def _otherwise(query: Query, cause: str, effect: str, verdict: Verdict) -> str:
    """How an effect is known that no adjustment gives."""
    why = f" {verdict.reasons[0]}" if verdict.reasons else ""
    ask = f"fit.query({str(query)!r}) gives the number"
    if "instrument" in verdict.method:
        ask += f", and fit.instruments({str(query)!r}) shows how strong the instruments are"
    return (
        f"no set of observed variables blocks all that confounds {cause} and {effect}, so that no adjustment gives "
        f"{query}. It is known by {verdict.method} instead.{why} Ask otherwise: {ask}"
    )


def _regression(fitted: Fitted, cause: str, effect: str, given: tuple[str, ...], uncertainty: Uncertainty) -> Answer:
    """The slope of the cause in the regression on it and a set."""
    return answer(seen_fit(fitted, (*given, cause, effect)), DirectEffect(cause, effect), **uncertainty)


def _row(kind: str, given: tuple[str, ...], found: Answer) -> Adjustment:
    sure = found.estimate
    assert sure is not None  # of a fit there always is one
    value, error = float(found.value), float(sure.errors[0])
    low, high = map(float, sure.intervals[0])
    short = in_short(n for n in found.notes if n.brief and n.level in ("doubt", "warning"))
    return Adjustment(kind, given, value, error, low, high, float(found.n or 0.0), short)
