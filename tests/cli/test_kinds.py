"""Kinds of columns on the command line and in analysis files."""

import json
from pathlib import Path

import pytest

from halftrek.cli import main
from tests.results.test_column_kinds import front_door

GRAPH = "x -> m -> y; x <-> y"


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    data = front_door(400)
    data["mood"] = ["low" if m < 0.6 else "mid" if m < 1.5 else "high" for m in data["m"]]
    data.to_csv(tmp_path / "rows.csv", index=False)
    return tmp_path / "rows.csv"


def test_a_risk_from_the_command_line_and_from_its_analysis(rows: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept = rows.parent / "analysis.toml"
    words = ["query", GRAPH, str(rows), "P(y > 0 | do(x=1))", "--kind", "y=ordered", "--kind", "m=ranked", "--json"]
    assert main([*words, "--write-analysis", str(kept)]) == 0
    first = json.loads(capsys.readouterr().out)
    assert 'kinds = { "y" = "ordered", "m" = "ranked" }' in kept.read_text()
    assert main(["run", str(kept), "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert json.dumps(first["value"]) in json.dumps(again)


def test_levels_in_their_order(rows: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["query", "x -> mood -> y", str(rows), "x ~> y", "--kind", "y=ordered"]
    assert main([*words, "--kind", "mood=behind:low<mid<high"]) == 0
    assert "x ~> y" in capsys.readouterr().out
    assert main([*words, "--kind", "mood=ordered:low<mid<high"]) == 2
    assert "--kind 'mood=acts' if being in the category is the cause" in capsys.readouterr().err


def test_bad_words_are_answered(rows: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fit", GRAPH, str(rows), "--kind", "ordered"]) == 2
    assert "--kind y=ordered" in capsys.readouterr().err
    assert main(["fit", GRAPH, str(rows), "--kind", "y=binary"]) == 2
    assert "'y' is one of 'plain', 'ordered'" in capsys.readouterr().err
