"""Fits against dense oracles, known models and symmetries."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize as scipy_minimize

from halftrek.bottom.choices import Intercepts, Noise
from halftrek.data import Moments
from halftrek.errors import DataError, GraphError, InputError
from halftrek.estimation import fit, fit_batch
from halftrek.graphs import Graph
from halftrek.models import CGLSCM
from tests.estimation.strategies import dense_loglik, models, rebuilt
from tests.narrow import some

QUICK = settings(max_examples=30, deadline=None, derandomize=True)


def population(model: CGLSCM, n: float = 500.0) -> Moments:
    return Moments(model.names, n, np.array(model.mean), np.array(model.cov))


def sample(model: CGLSCM, n: int = 300, seed: int = 0) -> Moments:
    X = np.asarray(model.sample(n, random_state=seed))
    return Moments(model.names, n, X.mean(axis=0), np.cov(X.T, ddof=0).reshape(X.shape[1], X.shape[1]))


@given(model=models())
@QUICK
def test_recovers_a_bow_free_model_from_its_population(model: CGLSCM) -> None:
    found = fit(model.graph, population(model))
    assert found.converged
    np.testing.assert_allclose(found.model.T, model.T, atol=1e-6)
    np.testing.assert_allclose(found.model.omega, model.omega, atol=1e-6)
    np.testing.assert_allclose(found.model.mu, model.mu, atol=1e-6)
    np.testing.assert_allclose(found.model.cov, model.cov, atol=1e-8)


@given(model=models(bows=True))
@QUICK
def test_reaches_the_population_likelihood_with_bows(model: CGLSCM) -> None:
    data = population(model)
    found = fit(model.graph, data)
    best = dense_loglik(model, data.n, data.mean, data.cov)
    assert found.loglik >= best - 1e-5
    if found.converged:
        np.testing.assert_allclose(found.model.cov, model.cov, atol=1e-4)


@given(model=models(bows=True))
@QUICK
def test_loglik_is_the_dense_one(model: CGLSCM) -> None:
    data = sample(model)
    found = fit(model.graph, data)
    assert found.loglik == pytest.approx(dense_loglik(found.model, data.n, data.mean, data.cov), rel=1e-9)


@given(model=models(most=4), noise=st.sampled_from(["free", "unit"]), intercepts=st.sampled_from(["free", "zero"]))
@settings(max_examples=12, deadline=None, derandomize=True)
def test_no_general_optimiser_finds_more(model: CGLSCM, noise: Noise, intercepts: Intercepts) -> None:
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
def test_order_of_variables_does_not_matter(model: CGLSCM, seed: int) -> None:
    data = sample(model)
    order = tuple(np.random.default_rng(seed).permutation(model.names).tolist())
    first, second = fit(model.graph, data), fit(rebuilt(model.graph, order), data)
    assume(first.converged)
    assume(second.converged)
    assert first.loglik == pytest.approx(second.loglik, abs=1e-5)
    at = [second.model.names.index(v) for v in model.names]
    if model.graph.is_bow_free:
        np.testing.assert_allclose(second.model.T[np.ix_(at, at)], first.model.T, atol=1e-6)


@given(model=models(), factor=st.floats(0.01, 100.0), which=st.integers(0, 1))
@QUICK
def test_rescaling_a_column_rescales_the_effect(model: CGLSCM, factor: float, which: int) -> None:
    data = sample(model)
    scale = np.ones(len(model.names))
    scale[which] = factor
    other = Moments(data.names, data.n, data.mean * scale, data.cov * np.outer(scale, scale))
    first, second = fit(model.graph, data), fit(model.graph, other)
    np.testing.assert_allclose(second.model.B * scale[:, None] / scale, first.model.B, rtol=1e-6, atol=1e-7)


@given(model=models(arcs=False))
@QUICK
def test_sign_of_a_hidden_cause_changes_nothing_observable(model: CGLSCM) -> None:
    flipped = CGLSCM(model.names, model.T, -model.C, model.mu, model.W, model.latents)
    np.testing.assert_array_equal(flipped.cov, model.cov)
    first, second = fit(model.graph, population(model)), fit(flipped.graph, population(flipped))
    np.testing.assert_allclose(first.model.cov, second.model.cov)


@given(model=models(arcs=False, most=4))
@settings(max_examples=15, deadline=None, derandomize=True)
def test_em_alone_agrees_with_the_finish(model: CGLSCM) -> None:
    data = sample(model, n=1000)
    exact = fit(model.graph, data)
    slow = fit(model.graph, data, finish=False, max_iter=3000)
    assert slow.loglik <= exact.loglik + 1e-8
    assert slow.loglik == pytest.approx(exact.loglik, abs=1e-2)


@given(model=models(), b=st.integers(1, 6))
@QUICK
def test_batch_equals_one_by_one(model: CGLSCM, b: int) -> None:
    sets = [sample(model, seed=i) for i in range(b)]
    together = fit_batch(model.graph, sets)
    for i, data in some(enumerate(sets)):
        alone = fit(model.graph, data)
        assert together.loglik[i] == pytest.approx(alone.loglik, abs=1e-7)
        np.testing.assert_allclose(together.T[i], alone.model.T, atol=1e-6)
        np.testing.assert_allclose(together.omega[i], alone.model.omega, atol=1e-6)
        assert together.model(i).names == alone.model.names


def test_batch_marks_unusable_moments_and_fits_the_rest() -> None:
    graph = Graph([("x", "y")])
    cov = np.array([[[1.0, 0.5], [0.5, 1.0]], [[1.0, 1.0], [1.0, 1.0]], [[np.nan, 0.0], [0.0, 1.0]]])
    found = fit_batch(graph, cov=cov, n=100)
    assert list(found.code) == ["converged", "failed", "failed"]
    assert found.total_effect("x", "y")[0] == pytest.approx(0.5)
    assert np.isnan(found.total_effect("x", "y")[1:]).all()
    with pytest.raises(DataError, match="data set 1"):
        found.model(1)


def test_many_districts_are_padded_and_still_exact() -> None:
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
    T = [[0.0, 1.0, 0.0], [0.0, 0.0, 0.5], [0.0, 0.0, 0.0]]
    return CGLSCM.from_parameters(names=["z", "x", "y"], T=T, mu=[1.0, 2.0, 3.0], omega={("x", "y"): omega})


def test_fixed_coefficient_is_kept_and_the_rest_is_its_best() -> None:
    data = sample(instrument(), 500)
    graph = instrument().graph
    held = fit(graph, data, coefficients={"x -> y": 0.7})
    assert held.model.T[1, 2] == 0.7
    free = fit(graph, data)
    assert held.loglik < free.loglik
    same = fit(graph, data, coefficients={"x -> y": float(free.model.T[1, 2])})
    assert same.loglik == pytest.approx(free.loglik, abs=1e-7)


def test_equal_coefficients_by_label_across_districts() -> None:
    model = CGLSCM.from_parameters(names=["a", "b", "c"], T=[[0, 0.6, 0], [0, 0, 0.6], [0.0, 0.0, 0.0]])
    data = sample(model, 400)
    tied = fit(model.graph, data, coefficients={"a -> b": "k", "b -> c": "k"})
    assert tied.model.T[0, 1] == pytest.approx(tied.model.T[1, 2], abs=1e-12)
    best = max(
        fit(model.graph, data, coefficients={"a -> b": k, "b -> c": k}).loglik for k in np.linspace(0.4, 0.8, 401)
    )
    assert tied.loglik >= best - 1e-9
    assert tied.loglik <= fit(model.graph, data).loglik


def test_equal_coefficients_within_a_district_with_confounding() -> None:
    data = sample(instrument(), 500)
    tied = fit(instrument().graph, data, coefficients={"z -> x": "k", "x -> y": "k"})
    k = tied.model.T[0, 1]
    assert tied.model.T[1, 2] == pytest.approx(k, abs=1e-10)
    around = [
        fit(instrument().graph, data, coefficients={"z -> x": k + e, "x -> y": k + e}).loglik for e in (-1e-3, 0, 1e-3)
    ]
    assert around[1] == pytest.approx(tied.loglik, abs=1e-7)
    assert around[1] > max(around[0], around[2])


def test_equal_loadings_and_fixed_loading() -> None:
    C = [[0.8, 0.8, 0.5, 0.9]]
    model = CGLSCM.from_parameters(names=list("abcd"), T=np.zeros((4, 4)), C=C, latents=["F"])
    data = sample(model, 500)
    tied = fit(model.graph, data, coefficients={"F -> a": "k", "F -> b": "k"})
    assert abs(tied.model.C[0, 0]) == pytest.approx(abs(tied.model.C[0, 1]), abs=1e-10)
    held = fit(model.graph, data, coefficients={"F -> a": 0.8})
    assert held.model.C[0, 0] == pytest.approx(0.8)
    assert held.loglik <= fit(model.graph, data).loglik + 1e-9
    assert tied.loglik <= fit(model.graph, data).loglik + 1e-9


def test_fixed_error_covariance() -> None:
    data = population(instrument(0.4))
    held = fit(instrument().graph, data, coefficients={"x <-> y": 0.4})
    assert held.model.W[1, 2] == pytest.approx(0.4)
    assert held.loglik == pytest.approx(fit(instrument().graph, data).loglik, abs=1e-8)


def test_noise_unit_by_name_and_free() -> None:
    model = CGLSCM.from_parameters(names=["x", "y"], T=[[0, 0.5], [0.0, 0.0]], psi=[1.0, 2.0])
    data = population(model)
    assert fit(model.graph, data, noise="unit").model.psi == pytest.approx([1.0, 1.0])
    assert fit(model.graph, data, noise={"x": 3.0}).model.psi == pytest.approx([3.0, 2.0])
    assert fit(model.graph, data).model.psi == pytest.approx([1.0, 2.0])


def test_intercepts_fixed_by_name_in_a_confounded_district() -> None:
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
def test_bad_options_name_the_culprit(options: dict[str, Any], message: str) -> None:
    with pytest.raises((InputError, GraphError), match=message):
        fit(instrument().graph, population(instrument()), **options)


def test_several_held_coefficients_are_taken_off_before() -> None:
    """``y - 0.5 x`` has a mean alone, ``z - 0.3 x`` is regressed on y, ``w + 0.2 z`` on x."""
    rows = np.random.default_rng(4).normal(size=(200, 4)) @ np.triu(np.full((4, 4), 0.6)) + [1.0, -2.0, 3.0, 0.5]
    x, y, z, w = rows.T
    graph = Graph([("x", "y"), ("x", "z"), ("y", "z"), ("z", "w"), ("x", "w")], [])
    data = Moments(("x", "y", "z", "w"), 200, rows.mean(axis=0), np.cov(rows.T, ddof=0))
    found = fit(graph, data, coefficients={"x -> y": 0.5, "x -> z": 0.3, "z -> w": -0.2}).model
    at = {v: found.names.index(v) for v in "xyzw"}
    for cause, effect, left in (("y", "z", z - 0.3 * x), ("x", "w", w + 0.2 * z)):
        slope, level = np.polyfit(rows[:, "xyzw".index(cause)], left, 1)
        assert found.T[at[cause], at[effect]] == pytest.approx(slope, rel=1e-9)
        assert found.mu[at[effect]] == pytest.approx(level, rel=1e-9)
        noise = np.var(left - slope * rows[:, "xyzw".index(cause)])
        assert found.omega[at[effect], at[effect]] == pytest.approx(noise, rel=1e-9)
    assert found.mu[at["y"]] == pytest.approx((y - 0.5 * x).mean(), rel=1e-9)
    assert found.omega[at["y"], at["y"]] == pytest.approx(np.var(y - 0.5 * x), rel=1e-9)
