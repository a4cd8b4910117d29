"""Factors behind ordered items: against lavaan, and the ways to fit and to be sure against each other."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

import halftrek as ht
from halftrek.data import RowBlock
from halftrek.inference.draws.layer_draws import layer_replicates, row_times
from halftrek.inference.information.behind.dwls import dwls_baseline, dwls_test
from tests.narrow import number

FOLDER = Path(__file__).parents[1] / "reference" / "ordered"
LAVAAN: dict[str, Any] = json.loads((FOLDER / "factors.json").read_text())
MEASURED = "latent F; latent G; F -> {a0, a1, a2}; G -> {b0, b1, b2}"
TEXTS = {"covary": f"{MEASURED}; F <-> G", "cause": f"{MEASURED}; F -> G"}


def items() -> dict[str, list[int]]:
    with (FOLDER / "factors.csv").open() as lines:
        head, *rows = csv.reader(lines)
    return {name: [int(row[k]) for row in rows] for k, name in enumerate(head)}


def fitted(name: str, **more: Any) -> ht.Fit:
    table = items()
    return ht.fit(TEXTS[name], table, kinds=dict.fromkeys(table, "ordered"), **more)


@pytest.mark.parametrize("name", ["covary", "cause"])
def test_weighted_least_squares_are_those_of_lavaan(name: str) -> None:
    fit = fitted(name, estimator="dwls")
    table = fit.params()
    mine = {
        (lhs, op, rhs): (est, se)
        for lhs, op, rhs, est, se in zip(*(table[c] for c in ("lhs", "op", "rhs", "est", "se")), strict=True)
    }
    compared = 0
    for lhs, op, rhs, est, se in LAVAAN[name]["parameters"]:
        if op in ("=~", "~", "|") or (op == "~~" and lhs != rhs):
            found = mine[lhs, op, rhs]
            assert found[0] == pytest.approx(est, abs=1e-6), (lhs, op, rhs)
            assert found[1] == pytest.approx(se, rel=1e-5), (lhs, op, rhs)
            compared += 1
    assert compared == 7 + 3 * 3 + 3 * 2
    check_measures(fit, LAVAAN[name]["measures"])


def check_measures(fit: ht.Fit, lavaan: dict[str, float | None]) -> None:
    """Everything that follows from the test, as lavaan has it scaled."""
    measures, test, base = fit.measures(), dwls_test(fit), dwls_baseline(fit)
    ours = {
        "chisq": test.chi2, "df": test.df, "chisq.scaled": measures["chi2"], "pvalue.scaled": measures["pvalue"],
        "baseline.chisq": base.chi2, "baseline.df": base.df, "baseline.chisq.scaled": measures["baseline_chi2"],
        "cfi.scaled": measures["cfi"], "tli.scaled": measures["tli"], "rmsea.scaled": measures["rmsea"],
        "rmsea.ci.lower.scaled": measures["rmsea_low"], "rmsea.ci.upper.scaled": measures["rmsea_high"],
        "srmr": measures["srmr"],
    }  # fmt: skip
    for name, value in ours.items():
        assert value == pytest.approx(lavaan[name], rel=2e-6, abs=1e-7), name


def test_a_factor_that_does_not_fit_has_lavaans_measures() -> None:
    table = items()
    kinds = dict.fromkeys(table, "ordered")
    check_measures(
        ht.fit("latent F; F -> {a0, a1, a2, b0, b1, b2}", table, kinds=kinds, estimator="dwls"),
        LAVAAN["one"]["measures"],
    )


def test_influence_likelihood_and_bootstrap_agree() -> None:
    likely, weighted = fitted("cause"), fitted("cause", estimator="dwls")
    one, other = likely.query("F ~> G"), weighted.query("F ~> G")
    assert one.value == pytest.approx(other.value, abs=0.3 * number(one.se))
    drawn = likely.query("F ~> G", interval="bootstrap", replicates=200)
    assert drawn.se == pytest.approx(one.se, rel=0.2)


def test_a_cause_of_a_factor_and_its_answers_on_the_scale_of_the_items() -> None:
    rng = np.random.default_rng(5)
    z = rng.normal(size=4000)
    factor = 0.6 * z + rng.normal(size=4000)
    table: dict[str, Any] = {"z": z}
    for k in range(3):
        table[f"a{k}"] = np.digitize((1.0 - 0.2 * k) * factor + rng.normal(size=4000), [-1.0, 0.5])
    fit = ht.fit("latent F; z -> F; F -> {a0, a1, a2}", table, kinds={f"a{k}": "ordered" for k in range(3)})
    effect = fit.query("z ~> F")
    assert abs(number(effect.value) - 0.6) < 4.0 * number(effect.se) < 0.15
    risk = fit.query("P(a0 > 1 | do(z=1))")  # cut at 0.5 of a normal variable with mean 0.6 and variance 2
    truth = 1.0 - NormalDist(0.6, 2.0**0.5).cdf(0.5)
    assert abs(number(risk.value) - truth) < 4.0 * number(risk.se) < 0.08


@pytest.mark.parametrize("name", ["covary", "cause"])
def test_the_bootstrap_of_weighted_least_squares_is_by_weighted_least_squares(name: str) -> None:
    """One data set drawn by hand is fitted alike, and the spread of many is the error by influence."""
    fit = fitted(name, estimator="dwls")
    found = layer_replicates(fit, "bootstrap", 60, 3, None)
    table = np.column_stack(list(items().values()))
    times = next(row_times(RowBlock(table.astype(float)), "bootstrap", 1, False, np.random.default_rng(3)))
    drawn = dict(zip(items(), np.repeat(table, times.astype(int), axis=0).T, strict=True))
    alone = ht.fit(TEXTS[name], drawn, kinds=dict.fromkeys(drawn, "ordered"), estimator="dwls")
    np.testing.assert_allclose(found.batch.T[0], alone.model.T, atol=1e-7)
    likely = ht.fit(TEXTS[name], drawn, kinds=dict.fromkeys(drawn, "ordered"))
    assert np.abs(likely.model.T - alone.model.T).max() > 1e-4  # another estimator has another value
    answer = fit.query("F ~> a1", interval="bootstrap", replicates=200)
    assert answer.se == pytest.approx(fit.query("F ~> a1").se, rel=0.2)


def test_likelihood_has_the_usual_measures_too() -> None:
    """Near those of weighted least squares, for a factor that does not fit."""
    table = items()
    fit = ht.fit("latent F; F -> {a0, a1, a2, b0, b1, b2}", table, kinds=dict.fromkeys(table, "ordered"))
    measures, lavaan = fit.measures(), LAVAAN["one"]["measures"]
    assert measures["cfi"] == pytest.approx(lavaan["cfi.scaled"], abs=0.05)
    assert measures["rmsea"] == pytest.approx(lavaan["rmsea.scaled"], abs=0.03)
