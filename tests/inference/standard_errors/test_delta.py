"""Standard errors against dense information matrices, other programs, and simulation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings

import halftrek as ht
from halftrek.data import Moments
from halftrek.estimation import fit, fit_batch
from halftrek.graphs import Graph
from halftrek.inference import district_information, standard_errors
from halftrek.inference.information.information import Kind
from halftrek.inference.standard_errors.delta import gradient_variances
from halftrek.models import CGLSCM
from halftrek.queries import DirectEffect, Distribution, ErrorCovariance, Query, TotalEffect, evaluate
from halftrek.queries.gradients import linearize
from tests.estimation.strategies import dense_loglik, models
from tests.estimation.test_reference import load, moments_of
from tests.narrow import normal, se_of, some


def dense_parameters(model: CGLSCM) -> list[tuple[str, int, int]]:
    """Free parameters of a bow-free model in (T, Omega, m): edges, error covariances, variances, means."""
    p = len(model.names)
    edges = [("T", int(i), int(j)) for i, j in np.argwhere(model.T != 0)]
    arcs = [("W", int(i), int(j)) for i, j in np.argwhere(np.tril(model.omega, -1) != 0)]
    return edges + arcs + [("W", j, j) for j in range(p)] + [("m", j, j) for j in range(p)]


def moved(model: CGLSCM, key: tuple[str, int, int], step: float) -> CGLSCM:
    T, omega, mean = model.T.copy(), model.omega.copy(), model.mean.copy()
    kind, i, j = key
    if kind == "T":
        T[i, j] += step
    elif kind == "W":
        omega[i, j] += step
        omega[j, i] = omega[i, j]
    else:
        mean[i] += step
    return CGLSCM(model.names, T, np.zeros((0, len(mean))), mean - mean @ T, omega)


def dense_information(model: CGLSCM) -> np.ndarray:
    """½ tr(Σ⁻¹ dΣ Σ⁻¹ dΣ) + dμ' Σ⁻¹ dμ over all parameters at once, derivatives by central differences."""
    keys, h = dense_parameters(model), 1e-5
    K = np.linalg.inv(model.cov)
    d_cov = [(moved(model, k, h).cov - moved(model, k, -h).cov) / (2 * h) for k in keys]
    d_mean = [(moved(model, k, h).mean - moved(model, k, -h).mean) / (2 * h) for k in keys]
    return np.array(
        [
            [0.5 * np.trace(K @ a @ K @ b) + x @ K @ y for b, y in zip(d_cov, d_mean, strict=True)]
            for a, x in zip(d_cov, d_mean, strict=True)
        ]
    )


@given(model=models(most=4))
@settings(max_examples=25, deadline=None, derandomize=True)
def test_expected_information_by_district_is_the_dense_one(model: CGLSCM) -> None:
    n = 700
    data = Moments(model.names, n, np.array(model.mean), np.array(model.cov))
    found = fit(model.graph, data)
    covariance = np.linalg.inv(dense_information(model)) / n
    keys = dense_parameters(model)
    names = model.names
    for query in (TotalEffect(names[0], names[1]), Distribution.after((names[1],), {names[0]: 1.3})):
        gradients = linearize(query, model)
        errors = np.concatenate(standard_errors(found, query))
        for g, error in zip((*gradients.values, *gradients.variances), errors, strict=True):
            parts = {"T": g.T, "W": g.omega + g.omega.T - np.diag(np.diag(g.omega)), "m": np.diag(g.mean)}
            slope = np.array([parts[kind][i, j] for kind, i, j in keys])
            assert error == pytest.approx(np.sqrt(slope @ covariance @ slope), rel=1e-4, abs=1e-9)


@given(model=models(most=4))
@settings(max_examples=15, deadline=None, derandomize=True)
def test_observed_information_is_the_hessian_of_the_likelihood(model: CGLSCM) -> None:
    n = 300
    X = np.asarray(model.sample(n, random_state=0))
    data = Moments(model.names, n, X.mean(axis=0), np.cov(X.T, ddof=0))
    found = fit(model.graph, data)
    assume(found.converged)
    assume(found.status.code == "converged")
    base, h = found.model, 1e-4
    keys = [k for k in dense_parameters(model) if k[0] != "m"]

    def at(steps: dict[tuple[str, int, int], float]) -> float:
        point = CGLSCM(base.names, base.T, np.zeros((0, len(base.names))), base.mu, base.omega)
        for key, step in steps.items():
            point = moved(point, key, step)
        return dense_loglik(point, n, data.mean, data.cov)

    H = np.zeros((len(keys), len(keys)))
    for a, k in enumerate(keys):
        for b, m in enumerate(keys):
            if a == b:
                H[a, a] = (at({k: h}) - 2 * at({}) + at({k: -h})) / h**2
            else:
                H[a, b] = (at({k: h, m: h}) - at({k: h, m: -h}) - at({k: -h, m: h}) + at({k: -h, m: -h})) / (4 * h * h)
    covariance = np.linalg.inv(-H)
    for u, v in model.graph.directed:
        i, j = base.names.index(u), base.names.index(v)
        error = standard_errors(found, DirectEffect(u, v), information="observed")[0][0]
        at_edge = keys.index(("T", i, j))
        assert error == pytest.approx(np.sqrt(covariance[at_edge, at_edge]), rel=2e-3)


