"""What a value offers that a higher room does: the one way up, taken when somebody asks and not before."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from halftrek.bottom.choices import Bounding
    from halftrek.bottom.frames import Frame
    from halftrek.estimation import Fitted
    from halftrek.graphs import Graph
    from halftrek.inference.how import Uncertainty
    from halftrek.models import CGLSCM
    from halftrek.partial import Benchmark, Contours, Ranking, Robustness, Sensitivity
    from halftrek.partial.left import Left
    from halftrek.queries import Query
    from halftrek.results.answers import Answer
    from halftrek.results.fit import Fit
    from halftrek.results.sets.bounds import Bounds


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
    from halftrek.results.words.listings import counterfactual_of

    return counterfactual_of(model, rows, do, outcome)


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


def bounds(fit: Fit, question: str | Query, **options: Unpack[Bounding]) -> Bounds:
    """Between which values an answer of a fit lies, see ``halftrek.partial``."""
    from halftrek.partial.bounding import bounds_of

    return bounds_of(fit, question, **options)


def left(fit: Fitted, query: Query) -> Left:
    """What a fit leaves of a question that is refused."""
    from halftrek.partial.left import left_of

    return left_of(fit, query)


def plot_bounds(found: Bounds, *, ax: Axes | None, title: str | None) -> Axes:
    """A picture of bounds."""
    from halftrek.reporting.plots.bounds import plot_bounds as draw

    return draw(found, ax=ax, title=title)


def sensitivity(
    fit: Fitted,
    question: str | Query,
    edge: str | Sequence[str],
    *,
    values: Sequence[float] | Sequence[Sequence[float]] | None,
    level: float,
    target: float | None,
    intervals: bool,
) -> Sensitivity | Contours:
    """An answer along one edge, or over two."""
    from halftrek.partial.varied.asking import varied

    return varied(fit, question, edge, values=values, level=level, target=target, intervals=intervals)


def robustness(
    fit: Fitted, question: str | Query, edge: str | None, *, target: float | None, level: float
) -> Robustness:
    """How strong an edge must be to change an answer."""
    from halftrek.partial.varied.robustness import robustness_of

    return robustness_of(fit, question, edge, target=target, level=level)


def assumptions(fit: Fitted, question: str | Query, *, target: float | None) -> Ranking:
    """Every edge that the graph does not have, by what it does to an answer."""
    from halftrek.partial.varied.ranking import ranking_of

    return ranking_of(fit, question, target=target)


def benchmark(
    fit: Fitted,
    cause: str,
    effect: str,
    covariates: str | Sequence[str],
    *,
    times: float | Sequence[float],
    times_effect: float | Sequence[float] | None,
    level: float,
) -> Benchmark:
    """Bounds of an effect by the strength of observed covariates."""
    from halftrek.partial.varied.benchmark import benchmark_of

    return benchmark_of(fit, cause, effect, covariates, times=times, times_effect=times_effect, level=level)


class Faces:
    """Base of what users hold: each shows itself as text, in a notebook and as plain data, and is described once.

    What a class says of itself stands in ``halftrek.reporting.faces``, by its name.
    """

    __slots__ = ()

    def summary(self) -> str:
        """As text, for a page of 80 columns."""
        from halftrek.reporting import faces

        return faces.text(self)

    def to_dict(self) -> dict[str, object]:
        """As plain data, for JSON."""
        from halftrek.reporting import faces

        return faces.record(self)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from halftrek.reporting import faces

        return faces.html(self)


class Tabled(Faces):
    """Base of results that people put into papers: tables for LaTeX, Typst, Word and web pages."""

    __slots__ = ()

    def to_latex(self, *, caption: str | None = None, label: str | None = None) -> str:
        """A ``table`` for LaTeX; plain pdflatex takes it, and it needs no package."""
        from halftrek.reporting import faces
        from halftrek.reporting.papers.latex import as_latex

        return as_latex(faces.document(self), caption=caption, label=label)

    def to_typst(self, *, caption: str | None = None, label: str | None = None) -> str:
        """A ``figure`` with a table for Typst."""
        from halftrek.reporting import faces
        from halftrek.reporting.papers.typst import as_typst

        return as_typst(faces.document(self), caption=caption, label=label)

    def to_html(self) -> str:
        """A block for a web page, as a notebook shows it; it needs no style sheet."""
        return self._repr_html_()

    def to_word(self, path: str | os.PathLike[str], *, caption: str | None = None, overwrite: bool = False) -> Path:
        """Write a Word file (.docx) with the table, to be copied from; a file that halftrek wrote is replaced."""
        from halftrek.reporting import faces
        from halftrek.reporting.papers.word import write_word

        return write_word(faces.document(self), path, caption=caption, overwrite=overwrite)
