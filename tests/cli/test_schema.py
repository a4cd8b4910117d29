"""What ``--json`` prints is what ``halftrek schema`` says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from halftrek.cli import main
from halftrek.cli.app import build_parser
from halftrek.cli.commands.tools.completion import commands_of
from halftrek.cli.schemas import SCHEMAS
from tests.cli.shapes import faults

Capture = pytest.CaptureFixture[str]
MADE = [
    ["identify", "x -> m -> y; x <-> y", "P(y | do(x))"],
    ["identify", "x -> y; x <-> y", "x ~> y"],
    ["identify", "a -> b; b -> c; b -> d; a <-> b; a <-> c; a <-> d", "a -> b"],
    ["identify", "x -> y; x <-> y; z -> x", "--all"],
    ["identify", "x -> m -> y; x <-> m; x <-> y", "m -> y", "--scope", "non-normal"],
    ["identify", "x -> m -> y; x <-> m; x <-> y", "--all", "--scope", "non-normal"],
    ["fit", "tal_or", "tal_or"],
    ["fit", "x -> y; x <-> y", "--sql", "select range as x, range * 2 + random() as y from range(30)"],
    ["fit", "cond -> pmi -> reaction", "tal_or", "--effects", "--checks"],
    ["fit", "airquality", "airquality", "--checks"],
    ["query", "mroz", "mroz", "P(lwage | do(educ=1))"],
    ["query", "mroz", "mroz", "E[lwage | do(educ=1)]"],
    ["query", "tal_or", "tal_or", "P(pmi, reaction | do(cond=1))"],
    ["query", "x -> y; x <-> y", "absent.csv", "x -> y"],
    [
        "query",
        "Wind -> Temp -> Ozone; Wind <-> Temp; Wind <-> Ozone",
        "airquality",
        "Temp -> Ozone",
        "--missing",
        "drop",
        "--errors",
        "independent",
    ],
    ["effect", "mroz", "mroz", "educ", "lwage"],
    ["effect", "mroz", "mroz", "--all"],
    ["effect", "Solar -> Temp -> Ozone; Wind -> Ozone", "airquality", "Solar", "Ozone", "--by", "Month"],
    ["query", "Solar -> Temp -> Ozone; Wind -> Ozone", "airquality", "P(Ozone, Temp | do(Solar=1))", "--by", "Month"],
    ["instruments", "mroz", "mroz", "educ ~> lwage"],
    ["instruments", "x -> y; x <-> y", "--sql", "select range as x, random() as y from range(30)", "x -> y"],
    ["adjustments", "tal_or", "tal_or", "pmi ~> reaction"],
    ["adjustments", "x -> y; x <-> y", "--sql", "select range as x, random() as y from range(30)", "x -> y"],
    ["robustness", "mroz", "mroz", "educ -> lwage"],
    ["robustness", "mroz", "mroz", "educ -> lwage", "--edge", "fatheduc <-> lwage"],
    ["robustness", "mroz", "mroz", "educ -> lwage", "--assumptions"],
    ["robustness", "cond -> {pmi, reaction}; pmi -> reaction", "tal_or", "pmi -> reaction", "--benchmark", "cond"],
    ["robustness", "x -> y; x <-> y", "--sql", "select range as x, random() as y from range(30)", "x -> y"],
    ["sensitivity", "mroz", "mroz", "educ -> lwage", "--edge", "fatheduc <-> lwage", "--values=-0.1,0,0.1"],
    ["sensitivity", "mroz", "mroz", "educ -> lwage", "--edge", "fatheduc <-> lwage", "--edge", "fatheduc <-> educ"],
    ["bounds", "mroz", "mroz", "educ -> lwage", "--assume", "abs(fatheduc -> lwage) <= 0.01"],
    ["bounds", "x -> y; x <-> y", "--sql", "select range as x, random() as y from range(30)", "x -> y"],
    ["counterfactual", "tal_or", "tal_or", "--do", "cond=1", "--outcome", "pmi", "--unit", "cond=0,pmi=2"],
    ["counterfactual", "tal_or", "tal_or", "--do", "cond=1", "--outcome", "pmi"],
    ["counterfactual", "educ -> lwage; educ <-> lwage", "mroz", "--do", "educ=1", "--outcome", "lwage"],
    ["predict", "tal_or", "tal_or", "--outcome", "reaction"],
    ["predict", "tal_or", "tal_or", "--outcome", "reaction", "--do", "cond=1"],
    ["predict", "educ -> lwage; educ <-> lwage", "mroz", "--do", "educ=1", "--outcome", "lwage"],
    ["compare", "tal_or", "cond -> pmi -> reaction", "--data", "tal_or", "--question", "cond -> reaction"],
    ["compare", "x -> y", "x <-> y", "--sql", "select range as x, random() as y from range(30)"],
    ["together", "Ozone ~ c(a, a, a, b, b)*Temp; gap := a - b", "airquality", "--by", "Month", "--missing", "drop"],
    ["simulate", "napkin", "-n", "2", "--seed", "1"],
    ["convert", "front-door", "--to", "dot"],
    ["report", "mroz", "mroz", "--question", "educ -> lwage", "--out", "r.html"],
    ["demo"],
    ["reproduce", "--rows", "100", "--replicates", "2"],
    ["run", "analysis.toml"],
    ["completion", "zsh"],
    ["schema", "fit"],
]


def test_every_command_has_a_schema_and_a_test() -> None:
    tried = {words[0] for words in MADE} | {"serve"}  # which goes on until it is stopped: tests/web/test_page.py
    assert set(SCHEMAS) == set(commands_of(build_parser())) == tried


@pytest.mark.parametrize("words", MADE, ids=" ".join)
def test_output_is_as_documented(
    words: list[str], tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("analysis.toml").write_text(
        'graph = "tal_or"\nquestions = ["cond ~> reaction", "pmi <-> reaction"]\n'
        '[data]\nfile = "tal_or"\n[output]\neffects = true\nchecks = true\nresults = "results.json"\n'
    )
    assert main([*words, "--json"]) in (0, 3)
    record = json.loads(capsys.readouterr().out)
    assert main(["schema", words[0]]) == 0
    schema = json.loads(capsys.readouterr().out)
    assert list(faults(record, schema)) == []


def test_groups_of_several_columns_are_as_documented(tmp_path: Path, capsys: Capture) -> None:
    lines = [f"{k % 7 + k % 3},{k % 5 - k % 7},{'ns'[k % 2]},{k % 3}" for k in range(240)]
    path = tmp_path / "rows.csv"
    path.write_text("\n".join(["x,y,site,sex", *lines]))
    assert main(["effect", "x -> y", str(path), "x", "y", "--by", "site,sex", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["groups"][0]["group"] == ["n", 0]
    assert list(faults(record, SCHEMAS["effect"])) == []


def test_the_reader_of_schemas_finds_faults() -> None:
    good = {"names": ["x"], "rows": [[1.0, None]]}
    assert list(faults(good, SCHEMAS["simulate"])) == []
    faulty: tuple[Any, ...] = (
        {"names": ["x"]},
        {**good, "more": 1},
        {**good, "names": "x"},
        {**good, "rows": [["one"]]},
        {**good, "rows": [[True]]},
        [],
    )
    for bad in faulty:
        assert list(faults(bad, SCHEMAS["simulate"]))
    assert list(faults({"status": "maybe"}, SCHEMAS["identify"]))
