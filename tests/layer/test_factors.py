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
            assert found[0] == pytest.approx(est, abs=5e-4), (lhs, op, rhs)
            assert found[1] == pytest.approx(se, rel=0.03), (lhs, op, rhs)
            compared += 1
    assert compared == 7 + 3 * 3 + 3 * 2
    measures = fit.measures()
    assert measures["df"] == LAVAAN[name]["df"]
    assert measures["chi2"] == pytest.approx(LAVAAN[name]["chisq_scaled"], rel=0.01)


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
