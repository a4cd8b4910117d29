"""Value, gradient, information and Hessian of a district against finite differences."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from halftrek.estimation.district.block import evaluate, fisher, gradient, hessian, profiled_curvatures
from halftrek.estimation.district.doubt import Yardstick
from halftrek.estimation.district.em import em_step, has_em_step
from halftrek.estimation.district.matching import _derivatives, _Gap, definite
from halftrek.estimation.district.newton import profiled
from halftrek.estimation.district.search import climb
from halftrek.estimation.district.shape import Problem, Shape
from halftrek.estimation.district.starts import random_start, regression_start
from halftrek.models.kernels import choleskys


def make_problem(seed: int, d: int) -> tuple[Problem, np.ndarray]:
    """A random district shape with data and a feasible point."""
    rng = np.random.default_rng(seed)
    column = tuple(sorted(rng.integers(0, d, rng.integers(0, 5)).tolist()))
    pairs = tuple((i, j) for i in range(d) for j in range(i + 1, d) if rng.random() < 0.5)
    noisy = tuple(j for j in range(d) if rng.random() < 0.8)
    hidden = int(rng.integers(0, 3))
    loadings = tuple((k, j) for k in range(hidden) for j in range(d) if rng.random() < 0.8 or j == k % d)
    shape = Shape(d, column, pairs, noisy, loadings)
    b, m = 2, len(column)
    X = rng.standard_normal((b, 40, m + d)) @ rng.standard_normal((b, m + d, m + d))
    G = X.transpose(0, 2, 1) @ X / 40
    W0 = np.zeros((b, d, d))
    W0[:, range(d), range(d)] = rng.uniform(0.5, 2.0, (b, d))
    theta = 0.3 * rng.standard_normal((b, shape.parameters))
    theta[:, shape.at.w] /= 2 * d
    theta[:, shape.at.v] = rng.uniform(0.5, 2.0, (b, len(noisy)))
    if loadings:
        theta[:, shape.at.v] = np.log(theta[:, shape.at.v])
    return Problem(shape, G, W0), theta


def problems() -> st.SearchStrategy[tuple[Problem, np.ndarray]]:
    return st.builds(make_problem, st.integers(0, 2**32 - 1), st.integers(2, 4))


def with_ties(problem: Problem, theta: np.ndarray) -> tuple[Problem, np.ndarray]:
    rng = np.random.default_rng(3)
    free = max(1, problem.shape.parameters - 1)
    link = 0.1 * rng.standard_normal((len(theta), problem.shape.parameters, free))
    return Problem(problem.shape, problem.G, problem.W0, link, theta), 0.1 * rng.standard_normal((len(theta), free))


@pytest.mark.parametrize(("tied", "barrier"), [(False, 0.0), (True, 0.0), (False, 0.3)])
@given(case=problems())
@settings(max_examples=40, deadline=None, derandomize=True)
def test_derivatives_equal_finite_differences(tied: bool, barrier: float, case: tuple[Problem, np.ndarray]) -> None:
    problem, theta = with_ties(*case) if tied else case
    problem = replace(problem, barrier=barrier if problem.shape.loadings else 0.0)
    state = evaluate(problem, theta)
    assert np.isfinite(state.value).all()
    slope, curve = gradient(state), hessian(state)
    h = 1e-6
    for a in range(theta.shape[1]):
        step = np.zeros_like(theta)
        step[:, a] = h
        up, down = evaluate(problem, theta + step), evaluate(problem, theta - step)
        tolerance = 1e-6 * (1 + np.abs(curve).max())
        np.testing.assert_allclose(slope[:, a], (up.value - down.value) / (2 * h), atol=tolerance, rtol=1e-6)
        np.testing.assert_allclose(curve[:, :, a], (gradient(up) - gradient(down)) / (2 * h), atol=tolerance, rtol=1e-6)


@pytest.mark.parametrize("tied", [False, True])
@given(case=problems(), wide=st.sampled_from([1.0, 40.0]))
@settings(max_examples=10, deadline=None, derandomize=True)
def test_the_slope_of_unsolved_equations_is_that_of_finite_differences(
    tied: bool, case: tuple[Problem, np.ndarray], wide: float
) -> None:
    """Also where the errors' covariances are too large for a positive definite matrix."""
    problem, theta = case
    theta[:, problem.shape.at.w] *= wide
    before = np.random.default_rng(4).integers(0, 2, (len(theta), problem.shape.slots)).astype(float)
    problem, theta = with_ties(problem, theta) if tied else (problem, theta)
    problem = replace(problem, before=before)
    slope, _ = _derivatives(problem, _Gap.at(problem, theta))
    for a in range(theta.shape[1]):
        step = np.zeros_like(theta)
        step[:, a] = 1e-6
        up, down = (_Gap.at(problem, theta + side * step).squares for side in (1.0, -1.0))
        size = 1e-6 * (1.0 + _Gap.at(problem, theta).squares.max())
        np.testing.assert_allclose(4.0 * slope[:, a], (up - down) / 2e-6, rtol=1e-5, atol=size)


