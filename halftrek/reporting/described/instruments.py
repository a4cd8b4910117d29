"""Instruments in words and tables: the first stage, the estimates, the tests."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from halftrek.reporting.document import Described, Facts, Heading, Printed, Remark, Table, known, p_value
from halftrek.reporting.tables import Cell, count

if TYPE_CHECKING:
    from halftrek.inference.instruments.numbers import Tested
    from halftrek.results.beside.instruments import Instruments, InstrumentSet

_ERRORS = {
    "classical": "equally spread and independent",
    "robust": "robust, from the spread over rows",
    "clustered": "robust, from the spread over clusters",
}
_INTERVALS = {"delta": "standard error", "t": "Student's t", "profile": "profile likelihood"}


def instruments_document(found: Instruments) -> Described:
    """What is asked, and the tables."""
    return [Heading(f"Instruments for {found.query}"), *instruments_tables(found)]


def instruments_tables(found: Instruments) -> Described:
    """First stage, estimates and tests of every set."""
    first = found.sets[0]
    facts: list[tuple[str, str]] = [("answered by", found.method), ("rows", count(first.n))]
    facts.append(("outcome", ", ".join(dict.fromkeys(one.outcome for one in found.sets))))
    facts.append(("cause", ", ".join(dict.fromkeys(v for one in found.sets for v in (one.cause, *one.beside)))))
    held = {one.effect: ", ".join(one.controls) for one in found.sets}
    if len(held) == 1:
        facts += [("controls", words) for words in held.values() if words]
    else:
        facts += [(f"controls of {effect}", words or "none") for effect, words in held.items()]
    facts.append(("errors", _ERRORS[found.errors]))
    if found.strength_errors != found.errors:
        facts.append(("for effective F", _ERRORS[found.strength_errors]))
    parts: list[Printed] = [Facts(facts), *_first_stage(found), *_estimates(found), *_tests(found)]
    parts += [Remark(f"warning: {words}") for words in found.warnings]
    return [*parts, *(Remark(f"note: {words}") for words in found.remarks)]


def _label(found: Instruments, one: InstrumentSet) -> str:
    several = len({s.effect for s in found.sets}) > 1
    return f"{one.effect}: {', '.join(one.instruments)}" if several else ", ".join(one.instruments)


def _first_stage(found: Instruments) -> Described:
    single = all(not one.beside for one in found.sets)
    last = ("effective F", "should exceed") if single else ("Cragg-Donald F", "")
    heads = ("instruments", "F", "df", "p", "partial R²" if single else "Shea's R²", *last)
    lines: list[tuple[Cell, ...]] = []
    for one in found.sets:
        strength = (one.effective_f, one.critical) if single else (one.cragg_donald, math.nan)
        F = one.first_stage
        lines.append(
            (_label(found, one), F.statistic, _df(F), p_value(F.p), one.partial_r2, *map(known, strength))
        )  # fmt: skip
    return Heading("First stage"), Table(heads, lines)


def _estimates(found: Instruments) -> Described:
    heads = ("instruments", "estimator", "effect", "std. error", "low", "high", "interval")
    lines: list[tuple[Cell, ...]] = []
    seen: set[str] = set()
    for one in found.sets:
        slopes = [("2SLS", one.tsls), ("LIML", one.liml)]
        if one.effect not in seen:
            seen.add(one.effect)
            slopes.insert(0, ("regression", one.regression))
        for name, slope in slopes:
            label = _label(found, one)
            if name == "regression":
                label = label.replace(", ".join(one.instruments), "(none)")
            numbers = map(known, (slope.value, slope.se, *slope.interval))
            lines.append((label, name, *numbers, _INTERVALS.get(slope.kind, slope.kind)))
    return Heading(f"Estimates of {_effects(found)} ({100 * found.level:g}% intervals)"), Table(heads, lines)


def _tests(found: Instruments) -> Described:
    heads = ("instruments", "test", "statistic", "df", "p")
    lines: list[tuple[Cell, ...]] = []
    over = "over-identification (Sargan)" if found.errors == "classical" else "over-identification (Hansen J)"
    for one in found.sets:
        named = [("effect is zero (Anderson-Rubin)", one.anderson_rubin), (over, one.overidentification)]
        named.append(("endogeneity (Wu-Hausman)", one.endogeneity))
        for words, test in named:
            if test is not None:
                lines.append((_label(found, one), words, test.statistic, _df(test), p_value(test.p)))
    return Heading("Tests"), Table(heads, lines)


def _effects(found: Instruments) -> str:
    return ", ".join(dict.fromkeys(one.effect for one in found.sets))


def _df(test: Tested) -> str:
    return f"{test.df1:g}" if math.isnan(test.df2) else f"{test.df1:g}, {test.df2:.8g}"
