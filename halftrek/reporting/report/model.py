"""The fitted model in a report: its graph, every effect, every parameter."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from halftrek.inference import How
from halftrek.inference.tables.effects import Effect
from halftrek.reporting.document import Chapter, Heading, Paragraph, Piece, PValue, Remark, Table
from halftrek.reporting.plots.effects import plot_effects
from halftrek.reporting.plots.svg import graph_svg
from halftrek.reporting.report.figures import drawn, figure
from halftrek.reporting.report.uncertainty import for_tables, remark
from halftrek.reporting.text import arrow_of
from halftrek.results.listings import effect_rows_of
from halftrek.trust import judged_parameters

if TYPE_CHECKING:
    from halftrek.estimation.fit import Fit
    from halftrek.graphs import Graph
    from halftrek.inference import Parameter

_DRAWN = 60  # variables beyond which a graph is not drawn
_EDGES = 240  # edges beyond which it is not
_EFFECTS = 60  # lines of a table of effects
_FOREST = 24  # lines of a forest
_PARAMETERS = 80  # lines of a table of parameters


def parameters_of(fit: Fit, how: How) -> list[Parameter]:
    """All parameters with the report's kind of interval."""
    return judged_parameters(fit, for_tables(fit, how))


def graph_chapter(fit: Fit, rows: Sequence[Parameter], ends: tuple[str | None, str | None]) -> Chapter:
    """The picture with the estimated weights."""
    graph = fit.graph
    size = f"{len(graph.observed)} observed variables" + (f", {len(graph.latents)} hidden" if graph.latents else "")
    parts: list[Piece] = [Paragraph(f"{size}, {graph.edge_count} edges.")]
    if len(graph) > _DRAWN or graph.edge_count > _EDGES:
        parts.append(Remark("It is too large to be drawn; the edges are in the table of parameters."))
    else:
        known = known_edges(graph, rows)
        caption = "Numbers are estimated weights, in the units of the variables."
        if graph.bidirected or graph.latents:
            caption += " Dashed: hidden causes, and covariances of errors that they make."
        if not all(known.values()):
            caption += " Dotted, with a question mark: data do not determine the weight."
        if ends[0] is not None and ends[1] is not None:
            caption += f" Filled: {ends[0]} and {ends[1]}, which the first question is about."
        svg = graph_svg(graph, fit.model, identified=known, cause=ends[0], effect=ends[1])
        parts.append(figure(svg, caption))
    return Chapter("graph", "The graph", parts)


def known_edges(graph: Graph, rows: Sequence[Parameter]) -> dict[str, bool]:
    """Which weights the data determine; those that were held are known."""
    known = {arrow_of(r): not math.isnan(r.est) for r in rows if r.op != "~1" and r.lhs != r.rhs}
    held = {key for key, value in graph.coefficients.items() if not isinstance(value, str)}
    found = {}
    for u, kind, v in graph.edges():
        names = {f"{u} {kind} {v}", f"{v} {kind} {u}"} if kind == "<->" else {f"{u} {kind} {v}"}
        found[f"{u} {kind} {v}"] = any(known.get(name, False) for name in names) or bool(names & held)
    return found


