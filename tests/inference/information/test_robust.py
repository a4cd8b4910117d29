"""Sandwich errors against lavaan, against scores by numerical differentiation, and against refits."""

from __future__ import annotations

import json
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest

import halftrek as ht
from halftrek.bottom.choices import RobustTest
from halftrek.errors import DataError, InputError
from halftrek.estimation.space import make_space
from halftrek.inference import robust_errors, robust_measures
from halftrek.inference.information.influence import influence
from halftrek.inference.information.information import solved
from halftrek.queries import Distribution, ErrorCovariance, Query, TotalEffect, evaluate
from halftrek.queries.gradients import linearize
from halftrek.results.fit import Fit
from tests.estimation.test_reference import CASES, load
from tests.narrow import normal, some, wrong

REFERENCE: dict[str, Any] = json.loads((CASES.parent / "robust.json").read_text())
S03 = pd.read_csv(CASES / "s03_admg_bowfree.csv")
GRAPH = "x1 -> y1; x1 -> y2; y1 -> y5; x1 -> y5; y2 -> y6; x1 -> y6; y1 <-> y2; y5 <-> y6"


def fitted(name: str) -> Fit:
    if name == "s17":
        return ht.fit(load("s17_mediation_simple")["graph"], pd.read_csv(CASES / "s17_mediation_simple.csv"))
    if name == "cluster":
        return ht.fit(GRAPH, S03.assign(school=[f"s{k // 5}" for k in range(75)]), cluster="school")
    if name == "tied":
        equal: dict[str, float | str] = {"x1 -> y1": "a", "x1 -> y2": "a", "x1 -> y5": 1.0}
        return ht.fit(GRAPH, S03, coefficients=equal, intercepts={"y1": 0.0})
    return ht.fit("latent f; f -> {y1, y2, y5, y6}" if name == "factor" else GRAPH, S03)


@pytest.mark.parametrize("name", ["s03", "s17", "cluster", "tied", "factor"])
def test_errors_of_parameters_equal_lavaan(name: str) -> None:
    table = fitted(name).params(interval="robust")
    rows = {(r.op, frozenset((r.lhs, r.rhs))): r for r in table.itertuples()}
    for lhs, op, rhs, se in REFERENCE["errors"][name]:
        assert rows[op, frozenset((lhs, rhs))].se == pytest.approx(se, rel=1e-5)


def test_total_effects_equal_lavaan() -> None:
    found = fitted("s03")
    assert found.query("x1 ~> y5", interval="robust").se == pytest.approx(0.3190652183242, rel=1e-5)
    assert found.query("x1 ~> y6", interval="robust").se == pytest.approx(0.557058754368556, rel=1e-5)
    assert found.query("x1 ~> y6", interval="delta").se == pytest.approx(0.500491463695846, rel=1e-5)


@pytest.mark.parametrize("case", sorted(REFERENCE["tests"]))
def test_scaled_tests_equal_lavaan(case: str) -> None:
    name, test = case.split()
    found = fitted(name).measures(robust=cast("RobustTest", test))
    for key, value in REFERENCE["tests"][case].items():
        assert found[key] == pytest.approx(value, rel=1e-4), key
    assert fitted(name).measures(robust=True)["robust_test"] == "yuan-bentler"


def test_nothing_is_scaled_without_degrees_of_freedom() -> None:
    found = fitted("s17").measures(robust=True)
    assert found["scaling"] is None
    assert found["cfi_robust"] is None
    assert "scaling" not in fitted("s17").measures()


# -- the textbook: scores of each row, second derivatives, all parameters at once -----------------

X = np.random.default_rng(8).standard_t(5, size=(400, 4)) @ np.array(
    [[1, 0.5, 0.3, 0.2], [0, 1, 0.4, 0.3], [0, 0, 1, 0.5], [0, 0, 0, 1]]
) + [1.0, 0.5, -0.2, 0.3]
DATA = pd.DataFrame(X, columns=list("abcd"))
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "napkin": ("a -> b -> c -> d; a <-> c; a <-> d", {}),
    "hidden": ("latent U, V; a -> b -> c -> d; U -> {a, c}; V -> {a, d}", {}),
    "factor": ("latent F; F -> {a, b, c, d}", {}),
    "held": ("a -> b -> c -> d; a -> d; b <-> d", {"noise": {"c": 1.5}, "intercepts": {"b": 0.1, "d": 0.0}}),
    "equal": ("a -> b -> c -> d; b <-> d; a <-> c", {"coefficients": {"a -> b": "k", "c -> d": "k"}}),
}
QUERIES: list[Query] = [
    TotalEffect("b", "d"),
    Distribution.after(("d",), {"b": 0.7}),
    Distribution.after(("c",), {"a": 1.0}, {"b": 0.4}),
]
SEEN = Distribution.after(("d",), {}, {"b": 0.4})  # of a factor's indicators only what is seen can be asked


