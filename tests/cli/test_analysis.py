"""``analysis.toml``: one file is a whole run; mistakes in it are named by key."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path

import pytest

import halftrek as ht
from halftrek.cli import main
from halftrek.cli.analysis import Analysis, Data, Fitting, Output, Uncertainty
from halftrek.cli.analysis_file import analysis_text, read_analysis
from tests.project.pages import ROOT, blocks

Capture = pytest.CaptureFixture[str]

FULL = """
graph = "graph.txt"
questions = ["x ~> y", "P(y | do(x=1))", "x <-> m"]

[data]
file = "rows.csv"
missing = "drop"

[uncertainty]
interval = "robust"
level = 0.9

[output]
report = "report.html"
results = "results.json"
model = "model.json"
effects = true
checks = true
"""


@pytest.fixture
def folder(tmp_path: Path, capsys: Capture) -> Path:
    """A folder with a graph, rows and an analysis of them; not the current one."""
    place = tmp_path / "study"
    place.mkdir()
    (place / "graph.txt").write_text("x -> m -> y; x <-> y")
    (place / "analysis.toml").write_text(FULL)
    words = ["simulate", "x -> m -> y; x <-> y", "-n", "200", "--seed", "1", "-o", str(place / "rows.csv")]
    assert main(words) == 0
    capsys.readouterr()
    return place


def test_a_whole_run(folder: Path, capsys: Capture) -> None:
    path = str(folder / "analysis.toml")
    assert main(["run", path, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    fit = ht.fit("x -> m -> y; x <-> y", folder / "rows.csv")
    assert record["fit"]["loglik"] == pytest.approx(fit.loglik)
    first, second, third = record["questions"]
    expected = fit.query("x ~> y", interval="robust", level=0.9)
    assert first["interval"] == pytest.approx(expected.interval)
    assert second["distribution"]["names"] == ["y"]
    assert third["identified"] is True
    assert json.loads((folder / "results.json").read_text()) == record
    assert ht.load(folder / "model.json").loglik == pytest.approx(fit.loglik)
    assert "x ~&gt; y" in (folder / "report.html").read_text()
    assert main(["run", path]) == 2
    assert "exists already; --force" in capsys.readouterr().err
    assert main(["run", path, "--force"]) == 0
    text = capsys.readouterr().out
    assert "Does the graph fit?" in text
    assert f"report: {folder / 'report.html'}" in text


def test_a_question_without_an_answer_does_not_stop_the_others(folder: Path, capsys: Capture) -> None:
    (folder / "graph.txt").write_text("x -> y; x <-> y; x -> m")
    (folder / "analysis.toml").write_text(
        'graph = "graph.txt"\nquestions = ["x ~> y", "x ~> m"]\n[data]\nfile = "rows.csv"'
    )
    assert main(["run", str(folder / "analysis.toml"), "--json"]) == 3
    first, second = json.loads(capsys.readouterr().out)["questions"]
    assert first["identified"] is False
    assert "value" not in first
    assert isinstance(second["value"], float)


def test_report_of_an_analysis(folder: Path, capsys: Capture) -> None:
    path = str(folder / "analysis.toml")
    assert main(["report", path]) == 0
    assert capsys.readouterr().out == f"Report: {folder / 'report.html'}\n"
    assert main(["report", path]) == 2
    other = folder / "other.html"
    words = ["report", path, "--out", str(other), "--question", "x -> m", "--title", "Of x and m"]
    assert main(words) == 0
    assert "Of x and m" in other.read_text()


def test_choices_on_the_command_line_become_a_file(
    folder: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    options = ["--missing", "drop", "--interval", "parametric", "--replicates", "50", "--level", "0.8"]
    words = ["query", "graph.txt", "rows.csv", "x ~> y", *options]
    kept = folder.parent / "kept.toml"
    assert main([*words, "--json", "--write-analysis", str(kept)]) == 0
    first = json.loads(capsys.readouterr().out)
    monkeypatch.chdir(folder.parent.parent)  # files are found from wherever it is run
    assert main(["run", str(kept), "--json"]) == 0
    (again,) = json.loads(capsys.readouterr().out)["questions"]
    assert {k: v for k, v in first.items() if k != "fit"} == again
    monkeypatch.chdir(folder)
    assert main([*words, "--write-analysis", str(kept)]) == 2
    assert "--force" in capsys.readouterr().err


def test_standard_input_cannot_be_repeated(folder: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    import io
    import sys

    class Standard:
        buffer = io.BytesIO((folder / "rows.csv").read_bytes())

    monkeypatch.setattr(sys, "stdin", Standard)
    words = ["fit", str(folder / "graph.txt"), "-", "--write-analysis", str(folder / "new.toml")]
    assert main(words) == 2
    assert "not standard input" in capsys.readouterr().err


def test_what_is_written_is_what_is_read(tmp_path: Path) -> None:
    odd = 'x -> "a\\"b"\n# \x7f é 😀'
    whole = Analysis(
        graph=odd,
        data=Data(cov="c.csv", n=412.0, means={"a b": 1.0, "é": -2.5}, divisor="n-1"),
        questions=("x ~> y", 'P("a b" | do(x=1))'),
        fit=Fitting("cgl-go", "unit"),
        uncertainty=Uncertainty("bootstrap", 0.8, 50, "bca", 7, "independent"),
        output=Output("r.html", "r.json", "m.json", True, True),
        folder=tmp_path,
    )
    rows = Analysis(graph="g", data=Data(sql="select 1", missing="error", weights="w", cluster="c"), folder=tmp_path)
    survey = Data(
        file="d.csv",
        sampling_weights="w",
        categories={"a b": "north", "grade": "1"},
        kinds={"y": "ordered", "m": "behind:low<mid"},
    )
    for analysis in (whole, rows, Analysis(graph="g", data=survey, folder=tmp_path)):
        (tmp_path / "a.toml").write_text(analysis_text(analysis), encoding="utf-8")
        assert read_analysis(str(tmp_path / "a.toml")) == analysis
    kinds = ((whole.data, rows.data, survey), (whole.fit, Fitting()), (whole.uncertainty, Uncertainty()))
    for part, *others in kinds:
        names = [f.name for f in fields(part)]
        unchanged = [name for name in names if all(getattr(part, name) == getattr(one, name) for one in others)]
        assert set(unchanged) <= {"connect"}  # every key was written and read back, but for what may hold a password


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("graph = ", "is not TOML"),
        ("questions = []", "the key 'graph' is missing"),
        ('graph = "mroz"', "the key 'data' is missing"),
        ('graph = 3\n[data]\nfile = "mroz"', "graph must be a text"),
        ('graph = "mroz"\ndata = "mroz"', "data must be a table: write [data]"),
        ('graph = "mroz"\n[data]\nfiel = "mroz"', "[data] has no key 'fiel'. Did you mean 'file'?"),
        ('grph = "mroz"', "has no key 'grph'. Did you mean 'graph'?"),
        ('graph = "mroz"\n[data]\nfile = "mroz"\nmissing = "skip"', "[data] missing must be one of 'fiml'"),
        ('graph = "mroz"\nquestions = "x"\n[data]\nfile = "mroz"', "questions must be a list"),
        (
            'graph = "mroz"\n[data]\nfile = "mroz"\n[uncertainty]\nlevel = "high"',
            "[uncertainty] level must be a number",
        ),
        ('graph = "mroz"\n[data]\nfile = "mroz"\n[uncertainty]\nlevel = 95', "level must lie between 0 and 1"),
        ('graph = "mroz"\n[data]\nfile = "mroz"\n[uncertainty]\nreplicates = 1.5', "replicates must be a whole number"),
        ('graph = "mroz"\n[data]\nfile = "mroz"\n[output]\neffects = 1', "[output] effects must be true or false"),
        ('graph = "mroz"\n[data]\ncov = "c.csv"\nn = 4\nmeans = { x = "a" }', "[data] means must be numbers by name"),
        ('graph = "mroz"\n[data]\ncov = "c.csv"', "n = 412"),
        ('graph = "mroz"\n[data]\nfile = "mroz"\ncategories = "x"', "[data] categories must be levels by name"),
        ('graph = "mroz"\n[data]\nfile = "mroz"\ncategories = { x = true }', "like { region = "),
        ('graph = "mroz"\n[data]\nfile = "m"\nweights = "w"\nsampling_weights = "w"', "give one of them"),
        ('graph = "mroz"\n[data]\ncov = "c"\nn = 9\ncategories = { x = "a" }', "a covariance has none"),
        ('graph = "mroz"\n[data]\nfile = "mroz"\nsql = "select 1"', "file and sql"),
    ],
)
def test_mistakes_are_named(text: str, message: str, tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "analysis.toml"
    path.write_text(text)
    assert main(["run", str(path)]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert "analysis.toml" in err


def test_the_documented_example_runs(tmp_path: Path, capsys: Capture) -> None:
    (example,) = blocks(ROOT / "docs" / "cli.md", "toml")
    path = tmp_path / "analysis.toml"
    path.write_text(example.text, encoding="utf-8")
    assert main(["run", str(path), "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert [q["query"] for q in record["questions"]] == list(read_analysis(str(path)).questions)
    assert set(record["files"]) == {"report", "results", "model"}
    assert all(Path(file).stat().st_size for file in record["files"].values())
    parts = {"data": Data, "fit": Fitting, "uncertainty": Uncertainty, "output": Output}
    for kind in parts.values():  # every key that a file may have is on the page
        assert all(f"{f.name} =" in example.text for f in fields(kind) if f.name != "connect")  # no file names one


# -- a file that somebody sent --------------------------------------------------------------------


def test_an_analysis_writes_inside_its_folder(folder: Path, capsys: Capture) -> None:
    path = folder / "analysis.toml"
    (folder / "inside").mkdir()
    (folder / "way-out").symlink_to(folder.parent)
    for place in ("../r.json", str(folder.parent / "r.json"), "inside/../../r.json", "way-out/r.json"):
        path.write_text(f'graph = "graph.txt"\n[data]\nfile = "rows.csv"\n[output]\nresults = "{place}"\n')
        assert main(["run", str(path)]) == 2
        err = capsys.readouterr().err
        assert "[output] results" in err
        assert "--outside" in err
        assert not (folder.parent / "r.json").exists()
    assert main(["run", str(path), "--outside"]) == 0
    assert (folder.parent / "r.json").exists()
    path.write_text(path.read_text().replace("way-out/r.json", "inside/r.json"))
    assert main(["run", str(path)]) == 0
    path.write_text('graph = "graph.txt"\n[data]\nfile = "rows.csv"\n[output]\nreport = "../r.html"\n')
    assert main(["report", str(path)]) == 2
    assert "--outside" in capsys.readouterr().err
    assert main(["report", str(path), "--outside"]) == 0
    assert (folder.parent / "r.html").exists()
    assert main(["report", "mroz", "mroz", "--outside"]) == 2
    assert "--outside is for an analysis file" in capsys.readouterr().err


def test_an_analysis_reads_inside_its_folder(folder: Path, capsys: Capture) -> None:
    path = folder / "analysis.toml"
    (folder.parent / "rows.csv").write_bytes((folder / "rows.csv").read_bytes())
    (folder.parent / "graph.txt").write_text("x -> m -> y; x <-> y")
    (folder / "link.csv").symlink_to("../rows.csv")
    for graph, data in (("graph.txt", "../rows.csv"), ("graph.txt", "../*.csv"), ("graph.txt", "link.csv"),
                        ("../graph.txt", "rows.csv"), (str(folder.parent / "graph.txt"), "rows.csv")):  # fmt: skip
        path.write_text(f'graph = "{graph}"\n[data]\nfile = "{data}"\n')
        assert main(["run", str(path)]) == 2
        assert "lies outside the folder of the file; --outside allows it" in capsys.readouterr().err
        assert main(["run", str(path), "--outside"]) == 0
        capsys.readouterr()
    path.write_text('graph = "tal_or"\n[data]\nfile = "tal_or"\n')  # what is bundled lies nowhere
    assert main(["run", str(path)]) == 0


def test_a_written_analysis_says_what_it_needs(folder: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    (folder / "sub").mkdir()
    assert main(["query", "graph.txt", "rows.csv", "x ~> y", "--write-analysis", "sub/a.toml"]) == 0
    assert "halftrek run sub/a.toml needs --outside" in capsys.readouterr().err
    assert main(["run", "sub/a.toml", "--outside"]) == 0


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        ('results = "r.json"\nmodel = "r.json"', "named for two results"),
        ('results = "r.json"\nmodel = "./sub/../r.json"', "named for two results"),
        ('results = "r.json"\nmodel = "link.json"', "named for two results"),
        ('model = "rows.csv"', "[output] model = 'rows.csv' is a file that the analysis reads"),
        ('model = "graph.txt"', "is a file that the analysis reads"),
        ('report = "analysis.toml"', "is a file that the analysis reads"),
        ('model = "a\\u0000b"', "zero byte"),
        ('model = "no/such.json"', "there is no folder"),
        ('model = "sub"', "it is a folder"),
    ],
)
def test_outputs_that_cannot_be(outputs: str, message: str, folder: Path, capsys: Capture) -> None:
    (folder / "sub").mkdir()
    (folder / "link.json").symlink_to("r.json")
    before = (folder / "rows.csv").read_bytes()
    (folder / "analysis.toml").write_text(f'graph = "graph.txt"\n[data]\nfile = "rows.csv"\n[output]\n{outputs}\n')
    assert main(["run", str(folder / "analysis.toml"), "--force"]) == 2
    assert message in capsys.readouterr().err
    assert (folder / "rows.csv").read_bytes() == before


def test_two_results_of_a_command_in_one_file(tmp_path: Path, capsys: Capture) -> None:
    path = str(tmp_path / "one")
    assert main(["fit", "mroz", "mroz", "--save", path, "--write-analysis", path]) == 2
    assert "named for two results" in capsys.readouterr().err
    assert main(["fit", "mroz", "mroz", "--save", "/dev/null", "--write-analysis", "/dev/null"]) == 0
