"""Instruments of an equation, against covariances in models drawn at random."""

from __future__ import annotations

import numpy as np
import pytest

import halftrek as ht
from halftrek.graphs import Graph
from halftrek.identification.beside.instruments import InstrumentEquation, instrument_equations
from halftrek.simulation import random_graph, random_model


def equations(graph: str | Graph, question: str) -> tuple[InstrumentEquation, ...]:
    return instrument_equations(ht.identify(graph, question))


def test_instruments_beside_the_one_of_the_formula_are_found() -> None:
    (one,) = equations("z1 -> x; z2 -> x; x -> y; x <-> y; w -> {x, y, z1}", "x ~> y")
    assert (one.outcome, one.causes, one.controls) == ("y", ("x",), ("w",))
    assert set(one.instruments) == set(one.telling) == {"z1", "z2"}
    assert one.effects == ("x -> y",)


def test_one_that_acts_through_another_is_an_instrument_and_tells_nothing_more() -> None:
    (one,) = equations("a -> b -> x -> y; x <-> y", "x -> y")
    assert set(one.instruments) == {"a", "b"}
    assert one.telling == ("b",)


def test_what_is_related_to_the_outcome_otherwise_is_none() -> None:
    (one,) = equations("z -> x -> y; x <-> y; bad -> {x, y}; bad <-> y; worse <-> y; worse -> x; idle -> k", "x -> y")
    assert one.instruments == ("z",)


def test_several_causes_keep_their_names() -> None:
    (one,) = equations("{a, b, c} -> {p, q}; {p, q} -> y; p <-> q; p <-> y; q <-> y", "p -> y")
    assert one.causes == ("p", "q")
    assert one.effects == ("p -> y", "")
    assert set(one.instruments) == {"a", "b", "c"}


@pytest.mark.parametrize("question", ["x ~> y", "P(y | do(x))"])
def test_no_instruments_no_equations(question: str) -> None:
    assert equations("x -> m -> y; x <-> y", question) == ()
    assert equations("w -> {x, y}; x -> y", question) == ()


def test_in_a_model_drawn_at_random_instruments_are_what_the_error_leaves_alone() -> None:
    looked, valid = 0, 0
    for seed in range(60):
        graph = random_graph(6, edge_probability=0.35, n_bidirected=3, random_state=seed)
        model = random_model(graph, random_state=seed)
        place = {v: i for i, v in enumerate(model.names)}
        T, cov = np.asarray(model.T), np.asarray(model.cov)
        for u, v in graph.directed:
            for one in equations(graph, f"{u} -> {v}"):
                if set(one.causes) | set(one.controls) != set(graph.parents(one.outcome)):
                    continue  # of other equations the error is not the graph's own
                parents = [place[p] for p in graph.parents(one.outcome)]
                error = cov[:, place[one.outcome]] - cov[:, parents] @ T[parents, place[one.outcome]]
                held, causes = [place[w] for w in one.controls], [place[c] for c in one.causes]
                for z in set(graph.observed) - {one.outcome, *one.causes, *one.controls}:
                    slopes = np.linalg.solve(cov[np.ix_(held, held)], cov[np.ix_(held, causes)])
                    moved = cov[place[z], causes] - cov[place[z], held] @ slopes
                    good = abs(error[place[z]]) < 1e-9 and np.abs(moved).max() > 1e-9
                    assert (z in one.instruments) == good
                    looked, valid = looked + 1, valid + good
    assert looked > 40
    assert valid > 20
