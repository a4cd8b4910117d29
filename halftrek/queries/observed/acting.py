"""Answers of a model in which categories act, on the scale of the columns: see ``worlds`` for how they are summed up.

Numbers that come of a cut between values of a ranked column are remembered with their slopes: such cuts are no
parameters, and are uncertain too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.errors import QueryError
from halftrek.layer import Margin
from halftrek.layer.bivariate import phi
from halftrek.models import CGLSCM, Gaussian
from halftrek.queries.checks import check_query
from halftrek.queries.derivatives import Scale
from halftrek.queries.evaluate import evaluate, value_of
from halftrek.queries.gradients import scale_of
from halftrek.queries.kinds.effects import EFFECTS, ends_of
from halftrek.queries.kinds.statistics import refuse_single_values
from halftrek.queries.kinds.terms import Expression
from halftrek.queries.kinds.variants import Case, Event, Variant, single
from halftrek.queries.numbers import combined
from halftrek.queries.observed.spreads import quantile_value, spread_value
from halftrek.queries.observed.translation import Translation
from halftrek.queries.observed.values import summed_cuts
from halftrek.queries.observed.worlds import worlds_of
from halftrek.queries.types import (
    Arithmetic,
    DirectEffect,
    Distribution,
    Probability,
    Quantile,
    Query,
    Standardized,
    Statistic,
)

Margins = Mapping[str, Margin]
STEP = 1e-4  # by which a cut is moved to either side, in standard deviations


@dataclass(frozen=True, eq=False)
class Told:
    """A number, and its slopes in the cuts of ranked columns."""

    value: float
    cuts: Mapping[str, Floats] = field(default_factory=dict)

    def plus(self, other: Told, ours: float = 1.0, theirs: float = 1.0) -> Told:
        """``ours * self + theirs * other``."""
        cuts = summed_cuts(self.cuts, other.cuts, ours, theirs)
        return Told(ours * self.value + theirs * other.value, cuts)


@dataclass(frozen=True, eq=False)
class _Known:
    """Margins by name, for translations."""

    margins: Margins

    def margin(self, name: str) -> Margin | None:
        return self.margins.get(name)


def acting_value(query: Query, model: CGLSCM, margins: Margins) -> float:
    """The number that a question asks for."""
    return acting_answer(query, model, margins).value


def acting_answer(query: Query, model: CGLSCM, margins: Margins) -> Told:
    """The number that a question asks for, and how it moves with the cuts of ranked columns."""
    check_query(query, model.graph)
    if isinstance(query, Distribution):
        raise QueryError(
            f"{query}: where a category acts, outcomes are not normal; ask for a mean or a probability, "
            "E[y | ...], P(y > 0 | ...) or P(y = 1 | ...)"
        )
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


def _number(term: Expression, model: CGLSCM, margins: Margins) -> Told:
    match term:
        case Arithmetic(operation, left, right):
            a, b = (_number(side, model, margins) for side in (left, right))
            value = float(combined(operation, np.array(a.value), np.array(b.value), term))
            ours, theirs = {
                "*": (b.value, a.value),
                "/": (1.0 / (b.value or 1.0), -a.value / (b.value or 1.0) ** 2),
                "-": (1.0, -1.0),
            }.get(operation, (1.0, 1.0))
            return replace(a.plus(b, ours, theirs), value=value)
        case Probability():
            return _moving(margins, partial(_chance, term, model, margins))
        case Statistic("E", (of,), case):
            total = Told(0.0)
            for weight, variant in of.parts:
                total = total.plus(_mean(variant, case, model, margins), 1.0, weight)
            return total
        case Statistic():
            return _moving(margins, partial(spread_value, term, model, margins))
        case Quantile():
            return _moving(margins, partial(quantile_value, term, model, margins))
        case Standardized():
            raise QueryError(f"{term} is not known where a category acts; ask E[...] or P(y > 0 | ...)")
        case float() | int():
            return Told(float(term))
    if isinstance(term, EFFECTS) and not isinstance(term, DirectEffect):
        cause, last = ends_of(term)
        graph = model.graph
        between = (graph.descendants(cause) & graph.ancestors(last)) - {cause, last}
        acting = [v for v in graph.observed if v in between and v in margins and margins[v].kind == "acts"]
        if acting:
            raise QueryError(
                f"{term}: {acting[0]} lies between and acts as a category, so that the effect is no single number; ask "
                f"E[{last} | do({cause}=1)] - E[{last} | do({cause}=0)]"
            )
    return Told(float(value_of(term, model)))


def _moving(margins: Margins, of: Callable[[Translation], float]) -> Told:
    """A number of a translated question, with its slopes in what comes of the cuts of ranked columns."""
    plain = Translation(_Known(margins))
    value, cuts = of(plain), dict[str, Floats]()
    for k, (name, weights) in enumerate(plain.met):
        if not margins[name].cut:
            up, down = (of(Translation(_Known(margins), k, step)) for step in (STEP, -STEP))
            cuts[name] = cuts.get(name, 0.0) + (up - down) / (2.0 * STEP) * weights
    return Told(value, cuts)


def _chance(term: Probability, model: CGLSCM, margins: Margins, t: Translation) -> float:
    events, case = tuple(map(t.event, term.events)), t.case(term.case)
    if any(e.at is not None for e in events):
        refuse_single_values(term if len(events) == 1 else replace(term, events=events))
    events = tuple(replace(e, of=case.placed_sum(e.of)) for e in events)
    worlds = worlds_of(tuple(v for e in events for _, v in e.of.parts), case, model, margins)
    known = case.in_worlds.events
    return worlds.chance((*events, *known)) / _possible(worlds.chance(known), term)


def _possible(share: float, term: object) -> float:
    if not share > 0.0:
        raise QueryError(f"{term}: what was seen next to never occurs in this model")
    return share


# -- means ---------------------------------------------------------------------------------------


def _mean(variant: Variant, case: Case, model: CGLSCM, margins: Margins) -> Told:
    margin = margins.get(variant.variable)
    if margin is None:
        return _moving(margins, partial(_plain_mean, variant, case, model, margins))
    if not margin.cut:
        return _ranked_mean(variant, margin, case, model, margins)
    total = Told(float(margin.values[0]))
    for value, step in zip(margin.values[:-1].tolist(), np.diff(margin.values).tolist(), strict=True):
        above = Probability((Event(single(variant), low=value),), case)
        total = total.plus(_number(above, model, margins), 1.0, step)
    return total


def _plain_mean(variant: Variant, case: Case, model: CGLSCM, margins: Margins, t: Translation) -> float:
    here = t.case(case)
    place = here.placed(t.variant(variant))
    return worlds_of((place,), here, model, margins).mean(place, here.in_worlds.events)


def _ranked_mean(variant: Variant, margin: Margin, case: Case, model: CGLSCM, margins: Margins) -> Told:
    """``v_1 + sum_k (v_{k+1} - v_k) P(y* > tau_k)``; in closed form where the variable behind is normal."""

    def below(t: Translation) -> tuple[Floats, Floats]:
        here = t.case(case)
        place = here.placed(t.variant(variant))
        worlds, known = worlds_of((place,), here, model, margins), here.in_worlds.events
        if known or not worlds.single:
            return worlds.below(place, margin.cuts, known)
        found = evaluate(Distribution((single(place),), here.in_worlds), model)
        assert isinstance(found, Gaussian)
        return _normal_below(variant, margin.cuts, float(found.mean[0]), float(np.sqrt(max(found.cov[0, 0], 0.0))))

    steps = np.diff(margin.values)
    own = {variant.variable: -steps * below(Translation(_Known(margins)))[1]}
    moving = _moving(margins, lambda t: float(margin.values[-1] - steps @ below(t)[0]))
    return moving.plus(Told(0.0, own))


def _normal_below(variant: Variant, cuts: Floats, mean: float, sd: float) -> tuple[Floats, Floats]:
    """The probabilities that a normal variable lies below cuts, and its densities there."""
    from scipy.special import ndtr

    if sd == 0.0:
        raise QueryError(f"{variant} does not vary here, so that it has one value; ask for another outcome")
    u = (cuts - mean) / sd
    return np.asarray(ndtr(u)), phi(u) / sd
