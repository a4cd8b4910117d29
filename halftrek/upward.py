"""What a value offers that a higher room does: the one way up, taken when somebody asks and not before."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

if TYPE_CHECKING:
    from halftrek.frames import Frame
    from halftrek.graphs import Graph
    from halftrek.identification import Verdict
    from halftrek.inference.how import Uncertainty
    from halftrek.inference.tables.decomposition import Decomposition
    from halftrek.inference.tables.mediation import Mediation
    from halftrek.models import CGLSCM
    from halftrek.queries import Query
    from halftrek.results.adjustments import Adjustments
    from halftrek.results.answers import Answer
    from halftrek.results.fit import Fit
    from halftrek.results.instruments import Instruments


def save(value: object, path: str | os.PathLike[str], *, rows: bool = False, overwrite: bool = False) -> Path:
    """The value in a file, see ``halftrek.storage``."""
    from halftrek import storage

    return storage.save(value, path, rows=rows, overwrite=overwrite)


def answer(model: CGLSCM, question: str | Query) -> Answer:
    """What a model with known parameters answers."""
    from halftrek.results.answering import answer_from_model

    return answer_from_model(model, question)


def counterfactual(
    model: CGLSCM, rows: object, do: Mapping[str, object], outcome: str | Sequence[str]
) -> Answer | Frame:
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


def tikz(graph: Graph) -> str:
    """A graph for LaTeX."""
    from halftrek.reporting import to_tikz

    return to_tikz(graph)


def summary(fit: Fit) -> str:
    """A fit in text."""
    from halftrek.reporting import summarize_fit

    return summarize_fit(fit)


def report(
    fit: Fit,
    path: str | os.PathLike[str],
    questions: str | Query | Iterable[str | Query],
    *,
    title: str | None,
    overwrite: bool,
    **uncertainty: Unpack[Uncertainty],
) -> Path:
    """A fit and its answers in one HTML file."""
    from halftrek.reporting.report import write_report

    return write_report(fit, path, questions, title=title, overwrite=overwrite, **uncertainty)


def decomposition(parts: Decomposition) -> str:
    """A total effect path by path, in text."""
    from halftrek.reporting import describe_decomposition

    return describe_decomposition(parts)


def mediation(parts: Mediation) -> str:
    """A total effect split at mediators, in text."""
    from halftrek.reporting import describe_mediation

    return describe_mediation(parts)


def instruments_text(found: Instruments) -> str:
    """Sets of instruments in text."""
    from halftrek.reporting.instruments import describe_instruments

    return describe_instruments(found)


def instruments_html(found: Instruments) -> str:
    """Sets of instruments in a notebook."""
    from halftrek.reporting import instruments

    return instruments.instruments_html(found)


def adjustments_text(found: Adjustments) -> str:
    """Every way to adjust in text."""
    from halftrek.reporting.adjustments import describe_adjustments

    return describe_adjustments(found)


def adjustments_html(found: Adjustments) -> str:
    """Every way to adjust in a notebook."""
    from halftrek.reporting import adjustments

    return adjustments.adjustments_html(found)
