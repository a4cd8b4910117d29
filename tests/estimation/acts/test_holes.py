"""Missing values where categories act: rows against brute integration, holes at random against the truth."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import integrate, stats

import halftrek as ht
from halftrek.bottom.arrays import Floats
from halftrek.errors import DataError
from halftrek.estimation.acts.fit import Acting, fit_acting
from halftrek.estimation.acts.holes import patterns_in, whole_bend, whole_logliks, whole_scores
from halftrek.estimation.acts.likelihood import row_logliks
from halftrek.estimation.acts.places import in_units
from halftrek.estimation.acts.spread import influence_and_flat
from tests.narrow import interval_of, se_of, value_of

GRAPH = ht.graph("z -> d -> m -> y; d <-> y")
KINDS: Any = {"d": "acts", "y": "ordered"}


def rows(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    z, hidden = rng.normal(size=(2, n))
    d = (0.8 * z + 0.6 * hidden + 0.8 * rng.normal(size=n) > 0.2).astype(float)
    m = 1.0 + d + rng.normal(size=n)
    y = np.digitize(0.6 * m - 0.7 * hidden + 0.7 * rng.normal(size=n), [0.2, 1.3]).astype(float)
    return pd.DataFrame({"z": z, "d": d, "m": 2.0 * m, "y": y})


def with_holes(table: pd.DataFrame, share: float, seed: int) -> pd.DataFrame:
    rng, found = np.random.default_rng(seed), table.copy()
    for v in table.columns:
        found.loc[rng.random(len(table)) < share, v] = np.nan
    return found


@pytest.fixture(scope="module")
def known() -> tuple[Acting, Floats]:
    values = rows(300, 1)[list(GRAPH.observed)].to_numpy()
    return fit_acting(GRAPH, values, KINDS), values


def density(acting: Acting, row: dict[str, float]) -> float:
    """Of one complete row: errors of d and y have a box, given that z and m are what they are."""
    model, margins = acting.at(GRAPH, acting.theta)
    at = model.names.index
    T, mu, W = model.T, model.mu, model.W
    of_z = stats.norm.pdf(row["z"], mu[at("z")], np.sqrt(W[at("z"), at("z")]))
    of_m = stats.norm.pdf(row["m"], mu[at("m")] + T[at("d"), at("m")] * row["d"], np.sqrt(W[at("m"), at("m")]))
    low, high = [], []
    for v, line in (("d", T[at("z"), at("d")] * row["z"]), ("y", T[at("m"), at("y")] * row["m"])):
        ends = np.concatenate([[-12.0], margins[v].cuts - line, [12.0]])
        low.append(ends[int(row[v])])
        high.append(ends[int(row[v]) + 1])
    normal = stats.multivariate_normal([0.0, 0.0], W[np.ix_([at("d"), at("y")], [at("d"), at("y")])])
    box = normal.cdf(high) - normal.cdf([low[0], high[1]]) - normal.cdf([high[0], low[1]]) + normal.cdf(low)
    return float(of_z * of_m * box)


def integrated(acting: Acting, row: dict[str, float]) -> float:
    """Over each missing value: a sum over categories, an integral over numbers."""
    if np.isnan(row["m"]):
        return float(integrate.quad(lambda m: integrated(acting, {**row, "m": m}), -15.0, 20.0, epsrel=1e-7)[0])
    if np.isnan(row["z"]):
        return float(integrate.quad(lambda z: integrated(acting, {**row, "z": z}), -9.0, 9.0, epsrel=1e-7)[0])
    choices = [
        range(size) if np.isnan(row[v]) else (row[v],) for v, size in (("d", 2), ("y", 3))
    ]  # fmt: skip
    return sum(density(acting, {**row, "d": float(d), "y": float(y)}) for d, y in product(*choices))


def test_the_likelihood_of_a_row_is_that_of_brute_integration(known: tuple[Acting, Floats]) -> None:
    acting, _ = known
    places = acting.places(GRAPH)
    nan = np.nan
    table = pd.DataFrame(
        {
            "z": [0.3, nan, 0.3, 0.3, nan],
            "d": [nan, 1, nan, 0, nan],
            "m": [1.1, 2.0, nan, 3.0, 1.0],
            "y": [1, 0, 2, nan, 1],
        }
    )
    standard = in_units(places.names, table[list(places.names)].to_numpy(), places.margins, places.centre, places.scale)
    found = whole_logliks(places, patterns_in(places, standard), acting.theta, standard)
    assert found is not None
    for log, row in zip(found, table.to_dict("records"), strict=True):
        assert log == pytest.approx(np.log(integrated(acting, {str(k): float(x) for k, x in row.items()})), abs=2e-5)


def test_complete_rows_have_the_likelihood_and_the_errors_of_their_districts(known: tuple[Acting, Floats]) -> None:
    acting, values = known
    places = acting.places(GRAPH)
    standard = in_units(places.names, values, places.margins, places.centre, places.scale)
    patterns = patterns_in(places, standard)
    found = whole_logliks(places, patterns, acting.theta, standard)
    assert found is not None
    parts = [row_logliks(places, district, acting.theta, standard) for district in places.districts]
    np.testing.assert_allclose(found, sum(part for part in parts if part is not None), atol=1e-10)
    each, bend = (
        whole_scores(places, patterns, acting.theta, standard),
        whole_bend(places, patterns, acting.theta, standard, np.ones(len(values))),
    )
    assert each is not None
    assert bend is not None
    moved, _ = influence_and_flat(places, acting.theta, values, np.ones(len(values)))
    np.testing.assert_allclose(each @ np.linalg.inv(bend), moved, atol=1e-5)


def test_holes_at_random_leave_the_truth_and_widen_intervals() -> None:
    table = rows(800, 2)
    full, few = ht.fit(GRAPH, table, kinds=KINDS), ht.fit(GRAPH, with_holes(table, 0.12, 3), kinds=KINDS)
    assert few.converged
    asked = "P(y > 0 | do(d=1)) - P(y > 0 | do(d=0))"
    a, b = full.query(asked), few.query(asked)
    assert abs(value_of(a) - value_of(b)) < 2.5 * se_of(a)
    assert 1.0 < se_of(b) / se_of(a) < 1.5
    assert any("incomplete" in text for text in b.warnings)
    alone = ht.fit(GRAPH, with_holes(table, 0.12, 3), kinds=KINDS, missing="drop").query(asked)
    assert se_of(b) < se_of(alone)  # rows that are left out say something


def test_holes_that_depend_on_what_was_seen_do_not_bias() -> None:
    """m is missing where z is large: a regression of rows that have it is right, the mean of m is not."""
    table = rows(3000, 4)
    gone = table.assign(m=table["m"].where(table["z"] < 0.3))
    fit = ht.fit("z -> d -> m; z -> m", gone[["z", "d", "m"]], kinds={"d": "acts"})
    answer = fit.query("E[m]")
    assert value_of(answer) == pytest.approx(table["m"].mean(), abs=3.0 * se_of(answer))
    assert gone["m"].mean() < table["m"].mean() - 4.0 * se_of(answer)


def test_a_column_that_nobody_needs_changes_nothing() -> None:
    """With the last effect missing in some rows these tell the rest as they did without it."""
    table = rows(400, 5)[["z", "d", "m"]]
    most = table.assign(m=table["m"].where(np.arange(400) < 250))
    fit = ht.fit("z -> d -> m", most, kinds={"d": "acts"})
    one, two = fit.query("z -> d"), ht.fit("z -> d -> m", table, kinds={"d": "acts"}).query("z -> d")
    assert (value_of(one), se_of(one)) == pytest.approx((value_of(two), se_of(two)), rel=1e-4)
    one, two = fit.query("d -> m"), ht.fit("z -> d -> m", table[:250], kinds={"d": "acts"}).query("d -> m")
    assert (value_of(one), se_of(one)) == pytest.approx((value_of(two), se_of(two)), rel=1e-4)


def test_bootstrap_tests_tables_and_saved_files_go_on(tmp_path: Path) -> None:
    table = with_holes(rows(150, 6), 0.1, 7)[["z", "d", "m"]]
    fit = ht.fit("z -> d -> m", table, kinds={"d": "acts"})
    usual, drawn = fit.query("d -> m"), fit.query("d -> m", interval="bootstrap", replicates=6)
    assert drawn.se == pytest.approx(se_of(usual), rel=0.7)
    found = fit.tests()
    assert list(found["constraint"][:1]) == ["no edge z -> m"]
    assert 0.0 < found["p"][0] < 1.0
    assert "values are missing" in found["verdict"][1]
    wider = ht.fit("z -> d -> m; z -> m", table, kinds={"d": "acts"})
    ratio = 2.0 * (wider.loglik - fit.loglik)
    assert found["statistic"][0] == pytest.approx(ratio, rel=0.1, abs=0.02)
    assert fit.measures()["chi2"] == pytest.approx(ratio, rel=1e-4, abs=1e-5)
    assert np.isfinite(fit.predict({"z": [0.2]}, "m")["se"]).all()
    fit.save(tmp_path / "fit.json")
    assert interval_of(ht.load(tmp_path / "fit.json").query("d -> m")) == interval_of(usual)
    assert "incomplete" in fit.summary()


def test_what_is_too_much_is_refused_by_name() -> None:
    table = with_holes(rows(100, 8), 0.1, 9)
    with pytest.raises(DataError, match=r"'z' is ranked, and missing values.*missing='drop'"):
        ht.fit(GRAPH, table, kinds={**KINDS, "z": "ranked"})
    wide = {f"x{k}": np.random.default_rng(k).normal(size=900) for k in range(10)}
    data = with_holes(pd.DataFrame({**wide, "d": np.tile([0.0, 1.0], 450)}), 0.4, 1)
    graph = "; ".join(f"x{k} -> d" for k in range(10))
    with pytest.raises(DataError, match=r"patterns of missing values are more than the 300.*missing='drop'"):
        ht.fit(f"{graph}; d -> y", data.assign(y=wide["x0"]), kinds={"d": "acts"})


@pytest.mark.parametrize("seed", range(3))
def test_a_cause_that_is_one_half_of_the_time_does_not_stop_the_climb(seed: int) -> None:
    """Scores of its spread next to never vary, and their products are no bend; where outcomes alone are missing, each
    equation of what comes before is that of all rows.
    """
    rng, n = np.random.default_rng(seed), 600
    assigned, hidden = np.arange(n) % 2 * 1.0, rng.normal(size=n)
    d = (1.2 * assigned - 0.6 + 0.7 * hidden + rng.normal(size=n) > 0.0) * 1.0
    y = np.digitize(0.5 * d + 0.6 * hidden + rng.normal(size=n), [-0.6, 0.4, 1.2]) * 1.0
    y[rng.random(n) < 0.1] = np.nan
    graph = ht.graph("assigned -> d -> y; d <-> y")
    values = np.column_stack([assigned, d, y])
    assert graph.observed == ("assigned", "d", "y")
    with np.errstate(all="raise", under="ignore"):
        acting = fit_acting(graph, values, KINDS)
    assert acting.converged
    assert acting.at(graph, acting.theta)[0].W[0, 0] == pytest.approx(np.var(assigned), rel=1e-5)
    seen = in_units(graph.observed, values, acting.margins, acting.centre, acting.scale)
    each = whole_scores(acting.places(graph), patterns_in(acting.places(graph), seen), acting.theta, seen)
    assert each is not None
    errors = np.sqrt(np.diag(acting.spread))
    assert np.abs(each.sum(axis=0) * errors).max() < 1e-3  # of what moves the likelihood by a half
