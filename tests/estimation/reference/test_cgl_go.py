"""CGL-Go against loops over rows, finite differences, and a general-purpose maximiser."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import multivariate_normal

from halftrek.bottom.choices import Mask
from halftrek.data import Moments
from halftrek.errors import DataError, GraphError, InputError
from halftrek.estimation.reference import cgl_go
from halftrek.estimation.reference.cgl_go import (
    ascend,
    e_step,
    gradient_B,
    gradient_C,
    gradient_T,
    masks,
    objective,
    observed_loglik,
    total,
)
from halftrek.graphs import Graph
from halftrek.models import CGLSCM

FRONT_DOOR = CGLSCM.from_parameters(
    names=["X1", "X2", "X3"],
    T=[[0, 0.5, 0], [0, 0, 0.9], [0.0, 0.0, 0.0]],
    C=[[-0.2, 0, 0.3]],
    mu=[0.3, 0.1, 0.2],
    latents=["U4"],
)
NAPKIN = CGLSCM.from_parameters(
    names=["X1", "X2", "X3", "X4"],
    T=[[0, 0.1, 0, 0], [0, 0, 0.9, 0], [0, 0, 0, 0.8], [0.0, 0.0, 0.0, 0.0]],
    C=[[-0.2, 0, 0.1, 0], [0.3, 0, 0, 0.4]],
    mu=[0.8, -0.9, 0.01, -0.5],
    latents=["U5", "U6"],
)
# A latent with three children, two latents on one variable, and more than one path between two variables.
TANGLED = Graph(
    directed=[("a", "b"), ("a", "c"), ("b", "c"), ("c", "d")],
    latents={"U": ["a", "c", "d"], "V": ["b", "d"]},
    observed=["d", "b", "a", "c"],
)


def moments_of(rows: np.ndarray, names: tuple[str, ...]) -> Moments:
    centred = np.asarray(rows) - np.asarray(rows).mean(axis=0)
    return Moments(tuple(names), float(len(rows)), np.asarray(rows).mean(axis=0), centred.T @ centred / len(rows))


def a_point(graph: Graph, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Rows and parameters (T, C, mu) that fit the graph and have nothing to do with each other."""
    rng = np.random.default_rng(seed)
    T_mask, _, C_mask = masks(graph)
    p = len(graph)
    rows = rng.standard_normal((30, p)) @ rng.standard_normal((p, p)) + rng.standard_normal(p)
    return (
        rows,
        rng.standard_normal((p, p)) * T_mask,
        rng.standard_normal(C_mask.shape) * C_mask,
        rng.standard_normal(p),
    )


