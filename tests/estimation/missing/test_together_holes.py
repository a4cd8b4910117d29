"""Data sets with the same holes, refitted together: as each alone."""

from __future__ import annotations

import numpy as np
import pytest

import halftrek as ht
from halftrek.data import Patterns
from halftrek.data.missing.likelihood import completed, slope
from halftrek.data.missing.stack import Slopes, Stack, slopes
from halftrek.estimation import Fitted, fit
from halftrek.estimation.missing.bends import At, blocks_of, complete_of, sums_of
from halftrek.estimation.missing.fiml import refit_incomplete
from halftrek.estimation.missing.incomplete import evaluate, information
from halftrek.estimation.missing.together import refit_together
from halftrek.estimation.plan import make_plan
from halftrek.graphs import Graph
from halftrek.inference.draws.bootstrap import replicates_of
from halftrek.inference.draws.missing_draws import draw_stacks
from halftrek.inference.information.missing.incomplete import pattern_information
from halftrek.models import total_effects
from tests.estimation.missing.test_fiml import patterns_of
from tests.estimation.missing.test_many_patterns import TIED, named, tied_rows

CHAIN = Graph([("a", "b"), ("b", "c"), ("c", "d")], [("a", "c"), ("d", "e")], observed=list("abcde"))

SAME = Graph(
    [("a", "b"), ("b", "c"), ("c", "d"), ("a", "d")],
    [("b", "d"), ("c", "e")],
    coefficients={"a -> b": "same", "b -> c": "same", "a -> d": 0.3},
)
FIXED = Graph([("a", "b"), ("b", "c"), ("d", "c")], [("a", "c"), ("b", "d"), ("d", "e")])


def fitted(graph: Graph, share: float, n: int = 400) -> Fitted:
    return fit(graph, patterns_of(tied_rows(n, share, 3), Graph([], [], observed=list("abcde"))))


@pytest.mark.parametrize(("share", "n"), [(0.1, 400), (0.4, 400), (0.75, 400), (0.3, 30), (0.5, 60)])
def test_slopes_are_those_of_each_alone(share: float, n: int) -> None:
    found = fitted(CHAIN, share, n)
    (stack,) = draw_stacks(found, "parametric", 5, 0)
    assert n == 400 or 0 < stack.several < len(stack.observed)  # few rows: patterns of a single one, too
    rng = np.random.default_rng(0)
    root = rng.normal(size=(5, 5, 9))
    mean, cov = rng.normal(size=(5, 5)), root @ root.transpose(0, 2, 1) / 5.0 + np.eye(5)
    together = slopes(stack, mean, cov)
    for b, patterns in enumerate(stack.patterns()):
        alone = slope(patterns, mean[b], cov[b])
        assert together.value[b] == pytest.approx(alone.value, rel=1e-12)
        np.testing.assert_allclose(together.mean[b], alone.mean, rtol=1e-9, atol=1e-9 * np.abs(alone.mean).max())
        np.testing.assert_allclose(together.cov[b], alone.cov, rtol=1e-9, atol=1e-9 * np.abs(alone.cov).max())


def test_slopes_of_all_at_one_point() -> None:
    (stack,) = draw_stacks(fitted(CHAIN, 0.5), "parametric", 4, 0)
    mean, cov = np.full((1, 5), 0.3), np.eye(5)[None] + 0.2
    once, each = slopes(stack, mean, cov), slopes(stack, np.repeat(mean, 4, axis=0), np.repeat(cov, 4, axis=0))
    np.testing.assert_allclose(once.value, each.value, rtol=1e-13)
    np.testing.assert_allclose(once.mean, each.mean, rtol=1e-11, atol=1e-9)
    np.testing.assert_allclose(once.cov, each.cov, rtol=1e-11, atol=1e-9)


def test_a_covariance_that_is_none_has_no_likelihood() -> None:
    (stack,) = draw_stacks(fitted(CHAIN, 0.3), "parametric", 2, 0)
    cov = np.repeat(np.eye(5)[None], 2, axis=0)
    cov[1, 0, 0] = -1.0
    with np.errstate(all="ignore"):
        found = slopes(stack, np.zeros((2, 5)), cov)
    assert np.isfinite(found.value).tolist() == [True, False]


@pytest.mark.parametrize(("graph", "share"), [(CHAIN, 0.1), (CHAIN, 0.5), (TIED, 0.2)])
def test_refits_are_those_of_each_alone(graph: Graph, share: float) -> None:
    found = fitted(graph, share)
    plan = make_plan(found.graph, found.model.names, found.options)
    known = pattern_information(found, "observed")
    (stack,) = draw_stacks(found, "parametric", 12, 1)
    together = refit_together(known.space, plan, stack, known.theta, known.matrix)
    assert together is not None
    assert together.arrived.sum() >= 10
    for b, patterns in enumerate(stack.patterns()):
        if not together.arrived[b]:
            continue
        alone = refit_incomplete(found.graph, plan, patterns, found.options, found.model)
        assert alone is not None
        assert together.loglik[b] == pytest.approx(alone[1], rel=1e-11)
        np.testing.assert_allclose(together.T[b], alone[0].T, atol=2e-6)
        np.testing.assert_allclose(together.mu[b], alone[0].mu, atol=5e-6)
        np.testing.assert_allclose(together.W[b] + together.C[b].T @ together.C[b], alone[0].omega, atol=5e-6)


