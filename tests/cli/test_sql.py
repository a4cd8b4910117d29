"""SQL for data: one SELECT that reads what it names, and can do nothing else, whoever wrote it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from halftrek.cli import main

Capture = pytest.CaptureFixture[str]
GRAPH = "x -> m -> y; x <-> y"
READ = "select * from 'rows.csv'"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> Path:
    """A current folder with rows in it, and others beside it."""
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    for n, name in ((200, "rows.csv"), (150, "../elsewhere.csv")):
        assert main(["simulate", GRAPH, "-n", str(n), "--seed", "1", "-o", name]) == 0
    capsys.readouterr()
    return here


def rows_of(query: str, capsys: Capture) -> float:
    assert main(["fit", GRAPH, "--sql", query, "--json"]) == 0, capsys.readouterr().err
    return json.loads(capsys.readouterr().out)["n"]


def refused(query: str, capsys: Capture) -> str:
    assert main(["fit", GRAPH, "--sql", query]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "Traceback" not in err
    return err


WRITING = (
    "copy (select 1) to 'rows.csv'",
    f"{READ}; copy (select 1) to 'rows.csv'",
    "with a as (copy (select 1 as x) to 'rows.csv') select * from a, 'rows.csv'",
    "select * from (with a as (copy (select 1 as x) to 'rows.csv') select * from a)",
    "select * from query('with a as (copy (select 1) to ''rows.csv'') from a')",
    "with a as (insert into t values (1) returning *) select * from a",
    "export database 'dump'",
    "create table t as select 1",
    "attach 'new.db' as n",
    "install httpfs",
    "load httpfs",
    "set threads = 1",
    "pragma enable_profiling",
    "call enable_logging()",
    "select * from enable_logging()",
    "select * from checkpoint()",
)


@pytest.mark.parametrize("query", WRITING)
def test_nothing_is_written_attached_or_loaded(query: str, folder: Path, capsys: Capture) -> None:
    before = {name: (folder / name).read_bytes() for name in os.listdir(folder)}
    assert "SQL" in refused(query, capsys)
    assert {name: (folder / name).read_bytes() for name in os.listdir(folder)} == before


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (f"{READ}; {READ}", "one SELECT and nothing else; this is select and select"),
        ("", "this is nothing"),
        ("-- only a remark", "this is nothing"),
        ("selekt", "cannot be run"),
        ("select * from 'absent.csv'", "there is no file 'absent.csv'"),
        ("select * from 'absent*.csv'", "there is no file 'absent*.csv'"),
        ("select * from read_csv('row' || 's.csv')", "names of files written out"),
        ("select * from glob('*')", "cannot use glob()"),
        ("select * from duckdb_secrets()", "cannot use duckdb_secrets()"),
        ("select * from '..'", "name a file in it"),
        (f"{READ} where x / 0 > cast('a' as int)", "cannot be run"),
        ("select * from 'a\udcff.csv'", "no text"),
    ],
)
def test_what_cannot_be_run_is_explained(query: str, message: str, folder: Path, capsys: Capture) -> None:
    assert folder.is_dir()
    assert message in refused(query, capsys)


def test_files_that_the_command_line_names_are_read(folder: Path, capsys: Capture) -> None:
    for query in (
        READ,
        'from "rows.csv"',
        "select * from read_csv('rows.csv', delim=',')",
        "select * from read_csv_auto(['rows.csv'])",
        "select * from 'r*.csv'",
        f"select * from '{folder}/rows.csv' where 'rows.csv' = 'rows' || '.csv'",
        f"with a as ({READ}), b as (select * from a) select * from b",
        "select r.* from 'rows.csv' r join (select max(x) as top from './rows.csv') on r.x <= top",
        f"({READ} where x > 0) union all ({READ} where x <= 0)",
    ):
        assert rows_of(query, capsys) == 200, query
    assert rows_of("select * from '../elsewhere.csv'", capsys) == 150
    assert rows_of(f"{READ} union all select * from '../elsewhere.csv'", capsys) == 350
    assert rows_of("select 1.0 * range as x, range % 7 as m, range % 3 as y from range(50)", capsys) == 50
    os.symlink("../elsewhere.csv", folder / "link.csv")
    assert rows_of("select * from 'link.csv'", capsys) == 150


@pytest.mark.parametrize("name", ["a, b", "o'neil", 'quo"ted', "br[ack]et", "größe"])
def test_folders_with_any_name(name: str, folder: Path, capsys: Capture) -> None:
    """And the file beside the analysis is meant, not its namesake in the current folder."""
    study = folder / name
    study.mkdir()
    (study / "rows.csv").write_bytes((folder.parent / "elsewhere.csv").read_bytes())
    for query in (READ, "select * from 'r*.csv'", "select 'ö' as o, * from read_csv(['rows.csv'])"):
        (study / "a.toml").write_text(f"graph = {json.dumps(GRAPH)}\n[data]\nsql = {json.dumps(query)}\n")
        assert main(["run", str(study / "a.toml"), "--json"]) == 0, capsys.readouterr().err
        assert json.loads(capsys.readouterr().out)["fit"]["n"] == 150


def ran(study: Path, data: str, *words: str) -> int:
    (study / "a.toml").write_text(f"graph = {json.dumps(GRAPH)}\n[data]\n{data}\n")
    return main(["run", str(study / "a.toml"), *words])


@pytest.mark.parametrize(
    "query",
    [
        "select * from '../elsewhere.csv'",
        "select * from '../else*.csv'",
        "select * from '*/../../elsewhere.csv'",
        "select * from 'link.csv'",
        "select * from 'lin*.csv'",
        "select * from read_text('/etc/hostname')",
        "select * from '~/rows.csv'",
    ],
)
def test_an_analysis_file_reads_inside_its_folder(query: str, folder: Path, capsys: Capture) -> None:
    os.symlink("../elsewhere.csv", folder / "link.csv")
    (folder / "inside").mkdir()
    assert ran(folder, f"sql = {json.dumps(query)}") == 2
    assert "--outside" in capsys.readouterr().err
    if "elsewhere" in query or "lin" in query:
        assert ran(folder, f"sql = {json.dumps(query)}", "--outside") == 0
        capsys.readouterr()


@pytest.mark.parametrize("address", ["http://127.0.0.1:9/x.csv", "S3://bucket/x.parquet", "hf://a/b.csv"])
def test_an_analysis_file_never_reads_from_the_network(address: str, folder: Path, capsys: Capture) -> None:
    for query in (f"select * from '{address}'", f"select * from read_csv(['rows.csv', '{address}'])"):
        for words in ((), ("--outside",)):
            assert ran(folder, f"sql = {json.dumps(query)}", *words) == 2
            assert "lies on the network" in capsys.readouterr().err


def test_nothing_is_fetched_that_was_not_named(folder: Path, capsys: Capture) -> None:
    """Another kind of file would have DuckDB install what reads it."""
    (folder / "rows.xlsx").write_bytes(b"PK")
    assert "cannot be run" in refused("select * from 'rows.xlsx'", capsys)
