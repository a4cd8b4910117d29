"""A fit stands where the likelihood of its rows is highest, and its value there is what it says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2

import halftrek as ht
from tests import kinds
from tests.kinds import KINDS, Kind, lacking
from tests.mechanisms.plain import column, loglik, plain, read, slopes
from tests.narrow import some


@pytest.mark.parametrize("kind", KINDS.values(), ids=str)
def test_the_value_is_that_of_the_densities(kind: Kind) -> None:
    model = plain(kind)
    with lacking("value", kind):
        assert kinds.fit(kind).loglik == pytest.approx(float(loglik(model, model.theta)), rel=1e-12)


@pytest.mark.parametrize("kind", KINDS.values(), ids=str)
def test_no_parameter_would_raise_it(kind: Kind) -> None:
    """The slope along the standard error of each."""
    model = plain(kind)
    gradient = slopes(lambda theta: loglik(model, theta), model.theta)
    errors = column(model, kinds.fit(kind).params())
    with lacking("gradient", kind):
        np.testing.assert_allclose(gradient * errors, 0.0, atol=1e-5, err_msg="slope of the likelihood")


def fall(kind: Kind, smaller: Any) -> float:
    """Twice what the likelihood loses in a smaller model."""
    lower, upper = read(kind, smaller), plain(kind)
    return 2.0 * float(loglik(upper, upper.theta) - loglik(lower, lower.theta))


@pytest.mark.parametrize("kind", KINDS.values(), ids=str)
def test_a_profile_is_made_of_fits_with_the_coefficient_held(kind: Kind) -> None:
    with lacking("profile", kind):
        profile = kinds.fit(kind).profile(kind.edges[-1], points=3)
        for value, deviance in some(zip(profile.values, profile.deviance, strict=True)):
            assert deviance == pytest.approx(fall(kind, kind.holding(value)), abs=1e-6)


@pytest.mark.parametrize("kind", KINDS.values(), ids=str)
def test_nested_fits_differ_by_their_likelihoods(kind: Kind) -> None:
    with lacking("nested fits", kind):
        smaller = kind.holding(0.4)
        (found,) = ht.compare({"smaller": smaller, "larger": kinds.fit(kind)}, robust=False).nested
        assert (found.smaller, found.larger, found.df) == ("smaller", "larger", 1)
        assert found.statistic == pytest.approx(fall(kind, smaller), abs=1e-8)
        assert found.p == pytest.approx(chi2.sf(found.statistic, 1), rel=1e-9)
