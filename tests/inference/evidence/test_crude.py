"""Crude beside adjusted: what the rows say without the graph, as anybody would compute it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import halftrek as ht
from halftrek.bottom.choices import Interval
from halftrek.bottom.words import one_precision
from halftrek.cli import main
from halftrek.inference.evidence.seen import seen_moments
from halftrek.simulation import random_model
from tests.narrow import interval_of, se_of, there, value_of

GRAPH = ht.graph("c -> x; x -> m; m -> y; c -> y; x <-> m")


@pytest.fixture(scope="module")
def rows() -> np.ndarray:
    return np.array(random_model(GRAPH, random_state=2).sample(300, random_state=3))


def least_squares(x: np.ndarray, y: np.ndarray, groups: np.ndarray | None = None) -> tuple[float, float, float]:
    """Slope of a regression, its standard error for normal errors and by (clusters of) rows, with divisor n."""
    X = np.stack([np.ones_like(x), x], axis=1)
    inverse = np.linalg.inv(X.T @ X)
    b = inverse @ X.T @ y
    e = y - X @ b
    scores = X * e[:, None]
    G = 1.0
    if groups is not None:
        scores = np.stack([scores[groups == g].sum(axis=0) for g in np.unique(groups)])
        G = len(scores) / (len(scores) - 1.0)
    sandwich = G * inverse @ scores.T @ scores @ inverse
    return float(b[1]), float(np.sqrt(e @ e / len(e) * inverse[1, 1])), float(np.sqrt(sandwich[1, 1]))


def columns(rows: np.ndarray, *names: str) -> list[np.ndarray]:
    return [rows[:, GRAPH.observed.index(v)] for v in names]


def fit(rows: np.ndarray, **options: Any) -> ht.Fit:
    return ht.fit(GRAPH, rows, names=GRAPH.observed, **options)


def test_the_crude_effect_is_the_plain_regression(rows: np.ndarray) -> None:
    slope, error, robust = least_squares(*columns(rows, "x", "y"))
    answer = fit(rows).effect("x", "y", crude=True, interval="delta")
    assert there(answer.crude).value == pytest.approx(slope)
    assert there(answer.crude).se == pytest.approx(error)
    assert there(answer.crude).interval == pytest.approx((slope - 1.959964 * error, slope + 1.959964 * error))
    assert str(there(answer.crude).query) == "Cov[x, y] / Var[x]"
    assert there(answer.crude).method == "observed"
    assert answer.value != pytest.approx(slope, rel=0.01)
    assert there(fit(rows).query("x ~> y", crude=True, interval="robust").crude).se == pytest.approx(robust)
    assert fit(rows).effect("x", "y").crude is None
    wide = fit(rows).effect("x", "y", crude=True, interval="delta", level=0.5)
    assert interval_of(wide.crude)[1] - slope == pytest.approx(0.67449 * error, rel=1e-4)


def test_clusters_weights_and_missing_values_count_in_the_crude_number(rows: np.ndarray) -> None:
    groups = np.arange(300) // 6
    x, y = columns(rows, "x", "y")
    slope, _, clustered = least_squares(x, y, groups)
    crude = there(fit(rows, cluster=groups).effect("x", "y", crude=True).crude)
    assert (value_of(crude), se_of(crude)) == pytest.approx((slope, clustered))
    weights = np.random.default_rng(1).integers(0, 4, 300)
    twice = np.repeat(rows, weights, axis=0)
    crude = there(fit(rows, weights=weights.astype(float)).effect("x", "y", crude=True).crude)
    assert crude.value == pytest.approx(least_squares(*columns(twice, "x", "y"))[0])
    incomplete = rows.copy()
    rng = np.random.default_rng(2)
    incomplete[rng.random(300) < 0.2, GRAPH.observed.index("x")] = np.nan
    incomplete[rng.random(300) < 0.3, GRAPH.observed.index("c")] = np.nan  # rows without c have x and y
    known = ~np.isnan(incomplete[:, GRAPH.observed.index("x")])
    slope, error, robust = least_squares(*columns(incomplete[known], "x", "y"))
    kinds: tuple[tuple[Interval, float], ...] = (("delta", error), ("robust", robust))
    for interval, expected in kinds:
        answer = fit(incomplete).effect("x", "y", crude=True, interval=interval)
        assert (value_of(there(answer.crude)), se_of(there(answer.crude))) == pytest.approx((slope, expected))
    assert there(answer.crude).n == known.sum()
    assert f"(of {known.sum()} rows that have what it needs)" in answer.explain()
    complete = ~np.isnan(incomplete).any(axis=1)  # rows that the fit leaves out are left out here as well
    dropped = fit(incomplete, missing="drop").effect("x", "y", crude=True)
    assert there(dropped.crude).value == pytest.approx(least_squares(*columns(incomplete[complete], "x", "y"))[0])


def test_sampling_weights_count_in_the_crude_number(rows: np.ndarray) -> None:
    """Weighted least squares with the sandwich of survey statistics, also where values are missing."""
    weights = np.random.default_rng(3).uniform(0.5, 3.0, 300)
    incomplete = rows.copy()
    incomplete[:40, GRAPH.observed.index("x")] = incomplete[20:90, GRAPH.observed.index("c")] = np.nan
    for data in (rows, incomplete):
        x, y = columns(data, "x", "y")
        known = ~np.isnan(x)
        w = weights[known]
        X, y = np.stack([np.ones(len(w)), x[known]], axis=1), y[known]
        inverse = np.linalg.inv(X.T @ (w[:, None] * X))
        b = inverse @ X.T @ (w * y)
        scores = X * (w * (y - X @ b))[:, None]
        error = np.sqrt((inverse @ scores.T @ scores @ inverse)[1, 1])
        crude = there(fit(data, sampling_weights=weights).effect("x", "y", crude=True, interval="robust").crude)
        assert (value_of(crude), se_of(crude)) == pytest.approx((b[1], error))
        assert crude.n == known.sum()


def test_covariances_alone_and_columns_without_names(rows: np.ndarray) -> None:
    seen = ht.moments(rows, GRAPH.observed)
    slope = least_squares(*columns(rows, "x", "y"))[0]
    for found in (ht.fit(GRAPH, seen), ht.fit(GRAPH, cov=seen.cov, n=300), ht.fit(GRAPH, np.asarray(rows))):
        assert there(found.effect("x", "y", crude=True).crude).value == pytest.approx(slope)
    incomplete = rows.copy()
    incomplete[0, 0] = np.nan
    # an array without names, holes
    bare = there(ht.fit(GRAPH, incomplete).effect("m", "y", crude=True, interval="robust").crude)
    assert bare.se == pytest.approx(least_squares(*columns(rows, "m", "y"))[2])


def test_questions_that_hold_a_variable(rows: np.ndarray) -> None:
    x, m, y = columns(rows, "x", "m", "y")
    answer = fit(rows).query("P(y | do(x=1))", crude=True)
    slope = least_squares(x, y)[0]
    assert str(there(answer.crude).query) == "P(y | x=1)"
    assert there(answer.crude).mean == pytest.approx(y.mean() + slope * (1.0 - x.mean()))
    assert there(answer.crude).variance == pytest.approx(np.var(y - slope * x))
    contrast = there(fit(rows).query("E[y | do(x=2)] - E[y | do(x=0)]", crude=True, interval="delta").crude)
    assert contrast.value == pytest.approx(2.0 * slope)
    assert contrast.se == pytest.approx(2.0 * least_squares(x, y)[1])
    both = value_of(fit(rows).query("E[y | do(m=1), x=1]", crude=True).crude)
    b = np.linalg.lstsq(np.stack([np.ones(300), m, x], axis=1), y, rcond=None)[0]
    assert both == pytest.approx(b.sum())
    with pytest.raises(ht.QueryError, match="has no counterpart in the rows"):
        fit(rows).effect("x -> m -> y", crude=True)


@pytest.mark.parametrize("interval", ["bootstrap", "parametric", "profile"])
def test_every_kind_of_interval(rows: np.ndarray, interval: Interval) -> None:
    options: dict[str, Any] = {"interval": interval, **({} if interval == "profile" else {"replicates": 300})}
    crude = there(fit(rows).effect("x", "y", crude=True, **options).crude)
    _, error, _ = least_squares(*columns(rows, "x", "y"))
    assert np.ptp(interval_of(crude)) == pytest.approx(2 * 1.96 * error, rel=0.15)
    assert there(crude.estimate).kind == interval


def test_where_nothing_confounds_crude_is_adjusted() -> None:
    graph = ht.graph("x -> y")
    found = ht.fit(graph, random_model(graph, random_state=1).sample(200, random_state=1))
    answer = found.effect("x", "y", crude=True)
    assert (value_of(there(answer.crude)), se_of(there(answer.crude))) == pytest.approx((answer.value, answer.se))
    assert there(answer.crude).interval == pytest.approx(answer.interval)
    assert "nothing confounds the two, so both estimate the same number" in answer.explain()


def test_the_words(rows: np.ndarray, tmp_path: Path) -> None:
    answer = fit(rows).effect("x", "y", crude=True)
    crude = there(answer.crude)
    slope, *_ = one_precision(value_of(crude), *interval_of(crude))
    assert (
        f"Crude, in the rows without the graph: the slope of the regression of y on x alone: {slope} (95% interval "
        in answer.explain()
    )
    assert "It is an association, adjusted for nothing, and no effect unless nothing else" in answer.explain()
    assert f"crude, in the rows without the graph: Cov[x, y] / Var[x] = {slope} (95% interval" in str(answer)
    assert "the slope of the regression of y on x alone" in answer._repr_html_()
    several = fit(rows).query("P(m, y | do(x=1))", crude=True)
    assert "m is normally distributed with mean" in several.explain().partition("Crude")[2]
    assert "Crude" not in fit(rows).effect("x", "y").explain()
    again = ht.load(answer.save(tmp_path / "answer.json"))
    assert there(again.crude).interval == there(answer.crude).interval
    assert again.explain() == answer.explain()


def test_on_the_command_line_and_in_a_report(
    rows: np.ndarray, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    np.savetxt("rows.csv", rows, delimiter=",", header=",".join(GRAPH.observed), comments="")
    Path("graph.txt").write_text("c -> x; x -> m; m -> y; c -> y; x <-> m")
    slope = least_squares(*columns(rows, "x", "y"))[0]
    words = ["effect", "graph.txt", "rows.csv", "x", "y", "--crude"]
    assert main([*words, "--write-analysis", "analysis.toml"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert f"crude {slope:.4f}"[:10] in printed
    assert "crude is the slope of the regression of y on x alone. It is an association" in printed
    assert main([*words, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)["crude"]
    assert record["value"] == pytest.approx(slope)
    assert record["interval"][0] < slope < record["interval"][1]
    assert "crude = true" in Path("analysis.toml").read_text()
    Path("analysis.toml").write_text(
        Path("analysis.toml").read_text().replace('questions = ["x ~> y"]', 'questions = ["x ~> y", "E[y]"]')
    )
    assert main(["run", "analysis.toml", "--json"]) == 0
    first, second = json.loads(capsys.readouterr().out)["questions"]
    assert first["crude"]["value"] == pytest.approx(slope)
    assert "crude" not in second  # it asks nothing about an intervention
    assert main(["effect", "graph.txt", "rows.csv", "--all", "--crude"]) == 2
    assert "--crude goes with one question" in capsys.readouterr().err
    page = fit(rows).report("report.html", ["x ~> y", "P(y | do(x=1))", "E[y]"]).read_text()
    assert page.count("<th>crude is</th>") == 2
    assert f"{slope:.4g}" in page


def test_rows_that_never_meet(tmp_path: Path) -> None:
    incomplete = np.random.default_rng(1).normal(size=(40, 3))
    incomplete[:20, 0] = incomplete[20:, 2] = np.nan
    found = ht.fit("x -> m -> y", incomplete)
    with pytest.raises(ht.DataError, match="hardly any row has all of x, y"):
        seen_moments(found, ("x", "y"))
    with pytest.raises(ht.DataError, match="hardly any row has all of x, y"):
        found.effect("x", "y", crude=True)
    page = found.report(tmp_path / "r.html", ["x ~> y", "P(y | do(x=1))"]).read_text()  # does without
    assert "crude" not in page
    assert "all 20 rows that have y" in page
