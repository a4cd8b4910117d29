"""What pictures and reports show as seen is what the rows say."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import halftrek as ht
from halftrek.data import Histogram
from halftrek.models import Gaussian
from halftrek.reporting.plots.seen import seen_density
from halftrek.simulation import random_model
from tests.narrow import normal

GRAPH = "x -> m -> y"  # forgets x -> y


@pytest.fixture(scope="module")
def rows() -> np.ndarray:
    graph = ht.graph("x -> m; m -> y; x -> y")
    found = np.array(random_model(graph, random_state=1).sample(400, random_state=1))
    found[:, 0] = np.round(found[:, 0])
    return found


def fit(rows: np.ndarray) -> ht.Fit:
    return ht.fit(GRAPH, rows, names=["x", "m", "y"])


def test_rows_where_they_are_at_hand(rows: np.ndarray) -> None:
    label, shown = seen_density(fit(rows), "y")
    assert label == "all 400 rows"
    assert isinstance(shown, Histogram)
    assert shown.n == 400
    some = int((rows[:, 0] == 1.0).sum())
    assert some >= 30
    label, shown = seen_density(fit(rows), "y", {"x": 1.0})
    assert label == f"the {some} rows with x = 1"
    assert isinstance(shown, Histogram)
    middle = float(np.sum((shown.left + shown.width / 2.0) * shown.height) * shown.width)
    assert middle == pytest.approx(rows[rows[:, 0] == 1.0, 2].mean(), abs=shown.width / 2.0)


def test_few_rows_are_stood_for_by_the_regression(rows: np.ndarray) -> None:
    label, shown = seen_density(fit(rows), "y", {"x": 0.5})
    assert label == "the data at x = 0.5 (their regression, as a normal curve)"
    assert isinstance(shown, Gaussian)
    slope, start = np.polyfit(rows[:, 0], rows[:, 2], 1)
    assert shown.mean[0] == pytest.approx(start + 0.5 * slope)
    assert shown.cov[0, 0] == pytest.approx(np.var(rows[:, 2] - slope * rows[:, 0]))


def test_moments_alone_make_a_normal_curve(rows: np.ndarray, tmp_path: Path) -> None:
    label, shown = seen_density(ht.fit(GRAPH, ht.moments(rows, ["x", "m", "y"])), "y")
    assert label == "the data (a normal curve with their mean and spread)"
    assert isinstance(shown, Gaussian)
    assert shown.mean[0] == pytest.approx(rows[:, 2].mean())
    assert shown.sd[0] == pytest.approx(rows[:, 2].std())
    path = tmp_path / "rows.csv"
    np.savetxt(path, rows, delimiter=",", header="x,m,y", comments="")
    from_file = ht.fit(GRAPH, path)
    assert isinstance(seen_density(from_file, "y")[1], Histogram)
    path.unlink()  # the rows are gone, their moments are not
    assert isinstance(seen_density(from_file, "y")[1], Gaussian)


def test_with_holes_the_rows_that_have_it(rows: np.ndarray) -> None:
    incomplete = rows.copy()
    incomplete[:150, 2] = incomplete[100:200, 1] = np.nan
    label, shown = seen_density(fit(incomplete), "y")
    assert isinstance(shown, Histogram)
    assert (label, shown.n) == ("all 250 rows that have y", 250)
    bare = ht.fit(GRAPH, fit(incomplete).patterns)
    assert normal(seen_density(bare, "y")[1]).mean[0] == pytest.approx(incomplete[150:, 2].mean())


def test_a_report_names_rows_and_model(rows: np.ndarray, tmp_path: Path) -> None:
    questions = ["P(y | do(x=1))", "P(y | x=1)", "E[y | do(x=1), m=0]", "P(y | do(x += 1))"]
    page = fit(rows).report(tmp_path / "r.html", questions).read_text()
    words = re.sub(r"\s+", " ", page)
    some = int((rows[:, 0] == 1.0).sum())
    assert words.count(">all 400 rows<") == 4
    assert words.count(f">the {some} rows with x = 1<") == 2
    assert ">the fitted model, with x = 1 by intervention<" in words
    assert ">the fitted model, with x = 1 by intervention where m = 0<" in words
    assert ">the data at x = 1, m = 0 (their regression, as a normal curve)<" in words
    assert words.count(">the fitted model, as asked<") == 2
    assert "as observed" not in words
    assert "y as the data show it, and as the fitted model answers the question. Bars are rows." in words