def test_what_does_not_arrive_is_left_for_a_closer_look() -> None:
    found = fitted(CHAIN, 0.3)
    plan = make_plan(found.graph, found.model.names, found.options)
    known = pattern_information(found, "observed")
    (stack,) = draw_stacks(found, "parametric", 3, 1)
    cov = stack.cov.copy()
    cov[1, :, 0, :] = cov[1, :, 1, :]
    cov[1, :, :, 0] = cov[1, :, :, 1]
    mean = stack.mean.copy()
    mean[1, :, 0] = mean[1, :, 1]
    broken = Stack(stack.names, stack.observed, stack.n, mean, cov)  # a is b in the second
    together = refit_together(known.space, plan, broken, known.theta, known.matrix)
    assert together is not None
    assert together.arrived.tolist() == [True, False, True]
    assert refit_together(known.space, plan, stack, known.theta, 0.0 * known.matrix) is None


@pytest.mark.parametrize(("graph", "share", "n"), [(CHAIN, 0.1, 300), (CHAIN, 0.4, 200), (TIED, 0.2, 400)])
def test_redrawn_rows_have_the_maxima_of_each_alone(graph: Graph, share: float, n: int) -> None:
    """To a millionth of a standard error; the slow way has other rows than these only if it drew others."""
    one = ht.fit(graph, named(tied_rows(n, share, 7)))
    known = pattern_information(one, "observed")
    errors = np.sqrt(known.own_spreads / one.n)
    plan = make_plan(one.graph, one.model.names, one.options)
    together = replicates_of(one, "bootstrap", 25, 4).batch
    alone = [patterns for stack in draw_stacks(one, "bootstrap", 25, 4) for patterns in stack.patterns()]
    assert len(together) == 25
    for model, patterns in zip(together, alone, strict=True):
        slow = refit_incomplete(one.graph, plan, patterns, one.options, one.model)
        assert slow is not None
        point = known.space.vector(slow[0])
        for _ in range(2):  # to the last digit
            here = evaluate(known.space, patterns, point)
            assert here is not None
            point = point + np.linalg.solve(information(known.space, patterns, here), here.gradient)
        assert np.abs((known.space.vector(model) - point) / errors).max() < 2e-6


@pytest.mark.parametrize("graph", [CHAIN, SAME, FIXED])
def test_the_curvature_of_completed_rows_is_that_of_complete_ones(graph: Graph) -> None:
    found = fitted(graph, 0.3)
    space, patterns = pattern_information(found, "observed").space, found.patterns
    assert isinstance(patterns, Patterns)
    theta = space.vector(found.model) * np.random.default_rng(0).uniform(0.9, 1.1, space.size)
    point = evaluate(space, patterns, theta)
    assert point is not None
    filled = completed(patterns, *space.moments(theta))
    whole = np.ones((1, len(space.names)), dtype=bool)
    rows = Patterns(
        space.names, whole, np.array([400]), np.array([patterns.total]), filled.mean[None], filled.cov[None]
    )
    there = evaluate(space, rows, theta)
    assert there is not None
    T, W, _, mu = (x[None] for x in space.arrays(theta))
    slopes_here = Slopes(np.zeros(1), point.slope.mean[None], point.slope.cov[None])
    at = At(T, W, mu, total_effects(T), np.array([patterns.total]), slopes_here)
    wanted, got = information(space, rows, there), np.zeros((space.size, space.size))
    for block in blocks_of(space):
        got[np.ix_(block, block)] = complete_of(space, at, sums_of(at), block)[0]
    np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-10 * np.abs(wanted).max())


def test_bootstraps_agree_with_refits_one_by_one() -> None:
    one = ht.fit(CHAIN, named(tied_rows(300, 0.25, 5)))
    assert isinstance(one.patterns, Patterns)
    answer = one.effect("a", "c", interval="bootstrap", replicates=60)
    plan = make_plan(one.graph, one.model.names, one.options)
    values = []
    for stack in draw_stacks(one, "bootstrap", 60, 0):
        for patterns in stack.patterns():
            alone = refit_incomplete(one.graph, plan, patterns, one.options, one.model)
            assert alone is not None
            values.append(alone[0].B[0, 2])
    assert answer.se == pytest.approx(np.std(values, ddof=1), rel=1e-5)
