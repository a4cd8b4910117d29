"""Rows by pattern of missingness: exact, from any source, in any blocks; likelihood and unrestricted moments."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from halftrek.data import Moments, Patterns, read_moments, read_patterns
from halftrek.data.missing import gather
from halftrek.data.missing.likelihood import completed, loglik, slope
from halftrek.data.missing.unrestricted import little_test
from halftrek.errors import DataError

SETTINGS = settings(max_examples=40, deadline=None, derandomize=True)


def incomplete(seed: int, rows: int, p: int, share: float = 0.3) -> np.ndarray:
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(rows, p)) @ rng.normal(size=(p, p)) + rng.normal(size=p) * 3
    table[rng.random(table.shape) < share] = np.nan
    table[: p + 2] = np.where(np.isnan(table[: p + 2]), 0.5, table[: p + 2])  # every column has values
    return table


def by_rows(table: np.ndarray, mean: np.ndarray, cov: np.ndarray, weights: np.ndarray | None = None) -> float:
    """The slow oracle: each row's own normal density."""
    total = 0.0
    for i, row in enumerate(table):
        seen = np.flatnonzero(~np.isnan(row))
        if len(seen):
            gap = row[seen] - mean[seen]
            part = cov[np.ix_(seen, seen)]
            value = -0.5 * (
                len(seen) * np.log(2 * np.pi) + np.linalg.slogdet(part)[1] + gap @ np.linalg.solve(part, gap)
            )
            total += value if weights is None else weights[i] * value
    return total


@given(seed=st.integers(0, 10_000), rows=st.integers(8, 60), p=st.integers(1, 5), weighted=st.booleans())
@SETTINGS
def test_patterns_are_sufficient_for_the_likelihood(seed: int, rows: int, p: int, weighted: bool) -> None:
    table = incomplete(seed, rows, p)
    rng = np.random.default_rng(seed)
    weights = rng.integers(0, 4, rows).astype(float) if weighted else None
    if weights is not None:
        weights[: p + 2] = 1.0
    found = read_patterns(table, weights=weights)
    root = rng.normal(size=(p, p))
    mean, cov = rng.normal(size=p), root @ root.T + np.eye(p)
    expected = by_rows(table, mean, cov, weights)
    if isinstance(found, Moments):
        used = table if weights is None else table[weights > 0]
        assert not np.isnan(used[~np.isnan(used).all(axis=1)]).any()
    else:
        assert loglik(found, mean, cov) == pytest.approx(expected, rel=1e-10)
        used = np.ones(rows, dtype=bool) if weights is None else weights > 0
        assert found.used == np.isfinite(table[used]).sum()
        assert found.empty == np.isnan(table[used]).all(axis=1).sum()
        assert found.rows.sum() + found.empty == used.sum()


def test_derivatives_are_differences() -> None:
    found = read_patterns(incomplete(3, 50, 3))
    assert isinstance(found, Patterns)
    rng = np.random.default_rng(0)
    root = rng.normal(size=(3, 3))
    mean, cov = rng.normal(size=3), root @ root.T + np.eye(3)
    at = slope(found, mean, cov)
    assert at.value == pytest.approx(loglik(found, mean, cov), rel=1e-13)
    h = 1e-6
    for i in range(3):
        step = np.eye(3)[i] * h
        assert at.mean[i] == pytest.approx(
            (loglik(found, mean + step, cov) - loglik(found, mean - step, cov)) / (2 * h), rel=1e-5
        )
        for j in range(i + 1):
            move = np.zeros((3, 3))
            move[i, j] = move[j, i] = h
            change = (loglik(found, mean, cov + move) - loglik(found, mean, cov - move)) / (2 * h)
            assert (1 if i == j else 2) * at.cov[i, j] == pytest.approx(change, rel=1e-5)


