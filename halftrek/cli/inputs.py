"""Graphs and data as the command line names them."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halftrek.errors import DataError, GraphSyntaxError, InputError

if TYPE_CHECKING:
    import duckdb

    from halftrek.cli.analysis import Analysis, Lavaan
    from halftrek.data.sources.sql import Reach
    from halftrek.examples import DataSet, Entry
    from halftrek.graphs import Graph

STANDARD_INPUT = "-"
_HERE = Path()
_ASSIGNED = re.compile(r"""\s*(?:"([^"]+)"|([^"=,]+?))\s*([-+*/]?=)\s*([^,]+?)\s*(?:,|$)""")


def read_graph(source: str, folder: Path = _HERE, lavaan: Lavaan | None = None) -> Graph:
    """The graph of a file, of standard input, of the catalog or a data set, or of the text itself; in this order.

    A file holds text, or what ``save`` wrote of a graph, a model, a fit or a verdict. With a function of ``lavaan`` it
    is text in lavaan's syntax, read as that function does.
    """
    if lavaan is not None and lavaan.function is not None:
        return _read_as(lavaan, read_text(source, folder))
    if source == STANDARD_INPUT:
        text = _decoded(sys.stdin.buffer.read(), "standard input")
        if not text.strip():
            raise InputError("standard input is empty; it should hold a graph, for instance x -> y")
        return _parsed(text)
    if _is_file(folder / source):
        text = _decoded((folder / source).read_bytes(), source)
        return _saved_graph(folder / source) if re.match(r'\s*\{\s*"', text) else _parsed(text)
    if not re.fullmatch(r"[\w./\\ -]+", source) or "--" in source:
        return _parsed(source)
    named = find_entry(source)
    if named is not None:
        return named.graph
    study = _bundled(source)
    if study is None:
        raise InputError(_neither_file_nor_name(source))
    return study.graph


def read_text(source: str, folder: Path = _HERE) -> str:
    """The text of a file or of standard input, or the text itself."""
    if source == STANDARD_INPUT:
        return _decoded(sys.stdin.buffer.read(), "standard input")
    return _decoded((folder / source).read_bytes(), source) if _is_file(folder / source) else source


def _read_as(lavaan: Lavaan, text: str) -> Graph:
    """The graph of a text as a function of lavaan reads it."""
    from halftrek.results.given.lavaan import conventions_of
    from halftrek.syntax import detect_syntax, parse_lavaan

    assert lavaan.function is not None
    if detect_syntax(text) != "lavaan":
        raise InputError(
            f"--lavaan {lavaan.function} reads a text in lavaan's syntax, y ~ x, and this is none: {text!r}"
        )
    how = conventions_of(lavaan.function, std_lv=lavaan.std_lv, orthogonal=lavaan.orthogonal)
    return _told(parse_lavaan(text, how))


def _parsed(text: str) -> Graph:
    """The graph of a text; what the text says and the graph does not hold is told on standard error."""
    from halftrek.syntax import parse_graph

    return _told(parse_graph(text))


def _told(graph: Graph) -> Graph:
    from halftrek.cli.process import say

    for note in graph.notes:
        say(f"note: {note.words('command line')}")
    return graph


def _saved_graph(path: Path) -> Graph:
    """The graph in a file of JSON."""
    from halftrek.graphs import Graph
    from halftrek.storage import load

    found = load(path)
    graph = found if isinstance(found, Graph) else getattr(found, "graph", None)
    if not isinstance(graph, Graph):
        raise InputError(f"the {type(found).__name__} in {str(path)!r} has no graph; give a saved graph, model or fit")
    return graph


def find_entry(source: str) -> Entry | None:
    """The catalog's entry of that name; a file or a text with arrows is none, whatever its letters."""
    from halftrek.examples import catalog, resolve

    if _is_file(source) or not re.fullmatch(r"[\w -]+", source):
        return None
    name = resolve(source)
    return None if name is None else catalog(name)


@contextmanager
def opened_data(analysis: Analysis) -> Iterator[dict[str, Any]]:
    """Keywords of ``ht.fit`` for the data; what comes by standard input is there until the block ends."""
    data, folder = analysis.data, analysis.folder
    if data.cov is not None:
        from halftrek.cli.covariance import read_covariance

        names, matrix = read_covariance(str(folder / data.cov))
        yield {"cov": matrix, "names": names, "n": data.n, "mean": data.means, "divisor": data.divisor}
        return
    options = {
        "missing": data.missing, "weights": data.weights, "sampling_weights": data.sampling_weights,
        "categories": data.categories, "cluster": data.cluster,
        **({} if data.kinds is None else {"kinds": _kinds(data.kinds)}),
    }  # fmt: skip
    if data.sql is not None and data.connect is not None:
        from halftrek.data.sources.databases import table_at

        with table_at(data.connect, data.sql) as table:
            yield {"data": table, **options}
        return
    if data.sql is not None:
        with _opened_query(data.sql, analysis.reach()) as relation:
            yield {"data": relation, **options}
        return
    assert data.file is not None
    with opened_rows(data.file, folder) as rows:
        yield {"data": rows, **options}


