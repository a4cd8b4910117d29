"""``halftrek instruments``, ``adjustments`` and ``predict``."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

import halftrek as ht
from halftrek.cli import main

Capture = pytest.CaptureFixture[str]
SQL = ["--sql", "select range as x, random() as y from range(30)"]


def test_instruments_are_those_of_the_fit(capsys: Capture) -> None:
    assert main(["instruments", "mroz", "mroz", "educ -> lwage", "--json", "--level", "0.9", "--robust"]) == 0
    record = json.loads(capsys.readouterr().out)
    study = ht.dataset("mroz")
    (one,) = ht.fit(study.graph, study.data).instruments("educ -> lwage", level=0.9, robust=True).sets
    assert record["errors"] == "robust"
    assert record["sets"][0]["tsls"] == pytest.approx(one.tsls.value, rel=1e-12)
    assert record["sets"][0]["tsls_low"] == pytest.approx(one.tsls.interval[0], rel=1e-9)
    assert main(["instruments", "mroz", "mroz", "educ -> lwage"]) == 0
    assert "First stage" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["instruments", "adjustments"])
def test_what_is_not_identified_ends_with_its_code(command: str, capsys: Capture) -> None:
    assert main([command, "x -> y; x <-> y", *SQL, "x -> y"]) == 3
    assert "not identified" in capsys.readouterr().out


def test_another_way_is_bad_usage_with_a_word(capsys: Capture) -> None:
    assert main(["instruments", "x -> y", *SQL, "x -> y"]) == 2
    assert "not answered by instruments but by" in capsys.readouterr().err
    assert main(["adjustments", "mroz", "mroz", "educ -> lwage"]) == 2
    assert "fit.instruments" in capsys.readouterr().err


def test_adjustments_are_those_of_the_fit(capsys: Capture) -> None:
    assert main(["adjustments", "tal_or", "tal_or", "pmi ~> reaction", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    study = ht.dataset("tal_or")
    rows = ht.fit(study.graph, study.data).adjustments("pmi ~> reaction").rows
    assert [one["est"] for one in record["estimates"]] == pytest.approx([row.est for row in rows])


def test_predictions_are_those_of_the_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.chdir(tmp_path)
    Path("new.csv").write_text("cond,pmi\n0,5\n1,\n")
    words = ["predict", "tal_or", "tal_or", "--rows", "new.csv", "--do", "cond+=1", "--out", "out.csv"]
    assert main([*words, "--outcome", "reaction", "--given", ""]) == 2
    assert "given" in capsys.readouterr().err
    assert main([*words, "--outcome", "reaction"]) == 0
    with Path("out.csv").open() as file:
        found = list(csv.DictReader(file))
    study = ht.dataset("tal_or")
    fit = ht.fit(study.graph, study.data)
    expected = fit.predict({"cond": [0, 1], "pmi": [5, None]}, "reaction", do={"cond": "+1"})
    for name, values in expected.items():
        assert [float(row[name]) for row in found] == pytest.approx(list(values), rel=1e-9)
    assert main(["predict", "tal_or", "--cov", "absent", "--n", "9"]) == 2
    assert "--rows FILE" in capsys.readouterr().err
