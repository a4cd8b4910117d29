"""Lavaan's functions and groups on the command line: the same numbers as in Python."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import halftrek as ht
from halftrek.cli import main
from tests.reference.lavaan_strings.strings import HERE

SCHOOL, GROWTH = str(HERE / "school.csv"), str(HERE / "growth.csv")
CURVE = "i =~ 1*t1 + 1*t2 + 1*t3 + 1*t4; s =~ 0*t1 + 1*t2 + 2*t3 + 3*t4"
Capture = pytest.CaptureFixture[str]


def test_a_text_is_read_as_growth_reads_it(capsys: Capture) -> None:
    assert main(["fit", CURVE, GROWTH, "--lavaan", "growth", "--json"]) == 0
    shown = capsys.readouterr()
    assert shown.err == ""  # nothing is read in another way
    wanted = ht.fit(ht.from_lavaan(CURVE, "growth"), GROWTH)
    assert json.loads(shown.out)["loglik"] == pytest.approx(wanted.loglik, abs=1e-9)


def test_unit_variances_and_apart(capsys: Capture) -> None:
    text = "f =~ a + b + c; g =~ d + e + h"
    assert main(["convert", text, "--to", "arrows", "--lavaan", "cfa", "--std-lv", "--orthogonal"]) == 0
    assert "<->" not in capsys.readouterr().out
    assert main(["identify", text, "f -> b", "--lavaan", "cfa"]) == 0
    assert capsys.readouterr().out


def test_an_analysis_file_keeps_it(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.csv").write_text(Path(GROWTH).read_text())
    assert main(["fit", CURVE, "rows.csv", "--lavaan", "growth", "--write-analysis", "run.toml", "--json"]) == 0
    first = json.loads(capsys.readouterr().out)
    assert 'function = "growth"' in (tmp_path / "run.toml").read_text()
    assert main(["run", "run.toml", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["fit"]["loglik"] == first["loglik"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["convert", "x -> y", "--to", "dot", "--lavaan", "sem"], "reads a text in lavaan's syntax"),
        (["convert", "y ~ x", "--to", "dot", "--std-lv"], "say which: --lavaan sem, cfa or growth"),
        (["together", "y ~ x", SCHOOL, "--by", "nowhere"], "nowhere"),
        (["together", "grade ~ age", SCHOOL, "--by", "town", "--equal", "slopes"], "equal takes some of"),
    ],
)
def test_refusals(words: list[str], said: str, capsys: Capture) -> None:
    assert main(words) == 2
    assert said in capsys.readouterr().err


def test_groups_together(tmp_path: Path, capsys: Capture) -> None:
    model = tmp_path / "model.lavaan"
    model.write_text("V =~ v1 + v2 + c(a, b)*v3\ngap := a - b\n")
    words = ["together", str(model), SCHOOL, "--by", "town", "--lavaan", "cfa", "--equal", "intercepts"]
    assert main([*words, "--groups", "0,1", "--partial", "v3 ~ 1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    wanted = ht.fit_together(
        model, SCHOOL, by="town", function="cfa", equal="intercepts", groups=[0, 1], partial="v3 ~ 1"
    )
    assert found["groups"] == ["0", "1"]
    assert found["loglik"] == pytest.approx(wanted.loglik, abs=1e-9)
    assert main(words) == 0
    assert "gap := a - b" in capsys.readouterr().out
