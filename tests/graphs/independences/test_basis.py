"""The basis of independences by bit sets, against one search after another."""

from __future__ import annotations

import numpy as np
import pytest

from halftrek.data import Moments
from halftrek.graphs import Graph
from halftrek.graphs.arcs import Arcs
from halftrek.graphs.independences.separation import Walks, minimal_separator
from halftrek.inference.checks.missing_checks import partial_residuals
from halftrek.simulation import random_graph, random_model


def by_searches(graph: Graph) -> list[tuple[str, str, tuple[str, ...]]]:
    """The slow way: two walks for each pair."""
    walks, order = Walks(graph), graph.topological_order
    found = []
    for j, y in enumerate(order):
        for x in order[:j]:
            if x in (*graph.parents(y), *graph.children(y), *graph.spouses(y)):
                continue
            given = minimal_separator(walks, x, y, graph.ancestors([x, y]))
            if given is not None:
                found.append((x, y, tuple(v for v in order if v in given)))
    return found


@pytest.mark.parametrize("seed", range(40))
def test_equals_searches(seed: int) -> None:
    graph = random_graph(
        10, n_edges=8 + seed % 9, n_bidirected=seed % 7, n_latents=seed % 3, latent_children=3, random_state=seed
    )
    assert graph.implied_independences() == by_searches(graph)


def test_equals_searches_where_many_pairs_are_one_block() -> None:
    graph = Graph([("a", "b"), ("b", "c"), ("d", "e"), ("c", "f")], Arcs((("a", "f"),), (("b", "d", "g"),)))
    assert graph.implied_independences() == by_searches(graph)


def test_partial_correlations_do_not_depend_on_the_others() -> None:
    model = random_model(random_graph(12, n_edges=20, n_bidirected=4, random_state=2), random_state=2)
    moments = Moments(model.names, 100, model.mean, model.cov)
    at = [3, 7, 1, 9, 10]
    precision = np.linalg.inv(model.cov[np.ix_(at, at)])
    r, u, v = partial_residuals(moments, at)
    assert r == pytest.approx(-precision[0, 1] / np.sqrt(precision[0, 0] * precision[1, 1]), abs=1e-12)
    assert u @ model.cov @ v == pytest.approx(r, abs=1e-12)
    assert [u @ model.cov @ u, v @ model.cov @ v] == pytest.approx([1.0, 1.0])
    assert set(np.flatnonzero(np.abs(u) + np.abs(v))) == set(at)
