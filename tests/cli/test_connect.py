"""``--connect``: one SELECT asked of a database by its address; it is only read, and no password is shown."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import sys
import threading
from pathlib import Path
from typing import Any

import duckdb
import pytest

import halftrek as ht
from halftrek.cli import main
from halftrek.data.sources.databases import hidden, shown
from tests.data.sources.engine_tables import folder, ibis_on_sqlite, postgres_address, the_table

pytestmark = pytest.mark.filterwarnings("ignore::Warning")  # those of engines

Capture = pytest.CaptureFixture[str]
GRAPH = 'age -> y; age -> smokes; smokes -> y; y -> "z z"; smokes <-> "z z"'
ALL = "select * from people"
BASES = ("PostgreSQL", "SQLite", "DuckDB")


def address_of(base: str) -> str:
    """Where the table of people is."""
    if base == "PostgreSQL":
        return postgres_address()
    if base == "SQLite":
        path = folder() / "people.db"
        if not path.exists():
            ibis_on_sqlite()
        return f"sqlite:///{path}"
    path = folder() / "people.duckdb"
    if not path.exists():
        arrow = the_table().to_arrow()  # noqa: F841  (DuckDB finds it by its name)
        with duckdb.connect(str(path)) as connection:
            connection.execute("create table people as select * from arrow")
    return f"duckdb://{path}"


def asked(capsys: Capture, base: str, *words: str, query: str = ALL) -> Any:
    code = main([words[0], GRAPH, "--sql", query, "--connect", address_of(base), "--json", *words[1:]])
    out, err = capsys.readouterr()
    assert code == 0, err
    return json.loads(out)


def refused(capsys: Capture, address: str, query: str = ALL, *words: str) -> str:
    assert main(["fit", GRAPH, "--sql", query, "--connect", address, *words]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "Traceback" not in err
    return err


@pytest.mark.parametrize("base", BASES)
def test_a_fit_by_an_address_is_the_fit_of_the_table(base: str, capsys: Capture) -> None:
    found = asked(capsys, base, "fit")
    wanted = ht.fit(GRAPH, the_table())
    assert found["n"] == wanted.n
    assert abs(found["loglik"] / wanted.loglik - 1.0) < 1e-10


@pytest.mark.parametrize("base", BASES)
def test_other_commands_take_it_too(base: str, capsys: Capture) -> None:
    query = "select age, y, smokes, \"z z\", times from people where site = 'north';"
    north = the_table().filter(site="north")
    answer = asked(capsys, base, "query", "--weights", "times", "age ~> y", query=query)
    wanted = ht.fit(GRAPH, north, weights="times").query("age ~> y")
    assert abs(answer["value"] - wanted.value) < 1e-8
    assert answer["interval"] == pytest.approx(wanted.interval, abs=1e-8)
    robust = asked(capsys, base, "effect", "--interval", "robust", "--missing", "drop", "age", "y", query=query)
    own = ht.fit(GRAPH, north, missing="drop").effect("age", "y", interval="robust")
    assert robust["interval"] == pytest.approx(own.interval, abs=1e-8)


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("delete from people", "one SELECT and nothing else; this is delete"),
        ("with a as (delete from people returning *) select * from a", "SQL for data only reads"),
        (f"{ALL}; {ALL}", "this is select and select"),
        ("drop table people", "one SELECT and nothing else; this is drop"),
        ("-- only a remark", "this is nothing"),
        ("select * from absent", "absent"),
        ("select count(", "cannot be r"),
    ],
)
def test_nothing_but_one_select_is_run(base: str, query: str, message: str, capsys: Capture) -> None:
    assert message in refused(capsys, address_of(base), query)
    assert asked(capsys, base, "fit")["n"] == ht.fit(GRAPH, the_table()).n


def test_columns_of_other_kinds_beside_those_that_are_used(capsys: Capture) -> None:
    """Tables have keys, documents and lists; they are texts, which may be labels of clusters and groups."""
    query = (
        "select *, md5(clinic::text)::uuid as \"a key\", '{}'::jsonb as notes, array[clinic] as list, "
        "interval '1 day' as stay, '1.2.3.4'::inet as place from people"
    )
    words = [
        "effect",
        GRAPH,
        "age ~> y",
        "--sql",
        query,
        "--connect",
        postgres_address(),
        "--missing",
        "drop",
        "--json",
    ]
    found = []
    for cluster in ("a key", "clinic", "list"):
        assert main([*words, "--cluster", cluster]) == 0
        found.append(json.loads(capsys.readouterr().out))
    for key in ("value", "se"):
        assert found[0][key] == pytest.approx(found[1][key], rel=1e-12)
        assert found[2][key] == pytest.approx(found[1][key], rel=1e-12)
    assert main(["fit", "age -> list", "--sql", query, "--connect", postgres_address()]) == 2
    assert "column 'list' holds values that are not numbers" in capsys.readouterr().err


def test_a_session_cannot_write_even_by_a_function(capsys: Capture) -> None:
    import psycopg

    with psycopg.connect(postgres_address()) as connection:
        connection.execute("create sequence if not exists visits")
    query = "select *, nextval('visits') as k from people"
    assert "read-only" in refused(capsys, postgres_address(), query, "--weights", "k")


def test_a_duckdb_file_is_the_only_file_that_is_read(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "rows.csv").write_text("age,y,smokes,z z\n1,2,3,4\n")
    said = refused(capsys, address_of("DuckDB"), f"select * from '{tmp_path / 'rows.csv'}'")
    assert "disabled by configuration" in said


@pytest.mark.parametrize("interval", [(), ("--interval", "robust", "--missing", "drop")], ids=["sums", "rows"])
def test_a_connection_that_is_lost_leaves_nothing_behind(
    interval: tuple[str, ...], tmp_path: Path, capsys: Capture
) -> None:
    """The session ends itself while its rows are read."""
    query = "select people.*, pg_terminate_backend(pg_backend_pid()) as gone from people"
    files = ("--save", str(tmp_path / "fit.json"), "--write-analysis", str(tmp_path / "analysis.toml"))
    said = refused(capsys, postgres_address(), query, *files, *interval, "--weights", "gone")
    assert "cannot be read: terminating connection" in said
    assert "check the query and the connection" in said
    assert list(tmp_path.iterdir()) == []


def test_a_server_that_is_stopped_leaves_nothing_behind(tmp_path: Path, capsys: Capture) -> None:
    """It is told to stop at once while it works on the query."""
    import psycopg
    from pgserver.postgres_server import get_server

    place, saved = tmp_path / "server", tmp_path / "fit.json"
    address = str(get_server(place, cleanup_mode=None).get_uri())
    with psycopg.connect(address) as connection:
        connection.execute("create table rows as select random() as a, random() as b from generate_series(1, 3000)")
    postmaster = int((place / "postmaster.pid").read_text().split()[0])
    slow = "select a, b + (pg_sleep(0.01)::text = 'x')::int as b from rows"  # half a minute
    timer = threading.Timer(2.0, os.kill, (postmaster, signal.SIGQUIT))
    timer.start()
    try:
        code = main(["fit", "a -> b", "--sql", slow, "--connect", address, "--save", str(saved)])
    finally:
        timer.join()
    out, err = capsys.readouterr()
    assert (code, out) == (2, "")
    assert "cannot be read: " in err
    assert "check the query and the connection, and run it again" in err
    assert not saved.exists()


SECRETS = (
    ("postgres://me:s3cr@t@127.0.0.1:1/base", "s3cr@t"),
    ("postgres://me:s3cr%40t@127.0.0.1:1/base", "s3cr%40t"),
    ("postgres://127.0.0.1:1/base?user=me&password=s3cret", "s3cret"),
    ("mysql://me:s3cret@127.0.0.1:1/base", "s3cret"),
    ("nosuch://me:s3cret@127.0.0.1:1/base", "s3cret"),
    ("host=127.0.0.1 port=1 password=s3cret", "s3cret"),
)


@pytest.mark.parametrize(("address", "secret"), SECRETS)
def test_passwords_are_never_printed(address: str, secret: str, capsys: Capture) -> None:
    said = refused(capsys, address)
    assert "***" in said
    assert secret not in said
    assert main(["fit", GRAPH, "--sql", ALL, "--connect", address, "--debug"]) == 2
    out, err = capsys.readouterr()
    assert secret not in out + err
    assert secret not in shown(address)


def test_a_secret_is_hidden_as_written_and_as_meant() -> None:
    assert hidden("a%40b and a@b", "postgres://me:a%40b@host/base") == "*** and ***"
    assert shown("postgres://me@host/base") == "postgres://me@host/base"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--connect", "postgres://host/base", "rows.csv"), "give the query too"),
        (("--sql", ALL, "--connect", "people.db"), "is no address of a database"),
        (("--sql", ALL, "--connect", "sqlite:///absent.db"), "there is no file 'absent.db'"),
    ],
)
def test_odd_words(words: tuple[str, ...], message: str, capsys: Capture) -> None:
    assert main(["fit", GRAPH, *words]) == 2
    assert message in capsys.readouterr().err


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    assert "pip install 'ibis-framework[oracle]'" in refused(capsys, "oracle://me@host/base")
    monkeypatch.setitem(sys.modules, "ibis", None)
    assert "pip install 'halftrek[databases]'" in refused(capsys, address_of("SQLite"))


@pytest.mark.parametrize("base", BASES)
def test_columns_of_one_name(base: str, capsys: Capture) -> None:
    """A join has them easily, and nobody knows which is meant."""
    query = "select * from people join (select clinic, y + 1 as y from people) as others using (clinic)"
    assert "columns named 'y'" in refused(capsys, address_of(base), query)


def test_a_column_that_sqlite_might_have_named(tmp_path: Path, capsys: Capture) -> None:
    """SQLite calls a second x of a join x:1; a column of this name may also be the user's."""
    with sqlite3.connect(tmp_path / "odd.db") as connection:
        connection.execute('create table visits (x real, "x:1" real)')
        connection.executemany("insert into visits values (?, ?)", [(1.0, 2.0), (2.0, 1.0), (4.0, 3.0), (3.0, 5.0)])
    connection.close()
    address = f"sqlite:///{tmp_path / 'odd.db'}"
    assert main(["fit", 'x -> "x:1"', "--sql", "select * from visits;", "--connect", address]) == 0
    assert "rows" in capsys.readouterr().out
    assert main(["fit", 'x -> "x:1"', "--sql", 'select x, "x:1" as X from visits', "--connect", address]) == 2
    assert "several columns named 'X'" in capsys.readouterr().err
    assert main(["fit", 'x -> "x:1"', "--sql", "selec x", "--connect", address]) == 2
    assert "nothing else; this is 'selec'" in capsys.readouterr().err


