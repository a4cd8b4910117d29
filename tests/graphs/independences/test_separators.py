"""Minimal separators, against trying every subset."""

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from halftrek.graphs import Graph
from halftrek.graphs.independences.separators import minimal_separators
from tests.graphs.random_graphs import graphs, minimal, subsets


@settings(deadline=None, max_examples=80, derandomize=True)
@given(graphs("abcdef"), st.randoms(use_true_random=False))
def test_separators_without_arrows_and_variables(graph: Graph, rng: random.Random) -> None:
    x, y, *rest = rng.sample(graph.observed, len(graph))
    never = {v for v in rest if rng.random() < 0.3}
    without = [e for e in graph.directed if rng.random() < 0.2]
    left = Graph([e for e in graph.directed if e not in without], graph.bidirected, graph.latents, graph.observed)
    every = minimal(z for z in subsets([v for v in rest if v not in never]) if left.m_separated(x, y, z))
    found = list(minimal_separators(graph, [x], [y], without=without, never=never))
    assert len(found) == len(set(found))  # each once
    assert set(found) == every
