"""The Newton without a batch axis against the one with it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import assume, given, settings

from halftrek.estimation.district.district import make_problem
from halftrek.estimation.district.newton import minimize
from halftrek.estimation.district.piece import piece_of
from halftrek.estimation.district.shape import Shape, error_matrices
from halftrek.estimation.district.starts import regression_start
from halftrek.estimation.fast.alone import Found, fits_alone, layout_of, newton_alone
from halftrek.estimation.given.options import Options
from halftrek.estimation.plan import Task, make_plan
from halftrek.estimation.solve import gather
from halftrek.models import CGLSCM
from halftrek.simulation import random_graph, random_model
from tests.estimation.strategies import models


def both(model: CGLSCM, cov: np.ndarray) -> Iterator[tuple[Shape, Any, Any]]:
    for task in make_plan(model.graph, model.names, Options()).tasks:
        G, scale = gather((task,), cov[None])
        problem = make_problem(task, G, scale)
        yield (
            task.shape,
            newton_alone(layout_of(task), G[0]),
            minimize(problem, regression_start(problem), near=True),
        )


@given(model=models(most=6))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_the_same_maximum_of_sampled_moments(model: CGLSCM) -> None:
    cov = np.cov(model.sample(400, random_state=1), rowvar=False)
    found = list(both(model, cov))
    assert all(fits_alone(shape) for shape, _, _ in found)
    served = [(shape, alone, batch) for shape, alone, batch in found if alone is not None]
    assume(served)
    for shape, alone, batch in served:
        assert batch.converged[0]
        assert abs(alone.value - batch.value[0]) < 1e-11
        full = batch.theta
        np.testing.assert_allclose(alone.t, full[0, shape.at.t], atol=1e-7)
        W, _ = error_matrices(shape, full, np.zeros((1, shape.size, shape.size)))
        np.testing.assert_allclose(alone.W, W[0], atol=1e-7)


def test_it_serves_most_districts() -> None:
    found = total = 0
    for seed in range(20):
        graph = random_graph(12, n_edges=20, n_bidirected=6, bow_free=True, random_state=seed)
        model = random_model(graph, random_state=seed)
        cov = np.cov(model.sample(500, random_state=seed), rowvar=False)
        for _, alone, _ in both(model, cov):
            total += 1
            found += alone is not None
    assert total > 40
    assert found > 0.9 * total


def test_what_is_no_maximum_is_left_to_others() -> None:
    """Moments that no district of this shape can come near: an indefinite matrix."""
    model = random_model(random_graph(3, n_edges=2, n_bidirected=1, bow_free=True, random_state=0), random_state=0)
    task = make_plan(model.graph, model.names, Options()).tasks[0]
    size = task.shape.slots + task.shape.size
    G = np.full((size, size), 0.99) - 1.5 * np.eye(size)
    assert newton_alone(layout_of(task), G) is None


def test_a_piece_that_is_done_again_keeps_its_fields_apart() -> None:
    """Pieces of single data sets share arrays between fields; doing a member again must not write through them."""
    shape = Shape(2, (1,), ((0, 1),), (0, 1))
    task = Task(shape, (0, 1), (0,), (0, 1), ())
    found = Found(np.array([0.5]), np.eye(2), 1.0, 3, False)
    nothing = np.zeros(1), np.zeros(1, dtype=int)
    piece = piece_of(task, found, *nothing)
    again = replace(
        piece_of(task, replace(found, t=np.array([0.7]), iterations=4), *nothing),
        starts=np.array([8]), agreeing=np.array([5]), several=np.array([True]),
    )  # fmt: skip
    mixed = piece.with_rows(np.array([0]), again)
    assert (mixed.starts[0], mixed.agreeing[0], mixed.several[0], mixed.ridge[0]) == (8, 5, True, False)
    assert (mixed.iterations[0], mixed.t[0, 0]) == (7, 0.7)
    assert (piece.starts[0], piece.agreeing[0], piece.several[0], piece.t[0, 0]) == (1, 1, False, 0.5)
