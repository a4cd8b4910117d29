"""Structural models against brute force: paths enumerated, equations solved row by row."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halftrek.errors import ModelError, QueryError
from halftrek.graphs import Graph
from halftrek.models import CGLSCM, GLSCM, Rows, cgl_edge, direct_effects, total_effects
from halftrek.simulation import random_graph, random_model, simulate
from tests.estimation.strategies import models

QUICK = settings(max_examples=40, deadline=None, derandomize=True)


def path_sum(T: np.ndarray, i: int, j: int) -> float:
    """Total effect by walking every directed path."""
    return 1.0 if i == j else sum(T[i, k] * path_sum(T, k, j) for k in np.flatnonzero(T[i]).tolist())


def rows_by_equations(model: CGLSCM, u: np.ndarray, eps: np.ndarray, held: dict[str, float]) -> np.ndarray:
    """Each variable computed from its causes, one row and one variable at a time."""
    X = np.zeros_like(eps)
    for r in range(len(eps)):
        for v in model.graph.topological_order:
            j = model.names.index(v)
            if v in held:
                X[r, j] = held[v]
            else:
                X[r, j] = model.mu[j] + X[r] @ model.T[:, j] + u[r] @ model.C[:, j] + eps[r, j]
    return X


@given(model=models(bows=True))
@QUICK
def test_total_effects_are_sums_over_paths(model: CGLSCM) -> None:
    p = len(model.names)
    brute = np.array([[path_sum(model.T, i, j) for j in range(p)] for i in range(p)])
    np.testing.assert_allclose(model.B, brute, atol=1e-12)
    np.testing.assert_allclose(direct_effects(model.B), model.T, atol=1e-12)
    np.testing.assert_allclose(total_effects(model.T), model.B)


@given(model=models(most=8, bows=True), seed=st.integers(0, 2**16))
@QUICK
def test_total_effects_keep_their_digits_in_any_units(model: CGLSCM, seed: int) -> None:
    """An inverse of I - T by elimination may lose them all where coefficients range over fifty decades."""
    p = len(model.names)
    unit = 10.0 ** np.random.default_rng(seed).uniform(-12.0, 14.0, p)
    back = np.outer(unit, 1.0 / unit)
    brute = np.array([[path_sum(model.T, i, j) for j in range(p)] for i in range(p)])
    reach = np.array([[path_sum(np.abs(model.T), i, j) for j in range(p)] for i in range(p)])
    found = total_effects(np.stack([model.T, model.T / back]))
    assert (np.abs(found[0] - brute) <= 1e-13 * reach).all()
    assert (np.abs(found[1] * back - brute) <= 1e-13 * reach).all()


def test_total_effects_around_a_cycle_are_the_inverse() -> None:
    T = np.array([[0.0, 0.5, 0.0], [0.0, 0.0, 0.5], [0.4, 0.0, 0.0]])
    np.testing.assert_allclose(total_effects(T), np.linalg.inv(np.eye(3) - T))


def test_samples_and_checks_in_any_units() -> None:
    """The variance of the smallest variable is not lost in the rounding of the largest."""
    unit = np.array([1e14, 1e-12, 1.0])
    W = np.array([[1.0, 0.5, 0.2], [0.5, 1.0, 0.3], [0.2, 0.3, 1.0]])
    arcs = {(a, b): W[i, j] * unit[i] * unit[j] for i, a in enumerate("xyz") for j, b in enumerate("xyz") if i < j}
    model = CGLSCM.from_parameters(names=list("xyz"), T=np.zeros((3, 3)), psi=unit**2, omega=arcs)
    for rows in (model.sample(4000, random_state=0), model.joint.sample(4000, random_state=0)):
        np.testing.assert_allclose(np.cov((np.asarray(rows) / unit).T), W, atol=0.08)
    np.testing.assert_allclose(np.cov((np.asarray(simulate(model, 4000, 0, errors="t5")) / unit).T), W, atol=0.12)
    for size in (1e-12, 1e14):
        with pytest.raises(ModelError, match="too large"):
            CGLSCM.from_parameters(names=["x", "y"], T=np.zeros((2, 2)), psi=[size, size], omega={("x", "y"): 2 * size})


@given(model=models(bows=True))
@QUICK
def test_cgl_edge_inverts_total_effects(model: CGLSCM) -> None:
    np.testing.assert_allclose(cgl_edge(model.B, model.graph, model.names), model.T, atol=1e-12)


def test_cgl_edge_follows_the_algorithm_on_a_B_that_no_T_gives() -> None:
    """The paper's own napkin output: t14 is not an edge, and b14 is ignored."""
    model = CGLSCM.from_parameters(names=list("abcd"), T=np.diag([0.1, 0.9, 0.8], 1))
    B = np.array([[1, 0.1024, 0.0920, 0.0566], [0, 1, 0.8985, 0.7134], [0, 0, 1, 0.7945], [0, 0, 0, 1]])
    np.testing.assert_allclose(cgl_edge(B, model.graph), np.diag([0.1024, 0.8985, 0.7945], 1))