def test_an_unidentified_corner_does_not_spoil_the_rest() -> None:
    arrows = [("x", "m"), ("m", "y"), ("a", "b")]
    graph = Graph(arrows, [("x", "y"), ("a", "b")])
    T = np.zeros((5, 5))
    T[0, 1], T[1, 2], T[3, 4] = 0.7, 0.5, 0.4
    model = CGLSCM.from_parameters(
        names=["x", "m", "y", "a", "b"], T=T, omega={("x", "y"): 0.4, ("a", "b"): 0.3}, graph=graph
    )
    data = Moments(model.names, 500, model.mean, model.cov)
    both = standard_errors(fit(graph, data), TotalEffect("x", "y"))[0][0]
    part = graph.induced(["x", "m", "y"])
    alone = standard_errors(fit(part, data.select(part.observed)), TotalEffect("x", "y"))[0][0]
    assert both == pytest.approx(alone, rel=1e-9)
    assert np.isnan(standard_errors(fit(graph, data), TotalEffect("a", "b"))[0][0])


def test_intervals_cover_in_simulation() -> None:
    """Front door, n = 400, 1,500 samples: the delta interval holds the truth about 95 times in 100."""
    T = np.zeros((3, 3))
    T[0, 1], T[1, 2] = 0.6, 0.5
    model = CGLSCM.from_parameters(names=["x", "m", "y"], T=T, omega={("x", "y"): 0.5}, mu=[1, 0, 2])
    n, reps = 400, 1500
    rng = np.random.default_rng(3)
    sets = []
    for _ in range(reps):
        X = np.asarray(model.sample(n, random_state=rng))
        sets.append(Moments(model.names, n, X.mean(axis=0), np.cov(X.T, ddof=0)))
    batch = fit_batch(model.graph, sets)
    query = Distribution.after(("y",), {"x": 1.5})
    truth = normal(evaluate(query, model))
    hits = 0
    for i in range(0, reps, 3):
        one = fit(model.graph, sets[i])
        error = standard_errors(one, query)[0][0]
        hits += abs(normal(evaluate(query, one.model)).mean[0] - truth.mean[0]) < 1.959964 * error
    assert abs(hits / (reps / 3) - 0.95) < 3.5 * np.sqrt(0.95 * 0.05 / (reps / 3))
    spread = batch.total_effect("x", "y").std()
    population = fit(model.graph, Moments(model.names, n, model.mean, model.cov))
    assert standard_errors(population, TotalEffect("x", "y"))[0][0] == pytest.approx(spread, rel=0.08)


def test_fixed_intercepts_change_the_error_of_a_mean() -> None:
    model = CGLSCM.from_parameters(names=["x", "y"], T=[[0, 0.5], [0.0, 0.0]], mu=[2.0, 1.0])
    data = Moments(model.names, 100, model.mean, model.cov)
    query = Distribution.after(("y",), {"x": 2.0})
    free = standard_errors(fit(model.graph, data), query)[0][0]
    known = standard_errors(fit(model.graph, data, intercepts={"y": 1.0}), query)[0][0]
    assert free == pytest.approx(np.sqrt(1 / 100))  # at the mean of x: sd / sqrt(n)
    assert known == pytest.approx(2.0 * np.sqrt(1 / (100 * 5.0)))  # slope through the origin: x² / (n E[x²])


def test_equal_labels_share_their_information() -> None:
    model = CGLSCM.from_parameters(names=["a", "b", "c"], T=[[0, 0.6, 0], [0, 0, 0.6], [0.0, 0.0, 0.0]])
    data = Moments(model.names, 400, model.mean, model.cov)
    tied = fit(model.graph, data, coefficients={"a -> b": "k", "b -> c": "k"})
    error = standard_errors(tied, DirectEffect("a", "b"))[0][0]
    information = 400 * (model.cov[0, 0] + model.cov[1, 1])
    assert error == pytest.approx(1 / np.sqrt(information))
    assert standard_errors(tied, DirectEffect("b", "c"))[0][0] == pytest.approx(error)


def test_error_covariance_has_an_error() -> None:
    model = CGLSCM.from_parameters(names=["x", "y"], T=np.zeros((2, 2)), omega={("x", "y"): 0.4})
    data = Moments(model.names, 250, model.mean, model.cov)
    error = standard_errors(fit(model.graph, data), ErrorCovariance("x", "y"))[0][0]
    assert error == pytest.approx(np.sqrt((1 + 0.4**2) / 250))