@contextmanager
def _opened_query(query: str, reach: Reach) -> Iterator[duckdb.DuckDBPyRelation]:
    """The rows of a query; what DuckDB has to put aside meanwhile is gone when the block ends."""
    from halftrek.bottom.files import temporary_folder
    from halftrek.data.sources.guard import first_line
    from halftrek.data.sources.sql import relation_of

    with temporary_folder() as spill:
        relation = relation_of(query, reach, spill=spill)
        try:
            yield relation
        except DataError as error:
            cause = error.__cause__
            if cause is None or type(cause).__module__ not in ("duckdb", "_duckdb"):
                raise
            raise DataError(f"the SQL query cannot be run: {first_line(cause)}") from cause


@contextmanager
def opened_rows(source: str, folder: Path = _HERE) -> Iterator[object]:
    """A path for rows, or columns; standard input is kept in a file, so that it may be larger than memory."""
    if source != STANDARD_INPUT:
        path = str(folder / source)
        from halftrek.data.sources.streams import held, is_stream

        if is_stream(path):  # a pipe is read once, and analyses may need their rows again
            with held(path) as file:
                yield file
            return
        if Path(path).exists() or re.search(r"[*?\[]", path):
            yield path
            return
        study = _bundled(source)
        if study is None:
            raise DataError(
                f"there is no data file {source!r}; give a CSV, Parquet or Arrow file, or '-' for standard input"
            )
        yield study.columns if study.path is None else str(study.path)
        return
    import shutil

    from halftrek.bottom.files import temporary_folder

    with temporary_folder() as temporary:
        first = sys.stdin.buffer.read(8)
        if not first:
            raise DataError("standard input is empty; it should hold a CSV, Parquet or Arrow file")
        kept = temporary / f"standard-input.{_kind(first)}"
        with kept.open("wb") as out:
            out.write(first)
            shutil.copyfileobj(sys.stdin.buffer, out)
        yield str(kept)


def _kinds(given: Mapping[str, str] | None) -> dict[str, object] | None:
    """Kinds of columns; ``low<mid<high`` are levels, the lowest first, and ``behind:low<mid<high`` is both."""
    if given is None:
        return None
    found: dict[str, object] = {}
    for v, text in given.items():
        kind, _, order = text.rpartition(":") if "<" in text else (text, "", "")
        levels = [x.strip() for x in order.split("<")]
        found[v] = kind if not order else {kind.strip() or "ordered": levels}
    return found


def _kind(first: bytes) -> str:
    if first.startswith(b"PAR1"):
        return "parquet"
    return "arrow" if first.startswith((b"ARROW1", b"\xff\xff\xff\xff")) else "csv"


def assignments(text: str, option: str) -> list[tuple[str, str, str]]:
    """``x=1, y+=2`` as names, operators and values."""
    found, place = [], 0
    while place < len(text):
        match = _ASSIGNED.match(text, place)
        if match is None:
            example = {"--categories": "region=north", "--kind": "y=ordered"}.get(option, "x=1")
            raise InputError(f"{option} takes a name and a value, for instance {option} {example}, not {text!r}")
        found.append((match[1] or match[2].strip(), match[3], match[4]))
        place = match.end()
    for name, sign, value in found if option in ("--means", "--unit") else ():
        if sign != "=" or not (is_number(value) or option == "--unit"):  # a unit may be in a category by its text
            raise needs_number(option, name, f"{sign}{value}")
    return found


def needs_number(option: str, name: str, given: str) -> InputError:
    """The error for a value that is none."""
    return InputError(f"{option}: {name} needs a number, for instance {name}=1, not {name}{given}")


def is_number(text: str) -> bool:
    try:
        return float(text) == float(text)
    except ValueError:
        return False


def refuse_two_standard_inputs(*sources: str | None) -> None:
    """Standard input can be one thing only."""
    if sources.count(STANDARD_INPUT) > 1:
        raise InputError("graph and data cannot both come from standard input; give one of them as a file")


def _bundled(source: str) -> DataSet | None:
    from halftrek.examples import dataset

    return dataset(source) if source in dataset() else None


def _decoded(raw: bytes, place: str) -> str:
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise GraphSyntaxError(f"the graph in {place!r} is not text in UTF-8") from None


def _is_file(source: str | Path) -> bool:
    try:
        return Path(source).is_file()
    except (OSError, ValueError):  # a long text is no possible name
        return False


def _neither_file_nor_name(source: str) -> str:
    from halftrek.examples import dataset, names
    from halftrek.graphs import did_you_mean

    hint = did_you_mean(source, [*names(), *dataset()]).strip()
    return f"{source!r} is neither a file nor a graph of the catalog nor a graph as text like 'x -> y'. {hint}"