@given(case=problems())
@settings(max_examples=40, deadline=None, derandomize=True)
def test_value_is_the_textbook_likelihood(case: tuple[Problem, np.ndarray]) -> None:
    problem, theta = case
    state = evaluate(problem, theta)
    m = problem.shape.slots
    for i in range(len(theta)):
        A = np.vstack([-state.T[i], np.eye(problem.shape.size)])
        omega = state.W[i] + state.C[i].T @ state.C[i]
        R = A.T @ problem.G[i] @ A
        dense = np.linalg.slogdet(omega)[1] + np.trace(np.linalg.solve(omega, R))
        assert state.value[i] == pytest.approx(dense, rel=1e-10)
    assert state.T.shape[1] == m


@given(case=problems())
@settings(max_examples=40, deadline=None, derandomize=True)
def test_information_is_positive_and_equals_the_hessian_where_residuals_fit(case: tuple[Problem, np.ndarray]) -> None:
    """Where R = Omega and no slot is a member of the district, the expected Hessian is the Hessian less curvature."""
    problem, theta = case
    state = evaluate(problem, theta)
    information = fisher(state)
    np.testing.assert_allclose(information, information.transpose(0, 2, 1), atol=1e-9 * np.abs(information).max())
    assert np.linalg.eigvalsh(information).min() > -1e-8 * np.abs(information).max()


@given(case=problems())
@settings(max_examples=40, deadline=None, derandomize=True)
def test_em_never_lowers_the_likelihood(case: tuple[Problem, np.ndarray]) -> None:
    problem, theta = case
    if not has_em_step(problem):
        covarying = tuple(sorted({i for p in problem.shape.pairs for i in p} | set(problem.shape.noisy)))
        shape = Shape(problem.shape.size, problem.shape.column, problem.shape.pairs, covarying, problem.shape.loadings)
        problem = Problem(shape, problem.G, problem.W0)
        theta = regression_start(problem)
    before = evaluate(problem, theta).value
    for _ in range(15):
        theta = em_step(problem, theta)
        after = evaluate(problem, theta).value
        assert (after <= before + 1e-9 * (1 + np.abs(before))).all()
        before = after


@given(case=problems())
@settings(max_examples=25, deadline=None, derandomize=True)
def test_newton_does_not_stop_above_em(case: tuple[Problem, np.ndarray]) -> None:
    """From the same start, the second-order finish ends at least as low as 300 EM steps."""
    problem, _ = case
    assume(has_em_step(problem))
    lower = np.full(problem.shape.parameters, -np.inf)
    if problem.shape.loadings:
        lower[problem.shape.at.v] = np.log(1e-10)
    problem = Problem(problem.shape, problem.G, problem.W0, lower=lower)
    theta = regression_start(problem)
    for _ in range(5):
        theta = em_step(problem, theta)
    unknown = Yardstick(np.full(2, -np.inf), np.full(2, np.nan), np.zeros(2, dtype=int), np.zeros((2, 0)))
    end = climb(problem, theta, unknown, steps=300)
    for _ in range(300):
        theta = em_step(problem, theta)
    assert (end.value <= evaluate(problem, theta).value + 1e-6).all()


