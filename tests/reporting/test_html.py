"""Notebooks and table makers: well-formed, escaped, no number where there is none; tables in the user's own library."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import halftrek as ht
from halftrek.bottom.frames import library_of
from halftrek.simulation import random_model
from tests.narrow import interval_of

BOW = ht.graph("z -> x -> y; x <-> y; a -> b; a <-> b")


@pytest.fixture(scope="module")
def fit() -> ht.Fit:
    return ht.fit(BOW, random_model(BOW, random_state=1).sample(800, random_state=2))


def words(html: str) -> str:
    """The text of well-formed markup."""
    return " ".join("".join(ElementTree.fromstring(html).itertext()).split())


def test_a_fit_in_a_notebook(fit: ht.Fit) -> None:
    text = words(fit._repr_html_())
    assert "800" in text
    assert "x -> y" in text
    assert "not" in next(r.note for r in _rows(fit) if (r.lhs, r.rhs) == ("b", "a"))
    assert f"{fit.model.T[fit.model.names.index('a'), fit.model.names.index('b')]:.3f}" not in text
    assert "<svg" in fit._repr_html_()


def _rows(fit: ht.Fit) -> Any:
    from halftrek.inference import parameter_rows

    return parameter_rows(fit)


def test_answers_verdicts_and_graphs_in_a_notebook(fit: ht.Fit) -> None:
    answer = fit.query("P(y | do(x=1))")
    assert "P(y | do(x=1))" in words(answer._repr_html_())
    assert f"{answer.mean:.3f}"[:5] in words(answer._repr_html_())
    both = words(fit.query("P(y, z | do(x=1))")._repr_html_())
    assert "cov with z" in both
    verdict = ht.identify(BOW, "a -> b")
    assert "not identified" in words(verdict._repr_html_())
    odd = ht.Graph([("a<b", "c&d")])
    assert "a<b" in words(odd._repr_html_())
    large = ht.Graph([(f"v{i}", f"v{i + 1}") for i in range(80)])
    assert words(large._repr_html_()) == "Graph of 81 variables, 80 edges"


def test_the_maketables_protocol(fit: ht.Fit) -> None:
    table = fit.__maketables_coef_table__
    assert isinstance(table, pd.DataFrame)
    assert table.index.name == "Coefficient"
    assert list(table.columns) == ["b", "se", "t", "p", "ci95l", "ci95u"]
    assert list(table.index) == ["z -> x", "x -> y", "x <-> y"]  # the bow a -> b has no number
    effect = fit.query("x -> y")
    assert table.loc["x -> y", "b"] == pytest.approx(effect.value)
    assert table.loc["x -> y", "ci95u"] == pytest.approx(interval_of(effect)[1])
    assert fit.__maketables_stat__("N") == 800
    assert fit.__maketables_stat__("ll") == fit.loglik
    assert fit.__maketables_stat__("chi2") == pytest.approx(fit.measures()["chi2"])
    assert fit.__maketables_stat__("r2") is None
    assert fit.__maketables_depvar__ == "y, b"
    assert set(fit.__maketables_default_stat_keys__) == set(fit.__maketables_stat_labels__)


@pytest.mark.parametrize(
    ("make", "kind"), [(pd.DataFrame, pd.DataFrame), (pl.DataFrame, pl.DataFrame), (pa.table, pa.Table)]
)
def test_tables_come_back_in_the_library_of_the_data(make: Any, kind: type) -> None:
    columns = ht.dataset("tal_or").columns
    graph = ht.dataset("tal_or").graph
    fit = ht.fit(graph, make(columns))
    assert isinstance(fit.params(), kind)
    assert library_of(make(columns)) == fit.frame != ""
    reference = ht.fit(graph, columns).params()
    named = fit.params().to_pandas() if hasattr(fit.params(), "to_pandas") else fit.params()
    np.testing.assert_array_equal(named["est"], reference["est"])


def test_arrays_belong_to_no_library() -> None:
    assert library_of(np.ones((2, 2)), None, {"x": [1]}) == ""
    assert library_of(None, pd.DataFrame()) == "pandas"
