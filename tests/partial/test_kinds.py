"""Bounds where columns are ordered or ranked: the set at the covariance behind, intervals by how rows move its ends."""

from collections.abc import Iterator
from statistics import NormalDist
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import logit

import halftrek as ht
from halftrek.bottom.arrays import Floats
from halftrek.errors import InputError, NotIdentifiedError, QueryError
from halftrek.layer import RowInfluence
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


def bow_models(fit: ht.Fit, names: tuple[str, str], correlations: Floats) -> Iterator[CGLSCM]:
    """Models of a bow with the covariance of a fit: for each correlation of errors the effect that keeps it."""
    (sxx, sxy), (_, syy) = fit.moments.cov
    mean, left = fit.moments.mean, syy - sxy**2 / sxx  # of y given x
    for r in correlations:
        # Var(e) = syy - 2 b sxy + b^2 sxx and Cov(x, e) = sxy - b sxx = r sd(x) sd(e)
        gap = r / np.sqrt(1.0 - r**2) * np.sqrt(left / sxx)
        b = sxy / sxx - gap
        omega = np.array([[sxx, gap * sxx], [gap * sxx, left + gap**2 * sxx]])
        T = np.array([[0.0, b], [0.0, 0.0]])
        yield CGLSCM(names, T, np.zeros((0, 2)), mean - mean @ T, omega)


def test_the_set_is_that_of_the_covariance_behind() -> None:
    fit = ht.fit(GRAPH, confounded(900), kinds=KINDS)
    found = fit.bounds("x ~> y", assume=ASSUMED)
    behind = ht.bounds(GRAPH, None, "x ~> y", assume=ASSUMED, cov=fit.moments.cov, names=["x", "y"], n=900)
    assert (found.low, found.high) == pytest.approx((behind.low, behind.high), rel=1e-9)
    assert found.kind == "likelihood"
    assert found.interval is not None
    assert behind.interval is not None
    assert found.interval[0] < behind.interval[0]  # rows in two categories tell less than the variable behind them
    assert [n.code for n in found.notes] == ["behind units, ask", "set by units", "likelihood set"]


@pytest.mark.parametrize(("question", "samples"), [("x ~> y", 60), ("P(y = 1 | do(x=1))", 150)])
def test_ends_vary_over_samples_as_their_errors_say(question: str, samples: int) -> None:
    ends, errors = [], []
    for seed in range(samples):
        found = ht.fit(GRAPH, confounded(600, seed), kinds=KINDS).bounds(question, assume=ASSUMED, interval="stoye")
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
    layer = fit.moments.layer
    assert layer is not None
    values = []
    for model in bow_models(fit, ("x", "y"), np.linspace(-0.3, 0.4, 201)):
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
    with pytest.raises(QueryError, match=r"the mean of m, which is ranked, .* categories or ranges; ask for P\(m > "):
        ranked.bounds("E[m | y=1]")


WAGES = [
    "E[wage | do(x=1)]",
    "E[wage | do(x=1)] - E[wage | do(x=0)]",
    "2 * E[wage | do(x=1)] / E[wage | do(x=0)]",
    "E[wage_{x=1} | x=0]",
]


@pytest.mark.parametrize("question", WAGES)
def test_sets_of_means_of_a_ranked_column_are_what_models_with_the_covariance_say(question: str) -> None:
    """The slow way again: each arc, and the mean over all ranks, by ``observed``."""
    rows = confounded(400).assign(wage=lambda d: np.exp(1.0 + d["x"] * 0.3 + np.random.default_rng(5).normal(size=400)))
    fit = ht.fit("x -> wage; x <-> wage", rows, kinds={"wage": "ranked"})
    layer = fit.moments.layer
    assert layer is not None
    models = list(bow_models(fit, ("x", "wage"), np.linspace(-0.3, 0.4, 201)))
    values = [observed(parse_question(question), model, layer, slopes=False).values[0].value for model in models]
    assumed = ["corr(x <-> wage) in [-0.3, 0.4]"]
    found = fit.bounds(question, assume=assumed)
    assert (found.low, found.high) == pytest.approx((min(values), max(values)), rel=2e-5)
    assert found.certificate == "searched"
    assert found.interval is not None
    assert found.interval[0] < found.low
    assert found.interval[1] > found.high


def test_the_mean_of_a_ranked_column_has_no_bounds_beyond_the_values_seen() -> None:
    rows = confounded(400).assign(wage=lambda d: np.exp(d["y"] + d["x"]))
    fit = ht.fit("x -> wage; x <-> wage", rows, kinds={"wage": "ranked"})
    for at, side in ((4, "largest"), (-4, "smallest")):
        match = rf"mean of wage, which is ranked, .* % of the units beyond the {side} value seen, .* ask for P\(wage > "
        with pytest.raises(QueryError, match=match):
            fit.bounds(f"E[wage | do(x={at})]", assume=["corr(x <-> wage) in [-0.3, 0.4]"])


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
    with pytest.raises(InputError, match='interval="likelihood" is not known of what is seen of ordered'):
        fit.bounds("P(y = 1 | do(x=1))", assume=ASSUMED, interval="likelihood")


def _risk_ends(S: Floats, mean: Floats, tau: float) -> Floats:
    """Both ends of the risk at x = 1 in a bow, by its closed form: the effect, then the normal distribution."""
    left = S[1, 1] - S[0, 1] ** 2 / S[0, 0]
    found = []
    for r in (0.4, -0.3):
        b = S[0, 1] / S[0, 0] - r / np.sqrt(1.0 - r * r) * np.sqrt(left / S[0, 0])
        spread = np.sqrt(S[1, 1] - 2.0 * b * S[0, 1] + b * b * S[0, 0])
        found.append(NormalDist().cdf((mean[1] + b * (1.0 - mean[0]) - tau) / spread))
    return np.array(found)


