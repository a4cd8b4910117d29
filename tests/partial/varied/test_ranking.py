"""The ranking of absent edges agrees with refits: what a value of the edge costs, and what it does to the answer."""

from __future__ import annotations

import numpy as np
import pytest

import halftrek as ht
from halftrek.graphs import Edge
from halftrek.simulation import random_graph
from halftrek.upward import graph_line
from tests.partial.varied.oracles import FRONT_DOOR, exact, refitted, regression

GRAPHS = {
    FRONT_DOOR: "x ~> y",
    "z -> x -> y; x <-> y": "x -> y",
    "x -> m -> y; x -> y": "x ~> y",
    "x -> m -> y": "x ~> y",
    "w -> {x, y}; x -> m -> y; m <-> w": "x ~> y",
    "z1 -> x; z2 -> x; x -> y; x <-> y": "x -> y",
    "latent U; U -> {a, b, c, d}; a -> y; y <-> b": "a -> y",
}


def _checked(fit: ht.Fit, question: str) -> int:
    """Every absent edge against refits at two small values; how many there were."""
    base = fit.query(question).value
    sd, noise = np.sqrt(np.diag(fit.model.cov)), np.sqrt(np.diag(fit.model.W))
    names = fit.model.names
    found = fit.assumptions(question)
    for row in found.rows:
        edge = Edge.read(row.edge)
        i, j = names.index(edge.first), names.index(edge.second)
        if row.standing == "closes a cycle":
            assert edge.second in fit.graph.ancestors(edge.first)
            continue
        tenth = 0.1 * (sd[j] / sd[i] if edge.kind == "->" else noise[i] * noise[j])
        ends = [refitted(fit, row.edge, side * 0.2 * tenth) for side in (1.0, -1.0)]
        lost = max(2.0 * (fit.loglik - end.loglik) for end in ends)
        up, down = (float(end.model.query(question).value) for end in ends)
        if row.standing == "tested by the data":
            assert lost > 1e-7 * fit.n, row
        else:
            assert lost == pytest.approx(0.0, abs=1e-6), row
        if row.standing == "harmless":
            assert (up, down) == pytest.approx((base, base), abs=1e-6 * (1.0 + abs(float(base)))), row
        else:
            slope = (up - down) / 0.4
            if np.isnan(row.slope):  # it hangs on what data do not tell
                assert fit.status.code == "flat"
                continue
            assert row.slope == pytest.approx(slope, abs=0.02 * abs(slope) + 2e-4), row
    return len(found.rows)


@pytest.mark.parametrize(("text", "question"), GRAPHS.items())
def test_named_graphs(text: str, question: str) -> None:
    assert _checked(exact(text, seed=4), question) > 0


@pytest.mark.parametrize("seed", range(8))
def test_random_graphs(seed: int) -> None:
    graph = random_graph(5, n_edges=6, n_bidirected=2, random_state=seed)
    text = graph_line(graph)
    questions = [f"{u} ~> {v}" for u, v in graph.directed if ht.identify(graph, f"{u} ~> {v}").identified]
    fit = exact(text, seed=seed + 100)
    assert questions
    assert _checked(fit, questions[-1]) > 0


@pytest.mark.parametrize(("text", "question"), GRAPHS.items())
def test_every_absent_edge_is_there_once(text: str, question: str) -> None:
    fit = exact(text, seed=4)
    rows = fit.assumptions(question).rows
    names = fit.graph.observed
    arrows = {f"{u} -> {v}" for u in names for v in names if u != v} - {f"{u} -> {v}" for u, v in fit.graph.directed}
    arcs = {frozenset((u, v)) for u in names for v in names if u != v} - {
        frozenset(arc) for arc in fit.graph.bidirected
    }
    assert len(rows) == len(arrows) + len(arcs)
    assert {row.edge for row in rows if " -> " in row.edge} == arrows
    assert {frozenset(row.edge.split(" <-> ")) for row in rows if "<->" in row.edge} == arcs


def test_the_least_is_where_the_answer_is_zero() -> None:
    """The model at the value that the ranking names has the answer zero, and is as near as ``robustness`` says."""
    reached = 0
    for text, question in GRAPHS.items():
        fit = exact(text, seed=4)
        for row in fit.assumptions(question).carrying:
            alone = fit.robustness(question, row.edge).rows[0]
            assert (row.smallest is None) == (alone.smallest is None), row
            if row.smallest is not None and row.value is not None:
                assert alone.smallest == pytest.approx(row.smallest, abs=1e-9), row
                there = refitted(fit, row.edge, row.value)
                scale = 1.0 + abs(float(fit.query(question).value))
                assert float(there.model.query(question).value) == pytest.approx(0.0, abs=1e-5 * scale), row
                reached += 1
    assert reached > 3


def test_a_regression_has_one_edge_that_carries_it() -> None:
    found = regression("plain").assumptions("directlyharmed -> peacefactor")
    assert [row.edge for row in found.carrying] == ["directlyharmed <-> peacefactor"]
    assert not found.tested
    assert found.carrying[0].rv == pytest.approx(0.07191008791292161, abs=1e-10)


def test_tests_are_those_of_modification_indices() -> None:
    study = ht.dataset("tal_or")
    fit = ht.fit("cond -> pmi -> reaction", study.data)
    found = {row.edge: row.p for row in fit.assumptions("cond ~> reaction").tested}
    indices = fit.modifications()
    said = dict(zip(indices["edge"].tolist(), indices["p"].tolist(), strict=True))
    assert found
    for edge, p in found.items():
        assert p == pytest.approx(said[edge], rel=1e-9)


def test_another_target_and_a_question_without_answer() -> None:
    fit = exact(FRONT_DOOR, seed=4)
    value = float(fit.query("x ~> y").value)
    there = fit.assumptions("x ~> y", target=value)
    assert [row.smallest for row in there.carrying] == [0.0, 0.0, 0.0]
    with pytest.raises(ht.NotIdentifiedError):
        ht.fit("x -> y; x <-> y", cov=np.eye(2) + 0.2, n=50).assumptions("x -> y")
    with pytest.raises(ht.QueryError, match="several outcomes"):
        fit.assumptions("P(m, y | do(x=1))")


def test_with_missing_values_the_ranking_is_the_same() -> None:
    """At the fitted covariance what data leave free does not depend on which values are missing."""
    graph = ht.graph("z -> x -> y; x <-> y")
    rows = ht.CGLSCM.from_parameters(
        names=["z", "x", "y"],
        T=[[0.0, 1.0, 0.0], [0.0, 0.0, 0.5], [0.0, 0.0, 0.0]],
        omega={("x", "y"): 0.4},
        graph=graph,
    ).sample(400, random_state=1)
    data = {name: rows[:, k].copy() for k, name in enumerate(("z", "x", "y"))}
    data["y"][data["z"] > 0.8] = np.nan
    fit = ht.fit(graph, data)
    found = {row.edge: row.standing for row in fit.assumptions("x -> y").rows if row.standing != "closes a cycle"}
    assert found == {"z -> y": "carries the answer", "z <-> y": "carries the answer", "z <-> x": "harmless"}
    row = next(row for row in fit.assumptions("x -> y").rows if row.edge == "z <-> y")
    assert row.value == pytest.approx(fit.model.cov[0, 2], rel=1e-8)
