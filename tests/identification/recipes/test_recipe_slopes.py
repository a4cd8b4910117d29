"""Slopes of formulas in the covariance matrix, against finite differences over random graphs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from halftrek.identification import identify, solve
from halftrek.identification.recipes.recipe import Combination, CovarianceStep, LinearStep, Recipe, SumStep, ValueStep
from halftrek.identification.recipes.recipe_slopes import slopes_of
from halftrek.models import CGLSCM
from halftrek.queries import DirectEffect, Query, TotalEffect
from halftrek.simulation import random_graph, random_model

STEP = 1e-6


def formulas(count: int) -> Iterator[tuple[int, Recipe, CGLSCM]]:
    """Recipes that divide by more than a variance, in random graphs with arcs, each with a model."""
    found, seed = 0, 0
    while found < count:
        seed += 1
        graph = random_graph(5, n_edges=5, n_bidirected=3, random_state=seed)
        order = graph.topological_order
        queries: list[Query] = [TotalEffect(order[0], order[-1]), *(DirectEffect(*e) for e in graph.directed)]
        for query in queries:
            verdict = identify(graph, query, budget=0.2, witness=False)
            if verdict.recipe is None or len(verdict.recipe.outputs) != 1:
                continue
            if all(isinstance(s, LinearStep) and set(s.rows) == set(s.columns) for s in verdict.recipe.steps):
                continue
            found += 1
            yield seed, verdict.recipe, random_model(graph, random_state=seed)


def test_slopes_are_finite_differences() -> None:
    several = 0
    for seed, recipe, model in formulas(40):
        sloped = slopes_of(recipe, model.cov, model.names)
        assert sloped is not None
        rng = np.random.default_rng(seed)
        D = rng.normal(size=model.cov.shape)
        D = D + D.T
        up, down = (solve(recipe, model.cov + s * STEP * D, model.names) for s in (1.0, -1.0))
        assert isinstance(up, float)
        assert isinstance(down, float)
        assert sloped.values[recipe.outputs[0]] == pytest.approx(solve(recipe, model.cov, model.names))
        expected = (up - down) / (2 * STEP)
        assert (sloped.slopes[recipe.outputs[0]] * D).sum() == pytest.approx(expected, rel=1e-4, abs=1e-5)
        for q in sloped.slopes:  # only what one of them is made of
            one = slopes_of(recipe, model.cov, model.names, {q})
            assert one is not None
            assert one.values == sloped.values
            np.testing.assert_array_equal(one.slopes[q], sloped.slopes[q])
        several += len(recipe.steps) > 1
    assert several >= 10  # formulas that feed on earlier ones are among them


def test_the_slope_of_a_determinant_is_a_finite_difference() -> None:
    looked = 0
    for seed, recipe, model in formulas(40):
        for step in recipe.steps:
            if not isinstance(step, LinearStep) or set(step.rows) == set(step.columns):
                continue
            rng = np.random.default_rng(seed)
            D = rng.normal(size=model.cov.shape)
            D = D + D.T
            ends = []
            for s in (1.0, -1.0):
                moved = slopes_of(recipe, model.cov + s * STEP * D, model.names)
                assert moved is not None
                ends.append(moved.log_determinant(step.rows, step.columns)[0])
            sloped = slopes_of(recipe, model.cov, model.names)
            assert sloped is not None
            value, slope = sloped.log_determinant(step.rows, step.columns)
            assert np.isfinite(value)
            assert (slope * D).sum() == pytest.approx((ends[0] - ends[1]) / (2 * STEP), rel=1e-4, abs=1e-5)
            looked += 1
    assert looked >= 15


def test_slopes_through_every_kind_of_step_are_finite_differences() -> None:
    a, b, c = (Combination(v) for v in "abc")
    recipe = Recipe(
        ("a", "b", "c"),
        (
            ValueStep("two", 2.0),
            LinearStep((a, b), (a, b), c, ("p", "q")),
            CovarianceStep("r", a, Combination("b", (("a", "p"), ("c", "two")))),
            SumStep("s", ((1, ("p", "r")), (-1, ("q", "two", "q"))), "r"),
            LinearStep((Combination("a", (("b", "s"),)),), (Combination("c", (("b", "q"),)),), a, ("t",)),
            SumStep("u", ((1, ("s",)), (-1, ("t", "t")))),
        ),
        ("u",),
    )
    sigma = np.array([[2.0, 0.5, 0.7], [0.5, 1.5, -0.4], [0.7, -0.4, 3.0]])
    found = slopes_of(recipe, sigma, recipe.names)
    assert found is not None
    assert found.values["u"] == pytest.approx(solve(recipe, sigma))
    rng = np.random.default_rng(1)
    for _ in range(4):
        D = rng.normal(size=sigma.shape)
        D = D + D.T
        up, down = (slopes_of(recipe, sigma + s * STEP * D, recipe.names) for s in (1.0, -1.0))
        assert up is not None
        assert down is not None
        for q in ("p", "q", "r", "s", "t", "u"):
            expected = (up.values[q] - down.values[q]) / (2 * STEP)
            assert (found.slopes[q] * D).sum() == pytest.approx(expected, rel=1e-6, abs=1e-7)
