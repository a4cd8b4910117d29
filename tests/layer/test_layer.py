"""Layer moments against slow ways to the same number, and their row influence against weights that are changed."""

import numpy as np
import pytest
from scipy import optimize, stats

from halftrek.bottom.arrays import Floats
from halftrek.bottom.choices import ColumnKind
from halftrek.errors import DataError
from halftrek.layer import RowInfluence, layer_of
from halftrek.layer.bivariate import below_both, cells

S = np.array([[1.0, 0.5, 0.4, 0.3], [0.5, 1.0, 0.3, 0.2], [0.4, 0.3, 1.0, 0.6], [0.3, 0.2, 0.6, 1.0]])
KINDS: dict[str, ColumnKind] = {"a": "ordered", "b": "ordered", "c": "ranked"}


def mixed_rows(n: int, seed: int = 0) -> Floats:
    """An ordinal, a binary, a skewed and a plain column."""
    x = np.random.default_rng(seed).multivariate_normal(np.zeros(4), S, n)
    columns = [np.digitize(x[:, 0], [-0.5, 0.8]), np.digitize(x[:, 1], [0.3]), np.exp(x[:, 2]), 2.0 + 3.0 * x[:, 3]]
    return np.stack(columns, axis=1).astype(float)


def test_probabilities_below_two_cuts_are_those_of_scipy() -> None:
    for h, k, r in [(0.0, 0.0, 0.6), (-1.2, 0.4, -0.9), (0.0, 1.0, 0.3), (2.0, -2.5, 0.99), (1.0, 1.0, 0.0)]:
        known = stats.multivariate_normal([0.0, 0.0], [[1.0, r], [r, 1.0]]).cdf([h, k])
        assert below_both(np.array(h), np.array(k), np.array(r)) == pytest.approx(known, abs=1e-8)


def test_cells_move_as_finite_differences_say() -> None:
    h, k, r = np.array([[-0.7, 0.0, np.inf]]), np.array([[0.0, 1.1, 1.9]]), np.array([0.55])
    found, step = cells(h, k, r), 1e-6
    assert found.share.sum() == pytest.approx(1.0)
    by_r = (cells(h, k, r + step).share - cells(h, k, r - step).share) / (2 * step)
    np.testing.assert_allclose(found.by_r, by_r, atol=1e-8)
    by_rr = (cells(h, k, r + step).by_r - cells(h, k, r - step).by_r) / (2 * step)
    np.testing.assert_allclose(found.by_rr, by_rr, atol=1e-8)
    for c in range(3):
        move = np.zeros((1, 3))
        move[0, c] = step
        with np.errstate(invalid="ignore"):
            first = (cells(h + move, k, r).share - cells(h - move, k, r).share) / (2 * step)
            second = (cells(h, k + move, r).share - cells(h, k - move, r).share) / (2 * step)
        np.testing.assert_allclose(found.by_first[:, c], first, atol=1e-8)
        np.testing.assert_allclose(found.by_second[:, c], second, atol=1e-8)


