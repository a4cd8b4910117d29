"""Weighted least squares prints no number for what no data tell."""

import numpy as np
import pandas as pd
import pytest

import halftrek as ht
from halftrek.bottom.choices import Estimator

TEXT = """
M =~ m1 + m2 + m3
Y =~ y1 + y2 + y3
M ~ a*x
Y ~ b*M + c*x
M ~~ Y
ind := a*b
"""
KINDS = {k + i: "ordered" for k in "my" for i in "123"}


def scales(seed: int, x: np.ndarray) -> pd.DataFrame:
    """Two hidden variables with three items of five levels each; x moves both."""
    random, n = np.random.default_rng(seed), len(x)
    m = 0.5 * x + random.normal(size=n)
    y = 0.4 * m + 0.2 * x + random.normal(size=n)
    items = {
        name + i: np.digitize(0.8 * score + 0.6 * random.normal(size=n), [-1.0, -0.3, 0.4, 1.2])
        for name, score in (("m", m), ("y", y))
        for i in "123"
    }
    return pd.DataFrame({"x": x, **items})


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return scales(2, np.random.default_rng(1).normal(size=600))


@pytest.mark.parametrize("estimator", ["ml", "dwls"])
def test_what_is_not_determined_has_no_number(table: pd.DataFrame, estimator: Estimator) -> None:
    fit = ht.fit(ht.from_lavaan(TEXT, "sem"), table, kinds=KINDS, estimator=estimator)
    rows = fit.params().set_index(["lhs", "op", "rhs"])
    open_ones = [("Y", "~", "M"), ("Y", "~", "x"), ("M", "~~", "Y"), ("Y", "~~", "Y"), ("ind", ":=", "a * b")]
    for key in open_ones:
        assert rows.loc[key, ["est", "se", "ci_low"]].isna().all(), key
        assert "not determined by data" in rows.loc[key, "note"]
    assert rows.drop(open_ones)["est"].notna().all()
    assert "not determined by data" in fit.summary()
    with pytest.raises(ht.NotIdentifiedError):
        fit.query("M -> Y")


def test_errors_of_what_is_determined_stay(table: pd.DataFrame) -> None:
    """The same model, written so that all of it is determined: y is caused by x alone."""
    graph = ht.from_lavaan(TEXT, "sem")
    other = ht.from_lavaan(TEXT.replace("b*M + c*x", "t*x").replace("ind := a*b\n", ""), "sem")
    some, every = (
        ht.fit(g, table, kinds=KINDS, estimator="dwls").params().set_index(["lhs", "op", "rhs"])[["est", "se"]]
        for g in (graph, other)
    )
    shared = some.dropna().index.intersection(every.index)
    shared = shared[[op != "~1" for _, op, _ in shared]]
    assert len(shared) > 30
    np.testing.assert_allclose(some.loc[shared], every.loc[shared], rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("shift", [0, 1, 60])
@pytest.mark.parametrize("unit", [1.0, 1000.0])
def test_a_cause_of_0_and_1_is_no_trouble_to_weights(shift: int, unit: float) -> None:
    """Its variance is a function of its mean; half of each, no row moves it."""
    x = np.random.default_rng(4).permutation((np.arange(900) < 450 + shift) * 1.0)
    text, rows = TEXT.replace("M ~~ Y\n", ""), scales(5, x)
    rows["x"] *= unit
    likely, weighted = (ht.fit(ht.from_lavaan(text, "sem"), rows, kinds=KINDS, estimator=e) for e in ("ml", "dwls"))
    assert weighted.status.code == "converged"
    tables = [fit.params().set_index(["lhs", "op", "rhs"])[["est", "se"]] for fit in (likely, weighted)]
    for key in (("M", "~", "x"), ("Y", "~", "M"), ("Y", "~", "x"), ("ind", ":=", "a * b")):
        one, other = (table.loc[key] for table in tables)
        assert other["est"] == pytest.approx(one["est"], abs=0.4 * one["se"]), key
        assert other["se"] == pytest.approx(one["se"], rel=0.06), key
    n = len(rows)
    variance = tables[1].loc[("x", "~~", "x")]
    p = rows["x"].mean() / unit
    assert variance["est"] == pytest.approx(unit**2 * p * (1.0 - p), rel=1e-3)
    exact = unit**2 * abs(1.0 - 2.0 * p) * np.sqrt(p * (1.0 - p) / n)
    assert variance["se"] == pytest.approx(exact, rel=0.02, abs=1e-9 * unit**2)


def test_steps_that_run_out_are_said(table: pd.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("halftrek.estimation.dwls.STEPS", 1)
    text = TEXT.replace("M ~~ Y\n", "")
    with pytest.warns(ht.HalftrekWarning, match="before the weighted squares were least"):
        fit = ht.fit(ht.from_lavaan(text, "sem"), table, kinds=KINDS, estimator="dwls")
    rows = fit.params().set_index(["lhs", "op", "rhs"])
    assert "not converged" in rows.loc[("Y", "~", "M"), "note"]
    assert fit.measures()["test"] == "weighted least squares, scaled and shifted; not converged, see fit.status"
    monkeypatch.undo()
    whole = ht.fit(ht.from_lavaan(text, "sem"), table, kinds=KINDS, estimator="dwls")
    assert whole.measures()["test"] == "weighted least squares, scaled and shifted"
