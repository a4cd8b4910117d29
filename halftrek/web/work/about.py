"""What the page can choose from: the catalog, bundled data, optional parts; and the columns of data."""

from __future__ import annotations

from importlib.util import find_spec

import halftrek
from halftrek.examples import catalog, dataset
from halftrek.reporting.records import Record
from halftrek.syntax import format_graph
from halftrek.web import limits
from halftrek.web.work.bench import Bench, Request
from halftrek.web.work.graphs import NOTATIONS

_PARTS = {"plot": ("matplotlib",), "report": ("jinja2", "matplotlib"), "parquet": ("duckdb", "pyarrow")}


def about(_asked: Request, _bench: Bench) -> Record:
    """Everything that is the same for all sessions."""
    return {
        "version": halftrek.__version__,
        "notations": list(NOTATIONS),
        "limits": {
            "upload_bytes": limits.UPLOAD_BYTES,
            "uploads": limits.UPLOADS,
            "json_bytes": limits.JSON_BYTES,
            "graph_letters": limits.GRAPH_LETTERS,
            "variables": limits.VARIABLES,
        },
        "extras": {name: all(map(find_spec, modules)) for name, modules in _PARTS.items()},
        "abilities": {"sensitivity": True, "bounds": True},
        "catalog": [_entry(name) for name in catalog()],
        "datasets": [_study(name) for name in dataset()],
    }


def _entry(name: str) -> Record:
    found = catalog(name)
    words = {"name": name, "title": found.title, "description": found.description}
    return {**words, "text": format_graph(found.graph), "questions": list(found.verdicts)}


def _study(name: str) -> Record:
    found = dataset(name)
    words = {"name": name, "title": found.title, "description": found.description, "question": found.question}
    return {**words, "n": found.n, "columns": list(found.columns), "text": format_graph(found.graph)}


def columns(asked: Request, bench: Bench) -> Record:
    """The columns of data that have just arrived."""
    return {"columns": bench.columns(asked.source)}
