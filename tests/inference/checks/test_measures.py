"""Fit measures against lavaan, and degrees of freedom by rank."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import halftrek as ht
from halftrek.data import Moments
from halftrek.estimation import fit
from halftrek.estimation.given.options import resolve_options
from halftrek.estimation.space import make_space
from halftrek.graphs import Graph
from halftrek.inference.checks.measures import measures
from halftrek.inference.information.dimension import district_dimension, exact_dimension, random_fit
from halftrek.models import CGLSCM
from halftrek.simulation import random_graph, random_model
from tests.estimation.test_reference import CASES, load, moments_of

SAME = {
    "parameters": "npar",
    "df": "df",
    "chi2": "chisq",
    "pvalue": "pvalue",
    "baseline_chi2": "baseline_chisq",
    "baseline_df": "baseline_df",
    "cfi": "cfi",
    "tli": "tli",
    "rmsea": "rmsea",
    "rmsea_low": "rmsea_ci_lower",
    "rmsea_high": "rmsea_ci_upper",
    "srmr": "srmr",
    "aic": "aic",
    "bic": "bic",
    "saturated_loglik": "unrestricted_logl",
}


@pytest.mark.parametrize(
    "name", ["s03_admg_bowfree", "s05_frontdoor_saturated", "s14_kerchoff_recursive", "s17_mediation_simple"]
)
def test_measures_equal_lavaan(name: str) -> None:
    case = load(name)
    found = measures(fit(case["graph"], moments_of(case))).to_dict()
    for ours, theirs in SAME.items():
        expected = case["fit"][theirs]
        assert (found[ours] is None) == (expected is None)
        if expected is not None:
            assert found[ours] == pytest.approx(expected, abs=1e-4), ours


def test_degrees_of_freedom_count_the_rank_not_the_parameters() -> None:
    """A bow adds two parameters and no information beyond one covariance: saturated, not negative."""
    model = CGLSCM.from_parameters(names=["x", "y"], T=[[0, 0.5], [0.0, 0.0]], omega={("x", "y"): 0.3})
    found = measures(fit(model.graph, Moments(model.names, 100, model.mean, model.cov)))
    assert found.df == 0
    assert found.chi2 == pytest.approx(0, abs=1e-6)


def test_statistic_of_a_true_model_has_its_degrees_of_freedom_on_average() -> None:
    """Verma's graph has one constraint that is no independence."""
    graph = Graph([("a", "b"), ("b", "c"), ("c", "d")], [("b", "d")])
    T = np.diag([0.8, 0.7, 0.6], 1)
    model = CGLSCM.from_parameters(names=list("abcd"), T=T, omega={("b", "d"): 0.4}, graph=graph)
    rng = np.random.default_rng(0)
    values = []
    for _ in range(300):
        X = np.asarray(model.sample(500, random_state=rng))
        one = measures(fit(graph, Moments(model.names, 500, X.mean(axis=0), np.cov(X.T, ddof=0))))
        values.append(one.chi2)
    df = one.df
    assert df == 2
    assert np.mean(values) == pytest.approx(df, abs=4 * np.sqrt(2 * df / 300))


def test_fixed_intercepts_are_tested_too() -> None:
    model = CGLSCM.from_parameters(names=["x", "y"], T=[[0, 0.5], [0.0, 0.0]], mu=[1.0, 2.0])
    data = Moments(model.names, 200, model.mean, model.cov)
    right = measures(fit(model.graph, data, intercepts={"y": 2.0}))
    assert right.df == 1
    assert right.chi2 == pytest.approx(0, abs=1e-8)
    assert measures(fit(model.graph, data, intercepts={"y": 1.5})).chi2 > 10


