"""Questions and numbers in words."""

from __future__ import annotations

from collections.abc import Iterable, Sized
from math import inf

from halftrek.graphs import Graph
from halftrek.identification.arrows.adjustment import adjustment_set
from halftrek.queries import (
    Arithmetic,
    DirectEffect,
    Distribution,
    ErrorCovariance,
    PathEffect,
    Probability,
    Quantile,
    Query,
    Standardized,
    Statistic,
    ThroughEffect,
    TotalEffect,
)
from halftrek.queries.kinds.effects import ends_of
from halftrek.queries.kinds.variants import Case, Change, Draw, Event, Scale, Shift, Sum, Target, Variant
from halftrek.queries.seen import as_seen
from halftrek.queries.written.writing import Value, number

_STATISTICS = {"E": "the mean", "Var": "the variance", "SD": "the standard deviation"}
_STATISTICS |= {"Cov": "the covariance", "Corr": "the correlation"}
_SIGNS = {"+": "plus", "-": "minus", "*": "times", "/": "divided by"}


def listed(names: Iterable[str]) -> str:
    """a; a and b; a, b and c."""
    found = list(names)
    return " and ".join(found) if len(found) < 3 else ", ".join(found[:-1]) + " and " + found[-1]


def in_words(query: object) -> str:
    """What a question asks, without symbols."""
    match query:
        case float():
            return number(query)
        case TotalEffect(u, v):
            return f"the change of {v}, over all paths, when {u} is raised by one unit by intervention"
        case DirectEffect(u, v):
            return f"the change of {v} when {u} is raised by one unit and all other causes of {v} are held"
        case PathEffect(path):
            return f"the part of the effect of {path[0]} on {path[-1]} that runs along {' -> '.join(path)}"
        case ThroughEffect(stations):
            between = listed(stations[1:-1])
            return f"the part of the effect of {stations[0]} on {stations[-1]} that runs through {between}"
        case ErrorCovariance(u, v):
            return f"the covariance of what moves {u} and {v} besides their causes in the graph"
        case Standardized(effect):
            u, v = ends_of(effect)
            return f"{in_words(effect)}, in standard deviations of {v} per standard deviation of {u}"
        case Arithmetic("*", left, right) if left == -1.0:
            return f"minus {in_words(right)}"
        case Arithmetic(operation, left, right):
            return f"{in_words(left)}, {_SIGNS[operation]} {in_words(right)}"
        case Distribution(of, case):
            changed = case.do or query.asks == "counterfactual" or any(v.changes for one in of for _, v in one.parts)
            return f"how {listed(map(_sum, of))} {'would be' if changed else _are(of)} distributed{_behind(case)}"
        case Statistic(kind, of, case):
            return f"{_STATISTICS[kind]} of {listed(map(_sum, of))}{_behind(case)}"
        case Probability(events, case):
            return f"the probability that {listed(map(_event, events))}{_behind(case)}"
        case Quantile(level, of, case):
            return f"the value below which {_sum(of)} lies with probability {number(level)}{_behind(case)}"
    return str(query)


def _are(things: Sized) -> str:
    return "is" if len(things) == 1 else "are"


def _behind(case: Case) -> str:
    parts = []
    if case.do:
        parts.append(f" if {listed(_change(t, c) for t, c in case.do.items())}")
    seen = [*(_seen(v, x) for v, x in case.given.items()), *map(_event, case.events)]
    if seen:
        parts.append(f" among units in which {listed(seen)}")
    return "".join(parts)


def _seen(v: Variant, value: Value) -> str:
    return f"{_variant(v)} is {'a certain value' if value is None else number(value)}"


def _change(target: Target, change: Change) -> str:
    if not isinstance(target, str):
        value = "a certain value" if change is None else number(float(change))  # type: ignore[arg-type]
        return f"{target[1]} alone took {target[0]} to be {value}"
    match change:
        case None:
            return f"{target} were set to a certain value"
        case Shift(amount):
            return f"{target} were {number(abs(amount))} {'higher' if amount >= 0 else 'lower'} than it is"
        case Scale(factor):
            return f"{target} were {number(factor)} times what it is"
        case Draw(mean, variance):
            return f"{target} were drawn at random with mean {number(mean)} and variance {number(variance)}"
        case Variant():
            return (
                f"{target} had the value that it has where {listed(_change(t, c) for t, c in change.changes.items())}"
            )
    return f"{target} were set to {number(change)}"


def _variant(v: Variant) -> str:
    if not v.changes:
        return v.variable
    return f"{v.variable} (if {listed(_change(t, c) for t, c in v.changes.items())})"


def _sum(of: Sum) -> str:
    texts = []
    for i, (weight, v) in enumerate(of.parts):
        size = "" if abs(weight) == 1.0 else f"{number(abs(weight))} times "
        sign = ("minus " if weight < 0 else "") if i == 0 else (" minus " if weight < 0 else " plus ")
        texts.append(f"{sign}{size}{_variant(v)}")
    return "".join(texts)


def _event(event: Event) -> str:
    if event.at is not None:
        return f"{_sum(event.of)} is {number(event.at)}"
    if event.high == inf:
        return f"{_sum(event.of)} is above {number(event.low)}"
    if event.low == -inf:
        return f"{_sum(event.of)} is below {number(event.high)}"
    return f"{_sum(event.of)} lies between {number(event.low)} and {number(event.high)}"


def meaning(query: object, value: float, figure: str) -> str:
    """What the number says, in the units of the variables; ``figure`` is how it is printed."""
    way = "rise" if value >= 0 else "fall"
    size = figure.lstrip("-")
    match query:
        case TotalEffect(u, v):
            return f"Raising {u} by one unit would make {v} {way} by {size} units on average."
        case DirectEffect(u, v):
            return f"With all other causes of {v} held, one unit more of {u} makes {v} {way} by {size} units."
        case PathEffect(steps) | ThroughEffect(steps):
            return f"Of the effect of one unit of {steps[0]}, {figure} units of {steps[-1]} come about this way."
        case Standardized(effect):
            u, v = ends_of(effect)
            return f"One standard deviation more of {u} makes {v} {way} by {size} of its standard deviations."
        case Probability():
            return f"That is about {_share(value)}."
    return ""


def crude_in_words(query: Query) -> str:
    """What is asked of the rows without a graph, beside a question about an intervention."""
    if isinstance(query, TotalEffect | DirectEffect):
        return f"the slope of the regression of {query.effect} on {query.cause} alone"
    return in_words(as_seen(query))


def crude_meaning(query: Query, graph: Graph) -> str:
    """How far the crude number is the answer."""
    if isinstance(query, TotalEffect) and adjustment_set(graph, (query.cause,), (query.effect,)) == ():
        return "The graph says that nothing confounds the two, so both estimate the same number."
    return "It is an association, adjusted for nothing, and no effect unless nothing else connects the variables."


def _share(value: float) -> str:
    if 0.005 <= value <= 0.995:
        return f"{round(100 * value)} of 100 units"
    if value < 1e-6 or value > 1.0 - 1e-6:
        return "no unit" if value < 0.5 else "every unit"
    near = value if value < 0.5 else 1.0 - value
    text = f"one in {round(1.0 / near):,} units"
    return text if value < 0.5 else f"all but {text}"
