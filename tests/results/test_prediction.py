"""``fit.predict``: against the textbook's prediction interval, dense conditional normals, and questions one by one."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats

import halftrek as ht
from halftrek.errors import NotIdentifiedError, QueryError

GRAPH = "z -> x -> y; z -> y; w -> y"


def rows(n: int, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    z, w = rng.normal(size=(2, n))
    x = 0.7 * z + rng.normal(size=n)
    return pd.DataFrame({"z": z, "w": w, "x": x, "y": 1.0 + x - 0.5 * z + 0.3 * w + rng.normal(size=n)})


@pytest.mark.parametrize("n", [15, 30])  # with many rows the normal distribution stands in for Student's
def test_a_regression_has_the_prediction_interval_of_textbooks(n: int) -> None:
    table, new = rows(n), rows(4, seed=9)
    found = ht.fit(f"{GRAPH}; z <-> w; x <-> w", table).predict(new, "y", level=0.9)
    X, X0 = (np.column_stack([np.ones(len(t)), t[["z", "w", "x"]]]) for t in (table, new))
    y = np.asarray(table["y"])
    bread = np.linalg.inv(X.T @ X)
    slopes = bread @ X.T @ y
    free = n - 4
    variance = ((y - X @ slopes) ** 2).sum() / free
    spread = np.einsum("ij,jk,ik->i", X0, bread, X0) * variance
    t = stats.t.ppf(0.95, free)
    np.testing.assert_allclose(found["y"], X0 @ slopes, rtol=1e-9)
    np.testing.assert_allclose(found["se"], np.sqrt(spread), rtol=1e-9)
    np.testing.assert_allclose(found["pi_high"], X0 @ slopes + t * np.sqrt(variance + spread), rtol=1e-9)
    np.testing.assert_allclose(found["pi_low"], X0 @ slopes - t * np.sqrt(variance + spread), rtol=1e-9)


def test_empty_cells_are_integrated_out() -> None:
    fit = ht.fit(GRAPH, rows(400))
    new = rows(5, seed=1)
    new.loc[0, "x"] = new.loc[1, "z"] = np.nan
    new.loc[2, ["z", "w", "x"]] = np.nan
    found = fit.predict(new, "y")
    cov, mean, names = np.asarray(fit.model.cov), np.asarray(fit.model.mean), list(fit.model.names)
    for i in range(len(new)):
        seen = [v for v in ("z", "w", "x") if not np.isnan(new.loc[i, v])]
        at, y = [names.index(v) for v in seen], names.index("y")
        slopes = np.linalg.solve(cov[np.ix_(at, at)], cov[at, y]) if at else np.zeros(0)
        given = np.array([new.loc[i, v] for v in seen]) - mean[at]
        assert found["y"][i] == pytest.approx(mean[y] + slopes @ given, rel=1e-9)
        assert found["noise_sd"][i] == pytest.approx(np.sqrt(cov[y, y] - slopes @ cov[at, y]), rel=1e-9)


def test_under_an_intervention_each_row_is_its_question() -> None:
    fit = ht.fit(GRAPH, rows(200))
    new = rows(3, seed=4)
    found = fit.predict(new, "y", do={"x": 1.5})
    for i in range(3):
        asked = fit.query(f"P(y | do(x=1.5), z={float(new.loc[i, 'z'])!r}, w={float(new.loc[i, 'w'])!r})")
        assert found["y"][i] == pytest.approx(float(asked.mean), rel=1e-9)
        assert found["noise_sd"][i] == pytest.approx(np.sqrt(float(asked.variance)), rel=1e-9)  # type: ignore[arg-type]
        assert found["se"][i] == pytest.approx(float(asked.se), rel=1e-6)  # type: ignore[arg-type]


def test_what_the_intervention_changes_is_no_evidence() -> None:
    fit = ht.fit("z -> x -> m -> y; z -> y", rows(300).assign(m=lambda t: t["x"] + rows(300, seed=7)["w"]))
    new = rows(3).assign(m=9.0)
    found = fit.predict(new, "y", do={"x": 0.0})
    np.testing.assert_allclose(found["y"], fit.predict(new[["z"]], "y", do={"x": 0.0})["y"], rtol=1e-12)
    with pytest.raises(QueryError, match=r"fit\.counterfactual"):
        fit.predict(new, "y", do={"x": 0.0}, given=["m"])


def test_how_x_is_held() -> None:
    fit, new = ht.fit(GRAPH, rows(200)), rows(4, seed=2)
    more, same = fit.predict(new, "y", do={"x": "+1"}), fit.predict(new, "y", do={"x": "x"})
    effect = fit.query("x ~> y").value
    np.testing.assert_allclose(np.asarray(more["y"]) - np.asarray(same["y"]), effect, rtol=1e-9)


def test_what_is_not_identified_is_refused_and_seen_all_the_same() -> None:
    table = rows(200)
    fit = ht.fit("z -> x -> y; x <-> y; z -> y; w -> y", table)
    with pytest.raises(NotIdentifiedError, match="not identified"):
        fit.predict(table, "y", do={"x": 1})
    assert np.isnan(fit.predict(table, "y", do={"x": 1}, unidentified="nan")["y"]).all()
    saturated = ht.fit(GRAPH, table).predict(table.head(3), "y")
    found = fit.predict(table.head(3), "y")
    np.testing.assert_allclose(found["y"], saturated["y"], rtol=1e-5)
    np.testing.assert_allclose(found["se"], saturated["se"], rtol=5e-2)


def test_outcomes_left_out_are_the_columns_that_are_not_there() -> None:
    fit = ht.fit(GRAPH, rows(100))
    assert "y_pi_low" in fit.predict(rows(2)[["z", "w"]])
    assert "pi_low" in fit.predict(rows(2)[["z", "w", "x"]])
    with pytest.raises(QueryError, match="outcome='y'"):
        fit.predict(rows(2))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"outcome": "why"}, "no variable 'why'"),
        ({"outcome": "y", "given": ["y"]}, "to be predicted"),
        ({"outcome": "y", "given": ["q"]}, "no variable 'q'"),
        ({"outcome": "y", "do": {"y": 1}}, "both an outcome"),
    ],
)
def test_bad_words_are_refused_by_name(options: dict[str, object], words: str) -> None:
    fit = ht.fit(GRAPH, rows(60))
    with pytest.raises(QueryError, match=words):
        fit.predict(rows(2), **options)  # type: ignore[arg-type]


def test_tables_come_back_in_their_library() -> None:
    fit, new = ht.fit(GRAPH, rows(100)), rows(3)[["z", "w", "x"]]
    expected = np.asarray(fit.predict(new)["y"])
    as_polars = fit.predict(pl.DataFrame({v: np.asarray(new[v]) for v in new}))
    assert isinstance(as_polars, pl.DataFrame)
    np.testing.assert_allclose(as_polars["y"].to_numpy(), expected)
    indexed = fit.predict(new.set_axis(["a", "b", "c"]))
    assert list(indexed.index) == ["a", "b", "c"]
    as_dict = fit.predict({v: list(new[v]) for v in new})
    np.testing.assert_allclose(as_dict["y"], expected)
    one = fit.predict({v: float(new.loc[0, v]) for v in new})
    assert one["y"][0] == pytest.approx(expected[0])


def test_new_units_fall_into_the_interval_as_often_as_promised() -> None:
    inside = []
    for seed in range(40):
        fit = ht.fit(GRAPH, rows(25, seed=seed))
        new = rows(100, seed=1000 + seed)
        found = fit.predict(new, "y", level=0.8)
        inside.append(np.mean((new["y"] > found["pi_low"]) & (new["y"] < found["pi_high"])))
    assert np.mean(inside) == pytest.approx(0.8, abs=0.03)


def test_an_outcome_of_two_values_has_a_mean_and_no_interval_for_itself() -> None:
    table = rows(400).assign(y=lambda t: (t["y"] > 1.0).astype(float))
    fit = ht.fit(GRAPH, table)
    with pytest.warns(UserWarning, match="its mean is predicted"):
        found = fit.predict(table.head(2), "y")
    assert list(found) == ["y", "noise_sd", "se", "ci_low", "ci_high"]


def test_one_part_of_a_million_rows_is_as_alone() -> None:
    fit = ht.fit(GRAPH, rows(100))
    new = rows(20_000, seed=3)[["z", "w", "x"]]
    new.loc[::7, "x"] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        whole, part = fit.predict(new, "y"), fit.predict(new.iloc[9_000:9_020], "y")
    np.testing.assert_allclose(whole["pi_low"].iloc[9_000:9_020], part["pi_low"], rtol=1e-12)


def few_clusters() -> ht.Fit:
    rng = np.random.default_rng(1)
    shared, cluster = rng.normal(size=12), np.repeat(np.arange(12), 20)
    x = rng.normal(size=240) + shared[cluster]
    m = 0.5 * x + rng.normal(size=240)
    y = 0.7 * m + rng.normal(size=240) + shared[cluster]
    return ht.fit("x -> m -> y; x <-> y", {"x": x, "m": m, "y": y, "c": cluster}, cluster="c")


@pytest.mark.parametrize("uncertainty", [{}, {"interval": "bootstrap", "replicates": 50, "level": 0.9}])
def test_intervals_from_replicates_are_those_of_single_questions(uncertainty: Any) -> None:
    fit = few_clusters()
    table = fit.predict({"x": [0.0, 1.0, -2.0]}, "y", do={"x": [0.0, 1.0, -2.0]}, **uncertainty)
    for row, value in enumerate((0.0, 1.0, -2.0)):
        asked = fit.query(f"E[y | do(x={value})]", **uncertainty)
        assert table["y"][row] == pytest.approx(asked.value, rel=1e-10)
        assert table["se"][row] == pytest.approx(asked.se, rel=1e-8)
        if not uncertainty:
            assert (table["ci_low"][row], table["ci_high"][row]) == pytest.approx(asked.interval, rel=1e-8)
