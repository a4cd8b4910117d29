"""``halftrek counterfactual``: units and tables as the library answers them."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest

import halftrek as ht
from halftrek.cli import main

Capture = pytest.CaptureFixture[str]
ASK = ["counterfactual", "tal_or", "tal_or", "--outcome", "reaction"]
STUDY = ht.dataset("tal_or")
BOW = "educ -> lwage; educ <-> lwage"


@pytest.fixture(scope="module")
def fit() -> ht.Fit:
    return ht.fit(STUDY.graph, STUDY.path)


def columns(text: str) -> dict[str, list[float]]:
    head, *rows = csv.reader(io.StringIO(text))
    return {name: [float(row[k]) if row[k] else np.nan for row in rows] for k, name in enumerate(head)}


@pytest.mark.parametrize(
    ("option", "do"),
    [
        ("cond=1", {"cond": 1.0}),
        ("cond=-1", {"cond": -1.0}),
        ("cond+=0.5", {"cond": "+0.5"}),
        ("cond-=0.5", {"cond": "-0.5"}),
        ("cond+=-0.5", {"cond": "-0.5"}),
        ("cond*=2", {"cond": "*2"}),
        ("pmi/=2", {"pmi": "*0.5"}),
        ("pmi=cond", {"pmi": "cond"}),
        ('"cond"=1, pmi=4', {"cond": 1.0, "pmi": 4.0}),
    ],
)
def test_a_table_is_the_librarys(option: str, do: dict[str, object], fit: ht.Fit, capsys: Capture) -> None:
    assert main([*ASK, "--do", option]) == 0
    found = columns(capsys.readouterr().out)
    expected = fit.counterfactual(STUDY.columns, do, "reaction")
    assert list(found) == ["row", *expected]
    assert found.pop("row") == list(range(1, len(STUDY.columns["cond"]) + 1))
    for name, values in found.items():
        np.testing.assert_allclose(values, np.asarray(expected[name], dtype=float), rtol=1e-9, atol=1e-12)


def test_one_unit(fit: ht.Fit, capsys: Capture) -> None:
    expected = fit.counterfactual({"cond": 0, "pmi": 4.5}, {"cond": 1}, "reaction", level=0.8)
    assert main([*ASK, "--do", "cond=1", "--unit", "cond=0, pmi=4.5", "--level", "0.8", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["distribution"]["mean"] == [pytest.approx(expected.mean)]
    assert record["interval"] == pytest.approx(expected.interval)
    assert main([*ASK, "--do", "cond=1", "--unit", "cond=0"]) == 0
    assert "reaction_{cond=1}" in capsys.readouterr().out


def test_other_rows_and_files(fit: ht.Fit, tmp_path: Path, capsys: Capture) -> None:
    units = tmp_path / "units.csv"
    units.write_text("cond,reaction,who\n0,2.0,a\n1,,b\n")
    expected = fit.counterfactual({"cond": [0.0, 1.0], "reaction": [2.0, np.nan]}, {"cond": 1}, "reaction")
    out = tmp_path / "out.csv"
    words = [*ASK, "--do", "cond=1", "--rows", str(units), "--out", str(out)]
    assert main(words) == 0
    assert capsys.readouterr().out == f"2 rows: {out}\n"
    np.testing.assert_allclose(columns(out.read_text())["reaction"], expected["reaction"])
    assert main(words) == 2
    assert "--force writes over it" in capsys.readouterr().err
    assert main([*words, "--force"]) == 0
    capsys.readouterr()
    import pyarrow.parquet

    parquet = tmp_path / "out.parquet"
    assert main([*words[:-1], str(parquet)]) == 0
    np.testing.assert_allclose(pyarrow.parquet.read_table(parquet)["reaction"].to_numpy(), expected["reaction"])


def test_people_see_the_first_rows(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("NO_COLOR", "1")
    assert main([*ASK, "--do", "cond=1"]) == 0
    out = capsys.readouterr().out
    assert "and 103 more rows" in out
    assert "noise_sd" in out


def test_rows_without_an_answer(capsys: Capture) -> None:
    words = ["counterfactual", BOW, "mroz", "--do", "educ=12", "--outcome", "lwage"]
    assert main(words) == 3
    assert "not identified" in capsys.readouterr().out
    assert main([*words, "--unidentified", "nan"]) == 0
    found = columns(capsys.readouterr().out)
    assert np.isnan(found["lwage"]).all()
    assert np.isnan(found["se"]).all()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--do", "cond*=x"], "a change needs a number"),
        (["--do", "pmi/=0"], "divided by 0"),
        (["--do", "cond=1", "--unit", "cond=low"], "needs a number"),
        (["--do", "cond=1", "--unit", "cond=1", "--out", "x.csv"], "--rows and --out are for tables"),
        (["--do", "cnd=1"], "cond"),
    ],
)
def test_mistakes(words: list[str], message: str, capsys: Capture) -> None:
    assert main([*ASK, *words]) == 2
    assert message in capsys.readouterr().err


def test_a_covariance_has_no_rows_of_its_own(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "cov.csv"
    path.write_text("x,y\n1,0.5\n0.5,1\n")
    words = ["counterfactual", "x -> y", "--cov", str(path), "--n", "50", "--do", "x=1", "--outcome", "y"]
    assert main(words) == 2
    assert "--unit x=0,y=2 or --rows FILE" in capsys.readouterr().err
    assert main([*words, "--unit", "x=0,y=2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["distribution"]["mean"] == [pytest.approx(2.5)]
