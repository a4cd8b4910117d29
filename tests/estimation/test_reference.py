"""Fits against answers that other programs gave; the cases in tests/reference name program, version and source."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from halftrek.data import Moments
from halftrek.estimation import Fitted, fit
from halftrek.graphs import Graph

CASES = Path(__file__).parents[1] / "reference" / "cases"


def load(name: str) -> dict[str, Any]:
    case: dict[str, Any] = json.loads((CASES / f"{name}.json").read_text())
    case["graph"] = as_graph(case["graph"])
    return case


def as_graph(given: dict[str, Any]) -> Graph:
    latents = {u["name"]: u["children"] for u in given["latents"]}
    arcs = [*given["bidirected"], *given["exogenous_covariances"]]
    return Graph(given["directed"], arcs, latents, given["observed"])


def moments_of(case: dict[str, Any]) -> Moments:
    if "moments" in case:
        given = case["moments"]
        n, names = given["n"], tuple(given.get("variables", case["graph"].observed))
        scale = (n - 1) / n if "divisor" in given else 1.0  # published matrices divide by n - 1
        mean = np.array(given.get("mean", np.zeros(len(names))))
        return Moments(names, n, mean, np.array(given["covariance"]) * scale, has_mean="mean" in given)
    with (CASES / f"{case['case']}.csv").open() as file:
        rows = list(csv.DictReader(file))
    names = case["graph"].observed
    X = np.array([[float(row[v]) for v in names] for row in rows])
    return Moments(names, len(X), X.mean(axis=0), np.cov(X.T, ddof=0))


def estimate(found: Fitted, lhs: str, op: str, rhs: str) -> float | None:
    names = found.model.names
    i, j = names.index(lhs), names.index(rhs) if rhs in names else -1
    if op == "~":
        return float(found.model.T[j, i])
    if op == "~~":
        return float(found.model.omega[i, j])
    return float(found.model.mu[i]) if op == "~1" else None


@pytest.mark.parametrize(
    "name", ["s03_admg_bowfree", "s05_frontdoor_saturated", "s14_kerchoff_recursive", "s17_mediation_simple"]
)
def test_equals_lavaan(name: str) -> None:
    case = load(name)
    found = fit(case["graph"], moments_of(case))
    assert found.converged
    assert found.loglik == pytest.approx(case["logl"], abs=1e-6)
    for row in case["parameters"]:
        value = estimate(found, row["lhs"], row["op"], row["rhs"])
        if value is not None and not (row["op"] == "~1" and "moments" in case):
            assert value == pytest.approx(row["est"], rel=1e-4, abs=1e-6), row
    for effect in case["effects"]:
        total = found.model.total_effect(effect["treatment"], effect["outcome"])
        assert total == pytest.approx(effect["est"], rel=1e-5)


@pytest.mark.parametrize("name", ["iv01_card_justid", "iv04_mroz_justid"])
def test_instruments_equal_liml(name: str) -> None:
    case = load(name)
    found = fit(case["graph"], moments_of(case))
    assert found.converged
    names = found.model.names
    j = names.index(case["outcome"])
    for variable, value in case["liml"].items():
        if variable in names:
            assert found.model.T[names.index(variable), j] == pytest.approx(value, rel=1e-6, abs=1e-9)


def test_published_network_with_every_node_observed() -> None:
    case = load("ecoli70")
    lower = np.array(case["covariance"])
    data = Moments(case["graph"].observed, case["n"], np.array(case["mean"]), lower + np.tril(lower, -1).T)
    found = fit(case["graph"], data)
    assert found.loglik == pytest.approx(case["logl"], abs=1e-6)
    for effect in case["effects"]:
        total = found.model.total_effect(effect["treatment"], effect["outcome"])
        assert total == pytest.approx(effect["sample_dag_ml_total_effect"], rel=1e-8, abs=1e-10)


def test_published_network_with_three_hidden_nodes() -> None:
    case = load("ecoli70")
    graph = as_graph(case["hidden_graph"])
    lower = np.array(case["covariance"])
    data = Moments(case["graph"].observed, case["n"], np.array(case["mean"]), lower + np.tril(lower, -1).T)
    found = fit(graph, data)
    assert found.converged
    for effect in case["hidden_effects"]:
        total = found.model.total_effect(effect["treatment"], effect["outcome"])
        assert total == pytest.approx(effect["true_total_effect"], abs=0.25), effect


@pytest.mark.parametrize("name", ["f01_finite_to_one", "l01_two_proxies", "r004_linid"])
def test_population_moments_give_the_true_effect(name: str) -> None:
    case = load(name)
    data = Moments(
        case["graph"].observed, 500, np.array(case["population"]["mean"]), np.array(case["population"]["covariance"])
    )
    found = fit(case["graph"], data)
    query = case["query"]
    total = found.model.total_effect(query["treatment"], query["outcome"])
    values = [case["total_effect"], *([case["second_total_effect"]] if "second_total_effect" in case else [])]
    assert min(abs(total - v) for v in values) < 1e-8
    held = found.model.do({query["treatment"]: 1.0}).distribution(query["outcome"])
    if len(values) == 1:
        assert held.mean[0] == pytest.approx(case["do_treatment_1"]["outcome_mean"], abs=1e-8)
        assert held.cov[0, 0] == pytest.approx(case["do_treatment_1"]["outcome_variance"], abs=1e-8)


def sample_of(case: dict[str, Any]) -> Moments:
    given = case["sample"]
    return Moments(case["graph"].observed, given["n"], np.array(given["mean"]), np.array(given["covariance"]))


def test_likelihood_without_a_finite_maximum_warns_and_names_the_runaway() -> None:
    case = load("r004_linid")
    found = fit(case["graph"], sample_of(case))
    assert found.status.code == "no finite maximum"
    assert not found.converged
    assert "V1 -> V2" in str(found.status)
    assert np.isfinite(found.model.T).all()
    effect = found.model.total_effect(case["query"]["treatment"], case["query"]["outcome"])
    assert effect == pytest.approx(-0.548, abs=0.02)


def test_latent_with_two_proxies_is_not_a_clique_of_arcs() -> None:
    case = load("l01_two_proxies")
    found = fit(case["graph"], sample_of(case))
    assert found.converged
    assert found.model.total_effect("X", "Y") == pytest.approx(case["total_effect"], abs=0.2)
    assert fit(case["graph"].project(), sample_of(case)).status.code == "flat"
