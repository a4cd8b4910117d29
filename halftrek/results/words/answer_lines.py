"""Answers as lines of a table: one for each number, with what it is and what to know of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from halftrek.models import Gaussian
from halftrek.queries import (
    Arithmetic,
    DirectEffect,
    Distribution,
    ErrorCovariance,
    PathEffect,
    Probability,
    Quantile,
    Standardized,
    Statistic,
    ThroughEffect,
    TotalEffect,
)
from halftrek.queries.kinds.variants import Sum
from halftrek.results.answers import Refusal, Several
from halftrek.results.sets.bounds import INDEPENDENT, Bounds

if TYPE_CHECKING:
    from halftrek.results.answers import Answer

NAN = float("nan")


@dataclass(frozen=True)
class Line:
    """One number of an answer; nan where there is none, and ``form`` says what there is instead.

    ``bound_low`` and ``bound_high`` are what the graph leaves open, no interval of confidence.
    """

    question: str
    outcome: str
    est: float = NAN
    se: float = NAN
    z: float = NAN
    p: float = NAN
    ci_low: float = NAN
    ci_high: float = NAN
    level: float = NAN
    n: float = NAN
    form: str = "point"
    note: str = ""
    bound_low: float = NAN
    bound_high: float = NAN


def lines_of(answer: Answer) -> tuple[Line, ...]:
    """A line for each outcome of a distribution, or for each of several values; else one."""
    question, outcome = str(answer.query), ", ".join(outcomes_of(answer.query))
    said = "; ".join((*answer.warnings, *answer.remarks))
    n = NAN if answer.n is None else float(answer.n)
    match answer.result:
        case Several(several):
            return tuple(Line(question, outcome, value, n=n, form=answer.form, note=said) for value in several)
        case Bounds(low, high) as found if found.kind == INDEPENDENT:
            ends, value = found.interval or (NAN, NAN), low if low == high else NAN
            return (
                Line(question, outcome, value, ci_low=ends[0], ci_high=ends[1], level=found.level, n=n,
                     form=answer.form, note=said, bound_low=low, bound_high=high),
            )  # fmt: skip
        case Bounds(low, high):
            return (Line(question, outcome, n=n, form=answer.form, note=said, bound_low=low, bound_high=high),)
        case Refusal():
            why = "" if answer.verdict is None else answer.verdict.explain().splitlines()[0]
            return (Line(question, outcome, n=n, form=answer.form, note="; ".join(filter(None, (why, said)))),)
        case Gaussian(names=names):
            outcomes = list(map(str, names))
        case _:
            outcomes = [outcome]
    values = np.atleast_1d(np.asarray(answer.value, dtype=float))
    if answer.estimate is None:
        return tuple(Line(question, v, float(x), n=n, note=said) for v, x in zip(outcomes, values, strict=True))
    sure = answer.estimate
    return tuple(
        Line(
            question, v, float(values[i]), float(sure.errors[i]), float(answer.tests[i, 0]), float(answer.tests[i, 1]),
            float(sure.intervals[i, 0]), float(sure.intervals[i, 1]), sure.level, n, note=said,
        )
        for i, v in enumerate(outcomes)
    )  # fmt: skip


def columns_of(lines: tuple[Line, ...]) -> dict[str, list[str | float]]:
    """The lines as columns; bounds have columns of their own where there are any."""
    bounded = any(line.form == "bounds" for line in lines)
    names = [name for name in Line.__dataclass_fields__ if bounded or not name.startswith("bound_")]
    return {name: [getattr(line, name) for line in lines] for name in names}


def outcomes_of(query: object) -> tuple[str, ...]:
    """The variables that a question is about, each once: what is acted on, not what acts."""
    found: tuple[str, ...]
    match query:
        case TotalEffect(_, effect) | DirectEffect(_, effect):
            found = (effect,)
        case PathEffect(steps) | ThroughEffect(steps):
            found = (steps[-1],)
        case ErrorCovariance(first, second):
            found = (first, second)
        case Standardized(effect):
            found = outcomes_of(effect)
        case Arithmetic(_, left, right):
            found = (*outcomes_of(left), *outcomes_of(right))
        case Statistic(_, of) | Distribution(of):
            found = tuple(v for one in of for v in _variables(one))
        case Probability(events):
            found = tuple(v for event in events for v in _variables(event.of))
        case Quantile(_, of):
            found = _variables(of)
        case _:
            found = ()
    return tuple(dict.fromkeys(found))


def _variables(of: Sum) -> tuple[str, ...]:
    return tuple(v.variable for _, v in of.parts)