def rows_e_step(rows: np.ndarray, B: np.ndarray, C: np.ndarray, mu: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Line 4 of Algorithm 1 as printed: mean and covariance of the hidden causes for every row."""
    CB = C @ B
    inverse = np.linalg.inv(CB.T @ CB + B.T @ B)
    return [(CB @ inverse @ (x - B.T @ mu), np.eye(len(C)) - CB @ inverse @ CB.T) for x in rows]


def rows_objective(
    rows: np.ndarray, posterior: list[tuple[np.ndarray, np.ndarray]], B: np.ndarray, C: np.ndarray, mu: np.ndarray
) -> float:
    """Line 6 of Algorithm 1 as printed, with its ``log|B'B|``; E|a - LU|² = |a - Lm|² + tr(L V L')."""
    precision = np.linalg.inv(B.T @ B)
    load = (C @ B).T
    value = -len(rows) * np.linalg.slogdet(B.T @ B)[1]
    for x, (m, V) in zip(rows, posterior, strict=True):
        gap = x - B.T @ mu - load @ m
        value -= gap @ precision @ gap + np.trace(precision @ load @ V @ load.T)
    return float(value)


def slope(value: Callable[[np.ndarray], float], at: np.ndarray, h: float = 1e-5) -> np.ndarray:
    out = np.zeros_like(at)
    for place in np.ndindex(at.shape):
        up, down = at.copy(), at.copy()
        up[place] += h
        down[place] -= h
        out[place] = (value(up) - value(down)) / (2 * h)
    return out


@pytest.mark.parametrize("graph", [FRONT_DOOR.graph, NAPKIN.graph, TANGLED], ids=["front-door", "napkin", "tangled"])
@pytest.mark.parametrize("seed", [0, 1])
class TestMomentsStandForRows:
    def test_e_step(self, graph: Graph, seed: int) -> None:
        rows, T, C, mu = a_point(graph, seed)
        B = total(T, "edge")
        hidden = e_step(moments_of(rows, graph.observed), B, C, mu)
        posterior = rows_e_step(rows, B, C, mu)
        means = np.array([m for m, _ in posterior])
        np.testing.assert_allclose(hidden.mean, means.mean(axis=0), atol=1e-10)
        np.testing.assert_allclose(
            hidden.with_x + np.outer(rows.mean(axis=0), hidden.mean), rows.T @ means / len(rows), atol=1e-10
        )
        second = np.mean([np.outer(m, m) + V for m, V in posterior], axis=0)
        np.testing.assert_allclose(hidden.square + np.outer(hidden.mean, hidden.mean), second, atol=1e-10)

    def test_objective_is_the_printed_one_at_other_parameters(self, graph: Graph, seed: int) -> None:
        rows, T, C, mu = a_point(graph, seed)
        _, T2, C2, mu2 = a_point(graph, seed + 100)
        data = moments_of(rows, graph.observed)
        hidden = e_step(data, total(T, "edge"), C, mu)
        posterior = rows_e_step(rows, total(T, "edge"), C, mu)
        ours = len(rows) * objective(data, hidden, total(T2, "edge"), C2, mu2)
        assert ours == pytest.approx(rows_objective(rows, posterior, total(T2, "edge"), C2, mu2), rel=1e-10)

    def test_gradients_are_slopes_of_the_printed_objective(self, graph: Graph, seed: int) -> None:
        rows, T, C, mu = a_point(graph, seed)
        _, T2, C2, mu2 = a_point(graph, seed + 100)
        T_mask, B_mask, C_mask = masks(graph)
        data, n, B2 = moments_of(rows, graph.observed), len(rows), total(T2, "edge")
        hidden = e_step(data, total(T, "edge"), C, mu)
        posterior = rows_e_step(rows, total(T, "edge"), C, mu)
        by_B = slope(lambda b: rows_objective(rows, posterior, b, C2, mu2) / n, B2)
        by_T = slope(lambda t: rows_objective(rows, posterior, total(t, "edge"), C2, mu2) / n, T2)
        by_C = slope(lambda c: rows_objective(rows, posterior, B2, c, mu2) / n, C2)
        size = max(1.0, np.abs(by_B).max(), np.abs(by_T).max())
        np.testing.assert_allclose(gradient_B(data, hidden, B2, C2, mu2) * B_mask, by_B * B_mask, atol=1e-6 * size)
        np.testing.assert_allclose(gradient_T(data, hidden, B2, C2, mu2) * T_mask, by_T * T_mask, atol=1e-6 * size)
        np.testing.assert_allclose(gradient_C(data, hidden, B2, C2, mu2) * C_mask, by_C * C_mask, atol=1e-6 * size)

    def test_observed_loglik(self, graph: Graph, seed: int) -> None:
        rows, T, C, mu = a_point(graph, seed)
        B = total(T, "edge")
        B[:, 0] += 0.1 * masks(graph)[1][:, 0]  # a B that no T of the graph gives
        cov = B.T @ (C.T @ C + np.eye(len(B))) @ B
        by_rows = multivariate_normal(B.T @ mu, cov).logpdf(rows).sum()
        assert observed_loglik(moments_of(rows, graph.observed), B, C, mu) == pytest.approx(by_rows, rel=1e-10)


def test_masks_of_the_napkin() -> None:
    T_mask, B_mask, C_mask = masks(NAPKIN.graph)
    np.testing.assert_array_equal(T_mask, np.eye(4, k=1))
    np.testing.assert_array_equal(B_mask, np.triu(np.ones((4, 4)), 1))
    np.testing.assert_array_equal(C_mask, [[1, 0, 1, 0], [1, 0, 0, 1]])


def test_ascent_never_goes_down_and_finds_the_top() -> None:
    curvature = np.diag([1.0, 30.0, 0.2])
    seen: list[float] = []

    def value(x: np.ndarray) -> float:
        return -float((x - 1.0) @ curvature @ (x - 1.0))

    def gradient(x: np.ndarray) -> np.ndarray:
        seen.append(value(x))
        return -2.0 * curvature @ (x - 1.0)

    x, step = np.zeros(3), 0.5
    for _ in range(40):
        x, step = ascend(value, gradient, x, step)
    assert all(b >= a - 1e-12 for a, b in pairwise(seen))
    np.testing.assert_allclose(x, 1.0, atol=1e-6)


@pytest.mark.parametrize("mask", ["edge", "ancestor"])
def test_likelihood_never_falls_over_the_iterations(mask: Mask) -> None:
    data = moments_of(NAPKIN.sample(500, 1), NAPKIN.names)
    path = [
        cgl_go(NAPKIN.graph, data, mask=mask, random_state=3, max_iter=k, tol=0.0).loglik
        for k in (1, 2, 3, 5, 8, 13, 40)
    ]
    assert all(b >= a - 1e-8 for a, b in pairwise(path))
    assert path[-1] > path[0] + 1.0


@pytest.mark.parametrize("truth", [FRONT_DOOR, NAPKIN], ids=["front-door", "napkin"])
def test_reaches_the_maximum_that_a_general_optimiser_finds(truth: CGLSCM) -> None:
    data = moments_of(truth.sample(10_000, 2), truth.names)
    T_mask, _, C_mask = masks(truth.graph)
    edges, loads = int(T_mask.sum()), int(C_mask.sum())

    def unpack(theta: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        T, C = np.zeros_like(T_mask), np.zeros_like(C_mask)
        T[T_mask > 0], C[C_mask > 0] = theta[:edges], theta[edges : edges + loads]
        return total(T, "edge"), C, theta[edges + loads :]

    start = np.concatenate([truth.T[T_mask > 0], truth.C[C_mask > 0], truth.mu])
    best = minimize(lambda t: -observed_loglik(data, *unpack(t)) / data.n, start, method="BFGS", options={"gtol": 1e-7})
    result = cgl_go(truth.graph, data, tol=1e-8)
    assert result.converged
    assert result.loglik == pytest.approx(-best.fun * data.n, abs=1e-4)
    B, C, mu = unpack(best.x)
    np.testing.assert_allclose(result.B, B, atol=2e-4)
    np.testing.assert_allclose(result.mu, mu, atol=2e-4)
    np.testing.assert_allclose(result.C.T @ result.C, C.T @ C, atol=2e-4)


def test_fits_the_napkin_of_ten_thousand_rows_in_seconds() -> None:
    data = moments_of(NAPKIN.sample(10_000, 0), NAPKIN.names)
    began = time.perf_counter()
    result = cgl_go(NAPKIN.graph, data)
    assert time.perf_counter() - began < 10.0
    assert result.converged
    effect = result.model.do({"X3": 1.0}).distribution("X4")
    assert effect.mean[0] == pytest.approx(0.3, abs=0.06)
    assert effect.variance[0] == pytest.approx(1.16, abs=0.06)


def test_edge_mask_starts_agree_where_the_papers_mask_does_not() -> None:
    data = moments_of(NAPKIN.sample(10_000, 2), NAPKIN.names)

    def spread(mask: Mask) -> tuple[float, float]:
        results = [cgl_go(NAPKIN.graph, data, mask=mask, random_state=s) for s in range(5)]
        effects = [r.model.do({"X3": 1.0}).distribution("X4").mean[0] for r in results]
        return float(np.ptp([r.loglik for r in results])), float(np.ptp(effects))

    edge_loglik, edge_effect = spread("edge")
    ancestor_loglik, ancestor_effect = spread("ancestor")
    assert edge_loglik < 1e-3
    assert ancestor_loglik < 1e-3
    assert edge_effect < 1e-3
    assert ancestor_effect > 0.05


def test_under_the_edge_mask_B_belongs_to_T_and_under_the_papers_it_does_not() -> None:
    data = moments_of(NAPKIN.sample(10_000, 2), NAPKIN.names)
    edge = cgl_go(NAPKIN.graph, data)
    np.testing.assert_allclose(edge.B, edge.model.B, atol=1e-10)
    paper = cgl_go(NAPKIN.graph, data, mask="ancestor")
    assert np.abs(paper.B - paper.model.B).max() > 1e-3


def test_without_hidden_causes_it_is_least_squares() -> None:
    graph = Graph(directed=[("x", "m"), ("m", "y"), ("x", "y")])
    rng = np.random.default_rng(5)
    rows = rng.standard_normal((400, 3)) @ rng.standard_normal((3, 3)) + [1.0, -2.0, 0.5]
    result = cgl_go(graph, moments_of(rows, ("x", "m", "y")), tol=1e-9)
    design = np.column_stack([np.ones(400), rows[:, :2]])
    intercept, *weights = np.linalg.lstsq(design, rows[:, 2], rcond=None)[0]
    np.testing.assert_allclose(result.T[:2, 2], weights, atol=1e-6)
    assert result.mu[2] == pytest.approx(intercept, abs=1e-6)


def test_order_of_the_columns_does_not_matter() -> None:
    data = moments_of(FRONT_DOOR.sample(2_000, 4), FRONT_DOOR.names)
    mixed = data.select(("X3", "X1", "X2"))
    one, two = cgl_go(FRONT_DOOR.graph, data), cgl_go(FRONT_DOOR.graph, mixed)
    np.testing.assert_allclose(one.T, two.T, atol=1e-12)


def test_same_start_same_result() -> None:
    data = moments_of(FRONT_DOOR.sample(500, 4), FRONT_DOOR.names)
    one, two = (cgl_go(FRONT_DOOR.graph, data, random_state=7, max_iter=5) for _ in range(2))
    other = cgl_go(FRONT_DOOR.graph, data, random_state=8, max_iter=5)
    np.testing.assert_array_equal(one.B, two.B)
    assert np.abs(one.B - other.B).max() > 0
    assert not one.converged
    assert one.iterations == 5


class TestRefusals:
    data = Moments(("x", "y"), 10.0, np.zeros(2), np.eye(2))

    def test_bidirected_edge(self) -> None:
        with pytest.raises(GraphError, match=r"x <-> y.*canonical\(\)"):
            cgl_go(Graph(directed=[("x", "y")], bidirected=[("x", "y")]), self.data)

    def test_fixed_coefficient(self) -> None:
        with pytest.raises(GraphError, match="x -> y"):
            cgl_go(Graph(directed=[("x", "y")], coefficients={"x -> y": 0.5}), self.data)

    def test_missing_column(self) -> None:
        with pytest.raises(DataError, match="'z'"):
            cgl_go(Graph(directed=[("x", "z")]), self.data)

    def test_unknown_mask(self) -> None:
        with pytest.raises(InputError, match="ancestor"):
            cgl_go(Graph(directed=[("x", "y")]), self.data, mask="paper")  # type: ignore[arg-type]
