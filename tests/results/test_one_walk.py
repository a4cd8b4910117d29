"""A question is read once and decided once, in Python and on the command line; every form of an answer is rendered."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import halftrek as ht
from halftrek import identification
from halftrek.cli import main
from halftrek.identification.verdict import sentences
from halftrek.reporting import describe_answer
from halftrek.reporting.records import answer_record, to_json
from halftrek.results.answers import Answer, Refusal, Several
from halftrek.results.given import inputs, reading
from halftrek.results.sets.bounds import Bounds
from tests.narrow import there

BOW = "x -> y; x <-> y"


def rows(seed: int) -> dict[str, np.ndarray]:
    x, m, y = np.random.default_rng(seed).normal(size=(3, 200))
    return {"x": x, "m": x + m, "y": x + m + y}


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often questions were read and decided."""
    found: Counter[str] = Counter()

    def watch(room: Any, name: str) -> None:
        real = getattr(room, name)

        def watched(*args: Any, **options: Any) -> Any:
            found[name] += 1
            return real(*args, **options)

        monkeypatch.setattr(room, name, watched)

    watch(inputs, "parse_question")
    watch(identification, "identify")
    monkeypatch.setattr(reading, "_AT_ANY_VALUE", {})
    return found


def test_one_question_is_read_and_decided_once(counted: Counter[str]) -> None:
    fit = ht.fit("x -> m -> y; x -> y", rows(1))
    counted.clear()
    fit.query("P(y | do(x=1.25))")
    assert counted == {"parse_question": 1, "identify": 1}
    fit.query("P(y | do(x=1.25))")
    assert counted == {"parse_question": 1, "identify": 1}


def test_an_intervention_is_decided_once_for_all_values(counted: Counter[str]) -> None:
    graph = ht.graph("x -> m -> y; x <-> y; w -> y")
    fit = ht.fit(graph, {**rows(3), "w": np.random.default_rng(4).normal(size=200)})
    counted.clear()
    for text in ("P(y | do(x=1.5), w=0)", "P(y | do(x=2.5), w=1)", "P(y | w=1, do(x=3))"):
        answer = fit.query(text)
        verdict = there(answer.verdict)
        assert str(answer.query) == str(verdict.query)
        alone = identification.decision.identify(graph, answer.query)
        assert (verdict.explain(details=True), verdict.latex) == (alone.explain(details=True), alone.latex)
    assert counted == {"parse_question": 3, "identify": 1}
    for value in (1, 2):  # a refusal speaks of its own question
        with pytest.raises(ht.NotIdentifiedError, match=rf"do\(x={value}\)"):
            ht.fit(BOW, {v: rows(3)[v] for v in "xy"}).query(f"P(y | do(x={value}))")


def test_a_question_is_answered_in_its_own_order() -> None:
    fit = ht.fit("x -> m -> y; x -> y", rows(5))
    for text in ("P(y | do(x=1, m=2))", "P(y | do(m=2, x=1))", "E[y | do(x=1, m=2)]", "E[y | do(m=2, x=1)]"):
        assert str(fit.query(text).query) == text
        assert str(there(fit.query(text).verdict).query) == text


@pytest.mark.parametrize("command", ["effect", "query"])
def test_on_the_command_line_too(
    command: str, counted: Counter[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = np.column_stack(list(rows(2).values()))
    path = tmp_path / "rows.csv"
    np.savetxt(path, table, delimiter=",", header="x,m,y", comments="")
    value = 2.5 if command == "effect" else 3.5
    assert main([command, "x -> m -> y; x -> y", str(path), f"P(y | do(x={value}))"]) == 0
    assert "y ~ N(" in capsys.readouterr().out
    assert counted == {"parse_question": 1, "identify": 1}


def refused(graph: str, question: str) -> Answer:
    data = rows(3)
    fit = ht.fit(graph, {v: data[v] for v in ht.graph(graph).observed})
    with pytest.raises(ht.NotIdentifiedError) as caught:
        fit.query(question)
    answer: Answer = caught.value.answer
    assert answer.verdict is caught.value.verdict
    return answer


def test_a_refusal_carries_what_there_is() -> None:
    answer = refused(BOW, "x -> y")
    assert (answer.form, answer.identified, answer.estimate) == ("refusal", False, None)
    assert sentences(there(answer.verdict)) in answer.explain()
    assert "What the graph and these data leave, without further assumptions: any value." in answer.explain()
    with pytest.raises(ht.NotIdentifiedError):
        answer.value  # noqa: B018


def test_several_values_are_all_given() -> None:
    graph = ht.catalog("tree-two-solutions").graph
    fit = ht.fit(graph, ht.simulation.random_model(graph, random_state=1).sample(3_000, random_state=1))
    with pytest.raises(ht.NotIdentifiedError) as caught:
        fit.query("x0 -> x1")
    answer = caught.value.answer
    assert answer.form == "several values"
    assert len(answer.value) == 2
    assert all(f"{value:.6g}" in answer.explain() for value in answer.value)


@pytest.mark.parametrize(
    ("result", "form", "words"),
    [
        (Several((0.5, 1.25)), "several values", "one of 0.5, 1.25"),
        (Bounds(-0.5, 1.25), "bounds", "from -0.500 to 1.250"),
        (Refusal(), "refusal", "no number"),
    ],
)
def test_every_front_shows_every_form(
    result: Several | Bounds | Refusal, form: str, words: str, tmp_path: Path
) -> None:
    answer = Answer(ht.parse_question("x -> y"), result, ht.identify(BOW, "x -> y"))
    assert answer.form == form
    for text in (str(answer), describe_answer(answer), answer._repr_html_()):
        assert words in text
    record = json.loads(to_json(answer_record(answer)))
    assert record["form"] == form
    assert "value" not in record
    back = ht.load(answer.save(tmp_path / "answer.json"))
    assert back.result == result
