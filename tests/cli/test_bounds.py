"""``halftrek bounds``, and what a refusal on the command line says of the data."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import halftrek as ht
from halftrek.cli import main
from halftrek.cli.schemas import SCHEMAS
from tests.cli.shapes import faults

Capture = pytest.CaptureFixture[str]
BOW = "x -> y; x <-> y"
LIMIT = "abs(corr(x <-> y)) <= 0.3"


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    """Two hundred rows of a confounded pair, in a file."""
    path = tmp_path / "rows.csv"
    u, e, f = np.random.default_rng(3).normal(size=(3, 200))
    x, y = u + e, u + e + f
    path.write_text("x,y\n" + "\n".join(f"{a},{b}" for a, b in zip(x, y, strict=True)))
    return path


def test_bounds_are_those_of_the_library(rows: Path, capsys: Capture) -> None:
    assert main(["bounds", BOW, str(rows), "x ~> y", "--assume", LIMIT, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    expected = ht.bounds(BOW, rows, "x ~> y", assume=[LIMIT])
    assert (found["low"], found["high"]) == (expected.low, expected.high)
    assert found["interval"] == list(expected.interval or ())
    assert list(faults(found, SCHEMAS["bounds"])) == []
    assert main(["bounds", BOW, str(rows), "x ~> y", "--assume", LIMIT]) == 0
    assert expected.words in capsys.readouterr().out


def test_a_picture_is_drawn(rows: Path, tmp_path: Path, capsys: Capture) -> None:
    picture = tmp_path / "set.png"
    assert main(["bounds", BOW, str(rows), "x ~> y", "--assume", LIMIT, "--picture", str(picture)]) == 0
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "from " in capsys.readouterr().out


def test_contradictory_assumptions_are_named(rows: Path, capsys: Capture) -> None:
    assumed = ["--assume", "x -> y <= 1", "--assume", "x -> y >= 2"]
    assert main(["bounds", BOW, str(rows), "x -> y", *assumed]) == 2
    err = capsys.readouterr().err
    assert "x -> y <= 1" in err
    assert "x -> y >= 2" in err


def test_a_refusal_shows_what_these_data_leave(rows: Path, capsys: Capture) -> None:
    assert main(["query", BOW, str(rows), "Var[y | do(x=1)]"]) == 3
    out = " ".join(capsys.readouterr().out.split())
    left = ht.bounds(BOW, rows, "Var[y | do(x=1)]")
    assert f"without further assumptions: {left.words}." in out
    assert "halftrek bounds 'x -> y; x <-> y' data.csv 'Var[y | do(x=1)]'" in out
    assert main(["query", BOW, str(rows), "x ~> y", "--json"]) == 3
    found = json.loads(capsys.readouterr().out)
    assert list(faults(found, SCHEMAS["query"])) == []
    assert found["leaves"]["bounded"] == [False, False]
    assert found["witness"]["answers"][0] != found["witness"]["answers"][1]


def test_factors_on_the_command_line(tmp_path: Path, capsys: Capture) -> None:
    """The set of an effect of a factor, how strong an edge must be, and what a refusal leaves and goes on with."""
    u, F, *e = np.random.default_rng(3).normal(size=(6, 300))
    F = F + u
    table = {"y": 0.5 * F + u + e[0], "a": F + e[1], "b": F + e[2], "c": F + e[3]}
    path = tmp_path / "items.csv"
    lines = (",".join(f"{x}" for x in row) for row in zip(*table.values(), strict=True))
    path.write_text("\n".join([",".join(table), *lines]))
    graph = "latent F; F -> {a, b, c}; F -> a [1]; F -> y; variance F"
    limit = "abs(corr(F <-> y)) <= 0.3"
    assert main(["bounds", graph, str(path), "F ~> y", "--assume", limit, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    expected = ht.bounds(graph, table, "F ~> y", assume=[limit])
    assert found["low"] == pytest.approx(expected.low, abs=1e-9)
    assert list(faults(found, SCHEMAS["bounds"])) == []
    assert main(["robustness", graph, str(path), "F ~> y", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"][0]["edge"] == "y <-> F"
    assert main(["query", f"{graph}; F <-> y", str(path), "F ~> y"]) == 3
    out = " ".join(capsys.readouterr().out.split())
    assert "without further assumptions: any value" in out
    assert "--assume 'abs(corr(F <-> y)) <= 0.3'" in out.replace("y <-> F", "F <-> y")
