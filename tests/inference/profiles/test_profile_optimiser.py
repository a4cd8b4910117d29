"""Profile intervals against a general optimiser over all parameters at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from scipy.optimize import minimize

import halftrek as ht
from halftrek.estimation.space import make_space
from halftrek.inference.information.base import kind_of_data
from halftrek.inference.information.landscape import Target
from halftrek.models import CGLSCM
from halftrek.queries import Distribution, ErrorCovariance, Query, TotalEffect, evaluate
from halftrek.results.fit import Fit
from tests.estimation.strategies import models
from tests.inference.profiles.test_profile import CUT, INSTRUMENT, ends, instrument_model
from tests.narrow import number, some


def dense_deviance(fit: Fit, query: Query, level: float, *, k: int = 0, variance: bool = False) -> float:
    """The deviance with the answer held, by a general optimiser over all parameters at once, nothing split."""
    space = make_space(fit.graph, fit.model.names, fit.options)
    S, m = np.asarray(fit.moments.cov), np.asarray(fit.moments.mean)

    noise = space.W_at[space.W_at[:, 0] == space.W_at[:, 1], 2]

    def squared(free: np.ndarray) -> np.ndarray:
        """Noise variances as squares, so that zero can be reached."""
        theta = free.copy()
        theta[noise] = free[noise] ** 2
        return theta

    def value(free: np.ndarray) -> float:
        theta = squared(free)
        _, W, _, _ = space.arrays(theta)
        mean, cov = space.moments(theta)
        if np.linalg.eigvalsh(W)[0] < -1e-12 or np.linalg.eigvalsh(cov)[0] <= 0:
            return 1e6
        gap = m - mean
        return float(np.linalg.slogdet(cov)[1] + np.trace(np.linalg.solve(cov, S + np.outer(gap, gap))))

    def answer(free: np.ndarray) -> float:
        T, W, C, mu = space.arrays(squared(free))
        model = CGLSCM(fit.model.names, T, np.zeros((0, len(mu))), mu, W + C.T @ C, (), fit.graph.project())
        found = evaluate(query, model)
        if isinstance(found, float):
            return found
        return float(found.variance[k] if variance else found.mean[k])

    start = space.vector(fit.model)
    start[noise] = np.sqrt(start[noise])
    rng = np.random.default_rng(0)
    best = np.inf
    for attempt in range(2):
        first = start + (0.1 * attempt) * rng.normal(size=len(start)) * (1 + np.abs(start))
        found = minimize(
            value, first if value(first) < 1e5 else start, method="SLSQP",
            constraints={"type": "eq", "fun": lambda t: answer(t) - level}, options={"ftol": 1e-12, "maxiter": 500},
        )  # fmt: skip
        if abs(answer(found.x) - level) < 1e-6:
            best = min(best, found.fun)
    return float(fit.n * (best - value(start)))


def check_by_dense(fit: Fit, query: Query, cut: float = CUT, **which: Any) -> None:
    kind = "variance" if which.get("variance") else "value"
    low, high = ends(fit, query, kind, int(which.get("k", 0)), cut)
    assert low < high
    for end in (low, high):
        assert np.isfinite(end)
        assert dense_deviance(fit, query, end, **which) == pytest.approx(cut, abs=2e-3)


@given(model=models(most=4))
@settings(max_examples=5, deadline=None, derandomize=True)
def test_random_graphs_agree_with_a_general_optimiser(model: CGLSCM) -> None:
    fit = ht.fit(model.graph, np.asarray(model.sample(120, random_state=3)), names=model.names)
    assume(fit.status.code == "converged")
    order = model.graph.topological_order
    query = TotalEffect(order[0], order[-1])
    if len(kind_of_data(fit).landscape(fit, Target(query), False).relevant):
        check_by_dense(fit, query)
    check_by_dense(fit, Distribution.after((order[-1],), {order[0]: 0.7}))


@pytest.mark.parametrize(
    ("text", "query", "options"),
    [
        ("x -> m -> y; x <-> y", TotalEffect("x", "y"), {}),
        ("x -> m -> y; x <-> y", Distribution.after(("y",), {"x": 1.0}), {}),
        ("x -> m -> y; x <-> y", Distribution.after(("y",), {"x": 1.0}, {"m": 0.5}), {}),
        ("x -> m -> y; x <-> y", ErrorCovariance("x", "y"), {}),
        ("x -> m -> y; x <-> y", TotalEffect("x", "y"), {"noise": {"m": 1.0}}),
        ("x -> m -> y; x <-> y", Distribution.after(("y",), {"x": 1.0}), {"intercepts": {"m": 0.1}}),
        ("x -> m -> y; x <-> y", TotalEffect("x", "y"), {"intercepts": "zero"}),
        ("x -> m -> y; x <-> y", TotalEffect("x", "y"), {"coefficients": {"x -> m": "a", "m -> y": "a"}}),
        ("x -> m -> y; x -> y", TotalEffect("x", "y"), {"coefficients": {"x -> m": 0.6}}),
        ("latent U; U -> {x, m, y}; x -> z", TotalEffect("x", "z"), {"noise": {"x": 1.0}}),
        ("latent U; U -> {x, m, y, z}", ErrorCovariance("x", "z"), {}),
        ("latent U; U -> {x, m, y}; z -> x; x -> y", TotalEffect("x", "y"), {}),
    ],
)
def test_options_and_kinds_agree_with_a_general_optimiser(text: str, query: Query, options: dict[str, Any]) -> None:
    T = np.zeros((4, 4))
    T[0, 1], T[1, 2], T[3, 0] = 0.6, 0.5, 0.7
    truth = CGLSCM.from_parameters(
        names=["x", "m", "y", "z"], T=T, C=[[0.7, 0.5, 0.8, 0.6]], psi=[1, 1.2, 0.9, 1], mu=[0.2, 0.1, -0.2, 0.3]
    )
    graph = ht.graph(text)
    fit = ht.fit(graph, truth.sample(150, random_state=5), **options)
    check_by_dense(fit, query)


def test_variances_agree_with_a_general_optimiser() -> None:
    fit = ht.fit(INSTRUMENT, instrument_model(0.8).sample(100, random_state=4))
    check_by_dense(fit, Distribution.after(("y",), {"x": 1.0}), variance=True)
    check_by_dense(fit, Distribution.after(("x", "y"), {"z": 1.0}), variance=True, k=1)


def test_a_noise_variance_at_zero_does_not_stop_the_walk() -> None:
    """A factor whose first indicator has more covariance than variance to spare: a Heywood case."""
    S = np.array([[1.0, 0.75, 0.7, 0.5], [0.75, 1.0, 0.5, 0.35], [0.7, 0.5, 1.0, 0.3], [0.5, 0.35, 0.3, 1.0]])
    fit = ht.fit("latent U; U -> {a, b, c}; a -> d", cov=S, n=100, names=["a", "b", "c", "d"])
    assert fit.status.code == "boundary"
    low, high = ends(fit, ErrorCovariance("a", "b"))
    assert low < number(evaluate(ErrorCovariance("a", "b"), fit.model)) < high
    for end in (low, high):
        assert dense_deviance(fit, ErrorCovariance("a", "b"), end) == pytest.approx(CUT, abs=2e-3)


def test_hidden_causes_that_cannot_give_the_covariances_keep_to_what_they_can() -> None:
    """Three causes of two each cannot give three error correlations of 0.7: the maximum lies on a boundary."""
    S, n = np.full((3, 3), 0.7) + 0.3 * np.eye(3), 60
    text = "latent U, V, W; U -> {x, y}; V -> {y, z}; W -> {x, z}"
    fit = ht.fit(text, cov=S, n=n, names=["x", "y", "z"])

    def value(t: np.ndarray) -> float:
        C = np.array([[t[0], t[1], 0], [0, t[2], t[3]], [t[4], 0, t[5]]])
        omega = C.T @ C + np.diag(t[6:] ** 2)
        sign, log = np.linalg.slogdet(omega)
        return float(log + np.trace(np.linalg.solve(omega, S))) if sign > 0 and log > -20 else 1e3

    rng = np.random.default_rng(0)
    starts = [np.abs(rng.normal(0.5, 0.2, 9)) for _ in range(8)]
    top = min(minimize(value, t, options={"gtol": 1e-9}).fun for t in starts)
    low, high = ends(fit, ErrorCovariance("x", "y"))
    for end in (low, high):
        held = {"type": "eq", "fun": lambda t, end=end: t[0] * t[1] - end}
        found = [minimize(value, t, method="SLSQP", constraints=held, options={"ftol": 1e-13}) for t in starts]
        best = min(f.fun for f in found if abs(f.x[0] * f.x[1] - end) < 1e-7)
        assert n * (best - top) == pytest.approx(CUT, abs=5e-3)


# -- missing values --------------------------------------------------------------------------------


def test_missing_values_have_the_profile_of_the_observed_ones() -> None:
    rows = np.array(instrument_model(0.8).sample(60, random_state=9))
    rows[np.random.default_rng(1).random(rows.shape) < 0.15] = np.nan
    fit = ht.fit(INSTRUMENT, rows, names=["z", "x", "y"])
    space = make_space(fit.graph, fit.model.names, fit.options)
    seen = [(np.flatnonzero(~np.isnan(row)), row[~np.isnan(row)]) for row in rows]

    def lost(theta: np.ndarray) -> float:
        mean, cov = space.moments(theta)
        if np.linalg.eigvalsh(space.arrays(theta)[1])[0] <= 0:
            return 1e6
        total = 0.0
        for at, row in seen:
            gap, part = row - mean[at], cov[np.ix_(at, at)]
            total += np.linalg.slogdet(part)[1] + gap @ np.linalg.solve(part, gap)
        return float(total)

    start = space.vector(fit.model)
    at = int(space.T_at[[space.names[v] == "y" for v in space.T_at[:, 1]], 2][0])
    others = [a for a in range(space.size) if a != at]

    def held(level: float) -> float:
        def rest(free: np.ndarray) -> float:
            return lost(np.insert(free, at, level))

        return float(minimize(rest, start[others], options={"gtol": 1e-4}).fun)

    for end in some(ends(fit, TotalEffect("x", "y"))):
        assert held(end) - lost(start) == pytest.approx(CUT, abs=2e-3)
