"""Rows of one SELECT, which reads the files that it names and nothing else.

A query may come from somebody else, in an analysis file. DuckDB runs what it is told, so it is told little: the text is
parsed first and must be one SELECT without a statement that writes inside it (a WITH may hold COPY); files stand in it
by name, and only these may be opened; nothing can be attached, installed or loaded, and no setting changed.
"""

from __future__ import annotations

import glob
import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from halftrek.errors import DataError, MissingExtraError

if TYPE_CHECKING:
    import duckdb

Json = dict[str, "Json"] | list["Json"] | str | float | bool | None
Part = dict[str, Json]  # of a parsed query

_NODES = ("SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE")
_READERS = (
    "read_csv", "read_csv_auto", "read_parquet", "parquet_scan", "read_json", "read_json_auto", "read_json_objects",
    "read_json_objects_auto", "read_ndjson", "read_ndjson_auto", "read_ndjson_objects", "read_text", "read_blob",
)  # fmt: skip
_ROWS = ("unnest", "range", "generate_series", "repeat", "repeat_row", "json_each", "json_tree")
_REMOTE = re.compile(r"([a-z][a-z0-9+.-]+)://", re.IGNORECASE)
_QUOTED = re.compile(rb"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"")
_LOOKS_LIKE_FILE = re.compile(r"[./\\]")


@dataclass(frozen=True)
class Reach:
    """Where the files of a query are looked for, and which of them may be read.

    ``within`` is the folder that all files must lie in, if any; ``remote`` allows addresses such as ``https://…``.
    """

    folder: Path = Path()
    within: Path | None = None
    remote: bool = True


@dataclass
class _Found:
    """What a query names: places in its text that are to be replaced, paths to allow, kinds of address."""

    places: dict[int, str] = field(default_factory=dict)
    allowed: list[str] = field(default_factory=list)
    schemes: set[str] = field(default_factory=set)


def relation_of(query: str, reach: Reach, *, spill: str | os.PathLike[str] | None = None) -> duckdb.DuckDBPyRelation:
    """The relation of a query; DuckDB puts what does not fit into memory into the folder ``spill``."""
    try:
        import duckdb
    except ImportError:
        raise MissingExtraError("reading data by SQL", "sql") from None
    if "\0" in query or any("\ud800" <= letter <= "\udfff" for letter in query):
        raise DataError("the SQL query holds bytes that are no text; write it in UTF-8")
    try:
        connection = duckdb.connect()
        found = _named_files(parsed_select(connection, query), query, reach)
        _confine(connection, found, spill)
        relation = connection.sql(_with_places(query, found.places))
    except duckdb.Error as error:
        raise DataError(f"the SQL query cannot be run: {_words(error)}") from None
    if relation is None:
        raise DataError("the SQL query gives no rows; it should begin with select")
    return relation


def parsed_select(connection: duckdb.DuckDBPyConnection, query: str) -> Json:
    """The query as a tree, if it is one SELECT."""
    kinds = [statement.type.name for statement in connection.extract_statements(query)]
    if kinds != ["SELECT"]:
        said = " and ".join(kinds).lower() or "nothing"
        raise DataError(f"SQL for data is one SELECT and nothing else; this is {said}. Keep the SELECT alone")
    try:
        answer = connection.execute("SELECT json_serialize_sql(CAST(? AS VARCHAR))", [query]).fetchall()[0][0]
        tree: Part = json.loads(answer)
    except RecursionError:
        raise DataError("the SQL query is nested too deeply; write it in steps, WITH a AS (...) SELECT ...") from None
    if tree.get("error"):
        raise DataError(f"the SQL query cannot be run: {tree.get('error_message', 'it is no SELECT')}")
    return tree["statements"]


def _pieces(tree: Json) -> Iterator[Part]:
    """Every part of a tree."""
    waiting: list[Json] = [tree]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            yield part
            waiting.extend(part.values())
        elif isinstance(part, list):
            waiting.extend(part)


def _named_files(tree: Json, query: str, reach: Reach) -> _Found:
    found, raw = _Found(), query.encode()
    steps = {entry.get("key") for part in _pieces(tree) for entry in _parts(_part(part.get("cte_map")).get("map"))}
    refuse_writing(tree)
    for part in _pieces(tree):
        kind = str(part.get("type"))
        if kind == "BASE_TABLE" and not part.get("schema_name") and not part.get("catalog_name"):
            name = str(part.get("table_name"))
            if name not in steps and _LOOKS_LIKE_FILE.search(name) and _written_at(raw, part) is not None:
                _add(found, part, name, reach)
        if kind == "TABLE_FUNCTION":
            _add_function(found, _part(part.get("function")), raw, reach)
    return found


def refuse_writing(tree: Json) -> None:
    """Raise for a query with a statement in it that writes."""
    for part in _pieces(tree):
        kind = str(part.get("type"))
        if kind.endswith("_NODE") and kind not in _NODES:
            what = kind.removesuffix("_NODE").removesuffix("_QUERY").lower()
            raise DataError(f"SQL for data only reads, and this query would {what}; keep the SELECT alone")


def _add_function(found: _Found, function: Part, raw: bytes, reach: Reach) -> None:
    name = str(function.get("function_name")).lower()
    if name in _ROWS:
        return
    if name not in _READERS:
        raise DataError(f"SQL for data cannot use {name}(); it may read files, by name or with read_csv and its like")
    arguments = _arguments(function)
    for constant in _constants(arguments[0]) if arguments else ():
        text = _text_of(constant)
        if text is None or _written_at(raw, constant) is None:
            raise DataError(f"{name}() in SQL for data takes names of files written out: {name}('rows.csv')")
        _add(found, constant, text, reach)


def _constants(expression: Part) -> list[Part]:
    """A constant, or those in a list of them; what is neither is given back, to be refused."""
    if expression.get("function_name") == "list_value" or expression.get("type") == "ARRAY_CONSTRUCTOR":
        return _arguments(expression)
    return [expression]


def _arguments(call: Part) -> list[Part]:
    inside = _parts(call.get("arguments", call.get("children")))
    return [_part(one["expression"]) if "expression" in one else one for one in inside]


def _part(tree: Json) -> Part:
    """A part that is one; empty where there is none."""
    return tree if isinstance(tree, dict) else {}


def _parts(tree: Json) -> list[Part]:
    return [_part(one) for one in tree] if isinstance(tree, list) else []


def _text_of(constant: Part) -> str | None:
    if constant.get("class") != "CONSTANT":
        return None
    if constant.get("literal") is not None:  # DuckDB 2
        literal = _part(constant["literal"])
        return str(literal["text"]) if literal.get("kind") == "STRING" else None
    value = _part(constant.get("value")).get("value")  # DuckDB 1
    return value if isinstance(value, str) else None


def _written_at(raw: bytes, part: Part) -> re.Match[bytes] | None:
    """The quoted name in the text; places are counted in bytes."""
    return _QUOTED.match(raw, _location(part, len(raw)) % (len(raw) + 1))


def _location(part: Part, otherwise: int = 0) -> int:
    place = part.get("query_location", otherwise)
    return int(place) if isinstance(place, int | float) else otherwise


def _add(found: _Found, part: Part, name: str, reach: Reach) -> None:
    """A file of the query: where it is, and that it may be read."""
    address = _REMOTE.match(name)
    if address is not None:
        if not reach.remote:
            raise DataError(f"{name!r} lies on the network, from where an analysis file cannot read; save it as a file")
        found.schemes.add(address[1].lower())
        found.allowed.append(name)
        return
    path, matches = _on_disk(reach.folder, name)
    if reach.within is not None and not lies_within(reach.within, reach.folder, name):
        raise DataError(
            f"the SQL query reads {name!r}, which lies outside the folder of the analysis file; "
            f"--outside on the command line allows it"
        )
    if not matches:
        raise DataError(f"the SQL query cannot be run: there is no file {name!r}; check the path")
    if os.path.isdir(path):
        raise DataError(f"the SQL query reads the folder {name!r}; name a file in it, or files by a pattern")
    found.places[_location(part)] = path
    found.allowed += [path, *matches, *map(os.path.realpath, matches)]


def _on_disk(folder: Path, name: str) -> tuple[str, list[str]]:
    """The whole path of a file or a pattern, and the files that it stands for."""
    name = os.path.expanduser(name)
    path = os.path.abspath(os.path.join(folder, name))
    if os.path.exists(path) or not glob.has_magic(name):
        return path, [path] if os.path.exists(path) else []
    head = "" if os.path.isabs(name) else re.sub(r"([*?\[])", r"[\1]", os.path.abspath(folder) + os.sep)
    return head + name, glob.glob(head + name, recursive=True, include_hidden=True)


def lies_within(place: Path, folder: Path, name: str) -> bool:
    """True if a file or all files of a pattern, named from ``folder``, lie in ``place``, links followed."""
    path, matches = _on_disk(folder, name)
    real = os.path.realpath(place)
    if path not in matches:
        matches = [*matches, os.path.join(folder, os.path.expanduser(re.split(r"[*?\[]", name, maxsplit=1)[0]))]
    return all(Path(os.path.realpath(match)).is_relative_to(real) for match in matches)


def _with_places(query: str, places: dict[int, str]) -> str:
    """The query with whole paths: a name means the file beside the analysis, whatever the current folder holds."""
    raw = query.encode()
    for place in sorted(places, reverse=True):
        written = _QUOTED.match(raw, place)
        assert written is not None
        quote = written[0][:1].decode()
        whole = quote + places[place].replace(quote, quote * 2) + quote
        raw = raw[: written.start()] + whole.encode() + raw[written.end() :]
    return raw.decode()


def _confine(connection: duckdb.DuckDBPyConnection, found: _Found, spill: str | os.PathLike[str] | None) -> None:
    """Nothing but the named files, and no way back."""
    for extension in sorted({"azure" if s.startswith(("az", "abfs")) else "httpfs" for s in found.schemes}):
        connection.execute(f"INSTALL {extension}")
        connection.execute(f"LOAD {extension}")
    settings = {
        "python_enable_replacements": "false",  # names are tables and files, not our variables
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "allowed_paths": "[" + ", ".join(map(_text, dict.fromkeys(found.allowed))) + "]",
        **({} if spill is None else {"temp_directory": _text(os.fspath(spill))}),
        "enable_external_access": "false",
        "lock_configuration": "true",
    }
    for name, value in settings.items():
        connection.execute(f"SET {name} = {value}")


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _words(error: Exception) -> str:
    text = str(error).strip()
    if "disabled by configuration" in text:
        return f"{text.splitlines()[0]}. A query for data reads the files that it names, and nothing else"
    return text
