"""How far from the best that any model reaches a true one is: with few rows, beside the exact mean."""

import numpy as np
import pytest
from scipy.special import digamma

from halftrek.estimation.district.doubt import few_rows_share


@pytest.mark.parametrize("ahead", [1, 3, 6])
@pytest.mark.parametrize("rows", [30, 60, 200])
def test_few_rows_raise_the_deviance_of_a_true_regression_as_the_share_says(ahead: int, rows: int) -> None:
    """One of so many regressors is left out: the ratio of squares is a beta variable, and the mean of its log known."""
    left = (rows - 1.0 - ahead) / 2.0
    mean = rows * (digamma(left + 0.5) - digamma(left))
    (share,) = few_rows_share(np.array([float(rows)]), np.array([float(ahead)]))
    assert 0.95 < share * mean < 1.0


def test_a_share_where_rows_are_unknown_or_hardly_more_than_regressors() -> None:
    np.testing.assert_array_equal(few_rows_share(np.array([np.nan, 8.0]), np.array([3.0, 7.0])), [1.0, 0.2])
