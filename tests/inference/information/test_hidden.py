"""Errors, standardised values, measures and indices of models with hidden variables, against lavaan."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import halftrek as ht
from halftrek.inference.checks.edges.modification import modifications
from halftrek.inference.checks.measures import Measures, measures
from halftrek.inference.checks.residuals import explained, residuals
from halftrek.inference.tables.parameter import Parameter
from halftrek.inference.tables.parameters import parameter_rows
from halftrek.results.fit import Fit
from tests.estimation.test_hidden import HIDDEN, LAVAAN, ROWS, TEXTS

CASES = list(TEXTS)
NAMES = {
    "parameters": "npar", "chi2": "chisq", "df": "df", "pvalue": "pvalue", "baseline_chi2": "baseline.chisq",
    "baseline_df": "baseline.df", "cfi": "cfi", "tli": "tli", "loglik": "logl", "saturated_loglik": "unrestricted.logl",
    "aic": "aic", "bic": "bic", "rmsea": "rmsea", "rmsea_low": "rmsea.ci.lower", "rmsea_high": "rmsea.ci.upper",
    "srmr": "srmr", "srmr_no_mean": "srmr_bentler_nomean",
}  # fmt: skip


@cache
def fitted(case: str) -> Fit:
    found = ht.fit(TEXTS[case], HIDDEN / f"{ROWS.get(case, case)}.csv")
    assert isinstance(found, Fit)
    return found


def pairs(rows: list[Parameter], theirs: list[dict[str, Any]]) -> list[tuple[Parameter, dict[str, Any]]]:
    mine = {(r.lhs, r.op, r.rhs): r for r in rows}
    mine |= {(r.rhs, r.op, r.lhs): r for r in rows if r.op == "~~"}
    loadings = {(r.rhs, "~", r.lhs): r for r in rows if r.op == "=~"}
    second = {(r.rhs, "=~", r.lhs): r for r in rows if r.op == "~"}  # of second order
    found = []
    for one in theirs:
        key = (one["lhs"], one["op"], one["rhs"])
        row = mine.get(key) or loadings.get(key) or second.get(key)
        if row is None:
            assert key[1] == "~1" or one["se"] == 0.0, key
            continue
        found.append((row, one))
    return found


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("kind", ["expected", "observed", "robust"])
def test_standard_errors_are_lavaans(case: str, kind: str) -> None:
    fit = fitted(case)
    if kind == "robust":
        rows = parameter_rows(fit, interval="robust")
    else:
        rows = parameter_rows(fit, interval="delta", information=kind)  # type: ignore[arg-type]
    theirs = LAVAAN[case]["parameters" if kind == "expected" else kind]
    found = pairs(rows, theirs)
    assert len(found) >= len(theirs) - 5
    for mine, one in found:
        assert mine.se == pytest.approx(one["se"], rel=1e-3, abs=1e-5), one


@pytest.mark.parametrize("case", CASES)
def test_standardised_values_are_lavaans(case: str) -> None:
    found = pairs(parameter_rows(fitted(case), interval="delta"), LAVAAN[case]["parameters"])
    some = [(mine, one) for mine, one in found if np.isfinite(mine.std)]
    assert len(some) > 20
    for mine, one in some:
        if mine.op != "~1":
            assert mine.std == pytest.approx(one["est.std"], rel=1e-4, abs=1e-5), one


@pytest.mark.parametrize("case", CASES)
def test_measures_are_lavaans(case: str) -> None:
    found: Measures = measures(fitted(case))
    for mine, theirs in NAMES.items():
        wanted = LAVAAN[case]["fit"][theirs]
        assert getattr(found, mine) == pytest.approx(wanted, rel=1e-5, abs=1e-5), mine
    assert {row.variable: row.r2 for row in explained(fitted(case))} == pytest.approx(
        LAVAAN[case]["r2"], rel=1e-4, abs=1e-5
    )


@pytest.mark.parametrize("case", CASES)
def test_scaled_tests_are_lavaans(case: str) -> None:
    fit = fitted(case)
    for test, key in ((True, "scaled"), ("satorra-bentler", "satorra")):
        found = fit.measures(robust=test)  # type: ignore[arg-type]
        assert found["scaling"] == pytest.approx(LAVAAN[case][key]["chisq.scaling.factor"], rel=1e-3), key


@pytest.mark.parametrize("case", CASES)
def test_indices_of_loadings_and_covariances_are_lavaans(case: str) -> None:
    rows = {(r.lhs, r.op, r.rhs): r for r in modifications(fitted(case))}
    rows |= {(r.rhs, r.op, r.lhs): r for r in rows.values() if r.op == "~~"}
    graph = fitted(case).graph
    for one in LAVAAN[case]["indices"]:
        cause, effect = (one["rhs"], one["lhs"]) if one["op"] == "~" else (one["lhs"], one["rhs"])
        if one["op"] == "~1":
            continue
        if one["op"] != "~~" and (effect in graph.ancestors(cause) or cause in graph.parents(effect)):
            continue  # a cycle, or a loading that the text fixes
        mine = rows.get((one["lhs"], one["op"], one["rhs"])) or rows[cause, "=~", effect]
        assert mine.mi == pytest.approx(one["mi"], rel=1e-4, abs=1e-4), one
        assert mine.epc == pytest.approx(one["epc"], rel=1e-3, abs=1e-4), one


def test_bootstraps_agree_with_the_information() -> None:
    fit = fitted("schools")
    exact = {(r.lhs, r.op, r.rhs): r for r in parameter_rows(fit, interval="delta")}
    drawn = parameter_rows(fit, interval="parametric", replicates=300)
    ratios = [r.se / exact[r.lhs, r.op, r.rhs].se for r in drawn if r.se > 0.0]
    assert len(ratios) == 30
    assert 0.85 < float(np.median(ratios)) < 1.15


def test_residuals_are_those_of_observed_variables() -> None:
    found = residuals(fitted("schools"))
    assert {v for one in found for v in (one.lhs, one.rhs)} == {f"x{k}" for k in range(1, 10)}
    assert np.isfinite([one.z for one in found]).all()
