"""The Cramér-Rao bound against finite differences, a Monte Carlo score, and least squares."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from halftrek.errors import NotIdentifiedError
from halftrek.examples import catalog
from halftrek.models import CGLSCM
from halftrek.reproduction.bound import Parameter, cramer_rao, derivatives, information, parameters, query_gradients
from tests.narrow import some

MODELS = [catalog(name).model for name in ("front-door", "napkin", "m-bias", "two-proxies", "smoking")]
NAMES = ["front-door", "napkin", "m-bias", "two-proxies", "smoking"]


def moved(model: CGLSCM, parameter: Parameter, by: float) -> CGLSCM:
    T, C, mu, W = model.T.copy(), model.C.copy(), model.mu.copy(), model.W.copy()
    kind, i, j = parameter
    if kind == "T":
        T[i, j] += by
    elif kind == "C":
        C[i, j] += by
    elif kind == "mu":
        mu[j] += by
    else:
        W[j, j] += by
    return CGLSCM(model.names, T, C, mu, W, model.latents, model.graph)


@pytest.mark.parametrize("model", MODELS, ids=NAMES)
def test_derivatives_are_finite_differences(model: CGLSCM) -> None:
    theta = parameters(model, "free")
    d_mean, d_cov = derivatives(model, theta)
    for a, parameter in some(enumerate(theta)):
        up, down = moved(model, parameter, 1e-5), moved(model, parameter, -1e-5)
        np.testing.assert_allclose(d_mean[a], (up.mean - down.mean) / 2e-5, atol=1e-8)
        np.testing.assert_allclose(d_cov[a], (up.cov - down.cov) / 2e-5, atol=1e-8)


@pytest.mark.parametrize("model", MODELS, ids=NAMES)
def test_query_gradients_are_finite_differences(model: CGLSCM) -> None:
    theta = parameters(model, "free")
    outcome = model.names[-1]
    for cause in some(model.names[:-1]):
        do = {cause: 1.3}
        by_mean, by_variance = query_gradients(model, theta, do, outcome)
        for a, parameter in some(enumerate(theta)):
            up, down = (moved(model, parameter, h).do(do).distribution(outcome) for h in (1e-5, -1e-5))
            assert by_mean[a] == pytest.approx((up.mean[0] - down.mean[0]) / 2e-5, abs=1e-8)
            assert by_variance[a] == pytest.approx((up.variance[0] - down.variance[0]) / 2e-5, abs=1e-8)


def test_information_is_the_covariance_of_the_score() -> None:
    model = catalog("front-door").model
    theta = parameters(model, "free")
    rows = np.asarray(model.sample(200_000, 0))

    def logpdf(m: CGLSCM) -> np.ndarray:
        return multivariate_normal(m.mean, m.cov).logpdf(rows)

    scores = np.stack([(logpdf(moved(model, t, 1e-4)) - logpdf(moved(model, t, -1e-4))) / 2e-4 for t in theta])
    expected = information(model, theta)
    np.testing.assert_allclose(np.cov(scores), expected, atol=0.03 * np.abs(expected).max())


def test_unit_noise_has_no_free_variances() -> None:
    model = catalog("napkin").model
    assert len(parameters(model, "unit")) == 3 + 4 + 4
    assert len(parameters(model, "free")) == 3 + 4 + 4 + 4


def test_bound_of_a_regression_is_that_of_least_squares() -> None:
    model = CGLSCM.from_parameters(names=["x", "y"], T=[[0, 0.7], [0.0, 0.0]], psi=[2.0, 0.5], mu=[1.0, 3.0])
    mean, variance = cramer_rao(model, "free", {"x": 4.0}, "y", 100)
    assert mean == pytest.approx(0.5 / 100 * (1 + (4.0 - 1.0) ** 2 / 2.0), rel=1e-10)
    assert variance == pytest.approx(2 * 0.5**2 / 100, rel=1e-10)


def test_knowing_the_noise_never_hurts() -> None:
    for name, cause, outcome in (("front-door", "X1", "X3"), ("napkin", "X3", "X4"), ("napkin", "X1", "X4")):
        model = catalog(name).model
        free = cramer_rao(model, "free", {cause: 1.0}, outcome, 1)
        unit = cramer_rao(model, "unit", {cause: 1.0}, outcome, 1)
        assert unit[0] <= free[0] * (1 + 1e-9)
        assert unit[1] <= free[1] * (1 + 1e-9)


def test_no_bound_where_nothing_is_identified() -> None:
    bow = CGLSCM.from_parameters(names=["x", "y"], T=[[0, 0.7], [0.0, 0.0]], C=[[0.5, 0.6]])
    with pytest.raises(NotIdentifiedError, match="'y'"):
        cramer_rao(bow, "free", {"x": 1.0}, "y", 100)
