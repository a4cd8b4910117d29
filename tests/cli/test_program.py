"""The program as a whole: usage, errors, help with examples that run, pipes."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from halftrek import identification
from halftrek.cli import main
from halftrek.cli.app import build_parser

Capture = pytest.CaptureFixture[str]


def commands() -> dict[str, argparse.ArgumentParser]:
    action = next(a for a in build_parser()._actions if isinstance(a, argparse._SubParsersAction))
    return dict(action.choices)


def with_programs() -> dict[str, str]:
    """The environment, in which this Python's programs come first."""
    return {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}


def shell(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        cwd=folder,
        env=with_programs(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_all_commands_are_there() -> None:
    assert set(commands()) == {
        "demo", "reproduce", "identify", "fit", "query", "effect", "counterfactual", "compare", "report", "run",
        "simulate", "convert", "completion", "schema", "instruments", "adjustments", "predict",
        "robustness", "sensitivity", "bounds", "serve", "together",
    }  # fmt: skip


def example_of(name: str) -> str:
    text = commands()[name].format_help()
    assert "--json" in text
    example = text.rstrip().splitlines()[-1].strip()
    assert f"halftrek {name} " in example
    return example


@pytest.mark.parametrize("name", sorted(set(commands()) - {"serve"}))
def test_help_ends_with_an_example_that_runs(name: str, tmp_path: Path) -> None:
    done = shell(example_of(name), tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout
    assert done.stderr == ""


def test_the_example_that_serves_runs_until_it_is_stopped(tmp_path: Path) -> None:
    """The one command that does not end by itself."""
    process = subprocess.Popen(
        ["bash", "-c", f"exec {example_of('serve')}"],
        cwd=tmp_path,
        env={**with_programs(), "BROWSER": "true"},  # a browser that shows nothing
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        said = process.stdout.readline()
        assert said.startswith("halftrek's page: http://127.0.0.1:")
        with urllib.request.urlopen(said.split()[-1], timeout=60) as answer:
            assert answer.status == 200
        assert process.poll() is None
    finally:
        process.terminate()
        _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")


def test_python_dash_m() -> None:
    done = subprocess.run([sys.executable, "-m", "halftrek", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("halftrek ")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "COMMAND"),
        (["dance"], "'dance'"),
        (["fit", "x -> y"], "DATA"),
        (["convert", "x -> y", "--to", "music"], "'music'"),
        (["simulate", "napkin", "-n", "0"], "0 is too small; the least is 1"),
        (["simulate", "napkin", "-n", "many"], "'many' is not a whole number"),
        (["simulate", "napkin", "--seed", "-1"], "-1 is too small"),
        (["identify", "x -> ", "x -> y"], "x ->"),
        (["identify", "x -> x", "x -> y"], "x"),
        (["identify", "x -> y; y -> x", "x -> y"], "cycle"),
        (["identify", "x -> y", "P(y | do(x)"], "^"),
        (["identify", "x -> y", "P(y | do(z))"], "z"),
        (["identify", "napkn", "x -> y"], "Did you mean 'napkin'"),
        (["identify", "missing/graph.txt", "x -> y"], "neither a file nor a graph of the catalog"),
        (["fit", "x -> y", "absent.csv"], "there is no data file 'absent.csv'"),
        (["fit", "-", "-"], "cannot both come from standard input"),
        (["effect", "x -> y", "absent.csv", "a", "b", "c"], "Put quotes around it: 'a b c'"),
        (["simulate", "napkin", "-o", "absent/folder/x.csv"], "there is no folder"),
        (["fit", "x -> y", "rows.csv", "--cov", "c.csv"], "unrecognized arguments: rows.csv"),
        (["fit", "x -> y", "--cov", "c.csv"], "--n 412"),
        (["fit", "x -> y", "--cov", "absent.csv", "--n", "9"], "there is no covariance file 'absent.csv'"),
        (["fit", "x -> y", "--sql", "select * from 'absent.csv'"], "the SQL query cannot be run"),
        (["fit", "x -> y", "--sql", "select 1", "--n", "9"], "n and means go with a covariance"),
        (["query", "x -> y", "absent.csv", "x -> y", "--level", "95"], "between 0 and 1"),
        (["query", "x -> y", "absent.csv", "x -> y", "--interval", "guess"], "'guess'"),
        (["fit", "mroz", "mroz", "--interval", "profile"], "one question at a time"),
        (["effect", "mroz", "mroz", "x", "--all"], "either a question or --all"),
        (["compare", "mroz", "--data", "mroz"], "at least two graphs"),
        (["compare", "mroz", "mroz", "--names", "one", "--data", "mroz"], "2 different names"),
        (["compare", "x -> y", "y -> x"], "data come from one of"),
        (["run", "absent.toml"], "there is no analysis file 'absent.toml'"),
        (["schema", "dance"], "'dance'"),
        (["counterfactual", "mroz", "mroz", "--do", "educ", "--outcome", "lwage"], "--do takes a name and a value"),
        (
            ["counterfactual", "mroz", "mroz", "--do", "educ=1", "--outcome", "lwage", "--out", "a.txt"],
            "unknown ending",
        ),
    ],
)
def test_bad_usage_and_input_are_explained(words: list[str], message: str, capsys: Capture) -> None:
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err
    assert "Traceback" not in err
    assert err.startswith("halftrek")


def test_unreadable_files_are_named(tmp_path: Path, capsys: Capture) -> None:
    graph = tmp_path / "graph.txt"
    graph.write_bytes(b"x -> \xff\xfe")
    assert main(["identify", str(graph), "x -> y"]) == 2
    assert "not text in UTF-8" in capsys.readouterr().err
    data = tmp_path / "data.csv"
    data.write_text("x,z\n1,2\n2,1\n3,5\n")
    assert main(["fit", "x -> y", str(data)]) == 2
    assert "'y'" in capsys.readouterr().err
    assert main(["fit", "x -> y", str(tmp_path)]) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_empty_standard_input(tmp_path: Path) -> None:
    done = shell("halftrek fit 'x -> y' - < /dev/null", tmp_path)
    assert done.returncode == 2
    assert done.stderr == "halftrek: error: standard input is empty; it should hold a CSV, Parquet or Arrow file\n"


def test_debug_shows_where(capsys: Capture) -> None:
    assert main(["identify", "x -> x", "x -> y", "--debug"]) == 2
    assert "Traceback" in capsys.readouterr().err


def test_a_defect_is_called_one(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_args: object, **_options: object) -> None:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr(identification, "identify", broken, raising=False)
    assert main(["identify", "x -> y", "x -> y"]) == 1
    err = capsys.readouterr().err
    assert "internal error: ZeroDivisionError" in err
    assert "Traceback" not in err


def test_interruption_is_quiet(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_args: object, **_options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(identification, "identify", stopped, raising=False)
    assert main(["identify", "x -> y", "x -> y"]) == 130
    assert capsys.readouterr().err == "halftrek: stopped\n"


def test_a_closed_pipe_is_quiet(tmp_path: Path) -> None:
    done = shell("halftrek simulate napkin -n 200000 --seed 1 | head -n 2; exit ${PIPESTATUS[0]}", tmp_path)
    assert done.stdout.splitlines()[0] == "X1,X2,X3,X4"
    assert done.returncode == 141
    assert done.stderr == ""
