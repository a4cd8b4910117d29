"""Equations of the districts that an edge touches say what those of all districts say."""

from __future__ import annotations

import math
from itertools import combinations

import pytest

import halftrek as ht
from halftrek.partial.varied.engine import within
from halftrek.simulation import random_graph, random_model


def close(one: object, other: object) -> bool:
    """Equal, but for rounding."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(close(one[k], other[k]) for k in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(close, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return (math.isnan(one) and math.isnan(other)) or abs(one - other) <= 1e-6 * (0.01 + abs(one))
    return one == other


def answers(fit: ht.Fit, question: str, edge: str) -> list[object]:
    """A curve, a ranking of all edges, and how robust the answer is along one; or why not."""
    found: list[object] = []
    for ask in (
        lambda: fit.sensitivity(question, edge),
        lambda: fit.assumptions(question),
        lambda: fit.robustness(question, edge),
    ):
        try:
            found.append(ask().to_dict())
        except ht.HalftrekError as refusal:
            found.append(str(refusal))
    return found


@pytest.mark.parametrize("seed", [0, 7, 29])
def test_as_with_all_districts(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Random graphs, some with a hidden cause of three; of the first ones an edge that equations say nothing of."""
    graph = random_graph(5, n_edges=6, n_bidirected=seed % 5, bow_free=False, random_state=seed)
    if seed % 2:
        graph = graph.with_(latents={"L": list(graph.observed[1:4])})
    model = random_model(graph, random_state=seed)
    fit = ht.fit(graph, dict(zip(model.names, model.sample(500, random_state=seed).T, strict=True)))
    order = graph.topological_order
    cause, effect = next((a, b) for a, b in combinations(order, 2) if b in graph.descendants(a))
    edge = next(f"{u} <-> {v}" for u, v in combinations(order[::-1], 2) if v not in graph.siblings(u))
    wanted = answers(fit, f"{cause} ~> {effect}", edge)
    monkeypatch.setattr(within, "MANY", 0)
    assert close(answers(fit, f"{cause} ~> {effect}", edge), wanted)


def test_labels_join_districts() -> None:
    """Weights with one label are one unknown."""
    graph = ht.graph("a -> b; c -> d; b <-> e; d <-> f; x -> y").with_(coefficients={"a -> b": "w", "c -> d": "w"})
    model = random_model(graph, random_state=1)
    fit = ht.fit(graph, dict(zip(model.names, model.sample(300, random_state=1).T, strict=True)))
    from halftrek.estimation.space import make_space
    from halftrek.partial.varied.engine.equations import make_equations

    names = fit.model.names
    equations = make_equations(make_space(graph, names, fit.options), fit.model.cov, ())
    number = dict(zip(names, within.districts_of(graph, names, equations).tolist(), strict=True))
    assert number["b"] == number["d"] == number["e"] == number["f"]
    assert len({number[v] for v in "bacxy"}) == 5
