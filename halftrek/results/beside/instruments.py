"""The instruments behind an answer in the hands of a user: how strong, what they estimate, what they contradict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from halftrek.bottom.frames import as_frame
from halftrek.data import Moments
from halftrek.errors import NotIdentifiedError, QueryError
from halftrek.estimation import Fitted
from halftrek.graphs import Graph
from halftrek.identification import Verdict
from halftrek.identification.beside.instruments import InstrumentEquation, instrument_equations
from halftrek.identification.recipes.describe import is_regression
from halftrek.identification.recipes.recipe import LinearStep
from halftrek.inference.evidence.row_needs import needs_rows
from halftrek.inference.evidence.rows_behind import has_rows
from halftrek.inference.evidence.seen import fit_to_seen, seen_fit, seen_moments, seen_rows
from halftrek.inference.how import How, asked
from halftrek.inference.information.robust import counts_units
from halftrek.inference.instruments.anderson_rubin import anderson_rubin_test
from halftrek.inference.instruments.equation import Equation
from halftrek.inference.instruments.numbers import (
    Tested,
    effective_f,
    endogeneity,
    first_stage_test,
    overidentification,
)
from halftrek.inference.instruments.spread import Spread, classical, from_rows
from halftrek.inference.intervals import kind_of
from halftrek.notes import Note, in_short, in_words, note
from halftrek.queries import DirectEffect, Query
from halftrek.results.answering import answer
from halftrek.results.given.reading import asked_of
from halftrek.trust.instruments import judged_slope
from halftrek.upward import Tabled

ALONE = 10  # instruments that are also looked at one by one


@dataclass(frozen=True)
class Slope:
    """An estimate of the effect; ``kind`` says where the interval is from, ``note`` what to know of it."""

    value: float
    se: float
    interval: tuple[float, float]
    kind: str
    note: str = ""


@dataclass(frozen=True)
class InstrumentSet:
    """One effect by one set of instruments.

    ``first_stage`` tests that the instruments say nothing of the cause, beside the controls; ``effective_f`` is
    Montiel Olea's and Pflueger's F, which should exceed ``critical`` (both nan where ``beside`` names further causes
    that need instruments; then ``cragg_donald`` is the F of the weakest combination). ``anderson_rubin`` tests that the
    effect is zero, ``overidentification`` that the instruments agree (None: there are no more than causes), and
    ``endogeneity`` that the regression without instruments would have done.
    """

    effect: str
    cause: str
    outcome: str
    instruments: tuple[str, ...]
    controls: tuple[str, ...]
    beside: tuple[str, ...]
    n: float
    first_stage: Tested
    partial_r2: float
    effective_f: float
    critical: float
    cragg_donald: float
    regression: Slope
    tsls: Slope
    liml: Slope
    anderson_rubin: Tested | None
    overidentification: Tested | None
    endogeneity: Tested

    def fields(self) -> dict[str, object]:
        """One flat line of plain values, as in the frame."""
        found: dict[str, Any] = {
            "effect": self.effect,
            "instruments": ", ".join(self.instruments),
            "controls": ", ".join(self.controls),
            "n": self.n,
        }
        found |= {"F": self.first_stage.statistic, "F_df1": self.first_stage.df1, "F_df2": self.first_stage.df2}
        found |= {"F_p": self.first_stage.p, "partial_r2": self.partial_r2}
        found |= {"effective_F": self.effective_f, "critical": self.critical, "cragg_donald": self.cragg_donald}
        for name, slope in (("ols", self.regression), ("tsls", self.tsls), ("liml", self.liml)):
            low, high = slope.interval
            found |= {name: slope.value, f"{name}_se": slope.se, f"{name}_low": low, f"{name}_high": high}
            found |= {f"{name}_interval": slope.kind}
        tests = ("anderson_rubin", "overidentification", "endogeneity")
        for name, short in zip(tests, ("ar", "overid", "endogeneity"), strict=True):
            test: Tested | None = getattr(self, name)
            nan = float("nan")
            figures = (nan, nan, nan, nan) if test is None else (test.statistic, test.df1, test.df2, test.p)
            found |= dict(zip((short, f"{short}_df1", f"{short}_df2", f"{short}_p"), figures, strict=True))
        return found | {"note": "; ".join(filter(None, (self.tsls.note, self.liml.note)))}


@dataclass(frozen=True)
class Instruments(Tabled):
    """Every set of instruments of a question: all together first, then each alone.

    ``errors`` says what is allowed for in standard errors and tests, ``strength_errors`` in the effective F:
    "classical" (all errors alike), "robust" or "clustered".
    """

    query: Query
    method: str
    sets: tuple[InstrumentSet, ...]
    errors: str
    strength_errors: str
    level: float = 0.95
    notes: tuple[Note, ...] = ()
    library: str = ""

    @property
    def warnings(self) -> tuple[str, ...]:
        """What speaks against the numbers, in sentences."""
        return in_words(n for n in self.notes if n.level in ("doubt", "warning"))

    @property
    def remarks(self) -> tuple[str, ...]:
        """What to know of them beside that."""
        return in_words(n for n in self.notes if n.level == "note")

    def frame(self) -> Any:
        """One line for each effect and set of instruments, in columns of plain numbers."""
        lines = [one.fields() for one in self.sets]
        return as_frame({name: [line[name] for line in lines] for name in lines[0]}, self.library)

    to_frame = frame

    def fields(self) -> dict[str, object]:
        """By name, with a line for each set."""
        return {
            "query": str(self.query),
            "method": self.method,
            "errors": self.errors,
            "strength_errors": self.strength_errors,
            "level": self.level,
            "sets": [one.fields() for one in self.sets],
            "warnings": list(self.warnings),
            "remarks": list(self.remarks),
        }

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        several = f"{len(self.sets)} sets" if len(self.sets) > 1 else "one set"
        return f"Instruments({self.query}: {several} of instruments, {self.errors} errors)"


def instruments_of(
    fitted: Fitted, question: str | Query, *, level: float = 0.95, robust: bool | None = None
) -> Instruments:
    """Strength, estimates and tests for each set of instruments that answers a question."""
    how = asked(level=level)
    query, verdict = asked_of(fitted.graph, question)
    if not verdict.identified:
        raise NotIdentifiedError(verdict.explain(), verdict)
    equations = instrument_equations(verdict)
    if not equations:
        raise QueryError(_otherwise(query, verdict))
    by_rows = counts_units(fitted, robust, "fit.instruments()") or (robust is None and needs_rows(fitted, query))
    from_data = has_rows(fitted) and robust is not False
    sets: list[InstrumentSet] = []
    notes: list[Note] = []
    for one in equations:
        more, said = _lines(fitted, one, how.level, by_rows, from_data)
        sets += more
        notes += said
    clustered = fitted.rows is not None and fitted.rows.cluster is not None
    allowed = "clustered" if clustered else "robust"
    errors, strength = (allowed if by else "classical" for by in (by_rows, from_data))
    if robust is None and not from_data:
        notes.append(note("instruments without rows"))
    notes = [*_weak(sets), *notes, *_cleaned(verdict)]
    return Instruments(
        query, verdict.method, tuple(sets), errors, strength, how.level, tuple(dict.fromkeys(notes)), fitted.frame
    )


def _otherwise(query: Query, verdict: Verdict) -> str:
    """How a question is answered that is not answered by instruments."""
    ask = f"fit.query({str(query)!r}) gives the number"
    if verdict.method in ("back-door", "adjustment"):
        ask += f", and fit.adjustments({str(query)!r}) compares the sets that could be adjusted for"
    why = f" {verdict.reasons[0]}" if verdict.reasons else ""
    how = f"by {verdict.method}"
    if verdict.recipe is None:
        how += " and without a formula that could be looked at"
    return f"{query} is not answered by instruments but {how}.{why} There is no first stage to look at: {ask}"


def _cleaned(verdict: Verdict) -> list[Note]:
    """A word on steps whose instruments are no plain variables."""
    steps = [] if verdict.recipe is None else [s for s in verdict.recipe.steps if isinstance(s, LinearStep)]
    mixed = [s for s in steps if not is_regression(s) and any(c.minus for c in (*s.rows, *s.columns, s.target))]
    return [note("cleaned instruments", count=len(mixed))] if mixed else []


def _tool_sets(one: InstrumentEquation) -> Iterator[tuple[str, ...]]:
    """All instruments together, those of the formula, and each alone where one is enough."""
    yield one.telling
    if len(one.causes) == 1:
        yield from ((v,) for v in one.instruments[:ALONE])
    yield one.chosen


def _lines(
    fitted: Fitted, one: InstrumentEquation, level: float, by_rows: bool, from_data: bool
) -> tuple[list[InstrumentSet], list[Note]]:
    """One equation with every set of its instruments."""
    names = (one.outcome, *one.causes, *dict.fromkeys((*one.instruments, *one.chosen)), *one.controls)
    moments = seen_moments(fitted, names)
    rows = seen_rows(fitted, moments) if from_data else None
    sets = list(dict.fromkeys(_tool_sets(one)))
    equations = [Equation(moments, one.outcome, one.causes, tools, one.controls) for tools in sets]
    plain = [classical(given) for given in equations]
    shown = plain if rows is None else from_rows(equations, rows, moments)
    notes: list[Note] = []
    if moments.n < fitted.n:
        notes.append(note("rows with all", rows=moments.n))
    if len(one.causes) == 1 and len(one.instruments) > ALONE:
        notes.append(note("more instruments", count=len(one.instruments), shown=ALONE))
    side = _Side(fitted, one, moments, level, by_rows)
    found: list[InstrumentSet] = []
    for given, alike, seen in zip(equations, plain, shown, strict=True):
        for cause, effect in enumerate(one.effects):
            if effect:
                line, said = _line(given, seen if by_rows else alike, seen, cause, effect, side)
                found.append(line)
                notes += said
    return found, notes


@dataclass(frozen=True, eq=False)
class _Side:
    """What the lines of one equation share: models of its variables alone, fitted to the rows that have them."""

    fitted: Fitted
    one: InstrumentEquation
    moments: Moments
    level: float
    by_rows: bool

    def regression(self, cause: str) -> Slope:
        """The outcome on the causes and the controls, as if nothing were hidden."""
        return self._asked(seen_fit(self.fitted, (*self.one.controls, *self.one.causes, self.one.outcome)), cause)

    def liml(self, cause: str, tools: Sequence[str]) -> Slope:
        """The maximum of the likelihood of the equation with these instruments, which is LIML."""
        return self._asked(fit_to_seen(self.fitted, liml_graph(self.one, tools)), cause)

    def _asked(self, side: Fitted, cause: str) -> Slope:
        effect = DirectEffect(cause, self.one.outcome)
        found = answer(side, effect, level=self.level)
        sure = found.estimate
        assert sure is not None  # of a fit there always is one
        error = float(sure.errors[0])
        by_profile = (
            sure.kind == "profile"
        )  # whose interval allows for clusters, and whose error is that of normal rows
        if self.by_rows and (by_profile or not kind_of(How(sure.kind)).counts_rows(side)):
            robust = answer(side, effect, level=self.level, interval="robust")
            assert robust.estimate is not None
            error = float(robust.estimate.errors[0])
            found, sure = (found, sure) if by_profile else (robust, robust.estimate)
        low, high = map(float, sure.intervals[0])
        short = in_short(n for n in found.notes if n.brief and n.level == "doubt")
        return Slope(float(found.value), error, (low, high), sure.kind, short)


def liml_graph(one: InstrumentEquation, tools: Sequence[str]) -> Graph:
    """The graph whose likelihood is that of one equation: all outer variables act on the causes, with free errors."""
    outer = (*one.controls, *tools)
    arrows = [*combinations(outer, 2), *((u, x) for u in outer for x in one.causes)]
    arrows += [(u, one.outcome) for u in (*one.controls, *one.causes)]
    return Graph(arrows, list(combinations((*one.causes, one.outcome), 2)), observed=(*outer, *one.causes, one.outcome))


def _line(
    given: Equation, spread: Spread, seen: Spread, cause: int, effect: str, side: _Side
) -> tuple[InstrumentSet, list[Note]]:
    """One effect by one set; ``spread`` is for errors and tests, ``seen`` for the strength."""
    single = len(given.causes) == 1
    effective, critical = effective_f(given, seen) if single else (float("nan"), float("nan"))
    weakest = float("nan") if single else given.cragg_donald
    slope = judged_slope(given, spread, cause, effective if single else weakest, side.level)
    brief = [n for n in slope.notes if n.brief]
    if single and effective < critical:
        brief.append(note("instruments below critical", critical=critical))
    name = given.causes[cause]
    line = InstrumentSet(
        effect, name, given.outcome, given.instruments, given.controls, tuple(v for v in given.causes if v != name),
        given.n, first_stage_test(given, spread, cause),
        float((given.partial_r2 if single else given.shea_r2)[cause]), effective, critical, weakest,
        side.regression(name),
        Slope(slope.value, slope.error, slope.ends, slope.kind, in_short(brief)),
        side.liml(name, given.instruments), anderson_rubin_test(given, spread) if single else None,
        overidentification(given, spread), endogeneity(given, spread),
    )  # fmt: skip
    return line, list(slope.notes)


def _weak(sets: Sequence[InstrumentSet]) -> list[Note]:
    """One word on all sets whose strength is not enough."""
    weak = [one for one in sets if one.effective_f < one.critical]
    if not weak:
        return []
    listing = [
        f"{', '.join(one.instruments)} ({one.effective_f:.1f}, and {one.critical:.1f} is needed)" for one in weak
    ]
    worst = max(one.critical for one in weak)
    return [note("instruments below critical", sets="; of ".join(listing), critical=worst)]
