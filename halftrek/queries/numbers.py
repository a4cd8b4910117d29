"""Numbers in questions and answers that floating point can work with.

Variances are squares, and their errors squares of squares. A number of 1e308 in a question is read without fault, and
everything that is made of it overflows; so sizes are bounded where a question comes in, and again where an answer goes
out. Bounds of events are free: what lies beyond every value has the probability that it has in the limit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import isfinite, isnan
from typing import SupportsFloat

import numpy as np

from halftrek.bottom.arrays import Flags, Floats
from halftrek.errors import QueryError
from halftrek.models import Gaussian
from halftrek.queries.kinds.distributions import Distribution
from halftrek.queries.kinds.terms import Arithmetic, Probability, Quantile, Standardized, Statistic
from halftrek.queries.kinds.variants import Case, Changes, Draw, Scale, Shift, Sum, Variant
from halftrek.queries.types import Query
from halftrek.queries.written.writing import number

LARGEST, SMALLEST = 1e60, 1e-60
_LARGEST_ANSWER, _SMALLEST_SPREAD = 1e140, 1e-140
_TOO_LARGE = "the answer is too large to compute with; use smaller numbers or other units"
_TOO_SMALL = "the answer is too small to compute with; use larger numbers or other units"


def check_numbers(query: Query) -> None:
    """Raise QueryError for a number that is none, or that is too large or too small to compute with."""
    for value in _numbers(query):
        if value is None:
            continue
        found = _as_float(value)
        if found is None:
            raise QueryError(f"{_shown(value)} is not a finite number; write an ordinary number in the question")
        if found and not SMALLEST <= abs(found) <= LARGEST:
            raise QueryError(
                f"the number {number(found)} in the question is too {'large' if abs(found) > 1.0 else 'small'} to "
                f"compute with: numbers are 0 or between {number(SMALLEST)} and {number(LARGEST)} in size. Measure in "
                f"other units"
            )
    for end in _bounds(query):
        try:
            wrong = isnan(end)
        except (TypeError, OverflowError):
            wrong = True
        if wrong:
            raise QueryError(f"{_shown(end)} cannot be the bound of an event; write a number")


def refused(found: Floats, wrong: Flags, question: object, why: str) -> Floats:
    """The numbers where they are right. What is wrong is an error for one model; of many models it is nan."""
    if not wrong.any():
        return found
    if not wrong.ndim:
        raise QueryError(f"{question}: {why}")
    return np.where(np.expand_dims(wrong, tuple(range(wrong.ndim, found.ndim))), np.nan, found)


def each_model(axes: tuple[int, ...], find: Callable[[tuple[int, ...]], Floats]) -> Floats:
    """What is found for each model, by its place along the leading axes; nan for those of many that have no answer."""
    if not axes:
        return find(())
    found: dict[tuple[int, ...], Floats] = {}
    for at in np.ndindex(axes):
        try:
            found[at] = find(at)
        except QueryError:  # for instance a condition that cannot be
            continue
    size = next(iter(found.values())).shape if found else ()
    whole = np.full((*axes, *size), np.nan)
    for at, one in found.items():
        whole[at] = one
    return whole


def checked_number(value: Floats, question: object) -> Floats:
    """The answers, if they are numbers that say something."""
    return refused(value, ~(np.abs(value) <= _LARGEST_ANSWER), question, _TOO_LARGE)  # also what is no number


def checked_spread(value: Floats, question: object) -> Floats:
    """Variances or standard deviations, if their own errors can be computed."""
    wrong = (value > 0.0) & (value < _SMALLEST_SPREAD)
    return checked_number(refused(value, wrong, question, _TOO_SMALL), question)


def checked_distribution(found: Gaussian, question: object) -> Gaussian:
    """The distribution, if its numbers say something."""
    for numbers in (found.mean, found.cov):
        checked_number(np.abs(numbers).max(initial=0.0), question)
    return found


def combined(operation: str, a: Floats, b: Floats, question: object) -> Floats:
    """``a + b`` and so on, unless the result leaves what floating point can hold."""
    if operation == "/":
        b = refused(b, b == 0.0, question, "the divisor is zero in this model")
    with np.errstate(all="ignore"):
        found = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide}[operation](a, b)
        least = np.minimum(np.abs(a), np.abs(b))
        lost = (a != 0.0) & (np.abs(found) < _SMALLEST_SPREAD) & (least >= _SMALLEST_SPREAD)
    return checked_number(refused(found, lost & (operation in "*/"), question, _TOO_SMALL), question)


def _as_float(value: SupportsFloat) -> float | None:
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return found if isfinite(found) else None


def _shown(value: object) -> str:
    text = f"{value:.3g}" if isinstance(value, float) else type(value).__name__
    return text if isinstance(value, float) else f"a number of type {text}"


def _numbers(query: object) -> Iterator[float | None]:
    """Every number but bounds of events, also None for values that were left out."""
    waiting = [query]
    while waiting:
        match waiting.pop():
            case Arithmetic(_, left, right):
                waiting += [right, left]
            case Statistic(_, of, case) | Quantile(_, of, case) | Distribution(of, case):
                sums = (of,) if isinstance(of, Sum) else of
                yield from _in_case(case)
                yield from (x for one in sums for x in _in_sum(one))
            case Probability(events, case):
                yield from _in_case(case)
                yield from (x for event in events for x in _in_sum(event.of))
            case int() | float() | None as value:
                yield value


def _in_case(case: Case) -> Iterator[float | None]:
    yield from _in_changes(case.do)
    yield from case.given.values()
    for v in case.given:
        yield from _in_changes(v.changes)
    for event in case.events:
        yield from _in_sum(event.of)


def _in_sum(of: Sum) -> Iterator[float | None]:
    for weight, v in of.parts:
        yield weight
        yield from _in_changes(v.changes)


def _in_changes(changes: Changes) -> Iterator[float | None]:
    for change in changes.values():
        match change:
            case Shift(x) | Scale(x):
                yield x
            case Draw(mean, variance):
                yield from (mean, variance)
            case Variant():
                yield from _in_changes(change.changes)
            case _:
                yield change


def _bounds(query: object) -> Iterator[float]:
    waiting = [query]
    while waiting:
        match waiting.pop():
            case Arithmetic(_, left, right):
                waiting += [right, left]
            case Probability(events, case):
                yield from (x for e in (*events, *case.events) for x in (e.low, e.high))
            case Statistic(_, _, case) | Quantile(_, _, case) | Distribution(_, case):
                yield from (x for e in case.events for x in (e.low, e.high))
            case Standardized():
                pass
