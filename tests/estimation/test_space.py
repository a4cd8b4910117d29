"""One vector for the whole model: there and back, and derivatives against differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import given, settings

from halftrek.data import Moments
from halftrek.estimation import fit
from halftrek.estimation.given.options import Options
from halftrek.estimation.space import make_space
from halftrek.graphs import Graph
from halftrek.models import CGLSCM
from halftrek.queries import Distribution, evaluate
from halftrek.queries.gradients import linearize
from tests.estimation.strategies import models
from tests.narrow import normal

SETTINGS = settings(max_examples=30, deadline=None, derandomize=True)


def differences(function: Callable[[np.ndarray], Any], theta: np.ndarray, h: float = 1e-6) -> np.ndarray:
    steps = np.eye(len(theta)) * h
    return np.array([(function(theta + s) - function(theta - s)) / (2 * h) for s in steps])


@given(model=models(bows=True))
@SETTINGS
def test_a_model_goes_in_and_its_moments_come_out(model: CGLSCM) -> None:
    space = make_space(model.graph, model.names, Options())
    mean, cov = space.moments(space.vector(model))
    np.testing.assert_allclose(mean, model.mean, atol=1e-9)
    np.testing.assert_allclose(cov, model.cov, atol=1e-9)


@given(model=models(bows=True))
@SETTINGS
def test_derivatives_of_the_moments_are_differences(model: CGLSCM) -> None:
    space = make_space(model.graph, model.names, Options())
    theta = space.vector(model)
    dmean, dcov = space.jacobian(theta)
    np.testing.assert_allclose(dmean, differences(lambda x: space.moments(x)[0], theta), atol=1e-6)
    np.testing.assert_allclose(dcov, differences(lambda x: space.moments(x)[1], theta), atol=1e-6)


def test_a_gradient_is_pulled_to_the_parameters() -> None:
    """Through labels, fixed values, loadings and a fixed intercept at once."""
    graph = Graph(
        directed=[("a", "b"), ("b", "c"), ("a", "c"), ("c", "d")],
        bidirected=[("a", "d")],
        latents={"U": ["b", "c", "d"]},
        coefficients={"a -> b": "k", "b -> c": "k", "c -> d": 0.5},
    )
    rng = np.random.default_rng(0)
    root = rng.normal(size=(4, 4))
    data = Moments(graph.observed, 500, rng.normal(size=4), root @ root.T + np.eye(4))
    found = fit(graph, data, intercepts={"c": 0.3})
    space = make_space(found.graph, found.model.names, found.options)
    theta = space.vector(found.model)
    assert len(space.latents) == 1
    assert space.size == 2 + 1 + 4 + 3 + 3  # labels and edge, arc, variances, loadings, intercepts
    query = Distribution.after(("d",), {"a": 1.0}, {"b": 0.5})
    gradient = linearize(query, found.model).values[0]

    def value(point: np.ndarray) -> float:
        T, W, C, mu = space.arrays(point)
        moved = type(found.model)(found.model.names, T, C, mu, W, found.model.latents, found.graph)
        return normal(evaluate(query, moved)).mean[0]

    np.testing.assert_allclose(space.pull(gradient, theta), differences(value, theta), atol=1e-5)
    assert space.arrays(theta)[3][2] == 0.3
    assert space.arrays(theta)[0][2, 3] == 0.5


@given(model=models(bows=True))
@SETTINGS
def test_the_inverse_covariance_has_entries_between_near_variables_alone(model: CGLSCM) -> None:
    space = make_space(model.graph, model.names, Options())
    rng = np.random.default_rng(0)
    T, W, C, _ = space.arrays(rng.uniform(0.1, 1.0, space.size))
    omega = W + C.T @ C + np.diag(np.abs(W).sum(axis=1))
    into = np.eye(len(T)) - T
    inverse = into @ np.linalg.inv(omega) @ into.T
    assert space.acyclic
    assert space.near.diagonal().all()
    assert np.abs(inverse[~space.near]).max(initial=0.0) < 1e-12
    assert sorted(np.concatenate(space.districts).tolist()) == list(range(len(T)))
    apart = np.ones_like(space.near)
    for district in space.districts:
        apart[np.ix_(district, district)] = False
    assert not omega[apart].any()


def test_near_variables_are_causes_of_one_district_and_itself() -> None:
    graph = Graph([("a", "b"), ("c", "d"), ("b", "e")], [("b", "d")])
    near = make_space(graph, tuple("abcde"), Options()).near
    pairs = {f"{u}{v}" for i, u in enumerate("abcde") for j, v in enumerate("abcde") if i < j and near[i, j]}
    assert pairs == {"ab", "ac", "ad", "bc", "bd", "cd", "be"}
