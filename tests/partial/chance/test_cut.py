"""Critical values of likelihood sets, against simulated mixtures and known numbers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2, norm

from halftrek.partial.chance.cut import cut_for, mixture_tail, stoye_quantile


def test_known_cuts() -> None:
    assert cut_for(1) == pytest.approx(3.841458820694124)
    assert cut_for(0) == cut_for(1)
    assert cut_for(2) == pytest.approx(5.14, abs=0.005)  # Self and Liang 1987, case 6
    assert cut_for(1, 0.9) == pytest.approx(chi2.ppf(0.9, 1))


@pytest.mark.parametrize("k", [2, 3, 5])
def test_the_mixture_leaves_what_it_says(k: int) -> None:
    rng = np.random.default_rng(k)
    drawn = np.where(rng.random(400_000) < 0.5, rng.chisquare(k - 1, 400_000), rng.chisquare(k, 400_000))
    assert (drawn > cut_for(k)).mean() == pytest.approx(0.05, abs=0.0015)
    assert mixture_tail(3.0, k) == pytest.approx((chi2.sf(3.0, k - 1) + chi2.sf(3.0, k)) / 2.0)


def test_one_restriction_of_an_inequality_is_half_of_chi_squared() -> None:
    assert mixture_tail(2.7, 1) == pytest.approx(chi2.sf(2.7, 1) / 2.0)
    assert mixture_tail(0.0, 1) == 1.0


@pytest.mark.parametrize("width", [0.0, 0.5, 2.0, 50.0])
def test_stoye_covers_the_ends_of_the_set(width: float) -> None:
    c = stoye_quantile(width, 1.0)
    assert norm.cdf(c + width) - norm.cdf(-c) == pytest.approx(0.95)
    assert norm.ppf(0.95) - 1e-9 <= c <= norm.ppf(0.975) + 1e-9
