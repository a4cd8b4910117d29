"""Residuals, modification indices and tests where values are missing: lavaan's numbers, refits, simulations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import halftrek as ht
from halftrek.data import read_patterns
from halftrek.data.missing.patterns import Patterns
from halftrek.errors import InputError
from halftrek.graphs import Graph
from halftrek.inference.checks.constraints import missing_independence
from halftrek.inference.checks.missing_checks import _complete_information, complete_ratio, partial_correlation
from halftrek.inference.information.missing.incomplete import covariance_error, saturated_information
from tests.narrow import there, wrong

CHAIN = "a -> b -> c -> d -> e; b <-> d"

# lavaan 0.6-14: sem("b ~ a; c ~ b; d ~ c; e ~ d; b ~~ d", missing = "ml", fixed.x = FALSE): modindices(), whose
# information is the expected one
INDICES = {
    ("c", "a"): (1.170360, 0.063797),
    ("d", "b"): (17.101363, 0.578558),
    ("d", "a"): (17.101647, 0.330730),
    ("e", "b"): (8.687099, 0.166979),
    ("e", "c"): (1.586537, 0.096629),
    ("e", "a"): (0.590898, 0.053453),
}
OBSERVED = {  # modindices(information = "observed")
    ("c", "a"): 1.316,
    ("d", "b"): 61.968,
    ("d", "a"): 17.676,
    ("e", "b"): 13.090,
    ("e", "c"): 1.949,
    ("e", "a"): 1.003,
}
# lavResiduals(type = "raw")$cov.z
RESIDUALS = {
    ("b", "c"): 3.382130,
    ("b", "d"): 5.614861,
    ("b", "e"): 4.575889,
    ("a", "b"): 4.881101,
    ("c", "d"): 0.076828,
    ("c", "e"): 1.451479,
    ("a", "c"): 2.028671,
    ("d", "e"): 0.172491,
    ("a", "d"): 4.282773,
    ("a", "e"): 3.042698,
}


def rows(seed: int = 3, n: int = 400, direct: float = 1.0) -> dict[str, np.ndarray]:
    """Holes at random; those of e depend on a."""
    rng = np.random.default_rng(seed)
    a, u = rng.normal(size=n), rng.normal(size=n)
    b = 0.8 * a + u + rng.normal(size=n)
    c = 0.5 * b + rng.normal(size=n) + 1
    d = 0.6 * c + 0.3 * direct * a + u * 0.7 + rng.normal(size=n)
    e = 0.4 * d + 0.35 * direct * b + rng.normal(size=n) - 2
    X = np.stack([a, b, c, d, e], axis=1)
    X[rng.random(X.shape) < 0.15] = np.nan
    X[X[:, 0] > 0.8, 4] = np.nan
    return dict(zip("abcde", X.round(4).T, strict=True))


@pytest.fixture(scope="module")
def fitted() -> ht.Fit:
    return ht.fit(CHAIN, rows())


def arrows(found: Any) -> dict[tuple[str, str], tuple[float, float]]:
    columns = (found[k] for k in ("lhs", "op", "rhs", "mi", "epc"))
    return {(x, y): (mi, epc) for x, op, y, mi, epc in zip(*columns, strict=True) if op == "~"}


def test_modification_indices_equal_lavaan(fitted: ht.Fit) -> None:
    mine = arrows(fitted.modifications(information="expected"))
    assert set(mine) == set(INDICES)
    for pair, (mi, epc) in INDICES.items():
        assert mine[pair] == pytest.approx((mi, epc), rel=1e-3)
    mine = arrows(fitted.modifications(information="observed"))
    for pair, mi in OBSERVED.items():
        assert mine[pair][0] == pytest.approx(mi, rel=1e-3)
    with pytest.raises(InputError, match="information"):
        fitted.modifications(information=wrong("some"))


@pytest.mark.parametrize("n", [400, 4000])
def test_where_the_model_is_true_an_index_is_the_fall_of_chi_square(n: int) -> None:
    """Also with holes that depend on a cause, for which the expected information gives two thirds of it."""
    data = rows(2, n, direct=0.0)
    found = ht.fit(CHAIN, data)
    table, old = found.modifications(), found.modifications(information="expected")
    index = dict(zip(table["edge"], table["mi"], strict=True))
    small = dict(zip(old["edge"], old["mi"], strict=True))
    for edge in ("a -> d", "a <-> c", "c -> e", "a -> e", "b -> e"):
        fall = 2.0 * (ht.fit(f"{CHAIN}; {edge}", data).loglik - found.loglik)
        assert index[edge] == pytest.approx(fall, rel=0.1, abs=0.01)
    assert small["a -> e"] < 0.75 * index["a -> e"]
    assert index["a -> d"] == pytest.approx(index["b -> d"], rel=1e-6)  # data cannot tell them apart


def test_residuals_equal_lavaan(fitted: ht.Fit) -> None:
    found = fitted.residuals()
    assert len(found["z"]) == len(RESIDUALS)
    for lhs, rhs, z in zip(found["lhs"], found["rhs"], found["z"], strict=True):
        assert z == pytest.approx(RESIDUALS[lhs, rhs], rel=1e-3, abs=1e-3)
    gap = np.abs(np.asarray(found["residual"]))
    assert (np.diff(gap) <= 0.0).all()


def test_pairs_that_no_row_has_have_no_observed_correlation() -> None:
    data = rows()
    data["a"][:200], data["c"][200:] = np.nan, np.nan
    found = ht.fit("a -> b -> c; b -> d", {v: data[v] for v in "abcd"})
    table = found.residuals()
    for lhs, rhs, observed, residual in zip(*(table[k] for k in ("lhs", "rhs", "observed", "residual")), strict=True):
        assert np.isnan(observed) == np.isnan(residual) == ((lhs, rhs) == ("a", "c"))
    assert np.isnan(table["z"]).all()
    tests = found.tests()
    p_values = dict(zip(tests["constraint"], tests["p"], strict=True))
    assert np.isnan(p_values["a independent of c given b"])
    assert np.isfinite(p_values["a independent of d given b"])
    assert "no row" in list(tests["verdict"])[list(tests["constraint"]).index("a independent of c given b")]


def test_the_test_of_an_independence_is_near_the_likelihood_ratio(fitted: ht.Fit) -> None:
    """Against the fit of a graph with that independence alone: all else is free."""
    tests = fitted.tests()
    everything = there(fitted.patterns).unrestricted.loglik
    for x, y, given in (("a", "c", "b"), ("b", "e", "d")):
        text = f"{x} independent of {y} given {given}"
        z = tests["statistic"][list(tests["constraint"]).index(text)]
        order = [given, x, y, *(v for v in "abcde" if v not in (x, y, given))]
        arrows = [(u, v) for k, v in enumerate(order) for u in order[:k] if {u, v} != {x, y}]
        one = ht.fit(Graph(arrows), rows())
        assert z**2 == pytest.approx(2.0 * (everything - one.loglik), rel=0.05)


def test_all_other_constraints_are_a_likelihood_ratio(fitted: ht.Fit) -> None:
    tests = fitted.tests()
    k = list(tests["kind"]).index("other constraints")
    assert tests["df"][k] == 1.0
    assert tests["statistic"][k] == pytest.approx(
        2.0 * (ht.fit(f"{CHAIN}; a -> d", rows()).loglik - fitted.loglik), rel=0.02
    )


def test_tetrads_of_one_factor() -> None:
    """With a hole or two the tests are those of complete rows but for a trace."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 1)) * [1.0, 0.8, 0.7, 0.6] + rng.normal(size=(800, 4))
    whole = ht.fit("U -> {p, q, r, s}; latent U", dict(zip("pqrs", X.T.copy(), strict=True))).tests()
    X[0, 0] = X[1, 2] = np.nan
    found = ht.fit("U -> {p, q, r, s}; latent U", dict(zip("pqrs", X.T, strict=True))).tests()
    assert list(found["constraint"]) == list(whole["constraint"])
    np.testing.assert_allclose(found["statistic"], whole["statistic"], atol=0.12)
    assert list(found["kind"]).count("tetrad") == 2


