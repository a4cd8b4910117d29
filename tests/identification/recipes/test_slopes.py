"""How the value of a recipe moves with the covariance: against differences of values."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings

from halftrek.graphs import Graph
from halftrek.identification import identify, solve
from halftrek.identification.recipes.recipe import (
    Combination,
    CovarianceStep,
    LinearStep,
    Recipe,
    SumStep,
    ValueStep,
    variables_used,
)
from halftrek.identification.recipes.slopes import solve_with_slope
from halftrek.queries import ErrorCovariance, Query, TotalEffect
from tests.identification.samples import graphs, random_model
from tests.narrow import number, there


def differences(recipe: Recipe, sigma: np.ndarray, names: tuple[str, ...]) -> np.ndarray:
    """The slope entry by entry, from values at a step to either side."""
    slope = np.zeros_like(sigma)
    for i in range(len(sigma)):
        for j in range(i + 1):
            step = 1e-5 * np.sqrt(sigma[i, i] * sigma[j, j])
            ends = []
            for way in (step, -step):
                moved = sigma.copy()
                moved[i, j] += way
                moved[j, i] = moved[i, j]
                ends.append(number(solve(recipe, moved, names)))
            slope[i, j] = slope[j, i] = (ends[0] - ends[1]) / (2.0 * step) * (1.0 if i == j else 0.5)
    return slope


def check(recipe: Recipe, sigma: np.ndarray, names: tuple[str, ...]) -> None:
    value, slope = there(solve_with_slope(recipe, sigma, names))
    assert value == pytest.approx(solve(recipe, sigma, names), rel=1e-9, abs=1e-12)
    expected = differences(recipe, sigma, names)
    assert np.allclose(slope, expected, rtol=1e-4, atol=1e-4 * np.abs(expected).max())


@settings(deadline=None, max_examples=40, derandomize=True)
@given(graphs())
def test_slopes_are_limits_of_differences(graph: Graph) -> None:
    """At a covariance of rows, which no graph restricts, for every formula that is found."""
    model = random_model(graph, np.random.default_rng(1))
    sigma = np.cov(model.sample(200, random_state=2).T, bias=True)
    pairs = [(u, v) for u in graph.observed for v in graph.descendants(u) if u != v]
    queries: list[Query] = [
        *(TotalEffect(u, v) for u, v in pairs),
        *(ErrorCovariance(u, v) for u, v in graph.bidirected),
    ]
    recipes = [identify(graph, query, budget=0.05, witness=False).recipe for query in queries[:6]]
    used = [recipe for recipe in recipes if recipe is not None and variables_used(recipe)]
    assume(used)
    for recipe in used:
        check(recipe, sigma, graph.observed)


def test_every_kind_of_step_is_swept_through() -> None:
    a, b, c = (Combination(v) for v in "abc")
    cleaned = Combination("d", (("a", "p"), ("b", "q")))
    steps = (
        ValueStep("two", 2.0),
        LinearStep((a, b), (a, b), c, ("p", "q")),
        CovarianceStep("r", cleaned, c),
        LinearStep((cleaned, b), (Combination("c", (("a", "q"),)), a), Combination("b", (("d", "p"),)), ("s", None)),
        SumStep("t", ((1, ("p", "p", "r")), (-1, ("two", "s")), (1, ())), "q"),
    )
    rows = np.random.default_rng(3).normal(size=(50, 4)) @ np.random.default_rng(4).normal(size=(4, 4))
    check(Recipe(tuple("abcd"), steps, ("t",)), np.cov(rows.T), tuple("abcd"))
    order = tuple("dbca")
    at = ["abcd".index(v) for v in order]
    check(Recipe(tuple("abcd"), steps, ("t",)), np.cov(rows.T)[np.ix_(at, at)], order)


def test_a_system_without_a_solution_has_none() -> None:
    z, x, y = (Combination(v) for v in "zxy")
    recipe = Recipe(tuple("zxy"), (LinearStep((z,), (x,), y, ("x -> y",)),), ("x -> y",))
    assert solve_with_slope(recipe, np.diag([1.0, 1.0, 1.0]), tuple("zxy")) is None
