"""Profile intervals against closed forms; what must not change them; the curve."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy.optimize import brentq, minimize
from scipy.stats import chi2

import halftrek as ht
from halftrek.inference.information.landscape import Target
from halftrek.inference.profiles.constrained import _across
from halftrek.inference.profiles.profile import profile_curve, profile_ends
from halftrek.models import CGLSCM
from halftrek.notes import Note
from halftrek.queries import DirectEffect, Distribution, Query, TotalEffect
from halftrek.results.fit import Fit
from tests.narrow import floats, interval_of

CUT = float(chi2.ppf(0.95, 1))
INSTRUMENT = "z -> x -> y; x <-> y"


def ends(fit: Fit, query: Query, kind: str = "value", k: int = 0, cut: float = CUT) -> tuple[float, float]:
    found = profile_ends(fit, Target(query, kind, k), cut)  # type: ignore[arg-type]
    return found.low, found.high


def instrument_model(strength: float) -> CGLSCM:
    T = [[0.0, strength, 0.0], [0.0, 0.0, 0.5], [0.0, 0.0, 0.0]]
    return CGLSCM.from_parameters(names=["z", "x", "y"], T=T, mu=[1.0, 0.0, 2.0], omega={("x", "y"): 0.4})


# -- closed forms ----------------------------------------------------------------------------------


def test_a_regression_slope_has_the_exact_likelihood_ratio_interval() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(25, 2)) @ np.array([[1, 0.5], [0, 1]])
    y = X @ [0.7, -0.2] + rng.normal(size=25) + 3
    fit = ht.fit("a -> y; b -> y", np.column_stack([X, y]), names=["a", "b", "y"])
    Z = np.column_stack([X - X.mean(0)])
    slope, rss = np.linalg.lstsq(Z, y - y.mean(), rcond=None)[:2]
    # n log(RSS(c) / RSS) = cut, RSS(c) = RSS + (c - slope)^2 / (Z'Z)^-1_aa
    reach = np.sqrt(rss[0] * (np.exp(CUT / 25) - 1) * np.linalg.inv(Z.T @ Z)[0, 0])
    assert ends(fit, DirectEffect("a", "y")) == pytest.approx((slope[0] - reach, slope[0] + reach), rel=1e-7)


def test_a_mean_and_a_variance_have_their_textbook_intervals() -> None:
    y = np.random.default_rng(2).normal(1e4, 2.0, size=(40, 1))
    fit = ht.fit("y", y, names=["y"])
    n, v = 40, float(y.var())
    reach = np.sqrt(v * (np.exp(CUT / n) - 1))
    query = Distribution.after(("y",))
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


def ruled_out(note: Note) -> tuple[float, ...]:
    return tuple(map(float, re.findall(r"between (\S+) and (\S+) are ruled out", str(note))[0]))


@pytest.mark.parametrize("strength", [0.0, 0.05, 0.1, 0.2, 0.8])
@pytest.mark.parametrize("seed", range(4))
def test_an_instrument_has_the_closed_form_set_also_where_it_is_unbounded(strength: float, seed: int) -> None:
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
            assert ruled_out(found.notes[0]) == pytest.approx(roots, rel=1e-3)
        else:
            assert found.notes[0].code == "unbounded"


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_what_is_ruled_out_follows_the_units(unit: float) -> None:
    for seed in range(20):
        rows = np.asarray(instrument_model(0.1).sample(150, random_state=seed)) * [1.0, 1.0, unit]
        fit = ht.fit(INSTRUMENT, rows, names=["z", "x", "y"])
        roots, far, disc = instrument_oracle(np.asarray(fit.moments.cov), 150, CUT)
        if far < 0 < disc:
            break
    found = profile_ends(fit, Target(TotalEffect("x", "y")), CUT)
    assert ruled_out(found.notes[0]) == pytest.approx(roots, rel=1e-3)


def test_the_closed_form_cases_above_include_each_kind() -> None:
    kinds = set()
    for strength in (0.0, 0.05, 0.1, 0.2, 0.8):
        for seed in range(4):
            S = ht.fit(INSTRUMENT, instrument_model(strength).sample(150, random_state=seed)).moments.cov
            _, far, disc = instrument_oracle(np.asarray(S), 150, CUT)
            kinds.add((far > 0, disc > 0))
    assert kinds == {(True, True), (False, True), (False, False)}


@pytest.mark.parametrize("strength", [0.1, 0.4])
@pytest.mark.parametrize("seed", range(3))
def test_several_instruments_have_the_limited_information_set(strength: float, seed: int) -> None:
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
    whole, explained = (q[0] - 2 * grid * q[1] + grid**2 * q[2] for q in quad)
    curve = n * np.log(whole / (whole - explained))
    top = minimize(lambda c: concentrated(c[0]), [grid[curve.argmin()]], tol=1e-12).fun
    inside = curve - top < CUT
    flips = np.flatnonzero(inside[1:] != inside[:-1])
    exact = [brentq(lambda c: concentrated(c) - top - CUT, grid[i], grid[i + 1]) for i in flips]
    found = profile_ends(fit, Target(TotalEffect("x", "y")), CUT)
    if inside[0]:  # the set goes through infinity: all values, or all but those between two
        assert (found.low, found.high) == (-np.inf, np.inf)
        assert (
            found.notes[0].code == "unbounded"
            if not exact
            else ruled_out(found.notes[0]) == pytest.approx(exact, rel=1e-3)
        )
    else:
        assert (found.low, found.high) == pytest.approx(exact, abs=1e-6)


# -- what must not change the answer ---------------------------------------------------------------


def test_ends_move_with_the_units_of_the_data() -> None:
    rows = np.array(instrument_model(0.3).sample(150, random_state=2))
    plain = ht.fit(INSTRUMENT, rows, names=["z", "x", "y"])
    scaled = ht.fit(INSTRUMENT, rows * [1e3, 1e-2, 50.0] + [5.0, 0.0, 1e4], names=["z", "x", "y"])
    effect = np.array(ends(plain, TotalEffect("x", "y")))
    np.testing.assert_allclose(ends(scaled, TotalEffect("x", "y")), effect * 50.0 / 1e-2, rtol=1e-6)
    mean = np.array(ends(plain, Distribution.after(("y",), {"x": 2.0})))
    np.testing.assert_allclose(ends(scaled, Distribution.after(("y",), {"x": 2e-2})), mean * 50.0 + 1e4, rtol=1e-6)


def test_a_function_of_an_answer_has_the_function_of_its_ends() -> None:
    fit = ht.fit(INSTRUMENT, instrument_model(0.5).sample(80, random_state=6))
    variance = interval_of(fit.query("Var(y | do(x=1))", interval="profile"))
    spread = interval_of(fit.query("SD(y | do(x=1))", interval="profile"))
    np.testing.assert_allclose(np.sqrt(variance), spread, rtol=1e-6)
    whole = fit.query("P(y | do(x=1))", interval="profile")
    np.testing.assert_allclose(floats(whole.variance_interval), variance, rtol=1e-6)
    double = interval_of(fit.query("2 * (x ~> y) + 1", interval="profile"))
    np.testing.assert_allclose(double, 2.0 * np.array(ends(fit, TotalEffect("x", "y"))) + 1.0, rtol=1e-6)


def test_an_unidentified_corner_does_not_matter() -> None:
    rng = np.random.default_rng(3)
    rows = np.array(instrument_model(0.6).sample(200, random_state=1))
    corner = rng.normal(size=(200, 2)) @ np.array([[1, 0.5], [0, 1]])
    plain = ht.fit("z -> x -> y; x <-> y", rows, names=["z", "x", "y"])
    beside = ht.fit(
        "z -> x -> y; x <-> y; a -> b; a <-> b; y -> b",
        np.column_stack([rows, corner]),
        names=["z", "x", "y", "a", "b"],
    )
    for query in (TotalEffect("x", "y"), Distribution.after(("y",), {"x": 1.0})):
        np.testing.assert_allclose(ends(beside, query), ends(plain, query), rtol=1e-6)
    with pytest.raises(ht.NotIdentifiedError):
        beside.profile("a ~> b")


def test_the_level_decides_how_far_an_interval_reaches() -> None:
    fit = ht.fit(INSTRUMENT, instrument_model(0.6).sample(100, random_state=1))
    narrow, wide = (interval_of(fit.effect("x", "y", interval="profile", level=level)) for level in (0.5, 0.99))
    assert wide[0] < narrow[0] < fit.effect("x", "y").value < narrow[1] < wide[1]
    assert ends(fit, TotalEffect("x", "y"), cut=float(chi2.ppf(0.99, 1))) == pytest.approx(wide, rel=1e-9)


def test_the_literal_algorithm_has_the_profile_of_unit_noise() -> None:
    rows = CGLSCM.from_parameters(names=["x", "y"], T=[[0, 0.6], [0.0, 0.0]]).sample(100, random_state=1)
    literal = ht.fit("x -> y", rows, method="cgl-go")
    exact = ht.fit("x -> y", rows, noise="unit")
    assert literal.effect("x", "y", interval="profile").interval == pytest.approx(
        ends(exact, TotalEffect("x", "y")), rel=1e-5
    )


# -- the curve -------------------------------------------------------------------------------------


def test_the_curve_is_the_closed_form_of_an_instrument() -> None:
    fit = ht.fit(INSTRUMENT, instrument_model(0.4).sample(200, random_state=1))
    found = fit.profile("x ~> y", points=21)
    S = np.asarray(fit.moments.cov)
    for c, deviance in zip(found.values, found.deviance, strict=True):
        e = np.array([0.0, -c, 1.0])
        r2 = (S[0] @ e) ** 2 / (S[0, 0] * (e @ S @ e))
        assert deviance == pytest.approx(-200 * np.log(1 - r2), abs=1e-6)
    assert found.cut == pytest.approx(chi2.ppf(0.95, 1))
    assert fit.profile("x ~> y", points=3, level=0.5).cut == pytest.approx(chi2.ppf(0.5, 1))
    low, high = found.interval
    inside = found.deviance < found.cut
    assert ((found.values > low) & (found.values < high) == inside).all()
    assert inside.any()
    assert not inside.all()
    assert found.estimate == pytest.approx(fit.effect("x", "y").value, rel=1e-6)


def test_the_curve_of_an_unbounded_answer_stays_under_the_cut() -> None:
    fit = ht.fit(INSTRUMENT, instrument_model(0.0).sample(100, random_state=1))
    found = profile_curve(fit, TotalEffect("x", "y"), points=9)
    assert found.interval == (-np.inf, np.inf)
    assert np.isfinite(found.values).all()
    assert found.notes


def test_the_curve_refuses_several_outcomes_and_odd_numbers() -> None:
    fit = ht.fit(INSTRUMENT, instrument_model(0.4).sample(50, random_state=1))
    with pytest.raises(ht.InputError, match="2 outcomes"):
        fit.profile("P(x, y | do(z=1))")
    with pytest.raises(ht.InputError, match="points"):
        fit.profile("x ~> y", points=1)
    with pytest.raises(ht.InputError, match="level"):
        fit.profile("x ~> y", level=1.5)


@pytest.mark.parametrize("size", [1, 2, 3, 8])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_curvature_across_a_slope_is_that_in_a_basis(size: int, sign: float) -> None:
    """Against an orthonormal basis of all directions that leave the answer in place, and products of matrices."""
    rng = np.random.default_rng(size)
    half, q = rng.standard_normal((size, size)), sign * np.abs(rng.standard_normal(size))
    L = half + half.T
    Z = np.linalg.qr(q[:, None], mode="complete")[0][:, 1:]
    values, basis = _across(L, q)
    assert values == pytest.approx(np.linalg.eigvalsh(Z.T @ L @ Z) if size > 1 else np.zeros(0))
    assert basis.T @ basis == pytest.approx(np.eye(size - 1), abs=1e-12)
    assert basis.T @ q == pytest.approx(np.zeros(size - 1), abs=1e-12)
    assert basis.T @ L @ basis == pytest.approx(np.diag(values), abs=1e-12)
