"""Profile intervals against closed forms and against dense constrained optimisation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.optimize import brentq, minimize
from scipy.stats import chi2

import halftrek as ht
from halftrek.estimation import Fit
from halftrek.estimation.space import make_space
from halftrek.inference.landscape import Target
from halftrek.inference.profile import make_landscape, profile_curve, profile_ends
from halftrek.model import CGLSCM
from halftrek.queries import DirectEffect, ErrorCovariance, Interventional, Query, TotalEffect, evaluate
from tests.estimation.strategies import models

CUT = float(chi2.ppf(0.95, 1))
INSTRUMENT = "z -> x -> y; x <-> y"


def ends(fit: Fit, query: Query, kind: str = "value", k: int = 0, cut: float = CUT) -> tuple[float, float]:
    found = profile_ends(fit, Target(query, kind, k), cut)  # type: ignore[arg-type]
    return found.low, found.high


def instrument_model(strength: float) -> CGLSCM:
    T = [[0, strength, 0], [0, 0, 0.5], [0, 0, 0]]
    return CGLSCM.from_parameters(names=["z", "x", "y"], T=T, mu=[1, 0, 2], omega={("x", "y"): 0.4})


# -- closed forms ----------------------------------------------------------------------------------


def test_a_regression_slope_has_the_exact_likelihood_ratio_interval():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(25, 2)) @ np.array([[1, 0.5], [0, 1]])
    y = X @ [0.7, -0.2] + rng.normal(size=25) + 3
    fit = ht.fit("a -> y; b -> y", np.column_stack([X, y]), names=["a", "b", "y"])
    Z = np.column_stack([X - X.mean(0)])
    slope, rss = np.linalg.lstsq(Z, y - y.mean(), rcond=None)[:2]
    # n log(RSS(c) / RSS) = cut, RSS(c) = RSS + (c - slope)^2 / (Z'Z)^-1_aa
    reach = np.sqrt(rss[0] * (np.exp(CUT / 25) - 1) * np.linalg.inv(Z.T @ Z)[0, 0])
    assert ends(fit, DirectEffect("a", "y")) == pytest.approx((slope[0] - reach, slope[0] + reach), rel=1e-7)


def test_a_mean_and_a_variance_have_their_textbook_intervals():
    y = np.random.default_rng(2).normal(1e4, 2.0, size=(40, 1))
    fit = ht.fit("y", y, names=["y"])
    n, v = 40, float(y.var())
    reach = np.sqrt(v * (np.exp(CUT / n) - 1))
    query = Interventional(("y",))
    assert ends(fit, query) == pytest.approx((y.mean() - reach, y.mean() + reach), rel=1e-9)

    def deviance(c: float) -> float:
        return n * (np.log(c / v) + v / c - 1.0) - CUT

    exact = brentq(deviance, 0.1 * v, v), brentq(deviance, v, 10 * v)
    assert ends(fit, query, "variance") == pytest.approx(exact, rel=1e-7)


def instrument_oracle(S: np.ndarray, n: float, cut: float) -> tuple[tuple[float, ...], float, float]:
    """Where ``-n log(1 - r²(z, y - c x))`` is the cut: the roots of a quadratic; its sign far out and at the estimate.

    The model without the constraint fits any covariance, so this is the deviance.
    """
    share = 1.0 - np.exp(-cut / n)
    (zz, zx, zy), (_, xx, xy), (_, _, yy) = S
    a, b, c = zx**2 - share * zz * xx, -2 * (zy * zx - share * zz * xy), zy**2 - share * zz * yy
    disc = b * b - 4 * a * c
    roots = tuple(sorted((-b + s * np.sqrt(disc)) / (2 * a) for s in (-1, 1))) if disc > 0 else ()
    return roots, a, disc


@pytest.mark.parametrize("strength", [0.0, 0.05, 0.1, 0.2, 0.8])
@pytest.mark.parametrize("seed", range(4))
def test_an_instrument_has_the_closed_form_set_also_where_it_is_unbounded(strength, seed):
    n = 150
    rows = instrument_model(strength).sample(n, random_state=seed)
    fit = ht.fit(INSTRUMENT, rows)
    roots, far, disc = instrument_oracle(np.asarray(fit.moments.cov), n, CUT)
    found = profile_ends(fit, Target(TotalEffect("x", "y")), CUT)
    if far > 0:
        assert (found.low, found.high) == pytest.approx(roots, rel=1e-5)
        assert not found.notes
    else:  # everything, or all but the values between the roots
        assert (found.low, found.high) == (-np.inf, np.inf)
        assert len(found.notes) == 1
        if disc > 0:
            assert f"between {roots[0]:.4g} and {roots[1]:.4g}" in found.notes[0]
        else:
            assert "every value" in found.notes[0]


def test_the_closed_form_cases_above_include_each_kind():
    kinds = set()
    for strength in (0.0, 0.05, 0.1, 0.2, 0.8):
        for seed in range(4):
            S = ht.fit(INSTRUMENT, instrument_model(strength).sample(150, random_state=seed)).moments.cov
            _, far, disc = instrument_oracle(np.asarray(S), 150, CUT)
            kinds.add((far > 0, disc > 0))
    assert kinds == {(True, True), (False, True), (False, False)}


@pytest.mark.parametrize("strength", [0.1, 0.4])
@pytest.mark.parametrize("seed", range(3))
def test_several_instruments_have_the_limited_information_set(strength, seed):
    n, rng = 200, np.random.default_rng(seed)
    Z = rng.normal(size=(n, 3)) @ (np.eye(3) + 0.3)
    u = rng.normal(size=n)
    x = strength * Z @ [1, 0.5, -0.5] + u + rng.normal(size=n)
    y = 0.7 * x + u + rng.normal(size=n)
    fit = ht.fit(
        "a -> x; b -> x; c -> x; a <-> b; b <-> c; a <-> c; x -> y; x <-> y",
        np.column_stack([Z, x, y]), names=["a", "b", "c", "x", "y"],
    )  # fmt: skip
    Z, x, y = Z - Z.mean(0), x - x.mean(), y - y.mean()
    basis = np.linalg.qr(Z)[0]

    def concentrated(c: float) -> float:
        e = y - c * x
        return float(n * np.log(e @ e / (e @ e - ((basis.T @ e) ** 2).sum())))

    quad = [(v @ v, v @ w, w @ w) for v, w in ((y, x), (basis.T @ y, basis.T @ x))]
    grid = np.linspace(-60, 60, 240001)
    whole, told = (q[0] - 2 * grid * q[1] + grid**2 * q[2] for q in quad)
    curve = n * np.log(whole / (whole - told))
    top = minimize(lambda c: concentrated(c[0]), [grid[curve.argmin()]], tol=1e-12).fun
    inside = curve - top < CUT
    flips = np.flatnonzero(inside[1:] != inside[:-1])
    exact = [brentq(lambda c: concentrated(c) - top - CUT, grid[i], grid[i + 1]) for i in flips]
    found = profile_ends(fit, Target(TotalEffect("x", "y")), CUT)
    if inside[0]:  # the set goes through infinity: all values, or all but those between two
        assert (found.low, found.high) == (-np.inf, np.inf)
        assert "every value" in found.notes[0] or f"between {exact[0]:.4g} and {exact[1]:.4g}" in found.notes[0]
    else:
        assert (found.low, found.high) == pytest.approx(exact, abs=1e-6)


# -- dense constrained optimisation ----------------------------------------------------------------


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
    for attempt in range(4):
        first = start + (0.1 * attempt) * rng.normal(size=len(start)) * (1 + np.abs(start))
        found = minimize(
            value, first if value(first) < 1e5 else start, method="SLSQP",
            constraints={"type": "eq", "fun": lambda t: answer(t) - level}, options={"ftol": 1e-12, "maxiter": 500},
        )  # fmt: skip
        if abs(answer(found.x) - level) < 1e-6:
            best = min(best, found.fun)
    return float(fit.n * (best - value(start)))


def check_by_dense(fit: Fit, query: Query, cut: float = CUT, **which: object) -> None:
    kind = "variance" if which.get("variance") else "value"
    low, high = ends(fit, query, kind, int(which.get("k", 0)), cut)  # type: ignore[call-overload]
    assert low < high
    for end in (low, high):
        assert np.isfinite(end)
        assert dense_deviance(fit, query, end, **which) == pytest.approx(cut, abs=2e-3)  # type: ignore[arg-type]


@given(model=models(most=4))
@settings(max_examples=12, deadline=None, derandomize=True)
def test_random_graphs_agree_with_a_general_optimiser(model):
    fit = ht.fit(model.graph, np.asarray(model.sample(120, random_state=3)), names=model.names)
    if fit.status.code != "converged":
        return
    order = model.graph.topological_order
    query = TotalEffect(order[0], order[-1])
    if len(make_landscape(fit, Target(query)).relevant):
        check_by_dense(fit, query)
    check_by_dense(fit, Interventional((order[-1],), {order[0]: 0.7}))


@pytest.mark.parametrize(
    ("text", "query", "options"),
    [
        ("x -> m -> y; x <-> y", TotalEffect("x", "y"), {}),
        ("x -> m -> y; x <-> y", Interventional(("y",), {"x": 1.0}), {}),
        ("x -> m -> y; x <-> y", Interventional(("y",), {"x": 1.0}, {"m": 0.5}), {}),
        ("x -> m -> y; x <-> y", ErrorCovariance("x", "y"), {}),
        ("x -> m -> y; x <-> y", TotalEffect("x", "y"), {"noise": {"m": 1.0}}),
        ("x -> m -> y; x <-> y", Interventional(("y",), {"x": 1.0}), {"intercepts": {"m": 0.1}}),
        ("x -> m -> y; x <-> y", TotalEffect("x", "y"), {"intercepts": "zero"}),
        ("x -> m -> y; x <-> y", TotalEffect("x", "y"), {"coefficients": {"x -> m": "a", "m -> y": "a"}}),
        ("x -> m -> y; x -> y", TotalEffect("x", "y"), {"coefficients": {"x -> m": 0.6}}),
        ("latent U; U -> {x, m, y}; x -> z", TotalEffect("x", "z"), {"noise": {"x": 1.0}}),
        ("latent U; U -> {x, m, y, z}", ErrorCovariance("x", "z"), {}),
        ("latent U; U -> {x, m, y}; z -> x; x -> y", TotalEffect("x", "y"), {}),
    ],
)
def test_options_and_kinds_agree_with_a_general_optimiser(text, query, options):
    T = np.zeros((4, 4))
    T[0, 1], T[1, 2], T[3, 0] = 0.6, 0.5, 0.7
    truth = CGLSCM.from_parameters(
        names=["x", "m", "y", "z"], T=T, C=[[0.7, 0.5, 0.8, 0.6]], psi=[1, 1.2, 0.9, 1], mu=[0.2, 0.1, -0.2, 0.3]
    )
    graph = ht.graph(text)
    fit = ht.fit(graph, truth.sample(150, random_state=5), **options)
    check_by_dense(fit, query)


def test_variances_agree_with_a_general_optimiser():
    fit = ht.fit(INSTRUMENT, instrument_model(0.8).sample(100, random_state=4))
    check_by_dense(fit, Interventional(("y",), {"x": 1.0}), variance=True)
    check_by_dense(fit, Interventional(("x", "y"), {"z": 1.0}), variance=True, k=1)


def test_a_noise_variance_at_zero_does_not_stop_the_walk():
    """A factor whose first indicator has more covariance than variance to spare: a Heywood case."""
    S = np.array([[1.0, 0.75, 0.7, 0.5], [0.75, 1.0, 0.5, 0.35], [0.7, 0.5, 1.0, 0.3], [0.5, 0.35, 0.3, 1.0]])
    fit = ht.fit("latent U; U -> {a, b, c}; a -> d", cov=S, n=100, names=["a", "b", "c", "d"])
    assert fit.status.code == "boundary"
    low, high = ends(fit, ErrorCovariance("a", "b"))
    assert low < evaluate(ErrorCovariance("a", "b"), fit.model) < high
    for end in (low, high):
        assert dense_deviance(fit, ErrorCovariance("a", "b"), end) == pytest.approx(CUT, abs=2e-3)
