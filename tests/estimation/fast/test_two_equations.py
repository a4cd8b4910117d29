"""Two equations whose errors covary: the lowest root of the quintic against a walk along the coefficient."""

from __future__ import annotations

import numpy as np
import pytest

from halftrek.bottom.arrays import Floats
from halftrek.estimation.district.block import residual_moments
from halftrek.estimation.district.shape import Problem, Shape
from halftrek.estimation.fast.two_equations import highest_maxima

PAIR = ((0, 1),)


def problem_of(column: tuple[int, ...], count: int, n: int, *, same: tuple[int, int] | None = None) -> Problem:
    """Correlations of a few rows; ``same``: two places of (slots, members) that hold one variable."""
    rng = np.random.default_rng([n, len(column)])
    rows = rng.normal(size=(count, n, len(column) + 2)) + 0.7 * rng.normal(size=(count, n, 1))
    rows[..., -1] += 1.5 * rows[..., -2] * rng.choice([-1.0, 1.0], size=(count, 1))
    if same:
        rows[..., same[0]] = rows[..., same[1]]
    rows /= np.sqrt((rows**2).mean(axis=1, keepdims=True))
    G = rows.transpose(0, 2, 1) @ rows / n
    return Problem(Shape(2, column, PAIR, (0, 1)), G, np.zeros((count, 2, 2)))


def heights(G: Floats, column: tuple[int, ...], short: int, walk: Floats) -> Floats:
    """F for each coefficient of the walk, all else at its best: v by least squares on its slots and the residual."""
    m = len(column)
    mine, theirs = [a for a in range(m) if column[a] == short], [a for a in range(m) if column[a] != short]
    A = np.tile(np.eye(m + 2), (len(walk), 1, 1))
    A[:, mine, m + short] = -walk[:, None]
    S = A.transpose(0, 2, 1) @ G @ A
    given, v = np.array([*theirs, m + short]), m + 1 - short
    onto = S[:, given, v]
    slope = (np.linalg.pinv(S[:, given[:, None], given], rcond=1e-10) @ onto[:, :, None])[:, :, 0]
    return np.asarray(2.0 + np.log(S[:, m + short, m + short]) + np.log(S[:, v, v] - (slope * onto).sum(axis=1)))


@pytest.mark.parametrize(
    ("column", "same"),
    [
        ((0, 1, 1), None),
        ((0, 1), None),
        ((0, 0, 0, 1), None),
        ((1, 1), None),
        ((0,), None),
        ((0, 1, 1), (0, 1)),  # a regressor that both have
        ((0, 1, 1), (1, 3)),  # the first is a regressor of the second
        ((0, 0, 1), (2, 3)),  # and has two instruments
        ((0, 1), (1, 2)),
    ],
)
@pytest.mark.parametrize("n", [6, 12, 100])
def test_no_coefficient_leads_lower(column: tuple[int, ...], same: tuple[int, int] | None, n: int) -> None:
    problem = problem_of(column, 30, n, same=same)
    assert problem.two_equations
    theta, value = highest_maxima(problem)
    assert np.isfinite(value).all()
    short = int(column.count(1) <= column.count(0))
    at, alone = problem.shape.at, column.count(short) == 0
    T = np.zeros((len(theta), len(column), 2))
    T[:, at.slot, at.column] = theta[:, at.t]
    reached = 2.0 + np.linalg.slogdet(residual_moments(problem.G, T))[1]
    np.testing.assert_allclose(reached, value, atol=1e-9)
    walk = np.zeros(1) if alone else np.tan(np.linspace(-1.55, 1.55, 1001))
    for G, best, here in zip(problem.G, value, theta, strict=True):
        assert heights(G, column, short, walk).min() > best - 1e-9
        if not alone:
            t = here[column.index(short)]
            assert heights(G, column, short, t + 1e-3 * np.array([-1.0, 1.0])).min() > best - 1e-9


def test_some_of_few_rows_have_two_maxima_that_the_walk_knows_too() -> None:
    problem = problem_of((0, 1, 1), 200, 6)
    walk = np.tan(np.linspace(-1.55, 1.55, 401))
    several = 0
    for G in problem.G:
        F = heights(G, (0, 1, 1), 0, walk)
        several += ((F[1:-1] < F[:-2]) & (F[1:-1] < F[2:])).sum() > 1
    assert several >= 3  # the test above has met such cases


def test_nothing_is_said_where_rounding_decides() -> None:
    problem = problem_of((0, 1, 1), 5, 12, same=(0, 3))  # the response is its own regressor
    assert np.isnan(highest_maxima(problem)[1]).all()
    theta, value = highest_maxima(problem_of((0, 1, 1), 5, 12, same=(1, 2)))  # a regressor twice
    assert not theta[np.isnan(value)].any()


@pytest.mark.parametrize(
    "shape",
    [
        Shape(2, (0, 0, 1, 1), PAIR, (0, 1)),
        Shape(2, (0, 1), (), (0, 1)),
        Shape(2, (0, 1), PAIR, (0,)),
        Shape(3, (0, 1), ((0, 1), (0, 2), (1, 2)), (0, 1, 2)),
    ],
)
def test_other_districts_are_left_alone(shape: Shape) -> None:
    size = shape.slots + shape.size
    assert not Problem(shape, np.eye(size)[None], np.zeros((1, shape.size, shape.size))).two_equations
