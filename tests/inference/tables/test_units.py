"""Checks that count clusters and need no normal data: against dense matrices, lavaan, hand-made sums, simulation."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import halftrek as ht
from halftrek.errors import InputError
from halftrek.estimation.space import make_space
from halftrek.inference.checks.constraints import constraint_tests
from halftrek.inference.checks.edges.modification import modifications
from halftrek.inference.checks.measures import measures
from halftrek.inference.checks.mixture import mixture
from halftrek.inference.checks.multiplicity import holm
from halftrek.inference.checks.residuals import residuals
from halftrek.inference.checks.robust_fit import measures_by_units, ratio_mixture, robust_measures
from halftrek.trust.misfit import misfit
from tests.estimation.test_reference import CASES
from tests.narrow import floats, there

REFERENCE: dict[str, Any] = json.loads((CASES.parent / "checks.json").read_text())
CHAIN = "a -> b -> c -> d -> e; b <-> d; a -> d"
LARGER = CHAIN + "; a -> c; c -> e"
FACTOR = "latent f; f -> {a, b, c, d}"
S03 = pd.read_csv(CASES / "s03_admg_bowfree.csv")
BOW_FREE = "x1 -> y1; x1 -> y2; y1 -> y5; x1 -> y5; y2 -> y6; x1 -> y6; y1 <-> y2; y5 <-> y6"
FEWER = "x1 -> y1; x1 -> y2; y1 -> y5; y2 -> y6; y1 <-> y2; y5 <-> y6"


def errors(rng: np.random.Generator, clusters: int, size: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Half of every error's variance is common to a cluster."""
    between = np.repeat(rng.normal(size=(clusters, columns)), size, axis=0)
    within = rng.normal(size=(clusters * size, columns))
    return np.sqrt(0.5) * (between + within), np.repeat(np.arange(clusters), size)


def chain(noise: np.ndarray) -> dict[str, np.ndarray]:
    a, b, c, d, e, h = noise.T
    b = 0.6 * a + b + 0.7 * h
    c = 0.7 * b + c
    d = 0.5 * c + 0.3 * a + d + 0.7 * h
    return {"a": a, "b": b, "c": c, "d": d, "e": 0.6 * d + e}


def clustered(seed: int, clusters: int = 60, size: int = 20, graph: str = CHAIN, holes: float = 0.0) -> ht.Fit:
    rng = np.random.default_rng(seed)
    noise, labels = errors(rng, clusters, size, 6)
    rows = {v: np.where(rng.random(len(x)) < holes, np.nan, x) for v, x in chain(noise).items()}
    return ht.fit(graph, rows, cluster=labels)


def heavy(seed: int, n: int = 300, graph: str = CHAIN) -> ht.Fit:
    """Multivariate t with five degrees of freedom."""
    rng = np.random.default_rng(seed)
    return ht.fit(graph, chain(rng.normal(size=(n, 6)) / np.sqrt(rng.chisquare(5, size=(n, 1)) / 3.0)))


# -- the mixture of a likelihood ratio ------------------------------------------------------------


def dense(fit: ht.Fit, larger: ht.Fit | None, codes: np.ndarray) -> tuple[float, float]:
    """Trace of U Gamma and of its square, of matrices over all pairs of variables; Gamma by cluster."""
    names, p = fit.model.names, len(fit.model.names)
    pairs = [(i, j) for i in range(p) for j in range(i, p)]
    D = np.zeros((p * p, len(pairs)))
    for k, (i, j) in enumerate(pairs):
        D[i * p + j, k] = D[j * p + i, k] = 1.0
    K = np.linalg.inv(fit.model.cov)
    V = 0.5 * D.T @ np.kron(K, K) @ D

    def inside(one: ht.Fit) -> np.ndarray:
        space = make_space(one.graph, names, one.options)
        theta = space.vector(one.model)
        delta = np.array([[dcov[i, j] for i, j in pairs] for dcov in space.jacobian(theta)[1]]).T
        return V @ delta @ np.linalg.pinv(delta.T @ V @ delta, rcond=1e-10) @ delta.T @ V

    U = (V if larger is None else inside(larger)) - inside(fit)
    X = np.stack([np.asarray(fit.rows.source[v]) for v in names], axis=1)  # type: ignore[union-attr]
    X = X - X.mean(axis=0)
    scores = np.array([[x[i] * x[j] for i, j in pairs] for x in X])
    scores -= scores.mean(axis=0)
    sums = np.array([scores[codes == g].sum(axis=0) for g in np.unique(codes)])
    units = len(sums)
    gamma = sums.T @ sums / len(X) * units / (units - 1)
    return float(np.trace(U @ gamma)), float(np.trace(U @ gamma @ U @ gamma))