def test_the_e_step_is_that_of_each_row() -> None:
    table = incomplete(4, 40, 3)
    found = read_patterns(table)
    assert isinstance(found, Patterns)
    mean, cov = np.zeros(3), np.array([[2.0, 0.5, 0.3], [0.5, 1.0, -0.2], [0.3, -0.2, 1.5]])
    first, second, n = np.zeros(3), np.zeros((3, 3)), 0
    for row in table:
        seen = ~np.isnan(row)
        if not seen.any():
            continue
        weights = np.linalg.solve(cov[np.ix_(seen, seen)], cov[seen]).T
        filled = mean + weights @ (row[seen] - mean[seen])
        first += filled
        second += np.outer(filled, filled) + cov - weights @ cov[seen]
        n += 1
    moments = completed(found, mean, cov)
    np.testing.assert_allclose(moments.mean, first / n, rtol=1e-10)
    np.testing.assert_allclose(moments.cov, second / n - np.outer(first, first) / n**2, rtol=1e-9, atol=1e-12)


def test_blocks_and_sources_do_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = incomplete(5, 3000, 4)
    table[7] = np.nan
    frame = pd.DataFrame(table, columns=list("abcd"))
    whole = read_patterns(frame)
    assert isinstance(whole, Patterns)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    monkeypatch.setattr(gather, "BUFFER", 500)  # many small groups, merged
    for other in (read_patterns(tmp_path / "rows.csv"), read_patterns({v: frame[v].to_numpy() for v in frame})):
        assert isinstance(other, Patterns)
        np.testing.assert_array_equal(other.observed, whole.observed)
        np.testing.assert_array_equal(other.rows, whole.rows)
        np.testing.assert_allclose(other.mean, whole.mean, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(other.cov, whole.cov, rtol=1e-9, atol=1e-12)
        assert other.empty == whole.empty == np.isnan(table).all(axis=1).sum()


def test_a_large_offset_costs_no_digits() -> None:
    table = incomplete(6, 500, 3)
    near, far = read_patterns(table), read_patterns(table + 1e7)
    assert isinstance(near, Patterns)
    assert isinstance(far, Patterns)
    np.testing.assert_allclose(far.cov, near.cov, rtol=1e-6, atol=1e-6)
    mean, cov = near.available[0], np.diag(near.available[1])
    assert loglik(far, mean + 1e7, cov) == pytest.approx(loglik(near, mean, cov), rel=1e-7)


def test_complete_rows_are_moments() -> None:
    table = incomplete(7, 30, 3, share=0.0)
    found = read_patterns(table)
    expected = read_moments(table)
    assert isinstance(found, Moments)
    np.testing.assert_array_equal(found.cov, expected.cov)
    np.testing.assert_array_equal(found.mean, expected.mean)
    with_empty = read_patterns(np.vstack([table, np.full((2, 3), np.nan)]))
    assert isinstance(with_empty, Moments)
    assert with_empty.dropped == 2
    np.testing.assert_allclose(with_empty.cov, expected.cov, rtol=1e-12)


@given(seed=st.integers(0, 1000))
@SETTINGS
def test_some_columns_are_as_if_only_they_were_read(seed: int) -> None:
    table = incomplete(seed, 40, 4)
    found = read_patterns(table, list("abcd"))
    assert isinstance(found, Patterns)
    part, alone = found.select(["c", "a"]), read_patterns(table[:, [2, 0]], ["c", "a"])
    assert type(part) is type(alone)
    if isinstance(part, Patterns) and isinstance(alone, Patterns):
        np.testing.assert_array_equal(part.observed, alone.observed)
        np.testing.assert_array_equal(part.rows, alone.rows)
        np.testing.assert_allclose(part.mean, alone.mean, atol=1e-12)
        np.testing.assert_allclose(part.cov, alone.cov, atol=1e-12)
        assert part.empty == alone.empty
    with pytest.raises(DataError, match="no column 'e'"):
        found.select(["e"])


def test_singletons_have_no_covariance() -> None:
    table = np.array([[1.0, 2.0, 3.0], [2.0, np.nan, 1.0], [np.nan, 1.0, 2.0], [0.5, 1.5, np.nan], [1.0, 0.0, np.nan]])
    found = read_patterns(table)
    assert isinstance(found, Patterns)
    assert found.rows.tolist() == [2, 1, 1, 1]
    assert found.cov.shape == (1, 3, 3)
    assert loglik(found, np.zeros(3), np.eye(3)) == pytest.approx(by_rows(table, np.zeros(3), np.eye(3)))
    assert "5 rows, 4 of them incomplete: 11 of 15 values used" in found.sentence


def test_columns_without_values_are_named() -> None:
    table = np.array([[1.0, np.nan, 2.0], [2.0, np.nan, np.nan], [3.0, np.nan, 1.0]])
    with pytest.raises(DataError, match="column 'b' has no value"):
        read_patterns(table, list("abc"))
    table[0, 1] = 1.0
    with pytest.raises(DataError, match="column 'b' has a value in one row only"):
        read_patterns(table, list("abc"))
    with pytest.raises(DataError, match="no values at all"):
        read_patterns(np.full((3, 2), np.nan))
    with pytest.raises(DataError, match="infinite"):
        read_patterns(np.array([[1.0, np.inf], [np.nan, 1.0]]))
    with pytest.raises(DataError, match="not moments"):
        read_moments(read_patterns(incomplete(0, 20, 2)))


@given(seed=st.integers(0, 1000))
@SETTINGS
def test_pairwise_correlations(seed: int) -> None:
    table = incomplete(seed, 30, 3) + 50.0
    found = read_patterns(table)
    assume(isinstance(found, Patterns))
    assert isinstance(found, Patterns)
    for i in range(3):
        for j in range(i):
            both = np.isfinite(table[:, i]) & np.isfinite(table[:, j])
            assert found.pairwise[i, j] == pytest.approx(np.corrcoef(table[both, i], table[both, j])[0, 1], abs=1e-10)


def test_pairs_that_are_never_seen_together() -> None:
    rng = np.random.default_rng(0)
    table = rng.normal(size=(40, 3))
    table[:20, 0], table[20:, 2] = np.nan, np.nan
    found = read_patterns(table, list("abc"))
    assert isinstance(found, Patterns)
    assert found.apart == (("a", "c"),)


def test_unrestricted_moments_are_at_the_maximum() -> None:
    table = incomplete(8, 200, 4)
    found = read_patterns(table)
    assert isinstance(found, Patterns)
    best = found.unrestricted
    assert best.converged
    at = slope(found, best.moments.mean, best.moments.cov)
    sd = np.sqrt(np.diag(best.moments.cov))
    assert np.abs(at.mean * sd).max() < 1e-6 * 200
    assert np.abs(at.cov * np.outer(sd, sd)).max() < 1e-6 * 200
    again = completed(found, best.moments.mean, best.moments.cov)  # a fixed point of EM
    np.testing.assert_allclose(again.cov, best.moments.cov, atol=1e-6 * np.outer(sd, sd).max())


def test_copies_have_no_unrestricted_maximum() -> None:
    """The likelihood of a correlation of one is not bounded where all rows that have both lie on a line."""
    rng = np.random.default_rng(1)
    table = rng.normal(size=(60, 1)) @ np.array([[1.0, 2.0]])
    table[10:30, 0], table[30:50, 1] = np.nan, np.nan
    found = read_patterns(table)
    assert isinstance(found, Patterns)
    assert not found.unrestricted.converged


def test_littles_test_sees_holes_that_depend_on_values() -> None:
    rng = np.random.default_rng(2)
    x = rng.normal(size=(1000, 2)) @ np.array([[1.0, 0.8], [0.0, 0.6]])
    at_random, dependent = x.copy(), x.copy()
    at_random[rng.random(1000) < 0.3, 1] = np.nan
    dependent[x[:, 0] > 0.5, 1] = np.nan
    results = [little_test(p) for p in map(read_patterns, (at_random, dependent)) if isinstance(p, Patterns)]
    assert [df for _, df, _ in results] == [1, 1]
    assert results[0][2] > 0.01
    assert results[1][2] < 1e-10
    # for two columns with holes in one: the t statistic of the other, squared, with the pooled variance
    seen = ~np.isnan(at_random[:, 1])
    a, b = at_random[seen, 0], at_random[~seen, 0]
    gap, spread = a.mean() - b.mean(), at_random[:, 0].var() * (1 / len(a) + 1 / len(b))
    assert results[0][0] == pytest.approx(gap**2 / spread, rel=1e-6)