def test_a_table_with_a_known_correlation() -> None:
    """Halves cut at the middle: P(both) = 1/4 + asin(r) / (2 pi) = 0.4 gives r = sin 54 degrees = cos 36 degrees."""
    rows = np.repeat([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [40, 10, 10, 40], axis=0)
    found = layer_of(["a", "b"], rows, {"a": "ordered", "b": "ordered"})
    assert found.cov[0, 1] == pytest.approx(np.cos(np.deg2rad(36.0)), abs=1e-14)


def test_polychoric_is_the_maximum_that_scipy_finds() -> None:
    rows = mixed_rows(400, 3)[:, :2]
    found = layer_of(["a", "b"], rows, {"a": "ordered", "b": "ordered"})
    h, k = (stats.norm.ppf(np.cumsum(np.unique(c, return_counts=True)[1])[:-1] / 400) for c in rows.T)
    np.testing.assert_allclose(found.margins[0].cuts, h)

    def misfit(r: float) -> float:
        normal = stats.multivariate_normal([0.0, 0.0], [[1.0, r], [r, 1.0]])
        corner = np.array([[normal.cdf([x, y]) for y in (-9.0, *k, 9.0)] for x in (-9.0, *h, 9.0)])
        share = np.diff(np.diff(corner, axis=0), axis=1)
        return -sum(float(np.log(share[int(a), int(b)])) for a, b in rows)

    slow = optimize.minimize_scalar(misfit, bounds=(-0.95, 0.95), method="bounded", options={"xatol": 1e-8})
    assert found.cov[0, 1] == pytest.approx(slow.x, abs=1e-5)


def test_polyserial_is_the_maximum_that_scipy_finds() -> None:
    rows = mixed_rows(400, 4)[:, [0, 3]]
    found = layer_of(["a", "d"], rows, {"a": "ordered"})
    z = (rows[:, 1] - rows[:, 1].mean()) / rows[:, 1].std()
    cuts = np.concatenate([[-np.inf], found.margins[0].cuts, [np.inf]])
    a = rows[:, 0].astype(int)

    def misfit(r: float) -> float:
        u = [(cuts[at] - r * z) / np.sqrt(1.0 - r * r) for at in (a, a + 1)]
        return -float(np.log(stats.norm.cdf(u[1]) - stats.norm.cdf(u[0])).sum())

    slow = optimize.minimize_scalar(misfit, bounds=(-0.95, 0.95), method="bounded", options={"xatol": 1e-9})
    assert found.correlations[0, 1] == pytest.approx(slow.x, abs=1e-6)
    assert found.cov[0, 1] == pytest.approx(slow.x * rows[:, 1].std(), abs=1e-5)


def test_correlations_of_normal_scores() -> None:
    x = np.random.default_rng(1).normal(size=(50, 2)) @ np.array([[1.0, 0.7], [0.0, 0.7]])
    z = stats.norm.ppf((stats.rankdata(x, axis=0) - 0.5) / 50)
    found = layer_of(["a", "b"], x, {"a": "ranked", "b": "ranked"})
    assert found.cov[0, 1] == pytest.approx(np.corrcoef(z.T)[0, 1], abs=1e-14)


def test_monotone_transforms_change_nothing_not_even_a_digit() -> None:
    rows = mixed_rows(300, 5)
    other = rows.copy()
    other[:, 0] = rows[:, 0] ** 3 - 7.0
    other[:, 2] = np.log(rows[:, 2])
    np.testing.assert_array_equal(layer_of("abcd", rows, KINDS).cov, layer_of("abcd", other, KINDS).cov)


def statistics(rows: Floats, weights: Floats | None = None) -> Floats:
    """All moments and cuts, one after the other."""
    found = layer_of("abcd", rows, KINDS, weights)
    pairs = found.cov[np.triu_indices(4)]
    return np.concatenate([pairs, found.margins[0].cuts, found.margins[1].cuts, found.mean])


def influences(rows: Floats) -> Floats:
    """What rows add to each of them."""
    of = RowInfluence(layer_of("abcd", rows, KINDS))
    cuts = [
        of.cuts(rows, 0, np.array([1.0, 0.0])),
        of.cuts(rows, 0, np.array([0.0, 1.0])),
        of.cuts(rows, 1, np.ones(1)),
    ]
    return np.concatenate([of.products(rows, np.arange(4)), np.stack(cuts, axis=1), of.means(rows)], axis=1)


def test_influence_of_strong_correlations_far_in_the_tails() -> None:
    rng = np.random.default_rng(11)
    x = rng.normal(size=2000)
    y = 0.9 * x + np.sqrt(1.0 - 0.81) * rng.normal(size=2000)
    rows = np.stack([np.exp(x), 5.0 * x, (y > 0.4).astype(float)], axis=1)
    kinds: dict[str, ColumnKind] = {"r": "ranked", "y": "ordered"}
    added = RowInfluence(layer_of(["r", "x", "y"], rows, kinds)).products(rows, np.arange(3))
    now = layer_of(["r", "x", "y"], rows, kinds).cov[:2, 2]
    for row in range(20):
        weights = np.ones(2000)
        weights[row] = 1.001
        moved = (layer_of(["r", "x", "y"], rows, kinds, weights).cov[:2, 2] - now) / 0.001 * 2000
        np.testing.assert_allclose(added[row, [2, 4]] / [1.0, 5.0], moved / [1.0, 5.0], atol=0.06)


@pytest.mark.parametrize("holes", [False, True])
def test_influence_is_what_a_heavier_row_does(holes: bool) -> None:
    """Exactly for cuts and means; for correlations expectations stand for means over rows, so for many rows."""
    n, rng = 4000, np.random.default_rng(6)
    rows = mixed_rows(n, 6)
    if holes:
        rows[rng.random(rows.shape) < 0.2] = np.nan
    added, some = influences(rows), rng.choice(n, 25, replace=False)
    now = statistics(rows)
    moved = []
    for row in some:
        weights = np.ones(n)
        weights[row] = 1.001
        moved.append((statistics(rows, weights) - now) / 0.001 * n)
    slow, fast = np.array(moved), added[some]
    for k in range(slow.shape[1]):
        if slow[:, k].any():
            gap, size = (float(np.sqrt(np.mean(x**2))) for x in (slow[:, k] - fast[:, k], slow[:, k]))
            assert gap < 0.07 * size, k  # errors are root mean squares; a single row far out differs by more
    assert np.abs(added.mean(axis=0)).max() < 0.02


def test_influence_gives_the_spread_over_samples() -> None:
    many = np.array([statistics(mixed_rows(500, seed)) for seed in range(150)])
    promised = np.sqrt((influences(mixed_rows(5000, 999)) ** 2).mean(axis=0) / 500.0)
    moving = promised > 0.0
    ratio = many.std(axis=0)[moving] / promised[moving]
    assert ratio.min() > 0.8
    assert ratio.max() < 1.2


def test_pairwise_rows_are_those_that_have_both() -> None:
    rows = mixed_rows(800, 7)
    rows[:200, 0] = np.nan
    rows[150:400, 1] = np.nan
    rows[600:, 3] = np.nan
    found = layer_of("abcd", rows, KINDS)
    margins = [column[~np.isnan(column)] for column in rows.T]
    np.testing.assert_allclose(found.margins[1].below, np.mean(margins[1] == 0.0))
    assert found.have[0, 1] == pytest.approx(0.5)
    assert found.have[3, 3] == pytest.approx(0.75)


def test_weights_count_rows() -> None:
    rows = mixed_rows(300, 8)
    times = np.random.default_rng(8).integers(1, 4, 300)
    np.testing.assert_allclose(
        layer_of("abcd", rows, KINDS, times.astype(float)).cov,
        layer_of("abcd", np.repeat(rows, times, axis=0), KINDS).cov,
    )


def test_an_empty_cell_is_named() -> None:
    rows = np.repeat([[0.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [30, 20, 30], axis=0)
    with pytest.raises(DataError, match="no row has a=1 and b=0: their correlation is at its border; merge categories"):
        layer_of(["a", "b"], rows, {"a": "ordered", "b": "ordered"})


def test_correlations_that_do_not_go_together_are_named() -> None:
    """Each pair comes from other rows, which can be of any sign."""
    nan = np.nan
    pairs = [((0, 1), 1), ((1, 2), 1), ((0, 2), -1)]
    rows = []
    for (i, j), sign in pairs:
        for x, y, times in ((0, 0, 45), (1, 1, 45), (0, 1, 5), (1, 0, 5)):
            row = [nan, nan, nan]
            row[i], row[j] = float(x), float(y if sign > 0 else 1 - y)
            rows += [row] * times
    with pytest.raises(DataError, match=r"behind .* are no covariance matrix \(smallest eigenvalue -0\.9"):
        layer_of("abc", np.array(rows), {"a": "ordered", "b": "ordered", "c": "ordered"})


def test_where_no_few_columns_stand_out_the_foremost_are_named() -> None:
    """Of many columns none may have a large share, and one alone cannot be the culprit."""
    rows = (np.random.default_rng(3).normal(size=(60, 1)) * 0.3 + np.random.default_rng(4).normal(size=(60, 40))) > 0.0
    names = [f"v{k}" for k in range(40)]
    with pytest.raises(DataError, match=r"behind 'v\d+', 'v\d+', 'v\d+' are no covariance matrix"):
        layer_of(names, rows.astype(float), dict.fromkeys(names, "ordered"))


def test_categories_that_are_too_few_or_too_many() -> None:
    rows = mixed_rows(100, 9)
    rows[0, 0] = 9.0
    with pytest.raises(DataError, match="only one row has 'a' = 9; merge the category"):
        layer_of("abcd", rows, KINDS)
    with pytest.raises(DataError, match=r"'c' has 100 values, more than the 12 categories .* kinds=\{'c': 'ranked'\}"):
        layer_of("abcd", mixed_rows(100, 9), {"c": "ordered"})
    constant = mixed_rows(100, 9)
    constant[:, 1] = 1.0
    with pytest.raises(DataError, match="'b' has one value in all rows"):
        layer_of("abcd", constant, KINDS)
