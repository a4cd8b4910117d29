"""Hidden variables with causes by the page: every notation, verdicts with their word, answers, and no crash."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest

import halftrek as ht
from halftrek.web.interface.checking import faults
from halftrek.web.interface.gives import GIVES
from halftrek.web.interface.shapes import FORMATS
from tests.web.client import Client

FACTOR = "latent F; z -> F; F -> {a, b, c}; F -> y"
TWO = "latent F; latent G; F -> {a, b, c}; G -> {d, e, f}; F <-> G; z -> F"
LOCAL = "latent F; v1 -> {v2, v3, F}; v2 -> v3 -> F -> v5; v1 <-> {v2, v3, F, v5}; F -> {a, b, c}; F -> a [1]"
MEDIATOR = "latent M; x -> M -> y; x <-> y; z -> M"


def rows_of(text: str, n: int = 400) -> bytes:
    """Rows in which everything depends on one common cause, with noise."""
    names = ht.graph(text).observed
    rng = np.random.default_rng(3)
    common = rng.normal(size=(n, 1))
    written = io.StringIO()
    table = csv.writer(written)
    table.writerow(names)
    table.writerows((0.8 * common + 0.6 * rng.normal(size=(n, len(names)))).round(6).tolist())
    return written.getvalue().encode()


@pytest.mark.parametrize("text", [FACTOR, TWO, LOCAL, MEDIATOR])
def test_every_notation_keeps_hidden_variables(text: str, client: Client) -> None:
    found = client.ask("graph", text=text)
    graph = ht.graph(found["texts"]["arrows"])
    assert not list(faults(found, GIVES["graph"]))
    assert found["graph"]["hidden"] == list(graph.hidden)
    assert set(found["layout"]) == {*graph.nodes, *graph.latents}
    assert found["unwritten"] == {}
    for notation, written in found["texts"].items():
        assert ht.graph(client.ask("graph", text=written, notation=notation)["texts"]["arrows"]) == graph
    assert ht.graph(client.ask("graph", graph=found["graph"])["texts"]["arrows"]) == graph


def test_what_is_known_of_variances_and_intercepts_stays(client: Client) -> None:
    text = "i =~ 1*a + 1*b + 1*c\ns =~ 0*a + 1*b + 2*c\ni ~~ s\ni ~ 1\ns ~ 1\na ~ 0*1\nb ~ 0*1\nc ~ 0*1\n"
    text += "a ~~ e*a\nb ~~ e*b"
    found = client.ask("graph", text=text, notation="lavaan")
    again = client.ask("graph", graph=found["graph"])
    assert found["graph"]["intercepts"]
    assert found["graph"]["variances"]
    assert again["graph"] == found["graph"]
    assert again["texts"] == found["texts"]


@pytest.mark.parametrize(
    ("text", "question", "status"),
    [
        (FACTOR, "z ~> y", "identified"),
        (FACTOR, "F ~> y", "identified"),
        (FACTOR, "z ~> F", "identified"),
        (TWO, "F -> a", "identified"),
        (LOCAL, "F ~> v5", "locally identified"),
        (MEDIATOR, "x ~> y", "not identified"),
        (MEDIATOR, "M ~> y", "not identified"),
    ],
)
def test_verdicts_have_their_word(text: str, question: str, status: str, client: Client) -> None:
    found = client.ask("verdict", text=text, question=question)
    assert not list(faults(found, GIVES["verdict"]))
    assert found["verdict"]["status"] == status
    assert found["more"] == (status != "identified")  # two solutions are known
    help_ = client.ask("help", text=text, question=question)
    assert not list(faults(help_, GIVES["help"]))
    assert (help_["verdict"]["witness"] is not None) == (status != "identified")


def test_paths_and_adjustment_through_a_hidden_variable(client: Client) -> None:
    text = "latent M; x -> M -> y; w -> x; w -> y; M -> {a, b}"
    found = client.ask("verdict", text=text, question="x ~> y")
    assert [p["text"] for p in found["paths"]["paths"]] == ["x -> M -> y", "x <- w -> y"]
    assert found["adjustment_sets"]["sets"] == [["w"]]
    assert client.ask("verdict", text=text, question="M ~> y")["adjustment_sets"] is None
    assert client.ask("verdict", text=text, question="w -> y")["adjustment_sets"] is None


def test_numbers_are_those_of_the_library(client: Client) -> None:
    content = rows_of(FACTOR)
    data = client.upload(content)["id"]
    fit = ht.fit(FACTOR, _frame(content))
    found = client.ask("fit", text=FACTOR, data=data)
    weights = {tuple(row["edge"]): row["est"] for row in found["edges"]}
    assert weights[("F", "->", "a")] == pytest.approx(fit.query("F -> a").value)
    assert weights[("z", "->", "F")] == pytest.approx(fit.query("z -> F").value)
    for question in ("z ~> y", "F ~> y", "z ~> F"):
        answer = client.ask("answer", text=FACTOR, data=data, question=question, crude=True)["answer"]
        assert answer["value"] == pytest.approx(fit.query(question).value)
    listed = {(row["cause"], row["effect"]) for row in client.ask("effects", text=FACTOR, data=data)["effects"]}
    assert {("z", "F"), ("F", "y"), ("z", "y")} <= listed


def _frame(content: bytes) -> dict[str, list[float]]:
    head, *rows = csv.reader(io.StringIO(content.decode()))
    return {name: [float(row[k]) for row in rows] for k, name in enumerate(head)}


@pytest.mark.parametrize(
    ("text", "cause", "outcome"),
    [
        (FACTOR, "z", "y"),
        (FACTOR, "F", "y"),
        (TWO, "z", "F"),
        (LOCAL, "F", "a"),
        (MEDIATOR, "x", "y"),
        (MEDIATOR, "M", "y"),
    ],
)
def test_nothing_crashes(text: str, cause: str, outcome: str, client: Client) -> None:
    """What the library refuses by name is a sentence, never a defect."""
    data = client.upload(rows_of(text))["id"]
    question = f"{cause} ~> {outcome}"
    ends: dict[str, object] = {"cause": cause, "outcome": outcome}
    asked: list[tuple[str, dict[str, object]]] = [
        ("match", {}), ("fit", {}), ("answer", {"question": question}), ("effects", {}), ("checks", {}),
        ("distribution", ends), ("dose", ends), ("decomposition", {"cause": cause, "effect": outcome}),
        ("bounds", {"question": question, "assume": []}),
        ("sensitivity", {"question": question, "arc": list(ht.graph(text).observed[:2])}),
    ]  # fmt: skip
    asked += [("export", {"format": f, "questions": [question], **ends}) for f in FORMATS]
    for kind, body in asked:
        answer = client.post(kind, text=text, data=data, **body)
        assert answer.status_code in (200, 422), f"{kind} {body}: {answer.text[:300]}"
        if answer.status_code == 422:
            assert len(answer.json()["error"]["sentence"]) > 20
        elif kind != "export":
            assert not list(faults(answer.json(), GIVES[kind])), kind
