"""What a refused question says to do next, and that every line that is printed runs."""

from __future__ import annotations

import itertools
import shlex
from pathlib import Path
from typing import get_args

import numpy as np
import pandas as pd
import pytest

import halftrek as ht
from halftrek.cli import main
from halftrek.graphs import Graph
from halftrek.identification import NextStep
from halftrek.identification.beside.advice import Change
from halftrek.identification.beside.next_steps import Way, step_with_change
from halftrek.notes import note
from halftrek.queries import TotalEffect
from halftrek.simulation import random_model

REFUSED = [
    (ht.catalog(name).graph, question)
    for name in ht.catalog()
    for question, known in ht.catalog(name).verdicts.items()
    if known["linear"] != "identified"
]
BY_HAND = [
    ("x -> y; x <-> y", "x ~> y"),
    ("x -> y; x <-> y", "P(y | do(x=1))"),
    ("x -> y; x <-> y", "E[y | do(x=1)] - E[y | do(x=0)]"),
    ("x -> y; x <-> y", "P(y_{x=1} | x=0, y=2)"),
    ("x -> y; x <-> y", "x <-> y"),
    ("x -> y; x <-> y", "std(x ~> y)"),
    ("x -> m -> y; x <-> m; m <-> y; x <-> y", "x ~> y"),
    ("x -> m -> y; x <-> m; x <-> y", "x -> m -> y"),
    ("latent talent; talent -> {school, wage, iq}; school -> wage", "school ~> wage"),
    ('"years of school" -> wage; "years of school" <-> wage', '"years of school" ~> wage'),
]
ALL = [*REFUSED, *((ht.graph(text), question) for text, question in BY_HAND)]


def steps_of(verdict: ht.Verdict) -> tuple[NextStep, ...]:
    assert not verdict.identified
    assert verdict.next_steps, verdict.query
    return verdict.next_steps


def rows_of(graph: Graph) -> pd.DataFrame:
    model = random_model(graph, random_state=0)
    return pd.DataFrame(np.asarray(model.sample(400, random_state=0)), columns=list(model.names))


@pytest.mark.parametrize(("graph", "question"), ALL, ids=lambda part: part if isinstance(part, str) else "")
def test_every_line_that_is_printed_for_python_runs(graph: Graph, question: str) -> None:
    verdict = ht.identify(graph, question)
    assert verdict.next_steps
    said = verdict.explain().splitlines()
    data = rows_of(graph)
    for step in steps_of(verdict):
        line = step.line()
        assert f"      {line}" in said
        found = eval(line, {"ht": ht, "data": data, "graph": graph})
        if step.way == "identify":
            assert found.identified, line
        if step.way == "fit":
            assert np.isfinite(found.value).all(), line
        if step.way == "sensitivity":
            assert len(found.estimates) > 1, line
            assert np.isfinite(found.estimates).all(), line


@pytest.mark.parametrize(
    ("graph", "question"), ALL[:: max(1, len(ALL) // 12)], ids=lambda p: p if isinstance(p, str) else ""
)
def test_every_line_that_is_printed_for_the_shell_runs(
    graph: Graph, question: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rows_of(graph).to_csv("data.csv", index=False)
    assert main(["identify", ht.format_graph(graph), question]) == 3
    said = [line.strip() for line in capsys.readouterr().out.splitlines()]
    lines = [line for line in said if line.startswith("halftrek ")]
    assert lines
    for line in lines:
        assert main(shlex.split(line)[1:]) == 0, line


def test_a_refusal_while_fitting_has_lines_for_the_shell_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    graph = ht.graph("x -> y; x <-> y")
    rows_of(graph).to_csv("data.csv", index=False)
    assert main(["query", "x -> y; x <-> y", "data.csv", "x ~> y"]) == 3
    said = capsys.readouterr().out
    assert "halftrek identify" in said
    assert "ht." not in said


def test_the_ways_are_all_taken() -> None:
    taken = {step.way for graph, question in ALL for step in steps_of(ht.identify(graph, question))}
    assert taken | {"more time", "effects"} == set(get_args(Way))


def test_where_nothing_else_is_known_there_is_the_table_of_effects() -> None:
    verdict = ht.identify("x -> y; x <-> y", "P(y | do(x))", scope="nonparametric")
    (step,) = steps_of(verdict)
    assert step.way == "effects"
    assert len(eval(step.line(), {"ht": ht, "data": rows_of(verdict.graph)}))


def test_an_undecided_question_is_told_how_to_get_more_time() -> None:
    step = NextStep("More time may decide it:", "more time", ht.graph("x -> y"), ht.parse_question("x ~> y"))
    assert step.line() == 'ht.identify("x -> y", "x ~> y", budget=60)'
    assert step.line("command line") == "halftrek identify 'x -> y' 'x ~> y' --budget 60"
    assert eval(step.line(), {"ht": ht}).identified


def test_without_linearity_the_next_step_is_to_assume_it() -> None:
    verdict = ht.identify("z -> x -> y; x <-> y", "P(y | do(x))", scope="nonparametric")
    (step,) = steps_of(verdict)
    assert "linear" in step.text
    assert eval(step.line(), {"ht": ht}).identified


def test_a_long_graph_is_not_written_out_again() -> None:
    names = [f"variable_{k}" for k in range(40)]
    pairs = list(itertools.pairwise(names))
    graph = Graph(pairs, pairs)
    steps = steps_of(ht.identify(graph, f"{names[0]} ~> {names[1]}"))
    assert all(len(step.line()) < 300 for step in steps)
    assert any(step.line().startswith(("ht.fit(graph, ", "ht.partial.sensitivity(graph, ")) for step in steps)


def test_details_are_told_when_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    verdict = ht.identify("x -> y; x <-> y", "x ~> y")
    assert verdict.method == "jacobian"
    assert "jacobian" not in verdict.explain()
    assert "modulo two primes" in verdict.explain(details=True)
    assert "Method: jacobian." in verdict.explain(details=True)
    assert main(["identify", "x -> y; x <-> y", "x ~> y", "--details"]) == 3
    assert "modulo two primes" in capsys.readouterr().out


def test_the_change_to_show_is_the_one_with_most_to_gain() -> None:
    graph, query = ht.graph("x -> y; x <-> y"), TotalEffect("x", "y")
    without = Change("rule out", note("rule out arc", first="x", second="y"), ht.graph("x -> y"), query)
    helped = Change("instrument", note("measure instrument", cause="x"), ht.graph("z -> x -> y; x <-> y"), query)
    long = Change("instrument", note("measure instrument", cause="x"), Graph([("x" * 700, "y")]), query)
    unseen = Change("of another kind", note("measure instrument", cause="x"), graph, query)
    (step,) = step_with_change([unseen, long, without, helped])
    assert step.graph == helped.graph
    (step,) = step_with_change([long, without])
    assert step.graph == without.graph
    assert step_with_change([unseen, long]) == []
