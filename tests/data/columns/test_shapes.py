"""Bars of rows, and means of rows along a cause."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from halftrek.data import histogram_of, read_moments, row_reader
from halftrek.data.columns.shapes import BARS, CELLS, Histogram, _Sums, histogram, means_along
from halftrek.errors import DataError
from tests.narrow import there

RNG = np.random.default_rng(7)
ROWS = np.stack([RNG.normal(3.0, 2.0, 5000), RNG.gamma(2.0, 5.0, 5000), RNG.integers(0, 3, 5000)], axis=1)
NAMES = ("a", "b", "k")


def counted(bars: Histogram, values: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """Heights the obvious way."""
    edges = np.append(bars.left, bars.left[-1] + bars.width)
    share = np.histogram(values, edges, weights=weights)[0] / (len(values) if weights is None else weights.sum())
    return share / bars.width


def of(rows: np.ndarray, names: tuple[str, ...], given: tuple[float, ...] = (), **options: Any) -> Histogram | None:
    own = rows[:, [NAMES.index(v) for v in names]]
    like = read_moments(own, names, missing="drop", **options)
    return histogram(row_reader(rows, NAMES, missing="fiml", **options).having(names), like, given)


@pytest.mark.parametrize("name", ["a", "b"])
def test_bars_are_shares_of_rows(name: str) -> None:
    values = ROWS[:, NAMES.index(name)]
    bars = there(of(ROWS, (name,)))
    assert bars.name == name
    assert bars.n == 5000
    assert 10 <= len(bars.left) <= 2 * BARS
    assert bars.height == pytest.approx(counted(bars, values), abs=2e-3 / bars.width)  # cells are narrow, not points
    assert bars.height.sum() * bars.width == pytest.approx(1.0 - bars.beyond)
    assert bars.beyond == 0.0
    low, high = bars.span(0.01)
    assert low == pytest.approx(np.quantile(values, 0.01), abs=1.5 * bars.width)
    assert high == pytest.approx(np.quantile(values, 0.99), abs=1.5 * bars.width)


def test_whole_numbers_have_bars_of_their_own() -> None:
    bars = there(of(ROWS, ("k",)))
    assert list(bars.left) == [-0.5, 0.5, 1.5]
    assert bars.width == 1.0
    assert bars.height == pytest.approx(np.bincount(ROWS[:, 2].astype(int)) / 5000)
    ages = np.repeat(np.arange(18, 80), 30)
    wide = histogram_of(ages)
    assert wide.width == round(wide.width)  # no bar has more ages than another
    quarters = histogram_of(np.repeat([0.25, 0.5, 1.75], [2, 3, 5]))
    assert quarters.left[0] == pytest.approx(0.125)
    assert quarters.width / 0.25 == pytest.approx(round(quarters.width / 0.25))
    both = histogram_of([0.0, 1.0, 1.0, 1.0])
    assert list(both.height) == [0.25, 0.75]


def test_only_rows_with_the_given_values() -> None:
    some = ROWS[ROWS[:, 2] == 1.0, 0]
    bars = there(of(ROWS, ("a", "k"), (1.0,)))
    assert bars.n == len(some)
    assert bars.height == pytest.approx(counted(bars, some), abs=0.02)
    assert of(ROWS, ("a", "k"), (0.5,)) is None


def test_weights_and_holes_count() -> None:
    weights = RNG.integers(0, 4, 5000).astype(float)
    bars = there(of(ROWS, ("k",), weights=weights))
    assert bars.n == weights.sum()
    assert bars.height == pytest.approx(np.bincount(ROWS[:, 2].astype(int), weights=weights) / weights.sum())
    incomplete = ROWS.copy()
    incomplete[:1000, 2] = np.nan
    incomplete[500:2000, 1] = np.nan
    assert there(of(incomplete, ("k",))).n == 4000  # a hole in b takes no row away
    dropped = row_reader(incomplete, NAMES, missing="drop")
    like = read_moments(incomplete, NAMES, missing="drop").select(("k",))
    assert there(histogram(dropped, like)).n == 3000  # rows that a fit left out stay out


def test_far_values_are_counted_and_not_drawn() -> None:
    values = np.append(RNG.normal(size=999), 1e9)
    bars = histogram_of(values)
    assert np.isfinite(bars.height).all()
    far = np.concatenate([RNG.normal(size=10_000), [1000.0]])
    bars = histogram_of(far)
    assert bars.beyond == pytest.approx(1e-4, rel=0.01)
    assert bars.height.sum() * bars.width == pytest.approx(1.0 - 1e-4, rel=1e-3)


def test_one_value_has_one_bar() -> None:
    bars = histogram_of([5.0, 5.0])
    assert len(bars.height) == 1
    assert bars.left[0] <= 5.0 <= bars.left[0] + bars.width
    assert histogram_of([np.nan, 2.0, 3.0]).n == 2


@pytest.mark.parametrize("values", [[], [np.nan], [[1.0, 2.0]], [np.inf, 1.0]])
def test_what_has_no_bars(values: Any) -> None:
    with pytest.raises(DataError, match="a histogram needs"):
        histogram_of(values)


def test_rows_that_are_other_rows_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    np.savetxt(path, ROWS, delimiter=",", header="a,b,k", comments="")
    like = read_moments(path, ("a",))
    assert there(histogram(row_reader(str(path), NAMES), like)).n == 5000
    np.savetxt(path, ROWS + 1.0, delimiter=",", header="a,b,k", comments="")
    with pytest.raises(DataError, match="no longer those that the model was fitted"):
        histogram(row_reader(str(path), NAMES), like)


def test_means_along_a_cause_are_means_of_groups() -> None:
    y = 2.0 * ROWS[:, 0] + RNG.normal(size=5000)
    rows = np.stack([ROWS[:, 0], y], axis=1)
    found = means_along(row_reader(rows, ("x", "y")), read_moments(rows, ("x", "y")), groups=10)
    assert found.n == pytest.approx(np.full(10, 500.0), abs=15.0)
    order = np.argsort(rows[:, 0])
    obvious = rows[order].reshape(10, 500, 2).mean(axis=1)
    assert found.cause == pytest.approx(obvious[:, 0], abs=0.05)
    assert found.outcome == pytest.approx(obvious[:, 1], abs=0.12)


def test_means_at_few_values_are_exact() -> None:
    rows = ROWS[:, [2, 1]]
    weights = RNG.integers(1, 4, 5000).astype(float)
    found = means_along(row_reader(rows, ("k", "b"), weights=weights), read_moments(rows, ("k", "b"), weights=weights))
    assert list(found.cause) == [0.0, 1.0, 2.0]
    for k, mean in enumerate(found.outcome):
        at = rows[:, 0] == k
        assert mean == pytest.approx(np.average(rows[at, 1], weights=weights[at]))


def test_what_lies_far_beyond_is_in_a_cell_of_its_own() -> None:
    sums = _Sums(0.0, 1.0, 1)
    sums.add(np.array([-1e6, 0.0, 1e6]), np.ones((1, 3)))
    (line,) = sums.inside
    assert (line[0], line[-1], line[1:-1].sum()) == (1.0, 1.0, 1.0)
    assert line[CELLS // 2 : CELLS // 2 + 2].sum() == 1.0
