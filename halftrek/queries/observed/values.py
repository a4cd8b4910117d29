"""What a model of the normal variables behind columns answers to a question about the columns, and how it moves.

The mean of an ordered or ranked outcome is ``v_1 + sum_k (v_{k+1} - v_k) P(y* > tau_k)``: its values, and the
probabilities of passing the cuts between them. An answer moves with the model's parameters and with the cuts; effects
along arrows are those of the variables behind, in their units.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial, reduce

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.errors import QueryError
from halftrek.layer import Layer, Margin
from halftrek.layer.bivariate import phi
from halftrek.models import CGLSCM, Gaussian
from halftrek.queries.checks import check_query
from halftrek.queries.derivatives import Gradient, Scale
from halftrek.queries.evaluate import values_of
from halftrek.queries.gradients import gradients_of, scale_of
from halftrek.queries.kinds.terms import Expression, Stepped
from halftrek.queries.kinds.variants import Case, Event, Sum, Variant, single
from halftrek.queries.numbers import combined
from halftrek.queries.observed.translation import Translation
from halftrek.queries.types import Arithmetic, Distribution, Probability, Quantile, Query, Statistic

STEP = 1e-4  # by which a cut is moved to either side, in standard deviations


def summed_cuts(
    one: Mapping[str, Floats], other: Mapping[str, Floats], ours: float, theirs: float
) -> dict[str, Floats]:
    """``ours * one + theirs * other``, by column; a column that is missing in one has no slope there."""
    cuts = {v: ours * line for v, line in one.items()}
    for v, line in other.items():
        cuts[v] = cuts.get(v, 0.0) + theirs * line
    return cuts


@dataclass(frozen=True, eq=False)
class Seen:
    """A number on the scale of the columns: its value, and its slopes in the parameters and (by column) in the cuts."""

    value: float
    slope: Gradient
    cuts: Mapping[str, Floats] = field(default_factory=dict)

    def plus(self, other: Seen, ours: float = 1.0, theirs: float = 1.0) -> Seen:
        """``ours * self + theirs * other``, to first order; its value is set apart."""
        cuts = summed_cuts(self.cuts, other.cuts, ours, theirs)
        value = ours * self.value + theirs * other.value
        return Seen(value, self.slope * ours + other.slope * theirs, cuts)


@dataclass(frozen=True, eq=False)
class Observed:
    """An answer: a number, or a distribution of plain outcomes; slopes of its values and variances, and their scale."""

    result: float | Gaussian
    values: tuple[Seen, ...]
    variances: tuple[Seen, ...] = ()
    scale: Scale = "plain"


@dataclass(frozen=True, eq=False)
class _Fitted:
    """A model, the layer whose variables it is about, and whether slopes are wanted; without, they are nothing."""

    model: CGLSCM
    layer: Layer
    slopes: bool

    def nothing(self) -> Gradient:
        return Gradient.zero(self.model.T)


def observed(query: Query, model: CGLSCM, layer: Layer, *, slopes: bool = True) -> Observed:
    """The answer to a question about the columns; without ``slopes`` its numbers alone, much faster."""
    check_query(query, model.graph)
    fitted = _Fitted(model, layer, slopes)
    if isinstance(query, Distribution):
        return _distribution(query, fitted)
    found = _expression(query, fitted)
    return Observed(found.value, (found,), scale=observed_scale(query, layer))


def observed_scale(query: Expression, layer: Layer) -> Scale:
    """Where the answer is closer to normal: probabilities on logits, their ratios on logarithms."""
    match query:
        case Statistic("E", (of,), _) if of.alone is not None and is_chance(layer.margin(of.alone.variable)):
            return "logit"
        case Arithmetic("/", left, right) if _positive(left, layer) and _positive(right, layer):
            return "log"
        case float():
            return "plain"
    return scale_of(query)


def is_chance(margin: Margin | None) -> bool:
    """True for a column of 0 and 1, whose mean is a probability."""
    return margin is not None and margin.cut and margin.values.tolist() == [0.0, 1.0]


def _positive(term: Expression, layer: Layer) -> bool:
    """True for probabilities, odds, and ratios of them."""
    match term:
        case Arithmetic("/", left, right):
            return _positive(left, layer) and _positive(right, layer)
        case Arithmetic("-", float(one), right):
            return one == 1.0 and observed_scale(right, layer) == "logit"
    return observed_scale(term, layer) == "logit"


# -- numbers -------------------------------------------------------------------------------------


def _expression(term: Expression, fitted: _Fitted) -> Seen:
    match term:
        case Arithmetic(operation, left, right):
            a, b = _expression(left, fitted), _expression(right, fitted)
            value = float(combined(operation, np.array(a.value), np.array(b.value), term))
            match operation:
                case "*":
                    found = a.plus(b, b.value, a.value)
                case "/":
                    found = a.plus(b, 1.0 / b.value, -a.value / b.value**2)
                case _:
                    found = a.plus(b, 1.0, 1.0 if operation == "+" else -1.0)
            return Seen(value, found.slope, found.cuts)
        case Probability(events, case):
            return _moving(fitted, lambda t: Probability(tuple(map(t.event, events)), t.case(case)))[0]
        case Statistic("E", (of,), case):
            return _mean(of, case, fitted)
        case Statistic(kind, sums, case):
            _refuse_outcomes(sums, fitted.layer, f"{kind}[...]")
            return _moving(fitted, lambda t: Statistic(kind, tuple(map(t.sum, sums)), t.case(case)))[0]
        case Quantile(level, of, case):
            _refuse_outcomes((of,), fitted.layer, "Q(...)")
            return _moving(fitted, lambda t: Quantile(level, t.sum(of), t.case(case)))[0]
        case float() | int():
            return Seen(float(term), fitted.nothing())
    return _moving(fitted, lambda _: term)[0]


def _moving(fitted: _Fitted, made: Callable[[Translation], Query]) -> list[Seen]:
    """Values, then variances, of a question that is translated; its slopes in the numbers that come of cuts too."""
    plain = Translation(fitted.layer)
    query = made(plain)
    numbers = _numbers(query, fitted.model)
    if not fitted.slopes:
        return [Seen(float(x), fitted.nothing()) for x in numbers]
    slopes = gradients_of(query, fitted.model)
    cuts = _by_cuts(plain, lambda t: _numbers(made(t), fitted.model), len(numbers))
    every = (*slopes.values, *slopes.variances)
    return [Seen(float(x), slope, line) for x, slope, line in zip(numbers, every, cuts, strict=True)]


def _by_cuts(plain: Translation, numbers: Callable[[Translation], Floats], count: int) -> list[dict[str, Floats]]:
    """How each number moves with the cuts that were met in translation."""
    cuts: list[dict[str, Floats]] = [{} for _ in range(count)]
    for k, (name, weights) in enumerate(plain.met):
        up, down = (numbers(Translation(plain.layer, k, step)) for step in (STEP, -STEP))
        for line, slope in zip(cuts, (up - down) / (2.0 * STEP), strict=True):
            line[name] = line.get(name, 0.0) + slope * weights
    return cuts


def _numbers(query: Query, model: CGLSCM) -> Floats:
    return np.concatenate(values_of(query, model))


def _mean(of: Sum, case: Case, fitted: _Fitted) -> Seen:
    """The mean of a sum: part by part."""
    total = Seen(0.0, fitted.nothing())
    for weight, variant in of.parts:
        margin = fitted.layer.margin(variant.variable)
        boxes = len(case.events) + len(_cut_given(case, fitted.layer))
        if margin is None and boxes <= 1:
            part = _moving(fitted, partial(_expected, variant, case))[0]
        elif boxes and (margin is None or not margin.cut):
            part = _mean_given_events(variant, margin, case, fitted)
        elif boxes:
            assert margin is not None  # a plain one had its turn
            part = _mean_by_chances(variant, margin, case, fitted)
        else:
            assert margin is not None
            part = _mean_behind(variant, margin, case, fitted)
        total = total.plus(part, 1.0, weight)
    return total


def _cut_given(case: Case, layer: Layer) -> list[Variant]:
    """What was seen in a category."""
    return [v for v in case.given if (m := layer.margin(v.variable)) is not None and m.cut]


def _expected(variant: Variant, case: Case, t: Translation) -> Statistic:
    return Statistic("E", (single(t.variant(variant)),), t.case(case))


def _mean_behind(variant: Variant, margin: Margin, case: Case, fitted: _Fitted) -> Seen:
    """From mean and variance of the variable behind, which is normal."""
    mean, variance = _moving(fitted, lambda t: Distribution((single(t.variant(variant)),), t.case(case)))
    sd, steps = float(np.sqrt(max(variance.value, 0.0))), np.diff(margin.values)
    if sd == 0.0:
        raise QueryError(f"{variant} does not vary here, so that it has one category; ask for another outcome")
    from scipy.special import ndtr

    u = (margin.cuts - mean.value) / sd
    density = steps * phi(u) / sd
    found = mean.plus(variance, float(density.sum()), float((density * u).sum()) / (2.0 * sd))
    cuts = dict(found.cuts)
    cuts[variant.variable] = cuts.get(variant.variable, 0.0) - density
    return Seen(float(margin.values[-1] - steps @ ndtr(u)), found.slope, cuts)


def _mean_by_chances(variant: Variant, margin: Margin, case: Case, fitted: _Fitted) -> Seen:
    """From the probabilities of passing each cut, where categories of other columns were seen."""
    total = Seen(float(margin.values[0]), fitted.nothing())
    for value, step in zip(margin.values[:-1].tolist(), np.diff(margin.values).tolist(), strict=True):
        chance = Probability((Event(single(variant), low=value),), case)
        total = total.plus(_expression(chance, fitted), 1.0, step)
    return total


def _mean_given_events(variant: Variant, margin: Margin | None, case: Case, fitted: _Fitted) -> Seen:
    """That of a ranked column where categories or ranges of others were seen, or of a plain one where several were."""
    from halftrek.queries.observed.given import given_events

    plain = Translation(fitted.layer)
    query = _expected(variant, case, plain)
    found = given_events(query, fitted.model, margin)
    if found is None:  # they happen anyway
        known = {v: x for v, x in case.given.items() if v not in _cut_given(case, fitted.layer)}
        return _mean(single(variant), Case(case.do, known), fitted)
    if not fitted.slopes:
        return Seen(found.value, fitted.nothing())

    def number(t: Translation) -> Floats:
        moved = given_events(_expected(variant, case, t), fitted.model, margin)
        assert moved is not None  # a step of a cut decides nothing
        return np.array([moved.near])

    (cuts,) = _by_cuts(plain, number, 1)
    if margin is not None:
        cuts[variant.variable] = cuts.get(variant.variable, 0.0) + found.cut_slopes()
    return Seen(found.value, found.slope(), cuts)


# -- the same as a question --------------------------------------------------------------------------


def behind_question(query: Query, layer: Layer) -> Query:
    """The question about the variables behind the columns whose answer is that about the columns, at these cuts."""
    if isinstance(query, Distribution):
        _refuse_outcomes(query.of, layer, "P(...)")
        t = Translation(layer)
        return Distribution(tuple(map(t.sum, query.of)), t.case(query.case))
    found = _behind(query, layer)
    assert not isinstance(found, float)  # a question is no number
    return found


def _behind(term: Expression, layer: Layer) -> Expression:
    t = Translation(layer)
    match term:
        case Arithmetic(operation, left, right):
            return Arithmetic(operation, _behind(left, layer), _behind(right, layer))
        case Probability(events, case):
            return Probability(tuple(map(t.event, events)), t.case(case))
        case Statistic("E", (of,), case):
            parts = [_behind_mean(weight, variant, case, layer) for weight, variant in of.parts]
            return reduce(lambda a, b: Arithmetic("+", a, b), parts)
        case Statistic(kind, sums, case):
            _refuse_outcomes(sums, layer, f"{kind}[...]")
            return Statistic(kind, tuple(map(t.sum, sums)), t.case(case))
        case Quantile(level, of, case):
            _refuse_outcomes((of,), layer, "Q(...)")
            return Quantile(level, t.sum(of), t.case(case))
    return term


def _behind_mean(weight: float, variant: Variant, case: Case, layer: Layer) -> Expression:
    margin, t = layer.margin(variant.variable), Translation(layer)
    if margin is None:
        found: Expression = _expected(variant, case, t)
    elif not margin.cut:
        found = _behind_ranks(variant, margin, t.case(case), t)
    else:
        pairs = zip(margin.values[:-1].tolist(), np.diff(margin.values).tolist(), strict=True)
        chances = [(step, _behind(Probability((Event(single(variant), low=v),), case), layer)) for v, step in pairs]
        terms = [one if step == 1.0 else Arithmetic("*", step, one) for step, one in chances]
        first = float(margin.values[0])
        found = reduce(lambda a, b: Arithmetic("+", a, b), terms if first == 0.0 else [first, *terms])
    return found if weight == 1.0 else Arithmetic("*", weight, found)


def _behind_ranks(variant: Variant, whole: Margin, case: Case, t: Translation) -> Stepped:
    if case.events:
        middle = float(whole.values[(len(whole.values) - 1) // 2])
        raise QueryError(
            f"the mean of {variant.variable}, which is ranked, is no short formula where others were seen in "
            f"categories or ranges; ask for P({variant} > {middle:g} | ...)"
        )
    from halftrek.queries.observed.given import MANY
    from halftrek.queries.observed.units import in_bins

    margin = in_bins(whole) if len(whole.values) > MANY else whole
    cuts, steps = tuple(margin.cuts.tolist()), tuple(np.diff(margin.values).tolist())
    return Stepped("steps", (single(t.variant(variant)),), case, float(margin.values[0]), cuts, steps)


# -- distributions -------------------------------------------------------------------------------


def _distribution(query: Distribution, fitted: _Fitted) -> Observed:
    _refuse_outcomes(query.of, fitted.layer, "P(...)")
    found = _moving(fitted, lambda t: Distribution(tuple(map(t.sum, query.of)), t.case(query.case)))
    from halftrek.queries.evaluate import evaluate

    t = Translation(fitted.layer)
    result = evaluate(Distribution(tuple(map(t.sum, query.of)), t.case(query.case)), fitted.model)
    assert isinstance(result, Gaussian)
    half = len(found) // 2
    named = Gaussian(query.labels, result.mean, result.cov)
    return Observed(named, tuple(found[:half]), tuple(found[half:]))


def _refuse_outcomes(of: tuple[Sum, ...], layer: Layer, what: str) -> None:
    for s in of:
        for _, v in s.parts:
            margin = layer.margin(v.variable)
            if margin is not None:
                middle = float(margin.values[(len(margin.values) - 1) // 2])
                kind = "ranked" if margin.kind == "ranked" else "in categories"
                raise QueryError(
                    f"{what} of {v.variable}, which is {kind}, is no normal distribution; ask E[{v} | ...], or "
                    f"P({v} > {middle:g} | ...)"
                )
