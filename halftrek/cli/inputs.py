"""Graphs and data as the command line names them."""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from halftrek.errors import DataError, GraphSyntaxError, InputError

if TYPE_CHECKING:
    from halftrek.catalog import Entry
    from halftrek.graph import Graph

_STANDARD_INPUT = "-"


def read_graph(source: str) -> Graph:
    """The graph of a file, of standard input, of the catalog, or of the text itself; in this order."""
    from halftrek.workflow import graph

    if source == _STANDARD_INPUT:
        return graph(_decoded(sys.stdin.buffer.read(), "standard input"))
    if _is_file(source):
        return graph(_decoded(Path(source).read_bytes(), source))
    if not re.fullmatch(r"[\w./\\ -]+", source) or "--" in source:
        return graph(source)
    named = find_entry(source)
    if named is None:
        raise InputError(_neither_file_nor_name(source))
    return named.graph


def find_entry(source: str) -> Entry | None:
    """The catalog's entry of that name; a file or a text with arrows is none, whatever its letters."""
    from halftrek.catalog import catalog, resolve

    if _is_file(source) or not re.fullmatch(r"[\w -]+", source):
        return None
    name = resolve(source)
    return None if name is None else catalog(name)


@contextmanager
def data_source(source: str) -> Iterator[str]:
    """A path for the data; standard input is kept in a file, so that it may be larger than memory."""
    if source != _STANDARD_INPUT:
        if not Path(source).exists():
            raise DataError(f"there is no data file {source!r}; give a CSV or Parquet file, or '-' for standard input")
        yield source
        return
    with tempfile.TemporaryDirectory(prefix="halftrek-") as folder:
        first = sys.stdin.buffer.read(4)
        if not first:
            raise DataError("standard input is empty; it should hold a CSV or Parquet file")
        kept = Path(folder) / ("standard-input.parquet" if first == b"PAR1" else "standard-input.csv")
        with kept.open("wb") as out:
            out.write(first)
            shutil.copyfileobj(sys.stdin.buffer, out)
        yield str(kept)


def refuse_two_standard_inputs(graph: str, data: str) -> None:
    """Standard input can be one thing only."""
    if graph == data == _STANDARD_INPUT:
        raise InputError("graph and data cannot both come from standard input; give one of them as a file")


def _decoded(raw: bytes, place: str) -> str:
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise GraphSyntaxError(f"the graph in {place!r} is not text in UTF-8") from None


def _is_file(source: str) -> bool:
    try:
        return Path(source).is_file()
    except (OSError, ValueError):  # a long text is no possible name
        return False


def _neither_file_nor_name(source: str) -> str:
    from halftrek.catalog import names
    from halftrek.graph import did_you_mean

    hint = did_you_mean(source, names()).strip()
    return f"{source!r} is neither a file nor a graph of the catalog nor a graph as text like 'x -> y'. {hint}"