def test_errors_of_unrestricted_moments_are_those_over_many_samples() -> None:
    """Errors of a covariance and of a partial correlation against the spread over drawn data sets."""
    rng = np.random.default_rng(5)
    drawn, errors = [], []
    for _ in range(150):
        z = rng.normal(size=300)
        X = np.stack([z, 0.5 * z + rng.normal(size=300), 0.7 * z + rng.normal(size=300)], axis=1)
        X[rng.random(X.shape) < 0.2] = np.nan
        patterns = read_patterns(X, ("z", "x", "y"))
        assert isinstance(patterns, Patterns)
        known = there(saturated_information(patterns))
        moments = patterns.unrestricted.moments
        at = [moments.names.index(v) for v in "xyz"]
        r, error = partial_correlation(known, moments, at)
        slope = np.zeros((3, 3))
        slope[at[0], at[1]] = slope[at[1], at[0]] = 0.5
        drawn.append((np.arctanh(r), moments.cov[at[0], at[1]]))
        errors.append((error, covariance_error(known, slope, moments.n)))
    np.testing.assert_allclose(np.std(drawn, axis=0), np.mean(errors, axis=0), rtol=0.12)
    assert abs(np.mean(drawn, axis=0)[0]) < 3.0 * np.mean(errors, axis=0)[0] / np.sqrt(150)