def test_errors_of_ends_are_how_rows_move_their_closed_form() -> None:
    """Each row's influence on correlations, mean and cut, through differences of the closed form."""
    n = 300
    rows = confounded(n)
    fit = ht.fit(GRAPH, rows, kinds=KINDS)
    layer, S, mean = fit.moments.layer, np.array(fit.moments.cov), np.array(fit.moments.mean)
    assert layer is not None
    assert layer.names == ("x", "y")
    tau, step = float(layer.margins[1].cuts[0]), 1e-6
    values = rows[["x", "y"]].to_numpy()
    influence = RowInfluence(layer)
    products = influence.products(values, np.arange(2))
    moved = np.zeros((n, 2))
    for k, (i, j) in enumerate(zip(*np.triu_indices(2), strict=True)):
        way = np.zeros((2, 2))
        way[i, j] = way[j, i] = step
        slope = (_risk_ends(S + way, mean, tau) - _risk_ends(S - way, mean, tau)) / (2.0 * step)
        moved += products[:, k, None] * slope
    way = np.array([step, 0.0])
    slope = (_risk_ends(S, mean + way, tau) - _risk_ends(S, mean - way, tau)) / (2.0 * step)
    moved += influence.means(values)[:, :1] * slope
    slope = (_risk_ends(S, mean, tau + step) - _risk_ends(S, mean, tau - step)) / (2.0 * step)
    moved += influence.cuts(values, 1, np.ones(1))[:, None] * slope
    errors = np.sqrt((moved**2).mean(axis=0) / n)
    found = fit.bounds("P(y = 1 | do(x=1))", assume=ASSUMED)
    ends = np.array([found.low, found.high])
    np.testing.assert_allclose(ends, _risk_ends(S, mean, tau), rtol=1e-9)
    assert found.interval is not None
    quantile = next(float(n.facts["quantile"]) for n in found.notes if n.code == "stoye set")
    reach = np.abs(logit(np.array(found.interval)) - logit(ends)) * ends * (1.0 - ends)
    np.testing.assert_allclose(reach / quantile, errors, rtol=1e-6)


def test_sensitivity_is_what_models_with_the_covariance_say() -> None:
    """An arc that the graph lacks: the brute-force models, and for an effect the error by its closed form."""
    n, question = 500, "RD(y = 1 | do(x=1) : do(x=0))"
    rows = confounded(n)
    fit = ht.fit("x -> y", rows, kinds=KINDS)
    layer = fit.moments.layer
    assert layer is not None
    found: Any = fit.sensitivity(question, edge="x <-> y", values=[-0.2, 0.0, 0.3])
    slow = [
        observed(parse_question(question), model, layer, slopes=False).values[0].value
        for model in bow_models(fit, ("x", "y"), found.correlation)
    ]
    np.testing.assert_allclose(found.estimates, slow, rtol=1e-8)
    own = fit.query(question)
    assert own.interval is not None
    np.testing.assert_allclose(found.intervals[1], own.interval, rtol=1e-8)
    effect: Any = fit.sensitivity("x ~> y", edge="x <-> y", values=[-0.2, 0.3])
    (sxx, sxy), _ = fit.moments.cov
    b = (sxy - effect.values) / sxx
    by_row = RowInfluence(layer).products(rows[["x", "y"]].to_numpy(), np.arange(2))
    errors = [np.sqrt((((by_row[:, 1] - slope * by_row[:, 0]) / sxx) ** 2).mean() / n) for slope in b]
    np.testing.assert_allclose(effect.estimates, b, rtol=1e-8)
    np.testing.assert_allclose(np.diff(effect.intervals)[:, 0] / 2.0 / 1.959964, errors, rtol=1e-6)


def test_robustness_of_a_risk_along_an_edge_that_is_named() -> None:
    fit = ht.fit("x -> y", confounded(500), kinds=KINDS)
    for question, target in (("x ~> y", 0.0), ("P(y = 1 | do(x=1))", 0.5)):
        (row,) = fit.robustness(question, edge="x <-> y", target=target).rows
        assert row.value is not None
        assert row.lost_value is not None
        there: Any = fit.sensitivity(question, edge="x <-> y", values=[row.lost_value, row.value])
        at = list(there.values).index(row.value)
        assert there.estimates[at] == pytest.approx(target, abs=1e-7)
        assert np.abs(there.intervals[1 - at] - target).min() < 1e-6
        assert row.deviance is None
    with pytest.raises(InputError, match=r"robustness\(\) of all edges at once is not known .* say which one"):
        fit.robustness("x ~> y")


def test_effects_behind_columns_have_the_likelihood_scaled_by_rows() -> None:
    """Near the ends its reach is two standard errors by rows; with a weak instrument it has no end."""
    fit = ht.fit(GRAPH, confounded(3000), kinds=KINDS)
    by_likelihood, by_errors = (fit.bounds("x ~> y", assume=ASSUMED, interval=i) for i in ("likelihood", "stoye"))
    assert by_likelihood.interval is not None
    assert by_errors.interval is not None
    wide = np.abs(np.array(by_likelihood.interval) - [by_likelihood.low, by_likelihood.high])
    near = np.abs(np.array(by_errors.interval) - [by_errors.low, by_errors.high])
    np.testing.assert_allclose(wide / near, 1.959964 / 1.644854, rtol=0.05)
    weak = confounded(300).assign(z=np.random.default_rng(1).normal(size=300))
    found = ht.fit("z -> x -> y; x <-> y", weak, kinds=KINDS).bounds("x ~> y", assume=["|z -> y| <= 0.05"])
    assert np.isinf(found.interval_pieces[0][0])
    assert np.isinf(found.interval_pieces[-1][1])