def textbook(found: Fit, query: Any, clusters: Any = None, weights: Any = 1.0) -> np.ndarray:
    """``g' H^-1 (sum of squared scores) H^-1 g`` with derivatives of the log-likelihood of rows by differences."""
    space = make_space(found.graph, found.model.names, found.options)
    theta = space.vector(found.model)

    def row_logliks(at: np.ndarray) -> np.ndarray:
        mean, cov = space.moments(at)
        gap = X - mean
        return -0.5 * weights * (np.linalg.slogdet(cov)[1] + (gap @ np.linalg.inv(cov) * gap).sum(axis=1))

    def scores(at: np.ndarray) -> np.ndarray:
        steps = 1e-5 * np.eye(len(theta))
        return np.stack([(row_logliks(at + e) - row_logliks(at - e)) / 2e-5 for e in steps], axis=1)

    H = -np.stack(
        [(scores(theta + e).sum(axis=0) - scores(theta - e).sum(axis=0)) / 2e-4 for e in 1e-4 * np.eye(len(theta))]
    )
    rows = scores(theta)
    correction = 1.0
    if clusters is not None:
        rows = np.stack([rows[clusters == g].sum(axis=0) for g in np.unique(clusters)])
        correction = len(rows) / (len(rows) - 1.0)
    bread = np.linalg.pinv((H + H.T) / 2.0, rcond=1e-7, hermitian=True)
    covariance = correction * bread @ rows.T @ rows @ bread
    slopes = linearize(query, found.model)
    pulled = [space.pull(g, theta) for g in (*slopes.values, *slopes.variances)]
    return np.sqrt([g @ covariance @ g for g in pulled])


@pytest.mark.parametrize("name", sorted(MODELS))
def test_errors_equal_the_textbook(name: str) -> None:
    graph, options = MODELS[name]
    clusters = np.random.default_rng(3).integers(0, 30, len(X))
    plain = ht.fit(graph, DATA, **options)
    grouped = ht.fit(graph, DATA, cluster=[f"g{k}" for k in clusters], **options)
    for query in some([SEEN] if name == "factor" else QUERIES):
        np.testing.assert_allclose(np.concatenate(robust_errors(plain, query)), textbook(plain, query), rtol=2e-4)
        by_cluster = np.concatenate(robust_errors(grouped, query))
        np.testing.assert_allclose(by_cluster, textbook(grouped, query, clusters), rtol=2e-4)


@pytest.mark.parametrize("name", sorted(MODELS))
def test_what_a_row_contributes_is_what_more_of_it_does(name: str) -> None:
    graph, options = MODELS[name]
    found = ht.fit(graph, DATA, **options)
    query = SEEN if name == "factor" else QUERIES[1]
    slopes = linearize(query, found.model)
    forms = influence(found, (*slopes.values, *slopes.variances))
    values = forms.values(X - X.mean(axis=0), found.moments.cov)
    np.testing.assert_allclose(values.mean(axis=0), 0.0, atol=1e-9)
    for row in (0, 17, 230):
        moved = []
        for step in (1e-3, -1e-3):
            weights = np.ones(len(X))
            weights[row] += step
            result = normal(evaluate(query, ht.fit(graph, DATA, sampling_weights=weights, **options).model))
            moved.append(np.concatenate([result.mean, result.variance]))
        np.testing.assert_allclose(values[row], (moved[0] - moved[1]) / 2e-3 * len(X), rtol=1e-3, atol=1e-4)


def test_moments_of_forms_under_normal_rows() -> None:
    found = ht.fit(MODELS["napkin"][0], DATA)
    slopes = linearize(QUERIES[1], found.model)
    forms = influence(found, (*slopes.values, *slopes.variances))
    rows = np.random.default_rng(0).multivariate_normal(np.zeros(4), found.model.cov, 400_000)
    values = forms.values(rows, found.model.cov)
    variance, third = forms.normal_moments(found.model.cov)
    np.testing.assert_allclose(variance, values.var(axis=0), rtol=0.02)
    skew = third / variance**1.5
    np.testing.assert_allclose(skew, (values**3).mean(axis=0) / variance**1.5, atol=0.05)
    assert abs(skew[1]) > 0.5  # a variance is skewed