def test_an_analysis_file_holds_the_query_and_not_the_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    address = address_of("SQLite")
    asked(capsys, "SQLite", "query", "--write-analysis", "analysis.toml", "age ~> y")
    text = Path("analysis.toml").read_text()
    assert ALL in text
    assert "sqlite" not in text
    assert main(["run", "analysis.toml", "--connect", address]) == 0
    assert "age ~> y" in capsys.readouterr().out
    assert main(["report", "analysis.toml", "--connect", address, "--out", "page.html"]) == 0
    assert "sqlite" not in Path("page.html").read_text()
    Path("analysis.toml").write_text(text.replace("[data]", f'[data]\nconnect = "{address}"'))
    assert main(["run", "analysis.toml"]) == 2
    assert "an analysis file names no database" in capsys.readouterr().err


def test_texts_in_a_column_of_numbers_are_no_zeros(tmp_path: Path, capsys: Capture) -> None:
    """SQLite keeps texts in columns of numbers, and makes zeros of them where it adds up."""
    with sqlite3.connect(tmp_path / "odd.db") as connection:
        connection.execute("create table visits (x real, y real)")
        connection.executemany("insert into visits values (?, ?)", [(1.0, 2.0), (2.0, "NA"), (4.0, 3.0), (3.0, 5.0)])
    connection.close()
    address = f"sqlite:///{tmp_path / 'odd.db'}"
    assert main(["fit", "x -> y", "--sql", "select * from visits", "--connect", address]) == 2
    assert "column 'y' holds texts" in capsys.readouterr().err
