"""What users call first: graphs, moments and verdicts from whatever they hand over."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from halftrek import identification
from halftrek.data import Moments, read_moments
from halftrek.graphs import Graph
from halftrek.identification import Verdict
from halftrek.queries import Query, check_query
from halftrek.results.inputs import read_graph, read_question


def graph(source: Any, syntax: Literal["auto", "arrows", "lavaan", "dagitty", "dot"] = "auto") -> Graph:
    """A graph from text in any syntax, from a file that holds such text, or from a networkx graph."""
    return read_graph(source, syntax)


def moments(data: Any, names: Sequence[str] | None = None, **options: Any) -> Moments:
    """The moments of data: arrays, frames of any library, files, DuckDB relations; see ``read_moments``."""
    return read_moments(data, names, **options)


def identify(source: Any, question: str | Query, **options: Any) -> Verdict:
    """Can the question be answered from the graph's observational distribution? From the graph alone."""
    chosen = read_graph(source)
    query = read_question(question)
    check_query(query, chosen)
    return identification.identify(chosen, query, **options)
