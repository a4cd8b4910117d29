"""Fits, answers, verdicts and graphs in a notebook."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from halftrek.queries import Interventional
from halftrek.reporting.plots.figures import GREEN, GREY, VERMILION
from halftrek.reporting.plots.svg import graph_svg
from halftrek.reporting.tables import Cell, count, number
from halftrek.reporting.text import answer_facts, arrow_of, joint_rows
from halftrek.reporting.verdicts import verdict_line
from halftrek.trust import judged_parameters

if TYPE_CHECKING:
    from halftrek.graphs import Graph
    from halftrek.identification import Verdict
    from halftrek.results.answers import Answer
    from halftrek.results.fit import Fit

_MANY = 60  # nodes beyond which a graph is not drawn, edges beyond which a table is cut
_CELL = "padding:2px 10px 2px 0;vertical-align:top;border:none;background:none"


def graph_html(graph: Graph) -> str:
    """The picture of the graph; of a large one its size only."""
    size = f"{len(graph)} variables, {graph.edge_count} edges"
    if len(graph) > _MANY or graph.edge_count > 4 * _MANY or not len(graph):
        return f"<div>Graph of {size}</div>"
    return f"<div>{graph_svg(graph)}</div>"


def fit_html(fit: Fit) -> str:
    """How the fit ended, the graph with its weights, every edge with its interval."""
    graph = fit.graph
    colour = GREEN if fit.status.code == "converged" else VERMILION
    pairs = [
        ("rows", escape(count(fit.n))),
        ("log-likelihood", escape(number(fit.loglik, 9))),
        ("status", f'<span style="color:{colour}">{escape(str(fit.status))}</span>'),
    ]
    parts = ["<b>Fit of a linear model</b>", _pairs(pairs)]
    if graph.edge_count > 4 * _MANY:
        return _block([*parts, f"<div>{graph.edge_count} edges: see fit.params()</div>"])
    if len(graph) <= _MANY:
        parts.append(graph_svg(fit))
    rows = [r for r in judged_parameters(fit) if r.op != "~1" and r.lhs != r.rhs]
    shown: list[list[Cell]] = [[arrow_of(r), *map(_maybe, (r.est, r.se, r.ci_low, r.ci_high)), r.note] for r in rows]
    parts.append(_grid(("", "estimate", "std. error", "low", "high", ""), shown[:_MANY]))
    if len(shown) > _MANY:
        parts.append(f"<div>and {len(shown) - _MANY} more: see fit.params()</div>")
    return _block(parts)


def answer_html(answer: Answer) -> str:
    """The question, the number with its interval, what to know before trusting it."""
    pairs = [(name, _marked(name, value)) for name, value in answer_facts(answer)]
    parts = [_pairs(pairs)]
    headers, rows = joint_rows(answer)
    if rows:
        parts.append(_grid(headers, rows))
    return _block(parts)


def verdict_html(verdict: Verdict) -> str:
    """The verdict, its reasons, and the graph with the question's ends."""
    colour = GREEN if verdict.identified else VERMILION
    line = f'<b style="color:{colour}">{escape(verdict_line(verdict))}</b>'
    parts = [_pairs([("question", f"<code>{escape(str(verdict.query))}</code>"), ("verdict", line)])]
    parts += [f'<div style="white-space:pre-wrap;max-width:60em">{escape(verdict.explain())}</div>']
    if len(verdict.graph) <= _MANY:
        cause, effect = question_ends(verdict.query)
        parts.append(graph_svg(verdict.graph, cause=cause, effect=effect))
    return _block(parts)


def question_ends(query: object) -> tuple[str | None, str | None]:
    """The variables to colour: what acts and what is acted on, where the question has one of each."""
    if isinstance(query, Interventional):
        return (*query.do, None)[0], query.outcomes[0]
    ends = getattr(query, "cause", None), getattr(query, "effect", None)
    return ends if all(isinstance(v, str) for v in ends) else (None, None)


def _marked(name: str, value: str) -> str:
    text = escape(value)
    if name == "question":
        return f"<code>{text}</code>"
    if name == "warning":
        return f'<span style="color:{VERMILION}">{text}</span>'
    return f"<b>{text}</b>" if name in ("value", "answer", "mean") else text


def _block(parts: Sequence[str]) -> str:
    inner = "\n".join(f'<div style="margin:4px 0">{part}</div>' for part in parts)
    return f'<div style="font-size:14px;overflow-x:auto">\n{inner}\n</div>'


def _pairs(pairs: Sequence[tuple[str, str]]) -> str:
    """Names and values, which are HTML already, in two columns."""
    rows = [
        f'<tr style="background:none"><td style="{_CELL};text-align:left;color:{GREY};white-space:nowrap">'
        f'{escape(name)}</td><td style="{_CELL};text-align:left">{value}</td></tr>'
        for name, value in pairs
    ]
    return f'<table style="border-collapse:collapse;border:none">{"".join(rows)}</table>'


def _grid(headers: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    line = f"border-bottom:1px solid {GREY}"
    top = "".join(f'<th style="{_CELL};text-align:{_side(i)};{line}">{escape(h)}</th>' for i, h in enumerate(headers))
    body = []
    for row in rows:
        cells = [f'<td style="{_CELL};text-align:{_side(i, cell)}">{_shown(cell)}</td>' for i, cell in enumerate(row)]
        body.append(f'<tr style="background:none">{"".join(cells)}</tr>')
    return (
        f'<table style="border-collapse:collapse"><thead><tr>{top}</tr></thead><tbody>{"".join(body)}</tbody></table>'
    )


def _side(i: int, cell: Cell = 0.0) -> str:
    return "left" if i == 0 or isinstance(cell, str) else "right"


def _shown(cell: Cell) -> str:
    if cell is None:
        return ""
    return escape(cell) if isinstance(cell, str) else escape(number(float(cell), 4))


def _maybe(value: float) -> Cell:
    return None if math.isnan(value) else value
