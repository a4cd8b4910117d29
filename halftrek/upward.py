"""What a value offers that a higher room does: the one way up, taken when somebody asks and not before."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from halftrek.graphs import Graph
    from halftrek.identification import Verdict
    from halftrek.inference.tables.decomposition import Decomposition
    from halftrek.inference.tables.mediation import Mediation
    from halftrek.models import CGLSCM
    from halftrek.queries import Query
    from halftrek.results.answers import Answer
    from halftrek.results.fit import Fit


def save(value: object, path: str | os.PathLike[str], *, rows: bool = False, overwrite: bool = False) -> Path:
    """The value in a file, see ``halftrek.storage``."""
    from halftrek import storage

    return storage.save(value, path, rows=rows, overwrite=overwrite)


def answer(model: CGLSCM, question: str | Query) -> Answer:
    """What a model with known parameters answers."""
    from halftrek.results.answering import answer_from_model

    return answer_from_model(model, question)


def counterfactual(model: CGLSCM, rows: Any, do: Mapping[str, Any], outcome: str | Sequence[str]) -> Any:
    """What would have been, in a model with known parameters."""
    from halftrek.results.listings import counterfactual_of

    return counterfactual_of(model, rows, do, outcome)


def graph_html(graph: Graph) -> str:
    """A graph in a notebook."""
    from halftrek.reporting import html

    return html.graph_html(graph)


def verdict_html(verdict: Verdict) -> str:
    """A verdict in a notebook."""
    from halftrek.reporting import html

    return html.verdict_html(verdict)


def answer_html(given: Answer) -> str:
    """An answer in a notebook."""
    from halftrek.reporting import html

    return html.answer_html(given)


def fit_html(fit: Fit) -> str:
    """A fit in a notebook."""
    from halftrek.reporting import html

    return html.fit_html(fit)


def graph_line(graph: Graph) -> str:
    """A graph as text in one line, which reads back as it, but for the order of the variables."""
    from halftrek.syntax import format_graph

    lines = format_graph(graph).splitlines()
    drawn = {v for u, _, w in graph.edges() for v in (u, w)}
    if drawn.issuperset(graph.observed):  # a statement of their order alone is nothing that a reader needs
        lines = [line for line in lines if not line.startswith("observed ")]
    return "; ".join(lines)


def tikz(graph: Graph) -> str:
    """A graph for LaTeX."""
    from halftrek.reporting import to_tikz

    return to_tikz(graph)


def summary(fit: Fit) -> str:
    """A fit in text."""
    from halftrek.reporting import summarize_fit

    return summarize_fit(fit)


def report(fit: Fit, path: str | os.PathLike[str], questions: Any, **options: Any) -> Path:
    """A fit and its answers in one HTML file."""
    from halftrek.reporting.report import write_report

    return write_report(fit, path, questions, **options)


def decomposition(parts: Decomposition) -> str:
    """A total effect path by path, in text."""
    from halftrek.reporting import describe_decomposition

    return describe_decomposition(parts)


def mediation(parts: Mediation) -> str:
    """A total effect split at mediators, in text."""
    from halftrek.reporting import describe_mediation

    return describe_mediation(parts)