def test_one_unidentified_corner_does_not_spoil_the_rest() -> None:
    rng = np.random.default_rng(4)
    more = DATA.assign(e=rng.normal(size=400), f=rng.normal(size=400))
    alone = ht.fit(MODELS["napkin"][0], DATA)
    beside = ht.fit(MODELS["napkin"][0] + "; e -> f; e <-> f", more)
    question = "P(d | do(c=1))"
    assert beside.query(question, interval="robust").se == pytest.approx(
        alone.query(question, interval="robust").se, rel=1e-6
    )
    assert np.isnan(robust_errors(beside, TotalEffect("e", "f"))[0]).all()
    assert np.isnan(robust_errors(beside, ErrorCovariance("e", "f"))[0]).all()
    table = beside.params(interval="robust").set_index(["lhs", "op", "rhs"])
    assert table.loc[("f", "~", "e"), "note"] == "not determined by data"
    assert np.isfinite(table.loc[("d", "~", "c"), "se"])


def test_weights_count_rows() -> None:
    weights = np.random.default_rng(1).integers(0, 4, len(DATA))
    repeated = DATA.loc[np.repeat(np.arange(len(DATA)), weights)]
    every: tuple[dict[str, Any], ...] = ({}, {"cluster": "g"})
    for options in every:
        groups = np.arange(len(DATA)) % 40
        one = ht.fit(MODELS["napkin"][0], DATA.assign(w=weights, g=groups), weights="w", **options)
        other = ht.fit(MODELS["napkin"][0], repeated.assign(g=np.repeat(groups, weights)), **options)
        mine, theirs = (np.concatenate(robust_errors(f, QUERIES[1])) for f in (one, other))
        np.testing.assert_allclose(mine, theirs, rtol=1e-6)
    assert robust_measures(one).scaling == pytest.approx(robust_measures(other).scaling, rel=1e-5)


def test_rows_are_asked_for_where_there_are_none() -> None:
    moments = ht.moments(DATA)
    found = ht.fit(MODELS["napkin"][0], moments)
    for ask in (
        lambda: found.query("c ~> d", interval="robust"),
        lambda: found.params(interval="robust"),
        lambda: found.measures(robust=True),
    ):
        with pytest.raises(InputError, match="needs the rows, and this fit was made from moments"):
            ask()
    with pytest.raises(DataError, match="cluster goes with rows"):
        ht.fit(MODELS["napkin"][0], moments, cluster="g")
    with pytest.raises(DataError, match="all rows are in one cluster"):
        robust_errors(ht.fit(MODELS["napkin"][0], DATA.assign(g=1), cluster="g"), QUERIES[0])
    with pytest.raises(InputError, match="interval='profile' is for one question at a time"):
        found.params(interval=wrong("profile"))


def test_scaled_tests_with_a_missing_value_are_near_those_without_its_row() -> None:
    """With missing values the test of Satorra and Bentler needs complete rows; see test_incomplete for the other."""
    incomplete = DATA.copy()
    incomplete.loc[3, "a"] = np.nan
    whole, found = (ht.fit(MODELS["napkin"][0], incomplete, missing=m) for m in ("drop", "fiml"))
    usual, here = whole.measures(robust=True), found.measures(robust=True)
    assert (usual["n"], here["n"]) == (399, 400)
    assert here["scaling"] == pytest.approx(usual["scaling"], rel=0.02)
    with pytest.raises(InputError, match="yuan-bentler"):
        robust_measures(found, "satorra-bentler")


def test_what_needs_a_direction_without_information_has_no_error() -> None:
    determined, flat = np.eye(3)[:, :2], np.eye(3)[:, 2:]
    matrix = np.diag([2.0, 4.0, 0.0])
    np.testing.assert_allclose(solved(matrix, determined, flat, np.array([1.0, 1.0, 0.0])), [0.5, 0.25, 0.0])
    assert np.isnan(solved(matrix, determined, flat, np.array([1.0, 1.0, 0.5]))).all()
    assert np.isnan(solved(np.diag([2.0, -4.0, 0.0]), determined, flat, np.array([1.0, 1.0, 0.0]))).all()
