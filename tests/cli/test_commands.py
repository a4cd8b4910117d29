"""What each command prints, writes and returns."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from benchmarks.independence import door_rows
from halftrek.cli import main
from halftrek.errors import ConvergenceError
from halftrek.examples import catalog
from halftrek.reproduction import Reproduction
from halftrek.results.given.reading import graph
from halftrek.results.workflow import fit

Capture = pytest.CaptureFixture[str]
BOW = "x -> y; x <-> y"
FRONT_DOOR = "x -> m -> y; x <-> y"


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    """A thousand rows of the catalog's front-door model, in a file."""
    path = tmp_path / "rows.csv"
    assert main(["simulate", "front-door", "-n", "1000", "--seed", "1", "-o", str(path)]) == 0
    return path


class StandardInput:
    """What ``sys.stdin`` is to the commands: a place to read bytes from."""

    def __init__(self, content: bytes) -> None:
        self.buffer = io.BytesIO(content)


def test_identify_says_yes_and_no(capsys: Capture) -> None:
    assert main(["identify", FRONT_DOOR, "P(y | do(x))"]) == 0
    assert "verdict   identified" in capsys.readouterr().out
    assert main(["identify", BOW, "x -> y"]) == 3
    assert "not identified" in capsys.readouterr().out


def test_identify_as_json(capsys: Capture) -> None:
    assert main(["identify", BOW, "x -> y", "--json"]) == 3
    record = json.loads(capsys.readouterr().out)
    assert record["status"] == "not identified"
    assert record["identified"] is False
    assert record["query"] == "x -> y"