def test_residuals_are_averaged_over_what_there_is() -> None:
    """lavaan's two: with the means among the residuals, and without; a covariance alone has no means to count."""
    expected = json.loads((CASES.parent / "checks.json").read_text())["srmr"]
    rows = pd.read_csv(CASES / "s03_admg_bowfree.csv")
    graph = "x1 -> y1; x1 -> y2; y1 -> y5; x1 -> y5; y2 -> y6; x1 -> y6; y1 <-> y2; y5 <-> y6"
    found = ht.fit(graph, rows).measures()
    assert found["srmr"] == pytest.approx(expected["means"], rel=1e-5)
    assert found["srmr_no_mean"] == pytest.approx(expected["no means"], rel=1e-5)
    alone = ht.fit(graph, cov=rows.cov(), n=75).measures()
    assert alone["srmr"] == alone["srmr_no_mean"] == pytest.approx(expected["covariance"], rel=1e-5)


# -- how many parameters data determine -----------------------------------------------------------


@pytest.mark.parametrize("n", [4, 5, 6, 20])
def test_degrees_of_freedom_do_not_depend_on_the_number_of_rows(n: int) -> None:
    """With few rows estimates run far, and the information at them looks singular."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        z, u = rng.normal(size=(2, n))
        x = z + u + rng.normal(size=n)
        found = ht.fit("z -> x -> y; x <-> y", {"z": z, "x": x, "y": x + u + rng.normal(size=n)}).measures()
        assert found["df"] == 0
        assert found["pvalue"] is None


def test_an_instrument_without_strength_has_no_degree_of_freedom_either() -> None:
    """Exactly uncorrelated with what it should move: the information is singular there, the model is not."""
    cov = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.5], [0.0, 0.5, 2.0]])
    assert measures(fit(ht.graph("z -> x -> y; x <-> y"), Moments(("z", "x", "y"), 500, np.zeros(3), cov))).df == 0


@settings(max_examples=40, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10_000), latents=st.integers(0, 2), held=st.booleans(), label=st.booleans())
def test_told_parameters_are_the_rank_of_the_derivatives_at_a_random_point(
    seed: int, latents: int, held: bool, label: bool
) -> None:
    graph = random_graph(6, n_edges=7, n_bidirected=3, n_latents=latents, latent_children=(2, 4), random_state=seed)
    if label:
        keys = [f"{u} -> {v}" for u, v in graph.directed[:2]]
        graph = Graph(graph.directed, graph.bidirected, graph.latents, graph.observed, dict.fromkeys(keys, "k"))
    options = resolve_options(graph, {graph.observed[0]: 1.0} if held else "free", "free")
    one, point = random_fit(graph, options, 3), random_fit(graph, options, 5).model
    space = make_space(graph, point.names, options)
    dcov = space.jacobian(space.vector(point))[1]
    mine = np.setdiff1d(np.arange(space.size), space.mu_at[:, 2])
    upper = np.triu_indices(len(point.names))
    values = np.linalg.svd(dcov[mine][:, upper[0], upper[1]], compute_uv=False)
    assert district_dimension(one) == int((values > 1e-9 * values[0]).sum())


@pytest.mark.parametrize(
    "text", ["{a, b, c} -> y; {a, b, c} <-> {a, b, c}", "a <-> b; b <-> c; a -> c; c -> y; a <-> y"]
)
def test_parameters_of_causes_that_all_covary_are_counted_without_their_information(text: str) -> None:
    graph = ht.graph(text)
    model = random_model(graph, random_state=1)
    fit = ht.fit(graph, cov=model.cov, n=500, names=list(model.names))
    assert district_dimension(fit) == exact_dimension(graph)


def test_hundreds_of_causes_that_all_covary_are_no_burden() -> None:
    names = [f"x{i}" for i in range(150)]
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 150))
    data = dict(zip(names, X.T, strict=True)) | {"y": X @ np.linspace(-0.5, 0.5, 150) + rng.normal(size=1000)}
    fit = ht.fit(f"y ~ {' + '.join(names)}", data)
    assert district_dimension(fit) == 151 * 152 // 2
    slope, *_ = np.linalg.lstsq(np.column_stack([X, np.ones(1000)]), data["y"], rcond=None)
    assert fit.query("x0 ~> y").value == pytest.approx(slope[0], abs=1e-8)
