"""What holds for every graph, covariance, question and assumption."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest

import halftrek as ht
from halftrek.bottom.arrays import Floats
from halftrek.errors import QueryError
from halftrek.models import CGLSCM, Gaussian
from halftrek.partial.assumptions import Assumption, State, Within, conditions_of
from halftrek.partial.sets import IdentifiedSet, identified_set
from halftrek.queries import Query, evaluate
from tests.partial.brute import models_with
from tests.partial.graphs import Setting, random_covariance, random_graph, random_setting


def answer(query: Query, model: CGLSCM) -> float:
    found = evaluate(query, model)
    return float(found.mean[0]) if isinstance(found, Gaussian) else found


def found(setting: Setting, assumptions: Iterable[Assumption] | None = None) -> IdentifiedSet:
    assumed = setting.assumptions if assumptions is None else tuple(assumptions)
    return identified_set(setting.graph, setting.sigma, None, setting.question, assumed)


def inside(value: float, pieces: tuple[tuple[float, float], ...], margin: float = 1e-6) -> bool:
    room = margin * max(1.0, abs(value))
    return any(low - room <= value <= high + room for low, high in pieces)


@pytest.mark.parametrize("seed", range(70))
def test_brute_force_never_finds_a_value_outside(seed: int) -> None:
    """Models found by random starts and Newton steps, judged by the smooth conditions: by nothing that sets use."""
    setting = random_setting(seed, largest=3 if seed % 3 else 4)
    result = found(setting)
    rng = np.random.default_rng(seed)
    held = conditions_of(setting.assumptions, setting.graph, setting.wide.observed)
    outside = []
    for model in models_with(setting.wide, setting.sigma, rng, 40):
        values = held.values(State(model.T, model.omega, setting.sigma))
        if (values > 0.0).any():
            continue
        try:
            value = answer(result.query, model)
        except QueryError:  # too large to compute with
            continue
        if not inside(value, result.pieces):
            outside.append(value)
    assert outside == []


@pytest.mark.parametrize("seed", range(70))
def test_a_model_attains_each_finite_end(seed: int) -> None:
    setting = random_setting(100 + seed)
    result = found(setting)
    held = conditions_of(setting.assumptions, setting.graph, setting.wide.observed)
    ends = [end for end in (result.lower, result.upper) if np.isfinite(end.value)]
    for end in ends:
        assert end.model is not None
        model = end.model
        assert answer(result.query, model) == pytest.approx(end.value, abs=1e-6, rel=1e-6)
        lost = max(1.0, float(np.abs(model.T).max()) ** 2)  # digits, where a limit is only approached
        np.testing.assert_allclose(model.cov, setting.sigma, atol=1e-7 * lost * np.abs(setting.sigma).max())
        assert (held.values(State(model.T, model.omega, setting.sigma)) < 1e-5).all()
    assert len(ends) == sum(np.isfinite([end.value for end in (result.lower, result.upper)]))


def wider(assumption: Assumption) -> Assumption:
    if not isinstance(assumption, Within):
        return assumption
    room = 0.3 * max(abs(x) for x in (assumption.low, assumption.high) if np.isfinite(x)) + 0.05
    low = -1.0 if str(assumption.quantity).startswith("corr") else -np.inf
    high = 1.0 if str(assumption.quantity).startswith("corr") else np.inf
    return replace(assumption, low=max(assumption.low - room, low), high=min(assumption.high + room, high))


def contains(large: IdentifiedSet, small: IdentifiedSet) -> bool:
    scale = max([1.0, *(abs(x) for piece in small.pieces for x in piece if np.isfinite(x))])
    room = 1e-6 * scale
    return all(any(a - room <= low and high <= b + room for a, b in large.pieces) for low, high in small.pieces)


@pytest.mark.parametrize("seed", range(40))
def test_a_loosened_assumption_never_narrows(seed: int) -> None:
    setting = random_setting(200 + seed)
    if not setting.assumptions:
        setting = random_setting(900 + seed)
    assert contains(found(setting, map(wider, setting.assumptions)), found(setting))


@pytest.mark.parametrize("seed", range(40))
def test_one_more_on_an_edge_that_is_there_never_widens(seed: int) -> None:
    setting = random_setting(300 + seed)
    u, v = setting.graph.directed[0]
    more = ht.partial.assumptions.read_assumption(f"abs({u} -> {v}) <= 0.7", setting.graph)
    assert contains(found(setting), found(setting, (*setting.assumptions, more)))


@pytest.mark.parametrize("seed", range(40))
def test_one_more_on_an_absent_edge_that_may_be_nothing_never_narrows(seed: int) -> None:
    rng = np.random.default_rng(400 + seed)
    graph = random_graph(rng, 3)
    pairs = [(a, b) for i, a in enumerate(graph.observed) for b in graph.observed[i + 1 :]]
    absent = [pair for pair in pairs if pair[1] not in graph.siblings(pair[0])]
    if not absent:
        graph = ht.graph("v0 -> v1")
        absent = [("v0", "v1")]
    a, b = absent[int(rng.integers(len(absent)))]
    sigma = random_covariance(graph, rng)  # of the smaller graph: otherwise it is fitted, and that moves everything
    u, v = graph.directed[0]
    narrow = identified_set(graph, sigma, None, f"{u} ~> {v}")
    wide = identified_set(graph, sigma, None, f"{u} ~> {v}", [f"|corr({a} <-> {b})| <= 0.2"])
    assert contains(wide, narrow)


@pytest.mark.parametrize("seed", range(30))
def test_an_identified_question_is_one_point_the_estimate(seed: int) -> None:
    rng = np.random.default_rng(500 + seed)
    graph = random_graph(rng, 4)
    sigma = perturbed(random_covariance(graph, rng), rng)
    u, v = graph.directed[int(rng.integers(len(graph.directed)))]
    question = f"{u} ~> {v}"
    result = identified_set(graph, sigma, None, question)
    identified = ht.identify(graph, question).identified
    assert identified == (result.kind == "point")
    if identified:
        fitted = ht.fit(graph, cov=sigma, names=graph.observed, n=10_000)
        assert result.low == pytest.approx(float(fitted.query(question).value), rel=1e-6, abs=1e-7)


def perturbed(sigma: Floats, rng: np.random.Generator) -> Floats:
    """As a sample has it: a covariance that the graph has only nearly."""
    noise = rng.standard_normal(sigma.shape) * 0.02 * np.sqrt(np.outer(np.diag(sigma), np.diag(sigma)))
    return np.asarray(sigma + noise @ noise.T + 0.5 * (noise + noise.T))
