"""Moments as a value: validation, selection, merging, saving, and given covariances."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halftrek.data import Moments, check, read_moments
from halftrek.errors import DataError

S = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, -0.8], [0.5, -0.8, 2.0]])


def rows(seed: int, n: int, p: int = 3) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, p)) @ rng.standard_normal((p, p)) + rng.standard_normal(p) * 5


def assert_same(a: Moments, b: Moments, rtol: float = 1e-11) -> None:
    assert a.names == b.names
    assert a.n == pytest.approx(b.n, rel=1e-13)
    assert a.dropped == b.dropped
    sd = np.sqrt(np.diag(b.cov))
    np.testing.assert_allclose(a.mean, b.mean, rtol=rtol, atol=rtol * float(sd.max(initial=1e-300)))
    np.testing.assert_array_less(np.abs(a.cov - b.cov), rtol * np.outer(sd, sd) + 1e-300)


def test_what_is_not_said_is_nothing_left_out() -> None:
    given = Moments(("a", "b", "c"), 10, np.zeros(3), S)
    assert (given.dropped, given.has_mean) == (0, True)
    assert (given.kinds, given.weighting, given.layer) == (None, None, None)


def test_arrays_are_read_only_and_independent_of_what_was_given() -> None:
    cov = S.copy()
    m = Moments(("a", "b", "c"), 10, np.zeros(3), cov)
    cov[0, 0] = 99.0
    assert m.cov[0, 0] == 4.0
    with pytest.raises(ValueError, match="read-only"):
        m.cov[0, 0] = 1.0
    view = S.copy()[:, :]
    view.flags.writeable = False
    kept = Moments(("a", "b", "c"), 10, np.zeros(3), view)
    view.base[0, 0] = 77.0  # type: ignore[index]
    assert kept.cov[0, 0] == 4.0


@pytest.mark.parametrize(
    ("names", "n", "mean", "cov", "message"),
    [
        (("a", "a", "c"), 5, np.zeros(3), S, "'a' is named twice"),
        (("a", "b"), 5, np.zeros(3), S, "2 names need"),
        (("a", "b", "c"), 5, np.zeros(2), S, "a mean of shape"),
        (("a", "b", "c"), 5, np.zeros((3, 1)), S, "a mean of shape"),
        (("a", "b", "c"), 5, np.zeros(3), S[:2, :2], "a cov of shape"),
        (("a", "b", "c"), 5, np.zeros(3), S[:, :2], "a cov of shape"),
        (("a", "b", 3), 5, np.zeros(3), S, "not 3"),
        ("abc", 5, np.zeros(3), S, "not one text"),
        ((), 5, [], [], "at least one column"),
        (("a", "b", "c"), 0, np.zeros(3), S, "positive number of rows"),
        (("a", "b", "c"), None, np.zeros(3), S, "n is missing"),
        (("a", "b", "c"), "x", np.zeros(3), S, "not 'x'"),
        (("a", "b", "c"), 5, [0, np.nan, 0], S, "'b' are not finite"),
        (("a", "b", "c"), 5, ["u", "v", "w"], S, "numbers only"),
        (("a", "b", "c"), 5, np.zeros(3), S - 5 * np.eye(3), "variance of 'c' is negative"),
        (("a", "b", "c"), 5, np.zeros(3), S + np.triu(np.ones((3, 3)), 2), "'a' and 'c'"),
    ],
)
def test_refuses_what_is_not_moments(names: Any, n: Any, mean: Any, cov: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        Moments(names, n, mean, cov)


def test_select() -> None:
    m = Moments(("a", "b", "c"), 10, np.array([1.0, 2.0, 3.0]), S, 4)
    picked = m.select(["c", "a"])
    assert picked.names == ("c", "a")
    assert picked.dropped == 4
    np.testing.assert_array_equal(picked.mean, [3.0, 1.0])
    np.testing.assert_array_equal(picked.cov, [[2.0, 0.5], [0.5, 4.0]])
    with pytest.raises(DataError, match=r"no column 'A'\. Did you mean 'a'"):
        m.select(["A"])


@settings(deadline=None, derandomize=True, max_examples=60)
@given(st.lists(st.integers(2, 30), min_size=3, max_size=3), st.integers(0, 10**6), st.sampled_from([0.0, 1e4, -1e6]))
def test_merge_is_the_moments_of_all_rows(sizes: list[int], seed: int, offset: float) -> None:
    parts = [rows(seed + k, n) + offset for k, n in enumerate(sizes)]
    a, b, c = (read_moments(x, ["a", "b", "c"]) for x in parts)
    whole = read_moments(np.concatenate(parts), ["a", "b", "c"])
    rtol = 1e-11 + 1e-15 * abs(offset)
    assert_same((a + b) + c, whole, rtol)
    assert_same(a + (b + c), whole, rtol)
    assert_same(c + a + b, whole, rtol)
    assert_same(a + b.select(["c", "a", "b"]) + c, whole, rtol)


def test_merge_adds_what_was_dropped_and_wants_the_same_columns() -> None:
    a = Moments(("a", "b", "c"), 10, np.zeros(3), S, 4)
    assert (a + Moments(("a", "b", "c"), 2.5, np.ones(3), S, 3)).dropped == 7
    with pytest.raises(DataError, match="'c'"):
        a.merge(a.select(["a", "b"]))
    with pytest.raises(TypeError):
        a + 1


def test_dict_and_back_and_repr() -> None:
    m = Moments(("a", "b", "c"), 10.5, np.array([1.0, 2.0, 3.0]), S, 4)
    back = Moments.from_dict(json.loads(json.dumps(m.to_dict())))
    assert (back.names, back.n, back.dropped) == (m.names, m.n, m.dropped)
    np.testing.assert_array_equal(back.cov, m.cov)
    assert repr(m) == "Moments(n=10.5, names=['a', 'b', 'c'], dropped=4)"
    with pytest.raises(DataError, match="'cov'"):
        Moments.from_dict({"names": ["a"], "n": 2, "mean": [0.0]})


LOWER = [[4.0], [1.0, 3.0], [0.5, -0.8, 2.0]]
WITH_NAN = np.where(np.triu(np.ones((3, 3)), 1) == 1, np.nan, S)


@pytest.mark.parametrize(
    "form",
    [
        S,
        S.tolist(),
        LOWER,
        [4.0, 1.0, 3.0, 0.5, -0.8, 2.0],
        np.array([4.0, 1.0, 3.0, 0.5, -0.8, 2.0]),
        np.tril(S),
        WITH_NAN,
        [[4.0, None, None], [1.0, 3.0, None], [0.5, -0.8, 2.0]],
    ],
)
def test_forms_of_a_covariance(form: Any) -> None:
    m = Moments.from_cov(form, 50)
    assert m.names == ("x1", "x2", "x3")
    np.testing.assert_array_equal(m.cov, S)
    np.testing.assert_array_equal(m.mean, 0.0)
    smaller = Moments.from_cov(form, 50, names=["a", "b", "c"], mean={"c": 3, "a": 1, "b": 2}, divisor="n-1")
    np.testing.assert_allclose(smaller.cov, S * 49 / 50)
    np.testing.assert_array_equal(smaller.mean, [1, 2, 3])


def test_covariance_frames() -> None:
    names = ["a", "b", "c"]
    frame = pd.DataFrame(S, index=names, columns=names)
    for given_frame in (
        frame,
        frame.loc[["c", "a", "b"]],
        pd.DataFrame(S, columns=names),
        pd.DataFrame(WITH_NAN, columns=names, index=names),
        pl.DataFrame(S, schema=names),
        pl.DataFrame({"": names, **{v: S[:, k] for k, v in enumerate(names)}}),
    ):
        m = Moments.from_cov(given_frame, 50, mean=pd.Series([3.0, 1.0, 2.0], index=["c", "a", "b"]))
        assert m.names == ("a", "b", "c")
        np.testing.assert_array_equal(m.cov, S)
        np.testing.assert_array_equal(m.mean, [1, 2, 3])
    turned = Moments.from_cov(pd.DataFrame(np.tril(S), index=names, columns=names), 50, names=["c", "a", "b"])
    np.testing.assert_array_equal(turned.cov, S[np.ix_([2, 0, 1], [2, 0, 1])])
    with pytest.raises(DataError, match="different names"):
        Moments.from_cov(pd.DataFrame(S, index=["a", "b", "z"], columns=names), 50)
    with pytest.raises(DataError, match="names says"):
        Moments.from_cov(frame, 50, names=["a", "b", "z"])
    with pytest.raises(DataError, match="two columns 'a'"):
        Moments.from_cov(pd.DataFrame(S, columns=["a", "a", "c"]), 50)


DEPENDENT = np.array([[1.0, 0.0, 1.0, 0.2], [0.0, 1.0, 1.0, 0.1], [1.0, 1.0, 2.0, 0.3], [0.2, 0.1, 0.3, 1.0]])


@pytest.mark.parametrize(
    ("cov", "n", "message"),
    [
        (np.ones((2, 3)), 9, "square"),
        ([[1, 2], [3, 4], [5]], 9, "lengths"),
        ([1.0, 2.0], 9, "flat lower triangle"),
        ("text", 9, "matrix of numbers"),
        (S * 1j, 9, "complex"),
        (S + np.triu(np.ones((3, 3)), 2), 9, "not symmetric: 'x1' with 'x3'"),
        (S - np.diag([0, 3, 0]), 9, "variance of 'x2' is zero"),
        (S - np.diag([0, 4, 0]), 9, "variance of 'x2' is negative"),
        (np.where(S == 0.5, np.nan, S), 9, "'x1' and 'x3' is missing"),
        (S, None, "n is missing"),
        (S, 1, "at least 2"),
        (S, float("nan"), "positive number"),
        (DEPENDENT, 9, "singular: 'x3' is a linear combination of 'x1', 'x2'"),
        ([[1, 0.9, -0.9], [0.9, 1, 0.9], [-0.9, 0.9, 1]], 9, "'x1', 'x2' would explain more than all .* 'x3'"),
    ],
)
def test_refused_covariances(cov: Any, n: float | None, message: str) -> None:
    with pytest.raises(DataError, match=message):
        Moments.from_cov(cov, n)


def test_refused_options_of_a_covariance() -> None:
    with pytest.raises(DataError, match="2 names"):
        Moments.from_cov(S, 9, names=["a", "b"])
    with pytest.raises(DataError, match="divisor"):
        Moments.from_cov(S, 9, divisor="n+1")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="mean of 'x2' is missing"):
        Moments.from_cov(S, 9, mean={"x1": 0, "x3": 0})
    with pytest.raises(DataError, match="one number for each"):
        Moments.from_cov(S, 9, mean=[0.0])


def test_check_names_the_culprits() -> None:
    x = rows(1, 50, 4)
    check(read_moments(x, list("abcd")))
    constant, copied, summed = x.copy(), x.copy(), x.copy()
    constant[:, 2] = 0.1
    copied[:, 3] = 7.0 - 2.0 * x[:, 1]
    summed[:, 3] = x[:, 0] + x[:, 2]
    with pytest.raises(DataError, match="same value in every row: 'c'"):
        check(read_moments(constant, list("abcd")))
    with pytest.raises(DataError, match="'b' and 'd' are the same"):
        check(read_moments(copied, list("abcd")))
    with pytest.raises(DataError, match="'d' is a linear combination of 'a', 'c'"):
        check(read_moments(summed, list("abcd")))
    with pytest.raises(DataError, match="4 rows are too few for 4 columns"):
        check(read_moments(x[:4], list("abcd")))


def test_check_lets_large_means_and_near_copies_pass() -> None:
    x = rows(2, 500, 3)
    x[:, 0] += 1e12
    x[:, 2] = x[:, 1] + 1e-4 * np.random.default_rng(3).standard_normal(500)
    moments = read_moments(x, list("abc"))
    check(moments)
    spread = np.sqrt(np.diag(moments.cov))
    assert moments.mean[0] > 1e11 * spread[0]
    assert 1 - 1e-6 < moments.cov[1, 2] / (spread[1] * spread[2]) < 1.0
