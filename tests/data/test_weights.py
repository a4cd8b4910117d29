"""Counts and sampling weights: what moments they give, and that only ratios of sampling weights matter."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dask.dataframe
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from halftrek.data import Moments, Patterns, read_moments, read_patterns, row_reader
from halftrek.data.by_group.grouping import group_reader
from halftrek.data.by_group.groups import read_groups
from halftrek.data.weights import Counted, Sampled
from halftrek.errors import DataError
from tests.data.test_read import source

RNG = np.random.default_rng(11)
N = 700
WEIGHTS = np.round(RNG.exponential(size=N), 3) * (RNG.random(N) > 0.1)
TABLE = RNG.standard_normal((N, 3)) @ np.array([[1.0, 0.5, 0.2], [0.0, 1.0, 0.4], [0.0, 0.0, 1.0]]) + [3.0, -2.0, 1e6]
USED = WEIGHTS > 0.0
FRAME = pd.DataFrame(TABLE, columns=list("abc")).assign(w=WEIGHTS)


def oracle(table: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    mean = np.average(table, axis=0, weights=weights)
    gap = table - mean
    return mean, (gap * weights[:, None]).T @ gap / weights.sum()


@pytest.mark.parametrize("factor", [1.0, 1e-6, 4e5])
def test_sampling_weights_are_scaled_to_the_number_of_rows(factor: float) -> None:
    m = read_moments(TABLE, ["a", "b", "c"], sampling_weights=factor * WEIGHTS)
    mean, cov = oracle(TABLE, WEIGHTS)
    assert m.n == USED.sum()
    np.testing.assert_allclose(m.mean, mean, rtol=1e-12)
    np.testing.assert_allclose(m.cov, cov, rtol=1e-9)
    assert isinstance(m.weighting, Sampled)
    assert m.weighting.mean == pytest.approx(factor * WEIGHTS[USED].mean(), rel=1e-12)
    assert m.weighting.worth == pytest.approx(WEIGHTS.sum() ** 2 / (WEIGHTS**2).sum(), rel=1e-12)


@pytest.mark.parametrize("kind", ["csv", "parquet", "feather", "duckdb"])
def test_a_column_of_sampling_weights(kind: str, tmp_path: Path) -> None:
    rows = source(kind, {v: FRAME[v].to_numpy() for v in "abcw"}, tmp_path)
    m = read_moments(rows, ["a", "b", "c"], sampling_weights="w")
    np.testing.assert_allclose(m.cov, oracle(TABLE, WEIGHTS)[1], rtol=1e-8)
    again = row_reader(rows, ("b", "a"), weights="w", sampling=m.weighting.mean)  # type: ignore[union-attr]
    blocks = list(again.blocks(m))
    assert sum(len(block) for block in blocks) == m.n
    assert np.concatenate([b.weights for b in blocks if b.weights is not None]).mean() == pytest.approx(1.0)


def test_one_kind_of_weights_and_only_for_rows() -> None:
    m = read_moments(TABLE, sampling_weights=WEIGHTS)
    with pytest.raises(DataError, match="no rows to weight any more"):
        read_moments(m, weights=np.ones(N))
    with pytest.raises(DataError, match="no rows to weight any more"):
        read_moments(m, sampling_weights=np.ones(N))
    with pytest.raises(DataError, match=r"give either weights .* or sampling_weights"):
        read_moments(TABLE, weights=np.ones(N), sampling_weights=WEIGHTS)
    with pytest.raises(DataError, match="hold -1; a weight is finite and not negative"):
        read_moments(TABLE, sampling_weights=-np.ones(N))
    with pytest.raises(DataError, match="leave 1 of 700 rows"):
        read_moments(TABLE, sampling_weights=np.eye(N)[3])


def test_whole_numbers_up_to_rounding_are_counts() -> None:
    counts = RNG.integers(0, 4, N)
    m = read_moments(TABLE, weights=counts * (1.0 + 1e-12))
    assert m.n == pytest.approx(counts.sum())
    assert m.weighting == Counted(float((counts > 0).sum()))
    with pytest.raises(DataError, match=r"hold 1\.001"):
        read_moments(TABLE, weights=np.where(np.arange(N) == 5, 1.001, 1.0))


@given(st.integers(1, N - 1), st.floats(0.01, 100.0))
@settings(max_examples=40, deadline=None)
def test_merged_moments_are_those_of_all_rows(cut: int, factor: float) -> None:
    whole = read_moments(TABLE, sampling_weights=factor * WEIGHTS)
    parts = [slice(0, cut), slice(cut, N)]
    assume(all(USED[part].sum() >= 2 for part in parts))
    one, other = (read_moments(TABLE[part], sampling_weights=factor * WEIGHTS[part]) for part in parts)
    both = one + other
    assert both.n == whole.n
    np.testing.assert_allclose(both.cov, whole.cov, rtol=1e-8, atol=1e-10)
    assert vars(both.weighting) == pytest.approx(vars(whole.weighting))


def test_merging_keeps_to_one_kind() -> None:
    plain, counted = read_moments(TABLE), read_moments(TABLE, weights=np.full(N, 3))
    sampled = read_moments(TABLE, sampling_weights=WEIGHTS)
    assert (plain + counted).weighting == (counted + plain).weighting == Counted(2.0 * N)
    for other in (plain, counted):
        for pair in ((sampled, other), (other, sampled)):
            with pytest.raises(DataError, match="cannot be merged"):
                pair[0].merge(pair[1])
    assert Moments.from_dict(sampled.to_dict()).weighting == sampled.weighting
    assert Moments.from_dict(counted.to_dict()).weighting == counted.weighting
    assert sampled.select(["x3", "x1"]).weighting == sampled.weighting


def incomplete() -> np.ndarray:
    table = TABLE.copy()
    table[RNG.random(table.shape) < 0.15] = np.nan
    table[:5] = np.nan
    return table


@pytest.mark.parametrize("factor", [1.0, 1e4])
def test_patterns_count_rows(factor: float) -> None:
    table = incomplete()
    found = read_patterns(table, ["a", "b", "c"], sampling_weights=factor * WEIGHTS)
    assert isinstance(found, Patterns)
    some = USED & ~np.isnan(table).all(axis=1)
    assert found.total == some.sum()
    for k, seen in enumerate(found.observed):
        here = some & (~np.isnan(table) == seen).all(axis=1)
        assert found.rows[k] == here.sum()
        assert found.n[k] == pytest.approx(WEIGHTS[here].sum() / WEIGHTS[some].mean())
        mean, cov = oracle(table[here][:, seen], WEIGHTS[here])
        np.testing.assert_allclose(found.mean[k][seen], mean, rtol=1e-9)
        if k < len(found.cov):
            np.testing.assert_allclose(found.cov[k][np.ix_(seen, seen)], cov, rtol=1e-6, atol=1e-8)
    assert isinstance(found.weighting, Sampled)
    assert found.weighting.worth == pytest.approx(WEIGHTS[some].sum() ** 2 / (WEIGHTS[some] ** 2).sum())
    less, direct = found.select(["c", "a"]), read_patterns(table[:, [2, 0]], ["c", "a"], sampling_weights=WEIGHTS)
    assert isinstance(less, Patterns)
    assert isinstance(direct, Patterns)
    assert less.total == direct.total
    np.testing.assert_allclose(less.n, direct.n)
    np.testing.assert_allclose(less.cov, direct.cov, rtol=1e-6, atol=1e-8)
    assert less.weighting is not None
    assert less.weighting.mean == pytest.approx(factor * direct.weighting.mean)  # type: ignore[union-attr]


def test_groups_are_scaled_one_by_one() -> None:
    labels = np.where(np.arange(N) % 3 == 0, "p", "q")
    reader, _ = group_reader(FRAME.assign(g=labels), "g", ("a", "b"), sampling_weights="w")
    found = read_groups(reader)
    assert found.sampled
    for i, key in enumerate(found.keys):
        alone = read_moments(FRAME[labels == key], ["a", "b"], sampling_weights="w")
        assert found[i].n == alone.n
        np.testing.assert_allclose(found[i].cov, alone.cov, rtol=1e-9)
        assert vars(found[i].weighting) == pytest.approx(vars(alone.weighting))
    counted: Any = read_groups(group_reader(FRAME.assign(g=labels), "g", ("a",), weights=np.full(N, 2))[0])
    assert not counted.sampled
    assert counted[0].weighting == Counted(float((labels == "p").sum()))


@pytest.mark.parametrize("weight", [1.5, 0.25])
def test_counts_that_are_not_whole_are_refused_by_engines_too(weight: float) -> None:
    frame = pl.DataFrame({"x": np.arange(10.0), "y": np.arange(10.0) ** 2, "w": [1.0] * 6 + [weight] * 4})
    make: Any = dask.dataframe.from_pandas
    in_pieces = make(frame.to_pandas(), npartitions=2)  # which makes the sums itself
    for table in (frame, frame.lazy(), in_pieces):
        with pytest.raises(DataError, match=rf"hold {weight:g}; weights= count rows"):
            read_moments(table, ("x", "y"), weights="w")
