"""Districts of different shapes in the same calls, against each on its own."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from halftrek.data import Moments
from halftrek.estimation import fit
from halftrek.estimation.district.district import Settings, solve_district
from halftrek.estimation.district.doubt import yardstick_of
from halftrek.estimation.fast.together import Bunch, bunches_of, solve_bunch
from halftrek.estimation.given.options import Options
from halftrek.estimation.many.batch import fit_batch
from halftrek.estimation.plan import make_plan
from halftrek.estimation.solve import gather, moments_of
from halftrek.graphs import Graph
from halftrek.models import CGLSCM
from halftrek.simulation import random_graph, random_model
from tests.estimation.strategies import dense_loglik


def wide(seed: int, *, hidden: bool = False, bow_free: bool = True) -> CGLSCM:
    """A model of 30 variables with several districts."""
    graph = random_graph(30, n_edges=45, n_bidirected=12, bow_free=bow_free, random_state=seed)
    if hidden:
        causes = {f"U{k}": ends for k, ends in enumerate(graph.bidirected[::2])}
        graph = Graph(graph.directed, graph.bidirected[1::2], causes, graph.observed)
    return random_model(graph, random_state=seed)


def sampled(model: CGLSCM, rows: int = 800) -> Moments:
    X = np.asarray(model.sample(rows, random_state=5)) * np.geomspace(1e-3, 1e3, len(model.names))
    return Moments(model.names, float(rows), X.mean(axis=0), np.cov(X, rowvar=False, bias=True))


@pytest.mark.parametrize("seed", range(12))
def test_every_district_ends_where_it_ends_alone(seed: int) -> None:
    model = wide(seed)
    cov = sampled(model).cov[None]
    bunches, alone, others = bunches_of(make_plan(model.graph, model.names, Options()).tasks)
    assert len(alone) <= 1
    assert not others
    for bunch in bunches:
        ends = solve_bunch(bunch, moments_of(bunch.where, cov)[0])
        assert ends is not None
        assert ends.found.mean() > 0.7
        for i in np.flatnonzero(ends.found):
            task = bunch.tasks[i]
            G, scale = gather((task,), cov)
            piece = solve_district(task, G, scale, Settings(), yardstick_of((task,), G, None))
            m, d = task.shape.slots, task.shape.size
            assert piece.converged[0]
            assert abs(piece.value[0] - ends.value[i]) < 1e-11
            assert piece.iterations[0] == ends.iterations[i]
            assert piece.boundary[0] == ends.boundary[i]
            np.testing.assert_allclose(ends.t[i, :m], piece.t[0], atol=1e-9)
            np.testing.assert_allclose(ends.W[i, :d, :d], piece.W[0], atol=1e-9)
            assert not ends.t[i, m:].any()


@pytest.mark.parametrize(("hidden", "bow_free"), [(False, True), (True, True), (True, False)])
@pytest.mark.parametrize("seed", range(4))
def test_one_data_set_is_fitted_as_in_a_batch(seed: int, hidden: bool, bow_free: bool) -> None:
    model = wide(seed, hidden=hidden, bow_free=bow_free)
    moments = sampled(model)
    one, many = fit(model.graph, moments), fit_batch(model.graph, [moments, moments])
    assert one.status.code == many.code[0]
    assert one.loglik == pytest.approx(many.loglik[0], rel=1e-12)
    assert one.loglik == pytest.approx(dense_loglik(one.model, moments.n, moments.mean, moments.cov), rel=1e-10)
    assert {v for d in one.districts for v in d.members} == {v for d in model.graph.districts if len(d) > 1 for v in d}
    if one.status.code == "converged":
        sd = np.sqrt(np.diag(moments.cov))
        np.testing.assert_allclose(one.model.T * sd[:, None] / sd, many.T[0] * sd[:, None] / sd, atol=1e-8)
        np.testing.assert_allclose(one.model.omega / np.outer(sd, sd), many.omega[0] / np.outer(sd, sd), atol=1e-8)


def test_one_that_fails_does_not_spoil_the_others() -> None:
    model = wide(1)
    tasks = [t for t in make_plan(model.graph, model.names, Options()).tasks if t.shape.slots]
    bunch = Bunch.of(tasks)
    G, _ = moments_of(bunch.where, sampled(model).cov[None])
    fine = solve_bunch(bunch, G)
    assert fine is not None
    assert fine.found.all()
    for i, task in enumerate(tasks):
        others = np.arange(len(tasks)) != i
        broken, d = G.copy(), task.shape.size
        inside = slice(bunch.slots, bunch.slots + d)
        broken[i, inside, inside] = 1.999 * np.eye(d) - 0.999  # not positive definite beside its slots
        ends = solve_bunch(bunch, broken)
        assert ends is not None
        np.testing.assert_array_equal(ends.found, others)
        np.testing.assert_allclose(ends.t[others], fine.t[others], atol=1e-12)
        np.testing.assert_allclose(ends.W[others], fine.W[others], atol=1e-12)


def test_districts_are_bunched_by_size() -> None:
    """One long district among many short ones is not what the short ones are padded to."""
    chain = [f"a{i}" for i in range(25)]
    arcs = list(pairwise(chain))
    arcs += [(f"b{i}", f"c{i}") for i in range(200)]
    plan = make_plan(Graph([], arcs), Graph([], arcs).observed, Options())
    bunches, alone, _ = bunches_of(plan.tasks)
    assert [task.shape.size for task in alone] == [25]
    assert [b.members for b in bunches] == [2]
