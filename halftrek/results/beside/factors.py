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
from halftrek.inference.evidence.rows_behind import categories_behind
from halftrek.inference.information.robust import rows_needed
from halftrek.inference.tables.factors import Reliability, needs_hidden, reliabilities, scores


def scores_of(fit: Fitted, rows: object | None, method: Scoring) -> Frame:
    """A column for each hidden variable, a line for each row; without ``rows`` those of the fit."""
    needs_hidden(fit.graph, "scores()")
    if rows is None:
        blocks = rows_needed(fit, "scores()", "give the rows to score").blocks()
        values = np.concatenate([block.values for block in blocks])
        return as_frame(_columns(fit, values, method), fit.frame)
    table = read_table(rows, fit.graph.observed, categories=categories_behind(fit))
    made = partial(_made, fit, method)
    return table_like(rows, made(table)) if table.add is None else table.add(made)


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
    """One row for each hidden variable."""
    rows = reliabilities(fit)
    return as_frame({f.name: [getattr(row, f.name) for row in rows] for f in fields(Reliability)}, fit.frame)
