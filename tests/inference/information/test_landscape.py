"""The likelihood around a fit: its value by the rows, its derivatives by finite differences."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy.stats import multivariate_normal

import halftrek as ht
from halftrek.inference.information.base import kind_of_data
from halftrek.inference.information.landscape import Landscape, Target
from halftrek.inference.information.missing.likelihood import MissingLandscape
from halftrek.models import CGLSCM
from halftrek.queries import (
    DirectEffect,
    Distribution,
    ErrorCovariance,
    PathEffect,
    Query,
    ThroughEffect,
    TotalEffect,
)
from halftrek.results.fit import Fit
from halftrek.simulation import random_graph, random_model
from tests.narrow import some

FRONT_DOOR = "x -> m -> y; x <-> y"
FACTOR = "latent U; U -> {x, m, y}; x -> z"
DO = Distribution.after(("y",), {"x": 1.0})
CASES: list[tuple[str, Query, dict[str, Any]]] = [
    (FRONT_DOOR, TotalEffect("x", "y"), {}),
    (FRONT_DOOR, DO, {}),
    (FRONT_DOOR, DO, {"intercepts": {"m": 0.1}}),
    (FRONT_DOOR, TotalEffect("x", "y"), {"coefficients": {"x -> m": "a", "m -> y": "a"}}),
    (FACTOR, TotalEffect("x", "z"), {"noise": {"x": 1.0}}),
    ("latent U; U -> {x, m, y, z}", ErrorCovariance("x", "z"), {}),
]


def rows_of(holes: bool) -> np.ndarray:
    """Rows in units of their own."""
    T = np.zeros((4, 4))
    T[0, 1], T[1, 2], T[0, 3] = 0.6, 0.5, 0.7
    truth = CGLSCM.from_parameters(
        names=["x", "m", "y", "z"], T=T, C=[[0.7, 0.5, 0.8, 0.0]], psi=[1, 1.2, 0.9, 1], mu=[0.2, 0.1, -0.2, 0.3]
    )
    rows = np.array(truth.sample(150, random_state=5))
    if holes:
        rows[np.random.default_rng(1).random(rows.shape) < 0.15] = np.nan
    return np.asarray(rows * [1.0, 2.0, 0.5, 3.0])


def fit_of(text: str, options: dict[str, Any], holes: bool) -> Fit:
    graph = ht.graph(text)
    at = ["xmyz".index(v) for v in graph.observed]
    return ht.fit(graph, rows_of(holes)[:, at], names=graph.observed, **options)


def landscape_of(fit: Fit, target: Target) -> tuple[Landscape, np.ndarray]:
    """The landscape of a target, and a place beside the maximum."""
    land = kind_of_data(fit).landscape(fit, target, False)
    rng = np.random.default_rng(3)
    theta = np.maximum(land.start, np.maximum(land.lower, -20.0)) + rng.uniform(0.02, 0.06, len(land.start))
    assert np.isfinite(land.at(theta).value)
    return land, theta


def differences(function: Callable[[np.ndarray], Any], theta: np.ndarray) -> np.ndarray:
    """Central differences in each place."""
    h = 1e-5
    return np.array([(function(theta + h * e) - function(theta - h * e)) / (2.0 * h) for e in np.eye(len(theta))])


@pytest.mark.parametrize("holes", [False, True])
@pytest.mark.parametrize(("text", "query", "options"), CASES)
def test_derivatives_are_finite_differences(text: str, query: Query, options: dict[str, Any], holes: bool) -> None:
    land, theta = landscape_of(fit_of(text, options, holes), Target(query))
    assert isinstance(land, MissingLandscape) == holes
    here = land.at(theta)
    slopes = land.gradient(here)
    assert np.abs(slopes).max() > 1e-3  # away from the maximum
    np.testing.assert_allclose(slopes, differences(lambda t: land.at(t).value, theta), atol=1e-7)
    bends = differences(lambda t: land.gradient(land.at(t)), theta)
    np.testing.assert_allclose(land.hessian(here), bends, atol=1e-6)
    moved = land.slope(here)
    np.testing.assert_allclose(moved, differences(lambda t: land.answer(land.at(t)), theta), atol=1e-7)
    assert set(np.flatnonzero(np.abs(moved) > 1e-9)) <= set(land.relevant.tolist())
    np.testing.assert_allclose(land.bend(here, moved), differences(lambda t: land.slope(land.at(t)), theta), atol=1e-4)


@pytest.mark.parametrize("holes", [False, True])
def test_variances_have_slopes_too(holes: bool) -> None:
    land, theta = landscape_of(fit_of(FRONT_DOOR, {}, holes), Target(DO, "variance"))
    slopes = land.slope(land.at(theta))
    assert np.abs(slopes).max() > 1e-2
    np.testing.assert_allclose(slopes, differences(lambda t: land.answer(land.at(t)), theta), atol=1e-7)


def test_the_value_is_that_of_the_rows() -> None:
    """Minus two log densities of what each row has, by row, up to a constant."""
    fit = fit_of(FRONT_DOOR, {}, holes=True)
    land, theta = landscape_of(fit, Target(DO))
    rows = rows_of(holes=True)[:, :3]
    rows = rows[~np.isnan(rows).all(axis=1)]

    def deviance(model: CGLSCM) -> float:
        seen = [(row[has], np.flatnonzero(has)) for row, has in zip(rows, ~np.isnan(rows), strict=True)]
        logs = [multivariate_normal(model.mean[at], model.cov[np.ix_(at, at)]).logpdf(row) for row, at in seen]
        return float(-2.0 * np.sum(logs))

    assert land.model.names == ("x", "m", "y")
    here, start = land.at(theta), land.at(land.start)
    assert land.n * (here.value - start.value) == pytest.approx(deviance(here.model) - deviance(start.model), rel=1e-9)


@pytest.mark.parametrize("holes", [False, True])
def test_error_covariances_that_can_be_anything_follow_the_coefficients(holes: bool) -> None:
    """In the bow each coefficient has error covariances with the same distribution of what is observed."""
    fit = fit_of("x -> m; x <-> m", {}, holes)
    land = kind_of_data(fit).landscape(fit, Target(TotalEffect("x", "m")), False)
    before = land.at(land.start)
    moved = before.theta.copy()
    moved[land.relevant] += 0.3
    assert land.at(moved).value > before.value + 1e-2
    after = land.at(land.refit_errors(before, moved))
    assert land.answer(after) != pytest.approx(land.answer(before), abs=0.1)
    assert after.value == pytest.approx(before.value, abs=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_second_derivatives_along_paths_equal_differences_of_the_gradient(seed: int) -> None:
    graph = random_graph(7, n_edges=12, n_bidirected=3, random_state=seed)
    if seed % 2:  # coefficients of one label move together
        graph = graph.with_(coefficients={f"{u} -> {v}": "a" for u, v in graph.directed[:3]})
    model = random_model(graph, random_state=seed)
    fit = ht.fit(graph, ht.Moments(model.names, 200, model.mean, model.cov))
    order = [v for v in graph.topological_order if v in graph.descendants(graph.topological_order[0])]
    (u, m), w = graph.directed[0], graph.children(graph.directed[0][1])
    queries: list[Query] = [TotalEffect(order[0], order[-1]), DirectEffect(u, m)]
    queries += [PathEffect((u, m, w[0])), ThroughEffect((u, m, w[0]))] if w else []
    for query in some(queries):
        land, theta = landscape_of(fit, Target(query))
        point = land.at(theta)
        slope = land.slope(point)
        slow = Landscape.bend(land, point, slope)
        np.testing.assert_allclose(land.bend(point, slope), slow, atol=1e-5 * max(1.0, float(np.abs(slow).max())))


def test_second_derivatives_cost_one_look_however_long_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"v{i}" for i in range(12)]
    graph = ht.Graph(list(pairwise(names)))
    model = random_model(graph, random_state=1)
    fit = ht.fit(graph, ht.Moments(model.names, 200, model.mean, model.cov))
    land, theta = landscape_of(fit, Target(TotalEffect("v0", "v11")))
    point = land.at(theta)
    slope = land.slope(point)
    visited: list[np.ndarray] = []
    monkeypatch.setattr(type(land), "at", lambda _, theta: visited.append(theta))
    assert land.bend(point, slope).any()
    assert not visited
