"""Scores of hidden variables and their reliability as tables of the user's own library; no mathematics here."""

from __future__ import annotations

from dataclasses import fields
from functools import partial

import numpy as np

from halftrek.bottom.choices import Scoring
from halftrek.bottom.frames import Columns, Frame, as_frame
from halftrek.data.sources.tables import Table, read_table, table_like
from halftrek.errors import DataError
from halftrek.estimation import Fitted
from halftrek.graphs import Graph
from halftrek.graphs.edges import quoted
from halftrek.identification.hidden.level import arrows_of_level
from halftrek.identification.hidden.measured import measured
from halftrek.inference.evidence.rows_behind import categories_behind
from halftrek.inference.information.robust import rows_needed
from halftrek.inference.tables.factors import Reliability, needs_hidden, reliabilities, scores
from halftrek.results.answering import identified, verdict_of
from halftrek.results.given.inputs import read_question


def scores_of(fit: Fitted, rows: object | None, method: Scoring) -> Frame:
    """A column for each hidden variable, a line for each row; without ``rows`` those of the fit."""
    needs_hidden(fit.graph, "scores()")
    for v in _unmeasured(fit.graph):
        identified(fit.graph, f"P({quoted(v)} | {', '.join(map(quoted, fit.graph.observed))})")
    if rows is None:
        blocks = rows_needed(fit, "scores()", "give the rows to score").blocks()
        values = np.concatenate([block.values for block in blocks])
        return as_frame(_columns(fit, values, method), fit.frame)
    table = read_table(rows, fit.graph.observed, categories=categories_behind(fit))
    made = partial(_made, fit, method)
    return table_like(rows, made(table)) if table.add is None else table.add(made)


def _unmeasured(graph: Graph) -> list[str]:
    """Hidden variables that do not count as observed by rules, of which more has to be asked."""
    known = measured(graph)
    return [v for v in graph.hidden if v not in known or arrows_of_level(graph, v, known[v]) != []]


def _made(fit: Fitted, method: Scoring, table: Table) -> Columns:
    """The scores of some rows, in which columns may be missing."""
    if not set(table.names) & set(fit.graph.observed):
        raise DataError("the rows have no column of the graph's observed variables, so that there is nothing to score")
    values = np.full((len(table.values), len(fit.graph)), np.nan)
    for j, v in enumerate(fit.graph.observed):
        if v in table.names:
            values[:, j] = table.column(v)
    return _columns(fit, values, method)


def _columns(fit: Fitted, values: np.ndarray, method: Scoring) -> Columns:
    return dict(zip(fit.graph.hidden, scores(fit, values, method).T, strict=True))


def reliability_frame(fit: Fitted) -> Frame:
    """One row for each hidden variable; without numbers where data do not tell them."""
    rows = reliabilities(fit)
    for k, row in enumerate(rows):
        if row.factor not in measured(fit.graph) and not _variance_known(fit.graph, row.factor):
            rows[k] = Reliability(row.factor, row.items, *[float("nan")] * 4)
    return as_frame({f.name: [getattr(row, f.name) for row in rows] for f in fields(Reliability)}, fit.frame)


def _variance_known(graph: Graph, factor: str) -> bool:
    """True if data tell the variance of a hidden variable, and of what is left of it given all that is observed."""
    seen = ", ".join(map(quoted, graph.observed))
    asked = (f"Var[{quoted(factor)}]", f"Var[{quoted(factor)} | {seen}]")
    return all(verdict_of(graph, read_question(question)).answerable for question in asked)
