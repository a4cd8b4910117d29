"""Conditioning against the textbook formula, and singular corners."""

from __future__ import annotations

import numpy as np
import pytest

from halftrek.errors import QueryError
from halftrek.models import CGLSCM, Gaussian
from halftrek.models.gaussian import spread_units


def example() -> Gaussian:
    A = np.random.default_rng(0).normal(size=(4, 4))
    return Gaussian(("a", "b", "c", "d"), np.arange(4.0), A @ A.T + np.eye(4))


def test_given_is_the_textbook_conditional() -> None:
    joint = example()
    found = joint.given({"b": 2.0, "d": -1.0})
    S = joint.cov
    keep, on = [0, 2], [1, 3]
    slope = S[np.ix_(keep, on)] @ np.linalg.inv(S[np.ix_(on, on)])
    np.testing.assert_allclose(found.mean, joint.mean[keep] + slope @ (np.array([2.0, -1.0]) - joint.mean[on]))
    np.testing.assert_allclose(found.cov, S[np.ix_(keep, keep)] - slope @ S[np.ix_(on, keep)])
    assert found.names == ("a", "c")


def test_given_in_two_steps_is_given_at_once() -> None:
    joint = example()
    once, twice = joint.given({"b": 1.0, "c": 0.0}), joint.given({"b": 1.0}).given({"c": 0.0})
    np.testing.assert_allclose(once.mean, twice.mean)
    np.testing.assert_allclose(once.cov, twice.cov)


def test_conditioning_does_not_depend_on_units() -> None:
    joint = example()
    unit = np.array([1e14, 1e-12, 3e9, 1e-7])
    other = Gaussian(joint.names, joint.mean * unit, joint.cov * np.outer(unit, unit))
    expected = joint.given({"b": 2.0, "c": 0.5, "d": -1.0})
    found = other.given({"b": 2.0 * unit[1], "c": 0.5 * unit[2], "d": -unit[3]})
    np.testing.assert_allclose(found.mean / unit[0], expected.mean, rtol=1e-9)
    np.testing.assert_allclose(found.cov / unit[0] ** 2, expected.cov, rtol=1e-9)


@pytest.mark.parametrize("size", [1e-12, 1.0, 1e14])
def test_a_held_variable_is_compared_in_its_own_units(size: float) -> None:
    joint = CGLSCM.from_parameters(names=["x", "y"], T=[[0, 2], [0, 0]], mu=[0, 1]).do({"x": 3.0 * size}).joint
    assert joint.given({"x": 3.0 * size}).mean[0] == pytest.approx(1.0 + 6.0 * size)
    with pytest.raises(QueryError, match="cannot have the value"):
        joint.given({"x": 3.1 * size})


def test_conditioning_on_a_held_variable_at_its_value_is_fine_and_elsewhere_impossible() -> None:
    model = CGLSCM.from_parameters(names=["x", "y"], T=[[0, 2], [0, 0]], mu=[0, 1])
    joint = model.do({"x": 3}).joint
    found = joint.given({"x": 3})
    assert found.mean[0] == pytest.approx(7)
    assert found.cov[0, 0] == pytest.approx(1)
    with pytest.raises(QueryError, match="'x' cannot have the value 4"):
        joint.given({"x": 4})


def test_marginal_order_and_unknown_name() -> None:
    joint = example()
    assert joint.marginal(["d", "a"]).names == ("d", "a")
    assert joint.marginal("c").mean[0] == 2.0
    assert joint.given({}) is joint
    with pytest.raises(QueryError, match="no variable 'z'"):
        joint.marginal("z")


def test_scales_that_differ_by_many_orders() -> None:
    joint = Gaussian(("x", "y"), np.zeros(2), np.array([[1e-12, 5e-7], [5e-7, 1.0]]))
    found = joint.given({"x": 1e-6})
    assert found.mean[0] == pytest.approx(0.5)
    assert found.cov[0, 0] == pytest.approx(0.75)


def test_singular_sample_has_constant_columns() -> None:
    rows = Gaussian(("x", "y"), np.array([1.0, 2.0]), np.diag([0.0, 4.0])).sample(1000, random_state=0)
    assert (rows[:, 0] == 1.0).all()
    assert rows[:, 1].std() == pytest.approx(2.0, rel=0.1)
    assert repr(Gaussian(("y",), np.array([1.0]), np.array([[2.0]]))) == "y ~ N(1, 2)"


def test_a_distribution_without_any_variance_is_sampled_as_its_mean() -> None:
    rows = Gaussian(("x", "y"), np.array([1.0, 2.0]), np.zeros((2, 2))).sample(3, random_state=0)
    np.testing.assert_array_equal(np.asarray(rows), [[1.0, 2.0]] * 3)


@pytest.mark.parametrize(
    ("variances", "units"),
    [
        ([0.0, 0.0], [1.0, 1.0]),
        ([4.0, 9.0], [1.0, 1.0]),
        ([4.0, 0.0], [1.0, 1.0]),
        ([1e-30, 4.0], [1e-15, 2.0]),
        ([1e-30, 4.0, 0.0], [1e-15, 2.0, 1.0]),
    ],
)
def test_units_are_changed_only_where_variances_are_far_apart(variances: list[float], units: list[float]) -> None:
    np.testing.assert_allclose(spread_units(np.array(variances)), units, rtol=1e-12)