@pytest.mark.parametrize("by_cluster", [True, False], ids=["clusters", "rows"])
@pytest.mark.parametrize("nested", [False, True], ids=["alone", "nested"])
def test_mean_and_shape_of_the_mixture_are_those_of_dense_matrices(by_cluster: bool, nested: bool) -> None:
    codes = np.repeat(np.arange(12), 10) if by_cluster else np.arange(120)
    rng = np.random.default_rng(1)
    rows = chain(errors(rng, 12, 10, 6)[0])
    small = ht.fit(CHAIN, rows, cluster=codes if by_cluster else None)
    implied = ht.fit(LARGER, cov=pd.DataFrame(small.model.cov, small.model.names, small.model.names), n=120)
    found = mixture(small, ht.fit(LARGER, rows) if nested else None)
    mean, square = dense(small, implied if nested else None, codes)
    assert found is not None
    assert found.units == len(np.unique(codes))
    assert found.df == (2 if nested else 4)
    assert found.mean == pytest.approx(mean, rel=1e-5)
    k = found.units - 1.0
    unbiased = (square - mean**2 / k) * k**2 / ((k - 1.0) * (k + 2.0))
    assert found.square == pytest.approx(unbiased, rel=1e-4)


def test_one_degree_of_freedom_is_students_t() -> None:
    """Of an independence of two variables: the ratio of a mean over clusters to its error, squared."""
    from scipy.special import stdtr

    noise, labels = errors(np.random.default_rng(2), 9, 15, 2)
    found = mixture(ht.fit("observed x, y", {"x": noise[:, 0], "y": noise[:, 1]}, cluster=labels))
    assert found is not None
    assert (found.df, found.freedom, found.units) == (1, 1.0, 9)
    assert found.p(4.0 * found.mean) == pytest.approx(2.0 * stdtr(8, -2.0))


def test_the_scaled_difference_is_that_of_satorra_and_bentler() -> None:
    small, large = ht.fit(FEWER, S03), ht.fit(BOW_FREE, S03)
    found = mixture(small, large)
    assert found is not None
    assert found.df == REFERENCE["nested"]["df"]
    statistic = 2.0 * (large.loglik - small.loglik) / found.scaling * 75 / 74  # the program's spread divides by n
    assert statistic == pytest.approx(REFERENCE["nested"]["satorra.bentler.2010"], rel=1e-5)


def test_its_mean_is_the_scaling_of_satorra_and_bentler() -> None:
    fit = clustered(3, 20, 10)
    found, scaled = ratio_mixture(fit), robust_measures(fit, "satorra-bentler")
    assert found is not None
    assert found.scaling == pytest.approx(scaled.scaling, rel=1e-9)
    assert scaled.pvalue_robust == pytest.approx(found.p(measures(fit).chi2))


def test_of_many_moments_only_the_mean_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    small, large = clustered(3, 20, 10), clustered(3, 20, 10, LARGER)
    whole = [ratio_mixture(small), ratio_mixture(small, large)]
    monkeypatch.setattr("halftrek.inference.checks.robust_fit.WORK", 0.0)
    coarse = [ratio_mixture(small), ratio_mixture(small, large)]
    for a, b in zip(whole, coarse, strict=True):
        assert a is not None
        assert b is not None
        assert (a.df, a.units) == (b.df, b.units)
        assert a.scaling == pytest.approx(b.scaling, rel=0.05)  # of the larger model at its own estimates
        assert b.freedom == pytest.approx(b.df)


def test_with_holes_the_scaling_is_near_that_of_yuan_and_bentler() -> None:
    """The information of either model is taken at another point, which in many rows is the same."""
    fit = clustered(5, 200, 5, holes=0.1)
    found, scaled = ratio_mixture(fit), robust_measures(fit)
    assert found is not None
    assert found.scaling == pytest.approx(scaled.scaling, rel=0.05)


# -- single checks --------------------------------------------------------------------------------


