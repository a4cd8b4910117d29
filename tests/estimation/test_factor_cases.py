"""Three published models with factors, in full against lavaan: ``tests/reference/hidden/cases.R``."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import numpy as np
import pytest

import halftrek as ht
from halftrek.inference.checks.residuals import explained
from halftrek.results.fit import Fit
from tests.estimation.test_hidden import HIDDEN

CASES: dict[str, Any] = json.loads((HIDDEN / "cases.json").read_text())
ROWS = {"s07_hs_cfa": "schools.csv", "s10_growth": "growth.csv"}
NAMES = [name for name in CASES if name != "tool"]
MEASURES = {"chi2": "chisq", "loglik": "logl", "saturated_loglik": "unrestricted.logl", "parameters": "npar",
            "baseline_chi2": "baseline.chisq", "baseline_df": "baseline.df", "rmsea_low": "rmsea.ci.lower",
            "rmsea_high": "rmsea.ci.upper", "srmr_no_mean": "srmr_bentler_nomean",
            **{name: name for name in ("df", "pvalue", "cfi", "tli", "rmsea", "srmr", "aic", "bic")}}  # fmt: skip


@cache
def fitted(name: str, divisor: str = "n-1") -> Fit:
    case = CASES[name]
    graph = ht.from_lavaan(case["model"], "sem")
    if name in ROWS:
        return ht.fit(graph, HIDDEN / ROWS[name])
    return ht.fit(graph, cov=np.array(case["covariance"]), names=case["names"], n=932, divisor=divisor)  # type: ignore[arg-type]


def compared(fit: Fit, theirs: dict[str, Any], **options: Any) -> int:
    """How many parameters have lavaan's estimate, error and standardised value."""
    rows: dict[tuple[str, str, str], Any] = {}
    for r in fit.params(interval=options.pop("interval", "delta"), as_frame=False, **options):
        rows[r.lhs, r.op, "" if r.op in ("~1", ":=") else r.rhs] = r
        rows[(r.rhs, "~~", r.lhs) if r.op == "~~" else (r.rhs, "~", r.lhs)] = r
    count = 0
    for one in theirs["parameters"]:
        key = one["lhs"], one["op"], "" if one["op"] in ("~1", ":=") else one["rhs"]
        if key not in rows:
            assert one["se"] == 0.0, key
            continue
        mine = rows[key]
        assert mine.est == pytest.approx(one["est"], rel=1e-4, abs=1e-5), key
        assert mine.se == pytest.approx(one["se"], rel=1e-3, abs=1e-5), key
        if one["op"] not in ("~1", ":="):
            assert mine.std == pytest.approx(one["est.std"], rel=1e-4, abs=1e-5), key
        count += 1
    return count


@pytest.mark.parametrize("name", NAMES)
def test_all_of_lavaans_answers(name: str) -> None:
    fit, main = fitted(name), CASES[name]["main"]
    assert fit.loglik == pytest.approx(main["fit"]["logl"], abs=1e-4)
    assert fit.n == main["n"]
    found = fit.measures(robust=False)
    for mine, theirs in MEASURES.items():
        assert found[mine] == pytest.approx(main["fit"][theirs], rel=1e-5, abs=1e-5), mine
    r2 = {row.variable: row.r2 for row in explained(fit)}
    for variable, value in main["r2"].items():
        assert r2[variable] == pytest.approx(value, rel=1e-4), variable
    assert compared(fit, main) >= main["fit"]["npar"]
    assert compared(fit, CASES[name]["observed"], information="observed") >= main["fit"]["npar"]


@pytest.mark.parametrize("name", list(ROWS))
def test_robust_errors_and_test(name: str) -> None:
    fit, mlr = fitted(name), CASES[name]["mlr"]
    assert compared(fit, mlr, interval="robust") >= mlr["fit"]["npar"]
    assert fit.measures(robust=True)["scaling"] == pytest.approx(mlr["fit"]["chisq.scaling.factor"], rel=1e-3)


def test_moments_divided_by_one_less() -> None:
    """``likelihood = "wishart"``: the published matrix as it is, with one row less in the errors."""
    fit, theirs = fitted("s11_wheaton_covonly", "n"), CASES["s11_wheaton_covonly"]["wishart"]
    rows = {(r.lhs, r.op, r.rhs): r for r in fit.params(interval="delta", as_frame=False)}
    for one in theirs["parameters"]:
        mine = rows.get((one["lhs"], one["op"], one["rhs"]))
        if mine is not None:
            assert mine.est == pytest.approx(one["est"], rel=1e-4)
            assert mine.se * np.sqrt(932 / 931) == pytest.approx(one["se"], rel=1e-3)
    assert fit.measures(robust=False)["chi2"] * 931 / 932 == pytest.approx(theirs["fit"]["chisq"], rel=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_standardised_effects_with_errors(name: str) -> None:
    """Of effects between hidden variables and on items: the standardised value with its error."""
    fit = fitted(name)
    checked = 0
    for one in CASES[name]["main"]["parameters"]:
        if one["op"] != "~":
            continue
        found = fit.query(f"std({one['rhs']} -> {one['lhs']})", interval="delta")
        assert found.value == pytest.approx(one["est.std"], rel=1e-4)
        assert found.se == pytest.approx(one["se.std"], rel=1e-3)
        checked += 1
    assert checked == {"s07_hs_cfa": 0, "s10_growth": 8, "s11_wheaton_covonly": 3}[name]
