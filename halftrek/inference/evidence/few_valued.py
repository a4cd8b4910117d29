"""What an answer needs of variables that are not continuous: 0/1 outcomes, a few values, counts.

A linear model of a 0/1 variable is right about its means and effects, which are probabilities and changes of them
(linear probability); its errors are no more equally spread than normal. So effects and means say what they are and get
robust errors, and what needs a normal distribution (events, quantiles, spreads) warns, or is refused where a question
about the mean is the better one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeGuard

import numpy as np

from halftrek.data.columns.kinds import Kind, Shape, shapes
from halftrek.errors import QueryError
from halftrek.estimation import Fitted
from halftrek.estimation.given.data_kind import data_of
from halftrek.graphs import Graph, quoted
from halftrek.inference.evidence.layered import taken_notes, unsaid_notes
from halftrek.inference.evidence.rows_behind import codings
from halftrek.inference.kept import kept
from halftrek.models import Gaussian
from halftrek.notes import Note, note
from halftrek.queries import (
    Arithmetic,
    Distribution,
    ErrorCovariance,
    Probability,
    Quantile,
    Query,
    Standardized,
    Statistic,
)
from halftrek.queries.evaluate import value_of
from halftrek.queries.kinds.effects import ends_of
from halftrek.queries.kinds.terms import Expression, leaves
from halftrek.queries.kinds.variants import Case, Sum, Variant, names_in, single

Need = Literal["mean", "distribution", "variance", "event", "quantile"]


@dataclass(frozen=True)
class Part:
    """One number or distribution that is asked for: of which variables, where which are held, and what it needs.

    ``evidence`` are variables whose value was seen, ``selected`` those of which an event was seen.
    """

    outcomes: frozenset[str]
    need: Need
    held: frozenset[str] = frozenset()
    evidence: frozenset[str] = frozenset()
    selected: frozenset[str] = frozenset()
    changed: bool = False  # something is held, seen, or selected, so that spreads are not those of the rows


def few_valued(fit: Fitted, query: Query, result: float | Gaussian | None = None) -> tuple[Note, ...]:
    """What to know of an answer because some variables are not continuous: warnings, and notes on what it means.

    With ``result`` also whether a probability has left the range from 0 to 1.
    """
    known = _known(fit)
    if not known:
        return ()
    found: dict[Note, None] = {}
    for part in parts_of(query):
        for v in sorted(part.outcomes & known.keys()):
            found |= dict.fromkeys(_about_outcome(fit, part, v, known[v]))
        for v in sorted(part.selected & known.keys()):
            found[note("event of few values", variable=v, what=_what(v, known[v]))] = None
        for v in sorted(part.evidence & known.keys() & _effects(fit.graph, part)):
            if known[v].shape == "two values":
                found[note("evidence of two values", variable=v)] = None
    return (*found, *_outside(fit, query, result, known), *_alone(fit, query))


def probabilities(fit: Fitted) -> dict[str, Note]:
    """The outcomes of two values, each with a word on what effects on it are, for tables."""
    return {v: _probability(v, k) for v, k in _known(fit).items() if k.shape == "two values" and fit.graph.parents(v)}


def takes_normal(fit: Fitted, query: Query) -> bool:
    """Whether the outcomes of a question may be shown as normally distributed: all of them are continuous."""
    known = _known(fit)
    return not any(part.outcomes & known.keys() for part in parts_of(query))


def kind_notes(fit: Fitted) -> tuple[Note, ...]:
    """What columns were taken for, and which variables with causes are not continuous, for a summary of the fit."""
    known = {v: one for v, one in _known(fit).items() if fit.graph.parents(v)}
    texts = [_what(v, known[v]) for v in fit.graph.observed if v in known]
    apart = (note("not continuous", variables="; ".join(texts)),) if texts else ()
    return (*taken_notes(fit), *apart, *unsaid_notes(fit), *_sharp(fit))


def _sharp(fit: Fitted) -> tuple[Note, ...]:
    """Columns that follow a sharp rule."""
    if fit.acting is None or not fit.acting.off:
        return ()
    from halftrek.inference.evidence.separated import rule_notes  # here, for few fits need it

    return rule_notes(fit)


def refuse_few_valued(fit: Fitted, query: Query) -> None:
    """Raise QueryError where a normal distribution stands in the way of a better question.

    The probability that a 0/1 variable exceeds a bound is its mean, and it has no quantiles worth the name.
    """
    known = _known(fit)
    for leaf in leaves(query) if isinstance(query, Arithmetic) else (query,):
        if not isinstance(leaf, Probability | Quantile):
            continue
        for v in sorted({name for of in _sums(leaf) for name in _variables(of)} & known.keys()):
            if known[v].shape == "two values":
                raise QueryError(_instead(leaf, v, known[v].kind))


def robust_outcomes(fit: Fitted, query: Query | None = None) -> tuple[str, ...]:
    """Variables of two values whose equations an answer rests on; without a query all that have causes.

    Their spread moves with their mean, so that they need robust errors.
    """
    uneven = {v for v, one in _known(fit).items() if one.shape == "two values"}
    caused = {v for v in uneven if fit.graph.parents(v)}
    if query is not None and uneven:
        parts = list(parts_of(query))
        spreads = set().union(*(part.outcomes for part in parts if part.need != "mean"))  # means need no shape
        on = set().union(*(resting_on(fit.graph, part) for part in parts))
        caused = (caused & on) | (uneven & spreads)
    return tuple(v for v in fit.graph.observed if v in caused)


def resting_on(graph: Graph, part: Part) -> frozenset[str]:
    """The outcomes, and what lies between them and what is held."""
    outcomes = part.outcomes & set(graph.observed)
    between = graph.ancestors(outcomes) & graph.descendants(part.held & set(graph.observed)) if part.held else set()
    return frozenset((between | outcomes) - part.held)


def _effects(graph: Graph, part: Part) -> frozenset[str]:
    """What comes after what is asked for or held: having seen it, one concludes backwards to errors, by their shape.

    What comes before enters as a cause does, and linear equations are all that this needs.
    """
    return graph.descendants((part.outcomes | part.held) & set(graph.observed)) - part.held


# -- what is known of the variables --------------------------------------------------------------


@dataclass(frozen=True)
class _Known:
    shape: Shape
    kind: Kind


@kept
def _known(fit: Fitted) -> Mapping[str, _Known]:
    data = data_of(fit)
    if data.kinds is None:
        return {}
    kinds = dict(zip(data.names, data.kinds, strict=True))
    acting = () if fit.acting is None else fit.acting.margins
    return {v: _Known(shape, kinds[v]) for v, shape in shapes(data).items() if v not in acting}


def _what(variable: str, known: _Known) -> str:
    if known.shape == "count" or known.kind.values is None:
        return f"{variable} holds whole numbers from {known.kind.least or 0.0:g} on, close to zero"
    values = [f"{x:g}" for x in known.kind.values]
    return f"{variable} has the {len(values)} values {', '.join(values[:-1])} and {values[-1]}"


# -- findings ------------------------------------------------------------------------------------


def _about_outcome(fit: Fitted, part: Part, variable: str, known: _Known) -> Iterator[Note]:
    if known.shape == "two values" and fit.graph.parents(variable):
        yield _probability(variable, known)
    what = _what(variable, known)
    match part.need:
        case "distribution":
            yield note("not normal", variable=variable, what=what)
        case "variance" if part.changed:
            yield note("spread not equal", variable=variable, what=what)
        case "event" | "quantile":
            yield note("event of few values", variable=variable, what=what)


def _probability(variable: str, known: _Known) -> Note:
    low, high = known.kind.values or (0.0, 1.0)
    if (low, high) == (0.0, 1.0):
        return note("linear probability", variable=variable)
    return note("two values", variable=variable, low=low, high=high)


def _outside(fit: Fitted, query: Query, result: float | Gaussian | None, known: Mapping[str, _Known]) -> list[Note]:
    """A linear probability that is none: below the lower or above the upper of two values."""
    values: list[tuple[str, float]] = []
    if isinstance(result, Gaussian):
        values = [(v.partition("_{")[0], float(m)) for v, m in zip(result.names, result.mean, strict=True)]
    elif isinstance(result, float) and isinstance(query, Arithmetic) and _has_ratio(query):
        values = [_mean(leaf, float(value_of(leaf, fit.model))) for leaf in leaves(query) if _is_mean(leaf)]
    elif result is not None and _is_mean(query):
        values = [_mean(query, float(result))]
    found: dict[Note, None] = {}
    for v, value in values:
        ends = known[v].kind.values if v in known and known[v].shape == "two values" else None
        if ends and not ends[0] - 1e-9 <= value <= ends[1] + 1e-9 and not np.isnan(value):
            found[note("outside", variable=v, value=value, low=ends[0], high=ends[1])] = None
    return list(found)


def _is_mean(query: Query) -> TypeGuard[Statistic]:
    return isinstance(query, Statistic) and query.kind == "E" and query.of[0].alone is not None


def _mean(query: Statistic, value: float) -> tuple[str, float]:
    alone = query.of[0].alone
    assert alone is not None
    return alone.variable, value


def _has_ratio(query: Expression) -> bool:
    """True if one part is divided by another: a difference of two means is right where each of them is too far out."""
    if not isinstance(query, Arithmetic):
        return False
    return query.operation == "/" or _has_ratio(query.left) or _has_ratio(query.right)


def _alone(fit: Fitted, query: Query) -> Iterator[Note]:
    """An indicator that is set to 1 while others of its column stay as they are, though only one of them can be 1."""
    match query:
        case Distribution(_, case) | Statistic(_, _, case) | Probability(_, case) | Quantile(_, _, case):
            held = case.do
        case _:
            return
    known = codings(fit)
    for v, value in held.items():
        if not isinstance(v, str) or v not in known or known[v].column == v or value in (0.0, None):
            continue
        others = [w for w, one in known.items() if one.column == known[v].column and w not in held]
        if others:
            fix = ", ".join(f"{quoted(w)}=0" for w in others)
            yield note("indicator alone", variable=v, others=" and ".join(others), fix=fix)


def _instead(leaf: Probability | Quantile, variable: str, kind: Kind) -> str:
    """The refusal, with the question that has an answer."""
    low, high = kind.values or (0.0, 1.0)
    of = next(s for s in _sums(leaf) if variable in _variables(s))
    asked = of.alone if of.alone is not None and of.alone.variable == variable else Variant(variable)
    mean = Statistic("E", (single(asked),), replace(leaf.case, events=()))
    what = f"{leaf}: {variable} has the values {low:g} and {high:g}, and a normal distribution is no picture of it"
    if (low, high) == (0.0, 1.0):
        return f"{what}; ask {mean}, the probability that {variable} is 1 (linear probability)"
    return f"{what}; ask {mean}, its mean, from which the probability of {high:g} follows"


# -- what a question is about --------------------------------------------------------------------


def parts_of(query: Query | Expression) -> Iterator[Part]:
    """The numbers and distributions that a question is made of."""
    match query:
        case float():
            return
        case Arithmetic(_, left, right):
            yield from parts_of(left)
            yield from parts_of(right)
        case Distribution(of, case):
            yield _behind(of, case, "distribution")
        case Statistic(kind, of, case):
            yield _behind(of, case, "mean" if kind == "E" else "variance")
        case Probability(events, case):
            yield _behind(tuple(e.of for e in events), case, "event")
        case Quantile(_, of, case):
            yield _behind((of,), case, "quantile")
        case Standardized(effect):
            yield from parts_of(effect)
        case ErrorCovariance(u, v):
            yield Part(frozenset((u, v)), "variance")
        case _:
            cause, last = ends_of(query)
            yield Part(frozenset((last,)), "mean", frozenset((cause,)))


def _behind(of: tuple[Sum, ...], case: Case, need: Need) -> Part:
    """A part with what stands behind its bar."""
    variants = [v for s in of for _, v in s.parts]
    seen = [v for v, _ in case.given.items()]
    chosen = [v for event in case.events for _, v in event.of.parts]
    held = {v for t in case.do for v in ((t,) if isinstance(t, str) else t[:1])}
    for v in (*variants, *seen, *chosen):
        held |= set(names_in(v)) - {v.variable}
    return _with_change(
        Part(
            frozenset(v.variable for v in variants),
            need,
            frozenset(held),
            frozenset(v.variable for v in seen),
            frozenset(v.variable for v in chosen),
        )
    )


def _with_change(part: Part) -> Part:
    return replace(part, changed=bool(part.held or part.evidence or part.selected))


def _sums(leaf: Probability | Quantile) -> tuple[Sum, ...]:
    return tuple(e.of for e in leaf.events) if isinstance(leaf, Probability) else (leaf.of,)


def _variables(of: Sum) -> set[str]:
    return {v.variable for _, v in of.parts}
