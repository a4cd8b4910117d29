"""Fit measures against lavaan, and degrees of freedom by rank."""

from __future__ import annotations

import numpy as np
import pytest

from halftrek.estimation import fit
from halftrek.graph import Graph
from halftrek.inference.measures import measures
from halftrek.model import CGLSCM
from halftrek.moments import Moments
from tests.estimation.test_reference import load, moments_of

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
def test_measures_equal_lavaan(name):
    case = load(name)
    found = measures(fit(case["graph"], moments_of(case))).to_dict()
    for ours, theirs in SAME.items():
        expected = case["fit"][theirs]
        assert (found[ours] is None) == (expected is None)
        if expected is not None:
            assert found[ours] == pytest.approx(expected, abs=1e-4), ours


def test_degrees_of_freedom_count_the_rank_not_the_parameters():
    """A bow adds two parameters and no information beyond one covariance: saturated, not negative."""
    model = CGLSCM.from_parameters(names=["x", "y"], T=[[0, 0.5], [0, 0]], omega={("x", "y"): 0.3})
    found = measures(fit(model.graph, Moments(model.names, 100, model.mean, model.cov)))
    assert found.df == 0
    assert found.chi2 == pytest.approx(0, abs=1e-6)


def test_statistic_of_a_true_model_has_its_degrees_of_freedom_on_average():
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


def test_fixed_intercepts_are_tested_too():
    model = CGLSCM.from_parameters(names=["x", "y"], T=[[0, 0.5], [0, 0]], mu=[1.0, 2.0])
    data = Moments(model.names, 200, model.mean, model.cov)
    right = measures(fit(model.graph, data, intercepts={"y": 2.0}))
    assert right.df == 1
    assert right.chi2 == pytest.approx(0, abs=1e-8)
    assert measures(fit(model.graph, data, intercepts={"y": 1.5})).chi2 > 10
