"""The accumulator against exact rational arithmetic, on data that ruin naive sums."""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halftrek.data import Moments, read_moments
from halftrek.data.summing import accumulate


def exact(table: np.ndarray, weights: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance by fractions, rounded once at the end."""
    w = [Fraction(1)] * len(table) if weights is None else [Fraction(float(x)) for x in weights]
    n = sum(w)
    columns = [[Fraction(float(x)) for x in column] for column in table.T]
    means = [sum((a * x for a, x in zip(w, c, strict=True)), Fraction(0)) / n for c in columns]
    centred = [[x - m for x in c] for c, m in zip(columns, means, strict=True)]
    cov = [[float(sum(a * x * y for a, x, y in zip(w, c, d, strict=True)) / n) for d in centred] for c in centred]
    return np.array([float(m) for m in means]), np.array(cov)


def worst(m: Moments, table: np.ndarray, weights: np.ndarray | None = None) -> float:
    """Largest error of a covariance, relative to the two standard deviations."""
    mean, cov = exact(table, weights)
    np.testing.assert_allclose(m.mean, mean, rtol=1e-14, atol=1e-13 * float(np.sqrt(np.diag(cov)).min()))
    sd = np.sqrt(np.diag(cov))
    return float((np.abs(m.cov - cov) / np.outer(sd, sd)).max())


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accumulate, "CHUNK", 192)
    monkeypatch.setattr(accumulate, "WIDEST", 192)
    monkeypatch.setattr(accumulate, "FOLD", 12)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("offset", [0.0, 1.0, 1e4, 1e8, -1e12])
@pytest.mark.usefixtures("small_chunks")
def test_large_means(order: Literal["C", "F"], offset: float) -> None:
    table = np.random.default_rng(0).standard_normal((700, 3)) @ [[1, 0.5, 0], [0, 1, 0.3], [0, 0, 1]] + offset
    assert worst(read_moments(np.asarray(table, order=order)), table) < 1e-13


def test_large_means_in_one_chunk_of_default_size() -> None:
    table = np.random.default_rng(1).standard_normal((3000, 2)) + np.array([1e8, 1e12])
    assert worst(read_moments(table), table) < 1e-13


@pytest.mark.usefixtures("small_chunks")
def test_columns_of_very_different_scales() -> None:
    table = np.random.default_rng(2).standard_normal((500, 4)) * [1e-150, 1.0, 1e9, 1e120] + [0, 1e8, -1e12, 1e125]
    assert worst(read_moments(table), table) < 1e-13


@pytest.mark.usefixtures("small_chunks")
def test_means_that_move_and_jump() -> None:
    rng = np.random.default_rng(3)
    n = 1000
    table = rng.standard_normal((n, 4))
    table[:, 0] = np.arange(n) + 1e7  # sorted
    table[:, 1] += np.where(np.arange(n) < 400, 0.0, 1e9)  # a jump
    table[:, 2] = np.arange(n) // 250  # constant within chunks
    table[0, 3] = 1e5  # the first row is an outlier
    assert worst(read_moments(table), table) < 1e-12


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("value", [0.0, 0.1, -1e12 / 3])
def test_a_constant_column_has_no_variance_at_all(value: float) -> None:
    table = np.random.default_rng(4).standard_normal((500, 2)) + 1e6
    table[:, 1] = value
    m = read_moments(table)
    assert m.mean[1] == value
    assert m.cov[1, 1] == 0.0
    assert m.cov[0, 1] == 0.0


@settings(deadline=None, derandomize=True, max_examples=40)
@given(
    st.integers(2, 200),
    st.integers(1, 4),
    st.integers(0, 10**6),
    st.floats(-1e9, 1e9),
    st.floats(1e-3, 1e3),
    st.booleans(),
)
def test_any_data(n: int, p: int, seed: int, offset: float, scale: float, weighted: bool) -> None:
    rng = np.random.default_rng(seed)
    table = offset + scale * rng.standard_normal((n, p))
    weights = rng.integers(1, 5, n).astype(float) if weighted else None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(accumulate, "CHUNK", 40)
        patch.setattr(accumulate, "WIDEST", 40)
        patch.setattr(accumulate, "FOLD", 12)
        assert worst(read_moments(table, weights=weights), table, weights) < 1e-12


@pytest.mark.parametrize("p", [1, 2, 3, 7, 40, 130, 600])
@pytest.mark.parametrize("order", ["C", "F"])
def test_every_width_and_more_than_one_chunk(p: int, order: Literal["C", "F"]) -> None:
    rng = np.random.default_rng(p)
    n = 2 * accumulate.CHUNK // p + 17 if p < 100 else 3 * p + 500
    table = np.asarray(rng.standard_normal((n, p)) + rng.choice([0.0, 30.0], p), order=order)
    for data in (table, table - 20.0, {f"x{k}": table[:, k] for k in range(p)}):
        m = read_moments(data)
        want = np.cov(data if isinstance(data, np.ndarray) else table, rowvar=False, ddof=0).reshape(p, p)
        np.testing.assert_allclose(m.cov, want, atol=1e-12)
        assert m.n == n


@pytest.mark.parametrize("dtype", ["float32", "int64", "int8", "uint16", "bool", ">f8", "float16"])
def test_other_types_are_summed_as_doubles(dtype: str) -> None:
    table = np.random.default_rng(5).integers(0, 2 if dtype == "bool" else 100, (5000, 3)).astype(dtype)
    for given_table in (table, np.asfortranarray(table), table[::2, ::-1]):
        wide = given_table.astype(float)
        m = read_moments(given_table)
        np.testing.assert_allclose(m.mean, wide.mean(axis=0), rtol=1e-13)
        np.testing.assert_allclose(m.cov, np.cov(wide, rowvar=False, ddof=0), rtol=1e-12, atol=1e-13)
