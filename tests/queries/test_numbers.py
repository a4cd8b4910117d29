"""Numbers at the edge of floating point: a clear error, or the limit, never an answer that is no number."""

import math
import warnings
from typing import Any

import numpy as np
import pytest

from halftrek.errors import HalftrekError, QueryError, QuestionSyntaxError
from halftrek.graphs import Graph
from halftrek.models import Gaussian
from halftrek.queries import Arithmetic, Distribution, Statistic, TotalEffect, evaluate
from halftrek.queries.kinds.variants import Case, Draw, Event, Scale, Shift, Sum, Variant, single
from halftrek.results.answering import answer
from halftrek.results.workflow import fit
from halftrek.simulation import random_model
from halftrek.syntax import parse_question
from tests.narrow import interval_of, number

GRAPH = Graph([("x", "m"), ("m", "y")], [("x", "y")])
MODEL = random_model(GRAPH, random_state=2)
TOO_LARGE = [
    "P(1e308 * x < 1)", "E[y | do(x=1e308)]", "P(y | do(x=1e308))", "E[y | x=1e308]", "E[y | do(x += 1e308)]",
    "E[y | do(x *= 1e308)]", "Var[y | do(x *= 1e200)]", "SD[1e200 * y]", "Corr[1e200 * y, x]", "Q(0.5, 1e308 * y)",
    "E[y | do(x ~ N(0, 1e308))]", "E[y] * 1e308 * 1e308", "(x ~> y) * 1e308 * 10", "(1e308 + 1e308) * E[y]",
    "P(y_{x=1e308} > 0)", "P(1e308 * x - 1e308 * y > 0)", "E[y | do(m -> y = 1e308)]", "P(1e200 * y > 1, m > 1e300)",
    "E[y_{m_{x=1e100}}]", "P(y | x=1e200, m=1e308)", "E[y | 1e90 * x > 1]", "std(x ~> y) * 1e70",
]  # fmt: skip
TOO_SMALL = ["E[y] / 1e-308", "(x ~> y) / 1e-70", "E[x * 1e-320]", "Corr[1e-200 * y, x]", "P(1e-308 * y > 1)"]


@pytest.mark.parametrize("text", TOO_LARGE)
def test_too_large(text: str) -> None:
    with pytest.raises(QueryError, match=r"the number \S+ in the question is too large to compute with"):
        evaluate(parse_question(text), MODEL)


@pytest.mark.parametrize("text", TOO_SMALL)
def test_too_small(text: str) -> None:
    with pytest.raises(QueryError, match=r"the number \S+ in the question is too small to compute with"):
        evaluate(parse_question(text), MODEL)


@pytest.mark.parametrize(
    "text", ["P(y > 1e400)", "E[y | do(x=1e-400)]", "P(y / 1e-320 > 1)", "E[y | do(x /= 1e-320)]", "E[y | do(x=nan)]",
             "E[y | do(x=-inf)]", "10**400", "E[y]**2", "Q(0, y)", "Q(1, y)", "E[1e308 * y * 1e10]"],
)  # fmt: skip
def test_refused_where_it_stands(text: str) -> None:
    with pytest.raises(QuestionSyntaxError):
        parse_question(text)


@pytest.mark.parametrize(
    "text",
    ["E[y] * 1e60 * 1e60 * 1e60", "E[y | do(x=1e60)] * 1e60 * 1e60", "Var[1e60 * y | do(x *= 1e60)] * 1e30"],
)
def test_too_large_together(text: str) -> None:
    with pytest.raises(QueryError, match="the answer is too large to compute with"):
        evaluate(parse_question(text), MODEL)


@pytest.mark.parametrize("text", ["E[y] / 1e60 / 1e60 / 1e60", "Var[1e-60 * y | do(y *= 1e-60)]"])
def test_too_small_together(text: str) -> None:
    with pytest.raises(QueryError, match="the answer is too small to compute with"):
        evaluate(parse_question(text), MODEL)


def _probability(text: str) -> float:
    return number(evaluate(parse_question(text), MODEL))


def test_bounds_have_their_limit() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert _probability("P(1 < x < 1e308)") == pytest.approx(_probability("P(x > 1)"))
        assert _probability("P(x > 1e308)") == 0.0
        assert _probability("P(x < 1e308)") == 1.0
        assert _probability("P(x > -1e308, y < 1e308)") == 1.0
        assert _probability("P(x > 1, y < 1e308, m > -1e300)") == pytest.approx(_probability("P(x > 1)"))
        assert math.isfinite(_probability("Q(1e-320, y)"))
        assert 0.0 <= _probability("P(y > 0 | x > 30)") <= 1.0


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 10**400, np.float64("nan"), "one", 1e200, -(1e-90)])
def test_values_built_in_python(value: Any) -> None:
    def mean(**case: Any) -> Statistic:
        return Statistic("E", (single("y"),), Case(**case))

    for query in (
        Distribution.after(("y",), {"x": value}),
        Distribution.after(("y",), {}, {"x": value}),
        mean(do={"x": value}),
        mean(do={"x": Shift(value)}),
        mean(do={"x": Scale(value)}),
        mean(do={"x": Draw(value, 1.0)}),
        mean(do={("m", "y"): value}),
        mean(given={Variant("x"): value}),
        mean(events=(Event(Sum(((value, Variant("x")),)), low=1.0),)),
        Statistic("E", (Sum(((value, Variant("y")),)),)),
        Statistic("E", (single(Variant("y", {"m": Variant("m", {"x": value})})),)),
    ):
        with pytest.raises(QueryError):
            evaluate(query, MODEL)


def test_bounds_and_numbers_that_are_none() -> None:
    with pytest.raises(QueryError, match="bound of an event"):
        evaluate(Statistic("E", (single("y"),), Case(events=(Event(single("x"), low=math.nan),))), MODEL)
    with pytest.raises(QueryError, match="not a finite number"):
        evaluate(Arithmetic("*", math.nan, TotalEffect("x", "y")), MODEL)


def test_answers_of_a_fit_are_numbers() -> None:
    """What gets past the checks has an interval too."""
    found = fit(GRAPH, MODEL.sample(500, 3))
    edges = (
        "E[1e60 * y]", "Var[1e30 * y]", "E[y | do(x=1e60)]", "E[y | do(x=1e-60)]", "P(1 < x < 1e308)", "1 / (x ~> y)",
        "P(y > 0 | x > 30)", "E[y] * 1e60 / 1e60", "Corr[1e60 * y, x]",
    )  # fmt: skip
    answered = 0
    for text in (*TOO_LARGE, *TOO_SMALL, *edges):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                got = answer(found, text)
        except HalftrekError:
            continue
        numbers = (
            [got.distribution.mean, got.distribution.cov] if isinstance(got.distribution, Gaussian) else [got.value]
        )
        assert all(np.isfinite(x).all() for x in numbers), text
        assert np.isfinite(interval_of(got)).all() or got.notes, text
        answered += 1
    assert answered >= 5
