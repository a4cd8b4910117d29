"""Fits, verdicts and answers in words and as records."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from halftrek.examples import catalog, names
from halftrek.graphs import Graph
from halftrek.reporting import describe_answer, describe_verdict, summarize_fit
from halftrek.reporting.records import answer_record, fit_record, graph_record, plain, to_json
from halftrek.results.fit import Fit
from halftrek.results.given.reading import identify
from halftrek.results.workflow import fit


def fitted(name: str) -> Fit:
    entry = catalog(name)
    return fit(entry.graph, cov=entry.model.cov, n=500, mean=entry.model.mean)


@pytest.mark.parametrize("name", names())
def test_every_fit_of_the_catalog_fits_the_page(name: str) -> None:
    result = fitted(name)
    text = summarize_fit(result)
    assert all(len(line) <= 80 for line in text.splitlines())
    assert str(result.status).split()[0] in text
    for u, kind, v in result.graph.edges():
        if u not in result.graph.latents:
            assert f"{u} {kind} {v}" in text or f"{v} {kind} {u}" in text
    assert ("loadings" in text) == bool(result.graph.latents)


def test_the_numbers_of_a_summary_stand_in_their_rows() -> None:
    graph = Graph([("x", "y")])
    result = fit(graph, cov=[[4.0, 2.0], [2.0, 3.0]], n=100, mean=[1.0, 5.0])
    lines = [line.split() for line in summarize_fit(result).splitlines()]
    slope_error = math.sqrt(2.0 / (100 * 4.0))
    (effect,) = [line for line in lines if line[:3] == ["x", "->", "y"]]
    assert [float(x) for x in effect[3:5]] == pytest.approx([0.5, slope_error], rel=1e-3)
    (x,) = [line for line in lines if line[:1] == ["x"] and len(line) == 5 and line[1] != "->"]
    assert [float(cell) for cell in x[1:]] == pytest.approx([1, 0.2, 4, 4 * math.sqrt(2 / 100)], rel=1e-3)
    density = -50 * (2 * math.log(2 * math.pi) + math.log(8.0) + 2)
    assert ["log-likelihood", f"{density:.6f}"] in lines


def test_answers_show_a_number_to_the_decimals_of_its_interval() -> None:
    result = fitted("front-door")
    text = describe_answer(result.query("P(X3 | do(X1=1))"))
    lines = [line.split(maxsplit=1) for line in text.splitlines()]
    assert ["answer", "X3 ~ N(0.7400, 1.900)"] in lines  # the paper's Table 1
    effect = describe_answer(result.query("X1 ~> X3"))
    assert ["value", "0.4500", "from"] in [line.split()[:3] for line in effect.splitlines()]
    assert "95% intervals" in effect
    assert "interval" not in describe_answer(result.model.query("X1 ~> X3"))


def test_answers_of_several_outcomes_show_their_covariance() -> None:
    text = describe_answer(fitted("front-door").query("P(X2, X3 | do(X1=1))"))
    rows = [line.split() for line in text.splitlines()]
    assert ["X2", "0.6000", "1.000", "0.900"] in rows
    assert ["X3", "0.7400", "0.900", "1.900"] in rows


def test_given_models_have_no_verdict() -> None:
    text = describe_answer(catalog("front-door").model.query("P(X3 | do(X2=1))"))
    assert "X3 ~ N(1.10000, 1.09000)" in text
    assert "given model" in text


@pytest.mark.parametrize(
    ("name", "question", "words"),
    [("front-door", "P(X3 | do(X1))", "identified ("), ("bow", "x -> y", "not identified")],
)
def test_verdicts_name_question_and_outcome(name: str, question: str, words: str) -> None:
    text = describe_verdict(identify(catalog(name).graph, question))
    assert text.splitlines()[0] == f"  question  {question}"
    assert f"verdict   {words}" in text
    assert all(len(line) <= 80 for line in text.splitlines() if not line.startswith("      ht."))  # lines to paste


def test_finite_verdicts_say_how_many() -> None:
    from dataclasses import replace

    verdict = replace(identify(catalog("bow").graph, "x -> y"), status="finite", degree=2, witness=None)
    assert "verdict   finite: up to 2 values fit equally well" in describe_verdict(verdict)


def test_records_are_json_and_hold_the_numbers() -> None:
    result = fitted("napkin")
    record = json.loads(to_json(fit_record(result)))
    place = {v: i for i, v in enumerate(result.model.names)}
    arrows = [p for p in record["parameters"] if p["op"] == "~"]
    assert len(arrows) == 3
    for row in arrows:
        assert row["est"] == result.model.T[place[row["rhs"]], place[row["lhs"]]]
    answer = result.query("P(X4 | do(X3=1))")
    record = json.loads(to_json(answer_record(answer)))
    assert record["distribution"] == {"names": ["X4"], "mean": [answer.mean], "cov": [[answer.variance]]}
    assert "value" not in record
    assert json.loads(to_json(answer_record(result.query("X3 -> X4"))))["value"] == result.query("X3 -> X4").value


def test_graph_records_hold_every_piece() -> None:
    graph = Graph([("x", "y")], [("x", "z")], {"U": ["y", "z"]}, ["w"], {"x -> y": 0.5})
    pieces: dict[str, Any] = graph_record(graph)
    assert Graph(**pieces) == graph


def test_plain_values() -> None:
    given = {1: np.float64(2.5), "b": (np.int64(3), math.nan, math.inf), "c": np.array([[True, False]]), "d": None}
    assert plain(given) == {"1": 2.5, "b": [3, None, None], "c": [[True, False]], "d": None}
    assert str(plain(Graph([("x", "y")]))).startswith("Graph(")
