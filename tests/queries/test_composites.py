"""Composite questions against an oracle that solves each world's equations, and gradients against differences."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from math import inf, sqrt
from statistics import NormalDist
from typing import Any, TypeVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import IntegrationWarning, quad

from halftrek.errors import QueryError
from halftrek.models import CGLSCM, Gaussian
from halftrek.queries import (
    Arithmetic,
    Distribution,
    Probability,
    Quantile,
    Query,
    Standardized,
    Statistic,
    evaluate,
)
from halftrek.queries.gradients import linearize
from halftrek.queries.kinds.effects import ends_of
from halftrek.queries.kinds.terms import case_of, sums_of
from halftrek.queries.kinds.variants import Event, single
from halftrek.syntax import parse_question
from tests.estimation.strategies import models
from tests.narrow import normal, number
from tests.queries.composites import Maker, Number, dense_given, dense_joint, sum_in_worlds
from tests.queries.test_gradients import compare


def conditional(term: Any, model: CGLSCM) -> tuple[np.ndarray, np.ndarray]:
    case = case_of(term)
    sums = [*sums_of(term), *(e.of for e in case.events), *map(single, case.given)]
    count = len(sums) - len(case.given)
    return dense_given(*dense_joint(model, sums, case.do), count, np.array(list(case.given.values())))


def box(mean: np.ndarray, cov: np.ndarray, events: Sequence[Event]) -> float:
    """Probability by conditioning on one coordinate after the other, numerically."""
    if not events:
        return 1.0
    sd = sqrt(max(cov[0, 0], 0.0))
    low, high = events[0].low, events[0].high
    if sd < 1e-7:
        return box(mean[1:], cov[1:, 1:], events[1:]) if low < mean[0] < high else 0.0
    curve = NormalDist(mean[0], sd)
    if len(events) == 1:
        return curve.cdf(high) - curve.cdf(low)

    def rest(x: float) -> float:
        slope = cov[1:, 0] / cov[0, 0]
        return curve.pdf(x) * box(
            mean[1:] + slope * (x - mean[0]), cov[1:, 1:] - np.outer(slope, cov[0, 1:]), events[1:]
        )

    ends = max(low, mean[0] - 9 * sd), min(high, mean[0] + 9 * sd)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IntegrationWarning)  # rounding below what is compared
        return quad(rest, *ends, limit=500, points=None)[0] if ends[0] < ends[1] else 0.0


def cut(mean: np.ndarray, cov: np.ndarray, event: Event) -> tuple[np.ndarray, np.ndarray]:
    """Moments of all but the last variable, which lies in an interval: integrated over its values."""
    sd = sqrt(cov[-1, -1])
    curve = NormalDist(mean[-1], sd)
    low, high = max(event.low, mean[-1] - 37 * sd), min(event.high, mean[-1] + 37 * sd)
    ends = max(low, min(mean[-1], high) - 9 * sd), min(high, max(mean[-1], low) + 9 * sd)
    whole, first, second = (
        quad(lambda x, k=k: curve.pdf(x) * x**k, *ends, epsabs=0.0, epsrel=1e-11)[0] for k in range(3)
    )
    there, spread = first / whole, second / whole - (first / whole) ** 2
    slope = cov[:-1, -1] / cov[-1, -1]
    inside = cov[:-1, :-1] - np.outer(slope, cov[-1, :-1])
    return mean[:-1] + slope * (there - mean[-1]), inside + np.outer(slope, slope) * spread


def oracle(query: Query | float, model: CGLSCM) -> float:
    match query:
        case float():
            return query
        case Arithmetic(operation, left, right):
            a, b = oracle(left, model), oracle(right, model)
            return {"+": lambda: a + b, "-": lambda: a - b, "*": lambda: a * b, "/": lambda: a / b}[operation]()
        case Standardized(effect):
            i, j = (model.names.index(v) for v in ends_of(effect))
            return number(evaluate(effect, model)) * sqrt(model.cov[i, i] / model.cov[j, j])
        case Statistic(kind, _, _):
            mean, cov = conditional(query, model)
            if query.case.events:
                mean, cov = cut(mean, cov, query.case.events[0])
            values: dict[str, Callable[[], float]] = {
                "E": lambda: mean[0],
                "Var": lambda: cov[0, 0],
                "SD": lambda: sqrt(max(cov[0, 0], 0.0)),
                "Cov": lambda: cov[0, 1],
                "Corr": lambda: cov[0, 1] / sqrt(cov[0, 0] * cov[1, 1]),
            }
            return values[kind]()
        case Quantile(level, _, _):
            mean, cov = conditional(query, model)
            return NormalDist(mean[0], sqrt(cov[0, 0])).inv_cdf(level)
        case Probability(events, case):
            mean, cov = conditional(query, model)
            both = box(mean, cov, [*events, *case.events])
            return both / box(mean[len(events) :], cov[len(events) :, len(events) :], list(case.events))
    return number(evaluate(query, model))


Question = TypeVar("Question", Number, Distribution, Number | Distribution)


def asked(model: CGLSCM, seed: int, make: Callable[[Maker], Question]) -> tuple[Question, np.random.Generator]:
    """A random question that this model can answer; degenerate ones (no spread, no probability) are drawn again."""
    rng = np.random.default_rng(seed)
    while True:
        query = make(Maker(model.names, model.graph.directed, rng))
        terms = [query] if not isinstance(query, Arithmetic) else []
        try:
            value = evaluate(query, model)
        except QueryError:  # no spread, no probability, or a divisor that is zero in this model
            continue
        if not isinstance(value, Gaussian) and abs(value) > 1e4:
            continue
        if any(_flat(t, model) for t in terms or _terms(query)):
            continue
        return query, rng


def _terms(query: Query | float) -> list[Query]:
    if isinstance(query, Arithmetic):
        return _terms(query.left) + _terms(query.right)
    return [] if isinstance(query, float) else [query]


def _flat(term: Query, model: CGLSCM) -> bool:
    """True where a spread is zero, two events coincide or hardly happen: there is a kink, or rounding decides."""
    if not isinstance(term, Statistic | Probability | Quantile | Distribution):
        return False
    mean, cov = conditional(term, model)
    scale = np.sqrt(np.maximum(np.diag(cov), 0.0))
    if (scale < 1e-3).any():
        return True
    events = case_of(term).events
    for event, m, sd in zip(events, mean[len(mean) - len(events) :], scale[len(mean) - len(events) :], strict=True):
        if box(np.array([m]), np.array([[sd**2]]), [event]) < 1e-3:  # numerical integration loses its digits there
            return True
    values = np.linalg.eigvalsh(cov / np.outer(scale, scale))
    return bool(((values < 1e-3) & (values > 1e-12)).any())


@given(model=models(bows=True, most=4), seed=st.integers(0, 10_000))
@settings(max_examples=120, deadline=None, derandomize=True)
def test_terms_equal_the_oracle(model: CGLSCM, seed: int) -> None:
    query, _ = asked(model, seed, Maker.term)
    assert evaluate(query, model) == pytest.approx(oracle(query, model), rel=1e-6, abs=2e-7)


@given(model=models(bows=True, most=4), seed=st.integers(0, 10_000))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_expressions_equal_the_oracle(model: CGLSCM, seed: int) -> None:
    query, _ = asked(model, seed, Maker.expression)
    assert evaluate(query, model) == pytest.approx(oracle(query, model), rel=1e-4, abs=1e-5)


@given(model=models(bows=True, most=4), seed=st.integers(0, 10_000))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_distributions_equal_the_oracle(model: CGLSCM, seed: int) -> None:
    query, rng = asked(model, seed, Maker.distribution)
    mean, cov = conditional(query, model)
    found = normal(evaluate(query, model))
    np.testing.assert_allclose(found.mean, mean, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(found.cov, cov, rtol=1e-8, atol=1e-8)
    compare(model, query, rng)


@given(model=models(bows=True, most=4), seed=st.integers(0, 10_000))
@settings(max_examples=120, deadline=None, derandomize=True)
def test_gradients_of_terms_equal_central_differences(model: CGLSCM, seed: int) -> None:
    query, rng = asked(model, seed, Maker.term)
    compare(model, query, rng)


@given(model=models(bows=True, most=4), seed=st.integers(0, 10_000))
@settings(max_examples=30, deadline=None, derandomize=True)
def test_gradients_of_expressions_equal_central_differences(model: CGLSCM, seed: int) -> None:
    query, rng = asked(model, seed, lambda maker: maker.expression(1))
    compare(model, query, rng)


# -- events by simulation ------------------------------------------------------------------------

MODEL = CGLSCM.from_parameters(
    names=["x", "m", "y"],
    T=[[0, 0.8, 0.5], [0, 0, -1.2], [0.0, 0.0, 0.0]],
    mu=[0.3, -0.2, 1.0],
    psi=[1.0, 0.7, 0.9],
    omega={("x", "y"): 0.4},
)


@pytest.mark.parametrize(
    "text",
    [
        "Cov[x, y | do(m ~ N(1, 2))]",  # what is drawn anew is behind one of the two only
        "Cov[x, y | do(m ~ N(1, 2)), m=1]",
        "Cov[x + m, y | do(m ~ N(1, 2))]",
        "Cov[m, y | do(x ~ N(1, 2))]",
        "Corr[x, y | do(m ~ N(1, 2))]",
        "E[y | do(m ~ N(1, 2)), x=1]",
        "Corr[x, y]",
        "Corr[m, y_{x=1} - y]",
        "Corr[x, y | m > 0]",
        "Cov[x, y | m > 0]",
        "Var[y | -1 < m < 1]",
        "SD[y | do(x *= 2), m=1]",
        "SD[y_{x=1} | x > 0]",
        "E[y_{x=1} - y | x > 0]",
        "P(y > 1 | x > 0)",
        "P(0 < y < 1, m > 0 | x=1)",
        "P(y_{x=1} > 1 | x > 0, m < 1)",
        "Q(0.9, y | do(x=1), m=1)",
        "std(x ~> y)",
        "E[y] / SD[x] - 2 * Corr[x, m]",
        "(x ~> y) * Var[m] + (x -> y) / E[x]",
    ],
)
def test_gradients_of_each_kind_equal_central_differences(text: str) -> None:
    compare(MODEL, parse_question(text), np.random.default_rng(1))


@pytest.mark.parametrize(
    "text",
    [
        "P(y > 1 | do(x=1))",
        "P(0 < y < 1.5, m > 0 | do(x += 1))",
        "P(y > 0, m > 0, x > 0)",
        "P(y < 1 | x > 0)",
        "P(y_{x=0} < 1 | y > 1, x > 0.5)",
        "P(y_{x=1} > 1, y_{x=0} < 1)",
        "P(y_{x=1} - y_{x=0} < 0, y < 2 | m > 0)",
        "P(y > 1 | do(x ~ N(1, 2)), m < 1)",
        "P(y > 1, m < 0 | do(x *= 2, m += 1), x > 0)",
        "P(y > 1 | do(x -> y = 2), x < 0)",
        "P(y_{x=1, m_{x=0}} > 1, y_{x=0} > 0 | m > -1)",
        "P(y > 0, m > 0, x > 0, x + y < 2)",
    ],
)
def test_events_agree_with_simulated_units(text: str) -> None:
    query = parse_question(text)
    assert isinstance(query, Probability)
    rng = np.random.default_rng(5)
    n = 400_000
    errors = MODEL.mu + rng.multivariate_normal(np.zeros(3), MODEL.omega, n)
    fresh = {v: rng.standard_normal(n) for v in MODEL.names}
    happened = np.ones(n, dtype=bool)
    for event in query.case.events:
        values = sum_in_worlds(MODEL, event.of, query.case.do, errors, fresh)
        happened &= (values > event.low) & (values < event.high)
    both = happened.copy()
    for event in query.events:
        values = sum_in_worlds(MODEL, event.of, query.case.do, errors, fresh)
        both &= (values > event.low) & (values < event.high)
    share, count = both.sum() / happened.sum(), happened.sum()
    found = number(evaluate(query, MODEL))
    assert abs(found - share) < 4.5 * sqrt(found * (1 - found) / count) + 1e-6


def test_necessity_and_sufficiency_by_hand() -> None:
    """Given x=1, ``y_{x=0} = y - effect`` in a linear model, so y > 2 and y_{x=0} < 2 mean 2 < y < 2 + effect."""
    effect = number(evaluate(parse_question("x ~> y"), MODEL))
    assert effect < 0
    given_x = normal(evaluate(parse_question("P(y | x=1)"), MODEL))
    curve = NormalDist(given_x.mean[0], given_x.sd[0])
    found = number(evaluate(parse_question("P(y_{x=0} > 1 | x=1, y < 1)"), MODEL))
    assert found == pytest.approx((curve.cdf(1) - curve.cdf(1 + effect)) / curve.cdf(1), abs=1e-12)
    assert evaluate(parse_question("P(y_{x=0} < 1 | x=1, y > 1)"), MODEL) == 0.0


def test_probabilities_beyond_the_bounds_are_zero_or_one() -> None:
    sure = CGLSCM.from_parameters(names=["x", "y"], T=[[0, 2], [0, 0]], psi=[1, 0])
    assert evaluate(parse_question("P(y > 1 | do(x=1))"), sure) == 1.0
    assert evaluate(parse_question("P(y > 3 | do(x=1))"), sure) == 0.0
    (gradient,) = linearize(parse_question("P(y > 3 | do(x=1))"), sure).values
    assert not gradient.T.any()


def test_far_tails_keep_their_digits() -> None:
    model = CGLSCM.from_parameters(names=["y"], T=[[0]])
    found = evaluate(parse_question("P(y > 20)"), model)
    assert found == pytest.approx(2.7536241186062337e-89, rel=1e-9)


def test_scales() -> None:
    for text, scale in [
        ("Var[y]", "log"),
        ("SD[y]", "log"),
        ("Corr[x, y]", "atanh"),
        ("P(y > 1)", "logit"),
        ("E[y]", "plain"),
        ("Var[y] - Var[x]", "plain"),
    ]:
        assert linearize(parse_question(text), MODEL).scale == scale


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("E[y | do(q=1)]", "no variable 'q'"),
        ("E[y | do(x)]", "'x' has no value"),
        ("E[y | x]", "'x' has no value"),
        ("E[y | do(y -> x = 1)]", "no edge y -> x"),
        ("E[y_{m=1, x -> m = 2}]", "does nothing"),
        ("Q(0.5, y | x > 1)", "no longer normal"),
        ("E[y | x > 1, m < 0]", "several events"),
        ("E[y | x > 1000]", "probability zero"),
        ("Corr[x, y | do(x ~ N(1, 0))]", "no correlation"),
        ("E[y] / (x ~> y - x ~> y)", "the divisor is zero"),
        ("P(y > 1 | x > 1000)", "probability zero"),
        ("(y -> x) + 1", "no edge y -> x"),
        ("std(y -> x)", "no edge y -> x"),
    ],
)
def test_questions_that_do_not_fit_are_refused(text: str, words: str) -> None:
    with pytest.raises(QueryError, match=words):
        evaluate(parse_question(text), MODEL)


def test_identities() -> None:
    """Facts that hold in every linear model."""
    assert evaluate(parse_question("E[y | do(x=1)] - E[y | do(x=0)] - (x ~> y)"), MODEL) == pytest.approx(0, abs=1e-12)
    nde = evaluate(parse_question("E[y_{x=1, m_{x=0}} - y_{x=0}]"), MODEL)
    nie = evaluate(parse_question("E[y_{x=0, m_{x=1}} - y_{x=0}]"), MODEL)
    assert nde == pytest.approx(0.5)
    assert nie == pytest.approx(-0.96)
    assert evaluate(parse_question("E[y | do(x += 1)] - E[y]"), MODEL) == pytest.approx(0.5 - 0.96)
    assert evaluate(parse_question("E[y | do(x -> y = 1)] - E[y | do(x -> y = 0)]"), MODEL) == pytest.approx(0.5)
    assert evaluate(parse_question("Var[x | do(x *= 3)] / Var[x]"), MODEL) == pytest.approx(9)
    assert evaluate(parse_question("Var[x | do(x ~ N(4, 2))]"), MODEL) == pytest.approx(2)
    effect = evaluate(parse_question("E[y_{x=1} - y_{x=0} | x=0, y=2]"), MODEL)
    assert effect == pytest.approx(0.5 - 0.96)
    assert evaluate(parse_question("Var[y_{x=1} - y_{x=0} | x=0]"), MODEL) == 0.0
    assert evaluate(parse_question("Q(0.5, y | do(x=1))"), MODEL) == evaluate(parse_question("E[y | do(x=1)]"), MODEL)
    assert inf > number(evaluate(parse_question("Q(0.975, x)"), MODEL)) == pytest.approx(0.3 + 1.959963984540054)


def test_boxes_against_known_values() -> None:
    """Orthants with equal correlations of one half have probability 1 / (n + 1); pairs have arcsines and tails."""
    from halftrek.queries.normal.events import box_probability

    def orthant(n: int, r: float) -> float:
        root = np.linalg.cholesky(np.full((n, n), r) + (1 - r) * np.eye(n)).T
        return box_probability(np.zeros(n), root, np.full(n, -inf), np.zeros(n))

    for n, tolerance in ((2, 1e-14), (3, 1e-10), (4, 5e-6), (5, 5e-6)):
        assert orthant(n, 0.5) == pytest.approx(1 / (n + 1), abs=tolerance)
    for r in (-0.999999, -0.7, 0.0, 0.3, 0.999):
        assert orthant(2, r) == pytest.approx(0.25 + np.arcsin(r) / (2 * np.pi), abs=1e-13)
    tail = 1 - NormalDist().cdf(5.0)
    independent = box_probability(np.zeros(2), np.eye(2), np.array([5.0, 5.0]), np.array([inf, inf]))
    assert independent == pytest.approx(tail**2, rel=1e-9)
    root = np.array([[1.0, 0.9], [0.0, sqrt(0.19)]])
    whole = box_probability(np.zeros(2), root, np.array([-inf, 12.0]), np.array([inf, inf]))
    assert whole == pytest.approx(1.776482112077679e-33, rel=1e-9)