def effects_chapter(fit: Fit, how: How, focus: Sequence[str]) -> Chapter:
    """Every effect with its interval, and the forest of the total ones."""
    rows = effect_rows_of(fit, for_tables(fit, how))
    if not rows:
        return Chapter("effects", "All effects", (Paragraph("The graph has no arrow between observed variables."),))
    chosen, note = _chosen(rows, focus)
    unknown = sum(math.isnan(r.est) for r in rows)
    parts: list[Piece] = [
        Paragraph(
            "Direct: the arrow. Total: over all directed paths. Indirect: total less direct. Each is the change of the "
            "effect, in its units, for one unit more of the cause."
        ),
    ]
    if unknown:
        parts.append(Paragraph(f"{unknown} of {len(rows)} effects are not identified and have no number."))
    parts += [Remark(note)] if note else []
    parts += [_table(chosen), Remark(remark(fit, how))]
    forest = _largest([r for r in rows if r.kind == "total" and not math.isnan(r.ci_low)])
    if forest:
        cut = ", the largest ones" if len(forest) == _FOREST else ""
        sd = dict(zip(fit.model.names, np.sqrt(np.diag(fit.model.cov)), strict=True))
        columns = {
            "label": [f"{r.cause} ~> {r.effect}" for r in forest],
            "est": [r.std for r in forest],
            "ci_low": [r.ci_low * sd[r.cause] / sd[r.effect] for r in forest],
            "ci_high": [r.ci_high * sd[r.cause] / sd[r.effect] for r in forest],
        }
        parts += [
            Heading("Total effects side by side"),
            *drawn(
                "forest",
                lambda ax: plot_effects(columns, ax=ax).set_xlabel(
                    "standard deviations of the effect for one of the cause"
                ),
                (7.2, 0.9 + 0.3 * len(forest)),
                f"Total effects{cut}, in standard deviations (taken as known) so that they compare, with their "
                f"{100 * how.level:g}% intervals. Open dots: zero is within.",
            ),
        ]
    return Chapter("effects", "All effects", parts)


def _chosen(rows: list[Effect], focus: Sequence[str]) -> tuple[list[Effect], str]:
    """All rows if they are few; else the total effects, those with ends that questions name first, then the largest."""
    if len(rows) <= _EFFECTS:
        return rows, ""
    totals = [r for r in rows if r.kind == "total"]
    named = set(focus)
    totals.sort(key=lambda r: (-len({r.cause, r.effect} & named), math.isnan(r.std), -abs(r.std or 0.0)))
    first = "those of the variables asked about first, then " if named else ""
    return totals[:_EFFECTS], (
        f"Of {len(rows):,} effects {min(_EFFECTS, len(totals))} total ones are shown, {first}the largest; "
        f"fit.effects() has all."
    )


def _table(rows: Sequence[Effect]) -> Table:
    headers = (
        "cause",
        "effect",
        "kind",
        "estimate",
        "std. error",
        "low",
        "high",
        "p",
        "standardised",
        "known by",
    )
    cells = [
        (r.cause, r.effect, r.kind, r.est, r.se, r.ci_low, r.ci_high, PValue(r.p), r.std, _known_by(r)) for r in rows
    ]
    return Table(headers, cells)


def _known_by(row: Effect) -> str:
    """The method; where there is no number, why."""
    if math.isnan(row.est):
        return row.note
    return f"{row.method} ({row.note})" if row.note else row.method


def _largest(rows: list[Effect]) -> list[Effect]:
    keep = set(map(id, sorted(rows, key=lambda r: -abs(r.std))[:_FOREST]))
    return [r for r in rows if id(r) in keep]


def parameters_chapter(fit: Fit, rows: Sequence[Parameter], how: How) -> Chapter:
    """Every parameter; what data do not determine is named."""
    parts: list[Piece] = []
    titles = {"~": "Effects", "=~": "Loadings of hidden causes", "~~": "Covariances of the errors"}
    headers = ("edge", "estimate", "std. error", "low", "high", "p", "standardised", "note")
    for op, title in titles.items():
        chosen = [r for r in rows if r.op == op and r.lhs != r.rhs]
        cells = [(arrow_of(r), r.est, r.se, r.ci_low, r.ci_high, PValue(r.p), r.std, r.note) for r in chosen]
        if cells:
            parts += [Heading(title), Table(headers, cells, most=_PARAMETERS, more="fit.params()")]
    for op, title in (("~~", "Variances of the errors"), ("~1", "Intercepts")):
        chosen = [r for r in rows if r.op == op and (op == "~1" or r.lhs == r.rhs)]
        plain = [(r.lhs, r.est, r.se, r.ci_low, r.ci_high, r.note) for r in chosen]
        if plain:
            top = ("variable", "estimate", "std. error", "low", "high", "note")
            parts += [Heading(title), Table(top, plain, most=_PARAMETERS, more="fit.params()")]
    if any(r.op == "=~" for r in rows):
        parts.append(Remark("The sign of a hidden cause is free: all its loadings may be turned at once."))
    parts.append(Remark(remark(fit, how)))
    return Chapter("parameters", "Parameters", parts)
