"""Large districts and wide graphs: the same as what is done for small ones, only faster."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from halftrek.data import Moments
from halftrek.errors import DataError
from halftrek.estimation import fit
from halftrek.estimation.fast import alone
from halftrek.estimation.fast.alone import MANY, layout_of, newton_alone
from halftrek.estimation.given.checks import WIDE, well_posed_in_parts
from halftrek.estimation.given.options import Options
from halftrek.estimation.plan import make_plan
from halftrek.estimation.solve import gather
from halftrek.graphs import Graph
from halftrek.simulation import random_graph, random_model
from tests.estimation.strategies import dense_loglik


def chained(size: int) -> Graph:
    """One district of all variables."""
    names = [f"v{i:03d}" for i in range(size)]
    return Graph([(names[i], names[i + k]) for k in (2, 5) for i in range(size - k)], pairwise(names), {}, names)


def sampled(graph: Graph, rows: int, seed: int = 0) -> Moments:
    X = np.asarray(random_model(graph, random_state=seed).sample(rows, random_state=seed + 1))
    return Moments(graph.observed, float(rows), X.mean(axis=0), np.cov(X, rowvar=False, bias=True))


def both(graph: Graph, cov: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Any, Any]]:
    """With the last step left out where it is not needed, and with every step."""
    for task in make_plan(graph, graph.observed, Options()).tasks:
        G, _ = gather((task,), cov[None])
        if len(task.shape.pairs) < task.shape.size * (task.shape.size - 1) // 2:
            found = []
            for many in (0, task.shape.parameters):
                monkeypatch.setattr(alone, "MANY", many)
                found.append(newton_alone(layout_of(task), G[0]))
            yield found[0], found[1]


@pytest.mark.parametrize("seed", range(25))
def test_the_same_maximum_as_without_shortcuts(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = random_graph(25, n_edges=50, n_bidirected=18, bow_free=True, random_state=seed)
    served = 0
    for ours, plain in both(graph, sampled(graph, [60, 300, 5000][seed % 3], seed).cov, monkeypatch):
        if ours is None or plain is None:
            continue
        served += 1
        assert abs(ours.value - plain.value) < 1e-11
        assert ours.iterations <= plain.iterations
        assert ours.boundary == plain.boundary
        np.testing.assert_allclose(ours.t, plain.t, atol=1e-9)
        np.testing.assert_allclose(ours.W, plain.W, atol=1e-9)
    assert served or seed % 3 == 0  # with few rows Newton steps need not lead straight to the maximum


def test_a_fit_of_a_large_district_is_at_the_maximum(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = chained(80)
    moments = sampled(graph, 2_000)
    (task,) = make_plan(graph, graph.observed, Options()).tasks
    assert task.shape.parameters > MANY
    found = fit(graph, moments)
    assert found.status.code == "converged"
    assert found.loglik == pytest.approx(dense_loglik(found.model, 2_000, moments.mean, moments.cov), rel=1e-12)
    ((ours, plain),) = both(graph, moments.cov, monkeypatch)
    assert ours is not None
    assert plain is not None
    np.testing.assert_allclose(ours.t, plain.t, atol=1e-9)
    np.testing.assert_allclose(ours.W, plain.W, atol=1e-9)


def test_moments_that_no_district_has_are_left_to_others() -> None:
    graph = chained(12)
    (task,) = make_plan(graph, graph.observed, Options()).tasks
    G, _ = gather((task,), np.full((1, 12, 12), -0.5) + 1.5 * np.eye(12))
    assert newton_alone(layout_of(task), G[0]) is None


def wide() -> tuple[Graph, Moments]:
    graph = random_graph(WIDE + 10, n_edges=400, n_bidirected=60, bow_free=True, random_state=3)
    return graph, sampled(graph, 700)


def changed(moments: Moments, cov: np.ndarray, n: float | None = None) -> Moments:
    return Moments(moments.names, moments.n if n is None else n, moments.mean, cov)


def test_a_wide_graph_is_judged_district_by_district() -> None:
    graph, moments = wide()
    assert well_posed_in_parts(graph, moments)
    assert not well_posed_in_parts(graph, changed(moments, moments.cov, 8.0))
    u, v = graph.directed[0]
    i, j = graph.observed.index(u), graph.observed.index(v)
    copied = moments.cov.copy()
    copied[j], copied[:, j] = copied[i], copied[:, i]
    copied[j, j] = copied[i, i]
    assert not well_posed_in_parts(graph, changed(moments, copied))
    with pytest.raises(DataError, match="perfectly correlated"):
        fit(graph, changed(moments, copied))
    constant = moments.cov.copy()
    constant[i], constant[:, i] = 0.0, 0.0
    assert not well_posed_in_parts(graph, changed(moments, constant))
    with pytest.raises(DataError, match="constant"):
        fit(graph, changed(moments, constant))


def test_a_giant_district_is_judged_as_a_whole() -> None:
    graph = chained(WIDE)
    cov = np.eye(WIDE)
    assert not well_posed_in_parts(graph, Moments(graph.observed, 1e4, np.zeros(WIDE), cov))
