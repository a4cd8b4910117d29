"""``halftrek identify``: the table of all effects, and the bar for hard questions."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import halftrek as ht
from halftrek import identification
from halftrek.bottom.choices import Scope
from halftrek.cli import main
from halftrek.graphs import Graph
from halftrek.identification import identify_all
from halftrek.identification.clock import Progress
from halftrek.queries.types import Query
from halftrek.reporting.described.verdicts import verdict_table

Capture = pytest.CaptureFixture[str]
CORNER = "x -> y; x <-> y; a -> m -> b; a <-> b"
TWO_VALUES = "a -> b; b -> c; b -> d; a <-> b; a <-> c; a <-> d"


def test_all_decides_every_arrow_and_every_total_effect(capsys: Capture) -> None:
    assert main(["identify", CORNER, "--all"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["query", "verdict", "method", "formula"]
    cells = {line[2:8]: line for line in lines[2:-2]}
    assert sorted(cells) == sorted(["x -> y", "a -> m", "m -> b", "x ~> y", "a ~> m", "a ~> b", "m ~> b"])
    assert "not identified" in cells["x -> y"]
    assert "front-door" in cells["a ~> b"]
    assert lines[-1] == "  5 identified, 2 not identified"


def test_all_as_json(capsys: Capture) -> None:
    assert main(["identify", CORNER, "--all", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["graph"]["observed"] == ["x", "y", "a", "m", "b"]
    statuses = {v["query"]: v["status"] for v in record["verdicts"]}
    assert len(statuses) == 7
    assert statuses["x ~> y"] == "not identified"
    assert statuses["a ~> b"] == "identified"


def test_independent_errors_are_a_scope_of_their_own(capsys: Capture) -> None:
    door = "x -> m -> y; x <-> m; x <-> y"
    assert main(["identify", door, "m -> y"]) == 3
    assert main(["identify", door, "m -> y", "--scope", "non-normal"]) == 0
    assert "identified (independent errors)" in capsys.readouterr().out
    assert main(["identify", door, "--all", "--scope", "non-normal"]) == 0
    assert "5 identified" in capsys.readouterr().out
    assert main(["identify", door, "--all", "--scope", "nonparametric"]) == 2


def test_several_values_are_said(capsys: Capture) -> None:
    assert main(["identify", TWO_VALUES, "--all"]) == 0
    assert "a -> b  2 values  counting solutions" in capsys.readouterr().out


@pytest.mark.parametrize("words", [["identify", CORNER], ["identify", CORNER, "x -> y", "--all"]])
def test_either_a_question_or_all(words: list[str], capsys: Capture) -> None:
    assert main(words) == 2
    assert "--all" in capsys.readouterr().err


def test_the_table_fits_the_page_whatever_the_names() -> None:
    for length in (1, 12, 24):
        names = [f"{letter * length}" for letter in "zxy"]
        graph = Graph([(names[0], names[1]), (names[1], names[2])], [(names[1], names[2])])
        text = verdict_table(identify_all(graph))
        assert max(map(len, text.splitlines())) <= 80
        assert ("formula" in text) == (length < 20)


def test_a_graph_without_arrows_has_nothing_to_decide(capsys: Capture) -> None:
    assert main(["identify", "x <-> y", "--all"]) == 0
    assert "nothing to decide" in capsys.readouterr().out


def test_a_bar_appears_only_when_it_takes_long(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    decide = identification.identify

    def slow(graph: Graph, query: Query, *, scope: Scope, budget: float, progress: Progress) -> identification.Verdict:
        progress(0.1, budget)
        before = capsys.readouterr().err
        progress(2.5, budget)
        assert before == ""
        return decide(graph, query, scope=scope)

    monkeypatch.setattr(identification, "identify", slow, raising=False)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert main(["identify", CORNER, "a -> m"]) == 0
    shown = capsys.readouterr()
    assert "Eliminating unknowns" in shown.err
    assert "verdict   identified" in shown.out


def test_the_budget_reaches_the_decision(monkeypatch: pytest.MonkeyPatch) -> None:
    budgets = []
    decide = identification.identify

    def watched(
        graph: Graph, query: Query, *, scope: Scope, budget: float, progress: Progress
    ) -> identification.Verdict:
        budgets.append(budget)
        return decide(graph, query, scope=scope, budget=budget, progress=progress)

    monkeypatch.setattr(identification, "identify", watched, raising=False)
    assert main(["identify", CORNER, "a -> m", "--budget", "0.5"]) == 0
    assert budgets == [0.5]
    for wrong in ("0", "-1", "soon", "inf", "nan"):
        assert main(["identify", CORNER, "a -> m", "--budget", wrong]) == 2


def test_a_saved_model_or_fit_is_a_graph_too(tmp_path: Path, capsys: Capture) -> None:
    entry = ht.catalog("front-door")
    for name, value in (
        ("graph", entry.graph),
        ("model", entry.model),
        ("verdict", ht.identify(entry.graph, "X1 ~> X3")),
    ):
        path = tmp_path / f"{name}.json"
        ht.save(value, path)
        assert main(["identify", str(path), "X1 ~> X3"]) == 0
        assert "identified" in capsys.readouterr().out
    ht.save(ht.moments(np.eye(3) + 0.1), tmp_path / "moments.json")
    assert main(["identify", str(tmp_path / "moments.json"), "X1 ~> X3"]) == 2
    assert "has no graph; give a saved graph, model or fit" in capsys.readouterr().err
    (tmp_path / "other.json").write_text('{"nodes": []}')
    assert main(["identify", str(tmp_path / "other.json"), "X1 ~> X3"]) == 2
    assert "it is not a file that halftrek saved" in capsys.readouterr().err