def test_fit_prints_what_the_library_finds(rows: Path, capsys: Capture) -> None:
    expected = fit(catalog("front-door").graph, rows)
    assert main(["fit", "front-door", str(rows), "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["n"] == 1000
    assert record["loglik"] == pytest.approx(expected.loglik, rel=1e-12)
    assert record["converged"] is True
    rows_of = {(p["lhs"], p["op"], p["rhs"]): p for p in record["parameters"]}
    assert rows_of["X2", "~", "X1"]["est"] == pytest.approx(expected.model.T[0, 1], rel=1e-12)
    assert rows_of["X2", "~", "X1"]["se"] > 0
    for j, v in enumerate(expected.model.names):
        assert rows_of[v, "~1", ""]["est"] == pytest.approx(expected.model.mu[j])
        assert rows_of[v, "~~", v]["est"] == pytest.approx(expected.model.omega[j, j])
    assert main(["fit", "front-door", str(rows)]) == 0
    text = capsys.readouterr().out
    assert "X1 -> X2" in text
    assert "1,000" in text
    assert all(len(line) <= 80 for line in text.splitlines())


def test_fit_options_reach_the_fit(rows: Path, capsys: Capture) -> None:
    assert main(["fit", "front-door", str(rows), "--noise", "unit", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert not [p for p in record["parameters"] if p["op"] == "~~" and p["lhs"] == p["rhs"]]
    table = np.genfromtxt(rows, delimiter=",", names=True)
    weighted = rows.with_name("weighted.csv")
    lines = rows.read_text().splitlines()
    weighted.write_text("\n".join([lines[0] + ",w", *(f"{line},{1 + i % 2}" for i, line in enumerate(lines[1:]))]))
    assert main(["fit", "front-door", str(weighted), "--weights", "w", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["n"] == 1500
    columns = np.column_stack([table[v] for v in ("X1", "X2")])
    slope = np.polyfit(columns[:, 0], columns[:, 1], 1, w=np.sqrt(1 + np.arange(1000) % 2))[0]
    assert record["parameters"][0]["est"] == pytest.approx(slope, rel=1e-8)


def test_missing_values_are_used_refused_or_dropped(rows: Path, capsys: Capture) -> None:
    lines = rows.read_text().splitlines()
    lines[5] = "," + lines[5].split(",", 1)[1]
    rows.write_text("\n".join(lines))
    assert main(["fit", "front-door", str(rows), "--missing", "error"]) == 2
    assert "X1" in capsys.readouterr().err
    assert main(["effect", "front-door", str(rows), "X1", "X3"]) == 0
    assert "1,000 rows, 1 of them incomplete: 2,999 of" in " ".join(capsys.readouterr().out.split())
    assert main(["fit", "front-door", str(rows), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["n"] == 1000
    assert main(["fit", "front-door", str(rows), "--missing", "drop", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["n"] == 999


def test_query_and_effect_agree_with_the_library(rows: Path, capsys: Capture) -> None:
    expected = fit(catalog("front-door").graph, rows)
    question = "P(X3 | do(X1=1))"
    for command in ("query", "effect"):
        assert main([command, "front-door", str(rows), question, "--json"]) == 0
        record = json.loads(capsys.readouterr().out)
        assert record["distribution"]["mean"] == [pytest.approx(expected.query(question).mean)]
        assert record["distribution"]["cov"] == [[pytest.approx(expected.query(question).variance)]]
        assert record["fit"]["converged"] is True
    assert main(["effect", "front-door", str(rows), "X1", "X3", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["query"] == "X1 ~> X3"
    assert record["value"] == pytest.approx(expected.effect("X1", "X3").value)
    assert main(["effect", "front-door", str(rows), question]) == 0
    assert f"{expected.query(question).mean:.5f}"[:6] in capsys.readouterr().out


def test_several_outcomes_make_a_table(rows: Path, capsys: Capture) -> None:
    assert main(["query", "front-door", str(rows), "P(X2, X3 | do(X1=1))"]) == 0
    assert "cov with X3" in capsys.readouterr().out


def test_a_refusal_does_not_need_the_data(tmp_path: Path, capsys: Capture) -> None:
    assert main(["query", BOW, str(tmp_path / "absent.csv"), "x -> y"]) == 3
    out, err = capsys.readouterr()
    assert "not identified" in out
    assert err.startswith("halftrek: note: nothing is said of these data: ")
    assert "absent.csv" in err
    assert main(["effect", BOW, str(tmp_path / "absent.csv"), "x", "y", "--json"]) == 3
    assert json.loads(capsys.readouterr().out)["identified"] is False


def test_data_from_standard_input(rows: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    assert main(["query", "front-door", str(rows), "X1 ~> X3"]) == 0
    expected = capsys.readouterr().out
    monkeypatch.setattr(sys, "stdin", StandardInput(rows.read_bytes()))
    assert main(["query", "front-door", "-", "X1 ~> X3"]) == 0
    assert capsys.readouterr().out == expected


def test_parquet_from_a_file_and_from_standard_input(
    rows: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pyarrow.csv
    import pyarrow.parquet

    path = rows.with_suffix(".parquet")
    pyarrow.parquet.write_table(pyarrow.csv.read_csv(rows), path)
    monkeypatch.setattr(sys, "stdin", StandardInput(path.read_bytes()))
    found = []
    for source in (str(rows), str(path), "-"):
        assert main(["fit", "front-door", source, "--json"]) == 0
        found.append(json.loads(capsys.readouterr().out)["loglik"])
    assert found == pytest.approx([found[0]] * 3, rel=1e-12)


def test_simulate_is_the_model_and_the_seed(capsys: Capture, tmp_path: Path) -> None:
    assert main(["simulate", "napkin", "-n", "7", "--seed", "3"]) == 0
    text = capsys.readouterr().out
    table = list(csv.reader(io.StringIO(text)))
    model = catalog("napkin").model
    assert tuple(table[0]) == model.names
    np.testing.assert_array_equal(np.array(table[1:], dtype=float), model.sample(7, np.random.default_rng(3)))
    path = tmp_path / "out.csv"
    assert main(["simulate", "napkin", "-n", "7", "--seed", "3", "-o", str(path)]) == 0
    assert path.read_text() == text
    assert main(["simulate", "napkin", "-n", "7", "--seed", "3", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["names"] == list(model.names)
    assert [[repr(x) for x in row] for row in record["rows"]] == table[1:]


def test_simulate_gives_a_bare_graph_random_weights(capsys: Capture) -> None:
    assert main(["simulate", FRONT_DOOR, "-n", "3", "--seed", "1"]) == 0
    first = capsys.readouterr().out
    assert first.splitlines()[0] == "x,m,y"
    assert main(["simulate", FRONT_DOOR, "-n", "3", "--seed", "2"]) == 0
    assert capsys.readouterr().out != first


def test_simulate_in_pieces_is_simulate_at_once(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    from halftrek.cli.commands.tools import simulate

    monkeypatch.setattr(simulate, "_CHUNK", 4)
    assert main(["simulate", "front-door", "-n", "10", "--seed", "3"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 11
    assert len(set(lines)) == 11


def test_what_a_text_says_and_the_graph_does_not_hold_is_told_on_standard_error(capsys: Capture) -> None:
    text = "m ~ a*x; y ~ b*x; ab := a*b"
    assert main(["convert", text, "--to", "arrows"]) == 0
    shown = capsys.readouterr()
    assert shown.out == "observed m, x, y\nx -> m [a]\nx -> y [b]\n# ab := a * b\n"
    (said,) = shown.err.splitlines()
    assert said.startswith("halftrek: note: sem() of lavaan would let the errors of outcomes")
    assert "m ~~ y if they do, m ~~ 0*y if not" in said
    assert "--lavaan sem" in said
    assert main(["identify", text, "x ~> y", "--json"]) == 0
    shown = capsys.readouterr()
    assert json.loads(shown.out)["identified"]
    assert shown.err.count("halftrek: note: ") == 1


def test_names_that_lavaan_cannot_read_are_refused(capsys: Capture) -> None:
    assert main(["convert", "'a b' -> c", "--to", "lavaan"]) == 2
    assert "lavaan cannot read the variable 'a b'" in capsys.readouterr().err


@pytest.mark.parametrize("notation", ["arrows", "lavaan", "dagitty", "dot"])
def test_convert_keeps_the_graph(notation: str, capsys: Capture) -> None:
    assert main(["convert", FRONT_DOOR, "--to", notation]) == 0
    assert graph(capsys.readouterr().out) == graph(FRONT_DOOR)
    assert main(["convert", FRONT_DOOR, "--to", notation, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["format"] == notation
    assert graph(record["text"]) == graph(FRONT_DOOR)
    assert record["graph"]["bidirected"] == [["x", "y"]]


def test_graphs_from_everywhere(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "graph.txt"
    path.write_bytes(b"\xef\xbb\xbfx -> m -> y\nx <-> y\n")  # with the mark that some editors put in front
    monkeypatch.setattr(sys, "stdin", StandardInput(FRONT_DOOR.encode()))
    for source in (str(path), "-", FRONT_DOOR):
        assert main(["convert", source, "--to", "arrows"]) == 0
        assert graph(capsys.readouterr().out) == graph(FRONT_DOOR)
    for name in ("front-door", "Front_Door", "frontdoor"):
        assert main(["convert", name, "--to", "arrows"]) == 0
        assert graph(capsys.readouterr().out) == catalog("front-door").graph


def test_a_graph_is_not_taken_for_a_name(capsys: Capture) -> None:
    assert main(["convert", "front -> door", "--to", "arrows"]) == 0
    assert graph(capsys.readouterr().out).observed == ("front", "door")


def test_demo_tells_the_story_and_draws_it(tmp_path: Path, capsys: Capture) -> None:
    folder = tmp_path / "new" / "folder"
    assert main(["demo", "--output", str(folder)]) == 0
    out = capsys.readouterr().out
    picture = Path(re.search(r"^Picture: (.+)$", out, re.MULTILINE)[1])  # type: ignore[index]
    assert picture == folder / "demo.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert all(len(line) <= 80 for line in out.splitlines() if not line.startswith("Picture"))


def test_demo_is_near_the_truth_where_regression_is_not(tmp_path: Path, capsys: Capture) -> None:
    assert main(["demo", "--output", str(tmp_path), "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    truth = catalog("smoking").model.do({"smoking": 3.0}).distribution("cancer_risk")
    assert record["truth"]["mean"] == pytest.approx(truth.mean.tolist())
    assert record["verdict"]["identified"] is True
    assert abs(record["answer"]["mean"][0] - truth.mean[0]) < 0.2
    assert abs(record["observed"]["mean"][0] - truth.mean[0]) > 1.0


def test_demo_looks_at_its_folder_before_the_work(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "taken").write_text("")
    assert main(["demo", "--output", str(tmp_path / "taken")]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "Choose another place" in err


def test_reproduce_hands_on_its_options_and_keeps_standard_output_clean(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    from halftrek import reproduction
    from halftrek.reproduction import run

    calls = []

    def small(*, random_state: int, rows: int, replicates: int, progress: Callable[[int, int], None]) -> Reproduction:
        calls.append((random_state, rows, replicates))
        return run(random_state=random_state, rows=100, replicates=2, progress=progress)

    monkeypatch.setattr(reproduction, "run", small)
    words = ["reproduce", "--rows", "700", "--replicates", "4", "--seed", "9", "--output", str(tmp_path), "--json"]
    assert main(words) == 0
    out, err = capsys.readouterr()
    assert calls == [(9, 700, 4)]
    assert json.loads(out)
    assert err == f"Figure: {tmp_path / 'reproduce.png'}\n"
    assert (tmp_path / "reproduce.png").read_bytes().startswith(b"\x89PNG")


def test_a_fit_without_a_maximum_is_shown_with_its_own_exit_code(
    rows: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dataclasses import replace

    from halftrek.estimation.status import Status
    from halftrek.notes import note
    from halftrek.results import workflow

    lame = replace(
        fit(catalog("front-door").graph, rows),
        status=Status("not converged", (note("text", text="the steps ran out"),)),
    )
    monkeypatch.setattr(workflow, "fit", lambda *_args, **_options: lame)
    assert main(["fit", "front-door", str(rows)]) == 4
    assert "the steps ran out" in capsys.readouterr().out
    assert main(["query", "front-door", str(rows), "X1 ~> X3"]) == 4
    out, err = capsys.readouterr()
    assert "warning" in out
    assert "the steps ran out" in err

    def demand(*_args: object, **_options: object) -> None:
        raise ConvergenceError("no maximum was reached")

    monkeypatch.setattr(workflow, "fit", demand)
    assert main(["fit", "front-door", str(rows)]) == 4
    assert capsys.readouterr().err == "halftrek: error: no maximum was reached\n"


def test_errors_may_be_independent(tmp_path: Path, capsys: Capture) -> None:
    door, path = "x -> m -> y; x <-> m; x <-> y", tmp_path / "rows.csv"
    np.savetxt(path, door_rows("skewed", 300, np.random.default_rng(1)), delimiter=",", header="x,m,y", comments="")
    assert main(["query", door, str(path), "m -> y"]) == 3
    capsys.readouterr()
    analysis = tmp_path / "analysis.toml"
    words = ["query", door, str(path), "m -> y", "--errors", "independent", "--write-analysis", str(analysis)]
    assert main(words) == 0
    printed = capsys.readouterr().out
    assert "known by      independent errors" in printed
    assert 'errors = "independent"' in analysis.read_text(encoding="utf-8")
    assert main(["run", str(analysis), "--outside"]) == 0
    assert "independent errors" in capsys.readouterr().out
    assert main(["query", "m -> y; m <-> y", str(path), "m -> y", "--errors", "independent"]) == 3
    assert main(["effect", door, str(path), "--all", "--errors", "independent"]) == 2
    assert main(["query", door, str(path), "m -> y", "--errors", "independent", "--by", "x"]) == 2
