"""What holds for every set, on random problems of all kinds with two and three free weights."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest

import halftrek as ht
from halftrek.errors import QueryError
from halftrek.partial.assumptions import State, conditions_of
from halftrek.partial.sets import IdentifiedSet, identified_set
from halftrek.queries import evaluate
from tests.partial.brute import models_with
from tests.partial.mixed import mixed_setting
from tests.partial.test_properties import answer, contains, found, inside, wider

CASES = [*((seed, 2) for seed in range(24)), *((seed, 3) for seed in range(100, 112))]


@pytest.mark.parametrize(("seed", "free"), CASES)
def test_nothing_lies_outside_and_models_attain_the_ends(seed: int, free: int) -> None:
    setting = mixed_setting(seed, free)
    result = found(setting)
    assert result.proved
    held = conditions_of(setting.assumptions, setting.graph, setting.wide.observed)
    _ends_are_attained(result, held)
    count = 0 if any("fitted model" in note for note in result.notes) else 60  # that has another covariance
    for model in models_with(setting.wide, setting.sigma, np.random.default_rng(seed), count):
        values = held.values(State(model.T, model.omega, setting.sigma))
        if (np.where(held.equal, np.abs(values) - 1e-9, values) > 0.0).any():
            continue
        try:
            value = answer(result.query, model)
        except QueryError:  # too large to compute with
            continue
        assert inside(value, result.pieces), value


def _ends_are_attained(result: IdentifiedSet, held: ht.partial.assumptions.Conditions) -> None:
    for end in (result.lower, result.upper):
        if not np.isfinite(end.value):
            continue
        model = end.model
        assert model is not None
        assert answer(result.query, model) == pytest.approx(end.value, abs=1e-6, rel=1e-6)
        values = held.values(State(model.T, model.omega, np.asarray(model.cov)))
        assert (np.where(held.equal, np.abs(values), values) < 1e-5).all()


@pytest.mark.parametrize(("seed", "free"), [(seed, 2 + seed % 2) for seed in range(200, 216)])
def test_a_loosened_assumption_never_narrows(seed: int, free: int) -> None:
    setting = mixed_setting(seed, free)
    loose = [a if " == " in str(a) else wider(a) for a in setting.assumptions]
    assert contains(found(setting, loose), found(setting))


SIGMA = np.array([[1.0, 0.4, 0.5], [0.4, 1.3, 0.6], [0.5, 0.6, 1.6]])


def test_an_equation_of_correlations_leaves_every_effect() -> None:
    """Whatever the first weight is, the others can give the errors of m and y any correlation: e_m is part of e_y."""
    graph = ht.graph("x -> m; x -> y; m -> y; x <-> m; x <-> y")
    result = identified_set(graph, SIGMA, None, "x ~> m", ["corr(m <-> y) = 0.2"])
    assert (result.kind, result.free) == ("whole line", 3)
    assert result.proved


def test_a_square_that_is_at_most_nothing_is_an_equation() -> None:
    """w has all its correlation with the error of m from x, so that of x can be no larger only if it is nothing."""
    graph = ht.graph("x -> m; x -> y; x -> w; m -> y; x <-> m; x <-> y; m <-> y")
    sigma = np.eye(4)
    sigma[:3, :3] = SIGMA
    sigma[3, :3] = sigma[:3, 3] = 0.5 * SIGMA[0]
    sigma[3, 3] = 1.0
    assume, names = ["abs(corr(x, error(m))) <= abs(corr(w, error(m)))"], ["x", "m", "y", "w"]
    known = identified_set(graph, sigma, None, "x -> m", assume, names=names)
    np.testing.assert_allclose(known.pieces, [(0.4, 0.4)])
    result = identified_set(graph, sigma, None, "m <-> y", assume, names=names)
    assert (result.kind, result.proved) == ("whole line", True)


def test_a_place_at_a_pole_is_no_model() -> None:
    """In the middle of what the correlation leaves, the other weight does not move the effect of x on y."""
    graph = ht.graph("x -> m; x -> y; m -> y; m <-> y")
    result = identified_set(graph, SIGMA, None, "P(y < 0.2 | do(x=-1))", ["|corr(x <-> m)| <= 0.3"])
    for end in (result.lower, result.upper):
        assert end.model is not None
        assert answer(result.query, end.model) == pytest.approx(end.value, abs=1e-6)


def test_one_value_on_a_stretch_has_a_model_inside_it() -> None:
    """``y_{x=0} = y - b x`` is below y where b x is positive: two values, for b above and below zero."""
    graph = ht.graph("x -> y; x <-> y")
    result = identified_set(graph, SIGMA[:2, :2], None, "P(y_{x=0} < 1 | y=1)", ["share(y) <= 1.4"])
    assert result.kind == "values"
    mean, sd = 0.4 / 1.3, np.sqrt(1.0 - 0.4**2 / 1.3)
    above = NormalDist(mean, sd).cdf(0.0)
    np.testing.assert_allclose(result.pieces, [(above, above), (1.0 - above, 1.0 - above)])
    for end in (result.lower, result.upper):
        assert end.model is not None
        assert answer(result.query, end.model) == pytest.approx(end.value, abs=1e-9)


def test_where_a_divisor_is_zero_the_end_is_a_limit() -> None:
    graph = ht.graph("x -> y; x <-> y")
    sigma = SIGMA[:2, :2]
    question = "(x ~> y) * (x ~> y) / (x ~> y)"
    result = identified_set(graph, sigma, None, question, ["x -> y in [0, 0.5]"])
    assert result.pieces == ((0.0, 0.5),)
    assert (result.lower.attained, result.upper.attained) == (False, True)
    assert result.lower.model is not None
    assert evaluate(result.query, result.lower.model) == pytest.approx(0.0, abs=1e-6)
    assert "approached, never reached" in result.explain()
    assert "Models in which x ~> y is zero have no answer" in result.explain()
    with pytest.raises(QueryError, match="the divisor is zero"):
        identified_set(graph, sigma, None, question, ["x -> y = 0"])


def test_a_ratio_of_one_thing_is_one() -> None:
    graph = ht.graph("x -> y; x <-> y")
    result = identified_set(graph, SIGMA[:2, :2], None, "(x ~> y) / (x ~> y)", ["x -> y in [0, 0.5]"])
    assert result.pieces == ((1.0, 1.0),)
    assert result.lower.model is not None
    assert evaluate(result.query, result.lower.model) == pytest.approx(1.0)


@pytest.mark.parametrize("seed", [40_004, 40_120])
def test_a_search_along_an_equation_starts_all_over(seed: int) -> None:
    """Four free weights and a correlation that is held: models were found far outside of what one corner had shown."""
    result = found(mixed_setting(seed, 4))
    assert result.certificate == "searched"
    assert (result.low, result.high) == (-np.inf, np.inf)