@given(model=models(bows=True), seed=st.integers(0, 1000))
@QUICK
def test_do_is_the_brute_force_intervention(model: CGLSCM, seed: int) -> None:
    """The joint after do() from unit responses of the equations: affine map of (u, eps), dense covariance."""
    rng = np.random.default_rng(seed)
    p, q = len(model.names), len(model.latents)
    chosen = [v for v in model.names if rng.random() < 0.4]
    held = {v: float(rng.normal()) for v in chosen}
    base = rows_by_equations(model, np.zeros((1, q)), np.zeros((1, p)), held)[0]
    units = np.eye(q + p)
    response = rows_by_equations(model, units[:, :q], units[:, q:], held) - base
    spread = np.zeros((q + p, q + p))
    spread[:q, :q] = np.eye(q)
    spread[q:, q:] = model.W
    after = model.do(held)
    np.testing.assert_allclose(after.mean, base, atol=1e-10)
    np.testing.assert_allclose(after.cov, response.T @ spread @ response, atol=1e-10)
    assert not any(v in held for _, v in after.graph.directed)


@given(model=models(bows=True, most=4))
@settings(max_examples=10, deadline=None, derandomize=True)
def test_samples_of_both_worlds_have_the_implied_moments(model: CGLSCM) -> None:
    n = 40_000
    for world in (model, model.do({model.names[0]: 1.5})):
        X = world.sample(n, random_state=1)
        assert X.names == model.names
        scale = np.sqrt(np.diag(world.cov)) + 1e-9
        assert (np.abs(X.mean(axis=0) - world.mean) <= 6 * scale / np.sqrt(n) + 1e-9).all()
        np.testing.assert_allclose(np.cov(X.T, ddof=0), world.cov, atol=8 * np.outer(scale, scale).max() / np.sqrt(n))


def test_samples_repeat_with_the_seed_and_differ_without() -> None:
    model = CGLSCM.from_parameters(names=["x", "y"], T=[[0, 1], [0, 0]])
    assert np.array_equal(model.sample(5, random_state=7), model.sample(5, random_state=7))
    assert not np.array_equal(model.sample(5, random_state=7), model.sample(5, random_state=8))


@given(seed=st.integers(0, 1000))
@QUICK
def test_centralize_keeps_the_distribution_and_every_intervention(seed: int) -> None:
    """Theorem 2.3 with the standard deviation: simulate the general model through its equations."""
    rng = np.random.default_rng(seed)
    T = np.triu(rng.normal(size=(3, 3)), 1)
    C, mu, psi = rng.normal(size=(2, 3)), rng.normal(size=3), rng.uniform(0.5, 2, 3)
    latent_mean, latent_var, noise_mean = rng.normal(size=2), rng.uniform(0.2, 4, 2), rng.normal(size=3)
    general = GLSCM(("a", "b", "c"), T, C, mu, psi, ("U", "V"), latent_mean, latent_var, noise_mean)
    model = general.centralize()
    B = np.linalg.inv(np.eye(3) - T)
    np.testing.assert_allclose(model.mean, B.T @ (mu + latent_mean @ C + noise_mean), atol=1e-10)
    omega = C.T @ np.diag(latent_var) @ C + np.diag(psi)
    np.testing.assert_allclose(model.cov, B.T @ omega @ B, atol=1e-9)
    np.testing.assert_allclose(model.C, np.sqrt(latent_var)[:, None] * C)


def test_paper_front_door_numbers() -> None:
    T = [[0, 0.5, 0], [0, 0, 0.9], [0.0, 0.0, 0.0]]
    model = CGLSCM.from_parameters(names=["x1", "x2", "x3"], T=T, C=[[-0.2, 0, 0.3]], mu=[0.3, 0.1, 0.2])
    first, second = model.do({"x2": 1}).distribution("x3"), model.do({"x1": 1}).distribution("x3")
    assert first.mean[0] == pytest.approx(1.1)
    assert first.cov[0, 0] == pytest.approx(1.09)
    assert second.mean[0] == pytest.approx(0.74)
    assert second.cov[0, 0] == pytest.approx(1.9)


