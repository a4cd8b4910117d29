"""Corners: flat directions, boundaries, contradictions, and what a review found."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from halftrek.data import Moments
from halftrek.errors import DataError, InputError
from halftrek.estimation import fit, fit_batch
from halftrek.graphs import Graph
from halftrek.models import CGLSCM
from tests.estimation.strategies import dense_loglik
from tests.estimation.test_fit import population, sample

# -- corners ----------------------------------------------------------------------------------------


def test_a_bow_is_flat_and_says_so_but_reaches_the_maximum() -> None:
    model = CGLSCM.from_parameters(names=["x", "y"], T=[[0, 0.5], [0.0, 0.0]], omega={("x", "y"): 0.3})
    found = fit(model.graph, population(model))
    assert found.status.code == "flat"
    assert found.converged
    assert "cannot be determined" in str(found.status)
    np.testing.assert_allclose(found.model.cov, model.cov, atol=1e-8)


def test_three_pairwise_causes_cannot_correlate_as_three_arcs_can() -> None:
    cov = np.full((3, 3), 0.9) + 0.1 * np.eye(3)
    data = Moments(("a", "b", "c"), 1000, np.zeros(3), cov)
    arcs = fit(Graph((), [("a", "b"), ("b", "c"), ("a", "c")]), data)
    causes = fit(Graph((), (), {"U": ["a", "b"], "V": ["b", "c"], "X": ["a", "c"]}), data)
    np.testing.assert_allclose(arcs.model.cov, cov, atol=1e-9)
    assert causes.status.code == "boundary"
    assert causes.loglik < arcs.loglik - 100
    assert (causes.model.psi >= 0).all()
    em = fit(causes.graph, data, finish=False, max_iter=4000)
    assert causes.loglik >= em.loglik - 1e-6


def test_heywood_case_is_a_boundary_not_a_crash() -> None:
    cov = np.array([[1, 0.8, 0.3], [0.8, 1, 0.7], [0.3, 0.7, 1.0]])
    found = fit(Graph((), (), {"F": ["a", "b", "c"]}), Moments(("a", "b", "c"), 1000, np.zeros(3), cov))
    assert found.status.code == "boundary"
    assert "zero" in str(found.status)
    assert found.model.psi.min() < 1e-9
    assert np.isfinite(found.loglik)


def test_mixed_arcs_and_causes_in_one_district() -> None:
    W = {("b", "c"): 0.5, ("a", "d"): -0.3}
    C = [[0.5, 0.6, 0, 0], [0, 0, 0.7, 0.4]]
    T = np.zeros((4, 4))
    T[0, 2] = 0.8
    model = CGLSCM.from_parameters(names=list("abcd"), T=T, C=C, omega=W)
    found = fit(model.graph, population(model))
    np.testing.assert_allclose(found.model.omega, model.omega, atol=1e-6)
    assert np.linalg.eigvalsh(found.model.W)[0] >= 0
    assert found.model.W[0, 1] == 0.0


def test_hidden_cause_of_one_child_is_noise() -> None:
    model = CGLSCM.from_parameters(names=["x", "y"], T=[[0, 0.5], [0.0, 0.0]], C=[[0, 0.7]], latents=["U"])
    found = fit(model.graph, population(model))
    assert found.converged
    assert found.model.omega[1, 1] == pytest.approx(model.omega[1, 1])


def test_fewer_rows_than_variables_is_fine_where_districts_are_small() -> None:
    rng = np.random.default_rng(0)
    names = [f"v{i}" for i in range(30)]
    X = rng.standard_normal((20, 30))
    data = Moments(tuple(names), 20, X.mean(axis=0), np.cov(X.T, ddof=0))
    found = fit(Graph(list(pairwise(names))), data)
    assert found.converged
    assert found.model.T[0, 1] == pytest.approx(data.cov[0, 1] / data.cov[0, 0])


@pytest.mark.parametrize(
    ("cov", "n", "message"),
    [
        ([[1, 1, 0], [1, 1, 0], [0, 0, 1]], 100, "perfectly correlated"),
        ([[1, 0, 0], [0, 0, 0], [0, 0, 1]], 100, "'x' is constant"),
        ([[1, 0.9, 0.9], [0.9, 1, -0.9], [0.9, -0.9, 1]], 100, "not positive definite"),
        ([[1, 0, 0], [0, 1, 0], [0, 0, 1]], 2, "too few"),
    ],
)
def test_unusable_moments_are_explained(cov: Any, n: int, message: str) -> None:
    graph = Graph([("z", "x"), ("x", "y"), ("z", "y")])
    with pytest.raises(DataError, match=message):
        fit(graph, Moments(("z", "x", "y"), n, np.zeros(3), np.array(cov, float)))


def test_missing_column_is_named() -> None:
    with pytest.raises(DataError, match="'y'"):
        fit(Graph([("x", "y")]), Moments(("x",), 10, np.zeros(1), np.eye(1)))


# -- corners that a review found ---------------------------------------------------------------------


def test_a_known_loading_keeps_its_sign() -> None:
    cov = np.outer([0.9, 0.8, 0.7], [0.9, 0.8, 0.7]) + np.diag([0.2, 0.3, 0.4])
    data = Moments(("a", "b", "c"), 500, np.zeros(3), cov)
    found = fit(Graph((), (), {"F": ["a", "b", "c"]}), data, coefficients={"F -> a": -0.9})
    np.testing.assert_allclose(found.model.C, [[-0.9, -0.8, -0.7]], atol=1e-6)


def test_a_fixed_arc_does_not_swallow_the_hidden_cause_beside_it() -> None:
    data = Moments(("a", "b"), 200, np.zeros(2), np.array([[1, 0.5], [0.5, 1]]))
    graph = Graph((), [("a", "b")], {"U": ["a", "b"]})
    found = fit(graph, data, coefficients={"a <-> b": 0.1})
    assert found.loglik == pytest.approx(-538.8072, abs=1e-3)
    assert found.model.W[0, 1] == pytest.approx(0.1)


def test_means_far_from_zero_refuse_a_fixed_intercept() -> None:
    data = Moments(("x", "y"), 300, np.array([1e6, 1e6]), np.array([[1, 0.7], [0.7, 1.5]]))
    with pytest.raises(DataError, match="Shift 'x'"):
        fit(Graph([("x", "y")]), data, intercepts={"y": 0.0})


def test_equal_covariances_find_the_better_maximum() -> None:
    rng = np.random.default_rng(14)
    X = rng.standard_normal((300, 4)) @ (np.eye(4) + 0.7 * rng.standard_normal((4, 4)))
    graph = Graph([("a", "b"), ("b", "c")], [("a", "c"), ("b", "d"), ("c", "d")], observed=list("abcd"))
    data = Moments(graph.observed, 300, X.mean(axis=0), np.cov(X.T, ddof=0))
    found = fit(graph, data, coefficients={"a <-> c": "k", "b <-> d": "k", "c <-> d": "k"})
    assert found.loglik == pytest.approx(-2013.616, abs=1e-2)


def test_em_alone_does_not_claim_more_than_it_has_done() -> None:
    model = CGLSCM.from_parameters(names=list("abc"), T=np.zeros((3, 3)), C=[[0.8, 0.7, 0.9]])
    data = sample(model, 300)
    assert not fit(model.graph, data, finish=False, max_iter=1).converged
    assert fit(model.graph, data, finish=False, max_iter=20_000).converged


@pytest.mark.parametrize(("arc", "loglik"), [(0.95, -847.5306), (0.7, -841.2471)])
def test_a_fixed_arc_beside_loadings_ends_on_the_right_boundary(arc: float, loglik: float) -> None:
    data = Moments(tuple("abc"), 200, np.zeros(3), np.array([[1, 0.3, 0.1], [0.3, 1, 0.2], [0.1, 0.2, 1]]))
    graph = Graph((), [("a", "b")], {"U": list("abc")})
    assert fit(graph, data, coefficients={"a <-> b": arc}).loglik == pytest.approx(loglik, abs=2e-3)


def test_fixed_covariances_that_leave_little_room_still_have_a_start() -> None:
    data = Moments(tuple("abc"), 200, np.zeros(3), np.array([[1, 0.3, 0.1], [0.3, 1, 0.2], [0.1, 0.2, 1]]))
    found = fit(Graph((), [("a", "b"), ("b", "c")]), data, coefficients={"a <-> b": 1.5})
    assert found.loglik == pytest.approx(-879.41, abs=1e-2)
    assert np.linalg.eigvalsh(found.model.W)[0] > 0


def test_everything_fixed_is_evaluated_and_contradictions_are_refused() -> None:
    data = Moments(("a", "b"), 200, np.zeros(2), np.array([[1, 0.3], [0.3, 1]]))
    graph = Graph((), [("a", "b")])
    held = fit(graph, data, coefficients={"a <-> b": 0.3}, noise="unit")
    assert held.loglik == pytest.approx(dense_loglik(held.model, 200, data.mean, data.cov))
    with pytest.raises(InputError, match="contradict"):
        fit(graph, data, coefficients={"a <-> b": 3.0}, noise="unit")


def test_a_batch_judges_each_set_by_its_own_rows() -> None:
    graph = Graph([("x", "y")])
    sets = [Moments(("x", "y"), n, np.zeros(2), np.array([[1, 0.5], [0.5, 1]])) for n in (2, 100)]
    assert list(fit_batch(graph, sets).code) == ["failed", "converged"]


def test_latents_in_another_order_keep_their_names() -> None:
    model = CGLSCM.from_parameters(
        names=list("abcdef"),
        T=np.zeros((6, 6)),
        C=[[1, 0.9, 0.8, 0, 0, 0], [0, 0, 0, 0.5, 0.4, 0.6]],
        latents=["F", "G"],
    )
    turned = Graph((), (), {"G": list("def"), "F": list("abc")}, list("abcdef"))
    fit(model.graph, population(model))
    batch = fit_batch(turned, [population(model)])
    one = batch.model(0)
    assert np.flatnonzero(one.C[one.latents.index("F")]).tolist() == [0, 1, 2]


def test_what_is_given_replaces_what_the_graph_said() -> None:
    graph = Graph([("x", "y")], [("x", "z")], coefficients={"x -> y": 0.2, "x <-> z": 0.1})
    data = Moments(graph.observed, 100, np.zeros(3), np.eye(3) + 0.2)
    found = fit(graph, data, coefficients={"x->y": 0.7, "z <-> x": 0.3})
    assert dict(found.graph.coefficients) == {"x -> y": 0.7, "x <-> z": 0.3}
