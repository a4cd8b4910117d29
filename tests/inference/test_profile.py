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
    for attempt in range(2):
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
@settings(max_examples=8, deadline=None, derandomize=True)
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


def test_hidden_causes_that_cannot_give_the_covariances_keep_to_what_they_can():
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


# -- what must not change the answer ---------------------------------------------------------------


def test_ends_move_with_the_units_of_the_data():
    rows = np.array(instrument_model(0.3).sample(150, random_state=2))
    plain = ht.fit(INSTRUMENT, rows, names=["z", "x", "y"])
    scaled = ht.fit(INSTRUMENT, rows * [1e3, 1e-2, 50.0] + [5.0, 0.0, 1e4], names=["z", "x", "y"])
    effect = np.array(ends(plain, TotalEffect("x", "y")))
    np.testing.assert_allclose(ends(scaled, TotalEffect("x", "y")), effect * 50.0 / 1e-2, rtol=1e-6)
    mean = np.array(ends(plain, Interventional(("y",), {"x": 2.0})))
    np.testing.assert_allclose(ends(scaled, Interventional(("y",), {"x": 2e-2})), mean * 50.0 + 1e4, rtol=1e-6)


def test_a_function_of_an_answer_has_the_function_of_its_ends():
    fit = ht.fit(INSTRUMENT, instrument_model(0.5).sample(80, random_state=6))
    variance = fit.query("Var(y | do(x=1))", interval="profile").interval
    spread = fit.query("SD(y | do(x=1))", interval="profile").interval
    np.testing.assert_allclose(np.sqrt(variance), spread, rtol=1e-6)
    np.testing.assert_allclose(fit.query("P(y | do(x=1))", interval="profile").variance_interval, variance, rtol=1e-6)
    double = fit.query("2 * (x ~> y) + 1", interval="profile").interval
    np.testing.assert_allclose(double, 2.0 * np.array(ends(fit, TotalEffect("x", "y"))) + 1.0, rtol=1e-6)


def test_an_unidentified_corner_does_not_matter():
    rng = np.random.default_rng(3)
    rows = np.array(instrument_model(0.6).sample(200, random_state=1))
    corner = rng.normal(size=(200, 2)) @ np.array([[1, 0.5], [0, 1]])
    plain = ht.fit("z -> x -> y; x <-> y", rows, names=["z", "x", "y"])
    beside = ht.fit(
        "z -> x -> y; x <-> y; a -> b; a <-> b; y -> b",
        np.column_stack([rows, corner]),
        names=["z", "x", "y", "a", "b"],
    )
    for query in (TotalEffect("x", "y"), Interventional(("y",), {"x": 1.0})):
        np.testing.assert_allclose(ends(beside, query), ends(plain, query), rtol=1e-6)
    with pytest.raises(ht.NotIdentifiedError):
        beside.profile("a ~> b")


def test_the_level_decides_how_far_an_interval_reaches():
    fit = ht.fit(INSTRUMENT, instrument_model(0.6).sample(100, random_state=1))
    narrow, wide = (fit.effect("x", "y", interval="profile", level=level).interval for level in (0.5, 0.99))
    assert wide[0] < narrow[0] < fit.effect("x", "y").value < narrow[1] < wide[1]
    assert ends(fit, TotalEffect("x", "y"), cut=float(chi2.ppf(0.99, 1))) == pytest.approx(wide, rel=1e-9)


def test_the_literal_algorithm_has_the_profile_of_unit_noise():
    rows = CGLSCM.from_parameters(names=["x", "y"], T=[[0, 0.6], [0, 0]]).sample(100, random_state=1)
    literal = ht.fit("x -> y", rows, method="cgl-go")
    exact = ht.fit("x -> y", rows, noise="unit")
    assert literal.effect("x", "y", interval="profile").interval == pytest.approx(
        ends(exact, TotalEffect("x", "y")), rel=1e-5
    )


# -- missing values --------------------------------------------------------------------------------


def test_missing_values_have_the_profile_of_the_observed_ones():
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

    for end in ends(fit, TotalEffect("x", "y")):
        assert held(end) - lost(start) == pytest.approx(CUT, abs=2e-3)


# -- the curve -------------------------------------------------------------------------------------


def test_the_curve_is_the_closed_form_of_an_instrument():
    fit = ht.fit(INSTRUMENT, instrument_model(0.4).sample(200, random_state=1))
    found = fit.profile("x ~> y", points=21)
    S = np.asarray(fit.moments.cov)
    for c, deviance in zip(found.values, found.deviance, strict=True):
        e = np.array([0.0, -c, 1.0])
        r2 = (S[0] @ e) ** 2 / (S[0, 0] * (e @ S @ e))
        assert deviance == pytest.approx(-200 * np.log(1 - r2), abs=1e-6)
    low, high = found.interval
    inside = found.deviance < found.cut
    assert ((found.values > low) & (found.values < high) == inside).all()
    assert inside.any()
    assert not inside.all()
    assert found.estimate == pytest.approx(fit.effect("x", "y").value, rel=1e-6)


def test_the_curve_of_an_unbounded_answer_stays_under_the_cut():
    fit = ht.fit(INSTRUMENT, instrument_model(0.0).sample(100, random_state=1))
    found = profile_curve(fit, TotalEffect("x", "y"), points=9)
    assert found.interval == (-np.inf, np.inf)
    assert np.isfinite(found.values).all()
    assert found.notes


def test_the_curve_refuses_several_outcomes_and_odd_numbers():
    fit = ht.fit(INSTRUMENT, instrument_model(0.4).sample(50, random_state=1))
    with pytest.raises(ht.InputError, match="2 outcomes"):
        fit.profile("P(x, y | do(z=1))")
    with pytest.raises(ht.InputError, match="points"):
        fit.profile("x ~> y", points=1)
    with pytest.raises(ht.InputError, match="level"):
        fit.profile("x ~> y", level=1.5)