@pytest.mark.parametrize(
    "name", ["s03_admg_bowfree", "s05_frontdoor_saturated", "s14_kerchoff_recursive", "s17_mediation_simple"]
)
def test_errors_equal_lavaan(name: str) -> None:
    case = load(name)
    found = fit(case["graph"], moments_of(case))
    kinds: list[tuple[Kind, list[dict[str, Any]]]] = [
        ("expected", case["parameters"]),
        ("observed", case.get("observed", [])),
    ]
    query: Query
    compared = 0
    for kind, rows in kinds:
        for row in rows:
            if row["op"] == "~":
                query = DirectEffect(row["rhs"], row["lhs"])
            elif row["op"] == "~~" and row["lhs"] != row["rhs"]:
                query = ErrorCovariance(row["lhs"], row["rhs"])
            else:
                continue
            assert standard_errors(found, query, information=kind)[0][0] == pytest.approx(row["se"], rel=1e-3), row
            compared += 1
    assert compared >= len(case["graph"].directed)
    for effect in some(case["effects"]):
        query = TotalEffect(effect["treatment"], effect["outcome"])
        assert standard_errors(found, query)[0][0] == pytest.approx(effect["se"], rel=1e-3)


@pytest.mark.parametrize("name", ["iv01_card_justid", "iv04_mroz_justid"])
def test_observed_errors_equal_liml(name: str) -> None:
    case = load(name)
    found = fit(case["graph"], moments_of(case))
    query = DirectEffect(case["treatment"], case["outcome"])
    error = standard_errors(found, query, information="observed")[0][0]
    assert error == pytest.approx(case["liml_se"][case["treatment"]], rel=1e-3)


@given(model=models(most=5, bows=True))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_the_short_way_of_plain_districts_is_the_long_one(model: CGLSCM) -> None:
    data = Moments(model.names, 300, np.array(model.mean), np.array(model.cov))
    found = fit(model.graph, data)
    cause, effect = model.names[0], model.names[-1]
    gradients = [
        g
        for q in (TotalEffect(cause, effect), Distribution.after((effect,), {cause: 1.0}))
        for g in (*linearize(q, found.model).values, *linearize(q, found.model).variances)
    ]
    blocks = list(district_information(found))
    long = np.array(
        [
            g.mean @ found.model.cov @ g.mean + sum(b.spread(b.pull(g, np.zeros(len(g.mean)))) for b in blocks)
            for g in gradients
        ]
    )
    np.testing.assert_allclose(gradient_variances(found, gradients, "expected"), long, rtol=1e-6, atol=1e-12)


def test_means_move_with_the_intercepts_of_their_causes_where_one_is_fixed() -> None:
    """An unrelated fixed intercept leaves the mean of y what it is: the sample mean."""
    rng = np.random.default_rng(0)
    x = 1.0 + rng.normal(size=500)
    m = 0.8 * x + rng.normal(size=500)
    y = 0.8 * x + 0.7 * m + rng.normal(size=500)
    data = {"x": x, "m": m, "y": y, "w": rng.normal(size=500)}
    found = ht.fit("x -> m -> y; x -> y; observed w", data, intercepts={"w": 0})
    assert found.query("E[y]").se == pytest.approx(y.std() / np.sqrt(500), rel=1e-9)
    moments = {k: ht.moments({v: a[k::2] for v, a in data.items()}) for k in (0, 1)}
    groups = ht.fit_groups("x -> m -> y; x -> y; observed w", moments, intercepts={"w": 0}).query("P(y)")
    alone = [se_of(ht.fit("y", {"y": y[k::2]}).query("E[y]")) for k in (0, 1)]
    np.testing.assert_allclose(np.asarray(groups["se"]), alone, rtol=1e-9)


def test_rounding_is_no_dependence_on_what_data_do_not_tell() -> None:
    """Beside an unidentified bow, a regression on its variables has the interval that the equivalent graph gives."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=300)
    m = 0.8 * x + rng.normal(size=300)
    data = {"x": x, "m": m, "y": 0.7 * m + rng.normal(size=300)}
    bow, plain = ht.fit("x -> m; x <-> m; m -> y", data), ht.fit("x <-> m; m -> y", data)
    for question in ("E[y | m=1]", "E[y | x=1, m=1]", "P(y > 1 | x=1, m=1)"):
        for interval in ("delta", "robust"):
            assert bow.query(question, interval=interval).se == pytest.approx(
                plain.query(question, interval=interval).se, rel=1e-6
            )
    assert ht.fit("m -> y; observed x", data).query("E[y_{x=1} | x=0, y=2]").se == 0.0
