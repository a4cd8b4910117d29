"""Probabilities of boxes against integrals of another kind, and their slopes against differences."""

import numpy as np
import pytest
from scipy import stats

from halftrek.bottom.arrays import Floats
from halftrek.estimation.acts.boxes import MOST, box_shares, box_slopes


def some_boxes(size: int, rows: int, seed: int) -> tuple[Floats, Floats, Floats]:
    """Boxes with ends on both sides or on one, and correlations up to about 0.8."""
    rng = np.random.default_rng(seed)
    loads = rng.uniform(-1.2, 1.2, size=(size, 2))
    R = loads @ loads.T + np.eye(size)
    R /= np.sqrt(np.outer(np.diag(R), np.diag(R)))
    low = rng.normal(-0.8, 0.7, size=(rows, size))
    high = low + rng.uniform(0.5, 2.5, size=(rows, size))
    side = rng.integers(3, size=(rows, size))
    return np.where(side == 0, -np.inf, low), np.where(side == 1, np.inf, high), R


def integral(low: Floats, high: Floats, mean: Floats, cov: Floats) -> float:
    """The normal density over a box, by a grid of Gauss and Legendre in the box itself."""
    x, w = np.polynomial.legendre.leggauss(44)
    spread = 7.0 * np.sqrt(np.diag(cov))
    a, b = np.clip(low, mean - spread, mean + spread), np.clip(high, mean - spread, mean + spread)
    sides = [(u + v) / 2.0 + (v - u) / 2.0 * x for u, v in zip(a, b, strict=True)]
    points = np.stack(np.meshgrid(*sides, indexing="ij"), axis=-1)
    weights = np.ones(())
    for u, v in zip(a, b, strict=True):
        weights = np.multiply.outer(weights, w * (v - u) / 2.0)
    return float((weights * stats.multivariate_normal(mean, cov).pdf(points)).sum())


@pytest.mark.parametrize("size", [1, 2, 3])
def test_shares_are_integrals_of_the_density(size: int) -> None:
    low, high, R = some_boxes(size, 12, size)
    slow = [integral(a, b, np.zeros(size), R) for a, b in zip(low, high, strict=True)]
    np.testing.assert_allclose(box_shares(low, high, R), slow, rtol=1e-4 if size > 2 else 1e-8)


@pytest.mark.parametrize("size", range(3, MOST + 1))
def test_shares_of_larger_boxes_are_those_of_scipy(size: int) -> None:
    low, high, R = some_boxes(size, 8, 10 + size)
    normal = stats.multivariate_normal(np.zeros(size), R, seed=1)
    normal.abseps, normal.releps, normal.maxpts = 1e-6, 1e-6, 2_000_000  # older versions of scipy take them here alone
    slow = [float(normal.cdf(b, lower_limit=a)) for a, b in zip(low, high, strict=True)]
    np.testing.assert_allclose(box_shares(low, high, R), slow, rtol=2e-4, atol=1e-5)


@pytest.mark.parametrize("size", range(1, MOST))
def test_slopes_of_shares_are_differences_of_them(size: int) -> None:
    low, high, R = some_boxes(size, 6, 20 + size)
    by_low, by_high, by_r = box_slopes(low, high, R)
    rtol, atol = (1e-4, 2e-5) if size > 2 else (1e-6, 1e-8)  # the first are those of the grid
    step = 1e-4
    for k in range(size):
        move = np.zeros(size)
        move[k] = step
        for slope, ends in ((by_low, ((low + move, high), (low - move, high))),
                            (by_high, ((low, high + move), (low, high - move)))):  # fmt: skip
            up, down = (box_shares(a, b, R) for a, b in ends)
            np.testing.assert_allclose(slope[:, k], (up - down) / (2.0 * step), rtol=rtol, atol=atol)
    for k, (i, j) in enumerate(zip(*np.triu_indices(size, 1), strict=True)):
        moved = np.zeros_like(R)
        moved[i, j] = moved[j, i] = step
        up, down = (box_shares(low, high, R + side * moved) for side in (1.0, -1.0))
        np.testing.assert_allclose(by_r[:, k], (up - down) / (2.0 * step), rtol=rtol, atol=atol)


@pytest.mark.parametrize("size", range(1, MOST + 1))
def test_boxes_of_independent_variables_are_products(size: int) -> None:
    low, high, _ = some_boxes(size, 10, 30 + size)
    alone = stats.norm.cdf(high) - stats.norm.cdf(low)
    np.testing.assert_allclose(box_shares(low, high, np.eye(size)), alone.prod(axis=1), rtol=1e-9)
