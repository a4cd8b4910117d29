"""What would help, what can be tested, and how verdicts read."""

import pytest

from halftrek.graphs import Graph
from halftrek.identification import identify, implications, what_would_help
from halftrek.identification.beside.advice import graph_after, helpful_changes, question_after
from halftrek.notes import note
from halftrek.queries import Query
from halftrek.queries.types import DirectEffect, Distribution, ErrorCovariance, TotalEffect

BOW = Graph([("x", "y")], [("x", "y")])
INSTRUMENT = Graph([("z", "x"), ("x", "y")], [("x", "y")])


@pytest.mark.parametrize(
    "query", [DirectEffect("x", "y"), TotalEffect("x", "y"), Distribution.after(("y",), {"x": None})]
)
def test_every_change_that_is_suggested_works(query: Query) -> None:
    changes = what_would_help(BOW, query, seconds=20.0)
    assert {c.kind for c in changes} == {"rule out", "measure", "instrument", "mediator", "know"}
    for change in changes:
        assert identify(change.graph, change.query, witness=False).identified, change.text


def test_two_changes_are_suggested_where_one_is_not_enough() -> None:
    graph = Graph([("a", "b"), ("b", "c")], [("a", "b"), ("b", "c"), ("a", "c")], coefficients={})
    changes = what_would_help(graph, ErrorCovariance("a", "c"), seconds=20.0)
    assert changes
    for change in changes:
        assert identify(change.graph, change.query, witness=False).identified, change.text


def test_two_edges_are_ruled_out_in_the_words_of_each() -> None:
    graph = Graph([("a", "b"), ("b", "c")], [("a", "b"), ("b", "c")])
    alone = [note("rule out arc", first=u, second=v) for u, v in graph.bidirected]
    (both,) = helpful_changes(
        graph, TotalEffect("a", "c"), lambda g, _: not g.bidirected and g.observed == graph.observed, seconds=20.0
    )
    assert both.note.code == "rule out two arcs"
    assert both.text == f"{alone[0]} and {alone[1]}"
    assert both.graph.bidirected == ()


def test_measuring_a_hidden_cause_is_suggested_by_its_name() -> None:
    graph = Graph([("x", "y")], latents={"talent": ["x", "y", "w"]})
    texts = [c.text for c in what_would_help(graph, TotalEffect("x", "y"), seconds=20.0)]
    assert "measuring talent" in texts


def test_an_unidentified_verdict_carries_advice_and_a_fresh_name_is_found() -> None:
    graph = Graph([("instrument", "y")], [("instrument", "y")])
    verdict = identify(graph, DirectEffect("instrument", "y"))
    assert any("ruling out instrument <-> y" in text for text in verdict.helps)
    assert verdict.advice[0].code == "rule out arc"
    assert verdict.advice[0].facts == {"first": "instrument", "second": "y"}
    found = verdict.to_dict()
    assert found["helps"] == list(verdict.helps)
    assert found["advice"] == [n.to_dict() for n in verdict.advice]
    assert "What would help" in verdict.explain()
    assert identify(graph, DirectEffect("instrument", "y"), witness=False).helps == ()


def test_testable_implications() -> None:
    assert not implications(INSTRUMENT).testable
    chain = implications(Graph([("a", "b"), ("b", "c")]))
    assert chain.independences == (("a", "c", ("b",)),)
    assert chain.constraints == 1
    napkin = implications(Graph([("w", "z"), ("z", "x"), ("x", "y")], [("w", "x"), ("w", "y")]))
    assert (napkin.independences, napkin.constraints) == ((), 1)
    assert "no conditional independence" in napkin.explain()
    assert napkin.to_dict()["dimension"] == 9
    factor = implications(Graph(latents={"f": ["a", "b", "c", "d"]}))
    assert (factor.independences, factor.constraints) == ((), 2)  # two tetrads


@pytest.mark.parametrize(
    ("graph", "query", "method", "words"),
    [
        (INSTRUMENT, Distribution.after(("y",), {"x": None}), "instrument", "z is an instrument for x"),
        (
            Graph([("w", "z"), ("w", "y"), ("z", "x"), ("x", "y")], [("x", "y")]),
            DirectEffect("x", "y"),
            "conditional instrument",
            "Given w, z is an instrument for x",
        ),
        (
            Graph([("z1", "x1"), ("z1", "x2"), ("z2", "x1"), ("z2", "x2"), ("x1", "y"), ("x2", "y")],
                  [("x1", "y"), ("x2", "y")]),
            DirectEffect("x1", "y"),
            "instrumental set",
            "z1 and z2 are instruments for x1 and x2",
        ),
        (Graph([("w", "x"), ("w", "y"), ("x", "y")]), DirectEffect("x", "y"), "regression", "a regression gives"),
        (
            Graph([("w", "z"), ("z", "x"), ("x", "y")], [("w", "x"), ("w", "y")]),
            DirectEffect("x", "y"),
            "half-trek",
            "serves as an instrument",
        ),
        (
            Graph([("x", "m"), ("x", "n"), ("m", "y"), ("n", "y")], [("x", "y")]),
            Distribution.after(("y",), {"x": None}),
            "front-door",
            "runs through m and n",
        ),
        (
            Graph([("x", "y"), ("a", "m"), ("m", "b")], [("x", "y"), ("a", "b")]),
            Distribution.after(("b",), {"a": None}),
            "front-door",
            "front-door criterion",
        ),
    ],
)  # fmt: skip
def test_explanations_name_the_idea(graph: Graph, query: Query, method: str, words: str) -> None:
    verdict = identify(graph, query)
    assert verdict.method == method
    assert words in verdict.explain()
    assert verdict.latex


def test_the_graph_after_each_advice() -> None:
    hidden = Graph([("x", "y")], (), {"U": ("x", "y")})
    three = Graph([("x", "y")], [("x", "y"), ("x", "z"), ("z", "y")])
    pairs = {"first": "x", "second": "y", "other_first": "x", "other_second": "z"}
    expected = [
        (BOW, note("rule out arc", first="x", second="y"), Graph([("x", "y")])),
        (three, note("rule out two arcs", **pairs), Graph([("x", "y")], [("z", "y")])),
        (BOW, note("measure common cause", first="x", second="y"),
         Graph([("x", "y"), ("confounder", "x"), ("confounder", "y")])),
        (hidden, note("measure hidden cause", variable="U"), Graph([("x", "y"), ("U", "x"), ("U", "y")])),
        (BOW, note("measure instrument", cause="x"), Graph([("instrument", "x"), ("x", "y")], [("x", "y")])),
        (BOW, note("measure mediator", cause="x", effect="y"),
         Graph([("x", "mediator"), ("mediator", "y")], [("x", "y")])),
        (BOW, note("know coefficient", edge="x -> y"), BOW),
    ]  # fmt: skip
    for graph, advice, wanted in expected:
        assert graph_after(graph, advice) == wanted, advice
    assert question_after(DirectEffect("x", "y"), expected[5][1]) == TotalEffect("x", "y")
    assert question_after(DirectEffect("x", "y"), expected[0][1]) == DirectEffect("x", "y")
