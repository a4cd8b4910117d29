"""Data as the command line takes them: files of all kinds, SQL, covariances, bundled sets."""

from __future__ import annotations

import io
import json
import sys
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import halftrek as ht
from halftrek.bottom.choices import Interval
from halftrek.cli import main
from halftrek.cli.covariance import read_covariance
from tests.narrow import grouped

Capture = pytest.CaptureFixture[str]
GRAPH = "x -> m -> y; x <-> y"
COV = [[2.0, 1.0, 0.4], [1.0, 1.5, 0.6], [0.4, 0.6, 1.2]]


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "rows.csv"
    assert main(["simulate", "front-door", "-n", "300", "--seed", "1", "-o", str(path)]) == 0
    return path


def answer(capsys: Capture, *words: str) -> dict[str, Any]:
    assert main([*words, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
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
    assert 0 < part["n"] < 300
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
def test_uncertainty_is_the_librarys(interval: Interval, rows: Path, capsys: Capture) -> None:
    fit = ht.fit(ht.catalog("front-door").graph, rows)
    drawn = interval in ("bootstrap", "parametric")
    expected = fit.query("X1 ~> X3", interval=interval, level=0.9, random_state=4, replicates=60 if drawn else 1000)
    words = (
        "--interval",
        interval,
        "--level",
        "0.9",
        "--random-state",
        "4",
        *(["--replicates", "60"] if drawn else []),
    )
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


def test_groups_as_a_table(capsys: Capture) -> None:
    """Each month by full information; the same numbers as in Python."""
    graph = "Solar -> Temp -> Ozone; Solar -> Ozone; Wind -> Ozone; Temp <-> Wind"
    found = answer(capsys, "effect", graph, "airquality", "Solar", "Ozone", "--by", "Month", "--level", "0.9")
    path = ht.dataset("airquality").path
    expected = grouped(ht.fit(graph, path, by="Month")).effect("Solar", "Ozone", level=0.9)
    assert [r["low"] for r in found["groups"]] == pytest.approx(list(expected["low"]))
    assert main(["effect", graph, "airquality", "Solar", "Ozone", "--by", "Month"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("Solar ~> Ozone by Month (95% intervals)\n")
    assert "21 of 30 rows incomplete" in text
    dropped = answer(capsys, "effect", graph, "airquality", "Solar", "Ozone", "--by", "Month", "--missing", "drop")
    assert sum(r["dropped"] for r in dropped["groups"]) == 42


@pytest.mark.parametrize("words", [["--interval", "robust"], ["--method", "cgl-go"], ["--write-analysis", "a.toml"]])
def test_groups_refuse_what_they_do_not_have(words: list[str], capsys: Capture) -> None:
    assert main(["effect", "Solar -> Ozone", "airquality", "Solar", "Ozone", "--by", "Month", *words]) == 2
    assert "cannot be used with --by" in capsys.readouterr().err
    assert main(["effect", "Solar -> Ozone", "airquality", "--all", "--by", "Month"]) == 2
    assert "--all cannot be used with --by" in capsys.readouterr().err


def test_groups_of_several_columns(tmp_path: Path, capsys: Capture) -> None:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"x": rng.normal(size=600), "site, long": np.repeat(["n", "s", "s"], 200)})
    frame["sex"] = np.repeat([0, 0, 1], 200)  # nobody of sex 1 in the north
    frame["y"] = frame["x"] + rng.normal(size=600)
    frame["school"] = rng.integers(0, 50, 600)
    path = str(tmp_path / "rows.csv")
    frame.to_csv(path, index=False)
    by = ["site, long", "sex"]
    command = ["effect", "x -> y", path, "x", "y", "--cluster", "school"]
    expected = grouped(ht.fit("x -> y", frame, by=by, cluster="school")).effect("x", "y")
    for words in (["--by", '"site, long",sex'], ["--by", '"site, long"', "--by", "sex"]):
        found = answer(capsys, *command, *words)
        assert found["by"] == by
        assert [r["group"] for r in found["groups"]] == [["n", 0], ["s", 0], ["s", 1]]
        assert [r["se"] for r in found["groups"]] == pytest.approx(expected["se"].tolist(), rel=1e-12)
    assert main([*command, "--by", '"site, long", sex']) == 0
    text = capsys.readouterr().out
    assert text.startswith("x ~> y by site, long, sex (95% intervals)\n")
    assert text.splitlines()[1].split()[:3] == ["site,", "long", "sex"]
    assert main([*command, "--by", ","]) == 2
    assert "--by names no column" in capsys.readouterr().err
    assert main([*command, "--by", "sex,sxe"]) == 2
    assert "no column 'sxe' for the groups. Did you mean 'sex'" in capsys.readouterr().err


# -- texts, categories, weights -------------------------------------------------------------------


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    rng = np.random.default_rng(6)
    lines = ["smoker,region,age,income,ill,w"]
    for _ in range(400):
        smoker, region = rng.random() < 0.4, rng.integers(0, 3)
        income = 2.0 * (region == 1) - smoker + rng.normal()
        parts = ["Yes" if smoker else "no", ("north", "south", "far west")[region], f"{rng.normal():.6f}"]
        lines.append(",".join([*parts, f"{income:.6f}", str(int(rng.random() < 0.2)), f"{rng.exponential():.4f}"]))
    path = tmp_path / "survey.csv"
    path.write_text("\n".join(lines))
    return path


CATEGORIES = "region -> income; smoker -> income; age -> income"


def test_categories_and_sampling_weights_are_those_of_python(survey: Path, capsys: Capture) -> None:
    expected = ht.fit(CATEGORIES, survey, categories={"region": "north"}, sampling_weights="w")
    options = ("--categories", "region=north", "--sampling-weights", "w")
    question = '"region=far west" ~> income'
    found = answer(capsys, "query", CATEGORIES, str(survey), question, *options)
    assert found["value"] == pytest.approx(expected.query(question).value, rel=1e-9)
    assert found["se"] == pytest.approx(expected.query(question).se, rel=1e-9)
    record = answer(capsys, "fit", CATEGORIES, str(survey), *options)
    assert record["n"] == 400
    assert "smoker is 1 for 'Yes' and 0 for 'no'" in record["notes"]
    assert any("sampling weights" in text for text in record["notes"])
    assert {"region=far west", "region=south"} <= {p["rhs"] for p in record["parameters"]}
    quoted = answer(
        capsys, "query", CATEGORIES, str(survey), '"region=south" ~> income', "--categories", "region=far west"
    )
    assert quoted["identified"]


def test_a_category_that_is_asked_for_as_a_whole_is_named(survey: Path, capsys: Capture) -> None:
    assert main(["effect", CATEGORIES, str(survey), "region", "income", "--categories", "region=north"]) == 2
    assert "region=" in capsys.readouterr().err
    words = ["query", f"{CATEGORIES}; age <-> income", str(survey), "age ~> income", "--categories", "region=north"]
    assert main(words) == 3
    assert "not identified" in capsys.readouterr().out


def test_analysis_files_and_reports_keep_categories_and_weights(survey: Path, tmp_path: Path, capsys: Capture) -> None:
    again, page = tmp_path / "a.toml", tmp_path / "r.html"
    question = '"region=south" ~> income'
    options = ["--categories", "region=north", "--sampling-weights", "w"]
    first = answer(capsys, "query", CATEGORIES, str(survey), question, *options, "--write-analysis", str(again))
    record = answer(capsys, "run", str(again))
    assert record["questions"][0]["se"] == pytest.approx(first["se"], rel=1e-9)
    assert "region=south" in record["graph"]["observed"]
    assert main(["report", CATEGORIES, str(survey), *options, "--question", question, "--out", str(page)]) == 0
    text = page.read_text()
    assert "--categories region=north" in text
    assert "--sampling-weights w" in text
    assert "is 1 where region is" in text
    names: dict[str, ht.Fit] = {}
    exec(unescape(text[text.index("import halftrek") : text.index("fit.report")]), names)
    assert names["fit"].query(question).se == pytest.approx(first["se"], rel=1e-9)


def test_advice_about_texts_weights_and_0_1_outcomes(survey: Path, capsys: Capture) -> None:
    assert main(["fit", "region -> income", str(survey)]) == 2
    assert "--categories 'region=far west'" in capsys.readouterr().err
    assert main(["fit", "age -> income", str(survey), "--weights", "w"]) == 2
    assert "--sampling-weights w" in capsys.readouterr().err
    assert main(["query", "smoker -> ill", str(survey), "P(ill > 0.5 | do(smoker=1))"]) == 2
    assert "ask E[ill | do(smoker=1)]" in capsys.readouterr().err
    assert main(["query", "smoker -> ill", str(survey), "smoker ~> ill"]) == 0
    assert "linear probability" in " ".join(capsys.readouterr().out.split())
    assert main(["query", "smoker -> ill", str(survey), "smoker ~> ill", "--interval", "delta"]) == 0
    assert "--interval robust" in " ".join(capsys.readouterr().out.split())
    assert main(["fit", "region -> income", str(survey), "--categories", "region"]) == 2
    assert "--categories region=north" in capsys.readouterr().err
    assert main(["fit", "age -> income", str(survey), "--weights", "w", "--sampling-weights", "w"]) == 2
    assert "give one of them" in capsys.readouterr().err
