"""Composite questions that are not rational in the parameters, at a point in floating point."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from halftrek.identification.local.pieces import mean_of, stand_in
from halftrek.models import CGLSCM
from halftrek.queries.evaluate import evaluate
from halftrek.queries.gradients import linearize
from halftrek.queries.kinds.terms import Expression
from halftrek.queries.kinds.variants import Case, Change, Event, Sum, Target, Variant
from halftrek.queries.types import (
    Arithmetic,
    Composite,
    DirectEffect,
    Distribution,
    ErrorCovariance,
    PathEffect,
    Probability,
    Quantile,
    Statistic,
    ThroughEffect,
    TotalEffect,
)

if TYPE_CHECKING:
    from halftrek.identification.local.parameters import Point
    from halftrek.identification.numbers.fields import Array


def model_at(point: Point, *, means: bool) -> CGLSCM:
    """The model at a point, with means that stand for any others, or with intercepts zero."""
    graph = point.parameters.graph
    T, C, W = point.matrices(graph.observed)
    intercepts = np.zeros(len(graph))
    if means:
        observed = np.array([mean_of(v) for v in graph.observed])
        intercepts = observed - observed @ T
    return CGLSCM(graph.observed, T, C, intercepts, W, tuple(graph.latents), point.parameters.seen or graph)


def smooth_dual(query: Composite, point: Point) -> Array:
    """The answer and its derivatives in the free parameters."""
    table = point.parameters
    model = model_at(point, means=True)
    asked = filled(query)
    value = evaluate(asked, model)
    (gradient,) = linearize(asked, model).values
    place = {v: i for i, v in enumerate(model.names)}
    hidden = {u: i for i, u in enumerate(model.latents)}
    by_loading = 2.0 * model.C @ gradient.omega
    found = np.zeros(1 + table.count)
    assert isinstance(value, float)  # only distributions are more than a number
    found[0] = value
    for e in table.entries:
        if e.parameter is None:
            continue
        j = place[e.target]
        if e.kind == "loading":
            slope = by_loading[hidden[e.source], j]
        elif e.kind == "direct":
            slope = gradient.T[place[e.source], j]
        else:
            slope = gradient.omega[place[e.source], j] * (1.0 if e.kind == "noise" else 2.0)
        found[1 + e.parameter] += slope
    return found


def filled(query: Composite) -> Composite:
    """The question with numbers in the place of values that were left out."""
    return with_changes(query, lambda v: _filled_changes(v.changes), fill=True)


def unchanged(query: Composite) -> Composite:
    """The same question about the world as it is."""
    return with_changes(query, lambda _: {})


Edit = Callable[[Variant], dict[Target, Change]]


def with_changes(query: Composite, edit: Edit, *, fill: bool = False) -> Composite:
    """The question with the changes of each variable's world edited, and perhaps values put in for those left out.

    What ``do`` changes is written at each variable instead.
    """

    def variant(v: Variant) -> Variant:
        return Variant(v.variable, edit(v))

    def total(of: Sum) -> Sum:
        weights: dict[Variant, float] = {}
        for weight, v in of.parts:
            weights[variant(v)] = weights.get(variant(v), 0.0) + weight
        return Sum(tuple((weight, v) for v, weight in weights.items()))

    def event(e: Event) -> Event:
        return replace(e, of=total(e.of))

    def behind(case: Case) -> Case:
        given = {
            variant(case.placed(v)): stand_in(f"seen {case.placed(v)}") if x is None and fill else x
            for v, x in case.given.items()
        }
        return Case({}, given, tuple(map(event, case.in_worlds.events)))

    def side(expression: Expression) -> Expression:
        match expression:
            case Arithmetic(operation, left, right):
                return Arithmetic(operation, side(left), side(right))
            case Statistic(_, of, case):
                return replace(expression, of=tuple(total(case.placed_sum(o)) for o in of), case=behind(case))
            case Probability(events, case):
                placed = tuple(event(replace(e, of=case.placed_sum(e.of))) for e in events)
                return replace(expression, events=placed, case=behind(case))
            case Quantile(_, whole, case):
                return replace(expression, of=total(case.placed_sum(whole)), case=behind(case))
        return expression

    if isinstance(query, Distribution):
        return replace(query, of=tuple(total(query.case.placed_sum(o)) for o in query.of), case=behind(query.case))
    found = side(query)
    assert not isinstance(found, float | DirectEffect | TotalEffect | PathEffect | ThroughEffect | ErrorCovariance)
    return found


def _filled_changes(changes: Mapping[Target, Change]) -> dict[Target, Change]:
    found: dict[Target, Change] = {}
    for target, change in changes.items():
        if change is None:
            name = target if isinstance(target, str) else f"{target[0]} -> {target[1]}"
            found[target] = stand_in(f"held {name}")
        elif isinstance(change, Variant):
            found[target] = Variant(change.variable, _filled_changes(change.changes))
        else:
            found[target] = change
    return found
