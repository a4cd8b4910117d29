"""Fits against dense oracles, known models and symmetries."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize as scipy_minimize

from halftrek.errors import DataError, GraphError, InputError
from halftrek.estimation import fit, fit_batch
from halftrek.graph import Graph
from halftrek.model import CGLSCM
from halftrek.moments import Moments
from tests.estimation.strategies import dense_loglik, models, rebuilt

QUICK = settings(max_examples=30, deadline=None, derandomize=True)


def population(model: CGLSCM, n: float = 500.0) -> Moments:
    return Moments(model.names, n, np.array(model.mean), np.array(model.cov))


def sample(model: CGLSCM, n: int = 300, seed: int = 0) -> Moments:
    X = np.asarray(model.sample(n, random_state=seed))
    return Moments(model.names, n, X.mean(axis=0), np.cov(X.T, ddof=0).reshape(X.shape[1], X.shape[1]))


@given(model=models())
@QUICK
def test_recovers_a_bow_free_model_from_its_population(model):
    found = fit(model.graph, population(model))
    assert found.converged
    np.testing.assert_allclose(found.model.T, model.T, atol=1e-6)
    np.testing.assert_allclose(found.model.omega, model.omega, atol=1e-6)
    np.testing.assert_allclose(found.model.mu, model.mu, atol=1e-6)
    np.testing.assert_allclose(found.model.cov, model.cov, atol=1e-8)


@given(model=models(bows=True))
@QUICK
def test_reaches_the_population_likelihood_with_bows(model):
    data = population(model)
    found = fit(model.graph, data)
    best = dense_loglik(model, data.n, data.mean, data.cov)
    assert found.loglik >= best - 1e-5
    if found.converged:
        np.testing.assert_allclose(found.model.cov, model.cov, atol=1e-4)


@given(model=models(bows=True))
@QUICK
def test_loglik_is_the_dense_one(model):
    data = sample(model)
    found = fit(model.graph, data)
    assert found.loglik == pytest.approx(dense_loglik(found.model, data.n, data.mean, data.cov), rel=1e-9)


@given(model=models(most=4), noise=st.sampled_from(["free", "unit"]), intercepts=st.sampled_from(["free", "zero"]))
@settings(max_examples=12, deadline=None, derandomize=True)
def test_no_general_optimiser_finds_more(model, noise, intercepts):
    """A quasi-Newton search over all parameters at once, from the fit and from random points, finds nothing better."""
    data = sample(model, n=200)
    found = fit(model.graph, data, noise=noise, intercepts=intercepts)
    rows, columns = np.nonzero(model.T)
    loads, pairs = np.nonzero(model.C), np.nonzero(np.tril(model.W, -1))
    p = len(model.names)
    sizes = np.cumsum([len(rows), len(loads[0]), len(pairs[0]), p if noise == "free" else 0])

    def negative(x: np.ndarray) -> float:
        t, c, w, v, m = np.split(x, sizes)
        T, C, W = np.zeros((p, p)), np.zeros_like(model.C), np.diag(np.exp(v) if noise == "free" else np.ones(p))
        T[rows, columns], C[loads] = t, c
        W[pairs] = w
        W.T[pairs] = w
        if np.linalg.eigvalsh(W)[0] <= 1e-9:
            return 1e6
        mu = m if intercepts == "free" else np.zeros(p)
        return -dense_loglik(CGLSCM(model.names, T, C, mu, W, model.latents), 1.0, data.mean, data.cov)

    size = sizes[-1] + (p if intercepts == "free" else 0)
    rng = np.random.default_rng(0)
    for _ in range(3):
        start = 0.3 * rng.standard_normal(size)
        start[sizes[1] : sizes[2]] = 0.0
        other = scipy_minimize(negative, start, method="BFGS", options={"maxiter": 300})
        assert found.loglik / data.n >= -other.fun - 1e-7


@given(model=models(bows=True, most=4), seed=st.integers(0, 100))
@QUICK
def test_order_of_variables_does_not_matter(model, seed):
    data = sample(model)
    order = tuple(np.random.default_rng(seed).permutation(model.names).tolist())
    first, second = fit(model.graph, data), fit(rebuilt(model.graph, order), data)
    if first.converged and second.converged:
        assert first.loglik == pytest.approx(second.loglik, abs=1e-5)
    at = [second.model.names.index(v) for v in model.names]
    if model.graph.is_bow_free:
        np.testing.assert_allclose(second.model.T[np.ix_(at, at)], first.model.T, atol=1e-6)


@given(model=models(), factor=st.floats(0.01, 100.0), which=st.integers(0, 1))
@QUICK
def test_rescaling_a_column_rescales_the_effect(model, factor, which):
    data = sample(model)
    scale = np.ones(len(model.names))
    scale[which] = factor
    other = Moments(data.names, data.n, data.mean * scale, data.cov * np.outer(scale, scale))
    first, second = fit(model.graph, data), fit(model.graph, other)
    np.testing.assert_allclose(second.model.B * scale[:, None] / scale, first.model.B, rtol=1e-6, atol=1e-7)


@given(model=models(arcs=False))
@QUICK
def test_sign_of_a_hidden_cause_changes_nothing_observable(model):
    flipped = CGLSCM(model.names, model.T, -model.C, model.mu, model.W, model.latents)
    np.testing.assert_array_equal(flipped.cov, model.cov)
    first, second = fit(model.graph, population(model)), fit(flipped.graph, population(flipped))
    np.testing.assert_allclose(first.model.cov, second.model.cov)


@given(model=models(arcs=False, most=4))
@settings(max_examples=15, deadline=None, derandomize=True)
def test_em_alone_agrees_with_the_finish(model):
    data = sample(model, n=1000)
    exact = fit(model.graph, data)
    slow = fit(model.graph, data, finish=False, max_iter=3000)
    assert slow.loglik <= exact.loglik + 1e-8
    assert slow.loglik == pytest.approx(exact.loglik, abs=1e-2)


@given(model=models(), b=st.integers(1, 6))
@QUICK
def test_batch_equals_one_by_one(model, b):
    sets = [sample(model, seed=i) for i in range(b)]
    together = fit_batch(model.graph, sets)
    for i, data in enumerate(sets):
        alone = fit(model.graph, data)
        assert together.loglik[i] == pytest.approx(alone.loglik, abs=1e-7)
        np.testing.assert_allclose(together.T[i], alone.model.T, atol=1e-6)
        np.testing.assert_allclose(together.omega[i], alone.model.omega, atol=1e-6)
        assert together.model(i).names == alone.model.names


def test_batch_marks_unusable_moments_and_fits_the_rest():
    graph = Graph([("x", "y")])
    cov = np.array([[[1.0, 0.5], [0.5, 1.0]], [[1.0, 1.0], [1.0, 1.0]], [[np.nan, 0.0], [0.0, 1.0]]])
    found = fit_batch(graph, cov=cov, n=100)
    assert list(found.code) == ["converged", "failed", "failed"]
    assert found.total_effect("x", "y")[0] == pytest.approx(0.5)
    assert np.isnan(found.total_effect("x", "y")[1:]).all()
    with pytest.raises(DataError, match="data set 1"):
        found.model(1)


def test_many_districts_are_padded_and_still_exact():
    """Districts of different parent counts share a shape through empty slots; each must equal its own fit."""
    rng = np.random.default_rng(5)
    arrows, arcs = [], []
    for k in range(7):
        arrows += [(f"z{k}_{i}", f"{side}{k}") for side in "ab" for i in range(1 + k % 4)]
        arcs.append((f"a{k}", f"b{k}"))
    graph = Graph(arrows, arcs)
    p = len(graph)
    X = rng.standard_normal((400, p)) @ (np.eye(p) + 0.2 * rng.standard_normal((p, p)))
    data = Moments(graph.observed, 400, X.mean(axis=0), np.cov(X.T, ddof=0))
    whole = fit(graph, data)
    for k in range(7):
        part = graph.induced([v for v in graph.observed if v.endswith(str(k)) or v.startswith(f"z{k}_")])
        alone = fit(part, data.select(part.observed))
        for u, v in part.directed:
            i, j = whole.model.names.index(u), whole.model.names.index(v)
            a, b = alone.model.names.index(u), alone.model.names.index(v)
            assert whole.model.T[i, j] == pytest.approx(alone.model.T[a, b], abs=1e-8)
    assert whole.loglik == pytest.approx(dense_loglik(whole.model, 400, data.mean, data.cov))


# -- what is held fixed ---------------------------------------------------------------------------


def instrument(omega: float = 0.4) -> CGLSCM:
    T = [[0, 1, 0], [0, 0, 0.5], [0, 0, 0]]
    return CGLSCM.from_parameters(names=["z", "x", "y"], T=T, mu=[1, 2, 3], omega={("x", "y"): omega})


def test_fixed_coefficient_is_kept_and_the_rest_is_its_best():
    data = sample(instrument(), 500)
    graph = instrument().graph
    held = fit(graph, data, coefficients={"x -> y": 0.7})
    assert held.model.T[1, 2] == 0.7
    free = fit(graph, data)
    assert held.loglik < free.loglik
    same = fit(graph, data, coefficients={"x -> y": float(free.model.T[1, 2])})
    assert same.loglik == pytest.approx(free.loglik, abs=1e-7)


def test_equal_coefficients_by_label_across_districts():
    model = CGLSCM.from_parameters(names=["a", "b", "c"], T=[[0, 0.6, 0], [0, 0, 0.6], [0, 0, 0]])
    data = sample(model, 400)
    tied = fit(model.graph, data, coefficients={"a -> b": "k", "b -> c": "k"})
    assert tied.model.T[0, 1] == pytest.approx(tied.model.T[1, 2], abs=1e-12)
    best = max(
        fit(model.graph, data, coefficients={"a -> b": k, "b -> c": k}).loglik for k in np.linspace(0.4, 0.8, 401)
    )
    assert tied.loglik >= best - 1e-9
    assert tied.loglik <= fit(model.graph, data).loglik


def test_equal_coefficients_within_a_district_with_confounding():
    data = sample(instrument(), 500)
    tied = fit(instrument().graph, data, coefficients={"z -> x": "k", "x -> y": "k"})
    k = tied.model.T[0, 1]
    assert tied.model.T[1, 2] == pytest.approx(k, abs=1e-10)
    around = [
        fit(instrument().graph, data, coefficients={"z -> x": k + e, "x -> y": k + e}).loglik for e in (-1e-3, 0, 1e-3)
    ]
    assert around[1] == pytest.approx(tied.loglik, abs=1e-7)
    assert around[1] > max(around[0], around[2])


def test_equal_loadings_and_fixed_loading():
    C = [[0.8, 0.8, 0.5, 0.9]]
    model = CGLSCM.from_parameters(names=list("abcd"), T=np.zeros((4, 4)), C=C, latents=["F"])
    data = sample(model, 500)
    tied = fit(model.graph, data, coefficients={"F -> a": "k", "F -> b": "k"})
    assert abs(tied.model.C[0, 0]) == pytest.approx(abs(tied.model.C[0, 1]), abs=1e-10)
    held = fit(model.graph, data, coefficients={"F -> a": 0.8})
    assert held.model.C[0, 0] == pytest.approx(0.8)
    assert held.loglik <= fit(model.graph, data).loglik + 1e-9
    assert tied.loglik <= fit(model.graph, data).loglik + 1e-9


def test_fixed_error_covariance():
    data = population(instrument(0.4))
    held = fit(instrument().graph, data, coefficients={"x <-> y": 0.4})
    assert held.model.W[1, 2] == pytest.approx(0.4)
    assert held.loglik == pytest.approx(fit(instrument().graph, data).loglik, abs=1e-8)


def test_noise_unit_by_name_and_free():
    model = CGLSCM.from_parameters(names=["x", "y"], T=[[0, 0.5], [0, 0]], psi=[1.0, 2.0])
    data = population(model)
    assert fit(model.graph, data, noise="unit").model.psi == pytest.approx([1.0, 1.0])
    assert fit(model.graph, data, noise={"x": 3.0}).model.psi == pytest.approx([3.0, 2.0])
    assert fit(model.graph, data).model.psi == pytest.approx([1.0, 2.0])


def test_intercepts_fixed_by_name_in_a_confounded_district():
    model = instrument()
    data = population(model)
    right = fit(model.graph, data, intercepts={"x": 2.0})
    assert right.model.mu == pytest.approx([1, 2, 3], abs=1e-6)
    wrong = fit(model.graph, sample(model, 400), intercepts={"x": 1.0})
    assert wrong.model.mu[1] == 1.0
    assert wrong.loglik < fit(model.graph, sample(model, 400)).loglik
    moments = sample(model, 400)
    assert wrong.loglik == pytest.approx(dense_loglik(wrong.model, 400, moments.mean, moments.cov))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"noise": {"q": 1.0}}, "q"),
        ({"noise": {"x": -1.0}}, "'x' must be positive"),
        ({"noise": "loud"}, "loud"),
        ({"intercepts": {"x": float("nan")}}, "'x' must be a finite"),
        ({"method": "magic"}, "magic"),
        ({"starts": 0}, "starts"),
        ({"coefficients": {"y -> z": 1.0}}, "no such edge"),
        ({"method": "cgl-go", "noise": "free"}, "noise"),
    ],
)
def test_bad_options_name_the_culprit(options, message):
    with pytest.raises((InputError, GraphError), match=message):
        fit(instrument().graph, population(instrument()), **options)


# -- corners ----------------------------------------------------------------------------------------


def test_a_bow_is_flat_and_says_so_but_reaches_the_maximum():
    model = CGLSCM.from_parameters(names=["x", "y"], T=[[0, 0.5], [0, 0]], omega={("x", "y"): 0.3})
    found = fit(model.graph, population(model))
    assert found.status.code == "flat"
    assert found.converged
    assert "cannot be determined" in str(found.status)
    np.testing.assert_allclose(found.model.cov, model.cov, atol=1e-8)


def test_three_pairwise_causes_cannot_correlate_as_three_arcs_can():
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


def test_heywood_case_is_a_boundary_not_a_crash():
    cov = np.array([[1, 0.8, 0.3], [0.8, 1, 0.7], [0.3, 0.7, 1.0]])
    found = fit(Graph((), (), {"F": ["a", "b", "c"]}), Moments(("a", "b", "c"), 1000, np.zeros(3), cov))
    assert found.status.code == "boundary"
    assert "zero" in str(found.status)
    assert found.model.psi.min() < 1e-9
    assert np.isfinite(found.loglik)


def test_mixed_arcs_and_causes_in_one_district():
    W = {("b", "c"): 0.5, ("a", "d"): -0.3}
    C = [[0.5, 0.6, 0, 0], [0, 0, 0.7, 0.4]]
    T = np.zeros((4, 4))
    T[0, 2] = 0.8
    model = CGLSCM.from_parameters(names=list("abcd"), T=T, C=C, omega=W)
    found = fit(model.graph, population(model))
    np.testing.assert_allclose(found.model.omega, model.omega, atol=1e-6)
    assert np.linalg.eigvalsh(found.model.W)[0] >= 0
    assert found.model.W[0, 1] == 0.0


def test_hidden_cause_of_one_child_is_noise():
    model = CGLSCM.from_parameters(names=["x", "y"], T=[[0, 0.5], [0, 0]], C=[[0, 0.7]], latents=["U"])
    found = fit(model.graph, population(model))
    assert found.converged
    assert found.model.omega[1, 1] == pytest.approx(model.omega[1, 1])


def test_fewer_rows_than_variables_is_fine_where_districts_are_small():
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
def test_unusable_moments_are_explained(cov, n, message):
    graph = Graph([("z", "x"), ("x", "y"), ("z", "y")])
    with pytest.raises(DataError, match=message):
        fit(graph, Moments(("z", "x", "y"), n, np.zeros(3), np.array(cov, float)))


def test_missing_column_is_named():
    with pytest.raises(DataError, match="'y'"):
        fit(Graph([("x", "y")]), Moments(("x",), 10, np.zeros(1), np.eye(1)))


# -- corners that a review found ---------------------------------------------------------------------


def test_a_known_loading_keeps_its_sign():
    cov = np.outer([0.9, 0.8, 0.7], [0.9, 0.8, 0.7]) + np.diag([0.2, 0.3, 0.4])
    data = Moments(("a", "b", "c"), 500, np.zeros(3), cov)
    found = fit(Graph((), (), {"F": ["a", "b", "c"]}), data, coefficients={"F -> a": -0.9})
    np.testing.assert_allclose(found.model.C, [[-0.9, -0.8, -0.7]], atol=1e-6)


def test_a_fixed_arc_does_not_swallow_the_hidden_cause_beside_it():
    data = Moments(("a", "b"), 200, np.zeros(2), np.array([[1, 0.5], [0.5, 1]]))
    graph = Graph((), [("a", "b")], {"U": ["a", "b"]})
    found = fit(graph, data, coefficients={"a <-> b": 0.1})
    assert found.loglik == pytest.approx(-538.8072, abs=1e-3)
    assert found.model.W[0, 1] == pytest.approx(0.1)


def test_means_far_from_zero_refuse_a_fixed_intercept():
    data = Moments(("x", "y"), 300, np.array([1e6, 1e6]), np.array([[1, 0.7], [0.7, 1.5]]))
    with pytest.raises(DataError, match="Shift 'x'"):
        fit(Graph([("x", "y")]), data, intercepts={"y": 0.0})


def test_equal_covariances_find_the_better_maximum():
    rng = np.random.default_rng(14)
    X = rng.standard_normal((300, 4)) @ (np.eye(4) + 0.7 * rng.standard_normal((4, 4)))
    graph = Graph([("a", "b"), ("b", "c")], [("a", "c"), ("b", "d"), ("c", "d")], observed=list("abcd"))
    data = Moments(graph.observed, 300, X.mean(axis=0), np.cov(X.T, ddof=0))
    found = fit(graph, data, coefficients={"a <-> c": "k", "b <-> d": "k", "c <-> d": "k"})
    assert found.loglik == pytest.approx(-2013.616, abs=1e-2)


def test_em_alone_does_not_claim_more_than_it_has_done():
    model = CGLSCM.from_parameters(names=list("abc"), T=np.zeros((3, 3)), C=[[0.8, 0.7, 0.9]])
    data = sample(model, 300)
    assert not fit(model.graph, data, finish=False, max_iter=1).converged
    assert fit(model.graph, data, finish=False, max_iter=20_000).converged


@pytest.mark.parametrize(("arc", "loglik"), [(0.95, -847.5306), (0.7, -841.2471)])
def test_a_fixed_arc_beside_loadings_ends_on_the_right_boundary(arc, loglik):
    data = Moments(tuple("abc"), 200, np.zeros(3), np.array([[1, 0.3, 0.1], [0.3, 1, 0.2], [0.1, 0.2, 1]]))
    graph = Graph((), [("a", "b")], {"U": list("abc")})
    assert fit(graph, data, coefficients={"a <-> b": arc}).loglik == pytest.approx(loglik, abs=2e-3)


def test_fixed_covariances_that_leave_little_room_still_have_a_start():
    data = Moments(tuple("abc"), 200, np.zeros(3), np.array([[1, 0.3, 0.1], [0.3, 1, 0.2], [0.1, 0.2, 1]]))
    found = fit(Graph((), [("a", "b"), ("b", "c")]), data, coefficients={"a <-> b": 1.5})
    assert found.loglik == pytest.approx(-879.41, abs=1e-2)
    assert np.linalg.eigvalsh(found.model.W)[0] > 0


def test_everything_fixed_is_evaluated_and_contradictions_are_refused():
    data = Moments(("a", "b"), 200, np.zeros(2), np.array([[1, 0.3], [0.3, 1]]))
    graph = Graph((), [("a", "b")])
    held = fit(graph, data, coefficients={"a <-> b": 0.3}, noise="unit")
    assert held.loglik == pytest.approx(dense_loglik(held.model, 200, data.mean, data.cov))
    with pytest.raises(InputError, match="contradict"):
        fit(graph, data, coefficients={"a <-> b": 3.0}, noise="unit")


def test_a_batch_judges_each_set_by_its_own_rows():
    graph = Graph([("x", "y")])
    sets = [Moments(("x", "y"), n, np.zeros(2), np.array([[1, 0.5], [0.5, 1]])) for n in (2, 100)]
    assert list(fit_batch(graph, sets).code) == ["failed", "converged"]


def test_latents_in_another_order_keep_their_names():
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


def test_what_is_given_replaces_what_the_graph_said():
    graph = Graph([("x", "y")], [("x", "z")], coefficients={"x -> y": 0.2, "x <-> z": 0.1})
    data = Moments(graph.observed, 100, np.zeros(3), np.eye(3) + 0.2)
    found = fit(graph, data, coefficients={"x->y": 0.7, "z <-> x": 0.3})
    assert dict(found.graph.coefficients) == {"x -> y": 0.7, "x <-> z": 0.3}
