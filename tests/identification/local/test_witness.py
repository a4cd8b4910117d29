"""The search for two models that prove a negative verdict: what it costs, and that it ends in time."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import halftrek as ht
from halftrek.identification import clock, decision, identify
from halftrek.identification.local import witness
from halftrek.identification.local.jacobian import block_at
from halftrek.identification.local.parameters import Point, parameters_of
from halftrek.identification.local.witness import find_witness, starting_values
from halftrek.identification.numbers.fields import Array, Reals
from halftrek.queries import TotalEffect
from halftrek.simulation import random_graph
from tests.narrow import some


def by_full_svd(matrix: Array) -> Array:
    """The slow way, with thousands of left vectors."""
    _, values, vectors = np.linalg.svd(matrix, full_matrices=True)
    return np.asarray(vectors[int((values > 1e-9 * values[0]).sum()) :].T)


@pytest.mark.parametrize("seed", range(8))
def test_directions_equal_those_of_a_full_decomposition(seed: int) -> None:
    graph = random_graph(8, n_edges=12, n_bidirected=9, random_state=seed)
    table = parameters_of(graph)
    point = Point(table, Reals(), starting_values(table, np.random.default_rng(seed)))
    for members in some(table.blocks):
        tall = block_at(point, members).jacobian.T
        quick, slow = witness._null_space(tall), by_full_svd(tall)
        assert quick.shape == slow.shape
        np.testing.assert_allclose(quick @ quick.T, slow @ slow.T, atol=1e-7)


@pytest.mark.parametrize("seed", range(4))
def test_witnesses_are_those_of_a_full_decomposition(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = random_graph(5, n_edges=6, n_bidirected=3, random_state=seed)
    graph = graph.with_(bidirected=[*graph.bidirected, ("x", "y")], directed=[*graph.directed, ("x", "y"), ("y", "x1")])
    query = TotalEffect("x", "y")
    found = find_witness(graph, query)
    monkeypatch.setattr(witness, "_null_space", by_full_svd)
    expected = find_witness(graph, query)
    assert found is not None
    assert expected is not None
    np.testing.assert_allclose(found.answers, expected.answers, rtol=1e-6)
    assert found.quantity == expected.quantity


def test_the_search_ends_with_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every look at the clock takes a second: a search that looks at each step cannot go on after its budget."""
    graph = ht.graph("x -> m -> y; x <-> m; m <-> y; x <-> y; x -> b")
    looks = itertools.count()
    monkeypatch.setattr(clock, "monotonic", lambda: float(next(looks)))
    monkeypatch.setattr(decision, "_advised", lambda _study, verdict, _scope: verdict)  # it looks at a clock of its own
    short = identify(graph, TotalEffect("x", "y"), budget=2.0)
    assert (short.status, short.witness) == ("not identified", None)
    assert next(looks) < 10
    long = identify(graph, TotalEffect("x", "y"), budget=1e6)
    assert long.witness is not None
    assert next(looks) > 15
