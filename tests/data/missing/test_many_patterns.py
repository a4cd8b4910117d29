"""Many patterns at once against one row after the other."""

from __future__ import annotations

import numpy as np
import pytest

from halftrek.data import Patterns, read_patterns
from halftrek.data.missing import curvature, gather, holes
from halftrek.data.missing.curvature import Moves, summed_up
from halftrek.data.missing.descent import descend
from halftrek.data.missing.gather import Bundle, PatternSums
from halftrek.data.missing.holes import gather_sums, precisions, suits
from halftrek.data.missing.likelihood import best_mean, completed, loglik, slope


def incomplete(p: int, n: int, share: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows with holes, among them some of the same pattern, of one value, and of none; and weights that count."""
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(n, p)) @ rng.normal(size=(p, p)) + 5.0 * rng.normal(size=p)
    table[rng.random((n, p)) < share] = np.nan
    table[: n // 10, 1:] = np.nan
    table[n // 10 : n // 5, : p // 2] = np.nan
    table[n // 5] = np.nan
    return table, rng.integers(1, 4, size=n).astype(float)


def point(p: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(p, 2 * p))
    return rng.normal(size=p), root @ root.T / p + np.eye(p)


def row_terms(table: np.ndarray, weights: np.ndarray, mean: np.ndarray, cov: np.ndarray) -> list:
    """Weight, columns, K and d of each row that has a value."""
    found = []
    for row, weight in zip(table, weights, strict=True):
        at = np.flatnonzero(~np.isnan(row))
        if len(at):
            K = np.zeros_like(cov)
            K[np.ix_(at, at)] = np.linalg.inv(cov[np.ix_(at, at)])
            found.append((weight, at, K, np.where(np.isnan(row), 0.0, row - mean)))
    return found


CASES = [(3, 60, 0.3, 0), (5, 200, 0.2, 1), (6, 150, 0.7, 2), (7, 300, 0.45, 3), (12, 80, 0.15, 4), (25, 40, 0.5, 5)]


def gathered(case: tuple[int, int, float, int]) -> tuple[Patterns, np.ndarray, np.ndarray]:
    table, weights = incomplete(*case)
    found = read_patterns(
        {f"v{i}": table[:, i] for i in range(table.shape[1])}, [f"v{i}" for i in range(table.shape[1])], weights=weights
    )
    assert isinstance(found, Patterns)
    return found, table, weights


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("stack", [50, 400_000])
def test_sums_are_those_of_rows(case: tuple[int, int, float, int], stack: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(holes, "STACK", stack)
    patterns, table, weights = gathered(case)
    mean, cov = point(case[0], case[3])
    value, pull, squares, precision = 0.0, np.zeros(len(mean)), np.zeros_like(cov), np.zeros_like(cov)
    for weight, at, K, d in row_terms(table, weights, mean, cov):
        logs = np.linalg.slogdet(cov[np.ix_(at, at)])[1]
        value -= 0.5 * weight * (len(at) * np.log(2.0 * np.pi) + logs + d @ K @ d)
        pull += weight * K @ d
        squares += weight * np.outer(K @ d, K @ d)
        precision += weight * K
    found = gather_sums(patterns, mean, cov)
    assert found.value == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(found.pull, pull, rtol=1e-10, atol=1e-10 * np.abs(pull).max())
    np.testing.assert_allclose(found.squares, squares, rtol=1e-10, atol=1e-10 * np.abs(squares).max())
    np.testing.assert_allclose(found.precision, precision, rtol=1e-10, atol=1e-10 * np.abs(precision).max())


@pytest.mark.parametrize("case", CASES)
def test_slopes_are_differences_and_both_ways_agree(
    case: tuple[int, int, float, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    patterns, _, _ = gathered(case)
    mean, cov = point(case[0], case[3])
    monkeypatch.setattr(holes, "MANY", 10**12)
    assert not suits(patterns, cov)
    usual, value, centre = slope(patterns, mean, cov), loglik(patterns, mean, cov), best_mean(patterns, cov)
    filled = completed(patterns, mean, cov)
    monkeypatch.setattr(holes, "MANY", 0)
    assert suits(patterns, cov)
    found = slope(patterns, mean, cov)
    assert loglik(patterns, mean, cov) == pytest.approx(value, rel=1e-13)
    np.testing.assert_allclose(found.mean, usual.mean, rtol=1e-9, atol=1e-10 * np.abs(usual.mean).max())
    np.testing.assert_allclose(found.cov, usual.cov, rtol=1e-9, atol=1e-10 * np.abs(usual.cov).max())
    np.testing.assert_allclose(best_mean(patterns, cov), centre, rtol=1e-9)
    np.testing.assert_allclose(completed(patterns, mean, cov).cov, filled.cov, rtol=1e-9, atol=1e-9)
    step = 1e-5
    for i in range(len(mean)):
        move = step * np.eye(len(mean))[i]
        rise = loglik(patterns, mean + move, cov) - loglik(patterns, mean - move, cov)
        assert rise / (2 * step) == pytest.approx(found.mean[i], rel=1e-5, abs=1e-4)
        j = (i + 1) % len(mean)
        D = np.zeros_like(cov)
        D[i, j] = D[j, i] = step
        rise = loglik(patterns, mean, cov + D) - loglik(patterns, mean, cov - D)
        assert rise / (2 * step) == pytest.approx(2.0 * found.cov[i, j], rel=1e-5, abs=1e-4)


@pytest.mark.parametrize("case", CASES[:5])
@pytest.mark.parametrize("numbers", [100, 1_500_000])
def test_curvature_is_that_of_rows(
    case: tuple[int, int, float, int], numbers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(curvature, "NUMBERS", numbers)
    patterns, table, weights = gathered(case)
    p = case[0]
    mean, cov = point(p, case[3])
    rng = np.random.default_rng(case[3])
    A = np.eye(p) + np.triu(rng.normal(size=(p, p)), 1)
    moves = Moves(rng.normal(size=(6, p)), rng.integers(0, p, size=6), rng.normal(size=6))
    units = np.eye(p)[moves.at]
    E = moves.w[:, :, None] * units[:, None, :] + units[:, :, None] * moves.w[:, None, :]
    D, m = A.T @ E @ A, (moves.level[:, None] * units) @ A
    expected, observed = np.zeros((6, 6)), np.zeros((6, 6))
    for weight, _, K, d in row_terms(table, weights, mean, cov):
        q = K @ d
        for a in range(6):
            for b in range(6):
                twice, level = np.trace(D[a] @ K @ D[b] @ K), m[a] @ K @ m[b]
                expected[a, b] += weight * (twice / 2.0 + level)
                bent = q @ D[a] @ K @ D[b] @ q + m[a] @ K @ D[b] @ q + m[b] @ K @ D[a] @ q
                observed[a, b] += weight * (bent - twice / 2.0 + level)
    found = summed_up(patterns, mean, cov, A)
    for matrix, right in ((found.expected, expected), (found.observed, observed)):
        np.testing.assert_allclose(
            found.between(matrix, moves, moves), right, rtol=1e-9, atol=1e-9 * np.abs(right).max()
        )
        np.testing.assert_allclose(
            found.alone(matrix, moves), np.diag(right), rtol=1e-9, atol=1e-9 * np.abs(right).max()
        )
    half = summed_up(patterns, mean, cov, A, observed=False)
    np.testing.assert_allclose(half.expected, found.expected, rtol=1e-12)
    assert half.observed.size == 0


def test_precisions_of_clear_and_of_almost_singular_covariances() -> None:
    table, _ = incomplete(6, 80, 0.4, 0)
    observed = ~np.isnan(table)
    for tilt in (1.0, 1e-7):
        cov = point(6, 1)[1]
        cov[0] = cov[:, 0] = cov[1]
        cov[0, 0], cov[0, 1], cov[1, 0] = cov[1, 1] + tilt, cov[1, 1], cov[1, 1]
        found = precisions(observed, cov)
        assert len(found) == len(observed) > 0
        for flags, K in zip(observed, found, strict=True):
            at = np.flatnonzero(flags)
            right = np.linalg.inv(cov[np.ix_(at, at)]) if len(at) else np.zeros((0, 0))
            np.testing.assert_allclose(K[np.ix_(at, at)], right, rtol=1e-6, atol=1e-6 * np.abs(right).max(initial=0.0))
            assert np.count_nonzero(K) == np.count_nonzero(K[np.ix_(at, at)])


def test_almost_singular_covariances_take_the_careful_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(holes, "MANY", 0)
    patterns, _, _ = gathered(CASES[1])
    mean, cov = point(5, 1)
    assert suits(patterns, cov)
    cov[0], cov[:, 0] = cov[1], cov[:, 1]
    cov[0, 0], cov[0, 1], cov[1, 0] = cov[1, 1] * (1.0 + 1e-8), cov[1, 1], cov[1, 1]
    assert not suits(patterns, cov)
    cov[0, 0] = 0.5 * cov[1, 1]
    assert loglik(patterns, mean, cov) == -np.inf
    with pytest.raises(np.linalg.LinAlgError):
        slope(patterns, mean, cov)


# -- gathering -------------------------------------------------------------------------------------


@pytest.mark.parametrize("buffer", [40, 400, 4_000_000])
def test_patterns_are_gathered_as_one_by_one(buffer: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gather, "BUFFER", buffer)
    table, weights = incomplete(4, 300, 0.3, 7)
    sums = PatternSums(4)
    for start in range(0, 300, 17):
        sums.add(table[start : start + 17], weights[start : start + 17])
    found = sums.parts
    observed = ~np.isnan(table)
    kinds = np.unique(observed[observed.any(axis=1)], axis=0)
    assert len(found) == len(kinds)
    assert sums.empty == (~observed).all(axis=1).sum() > 0
    assert (found.rows[len(found.squares) :] == 1).all()
    for k, flags in enumerate(found.observed):
        rows = (observed == flags).all(axis=1)
        at = np.flatnonzero(flags)
        values, w = table[rows][:, at], weights[rows]
        mean = w @ values / w.sum()
        assert found.rows[k] == rows.sum()
        assert found.n[k] == w.sum()
        np.testing.assert_allclose(found.mean[k, at], mean, rtol=1e-12)
        assert (found.mean[k, ~flags] == 0.0).all()
        if rows.sum() > 1:
            right = np.zeros((4, 4))
            right[np.ix_(at, at)] = ((values - mean) * w[:, None]).T @ (values - mean)
            np.testing.assert_allclose(found.squares[k], right, rtol=1e-10, atol=1e-10 * np.abs(right).max())


def test_many_members_of_one_pattern_meet() -> None:
    rng = np.random.default_rng(0)
    table = rng.normal(size=(60, 3)) + np.array([1e8, 0.0, -3.0])
    sums = PatternSums(3)
    whole = np.ones(3, dtype=bool)
    for rows in np.split(table, 20):
        centred = rows - rows.mean(axis=0)
        sums.merge(whole, 3, 3.0, rows.mean(axis=0), centred.T @ centred)
    centred = table - table.mean(axis=0)
    assert sums.parts.rows.tolist() == [60]
    np.testing.assert_allclose(sums.parts.squares[0], centred.T @ centred, rtol=1e-7)


def test_a_constant_column_stays_constant_to_the_last_bit() -> None:
    table = np.array([[0.1, 1.0, np.nan], [0.1, 2.0, np.nan], [0.1, 5.0, np.nan], [0.1, np.nan, 1.0]])
    sums = PatternSums(3)
    sums.add(table, None)
    parts = sums.parts
    assert (parts.mean[:, 0] == 0.1).all()
    assert (parts.squares[:, 0] == 0.0).all()


def test_a_bundle_takes_those_with_squares_first() -> None:
    squares = np.arange(8.0).reshape(2, 2, 2)
    bundle = Bundle(
        np.ones((3, 2), dtype=bool), np.array([4, 3, 1]), np.array([4.0, 3.0, 1.0]), np.zeros((3, 2)), squares
    )
    found = bundle.take(np.array([2, 1]))
    assert found.rows.tolist() == [3, 1]
    assert (found.squares == squares[1:]).all()


def test_the_number_of_patterns_is_bounded_with_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    p = 8
    root = rng.normal(size=(p, p)) / np.sqrt(p) + np.eye(p)
    table = rng.normal(size=(4000, p)) @ root
    table[rng.random(table.shape) < 0.15] = np.nan
    columns = {f"v{i}": table[:, i] for i in range(p)}
    whole = read_patterns(columns, list(columns))
    assert isinstance(whole, Patterns)
    assert whole.left_out == 0
    assert "too many" not in whole.sentence
    monkeypatch.setattr(gather, "MOST", 60 * (p + p * p))
    monkeypatch.setattr(gather, "BUFFER", 800)
    found = read_patterns(columns, list(columns))
    assert isinstance(found, Patterns)
    assert found.rows.sum() == whole.rows.sum()
    assert len(found) < 90 < len(whole)
    assert found.left_out == whole.used - found.used > 0
    assert found.used > 0.9 * whole.used
    assert f"{found.left_out:,} values of rows with rare ones were left out" in found.sentence
    chosen = found.select(["v0", "v3"])
    assert isinstance(chosen, Patterns)
    assert chosen.left_out == found.left_out
    # values are left out completely at random here, so that what is found stays near
    close = np.abs(found.unrestricted.moments.cov - whole.unrestricted.moments.cov)
    assert close.max() < 0.1 * np.diag(whole.unrestricted.moments.cov).max()
    for k, flags in enumerate(found.observed):
        assert (found.mean[k, ~flags] == 0.0).all()
    for flags, own in zip(found.observed, found.cov, strict=False):
        assert np.count_nonzero(own[~flags]) == np.count_nonzero(own[:, ~flags]) == 0


# -- the search ------------------------------------------------------------------------------------


def test_the_search_arrives_at_rounding() -> None:
    rng = np.random.default_rng(0)
    root = np.eye(8) + 0.3 * rng.normal(size=(8, 8)) / np.sqrt(8)
    H, centre = root @ root.T, rng.normal(size=8)

    def objective(x: np.ndarray) -> tuple[float, np.ndarray]:
        return 1e5 + 0.5 * (x - centre) @ H @ (x - centre) + np.log(np.cosh(x)).sum(), H @ (x - centre) + np.tanh(x)

    x, left = descend(objective, np.zeros(8), enough=1e-11, steps=60)
    assert np.abs(left).max() < 1e-11
    np.testing.assert_allclose(left, objective(x)[1])


def test_the_search_turns_back_where_there_is_no_value() -> None:
    def objective(x: np.ndarray) -> tuple[float, np.ndarray]:
        if x[0] <= 0.0:
            return np.inf, np.zeros(1)
        return float(x[0] - 0.01 * np.log(x[0])), 1.0 - 0.01 / x

    x, _ = descend(objective, np.array([0.9]), enough=1e-9, steps=100)
    assert x[0] == pytest.approx(0.01, rel=1e-6)