def by_hand(values: np.ndarray, labels: np.ndarray) -> float:
    """Student's t of a mean over clusters."""
    sums = np.array([(values - values.mean())[labels == g].sum() for g in np.unique(labels)])
    error = np.sqrt((sums**2).sum() * len(sums) / (len(sums) - 1)) / len(values)
    return float(values.mean() / error)


def test_an_independence_an_edge_and_a_residual_by_hand() -> None:
    noise, labels = errors(np.random.default_rng(6), 14, 8, 2)
    x, y = (noise - noise.mean(axis=0)).T
    fit = ht.fit("observed x, y", {"x": x, "y": y}, cluster=labels)
    t = by_hand(x * y, labels)
    (test,) = constraint_tests(fit)
    assert (test.test, test.df) == ("robust t", 13)
    assert test.statistic == pytest.approx(t)
    for edge in modifications(fit):
        assert edge.test == "robust score"
        assert edge.mi == pytest.approx(t**2)
        assert edge.p == pytest.approx(test.p)
    (residual,) = residuals(fit)
    assert residual.test == "robust t"
    assert (residual.z, residual.p) == pytest.approx((t, test.p))


def test_a_partial_correlation_by_hand() -> None:
    fit = heavy(7)
    X = {v: fit.rows.source[v] - fit.rows.source[v].mean() for v in "abc"}  # type: ignore[union-attr]
    left = [X[v] - X["b"] * (X[v] @ X["b"]) / (X["b"] @ X["b"]) for v in "ac"]
    rows = {r.constraint: r for r in constraint_tests(fit, robust=True)}
    assert rows["a independent of c given b"].statistic == pytest.approx(by_hand(left[0] * left[1], np.arange(300)))


def test_a_tetrad_by_hand() -> None:
    """``r_ac r_bd - r_ad r_bc`` of standardised rows, to first order."""
    rng = np.random.default_rng(8)
    X = rng.normal(size=(400, 4)) + rng.normal(size=(400, 1)) * [0.9, 0.8, 0.7, 0.6]
    fit = ht.fit(FACTOR, dict(zip("abcd", X.T, strict=True)))
    row = next(r for r in constraint_tests(fit, robust=True) if r.kind == "tetrad")
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    R = Z.T @ Z / 400
    (i, k), (j, m) = (["abcd".index(v) for v in part[4:-1].split(", ")] for part in tetrad_parts(row.constraint))
    n, q = k, m  # cov(i, k) cov(j, m) = cov(i, m) cov(j, k)
    first = R[j, q] * Z[:, i] * Z[:, n] + R[i, n] * Z[:, j] * Z[:, q]
    second = R[j, n] * Z[:, i] * Z[:, q] + R[i, q] * Z[:, j] * Z[:, n]
    moved = first - second - (first - second).mean()
    error = np.sqrt((moved**2).sum() / 399 / 400)
    assert row.estimate == pytest.approx(R[i, n] * R[j, q] - R[i, q] * R[j, n])
    assert row.statistic == pytest.approx(row.estimate / error)


def tetrad_parts(text: str) -> list[str]:
    left = text.split(" = ")[0]
    return [left[: left.index(")") + 1], left[left.index(")") + 2 :]]


# -- what is said, and what is refused ------------------------------------------------------------


def test_clusters_count_by_default_and_say_so() -> None:
    fit = clustered(1)
    found, plain = fit.measures(), fit.measures(robust=False)
    assert plain["pvalue"] == measures(fit).pvalue
    assert plain["test"] == "likelihood ratio, for independent and normal rows"
    assert found["test"] == "likelihood ratio, scaled by the spread over 60 clusters"
    assert found["pvalue"] == pytest.approx(fit.measures(robust=True)["pvalue_robust"])
    assert found["chi2"] < plain["chi2"] / 2.0
    assert found["cfi"] == pytest.approx(fit.measures(robust="satorra-bentler")["cfi_robust"])
    assert found["rmsea"] == pytest.approx(fit.measures(robust="satorra-bentler")["rmsea_robust"])
    assert set(fit.tests()["test"]) == {"robust t", "RESET"}
    assert set(fit.tests(robust=False)["test"]) == {"t", "RESET"}
    assert set(fit.modifications()["test"]) == {"robust score"}
    assert set(fit.residuals()["test"]) == {"robust t"}
    assert set(fit.tests("b ~> e")["test"]) == {"robust t"}
    compared = ht.compare({"small": fit, "large": clustered(1, graph=LARGER)})
    assert compared.nested[0].test == "robust"
    assert any("clusters" in w for w in compared.warnings)
    assert "spread over independent units" in str(compared)


