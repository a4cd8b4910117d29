"""Rows of one SELECT from a database that an address names: PostgreSQL, SQLite, DuckDB, Spark, and what Ibis knows.

The database is only read: its session is read-only where it has such a thing, and the text must be one SELECT without
a statement that writes inside it. A password in the address is never shown, in no message and in no traceback.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from halftrek.data.sources.guard import first_line, is_interruption
from halftrek.data.sources.spark.session import is_spark_address, spark_table
from halftrek.data.sources.sql import parsed_select, refuse_writing
from halftrek.errors import DataError, HalftrekError, MissingExtraError

if TYPE_CHECKING:
    import sqlite3

    import duckdb
    import ibis
    import psycopg
    from ibis.backends import BaseBackend

EXAMPLES = "postgres://user@host/base, sqlite:///rows.db, duckdb://rows.duckdb or sc://host for Spark"
SECONDS = 10  # that a server may take to answer at first

_SECRET = re.compile(r"pass|pwd|secret|token|key", re.IGNORECASE)
_POSTGRES = {
    "bool": "boolean", "int2": "int16", "int4": "int32", "int8": "int64", "float4": "float32", "float8": "float64",
    "numeric": "decimal", "text": "string", "varchar": "string", "bpchar": "string", "name": "string", "date": "date",
    "timestamp": "timestamp", "timestamptz": "timestamp('UTC')",
}  # fmt: skip


@contextmanager
def table_at(address: str, query: str) -> Iterator[object]:
    """The rows of a query in the database at an address, as a table that stays there until it is asked for sums."""
    spark = is_spark_address(address)
    kind = urlsplit(address).scheme.lower() if "://" in address else ""
    if not (kind or spark):
        raise DataError(f"{shown(address)!r} is no address of a database; write it as {EXAMPLES}")
    opened = {"duckdb": _duckdb, "sqlite": _sqlite, "postgres": _postgres, "postgresql": _postgres}.get(kind, _other)
    try:
        with (_spark if spark else opened)(address, query) as table:
            yield table
    except MissingExtraError:
        raise
    except DataError as error:
        cause = error.__cause__
        if not (cause is None or isinstance(cause, HalftrekError) or spark):  # an engine's words, said better here
            raise _about(cause, address) from None
        raise DataError(hidden(str(error), address)) from None
    except HalftrekError:
        raise
    except Exception as error:
        if is_interruption(error):
            raise KeyboardInterrupt from None
        raise _about(error, address) from None


def shown(address: str) -> str:
    """The address without its password and whatever else is secret in it."""
    return hidden(address, address)


def hidden(text: str, address: str) -> str:
    """The text without the secrets of an address."""
    for secret in sorted(_secrets(address), key=len, reverse=True):
        text = text.replace(secret, "***")
    return text


def _secrets(address: str) -> set[str]:
    """Password and secret settings, as written and as they are meant; libpq takes ``password=…`` in a list too."""
    found = set(re.findall(r"://[^/?#]*?:([^/?#]*)@", address))  # a password may hold an @ of its own
    value = r"[^;]*" if address.startswith("sc://") else r"'[^']*'|[^&#\s]*"  # Spark Connect has semicolons between
    pairs = re.findall(rf"([\w.]+)\s*=\s*({value})", address)
    found |= {text.strip("'") for name, text in pairs if _SECRET.search(name)}
    return {secret for written in found for secret in (written, unquote(written)) if secret}


def _about(error: BaseException, address: str) -> DataError:
    """What an engine says, without secrets; the engine's own error is not kept, for it may hold them."""
    words = hidden(first_line(error), address)
    return DataError(
        f"{shown(address)!r} cannot be read: {words}; check the query and the connection, and run it again"
    )


# -- engines -------------------------------------------------------------------------------------


@contextmanager
def _duckdb(address: str, query: str) -> Iterator[duckdb.DuckDBPyRelation]:
    """A file of DuckDB, read-only; the query sees the tables in it and no other file."""
    duckdb = _module("duckdb", "sql")
    with closing(duckdb.connect(_file_of(address), read_only=True)) as connection:
        refuse_writing(parsed_select(connection, query))
        for setting in ("python_enable_replacements = false", "enable_external_access = false"):
            connection.execute(f"SET {setting}")
        connection.execute("SET lock_configuration = true")
        yield connection.sql(query)


@contextmanager
def _sqlite(address: str, query: str) -> Iterator[ibis.Table]:
    import sqlite3
    from pathlib import Path

    ibis = _module("ibis", "databases")
    _refuse_other(query, "sqlite")
    place = Path(_file_of(address)).absolute().as_uri()
    with closing(sqlite3.connect(f"{place}?mode=ro", uri=True)) as connection:
        _refuse_twins(_sqlite_names(connection, query), str.lower)
        yield ibis.sqlite.from_connection(connection).sql(query)


def _sqlite_names(connection: sqlite3.Connection, query: str) -> list[str]:
    """The names of a query's columns; SQLite itself calls a second x ``x:1``, and Ibis would never see it."""

    def names(text: str) -> list[str]:
        return [column[0] for column in connection.execute(text).description]

    inside = names(f"SELECT * FROM {_inside(query)} LIMIT 0")
    return names(query) if any(re.search(r":\d+$", name) for name in inside) else inside