@given(case=problems(), seed=st.integers(0, 5))
@settings(max_examples=25, deadline=None, derandomize=True)
def test_starts_are_feasible_and_repeatable(case: tuple[Problem, np.ndarray], seed: int) -> None:
    problem, _ = case
    first, second = random_start(problem, seed), random_start(problem, seed)
    assert np.array_equal(first, second)
    fixed = set(range(problem.shape.size)) - set(problem.shape.noisy)
    if not fixed & {i for p in problem.shape.pairs for i in p}:
        assert np.isfinite(evaluate(problem, first).value).all()
    assert np.isfinite(evaluate(problem, regression_start(problem)).value).all()


@given(case=problems())
@settings(max_examples=40, deadline=None, derandomize=True)
def test_error_covariances_that_are_too_large_are_made_smaller(case: tuple[Problem, np.ndarray]) -> None:
    problem, theta = case
    at = problem.shape.at
    assume(problem.shape.pairs)
    large = theta.copy()
    large[:, at.w] = 50.0
    assert not np.isfinite(evaluate(problem, large).value).any()
    found = definite(problem, large)
    assert np.isfinite(evaluate(problem, found).value).all()
    others = np.setdiff1d(np.arange(theta.shape[1]), np.arange(theta.shape[1])[at.w])
    np.testing.assert_array_equal(found[:, others], theta[:, others])
    np.testing.assert_array_equal(definite(problem, theta), theta)  # as it is where it is fine


def test_cholesky_marks_only_the_matrices_that_fail() -> None:
    good, bad = np.eye(2), np.array([[1.0, 2.0], [2.0, 1.0]])
    roots = choleskys(np.stack([good, bad, 4 * good, np.full((2, 2), np.nan)]))
    assert np.array_equal(roots[0], good)
    assert np.array_equal(roots[2], 2 * good)
    assert np.isnan(roots[[1, 3]].diagonal(axis1=1, axis2=2)).all()


@given(seed=st.integers(0, 2**32 - 1), d=st.integers(1, 4))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_curvatures_in_the_coefficients_are_what_the_full_ones_leave_after_the_errors(seed: int, d: int) -> None:
    rng = np.random.default_rng(seed)
    column = tuple(sorted(rng.integers(0, d, rng.integers(1, 5)).tolist()))
    shape = Shape(d, column, tuple((i, j) for i in range(d) for j in range(i + 1, d)), tuple(range(d)), ())
    m = len(column)
    X = rng.standard_normal((3, 60, m + d)) @ (np.eye(m + d) + 0.3 * rng.standard_normal((3, m + d, m + d)))
    problem = Problem(shape, X.transpose(0, 2, 1) @ X / 60, np.zeros((3, d, d)))
    state = evaluate(problem, profiled(problem, 0.3 * rng.standard_normal((3, shape.parameters))))
    for full, short in zip((fisher(state), hessian(state)), profiled_curvatures(state), strict=True):
        left = full[:, :m, :m] - full[:, :m, m:] @ np.linalg.solve(full[:, m:, m:], full[:, m:, :m])
        np.testing.assert_allclose(short, left, atol=1e-9 * np.abs(full).max())


@given(case=problems())
@settings(max_examples=20, deadline=None, derandomize=True)
def test_a_state_of_some_members_is_that_of_the_whole(case: tuple[Problem, np.ndarray]) -> None:
    problem, theta = case
    state, other = evaluate(problem, theta), evaluate(problem, 0.9 * theta)
    assume(np.isfinite(state.value).all() and np.isfinite(other.value).all())
    gradient(state)  # works out what is taken along
    for part, alone in (
        (state.take(np.array([1])), evaluate(problem.take(np.array([1])), theta[1:])),
        (other.but_for(np.array([False, True]), state), evaluate(problem, np.stack([0.9 * theta[0], theta[1]]))),
    ):
        for function in (gradient, fisher, hessian):
            np.testing.assert_allclose(function(part), function(alone), rtol=1e-12, atol=1e-12)


def test_fixed_noise_is_no_covariance() -> None:
    shape, fixed = Shape(2, (), (), (), ()), np.diag([0.5, 2.0])[None]
    assert not Problem(shape, np.eye(2)[None], fixed).covarying
    assert Problem(shape, np.eye(2)[None], fixed + np.array([[0.0, 0.3], [0.3, 0.0]])).covarying
