"""Sums given that another lies between two ends: moments against numerical integration, slopes against differences."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from halftrek.bottom.arrays import Floats
from halftrek.queries.normal.truncated import Truncated, truncated

LOW, HIGH = np.array([-0.4]), np.array([1.7])
CASES = [(LOW, HIGH), (LOW, np.array([np.inf])), (np.array([-np.inf]), HIGH)]


def at(mean: Floats, cov: Floats, low: Floats, high: Floats) -> Truncated:
    """Two sums given an event about the third."""
    found = truncated(mean, np.linalg.cholesky(cov).T, 2, low, high, "a question")
    assert found is not None
    return found


def world() -> tuple[Floats, Floats]:
    A = np.random.default_rng(3).normal(size=(3, 3))
    return np.array([0.3, -1.0, 0.6]), A @ A.T + np.eye(3)


@pytest.mark.parametrize(("low", "high"), CASES)
def test_moments_are_integrals_over_what_is_known(low: Floats, high: Floats) -> None:
    mean, cov = world()
    sd, slope = np.sqrt(cov[2, 2]), cov[:2, 2] / cov[2, 2]

    def integral(power: int) -> float:
        ends = np.clip([low[0], high[0]], mean[2] - 12 * sd, mean[2] + 12 * sd)
        return float(quad(lambda z: z**power * norm.pdf(z, mean[2], sd), *ends, epsabs=1e-13)[0])

    share = integral(0)
    centre = integral(1) / share
    variance = integral(2) / share - centre**2
    found, spread = at(mean, cov, low, high).moments()
    assert found == pytest.approx(mean[:2] + slope * (centre - mean[2]), abs=1e-9)
    left = cov[:2, :2] - np.outer(slope, slope) * cov[2, 2]
    assert spread == pytest.approx(left + np.outer(slope, slope) * variance, abs=1e-9)


@pytest.mark.parametrize(("low", "high"), CASES)
def test_slopes_are_those_of_differences(low: Floats, high: Floats) -> None:
    mean, cov = world()
    rng = np.random.default_rng(4)
    by_mean, by_cov = rng.normal(size=2), rng.normal(size=(2, 2))
    by_cov = by_cov + by_cov.T

    def value(m: Floats, S: Floats) -> float:
        found, spread = at(m, S, low, high).moments()
        return float(by_mean @ found + (by_cov * spread).sum())

    means, covs = at(mean, cov, low, high).pull(by_mean, by_cov)
    h = 1e-5
    for i in range(3):
        step = h * np.eye(3)[i]
        assert means[i] == pytest.approx((value(mean + step, cov) - value(mean - step, cov)) / (2 * h), abs=1e-7)
        for j in range(i + 1):
            move = np.zeros((3, 3))
            move[i, j] = move[j, i] = h
            slow = (value(mean, cov + move) - value(mean, cov - move)) / (2 * h)
            assert covs[i, j] + covs[j, i] * (i != j) == pytest.approx(slow, abs=1e-6)
