"""Documents in a notebook, where there is no style sheet and no template; graphs, fits and verdicts with a picture."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from halftrek.queries.types import is_intervention
from halftrek.reporting.described.fits import fit_document, fit_head
from halftrek.reporting.described.verdicts import verdict_document
from halftrek.reporting.document import (
    Facts,
    Figure,
    Heading,
    Listing,
    Paragraph,
    Printed,
    Remark,
    Span,
    Table,
    Words,
    grid,
)
from halftrek.reporting.plots.figures import GREEN, GREY, VERMILION
from halftrek.reporting.plots.svg import graph_svg

if TYPE_CHECKING:
    from halftrek.graphs import Graph
    from halftrek.identification import Verdict
    from halftrek.results.fit import Fit

_MANY = 60  # nodes beyond which a graph is not drawn, a quarter of the edges beyond which they are not listed
_CELL = "padding:2px 10px 2px 0;vertical-align:top;border:none;background:none"
_SPANS = {
    "code": ("<code>", "</code>"),
    "strong": ("<b>", "</b>"),
    "good": (f'<b style="color:{GREEN}">', "</b>"),
    "bad": (f'<b style="color:{VERMILION}">', "</b>"),
    "warning": (f'<span style="color:{VERMILION}">', "</span>"),
    "sub": ("<sub>", "</sub>"),
}


def graph_html(graph: Graph) -> str:
    """The picture of the graph; of a large one its size only."""
    size = f"{len(graph)} variables, {graph.edge_count} edges"
    if len(graph) > _MANY or graph.edge_count > 4 * _MANY or not len(graph):
        return f"<div>Graph of {size}</div>"
    return f"<div>{graph_svg(graph)}</div>"


def fit_html(fit: Fit) -> str:
    """How the fit ended, the graph with its weights, every parameter with its interval."""
    if fit.graph.edge_count > 4 * _MANY:
        return as_html([*fit_head(fit), Remark(f"{fit.graph.edge_count} edges: see fit.params()")])
    head, facts, *rest = fit_document(fit)
    return as_html([head, facts, *([Figure(graph_svg(fit))] if len(fit.graph) <= _MANY else []), *rest])


def verdict_html(verdict: Verdict) -> str:
    """The verdict, its reasons, and the graph with the question's ends."""
    cause, effect = question_ends(verdict.query)
    shown = len(verdict.graph) <= _MANY
    picture = [Figure(graph_svg(verdict.graph, cause=cause, effect=effect))] if shown else []
    return as_html([*verdict_document(verdict), *picture])


def question_ends(query: object) -> tuple[str | None, str | None]:
    """The variables to colour: what acts and what is acted on, where the question has one of each."""
    if is_intervention(query):
        return (*query.do, None)[0], query.names[0]
    ends = getattr(query, "cause", None), getattr(query, "effect", None)
    return ends if all(isinstance(v, str) for v in ends) else (None, None)


PICTURED: dict[str, Callable[[Any], str]] = {  # what is shown with a picture that text does not have
    "Fitted": fit_html,
    "Graph": graph_html,
    "Verdict": verdict_html,
}


def as_html(document: Sequence[Printed | Figure]) -> str:
    """One block; all words are escaped here."""
    inner = "\n".join(f'<div style="margin:4px 0">{_shown(piece)}</div>' for piece in document)
    return f'<div style="font-size:14px;overflow-x:auto">\n{inner}\n</div>'


def _shown(piece: Printed | Figure) -> str:
    match piece:
        case Heading(words):
            return f"<b>{escape(words)}</b>"
        case Paragraph(words):
            return f'<div style="white-space:pre-wrap;max-width:60em">{_words(words)}</div>'
        case Remark(words):
            return f"<div>{escape(words)}</div>"
        case Listing(code):
            return f'<pre style="white-space:pre-wrap;margin:0 0 0 1em">{escape(code)}</pre>'
        case Facts(pairs):
            return _pairs(pairs)
        case Table():
            return _grid(piece)
        case Figure(svg):
            return svg


def _words(words: Words) -> str:
    return escape(words) if isinstance(words, str) else "".join(map(_span, words))


def _span(span: str | Span) -> str:
    if isinstance(span, str):
        return escape(span)
    start, end = _SPANS[span.kind]
    return f"{start}{escape(span.words)}{end}"


def _pairs(pairs: Sequence[tuple[str, Words]]) -> str:
    """Names and values in two columns."""
    rows = [
        f'<tr style="background:none"><td style="{_CELL};text-align:left;color:{GREY};white-space:nowrap">'
        f'{escape(name)}</td><td style="{_CELL};text-align:left">{_words(value)}</td></tr>'
        for name, value in pairs
    ]
    return f'<table style="border-collapse:collapse;border:none;font-size:inherit">{"".join(rows)}</table>'


def _grid(table: Table) -> str:
    shown = grid(table)
    sides = ["right" if numeric else "left" for numeric in shown.numeric]
    rows = [
        f'<tr style="background:none">{_cells("td", row, _lined(sides, k in table.parts and k > 0))}</tr>'
        for k, row in enumerate(shown.rows)
    ]
    top = _cells("th", shown.heads, [f"{side};border-bottom:1px solid {GREY}" for side in sides])
    more = f"<div>{escape(shown.cut)}</div>" if shown.cut else ""
    body = f"<thead><tr>{top}</tr></thead><tbody>{''.join(rows)}</tbody>"
    return f'<table style="border-collapse:collapse;font-size:inherit">{body}</table>{more}'


def _lined(sides: Sequence[str], line: bool) -> Sequence[str]:
    """The cells of a row, with a line above where a part of the table begins."""
    return [f"{side};border-top:1px solid {GREY}" for side in sides] if line else sides


def _cells(tag: str, texts: Sequence[str], sides: Sequence[str]) -> str:
    pairs = zip(texts, sides, strict=True)
    return "".join(f'<{tag} style="{_CELL};text-align:{side}">{escape(text)}</{tag}>' for text, side in pairs)