@contextmanager
def _postgres(address: str, query: str) -> Iterator[ibis.Table]:
    """libpq reads the address itself, so that ``PGPASSWORD`` and ``~/.pgpass`` work as everywhere."""
    ibis, psycopg = _module("ibis", "databases"), _module("psycopg", "databases")
    _refuse_other(query, "postgres")
    settings = "-c default_transaction_read_only=on"
    with psycopg.connect(address, autocommit=True, connect_timeout=SECONDS, options=settings) as connection:
        plain, schema = _postgres_columns(connection, query)
        yield ibis.postgres.from_connection(connection).sql(plain, schema=schema)


def _postgres_columns(connection: psycopg.Connection[tuple[object, ...]], query: str) -> tuple[str, dict[str, str]]:
    """The query and its columns; Ibis would make a view for it, which a session that only reads cannot.

    Columns of kinds that are neither numbers, texts nor dates (uuid, json, arrays) become texts, which may be labels.
    """
    inside = _inside(query)
    described = connection.execute(f"SELECT * FROM {inside} LIMIT 0".encode()).description or ()
    _refuse_twins([column.name for column in described])
    found: dict[str, str] = {}
    taken = []
    for column in described:
        kind, quoted = connection.adapters.types.get(column.type_code), '"' + column.name.replace('"', '""') + '"'
        known = kind is not None and kind.oid == column.type_code  # else it is the kind of an array's entries
        plain = _POSTGRES.get(kind.name) if kind is not None and known else None
        found[column.name] = plain or "string"
        taken.append(quoted if plain else f"CAST({quoted} AS text) AS {quoted}")
    odd = any(" AS text) AS " in one for one in taken)
    return (f"SELECT {', '.join(taken)} FROM {inside}" if odd else query), found


def _inside(query: str) -> str:
    """The query as a table of another one."""
    return f"({query.rstrip().rstrip(';')}\n) AS asked"


def _refuse_twins(names: Sequence[str], meant: Callable[[str], str] = str) -> None:
    """Raise for columns of one name, as the database understands names: which of them is meant nobody knows."""
    known = [meant(name) for name in names]
    if twice := sorted(name for name in names if known.count(meant(name)) > 1):
        raise DataError(f"the query has several columns named {twice[0]!r}; give each its own name with AS")


@contextmanager
def _spark(address: str, query: str) -> Iterator[object]:
    """Spark runs what it is given, so that a query is looked at first."""
    _refuse_other(query, "spark")
    with spark_table(address, query) as frame:
        yield frame


@contextmanager
def _other(address: str, query: str) -> Iterator[ibis.Table]:
    """Any other engine that Ibis knows by the first word of the address."""
    ibis = _module("ibis", "databases")
    connect: Callable[[str], BaseBackend] = ibis.connect
    try:
        backend = connect(address)
    except ImportError as error:
        extra = urlsplit(address).scheme.lower()
        raise DataError(
            f"{shown(address)!r} needs a package that is not installed: {first_line(error)}; "
            f"pip install 'ibis-framework[{extra}]'"
        ) from None
    try:
        _refuse_other(query, str(backend.dialect.__name__).lower())
        yield backend.sql(query)
    finally:
        backend.disconnect()


def _refuse_other(query: str, dialect: str) -> None:
    """Raise for a text that is not one SELECT, or that writes somewhere inside it."""
    sqlglot = _module("sqlglot", "databases")
    parts = sqlglot.expressions

    try:
        statements = [one for one in sqlglot.parse(query, read=dialect) if one is not None]
    except sqlglot.errors.SqlglotError as error:
        raise DataError(f"the SQL query cannot be run: {first_line(error)}") from None
    no_statement = (parts.Alias, parts.Condition)
    if len(statements) != 1 or not isinstance(statements[0], parts.Query):
        word = repr(query.split(maxsplit=1)[0]) if statements else ""  # of a text that is no statement, as selec x
        kinds = [word if isinstance(one, no_statement) else type(one).__name__.lower() for one in statements]
        said = " and ".join(kinds) or "nothing"
        raise DataError(f"SQL for data is one SELECT and nothing else; this is {said}. Keep the SELECT alone")
    writing = (parts.DML, parts.DDL, parts.Command, parts.Into, parts.Lock)
    for part in statements[0].find_all(*writing):
        if not isinstance(part, parts.Query):
            what = type(part).__name__.lower()
            raise DataError(f"SQL for data only reads, and this query would {what}; keep the SELECT alone")


def _file_of(address: str) -> str:
    """The file of ``sqlite:///rows.db`` (from here, else from the root), ``sqlite:////data/rows.db``, ``duckdb://rows``."""
    parts = urlsplit(address)
    path = unquote(parts.netloc + parts.path)
    here = path if parts.netloc else path.removeprefix("/")
    for place in (here, path):
        if place and os.path.isfile(place):
            return place
    raise DataError(f"there is no file {here!r} for {shown(address)!r}; a path from the root has four slashes")


def _module(name: str, extra: str) -> ModuleType:
    try:
        return import_module(name)
    except ImportError:
        raise MissingExtraError("reading a database by its address", extra) from None
