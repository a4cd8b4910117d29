"""Closed-form gradients against central differences, for every kind of query."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halftrek.models import CGLSCM, Gaussian
from halftrek.queries import (
    Arithmetic,
    DirectEffect,
    Distribution,
    ErrorCovariance,
    PathEffect,
    Probability,
    Query,
    ThroughEffect,
    TotalEffect,
    Variant,
    evaluate,
)
from halftrek.queries.gradients import Gradient, both_of, gradients_of, linearize
from halftrek.queries.kinds.terms import Stepped
from halftrek.queries.kinds.variants import Case, Event, single
from tests.estimation.strategies import models


def numbers(query: Query, names: tuple[str, ...], T: np.ndarray, omega: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """The answer as a function of (T, Omega, m): value or means, then variances."""
    graph_T = T.copy()
    model = CGLSCM(names, graph_T, np.zeros((0, len(names))), mean - mean @ T, omega)
    result = evaluate(query, model)
    if isinstance(result, Gaussian):
        return np.concatenate([result.mean, result.variance])
    return np.array([result])


def some_query(model: CGLSCM, rng: np.random.Generator) -> Query:
    names = list(rng.permutation(model.names))
    edges = model.graph.directed
    kind = rng.integers(0, 6)
    if kind == 0 and edges:
        return DirectEffect(*edges[rng.integers(len(edges))])
    if kind == 1:
        return TotalEffect(names[0], names[1])
    if kind == 2 and len(names) > 2:
        return ThroughEffect(tuple(names[:3]))
    if kind == 3:
        return ErrorCovariance(names[0], names[1])
    if kind == 4:
        for u, v in edges:
            for w in model.graph.children(v):
                return PathEffect((u, v, w))
    cut = [int(c) for c in sorted(rng.integers(1, len(names) + 1, 2))]
    held = {v: float(rng.normal()) for v in names[cut[0] : cut[1]]}
    seen = {v: float(rng.normal()) for v in names[cut[1] :]}
    return Distribution.after(tuple(names[: cut[0]]), held, seen)


def some_counterfactual(model: CGLSCM, rng: np.random.Generator) -> Distribution:
    """Up to two outcomes in worlds of their own; evidence on factual variables and at times from another world."""

    def potential(variable: str) -> Variant:
        others = [v for v in model.names if v != variable]
        held = rng.choice(others, size=min(len(others), int(rng.integers(1, 3))), replace=False)
        return Variant(variable, {str(v): float(rng.normal()) for v in held})

    outcomes = tuple(potential(str(rng.choice(model.names))) for _ in range(int(rng.integers(1, 3))))
    # one evidence fewer than variables, so that the evidence keeps its rank when parameters move
    seen = rng.choice(model.names, size=int(rng.integers(0, len(model.names))), replace=False)
    given = {Variant(str(v)): float(rng.normal()) for v in seen}
    if not given or rng.integers(0, 3) == 0:
        given = {potential(str(rng.choice(model.names))): float(rng.normal())}
    return Distribution.across(outcomes, given)


@given(model=models(bows=True, most=5), seed=st.integers(0, 10_000))
@settings(max_examples=150, deadline=None, derandomize=True)
def test_gradients_equal_central_differences(model: CGLSCM, seed: int) -> None:
    rng = np.random.default_rng(seed)
    compare(model, some_query(model, rng), rng)


@given(model=models(bows=True, most=5), seed=st.integers(0, 10_000))
@settings(max_examples=100, deadline=None, derandomize=True)
def test_counterfactual_gradients_equal_central_differences(model: CGLSCM, seed: int) -> None:
    rng = np.random.default_rng(seed)
    compare(model, some_counterfactual(model, rng), rng)


def compare(model: CGLSCM, query: Query, rng: np.random.Generator) -> None:
    T, omega, mean = model.T, model.omega, model.mean
    found = linearize(query, model)
    gradients = (*found.values, *found.variances)
    dT = np.where(model.T != 0, rng.normal(size=T.shape), 0.0)
    half = rng.normal(size=omega.shape)
    d_omega = (half + half.T) / 2
    dm = rng.normal(size=mean.shape)
    h = 1e-6

    def moved(step: float) -> np.ndarray:
        return numbers(query, model.names, T + step * dT, omega + step * d_omega, mean + step * dm)

    slope = (moved(h) - moved(-h)) / (2 * h)
    exact = [float((g.T * dT).sum() + (g.omega * d_omega).sum() + g.mean @ dm) for g in gradients]
    np.testing.assert_allclose(exact, slope, rtol=2e-5, atol=2e-5 * (1 + np.abs(slope).max()))


def test_total_effect_gradient_by_hand() -> None:
    model = CGLSCM.from_parameters(names=["x", "m", "y"], T=[[0, 2, 5], [0, 0, 3], [0, 0, 0]])
    (found,) = linearize(TotalEffect("x", "y"), model).values
    assert isinstance(found, Gradient)
    assert found.T[0, 1] == pytest.approx(3)
    assert found.T[1, 2] == pytest.approx(2)
    assert found.T[0, 2] == pytest.approx(1)
    assert not found.omega.any()
    assert not found.mean.any()


@given(model=models(bows=True, most=4), seed=st.integers(0, 10_000))
@settings(max_examples=25, deadline=None, derandomize=True)
def test_the_mean_of_steps_is_a_sum_of_probabilities_and_moves_as_they_do(model: CGLSCM, seed: int) -> None:
    rng = np.random.default_rng(seed)
    outcome, *others = (str(v) for v in rng.permutation(model.names))
    case = Case({v: float(rng.normal()) for v in others[:1]})
    cuts, steps = np.sort(rng.normal(size=5)), rng.uniform(0.1, 2.0, size=5)
    mean = Stepped("steps", (single(outcome),), case, -1.0, tuple(cuts.tolist()), tuple(steps.tolist()))
    passing = [evaluate(Probability((Event(single(outcome), low=float(c)),), case), model) for c in cuts]
    assert evaluate(mean, model) == pytest.approx(-1.0 + float(steps @ np.array(passing)), abs=1e-12)
    compare(model, mean, rng)


@given(model=models(bows=True, most=4), seed=st.integers(0, 10_000))
@settings(max_examples=25, deadline=None, derandomize=True)
def test_an_expression_and_its_gradient_at_once_are_the_two_by_themselves(model: CGLSCM, seed: int) -> None:
    rng = np.random.default_rng(seed)
    outcome, *others = (str(v) for v in rng.permutation(model.names))
    one, other = (
        Probability((Event(single(outcome), low=0.2),), Case(dict.fromkeys(others[:1], at))) for at in (1.0, 0.0)
    )
    odds = [Arithmetic("/", p, Arithmetic("-", 1.0, p)) for p in (one, other)]
    asked = Arithmetic("*", Arithmetic("/", *odds), Arithmetic("+", one, Arithmetic("-", other, 0.1)))
    value, gradient = both_of(asked, model)
    (alone,) = gradients_of(asked, model, far=True).values
    assert float(value) == evaluate(asked, model)
    for part in ("T", "omega", "mean"):
        np.testing.assert_array_equal(getattr(gradient, part), getattr(alone, part))
