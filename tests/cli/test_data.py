"""Data as the command line takes them: files of all kinds, SQL, covariances, bundled sets."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import numpy as np
import pytest

import halftrek as ht
from halftrek.cli import main
from halftrek.cli.covariance import read_covariance

Capture = pytest.CaptureFixture[str]
GRAPH = "x -> m -> y; x <-> y"
COV = [[2.0, 1.0, 0.4], [1.0, 1.5, 0.6], [0.4, 0.6, 1.2]]


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "rows.csv"
    assert main(["simulate", "front-door", "-n", "300", "--seed", "1", "-o", str(path)]) == 0
    return path


def answer(capsys: Capture, *words: str) -> dict[str, object]:
    assert main([*words, "--json"]) == 0
    found: dict[str, object] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.parametrize(
    "text",
    [
        "x,m,y\n2,1,0.4\n1,1.5,0.6\n0.4,0.6,1.2\n",
        ",x,m,y\nx,2,,\nm,1,1.5,\ny,0.4,0.6,1.2\n",
        "x,m,y\n2,,\n1,1.5,\n0.4,0.6,1.2\n",
        "# from the paper\n2\n1 1.5\n\n0.4 0.6 1.2\n",
        "x;m;y\n2\n1;1.5\n0.4;0.6;1.2\n",
        "x 2\nm 1 1.5\ny 0.4 0.6 1.2\n",
        ",y,m,x\nx,0.4,1,2\ny,1.2,0.6,0.4\nm,0.6,1.5,1\n",
    ],
)
def test_covariances_as_people_write_them(text: str, tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "cov.csv"
    path.write_text(text)
    expected = ht.fit(GRAPH, cov=COV, n=412).effect("x", "y")
    found = answer(capsys, "effect", GRAPH, "--cov", str(path), "--n", "412", "x", "y")
    assert found["value"] == pytest.approx(expected.value, rel=1e-12)
    assert found["se"] == pytest.approx(expected.se, rel=1e-12)


def test_means_and_divisor_of_a_covariance(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "cov.txt"
    path.write_text("2\n1 1.5\n0.4 0.6 1.2\n")
    expected = ht.fit(GRAPH, cov=COV, n=412, mean=[1.0, 2.0, 3.0], divisor="n-1").query("P(y | do(x=2))")
    words = ("--cov", str(path), "--n", "412", "--means", "m=2, x=1, y=3", "--divisor", "n-1")
    found = answer(capsys, "query", GRAPH, *words, "P(y | do(x=2))")
    assert found["distribution"] == {
        "names": ["y"],
        "mean": [pytest.approx(expected.mean)],
        "cov": [[pytest.approx(expected.variance)]],
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("x,m\n", "names and no numbers"),
        ("1,2,3\n4,5,6\n", "square"),
        ("x,m\n1,2\n2,high\n", "'high', which is not a number"),
        (",x,m\nx,1,0\nz,0,1\n", "the row 'z' has no column"),
        (",x,m\nm,1\nx,0,1\n", "same order"),
    ],
)
def test_covariances_that_are_none(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "cov.csv"
    path.write_text(text)
    with pytest.raises(ht.DataError, match=message):
        read_covariance(str(path))


def test_sql(rows: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = answer(capsys, "effect", "front-door", str(rows), "X1", "X3", "--interval", "robust")
    monkeypatch.chdir(rows.parent)
    query = "select X1, X2, X3 from 'rows.csv'"
    found = answer(capsys, "effect", "front-door", f"--sql={query}", "X1", "X3", "--interval", "robust")
    assert found["value"] == pytest.approx(whole["value"])
    assert found["se"] == pytest.approx(whole["se"])
    part = answer(capsys, "fit", "front-door", "--sql", f"{query} where X1 > 0")
    assert 0 < part["n"] < 300  # type: ignore[operator]
    assert main(["fit", "front-door", "--sql", "select 'a' as X1, 1.0 as X2, 2.0 as X3"]) == 2
    assert "X1" in capsys.readouterr().err


@pytest.mark.parametrize("stream", [False, True])
def test_arrow_from_a_file_and_from_standard_input(
    stream: bool, rows: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pyarrow as pa
    import pyarrow.csv

    table = pyarrow.csv.read_csv(rows)
    path = rows.with_suffix(".arrow")
    with (pa.ipc.new_stream if stream else pa.ipc.new_file)(path, table.schema) as writer:
        writer.write_table(table)

    class Standard:
        buffer = io.BytesIO(path.read_bytes())

    monkeypatch.setattr(sys, "stdin", Standard)
    values = [answer(capsys, "effect", "front-door", s, "X1", "X3")["value"] for s in (str(rows), str(path), "-")]
    assert values == pytest.approx([values[0]] * 3)


def test_bundled_sets_bring_graph_and_data(capsys: Capture) -> None:
    study = ht.dataset("mroz")
    expected = ht.fit(study.graph, study.path).query(study.question)
    assert answer(capsys, "query", "mroz", "mroz", study.question)["value"] == pytest.approx(expected.value)
    assert answer(capsys, "fit", "b1191 -> fixC", "ecoli70")["n"] == 1000


@pytest.mark.parametrize("interval", ["delta", "robust", "bootstrap", "parametric", "profile"])
def test_uncertainty_is_the_librarys(interval: str, rows: Path, capsys: Capture) -> None:
    fit = ht.fit(ht.catalog("front-door").graph, rows)
    expected = fit.query("X1 ~> X3", interval=interval, level=0.9, replicates=60, random_state=4)
    words = ("--interval", interval, "--level", "0.9", "--replicates", "60", "--random-state", "4")
    found = answer(capsys, "query", "front-door", str(rows), "X1 ~> X3", *words)
    assert found["level"] == 0.9
    assert found["se"] == pytest.approx(expected.se, rel=1e-9)
    assert found["interval"] == pytest.approx(expected.interval, rel=1e-9)


def test_rows_of_standard_input_are_there_for_a_second_look(
    rows: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Standard:
        buffer = io.BytesIO(rows.read_bytes())

    words = ("X1", "X3", "--interval", "bootstrap", "--replicates", "40", "--ends", "bca")
    expected = answer(capsys, "effect", "front-door", str(rows), *words)
    monkeypatch.setattr(sys, "stdin", Standard)
    assert answer(capsys, "effect", "front-door", "-", *words)["interval"] == expected["interval"]


def test_clusters(rows: Path, capsys: Capture) -> None:
    lines = rows.read_text().splitlines()
    rows.write_text("\n".join([lines[0] + ",school", *(f"{x},s{k % 20}" for k, x in enumerate(lines[1:]))]))
    expected = ht.fit(ht.catalog("front-door").graph, rows, cluster="school").effect("X1", "X3", interval="robust")
    words = ("--cluster", "school", "--interval", "robust")
    assert answer(capsys, "effect", "front-door", str(rows), "X1", "X3", *words)["se"] == pytest.approx(expected.se)
    plain = answer(capsys, "effect", "front-door", str(rows), "X1", "X3", "--interval", "robust")["se"]
    assert plain != pytest.approx(expected.se)


def test_parameters_take_the_interval_too(capsys: Capture) -> None:
    study = ht.dataset("tal_or")
    expected = ht.fit(study.graph, study.path).params(interval="robust", level=0.9)
    found = answer(capsys, "fit", "tal_or", "tal_or", "--interval", "robust", "--level", "0.9")["parameters"]
    assert isinstance(found, list)
    np.testing.assert_allclose([r["ci_low"] for r in found], np.array(expected["ci_low"], dtype=float))


def test_effects_and_checks_are_the_librarys(capsys: Capture) -> None:
    study = ht.dataset("tal_or")
    fit = ht.fit("cond -> pmi -> reaction", study.path)
    found = answer(capsys, "fit", "cond -> pmi -> reaction", "tal_or", "--effects", "--checks")
    effects, checks = found["effects"], found["checks"]
    assert isinstance(effects, list)
    assert isinstance(checks, dict)
    np.testing.assert_allclose([r["est"] for r in effects], np.array(fit.effects()["est"], dtype=float))
    assert checks["measures"]["chi2"] == pytest.approx(fit.measures()["chi2"])
    assert [r["constraint"] for r in checks["tests"]] == list(fit.tests()["constraint"])
    assert main(["fit", "cond -> pmi -> reaction", "tal_or", "--effects", "--checks"]) == 0
    text = capsys.readouterr().out
    assert "cond independent of reaction given pmi" in text
    assert "cond ~> reaction" in text
    assert all(len(line) <= 80 for line in text.splitlines())


def test_what_is_not_identified_has_no_number_in_the_list(capsys: Capture) -> None:
    graph = "educ -> lwage; educ <-> lwage; fatheduc"
    effects = answer(capsys, "effect", graph, "mroz", "--all")["effects"]
    assert isinstance(effects, list)
    assert [(r["est"], r["se"]) for r in effects] == [(None, None)] * len(effects)
    assert main(["effect", graph, "mroz", "--all"]) == 0
    assert "not identified" in capsys.readouterr().out


def test_groups_as_a_table(capsys: Capture, tmp_path: Path) -> None:
    """Each month by full information; the same numbers as in Python."""
    graph = "Solar -> Temp -> Ozone; Solar -> Ozone; Wind -> Ozone; Temp <-> Wind"
    found = answer(capsys, "effect", graph, "airquality", "Solar", "Ozone", "--by", "Month", "--level", "0.9")
    path = ht.dataset("airquality").path
    expected = ht.fit(graph, path, by="Month").effect("Solar", "Ozone", level=0.9)
    assert [r["low"] for r in found["groups"]] == pytest.approx(list(expected["low"]))
    assert main(["effect", graph, "airquality", "Solar", "Ozone", "--by", "Month"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("Solar ~> Ozone by Month (95% intervals)\n")
    assert "21 of 30 rows incomplete" in text
    dropped = answer(capsys, "effect", graph, "airquality", "Solar", "Ozone", "--by", "Month", "--missing", "drop")
    assert sum(r["dropped"] for r in dropped["groups"]) == 42


@pytest.mark.parametrize(
    "words", [["--cluster", "Day"], ["--interval", "robust"], ["--method", "cgl-go"], ["--write-analysis", "a.toml"]]
)
def test_groups_refuse_what_they_do_not_have(words: list[str], capsys: Capture) -> None:
    assert main(["effect", "Solar -> Ozone", "airquality", "Solar", "Ozone", "--by", "Month", *words]) == 2
    assert "cannot be used with --by" in capsys.readouterr().err
    assert main(["effect", "Solar -> Ozone", "airquality", "--all", "--by", "Month"]) == 2
    assert "--all cannot be used with --by" in capsys.readouterr().err
