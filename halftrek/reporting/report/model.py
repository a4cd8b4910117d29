"""The fitted model in a report: its graph, every effect, every parameter."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from halftrek.inference import How
from halftrek.inference.tables.effects import Effect
from halftrek.reporting.described.effects import effects_table
from halftrek.reporting.described.fits import parameter_document
from halftrek.reporting.document import Chapter, Heading, Paragraph, Piece, Remark
from halftrek.reporting.plots.drawing import determined
from halftrek.reporting.plots.effects import plot_effects
from halftrek.reporting.plots.svg import graph_svg
from halftrek.reporting.report.acting import CAPTION, EFFECTS
from halftrek.reporting.report.figures import drawn, figure
from halftrek.reporting.report.uncertainty import for_tables, remark
from halftrek.results.words.listings import effect_rows_of
from halftrek.trust import judged_parameters

if TYPE_CHECKING:
    from halftrek.results.fit import Fit

_DRAWN = 60  # variables beyond which a graph is not drawn
_EDGES = 240  # edges beyond which it is not
_EFFECTS = 60  # lines of a table of effects
_FOREST = 24  # lines of a forest
_PARAMETERS = 80  # lines of a table of parameters


def graph_chapter(fit: Fit, ends: tuple[str | None, str | None]) -> Chapter:
    """The picture with the estimated weights."""
    graph = fit.graph
    size = f"{len(graph.observed)} observed variables" + (f", {len(graph.latents)} hidden" if graph.latents else "")
    parts: list[Piece] = [Paragraph(f"{size}, {graph.edge_count} edges.")]
    if len(graph) > _DRAWN or graph.edge_count > _EDGES:
        parts.append(Remark("It is too large to be drawn; the edges are in the table of parameters."))
    else:
        caption = "Numbers are estimated weights, in the units of the variables." if fit.acting is None else CAPTION
        if graph.bidirected or graph.latents:
            caption += " Dashed: hidden causes, and covariances of errors that they make."
        if not all(determined(fit).values()):
            caption += " Dotted, with a question mark: data do not determine the weight."
        if ends[0] is not None and ends[1] is not None:
            caption += f" Filled: {ends[0]} and {ends[1]}, which the first question is about."
        parts.append(figure(graph_svg(fit, cause=ends[0], effect=ends[1]), caption))
    return Chapter("graph", "The graph", parts)


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
            if fit.acting is None
            else EFFECTS
        ),
    ]
    if unknown:
        why = "are not identified and" if fit.acting is None else "are not identified, or no single number, and"
        parts.append(Paragraph(f"{unknown} of {len(rows)} effects {why} have no number."))
    parts += [Remark(note)] if note else []
    parts += [effects_table(chosen), Remark(remark(fit, how))]
    forest = _largest([r for r in rows if r.kind == "total" and not math.isnan(r.ci_low + r.std)])
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


def _largest(rows: list[Effect]) -> list[Effect]:
    keep = set(map(id, sorted(rows, key=lambda r: -abs(r.std))[:_FOREST]))
    return [r for r in rows if id(r) in keep]


def parameters_chapter(fit: Fit, how: How) -> Chapter:
    """Every parameter; what data do not determine is named."""
    rows = judged_parameters(fit, for_tables(fit, how))
    parts = [*parameter_document(fit, rows, _PARAMETERS), Remark(remark(fit, how))]
    return Chapter("parameters", "Parameters", parts)
