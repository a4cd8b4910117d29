"""Many questions that share the first round of the closure, against a closure of its own for each."""

from __future__ import annotations

import pytest

from halftrek.graphs import Graph
from halftrek.identification import identify, identify_all, solve
from halftrek.identification.criteria import certificate
from halftrek.identification.criteria.closure import Closure, Cut
from halftrek.identification.study import Study
from halftrek.identification.verdict import Verdict
from halftrek.queries import TotalEffect
from halftrek.results.given.reading import graph as read_graph
from halftrek.simulation import random_graph, random_model
from tests.narrow import there


def told(verdicts: list[Verdict]) -> list[tuple[object, ...]]:
    return [(str(v.query), v.status, v.method, v.estimand, v.latex, v.reasons, v.recipe) for v in verdicts]


def graph_of(seed: int) -> Graph:
    hidden = {"n_latents": 1, "latent_children": 3} if seed % 3 == 0 else {}
    graph = random_graph(9, n_edges=15, n_bidirected=6, random_state=seed, **hidden)  # type: ignore[arg-type]
    if seed % 4 == 1:
        graph = graph.with_(coefficients={f"{u} -> {v}": "a" for u, v in graph.directed[:2]})
    if seed % 4 == 2:
        u, v = graph.directed[0]
        graph = graph.with_(coefficients={f"{u} -> {v}": 0.5})
    return graph


@pytest.mark.parametrize("seed", [0, 2, 3, 4, 5, 6, 7, 8, 9, 10])
def test_verdicts_and_formulas_equal_those_of_a_closure_for_each(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = graph_of(seed)
    found = told(identify_all(graph, budget=0.2))
    monkeypatch.setattr(certificate, "_by_first_round", lambda *_: None)
    assert found == told(identify_all(graph, budget=0.2))


def test_the_work_is_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = random_graph(30, n_edges=60, n_bidirected=30, random_state=1)
    tried = []
    solve = Closure.instrument_step

    def counted(self: Closure, cut: Cut) -> bool:
        tried.append(cut.effect)
        return solve(self, cut)

    monkeypatch.setattr(Closure, "instrument_step", counted)
    identify_all(graph, budget=0.0)
    shared = len(tried)
    monkeypatch.setattr(certificate, "_by_first_round", lambda *_: None)
    identify_all(graph, budget=0.0)
    assert 0 < shared < 0.6 * (len(tried) - shared)


def test_effects_around_a_variable_have_a_name_of_their_own() -> None:
    """A variable may be avoided though no parent of it is on a path that goes on."""
    text = (
        "v0 -> {v1, v5}; v1 -> v2; v2 -> {v3, v4}; v3 -> {v4, v5, v7, v9}; v4 -> {v5, v7, v9}; v5 -> {v6, v8}; "
        "v6 -> {v7, v8}; v7 -> v8; v8 -> v9; v1 <-> v2; v0 <-> v3; v5 <-> v9; v3 <-> v5; v6 <-> v8"
    )
    graph = read_graph(text)
    closure = Closure(Study(graph).bench)
    assert closure.name("v0", "v9", {"v8"}) != closure.name("v0", "v9")
    verdict = identify(graph, TotalEffect("v0", "v9"))
    model = random_model(graph, random_state=1)
    assert verdict.identified
    assert solve(there(verdict.recipe), model.cov, model.names) == pytest.approx(
        float(model.B[model.names.index("v0"), model.names.index("v9")])
    )
