"""Coefficients by formulas: a district with its parents alone says as much as the whole graph."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import halftrek as ht
from halftrek.data import Moments
from halftrek.estimation import fit
from halftrek.graphs import Graph
from halftrek.queries import DirectEffect
from halftrek.results.formulas import component
from halftrek.simulation import random_model


def drawn(seed: int) -> Graph:
    rng = np.random.default_rng(seed)
    names = [f"v{i}" for i in range(int(rng.integers(4, 10)))]
    pairs = [(u, v) for k, v in enumerate(names) for u in names[:k]]
    arrows, arcs = ([pair for pair in pairs if rng.random() < share] for share in (0.35, 0.15))
    return Graph(arrows, arcs, observed=names)


@pytest.mark.parametrize("seed", range(8))
def test_a_district_and_its_parents_have_the_same_formulas_and_values(seed: int) -> None:
    graph = drawn(seed)
    model = random_model(graph, random_state=seed)
    fitted = replace(fit(graph, Moments(model.names, 1000.0, model.mean, model.cov)), moments=ht.Moments.from_cov(
        model.cov, 1000.0, names=model.names))  # fmt: skip
    assert graph.directed
    for members in graph.districts:
        part, cov = component(fitted, members)
        assert np.linalg.eigvalsh(cov)[0] > 0.0
        for u, v in [arrow for arrow in graph.directed if arrow[1] in members]:
            here, whole = (ht.identify(g, DirectEffect(u, v), witness=False) for g in (part, graph))
            assert here.identified == whole.identified
            if here.recipe is not None:
                truth = model.T[model.names.index(u), model.names.index(v)]
                assert ht.solve(here.recipe, cov, part.observed) == pytest.approx(truth, rel=1e-6)


def test_a_large_graph_starts_from_the_formulas_of_its_districts() -> None:
    chain = [(f"c{i}", f"c{i + 1}") for i in range(120)]
    graph = Graph([*chain, ("c9", "z"), ("z", "x"), ("x", "y")], [("x", "y"), ("c3", "x")])
    model = random_model(graph, random_state=1)
    found = ht.fit(graph, cov=model.cov, n=1000, names=model.names)
    at = found.model.names.index
    truth = model.T[model.names.index("x"), model.names.index("y")]
    assert found.model.T[at("x"), at("y")] == pytest.approx(truth, rel=1e-5)
