"""Bounds where columns are ordered or ranked: the set at the covariance behind, intervals by how rows move its ends."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

import halftrek as ht
from halftrek.errors import InputError, NotIdentifiedError, QueryError
from halftrek.models import CGLSCM
from halftrek.queries.observed.values import observed
from halftrek.results.given.column_kinds import Kinds
from halftrek.syntax import parse_question

GRAPH, ASSUMED = "x -> y; x <-> y", ["corr(x <-> y) in [-0.3, 0.4]"]
KINDS: Kinds = {"y": "ordered"}


def confounded(n: int, seed: int = 0) -> pd.DataFrame:
    """A yes/no outcome that shares a hidden cause with what causes it."""
    rng = np.random.default_rng(seed)
    u = rng.normal(size=n)
    x = 0.6 * u + 0.8 * rng.normal(size=n)
    y = 0.5 * x + 0.4 * u + 0.7 * rng.normal(size=n)
    return pd.DataFrame({"x": x, "y": (y > 0.3).astype(float), "site": np.arange(n) % 2})


def test_the_set_is_that_of_the_covariance_behind() -> None:
    fit = ht.fit(GRAPH, confounded(900), kinds=KINDS)
    found = fit.bounds("x ~> y", assume=ASSUMED)
    behind = ht.bounds(GRAPH, None, "x ~> y", assume=ASSUMED, cov=fit.moments.cov, names=["x", "y"], n=900)
    assert (found.low, found.high) == pytest.approx((behind.low, behind.high), rel=1e-9)
    assert found.kind == "stoye"
    assert found.interval is not None
    assert behind.interval is not None
    assert found.interval[0] < behind.interval[0]  # rows in two categories tell less than the variable behind them
    assert [n.code for n in found.notes] == ["behind units, ask", "stoye set"]


@pytest.mark.parametrize(("question", "samples"), [("x ~> y", 60), ("P(y = 1 | do(x=1))", 150)])
def test_ends_vary_over_samples_as_their_errors_say(question: str, samples: int) -> None:
    ends, errors = [], []
    for seed in range(samples):
        found = ht.fit(GRAPH, confounded(600, seed), kinds=KINDS).bounds(question, assume=ASSUMED)
        assert found.interval is not None
        ends.append((found.low, found.high))
        errors.append(((found.low - found.interval[0]) / 1.645, (found.interval[1] - found.high) / 1.645))
    np.testing.assert_allclose(np.std(ends, axis=0, ddof=1), np.mean(errors, axis=0), rtol=0.25)


def leaky(n: int, seed: int) -> pd.DataFrame:
    """A five point scale behind which there is an instrument, a skewed cause, a yes/no outcome."""
    rng = np.random.default_rng(seed)
    u, z = rng.normal(size=(2, n))
    scale = rng.normal(size=n) + 0.5 * z
    x = 0.6 * scale + 0.5 * u + 0.7 * rng.normal(size=n)
    y = 0.5 * x + 0.4 * u + 0.7 * rng.normal(size=n) + 0.1 * scale
    return pd.DataFrame({"z": z, "s": np.digitize(scale, [-0.8, 0.0, 0.8]), "x": np.exp(x), "y": (y > 0.3) * 1.0})


def test_errors_of_ends_where_the_graph_restricts_the_covariance() -> None:
    """The oracle draws rows again, and works out the set of each draw."""
    graph, assumed = "z -> s -> x -> y; x <-> y", ["abs(s -> y) <= 0.2"]
    kinds: Kinds = {"y": "ordered", "x": "ranked", "s": "behind"}
    rows, question = leaky(700, 1), "P(y = 1 | do(x=1.5))"
    found = ht.fit(graph, rows, kinds=kinds).bounds(question, assume=assumed)
    rng, ends = np.random.default_rng(0), []
    for _ in range(60):
        drawn = rows.sample(len(rows), replace=True, random_state=rng)
        other = ht.fit(graph, drawn, kinds=kinds).bounds(question, assume=assumed)
        ends.append((other.low, other.high))
    assert found.interval is not None
    errors = np.array([found.low - found.interval[0], found.interval[1] - found.high]) / 1.645
    np.testing.assert_allclose(errors, np.std(ends, axis=0, ddof=1), rtol=0.25)


QUESTIONS = [
    "P(y = 1 | do(x=1))",
    "E[y | do(x=1)]",
    "RD(y = 1 | do(x=1) : do(x=0))",
    "RR(y = 1 | do(x=1) : do(x=0))",
    "OR(y = 1 | do(x=1) : do(x=0))",
    "P(y_{x=1} > 0 | x=0, y=0)",
    "P(x > 1 | do(x += 1), y=1)",
]


@pytest.mark.parametrize("question", QUESTIONS)
def test_sets_of_risks_are_what_models_with_the_covariance_say(question: str) -> None:
    """The slow way: arcs of all sizes, each with the effect that keeps the covariance, asked one by one."""
    fit = ht.fit(GRAPH, confounded(900), kinds=KINDS)
    layer, mean = fit.moments.layer, fit.moments.mean
    assert layer is not None
    (sxx, sxy), (_, syy) = fit.moments.cov
    values = []
    for r in np.linspace(-0.3, 0.4, 201):
        # Var(e) = syy - 2 b sxy + b^2 sxx and Cov(x, e) = sxy - b sxx = r sd(x) sd(e)
        left = syy - sxy**2 / sxx  # of y given x
        gap = r / np.sqrt(1.0 - r**2) * np.sqrt(left / sxx)
        b = sxy / sxx - gap
        omega = np.array([[sxx, gap * sxx], [gap * sxx, left + gap**2 * sxx]])
        T = np.array([[0.0, b], [0.0, 0.0]])
        model = CGLSCM(("x", "y"), T, np.zeros((0, 2)), mean - mean @ T, omega)
        np.testing.assert_allclose(model.cov, fit.moments.cov, atol=1e-9)
        found = observed(parse_question(question), model, layer, slopes=False).result
        assert isinstance(found, float)
        values.append(found)
    bounds = fit.bounds(question, assume=ASSUMED)
    assert (bounds.low, bounds.high) == pytest.approx((min(values), max(values)), abs=2e-4)
    assert bounds.interval is not None
    assert bounds.interval[0] < bounds.low
    assert bounds.interval[1] > bounds.high
    assert bounds.kind == "stoye"
    assert str(bounds.question) == str(parse_question(question))


def test_a_refused_risk_shows_its_set_in_numbers_of_the_columns() -> None:
    fit = ht.fit(GRAPH, confounded(500), kinds=KINDS)
    for question in ("P(y = 1 | do(x=1))", "E[y | do(x=1)]"):
        with pytest.raises(NotIdentifiedError) as raised:
            fit.query(question)
        own = fit.bounds(question)
        assert 0.0 < own.low < own.high < 1.0
        assert f"{own.low:.3g}"[:4] in str(raised.value)
        assert ht.identify(GRAPH, question).status == "not identified"
    rows = confounded(300).assign(m=lambda d: np.exp(d["x"]))
    ranked = ht.fit("m -> y; m <-> y", rows, kinds={"m": "ranked", "y": "ordered"})
    with pytest.raises(QueryError, match=r"the mean of m, which is ranked, .* ask for P\(m > "):
        ranked.bounds("E[m | y=1]")


def test_contradicted_assumptions_leave_no_interval_of_a_risk() -> None:
    fit = ht.fit("z -> x -> y; x <-> y", leaky(600, 2).assign(x=lambda d: np.log(d["x"])), kinds=KINDS)
    found = fit.bounds("P(y = 1 | do(x=1))", assume=["corr(x <-> y) in [-0.9, -0.8]"])
    assert found.empty
    assert found.refuted is not None
    assert found.interval is None


def test_a_refusal_shows_the_set() -> None:
    fit = ht.fit(f"{GRAPH}; z -> x; z -> y", confounded(500).assign(z=lambda d: d["x"] * 0.5 + d["site"]), kinds=KINDS)
    with pytest.raises(NotIdentifiedError, match="two models with this graph have the same covariance"):
        fit.query("x ~> y")
    whole = ht.fit(GRAPH, confounded(500), kinds=KINDS).query("x ~> y", bounds=True)
    assert "any value" in str(whole)


def test_groups_have_bounds_and_what_is_not_known_is_refused_by_name() -> None:
    fits = ht.fit(GRAPH, confounded(800), kinds=KINDS, by="site")
    table: Any = fits.bounds("x ~> y", assume=ASSUMED)
    own = fits[1].bounds("x ~> y", assume=ASSUMED)
    assert table["low"][1] == own.low
    fit = fits[0]
    with pytest.raises(InputError, match='interval="likelihood" is not known where columns are ordered'):
        fit.bounds("x ~> y", assume=ASSUMED, interval="likelihood")
    acts: Any = {"x": "acts", "y": "ordered"}
    acting = ht.fit("z -> x -> y; x <-> y", confounded(400).assign(z=0.0).assign(
        z=lambda d: np.random.default_rng(1).normal(size=len(d)) + d["x"], x=lambda d: (d["x"] > 0.0) * 1.0
    ), kinds=acts)  # fmt: skip
    with pytest.raises(InputError, match=r"fit\.bounds\(\) is not known where a category acts"):
        acting.bounds("x ~> y")
