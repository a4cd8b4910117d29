"""Answers of a model in which categories act: sums over the categories that acting columns may be in.

Where an acting column is in category a, its children take its value to be a: ``x -> y = a`` for each child. The
column's own variable does not feel it, so that with all such values in place the model is linear and normal, and
``P(event) = sum over a of P(event in the world of a, and x* between the cuts of a)``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product
from math import inf

import numpy as np

from halftrek.errors import QueryError
from halftrek.layer import Margin
from halftrek.models import CGLSCM
from halftrek.queries.checks import check_query, variables_of
from halftrek.queries.derivatives import Scale
from halftrek.queries.evaluate import value_of
from halftrek.queries.gradients import scale_of
from halftrek.queries.kinds.effects import EFFECTS, ends_of
from halftrek.queries.kinds.terms import Expression, case_of
from halftrek.queries.kinds.variants import Case, Change, Event, Sum, Target, Variant, single
from halftrek.queries.numbers import combined
from halftrek.queries.types import Arithmetic, Distribution, Probability, Quantile, Query, Standardized, Statistic
from halftrek.queries.written.writing import Value, number

Margins = Mapping[str, Margin]
STEP = 1e-4
RARE = 1e-12  # probability below which a category adds nothing


def acting_value(query: Query, model: CGLSCM, margins: Margins) -> float:
    """The number that a question asks for."""
    check_query(query, model.graph)
    if isinstance(query, Distribution):
        raise QueryError(f"{query}: where a category acts, outcomes are not normal; ask E[...] or P(y > 0 | ...)")
    return _number(query, model, margins)


def acting_scale(query: Query, margins: Margins) -> Scale:
    """Where the answer is closer to normal: probabilities on logits, ratios of them on logarithms."""
    match query:
        case Statistic("E", (of,), _) if of.alone is not None and of.alone.variable in margins:
            return "logit" if margins[of.alone.variable].values.tolist() == [0.0, 1.0] else "plain"
        case Arithmetic("/", left, right) if not isinstance(left, float) and not isinstance(right, float):
            sides = {acting_scale(left, margins), acting_scale(right, margins)}
            return "log" if sides <= {"logit", "log"} else "plain"
        case Arithmetic("-", 1.0, right) if not isinstance(right, float):
            return acting_scale(right, margins)
    return scale_of(query)


def _number(term: Expression, model: CGLSCM, margins: Margins) -> float:
    match term:
        case Arithmetic(operation, left, right):
            a, b = (np.array(_number(side, model, margins)) for side in (left, right))
            return float(combined(operation, a, b, term))
        case Probability(events, case):
            world = _World(model, margins, term)
            known = world.seen(case)
            return world.chance((*map(world.event, events), *known), case) / world.chance(known, case)
        case Statistic("E", (of,), case):
            return _mean(of, case, model, margins, term)
        case Statistic() | Quantile() | Standardized():
            raise QueryError(f"{term} is not known where a category acts; ask E[...] or P(y > 0 | ...)")
        case float() | int():
            return float(term)
    if isinstance(term, EFFECTS):
        cause, last = ends_of(term)
        graph = model.graph
        between = (graph.descendants(cause) & graph.ancestors(last)) - {cause, last}
        acting = [v for v in graph.observed if v in between and v in margins]
        if acting:
            raise QueryError(
                f"{term}: {acting[0]} lies between and acts as a category, so that the effect is no single number; ask "
                f"E[{last} | do({cause}=1)] - E[{last} | do({cause}=0)]"
            )
    return float(value_of(term, model))


def _mean(of: Sum, case: Case, model: CGLSCM, margins: Margins, term: Statistic) -> float:
    world, total = _World(model, margins, term), 0.0
    known = world.seen(case)
    for weight, variant in of.parts:
        margin = margins.get(variant.variable)
        if margin is None:
            total += weight * world.mean(variant, known, case)
            continue
        whole, mean = world.chance(known, case), float(margin.values[0])
        for value, step in zip(margin.values[:-1].tolist(), np.diff(margin.values).tolist(), strict=True):
            above = world.event(Event(single(variant), low=value))
            mean += step * world.chance((above, *known), case) / whole
        total += weight * mean
    return total


class _World:
    """The world that ``do`` makes, in which some columns act."""

    def __init__(self, model: CGLSCM, margins: Margins, term: Probability | Statistic) -> None:
        self._model, self._margins, self._term = model, margins, term
        graph, case = model.graph, case_of(term)
        asked = frozenset(variables_of(term)) & frozenset(graph.observed)
        for variant in (*(v for of in _sums(term) for _, v in of.parts), *case.given):
            if variant.changes:
                raise QueryError(f"{term}: what {variant} would have been is not known where a category acts")
        for target, change in case.do.items():
            self._check_change(target, change)
        held = {t for t in case.do if isinstance(t, str)}
        before = graph.ancestors(asked)
        self._acting = [v for v in graph.observed if v in margins and v not in held and set(graph.children(v)) & before]
        for variant in case.given:
            after = [v for v in self._acting if variant.variable in graph.descendants(v) and variant.variable != v]
            if variant.variable not in margins and after:
                raise QueryError(
                    f"{term}: having seen {variant.variable}, which {after[0]} acts on, is not known yet; ask without "
                    f"it"
                )

    def _check_change(self, target: Target, change: Change) -> None:
        cause = target if isinstance(target, str) else target[0]
        if cause not in self._margins or change is None:
            return
        values = self._margins[cause].values.tolist()
        if isinstance(change, float | int) and change in values:
            return
        known = ", ".join(map(number, values))
        raise QueryError(f"{self._term}: {cause} acts as a category and can be held at one of its values: {known}")

    def event(self, event: Event) -> Event:
        """An event, with cuts in the place of categories."""
        alone = event.of.alone
        margin = None if alone is None else self._margins.get(alone.variable)
        if margin is None:
            mixed = [v for _, v in event.of.parts if v.variable in self._margins]
            if mixed:
                raise QueryError(f"{event.of}: {mixed[0]} is in categories and cannot be added up; ask for it alone")
            return event
        low = (
            0
            if event.low == -inf
            else int(np.searchsorted(margin.values, event.low, "left" if event.low_in else "right"))
        )
        high = int(np.searchsorted(margin.values, event.high, "right" if event.high_in else "left"))
        if event.at is not None and low >= high:
            raise QueryError(f"{event}: {event.of} has the values {', '.join(map(number, margin.values.tolist()))}")
        ends = np.concatenate([[-inf], margin.cuts, [inf]])
        return Event(event.of, *((inf, inf) if low >= high else (float(ends[low]), float(ends[high]))))

    def seen(self, case: Case) -> tuple[Event, ...]:
        """What was seen of columns in categories, and other events behind the bar."""
        found = [self.event(e) for e in case.events]
        for variant, value in case.given.items():
            margin = self._margins.get(variant.variable)
            if margin is not None and value is not None:
                if value not in margin.values:
                    known = ", ".join(map(number, margin.values.tolist()))
                    raise QueryError(f"{self._term}: {variant.variable} has the values {known}")
                found.append(self.event(Event(single(variant), value, value, low_in=True, high_in=True)))
        return tuple(found)

    def chance(self, events: tuple[Event, ...], case: Case) -> float:
        """The probability that all events happen, given the values that were seen."""
        if not events:
            return 1.0
        return sum(self._share(one, case, (*events, *bands)) for one, bands in self._ways())

    def mean(self, variant: Variant, known: tuple[Event, ...], case: Case) -> float:
        """The mean of a plain variable, given events.

        Over a box B of normal variables x_j, ``E[w 1_B] = E[w] P(B) + sum_j Cov(w, x_j) dP(B)/dE[x_j]`` (Tallis 1961),
        the last a slope: what the probability makes of ends that move by the covariances.
        """
        total, whole = 0.0, 0.0
        for one, bands in self._ways():
            events, there = (*known, *bands), self._case(one, case)
            share = self._share(one, case, events)
            if share <= RARE:
                continue
            mean = float(value_of(Statistic("E", (single(variant),), there), self._model))
            if events:
                sides = [self._share(one, case, self._moved(variant, events, there, t)) for t in (STEP, -STEP)]
                mean += (sides[0] - sides[1]) / (2.0 * STEP) / share
            total, whole = total + share * mean, whole + share
        return total / whole

    def _moved(self, variant: Variant, events: tuple[Event, ...], case: Case, step: float) -> tuple[Event, ...]:
        """Events with ends moved against their covariances with a variable, which is moving their means by these."""
        found = []
        for event in events:
            both = Statistic("Cov", (single(variant), event.of), case)
            move = step * float(value_of(both, self._model))
            found.append(replace(event, low=event.low - move, high=event.high - move))
        return tuple(found)

    def _share(self, changes: Mapping[Target, Change], case: Case, events: tuple[Event, ...]) -> float:
        if not events:
            return 1.0
        return float(value_of(Probability(events, self._case(changes, case)), self._model))

    def _case(self, changes: Mapping[Target, Change], case: Case) -> Case:
        given: dict[Variant, Value] = {v: x for v, x in case.given.items() if v.variable not in self._margins}
        return Case({**case.do, **changes}, given)

    def _ways(self) -> Iterator[tuple[dict[Target, Change], tuple[Event, ...]]]:
        """Every combination of categories: what children take values to be, and between which cuts variables lie."""
        graph = self._model.graph
        for values in product(*(self._margins[v].values.tolist() for v in self._acting)):
            changes: dict[Target, Change] = {}
            bands = []
            for v, value in zip(self._acting, values, strict=True):
                changes |= {(v, child): value for child in graph.children(v)}
                bands.append(self.event(Event(single(v), value, value, low_in=True, high_in=True)))
            yield changes, tuple(bands)


def _sums(term: Probability | Statistic) -> tuple[Sum, ...]:
    return tuple(e.of for e in (*term.events, *term.case.events)) if isinstance(term, Probability) else term.of
