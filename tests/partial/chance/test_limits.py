"""Ends that models only approach, ends where two assumptions meet, questions that are searched, and groups."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import ndtr

import halftrek as ht
from halftrek.bottom.arrays import Floats
from halftrek.partial.chance.cut import cut_for

BOW = "x -> y; x <-> y"


def rows(n: int = 500) -> dict[str, Any]:
    u, e, f = np.random.default_rng(0).normal(size=(3, n))
    x = u + e
    return {"x": x, "y": 0.5 * x + u + f}


def lowest_share(x: Floats, at: float, cut: float) -> float:
    """The smallest ``Phi(-|at - mean| / sd)`` of a normal x within a deviance, from its moments alone."""
    n, mean, variance = len(x), float(x.mean()), float(x.var())

    def lost(v: Floats) -> float:
        s2 = np.exp(2.0 * v[1])
        return float(n * (np.log(s2 / variance) + (variance + (mean - v[0]) ** 2) / s2 - 1.0))

    found = minimize(
        lambda v: -(at - v[0]) / np.exp(v[1]), [mean, 0.5 * np.log(variance)], method="SLSQP",
        constraints=[{"type": "ineq", "fun": lambda v: cut - lost(v)}], options={"ftol": 1e-12, "maxiter": 200},
    )  # fmt: skip
    return NormalDist().cdf(float(found.fun))


def test_a_limit_is_said_to_be_one_and_has_an_interval() -> None:
    """In a bow ``P(y > c | do(x=1))`` nears ``Phi(-(1 - m) / s)`` of x as the effect goes to minus infinity."""
    data = rows()
    found = ht.bounds(BOW, data, "P(y > 0 | do(x=1))")
    x = data["x"]
    assert found.low == pytest.approx(NormalDist().cdf(-(1.0 - x.mean()) / x.std()), abs=1e-9)
    assert found.attained == {"low": False, "high": True}
    assert "a limit that models approach and none has" in found.explain()
    assert "a limit" in found.summary()
    assert found.certificate == "closed form"
    assert found.interval is not None
    assert found.interval[0] == pytest.approx(lowest_share(x, 1.0, cut_for(1)), abs=1e-5)
    assert found.to_dict()["attained"] == {"low": False, "high": True}


@pytest.mark.parametrize("question", ["P(y > 0.5 | do(x=1))", "P(y < 0 | do(x=1))", "P(0 < y < 0.5 | do(x=1))"])
def test_an_interval_holds_its_set(question: str) -> None:
    found = ht.bounds(BOW, rows(), question)
    assert found.interval is not None
    assert 0.0 <= found.interval[0] <= found.low < found.high < found.interval[1] <= 1.0
    assert "set end lost" not in {n.code for n in found.notes}


def pair_lost(data: dict[str, Any], v: Floats) -> float:
    """The deviance of a normal pair: means in v, then a Cholesky factor with logarithms on its diagonal."""
    rows = np.column_stack([data["x"], data["y"]])
    n, mean, S = len(rows), rows.mean(axis=0), np.cov(rows.T, bias=True)
    cov = pair_cov(v)
    far = mean - v[:2]
    inverse = np.linalg.inv(cov)
    whole = np.log(np.linalg.det(cov) / np.linalg.det(S)) + np.trace(inverse @ S) - 2.0 + far @ inverse @ far
    return float(n * whole)


def pair_cov(v: Floats) -> Floats:
    L = np.array([[np.exp(v[2]), 0.0], [v[3], np.exp(v[4])]])
    return L @ L.T


def share_of(v: Floats, x_sign: float, x_at: float, y_sign: float, y_at: float) -> float:
    """``P(x_sign x > x_sign x_at, y_sign y > y_sign y_at)``, by one integral over x."""
    cov = pair_cov(v)
    sx, slope = np.sqrt(cov[0, 0]), cov[0, 1] / cov[0, 0]
    rest = np.sqrt(cov[1, 1] - slope * cov[0, 1])
    t, w = np.polynomial.legendre.leggauss(80)
    start = x_sign * (x_at - v[0]) / sx
    z = x_sign * (start + (10.0 - start) * (t + 1.0) / 2.0)
    inside = ndtr(y_sign * (v[1] + slope * sx * z - y_at) / rest)
    return float((10.0 - start) / 2.0 * (w * np.exp(-0.5 * z * z) * inside).sum() / np.sqrt(2.0 * np.pi))


LIMITS: dict[str, tuple[int, Callable[[Floats], float]]] = {
    # as the effect goes to minus infinity y_{x=1} = y + b (1 - x) is positive exactly where x is above 1
    "P(y_{x=1} > 0, y > 0)": (-1, lambda v: share_of(v, 1, 1.0, 1, 0.0)),
    "P(y_{x=1} > 1 | y > 0.5)": (-1, lambda v: share_of(v, 1, 1.0, 1, 0.5) / share_of(v, 1, v[0] - 9.0, 1, 0.5)),
    # and as it goes to infinity where x is below 1
    "P(y_{x=1} > 1 | y < 0.5)": (1, lambda v: share_of(v, -1, 1.0, -1, 0.5) / share_of(v, -1, v[0] + 9.0, -1, 0.5)),
}


@pytest.mark.parametrize("question", LIMITS)
def test_the_interval_ends_where_the_limit_does_with_several_events_or_evidence(question: str) -> None:
    data = rows(200)
    side, at_limit = LIMITS[question]
    found = ht.bounds(BOW, data, question)
    pair = np.column_stack([data["x"], data["y"]])
    L = np.linalg.cholesky(np.cov(pair.T, bias=True))
    fitted = np.array([*pair.mean(axis=0), np.log(L[0, 0]), L[1, 0], np.log(L[1, 1])])
    end = "low" if side < 0 else "high"
    assert getattr(found, end) == pytest.approx(at_limit(fitted), abs=1e-6)
    assert not found.attained[end]
    best = minimize(
        lambda v: -side * at_limit(v), fitted + 0.01, method="SLSQP",
        constraints=[{"type": "ineq", "fun": lambda v: cut_for(1) - pair_lost(data, v)}],
        options={"ftol": 1e-12, "maxiter": 300},
    )  # fmt: skip
    assert found.interval is not None
    assert found.interval[side > 0] == pytest.approx(-side * float(best.fun), abs=2e-6)
    assert "set end lost" not in {n.code for n in found.notes}
    assert found.certificate == "searched"
    assert "no more and no fewer" not in found.explain()


def test_far_out_other_variables_keep_their_digits() -> None:
    """``P(y_{x=1} > 1, y < 1)`` nears ``P(x < 1, y < 1)``, not ``P(x < 1)``."""
    z, u, e, f = np.random.default_rng(0).normal(size=(4, 300))
    x = 0.5 * z + u + e
    data = {"z": z, "x": x, "y": 0.5 * x + u + 0.3 * z + f}
    found = ht.bounds("z -> x; z -> y; x -> y; x <-> y", data, "P(y_{x=1} > 1, y < 1)")
    pair = np.column_stack([data["x"], data["y"]])
    L = np.linalg.cholesky(np.cov(pair.T, bias=True))
    fitted = np.array([*pair.mean(axis=0), np.log(L[0, 0]), L[1, 0], np.log(L[1, 1])])
    assert found.high == pytest.approx(share_of(fitted, -1, 1.0, -1, 1.0), abs=1e-6)
    assert found.interval is not None
    assert found.high < found.interval[1] < 1.0


def test_what_is_seen_is_one_number_though_it_is_searched() -> None:
    found = ht.bounds(BOW, rows(), "P(y > 1, x > 0)")
    assert found.low == found.high


def test_what_has_no_end_is_infinite_though_it_is_searched() -> None:
    found = ht.bounds(BOW, rows(), "E[y_{x=1} | y > 1]")
    assert found.pieces == ((-inf, inf),)
    half = ht.bounds(BOW, rows(), "SD[y | do(x=1)] + E[y | do(x=1)]")
    assert half.high == inf
    assert np.isfinite(half.low)


def test_a_searched_set_names_what_binds() -> None:
    found = ht.bounds(BOW, rows(), "P(0 < y < 0.5 | do(x=1))", assume=["abs(corr(x <-> y)) <= 0.3"])
    assert found.binding == {"low": ("abs(corr(x <-> y)) <= 0.3",), "high": ("abs(corr(x <-> y)) <= 0.3",)}


TWO = "z1 -> x; z2 -> x; z1 <-> z2; x -> y; x <-> y"
LEAKS = ["abs(z1 -> y) <= 0.1", "abs(z2 -> y) <= 0.1"]


def two_leaks() -> Floats:
    """Two instruments of one strength whose leaks are both 0.1, the limit, and the effect 0.5."""
    T, omega = np.zeros((4, 4)), np.eye(4)
    T[0, 2] = T[1, 2] = 0.5
    T[0, 3] = T[1, 3] = 0.1
    T[2, 3] = 0.5
    omega[2, 3] = omega[3, 2] = 0.4
    omega[0, 1] = omega[1, 0] = 0.2
    B = np.linalg.inv(np.eye(4) - T)
    return np.asarray(B.T @ omega @ B)


def leaks_lost(S: Floats, n: float, b: float) -> float:
    """The least deviance at an effect: what z says of ``y - b x - z g`` when the leaks are as near as they may be."""
    zz, cross = S[:2, :2], S[:2, 3] - b * S[:2, 2]
    spread = S[3, 3] - 2.0 * b * S[2, 3] + b * b * S[2, 2]
    grid = np.stack(np.meshgrid(*[np.linspace(-0.1, 0.1, 81)] * 2), axis=-1).reshape(-1, 2)
    left = cross - grid @ zz
    explained = np.einsum("ki,ij,kj->k", left, np.linalg.inv(zz), left)
    whole = spread - 2.0 * grid @ cross + np.einsum("ki,ij,kj->k", grid, zz, grid)
    return float((-n * np.log1p(-explained / whole)).min())


def test_where_two_assumptions_meet_the_cut_is_that_of_two() -> None:
    """Both leaks bind at the lower end, one weight is free: k = 2 - 1 + 1, and the cut 5.14."""
    S, n = two_leaks(), 400
    found = ht.bounds(TWO, None, "x -> y", assume=LEAKS, cov=S, names=["z1", "z2", "x", "y"], n=n)
    assert found.low == pytest.approx(0.5, abs=1e-7)
    assert found.interval is not None
    assert leaks_lost(S, n, found.interval[0]) == pytest.approx(cut_for(2), abs=0.02)
    assert leaks_lost(S, n, found.interval[1]) == pytest.approx(cut_for(2), abs=0.02)


def test_a_limit_that_is_the_answer_is_obeyed_whatever_the_last_bit_says() -> None:
    for variance, shared in ((1.5, 0.9), (1.7, 0.3), (3.0, 1.0)):
        cov = [[variance, shared], [shared, 2.0]]
        answer = shared / variance
        for text in (f"x -> y <= {answer!r}", f"x -> y >= {answer!r}", f"x -> y in [{answer!r}, 5]"):
            found = ht.bounds("x -> y", None, "x -> y", assume=[text], cov=cov, n=100)
            assert found.low == found.high == pytest.approx(answer)
    beyond = ht.bounds("x -> y", None, "x -> y", assume=["x -> y <= 0.599999"], cov=[[1.5, 0.9], [0.9, 2.0]], n=100)
    assert beyond.empty


def test_groups_have_their_bounds_in_one_table() -> None:
    data = rows(300)
    data["site"] = np.array(["a", "b", "c"])[np.arange(300) % 3]
    assume = ["abs(corr(x <-> y)) <= 0.3"]
    table: Any = ht.fit(BOW, data, by="site").bounds("x -> y", assume=assume, level=0.9)
    assert list(table["group"]) == ["a", "b", "c"]
    for k, site in enumerate("abc"):
        own = {v: np.asarray(data[v])[data["site"] == site] for v in "xy"}
        alone = ht.bounds(BOW, own, "x -> y", assume=assume, level=0.9)
        assert (table["low"][k], table["high"][k]) == pytest.approx((alone.low, alone.high))
        assert (table["interval_low"][k], table["interval_high"][k]) == pytest.approx(alone.interval, abs=1e-6)
        assert table["certificate"][k] == "closed form"


def test_probabilities_stay_between_nothing_and_all() -> None:
    """Far out the search comes to 1 with rounding; the set ends there."""
    cov = [[1.0, 0.5], [0.5, 1.5]]
    found = ht.bounds("x -> y; x <-> y", None, "P(y_{x=1} > 1 | y < 0.5)", cov=cov, names=["x", "y"], n=300)
    assert 0.0 <= found.low < found.high <= 1.0
    assert found.interval is not None
    assert 0.0 <= found.interval[0] <= found.low
    assert found.high <= found.interval[1] <= 1.0


@pytest.mark.parametrize(
    ("text", "assume", "ends"),
    [
        ("x -> y; x <-> y", ["x -> y >= 0"], (0.0, np.inf)),
        ("x -> y; x <-> y", ["x -> y in [0, 0.5]"], (0.0, 0.5)),
        ("x -> y; x <-> y", ["x -> y = 0.3"], (0.3, 0.3)),
        ("z -> y; x -> y; x <-> y; z <-> x; z <-> y", ["norm(z -> y, x -> y) <= 0.5"], (-0.5, 0.5)),
    ],
)
def test_what_assumptions_alone_say_needs_no_room_for_chance(
    text: str, assume: list[str], ends: tuple[float, float]
) -> None:
    rng = np.random.default_rng(2)
    z, u, e = rng.standard_normal((3, 300))
    x = 0.8 * z + u
    data = {"z": z, "x": x, "y": 0.5 * x + u + e}
    found = ht.bounds(text, data, "x ~> y", assume=assume)
    np.testing.assert_allclose(np.asarray(found.interval), np.asarray(ends), atol=1e-6)
    assert not any("did not find" in str(note) for note in found.notes)


def test_a_contradiction_is_measured_from_models_that_obey() -> None:
    """Models that obey are there, with other covariances than that of the data."""
    rng = np.random.default_rng(3)
    x, u, e, f = rng.standard_normal((4, 400))
    m = 0.6 * x + u + e
    data = {"x": x, "m": m, "y": 0.5 * m + u + f}
    graph = "x -> m; m -> y; x <-> m; m <-> y; x <-> y"
    both = ["abs(corr(m, error(y))) <= 0.1", "corr(m <-> y) >= 0.4"]
    found = ht.bounds(graph, data, "x ~> y", assume=both)
    assert found.pieces == ()
    assert "no model with this covariance obeys" in str(found)
    assert "attain" not in str(found)
    assert found.refuted is not None
    assert found.refuted.statistic == pytest.approx(6.977, abs=0.01)  # from twelve starts, all but one of them
    assert found.refuted.p < 0.05


def test_a_yardstick_that_excludes_nothing_says_so() -> None:
    rng = np.random.default_rng(4)
    z, u, e = rng.standard_normal((3, 300))
    x = 2.0 * z + u
    data = {"z": z, "x": x, "y": x + z + u + e}
    graph = "z -> x; z -> y; x -> y; x <-> y"
    strong = ht.bounds(graph, data, "x ~> y", assume="confounding(x, y) <= 3 * z")
    assert any("excludes nothing" in str(note) for note in strong.notes)
    weak = ht.bounds(graph, data, "x ~> y", assume="confounding(x, y) <= 0.05 * z")
    assert not any("excludes nothing" in str(note) for note in weak.notes)
    assert np.isfinite([weak.low, weak.high]).all()