def test_arrays_are_read_only() -> None:
    model = CGLSCM.from_parameters(names=["x", "y"], T=[[0, 1], [0, 0]])
    for array in (model.T, model.C, model.mu, model.psi, model.W, model.B, model.mean, model.cov, model.omega):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


@given(model=models())
@QUICK
def test_reorder_is_only_a_change_of_order(model: CGLSCM) -> None:
    back = model.names[::-1]
    other = model.reorder(back)
    at = [model.names.index(v) for v in back]
    np.testing.assert_allclose(other.cov, model.cov[np.ix_(at, at)], atol=1e-12)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"T": [[0, 1]]}, "T must have the shape"),
        ({"T": [[0, 1], [1, 0]]}, "cycle"),
        ({"T": [[0, float("nan")], [0, 0]]}, "not finite"),
        ({"T": [[0, 1], [0, 0]], "psi": [1, -1]}, "'y'"),
        ({"T": [[0, 1], [0, 0]], "psi": [1]}, "psi"),
        ({"T": [[0, 1], [0, 0]], "omega": {("x", "y"): 2.0}}, "positive definite"),
        ({"T": [[0, 1], [0, 0]], "omega": {("x", "q"): 0.1}}, "omega names 'q', which the model does not have"),
        ({"T": [[0, 1], [0, 0]], "omega": {("x", "y", "x"): 0.1}}, r"omega has \('x', 'y', 'x'\) where a pair"),
        ({"T": [[0, 1], [0, 0]], "omega": {3: 0.1}}, "omega has 3 where a pair of variables belongs"),
        ({"T": [[0, 1], [0, 0]], "omega": {("x", "y"): "much"}}, r"'much' for the pair \('x', 'y'\); give a number"),
        ({"T": [[0, 1], [0, 0]], "mu": [1]}, "mu"),
        ({"T": [[0, 1], [0, 0]], "C": [[1, 1]], "latents": ["U", "V"]}, "C must have"),
    ],
)
def test_parameters_that_make_no_model_are_refused(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        CGLSCM.from_parameters(names=["x", "y"], **parameters)


def test_unknown_variable_and_value_in_do() -> None:
    model = CGLSCM.from_parameters(names=["income", "age"], T=[[0, 1], [0, 0]])
    with pytest.raises(QueryError, match="Did you mean 'income'"):
        model.do({"incom": 1})
    with pytest.raises(QueryError, match="finite"):
        model.do({"age": float("inf")})
    with pytest.raises(ModelError, match="one entry per latent"):
        GLSCM(("x",), np.zeros((1, 1)), np.ones((1, 1)), np.zeros(1), np.ones(1), ("U",), np.zeros(2)).centralize()


def test_rows_keep_names_only_while_they_hold() -> None:
    rows = Rows(np.arange(6.0).reshape(3, 2), ("x", "y"))
    assert rows[:2].names == ("x", "y")
    assert getattr(rows[:, ::-1], "names", None) is None
    assert getattr(rows + 1, "names", None) is None
    assert rows.mean() == 2.5


@pytest.mark.parametrize("seed", range(20))
def test_a_sweep_along_the_edges_equals_products_of_matrices(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = random_graph(8, n_edges=2 * (seed % 12), n_bidirected=4, n_latents=1, latent_children=3, random_state=seed)
    model = random_model(graph, random_state=seed)
    monkeypatch.setattr("halftrek.models.scm.WIDE", 0)
    swept = replace(model)
    B = np.linalg.inv(np.eye(8) - model.T)
    np.testing.assert_allclose(swept.B, B, atol=1e-14)
    np.testing.assert_allclose(swept.cov, B.T @ model.omega @ B, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(swept.mean, B.T @ model.mu, rtol=1e-12, atol=1e-12)
    backwards = {v: i for i, v in enumerate(reversed(model.names))}
    other = Graph(
        [(u, v) for u in model.names for v in model.names if backwards[u] < backwards[v]], (), {}, model.names
    )
    np.testing.assert_allclose(replace(swept, graph=other, C=np.zeros((0, 8)), latents=()).B, B, atol=1e-14)


def test_the_graph_of_a_model_has_all_that_is_not_zero() -> None:
    model = CGLSCM.from_parameters(
        names=["x", "y", "z"],
        T=[[0.0, 0.5, 0.2], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]],
        C=[[0.3, 0.0, 0.4]],
        omega={("x", "y"): 0.1, ("z", "x"): 0.2, ("y", "z"): 0.3},
    )
    assert set(model.graph.directed) == {("x", "y"), ("x", "z")}
    assert set(map(frozenset, model.graph.bidirected)) == {frozenset("xy"), frozenset("xz"), frozenset("yz")}
    (children,) = model.graph.latents.values()
    assert tuple(children) == ("x", "z")
