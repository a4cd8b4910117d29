"""Intervals that should not be trusted say so; those that can be do not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import halftrek as ht
from halftrek import estimation
from halftrek.bottom.choices import Interval
from halftrek.data import Moments
from halftrek.estimation import Fitted
from halftrek.inference import How, estimate
from halftrek.inference.information.landscape import Target
from halftrek.inference.profiles.profile import profile_ends
from halftrek.inference.profiles.weak import curvature
from halftrek.models import CGLSCM
from halftrek.queries import TotalEffect, evaluate
from halftrek.results.fit import Fit
from halftrek.trust import weakest_step
from tests.narrow import there

INSTRUMENT = "z -> x -> y; x <-> y"
EFFECT = TotalEffect("x", "y")
ADVICE = 'use fit.query(..., interval="profile")'


def instrument(strength: float, confounding: float = 0.6) -> CGLSCM:
    T = [[0.0, strength, 0.0], [0.0, 0.0, 0.5], [0.0, 0.0, 0.0]]
    return CGLSCM.from_parameters(names=["z", "x", "y"], T=T, omega={("x", "y"): confounding})


def drawn(model: CGLSCM, n: int, rng: np.random.Generator) -> Moments:
    """Moments of n rows, without the rows (Bartlett's decomposition of a Wishart matrix)."""
    p = len(model.names)
    root = np.linalg.cholesky(model.cov)
    A = np.tril(rng.normal(size=(p, p)), -1)
    A[np.diag_indices(p)] = np.sqrt(rng.chisquare(n - 1 - np.arange(p)))
    mean = model.mean + root @ rng.normal(size=p) / np.sqrt(n)
    return Moments(model.names, n, mean, root @ A @ A.T @ root.T / n)


def doubt(fit: Fitted, question: str = "x ~> y", interval: Interval = "delta", **options: Any) -> list[str]:
    return [w for w in Fit.of(fit).query(question, interval=interval, **options).warnings if w.endswith(ADVICE)]


# -- coverage --------------------------------------------------------------------------------------


def test_with_a_weak_instrument_the_profile_covers_and_the_standard_error_does_not() -> None:
    n, rng = 200, np.random.default_rng(7)
    model = instrument(np.sqrt(3.0 / n), 0.99)  # a concentration of 3, and strong confounding
    graph = ht.graph(INSTRUMENT)
    delta = profile = unbounded = 0
    runs = 40
    for _ in range(runs):
        fit = estimation.fit(graph, drawn(model, n, rng))
        low, high = estimate(fit, EFFECT, evaluate(EFFECT, fit.model)).intervals[0]
        delta += low <= 0.5 <= high
        ends = profile_ends(fit, Target(EFFECT), How().quantile ** 2)
        profile += ends.low <= 0.5 <= ends.high
        unbounded += bool(np.isinf([ends.low, ends.high]).any())
    assert profile >= 35  # 95 % less two standard errors; (-inf, inf) in place of two rays covers more
    assert delta <= 34
    assert unbounded >= 0.2 * runs


# -- first stage -----------------------------------------------------------------------------------


def first_stage(X: np.ndarray, y: np.ndarray, last: int) -> float:
    """The F of the last ``last`` columns in a regression with a constant, by two residual sums of squares."""
    n = len(y)
    full = np.column_stack([np.ones(n), X])
    sums = [np.linalg.lstsq(Z, y, rcond=None)[1][0] for Z in (full[:, :-last], full) if Z.shape[1]]
    return float((sums[0] - sums[1]) / last / (sums[1] / (n - full.shape[1])))


def test_the_strength_of_one_instrument_is_the_first_stage_F() -> None:
    rows = np.array(instrument(0.1).sample(300, random_state=1))
    fit = ht.fit(INSTRUMENT, rows, names=["z", "x", "y"])
    verdict = ht.identify(INSTRUMENT, "x ~> y")
    found = weakest_step(fit, EFFECT, verdict, float(fit.query("x ~> y").se))  # type: ignore[arg-type]
    assert found is not None
    assert pytest.approx(first_stage(rows[:, :1], rows[:, 1], 1), rel=1e-6) == found.F


def test_the_strength_of_a_conditional_instrument_is_the_partial_F() -> None:
    text = "w -> z; w -> x; z -> x -> y; w -> y; x <-> y"
    T = np.zeros((4, 4))
    T[0, 1], T[0, 2], T[0, 3], T[1, 2], T[2, 3] = 0.8, 0.9, -0.5, 0.12, 0.5
    model = CGLSCM.from_parameters(names=["w", "z", "x", "y"], T=T, omega={("x", "y"): 0.5})
    rows = np.array(model.sample(250, random_state=3))
    fit = ht.fit(text, rows, names=["w", "z", "x", "y"])
    verdict = ht.identify(text, "x ~> y")
    found = weakest_step(fit, EFFECT, verdict, float(fit.query("x ~> y").se))  # type: ignore[arg-type]
    assert found is not None
    assert found.rows == ("z",)
    assert pytest.approx(first_stage(rows[:, :2], rows[:, 2], 1), rel=1e-6) == found.F


def test_a_weak_instrument_is_named_with_its_F() -> None:
    fit = ht.fit(INSTRUMENT, instrument(0.1).sample(200, random_state=2))
    (sentence,) = doubt(fit)
    by_itself = fit.query("x ~> y")
    assert there(by_itself.estimate).kind == "profile"
    assert not by_itself.warnings
    assert "z is a weak instrument" in by_itself.explain()
    assert sentence.startswith("z is a weak instrument for x (first-stage F = ")
    assert doubt(fit, interval="delta") == doubt(fit, interval="parametric", replicates=50) == [sentence]
    assert not doubt(fit, interval="profile")


def test_an_instrument_that_the_formula_does_not_use_counts() -> None:
    """The formula takes the weak instrument a; the likelihood takes b too, and b is strong."""
    text = "a -> x; b -> x; x -> y; x <-> y"
    T = np.zeros((4, 4))
    T[0, 1], T[2, 1], T[1, 3] = 0.03, 0.6, 0.5
    model = CGLSCM.from_parameters(names=["a", "x", "b", "y"], T=T, omega={("x", "y"): 0.5})
    fit = ht.fit(text, model.sample(1000, random_state=1))
    alone = ht.fit("a -> x; x -> y; x <-> y", model.sample(1000, random_state=1))
    assert not doubt(fit)
    assert doubt(alone)


def test_a_weak_formula_does_not_count_where_the_likelihood_knows_more() -> None:
    """Without z -> x the errors of x and y are independent: a regression has the effect, the napkin's formula not."""
    text = "w -> z -> x -> y; w <-> x; w <-> y"
    T = np.zeros((4, 4))
    T[0, 1], T[1, 2], T[2, 3] = 0.8, 0.05, 0.7
    model = CGLSCM.from_parameters(names=["w", "z", "x", "y"], T=T, omega={("w", "x"): 0.4, ("w", "y"): 0.4})
    fit = ht.fit(text, model.sample(300, random_state=1))
    alone = weakest_step(fit, EFFECT, ht.identify(text, "x ~> y"), float("inf"))
    assert alone is not None
    assert alone.F < 10.0
    assert not doubt(fit)
    likelihood, normal = (np.array(fit.effect("x", "y", interval=kind).interval) for kind in ("profile", "delta"))
    np.testing.assert_allclose(likelihood, normal, atol=0.02)


# -- rates -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("strength", "n", "least", "most"),
    [(0.5, 1000, 0, 0), (np.sqrt(3 / 1000), 1000, 34, 40), (np.sqrt(3 / 100), 100, 34, 40)],
)
def test_weak_instruments_warn_mostly_and_strong_ones_do_not(strength: float, n: int, least: int, most: int) -> None:
    rng, graph = np.random.default_rng(3), ht.graph(INSTRUMENT)
    model = instrument(strength)
    warned = sum(bool(doubt(estimation.fit(graph, drawn(model, n, rng)))) for _ in range(40))
    assert least <= warned <= most


