"""All models with one covariance: the true one is among them, each has the covariance, and they move as told."""

from __future__ import annotations

import numpy as np
import pytest

import halftrek as ht
from halftrek.errors import GraphError
from halftrek.identification.local.jacobian import model_dimension
from halftrek.partial.fibre import fibre_of
from halftrek.partial.sets.covariance import ground_of
from tests.partial.graphs import random_covariance, random_graph


@pytest.mark.parametrize("seed", range(60))
def test_every_point_is_a_model_with_the_covariance(seed: int) -> None:
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, 5)
    sigma = random_covariance(graph, rng)
    fibre = fibre_of(graph, sigma)
    models = fibre.at(rng.uniform(-1.0, 1.0, (4, fibre.dimension)) * fibre.units)
    sizes = np.sqrt(np.einsum("nii->ni", models.omega))
    np.testing.assert_allclose(
        models.B.swapaxes(-1, -2) @ models.omega @ models.B,
        np.broadcast_to(sigma, (4, *sigma.shape)),
        rtol=1e-6,
        atol=1e-6 * np.abs(sigma).max(),
    )
    if fibre.left:
        return
    for i, a in enumerate(graph.observed):
        for j, b in enumerate(graph.observed[:i]):
            if b not in graph.siblings(a):
                assert (np.abs(models.omega[:, i, j] / (sizes[:, i] * sizes[:, j])) < 1e-7).all()
            if b not in graph.parents(a):
                assert not models.T[:, j, i].any()


@pytest.mark.parametrize("seed", range(60))
def test_there_are_as_many_coordinates_as_the_graph_leaves_open(seed: int) -> None:
    rng = np.random.default_rng(1000 + seed)
    graph = random_graph(rng, 5)
    fibre = fibre_of(graph, random_covariance(graph, rng))
    parameters = len(graph.directed) + len(graph.bidirected) + len(graph)
    open_ones = parameters - model_dimension(graph)
    assert fibre.dimension - fibre.left <= open_ones <= fibre.dimension


TEXTS = [
    "x -> y; x <-> y",
    "z -> x -> y; z -> y; x <-> y; z <-> y",
    "x -> m -> y; x <-> y; x <-> m; m <-> y",
    "latent U; U -> x; U -> y; U -> w; x -> y",
    "latent U V; U -> a; U -> b; U -> c; V -> b; V -> c; V -> d; a -> b; b -> d",
]


@pytest.mark.parametrize("text", TEXTS)
def test_moves_are_those_of_finite_differences(text: str) -> None:
    graph = ht.graph(text)
    rng = np.random.default_rng(2)
    p = len(graph)
    root = rng.standard_normal((p, p)) * 0.3 + np.eye(p)
    fibre = fibre_of(graph, root @ root.T)
    u = rng.uniform(0.4, 0.9, fibre.dimension) * fibre.units
    _, moves = fibre.both(u)
    _, left_slopes = fibre.leftover(u)
    assert fibre.dimension > 0
    for k in range(fibre.dimension):
        step = np.zeros(fibre.dimension)
        step[k] = 1e-6
        after, before = fibre.at(u + step), fibre.at(u - step)
        for part in ("T", "C", "omega"):
            numeric = (getattr(after, part) - getattr(before, part)) / 2e-6
            np.testing.assert_allclose(getattr(moves, part)[k], numeric, rtol=1e-5, atol=1e-6)
        change = (fibre.leftover(u + step)[0] - fibre.leftover(u - step)[0]) / 2e-6
        np.testing.assert_allclose(left_slopes[:, k], change, rtol=1e-5, atol=1e-6)


def test_the_true_model_is_on_the_fibre() -> None:
    graph = ht.graph("latent U; U -> x; U -> y; U -> w; x -> y")
    names = ("x", "y", "w")
    T = np.zeros((3, 3))
    T[0, 1] = 0.4
    C = np.array([[0.7, 0.6, 0.9]])
    model = ht.CGLSCM.from_parameters(names=names, T=T, C=C, psi=np.array([0.8, 1.0, 0.5]), latents=["U"])
    fibre = fibre_of(graph, model.cov, names=names)
    place = {"x": 0, "y": 1, "w": 2}
    u = np.array(
        [C[0, place[c.effect]] if c.loading else T[place[c.cause], place[c.effect]] for c in fibre.plan.coordinates]
    )
    there = fibre.at(u)
    np.testing.assert_allclose(there.T, T, atol=1e-12)
    np.testing.assert_allclose(there.C, C, atol=1e-12)
    np.testing.assert_allclose(there.noise, [0.8, 1.0, 0.5], atol=1e-12)


def test_known_and_equal_weights_hold() -> None:
    graph = ht.graph("x1 -> y; x2 -> y; x1 <-> y; x2 <-> y; x1 <-> x2").with_(
        coefficients={"x1 -> y": "a", "x2 -> y": "a"}
    )
    sigma = np.array([[1.0, 0.5, 0.55], [0.5, 1.4, -0.07], [0.55, -0.07, 1.366]])
    names = ("x1", "x2", "y")
    models = fibre_of(graph, sigma, names=names).at(np.array([[0.3], [0.7]]))
    np.testing.assert_allclose(models.T[:, [0, 1], 2], [[0.3, 0.3], [0.7, 0.7]])
    held = graph.with_(coefficients={"x1 -> y": 0.25})
    fibre = fibre_of(held, sigma, names=names)
    assert fibre.dimension == 1
    assert (fibre.at(np.array([[0.3], [0.7]])).T[:, 0, 2] == 0.25).all()


def test_equal_error_covariances_are_refused() -> None:
    graph = ht.graph("x -> y; x <-> y; y <-> z").with_(coefficients={"x <-> y": "c", "y <-> z": "c"})
    with pytest.raises(GraphError, match="label 'c'"):
        fibre_of(graph, np.eye(3))


def test_a_fitted_covariance_of_many_variables_is_rounded_from_numbers_of_any_length() -> None:
    """Exact covariances far down a graph have numerators beyond the largest float."""
    rng = np.random.default_rng(9)
    names = [f"v{k}" for k in range(40)]
    arrows = [(names[i], names[j]) for j in range(1, 40) for i in rng.choice(j, size=min(j, 2), replace=False)]
    graph = ht.Graph(arrows, [("v0", "v5")], {}, names)
    rows = rng.normal(size=(1000, 40))
    ground = ground_of(graph, np.cov(rows.T), np.zeros(40), names, (), None)
    assert ground.fitted
    model = ht.fit(graph, rows, names=names).model
    np.testing.assert_allclose(ground.fibre.sigma, model.cov, atol=0.01)
