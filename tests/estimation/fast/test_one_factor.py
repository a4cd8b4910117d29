"""One hidden cause of many variables: the profiled likelihood against Newton steps in all parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from halftrek.data import Moments
from halftrek.estimation import Fitted, fit
from halftrek.estimation.district import newton
from halftrek.estimation.district.shape import Problem, Shape
from halftrek.estimation.fast import one_factor
from halftrek.estimation.fast.one_factor import LEAST, fit_one_factor, is_one_factor
from halftrek.graphs import Graph
from tests.narrow import there

SLOW = 16  # starts: asked for, they are taken


def moments_of(seed: int, size: int, n: int, crowd: float = 0.0) -> Moments:
    """Rows with one hidden cause, and a second one that the graph does not know, of so much weight."""
    rng = np.random.default_rng(seed)
    loads = rng.uniform(0.2, 1.0, size) * rng.choice([-1.0, 1.0], size)
    rows = rng.normal(size=(n, 1)) * loads + rng.normal(size=(n, size)) * rng.uniform(0.5, 1.5, size)
    rows += crowd * rng.normal(size=(n, 1)) * rng.normal(size=size)
    names = tuple(f"x{i}" for i in range(size))
    return Moments(names, n, rows.mean(axis=0), np.cov(rows.T, ddof=0))


def both(moments: Moments) -> tuple[Fitted, Fitted]:
    graph = Graph(latents={"u": moments.names}, observed=moments.names)
    return fit(graph, moments), fit(graph, moments, starts=SLOW)


@pytest.mark.parametrize(("seed", "size", "n", "crowd"), [(0, 40, 500, 0.0), (1, 45, 90, 0.0), (2, 50, 2000, 0.3)])
def test_equals_many_starts(seed: int, size: int, n: int, crowd: float) -> None:
    quick, slow = both(moments_of(seed, size, n, crowd))
    assert quick.districts[0].starts < SLOW == slow.districts[0].starts
    assert quick.status.converged
    assert quick.loglik == pytest.approx(slow.loglik, abs=1e-7)
    np.testing.assert_allclose(np.abs(quick.model.C), np.abs(slow.model.C), atol=1e-6)
    np.testing.assert_allclose(quick.model.cov, slow.model.cov, atol=1e-6)


def test_a_variance_that_runs_into_zero_is_left_to_the_full_search() -> None:
    rng = np.random.default_rng(3)
    hidden = rng.normal(size=(300, 1))
    rows = hidden * rng.uniform(0.3, 0.9, LEAST) + rng.normal(size=(300, LEAST))
    rows[:, :1] = hidden
    names = tuple(f"x{i}" for i in range(LEAST))
    quick, slow = both(Moments(names, 300, rows.mean(axis=0), np.cov(rows.T, ddof=0)))
    assert quick.districts[0].starts == SLOW
    assert quick.loglik == pytest.approx(slow.loglik, abs=1e-6)


def test_what_is_one_factor() -> None:
    def problem(column: tuple[int, ...] = (), pairs: tuple[tuple[int, int], ...] = (), size: int = LEAST) -> Problem:
        shape = Shape(size, column, pairs, tuple(range(size)), tuple((0, j) for j in range(size)))
        wide = len(column) + size
        return Problem(shape, np.eye(wide)[None], np.zeros((1, size, size)))

    assert is_one_factor(problem())
    assert not is_one_factor(problem(column=(0,)))
    assert not is_one_factor(problem(pairs=((0, 1),)))
    assert not is_one_factor(problem(size=LEAST - 1))
    assert fit_one_factor(problem()) is None  # nothing in common: no maximum that stands out


def test_no_step_in_all_parameters_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a second derivative in all parameters was made")

    monkeypatch.setattr(newton, "hessian", refuse)
    quick = fit(Graph(latents={"u": [f"x{i}" for i in range(60)]}), moments_of(5, 60, 400))
    assert quick.status.converged


def test_newton_steps_are_few_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the true second derivatives each step squares the distance; with others it takes many."""
    cov = moments_of(4, 40, 400, 0.2).cov
    correlations = cov / np.sqrt(np.outer(np.diag(cov), np.diag(cov)))
    start = there(one_factor._at(correlations, np.log(np.full(40, 0.6)), np.ones(40)))
    walked = []
    real = one_factor._moved

    def moved(*given: Any) -> Any:
        walked.append(there(real(*given)))
        return walked[-1]

    monkeypatch.setattr(one_factor, "_moved", moved)
    end = there(one_factor._finish(correlations, start))
    assert end.steps == len(walked)
    slopes = [float(np.abs(place.slope).max()) for place in walked]
    near = next(k for k, size in enumerate(slopes) if size < 0.03)
    assert slopes[near + 2] < 1e-5  # two steps later: (0.03 ** 2) ** 2, and a constant