@pytest.mark.parametrize("question", ["x ~> y", "P(y | do(x=1))"])
@pytest.mark.parametrize("text", ["x -> y", "x -> m -> y; x <-> y", "w -> x; w -> y; x -> y"])
def test_large_plain_samples_do_not_warn(text: str, question: str) -> None:
    graph = ht.graph(text)
    place = {v: i for i, v in enumerate(graph.observed)}
    T = np.zeros((len(place), len(place)))
    for u, v in graph.directed:
        T[place[u], place[v]] = 0.6
    omega = {("x", "y"): 0.4} if graph.bidirected else {}
    model = CGLSCM.from_parameters(names=graph.observed, T=T, omega=omega)
    rng = np.random.default_rng(1)
    assert not any(doubt(estimation.fit(graph, drawn(model, 1000, rng)), question) for _ in range(10))


# -- curvature -------------------------------------------------------------------------------------


def test_the_quick_look_is_close_to_the_profile() -> None:
    rng, graph = np.random.default_rng(5), ht.graph(INSTRUMENT)
    for strength in (0.15, 0.3, 0.6):
        fit = estimation.fit(graph, drawn(instrument(strength), 300, rng))
        ends = estimate(fit, EFFECT, evaluate(EFFECT, fit.model)).intervals[0]
        found = curvature(fit, EFFECT, 0, ends, How().quantile ** 2)
        assert found is not None
        S = np.asarray(fit.moments.cov)
        for end, deviance in zip(ends, (found.low, found.high), strict=True):
            e = np.array([0.0, -end, 1.0])  # y - end x; the model without the constraint fits any covariance
            r2 = (S[0] @ e) ** 2 / (S[0, 0] * (e @ S @ e))
            assert deviance == pytest.approx(-300 * np.log(1 - r2), rel=0.05)


def test_a_product_near_zero_is_seen_by_its_curvature() -> None:
    T = [[0.0, 0.05, 0.0], [0.0, 0.0, 0.05], [0.0, 0.0, 0.0]]
    model = CGLSCM.from_parameters(names=["x", "m", "y"], T=T, omega={("x", "y"): 0.4})
    fit = ht.fit("x -> m -> y; x <-> y", model.sample(150, random_state=4))
    (sentence,) = doubt(fit)
    assert sentence.startswith("a standard error describes the likelihood of this answer badly")


def test_answers_that_cannot_move_have_nothing_to_look_at() -> None:
    rows = instrument(0.5).sample(100, random_state=1)
    fit = ht.fit(INSTRUMENT, rows, coefficients={"x -> y": 0.5})
    assert fit.query("x -> y", interval="profile").interval == (0.5, 0.5)
    assert not doubt(fit, "x -> y")