def test_without_an_unrestricted_maximum_there_are_no_tests() -> None:
    """Two rows have x and y together: with two points on a line nothing bounds the unrestricted likelihood."""
    rng = np.random.default_rng(2)
    w, x, y = rng.normal(size=(3, 60))
    x[:30], y[32:] = np.nan, np.nan
    found = ht.fit("w -> x; w -> y", {"w": w, "x": x, "y": y})
    assert found.converged
    assert not there(found.patterns).unrestricted.converged
    tests = found.tests()
    assert np.isnan(tests["p"]).all()
    assert list(tests["verdict"]) == [
        "no test: the rows do not determine the covariances without the model",
        "not testable: values of x are missing",
        "not testable: values of y are missing",
    ]
    assert np.isnan(found.residuals()["observed"]).all()


def test_an_independence_is_tested_with_the_rows_that_are_to_spare() -> None:
    """``z = atanh(r) / error * sqrt((n - 3 - k) / n)``: of complete rows Fisher's, with the last term alone."""
    x, m, y = np.random.default_rng(8).normal(size=(3, 30))
    data = {"x": x, "m": x + m, "y": m + y}
    data["y"][0] = np.nan
    fit = ht.fit("x -> m -> y", data, missing="fiml")
    found = missing_independence(fit, "x", "y", ("m",))
    patterns = read_patterns(data, ("x", "m", "y"))
    assert isinstance(patterns, Patterns)
    r, error = partial_correlation(there(saturated_information(patterns)), patterns.unrestricted.moments, [0, 2, 1])
    assert found.estimate == pytest.approx(r)
    assert found.statistic == pytest.approx(np.arctanh(r) / error * np.sqrt((30 - 4) / 30), rel=1e-9)


def test_the_discrepancy_of_complete_rows_is_twice_the_distance_of_two_normal_distributions() -> None:
    x, m, y = np.random.default_rng(9).normal(size=(3, 200))
    data = {"x": x, "m": x + m, "y": m + y + 0.3 * x}
    data["y"][:40] = np.nan
    fit = ht.fit("x -> m -> y", data, missing="fiml")
    patterns = read_patterns(data, ("x", "m", "y"))
    assert isinstance(patterns, Patterns)
    seen = patterns.unrestricted.moments
    at = [fit.model.names.index(v) for v in seen.names]
    mean, cov = fit.model.mean[at], fit.model.cov[np.ix_(at, at)]
    gap, K = seen.mean - mean, np.linalg.inv(cov)
    shares = np.linalg.eigvals(seen.cov @ K).real  # 2 KL = sum(s - 1 - log s) + d' K d
    expected = 200 * (float((shares - 1.0 - np.log(shares)).sum()) + float(gap @ K @ gap))
    ratio, by_chance = there(complete_ratio(fit))
    assert ratio == pytest.approx(expected, rel=1e-6)
    assert 0.3 < by_chance < 3.0  # one restriction


def test_information_of_a_complete_row_is_that_of_a_normal_distribution() -> None:
    """``I_ab = m_a' K m_b + tr(K S_a K S_b) / 2``, the derivatives of mean and covariance one by one."""
    rng = np.random.default_rng(6)
    K = np.linalg.inv(np.cov(rng.normal(size=(3, 40))))
    dmean, dcov = rng.normal(size=(4, 3)), rng.normal(size=(4, 3, 3))
    dcov = dcov + dcov.transpose(0, 2, 1)
    found = _complete_information(K, dmean, dcov)
    assert found.shape == (4, 4)
    for a in range(4):
        for b in range(4):
            slow = dmean[a] @ K @ dmean[b] + 0.5 * np.trace(K @ dcov[a] @ K @ dcov[b])
            assert found[a, b] == pytest.approx(slow, rel=1e-12)
