"""Every finite end has a model, also where coordinates have poles, where assumptions touch, and at limits."""

from __future__ import annotations

import numpy as np
import pytest

import halftrek as ht
from halftrek.errors import InputError
from halftrek.partial.assumptions import State, conditions_of, read_assumptions, relaxed
from halftrek.partial.sets import End, IdentifiedSet, identified_set
from tests.partial.mixed import mixed_setting
from tests.partial.test_properties import answer, found

SIGMA = np.array([[1.0, 0.4, 0.5], [0.4, 1.3, 0.6], [0.5, 0.6, 1.6]])
FULL = "x -> m; x -> y; m -> y; x <-> m; x <-> y; m <-> y"


def obeyed(result: IdentifiedSet, end: End, graph: ht.Graph, sigma: np.ndarray, near: float = 1e-6) -> None:
    """The model at an end has its answer, the covariance, and obeys all that is assumed."""
    model = end.model
    assert model is not None
    assert answer(result.query, model) == pytest.approx(end.value, abs=near, rel=near)
    np.testing.assert_allclose(model.cov, sigma, atol=1e-6 * max(1.0, float(np.abs(model.T).max()) ** 2))
    held = conditions_of(result.assumptions, graph, relaxed(graph, result.assumptions).observed)
    values = held.values(State(model.T, model.omega, np.asarray(model.cov)))
    assert (np.where(held.equal, np.abs(values), values) < 1e-6).all()


@pytest.mark.parametrize(
    ("seed", "attained"),
    [
        (20_066, True),  # two equations leave two points
        (20_087, True),  # at the end one weight no longer follows from the others
        (20_026, False),  # a limit, far out
        (21_052, False),  # another, which seemed to be reached
    ],
)
def test_ends_that_had_no_model(seed: int, attained: bool) -> None:
    setting = mixed_setting(seed, 2)
    result = found(setting)
    ends = [end for end in (result.lower, result.upper) if np.isfinite(end.value)]
    assert ends
    for end in ends:
        assert end.attained is attained
        obeyed(result, end, setting.graph, setting.sigma, 1e-6 if attained else 1e-2)


def test_a_limit_is_shown_no_farther_out_than_it_takes() -> None:
    setting = mixed_setting(20_013, 3)
    result = found(setting)
    assert not result.lower.attained
    obeyed(result, result.lower, setting.graph, setting.sigma, 1e-5)
    model = result.lower.model
    assert model is not None
    assert np.sort(np.abs(model.T), axis=None)[-2] < 100.0  # one weight grows, no other has to


@pytest.mark.parametrize(
    ("assume", "weights"),
    [
        (["norm(x -> y, m -> y) <= 0.136", "m -> y = 0.136"], (0.0, 0.136)),
        (["norm(x -> y, m -> y) <= 0.136", "m -> y >= 0.136"], (0.0, 0.136)),
        (["|x -> y| + |m -> y| <= 0.25", "x -> y <= -0.25"], (-0.25, 0.0)),
        (["norm(x -> y, m -> y) <= 0", "corr(x <-> m) >= 0"], (0.0, 0.0)),
    ],
)
@pytest.mark.parametrize("question", ["x -> y", "x ~> y", "Var[y | do(m=1)]", "P(y > 0.3 | do(m=1))", "x <-> y"])
def test_assumptions_that_touch_in_one_place(assume: list[str], weights: tuple[float, float], question: str) -> None:
    graph = ht.graph(FULL)
    result = identified_set(graph, SIGMA, None, question, assume, names=["x", "m", "y"])
    assert not result.empty
    for end in (result.lower, result.upper):
        if np.isfinite(end.value):
            obeyed(result, end, graph, SIGMA)
            assert end.model is not None
            np.testing.assert_allclose(end.model.T[:2, 2], weights, atol=1e-4)
    said = [f"x -> y = {weights[0]}", f"m -> y = {weights[1]}", *assume[1:]]
    equal = identified_set(graph, SIGMA, None, question, said, names=["x", "m", "y"])
    assert (result.low, result.high) == pytest.approx((equal.low, equal.high), abs=1e-9)


def test_limits_that_leave_a_norm_no_room_are_named() -> None:
    apart = ["norm(x -> y, m -> y) <= 0.1", "x -> y >= 0.08", "m -> y <= -0.08"]
    with pytest.raises(InputError, match=r"'norm\(x -> y, m -> y\) <= 0.1' and 'x -> y >= 0.08' and 'm -> y <= -0.08'"):
        identified_set(ht.graph(FULL), SIGMA, None, "x ~> y", apart, names=["x", "m", "y"])
    inside = identified_set(ht.graph(FULL), SIGMA, None, "x -> y", apart[:2], names=["x", "m", "y"])
    assert (inside.low, inside.high) == pytest.approx((0.08, 0.1), abs=1e-6)


def test_a_correlation_at_its_only_value() -> None:
    """The error of y has share 0.9, the least there is, where the effect is that of the regression."""
    graph = ht.graph("x -> y; x <-> y")
    sigma = np.array([[1.0, 0.4], [0.4, 1.6]])
    least = (1.6 - 0.16) / 1.6
    result = identified_set(graph, sigma, None, "x ~> y", [f"share(y) <= {least!r}"], names=["x", "y"])
    assert result.low == pytest.approx(0.4, abs=1e-6)
    assert result.high == pytest.approx(0.4, abs=1e-6)
    obeyed(result, result.lower, graph, sigma)


def test_two_equations_and_a_comparison() -> None:
    """Values from the slow way, before equations were used together."""
    result = found(mixed_setting(9115, 3))
    np.testing.assert_allclose(result.pieces, [(-1.4674843616349922, 0.10555350303490145)], rtol=1e-9)
    assert result.proved


def test_a_variable_without_causes_is_its_own_error() -> None:
    both = ["abs(corr(x, error(y))) <= 0.1", "corr(x <-> y) >= 0.4"]
    with pytest.raises(
        ht.errors.InputError, match=r"'abs\(corr\(x, error\(y\)\)\) <= 0.1' and 'corr\(x <-> y\) >= 0.4'"
    ):
        read_assumptions(both, ht.graph("x -> y; x <-> y"))
    assert len(read_assumptions(both, ht.graph("z -> x; x -> y; x <-> y"))) == 2