def test_rows_without_clusters_keep_their_tests() -> None:
    fit = heavy(1)
    assert set(fit.tests()["test"]) == {"t", "RESET"}
    assert set(fit.modifications()["test"]) == {"score"}
    assert fit.measures()["pvalue"] == measures(fit).pvalue
    assert set(fit.tests(robust=True)["test"]) == {"robust t", "RESET"}


def test_graphs_are_fitted_with_clusters_where_asked_for() -> None:
    noise, labels = errors(np.random.default_rng(9), 30, 10, 6)
    found = ht.compare({"small": CHAIN, "large": LARGER}, chain(noise), cluster=labels)
    assert found.nested[0].test == "robust"
    mixed = {"small": ht.fit(CHAIN, chain(noise)), "large": ht.fit(LARGER, chain(noise), cluster=labels)}
    assert ht.compare(mixed).nested[0].p == pytest.approx(found.nested[0].p, rel=1e-6)
    with pytest.raises(InputError, match="fits already"):
        ht.compare(mixed, cluster=labels)


def test_rows_are_needed_and_a_fit_without_them_says_so(tmp_path: Path) -> None:
    moments = ht.fit(CHAIN, heavy(1).moments)
    for check in (moments.tests, moments.modifications, moments.residuals, moments.measures):
        with pytest.raises(InputError, match="needs the rows"):
            check(robust=True)
    clustered(1, 10, 10).save(tmp_path / "fit.json")
    loaded = ht.load(tmp_path / "fit.json")
    with pytest.warns(UserWarning, match="treats rows as independent"):
        tests = loaded.tests()
    assert set(tests["test"][tests["kind"] == "independence"]) == {"t"}
    assert "not saved with this fit" in tests["verdict"].iloc[-1]  # the lines, which need rows


# -- sizes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["clusters", "few clusters", "t5"])
def test_true_models_are_rejected_as_often_as_promised(kind: str) -> None:
    """Fixed samples: where rows are taken for independent and normal, true models fall by the dozen."""
    draws = 70
    family, overall, nested, plain = [], [], [], []
    for seed in range(draws):
        size = (60, 20) if kind == "clusters" else (12, 20)
        small, large = (
            heavy(seed, graph=g) if kind == "t5" else clustered(seed, *size, graph=g) for g in (CHAIN, LARGER)
        )
        family.append(holm(np.array([r.p for r in constraint_tests(small, robust=True)])).min())
        overall.append(measures_by_units(small)[0].pvalue)
        found = ratio_mixture(small, large)
        assert found is not None
        nested.append(found.p(max(0.0, 2.0 * (large.loglik - small.loglik))))
        plain.append(measures(small).pvalue)
    most = 0.05 + 3.0 * np.sqrt(0.05 * 0.95 / draws)
    for p in (family, overall, nested):
        assert (np.array(p) < 0.05).mean() <= most
        assert np.median(floats(p)) < 0.9  # and the test is one
    assert (np.array(plain) < 0.05).mean() > 0.25


def test_a_false_restriction_is_found_in_clusters() -> None:
    """The graph lacks the hidden cause of b and d."""
    graph = "a -> b -> c -> d -> e; a -> d"
    assert max(min(r.p for r in constraint_tests(clustered(seed, graph=graph))) for seed in range(5)) < 0.01


def test_lines_of_one_pass_are_in_order() -> None:
    """Edges are listed by their index, whatever the order in which they are freed."""
    index = [row.mi for row in modifications(clustered(2, 20, 10))]
    assert all(a >= b - 1e-9 for a, b in pairwise(index))


def test_the_judge_of_answers_counts_clusters_too() -> None:
    """A true graph is called contradicted in few samples, and its answers in clusters are not doubted for it."""
    wrong = sum(bool((found := misfit(clustered(seed))) and found.rejected) for seed in range(40))
    assert wrong <= 3
    plain = sum(there(measures(clustered(seed)).pvalue) < 0.01 for seed in range(40))
    assert plain > 15
