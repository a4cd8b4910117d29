"""Graphs by the page: every notation to every other, places, verdicts with their paths, changes that help."""

from __future__ import annotations

from typing import Any

import pytest

import halftrek as ht
from halftrek.web.interface.checking import faults
from halftrek.web.interface.gives import GIVES
from tests.web.client import Client

BOW = "x -> y; x <-> y"


@pytest.mark.parametrize("notation", ["arrows", "lavaan", "dagitty", "dot"])
@pytest.mark.parametrize("name", ["front-door", "napkin", "verma", "two-proxies"])
def test_every_notation_gives_the_same_graph(notation: str, name: str, client: Client) -> None:
    graph = ht.catalog(name).graph
    text = ht.format_graph(graph, notation)  # type: ignore[arg-type]
    found = client.ask("graph", text=text)
    assert not list(faults(found, GIVES["graph"]))
    assert found["notation"] == notation
    assert found["texts"][notation] == text
    for other, written in found["texts"].items():
        again = client.ask("graph", text=written, notation=other)
        assert ht.graph(again["texts"]["arrows"]) == graph
    drawn = client.ask("graph", graph=found["graph"])
    assert ht.graph(drawn["texts"]["arrows"]) == graph
    assert set(found["layout"]) == {*graph.observed, *graph.latents}


def test_places_and_roles_survive_dagitty(client: Client) -> None:
    text = 'dag { x [exposure,pos="1,2.5"] y [outcome,pos="3,-1"] x -> y }'
    found = client.ask("graph", text=text)
    assert found["positions"] == {"x": [1.0, 2.5], "y": [3.0, -1.0]}
    assert found["roles"] == {"x": ["exposure"], "y": ["outcome"]}
    assert found["layout"] is None
    assert client.ask("graph", text=text, layout=True)["layout"].keys() == {"x", "y"}
    moved = client.ask("graph", graph=found["graph"], positions={"x": [7, 8], "y": [9, 10]}, roles={"y": ["adjusted"]})
    again = client.ask("graph", text=moved["texts"]["dagitty"])
    assert again["positions"] == {"x": [7.0, 8.0], "y": [9.0, 10.0]}
    assert again["roles"] == {"y": ["adjusted"]}


def test_layout_has_causes_to_the_left(client: Client) -> None:
    places = client.ask("graph", text="x -> m -> y; U -> x; latent U")["layout"]
    assert places["x"][0] < places["m"][0] < places["y"][0]


def test_an_edit_needs_one_request(client: Client) -> None:
    found = client.ask("graph", text="x -> m -> y; x <-> y", question="x ~> y", adjusted=["m"])
    alone = client.ask("verdict", text="x -> m -> y; x <-> y", question="x ~> y", adjusted=["m"])
    assert found["asked"] == {key: value for key, value in alone.items() if key != "number"} | {"error": None}
    wrong = client.ask("graph", text="x -> m -> y", question="x ~> z")
    assert wrong["graph"]["observed"] == ["x", "m", "y"]
    assert wrong["asked"]["error"]["code"] == "question"


def test_paths_are_lit_by_what_they_carry(client: Client) -> None:
    text = "x -> m -> y; z -> x; z -> y; x -> c; y -> c"
    kinds = {p["text"]: p["kind"] for p in client.ask("verdict", text=text, question="x ~> y")["paths"]["paths"]}
    assert kinds == {"x -> m -> y": "causal", "x <- z -> y": "confounding", "x -> c <- y": "blocked"}
    adjusted = client.ask("verdict", text=text, question="x ~> y", adjusted=["z", "c"])["paths"]["paths"]
    assert {p["text"]: p["kind"] for p in adjusted} == {
        "x -> m -> y": "causal", "x <- z -> y": "blocked", "x -> c <- y": "confounding",
    }  # fmt: skip
    assert client.ask("verdict", text=text, question="Var(y | do(x=1))")["paths"] is None


def test_a_refusal_comes_with_changes_that_work(client: Client) -> None:
    quick = client.ask("verdict", text=BOW, question="x -> y")
    assert quick["more"]
    assert quick["verdict"]["helps"] == []
    found = client.ask("help", text=BOW, question="x -> y")
    assert not list(faults(found, GIVES["help"]))
    witness = found["verdict"]["witness"]
    assert witness["answers"][0] != witness["answers"][1]
    assert {change["kind"] for change in found["changes"]} >= {"rule out", "measure", "instrument", "mediator", "know"}
    for change in found["changes"]:
        if change["needs"] is None:
            after = client.ask("verdict", graph=change["graph"], question=change["question"])
            assert after["verdict"]["identified"], change["text"]
            assert ht.graph(applied(BOW, change["edits"])) == ht.Graph(
                [tuple(e) for e in change["graph"]["directed"]], [tuple(e) for e in change["graph"]["bidirected"]]
            )
        else:
            assert change["edits"][0]["op"] == "fix edge"


def applied(text: str, edits: list[dict[str, Any]]) -> str:
    """The text of a graph after edits, one by one, as the page makes them."""
    edges = {tuple(e) for e in ht.graph(text).edges()}
    for edit in edits:
        if edit["op"] == "remove edge":
            edges.discard(tuple(edit["edge"]))
        if edit["op"] == "add edge":
            edges.add(tuple(edit["edge"]))
    return "; ".join(" ".join(edge) for edge in edges)


def test_a_hidden_cause_is_shown_by_a_change(client: Client) -> None:
    changes = client.ask("help", text="latent U; U -> x; U -> y; x -> y", question="x -> y")["changes"]
    shown = [c for c in changes if c["code"] == "measure hidden cause"]
    assert {"op": "show variable", "edge": None, "variable": "U"} in shown[0]["edits"]
    assert "U" in shown[0]["graph"]["observed"]


def test_columns_are_matched_with_the_nearest_names(client: Client) -> None:
    data = client.upload(b"Smoking_Status,tar,cancer_risk,id\n1,2,3,4\n2,3,5,6\n")["id"]
    found = client.ask("match", text="smoking -> tar -> cancer -> zebra", data=data)
    assert not list(faults(found, GIVES["match"]))
    assert found["matched"] == ["tar"]
    near = {one["variable"]: one["nearest"] for one in found["missing"]}
    assert near["smoking"][0] == "Smoking_Status"
    assert near["cancer"][0] == "cancer_risk"
    assert near["zebra"] == []
    assert found["unused"] == ["Smoking_Status", "cancer_risk", "id"]


def test_what_the_data_contradict_is_lit(client: Client) -> None:
    study = ht.dataset("front_door")
    data = client.bundled("front_door")
    found = client.ask("checks", text="smoking -> tar -> cancer_risk", data=data)
    assert not list(faults(found, GIVES["checks"]))
    (contradicted,) = found["contradicted"]
    assert set(contradicted["between"]) == {"smoking", "cancer_risk"}
    assert contradicted["given"] == ["tar"]
    right = client.ask("checks", text=ht.format_graph(study.graph), data=data)
    assert right["contradicted"] == []
    assert client.ask("implied", text="smoking -> tar -> cancer_risk")["implied"] == found["implied"]


def test_what_there_is_to_choose_from(client: Client) -> None:
    from halftrek.web.interface.gives import ABOUT

    about = client.http.get("/api/v1/about").json()
    assert not list(faults(about, ABOUT))
    assert [one["name"] for one in about["catalog"]] == list(ht.catalog())
    assert [one["name"] for one in about["datasets"]] == list(ht.dataset())
    for one in about["datasets"]:
        assert ht.graph(one["text"]) == ht.dataset(one["name"]).graph
