"""Questions about a hidden cause without causes of its own: it becomes a variable of the graph that is asked."""

from __future__ import annotations

import numpy as np
import pytest

import halftrek as ht
from halftrek.errors import NotIdentifiedError, QueryError
from tests.narrow import number

GRAPH = "latent F; F -> {a, b, c}"
LOADINGS = np.array([0.9, 0.7, 0.5])


def rows(n: int = 2000) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(2)
    factor = rng.normal(size=n)
    return {v: w * factor + rng.normal(size=n) for v, w in zip("abc", LOADINGS, strict=True)}


def test_a_loading_is_an_effect_on_the_scale_of_variance_one() -> None:
    fit = ht.fit(GRAPH, rows())
    for v, truth in zip("abc", LOADINGS, strict=True):
        found = fit.query(f"F ~> {v}")
        assert abs(found.value - truth) < 4.0 * number(found.se) < 0.3
        assert any("error has the variance 1" in str(n) for n in found.notes)
    table = fit.params()
    loadings = {r: e for lhs, r, e in zip(table["lhs"], table["rhs"], table["est"], strict=True) if lhs == "F"}
    assert abs(loadings["a"]) == pytest.approx(abs(fit.query("F ~> a").value), rel=1e-5)


def test_what_two_items_leave_open_is_refused() -> None:
    assert ht.identify("latent F; F -> {a, b}", "F ~> a").status == "not identified"
    table = rows()
    del table["c"]
    with pytest.raises(NotIdentifiedError):
        ht.fit("latent F; F -> {a, b}", table).query("F ~> a")


def test_the_expected_factor_of_a_unit_is_its_regression_on_the_items() -> None:
    fit = ht.fit(GRAPH, rows())
    loadings = np.array([fit.query(f"F ~> {v}").value for v in "abc"])
    mean, cov = fit.implied.mean, fit.implied.cov
    seen = np.array([1.0, 0.5, -0.2])
    found = fit.query("E[F | a=1, b=0.5, c=-0.2]")
    assert found.value == pytest.approx(loadings @ np.linalg.solve(cov, seen - mean), rel=1e-4)


def test_a_fit_with_variances_of_its_own_says_what_to_do() -> None:
    fit = ht.fit(GRAPH, rows(), noise={"a": 1.0})
    with pytest.raises(QueryError, match="variance F"):
        fit.query("F ~> b")
