"""Checks of a fitted model as tables for readers."""

from __future__ import annotations

from collections.abc import Sequence

from halftrek.inference.checks.constraints import Constraint
from halftrek.inference.checks.edges.modification import Modification
from halftrek.inference.checks.linearity import LineTest
from halftrek.inference.checks.residuals import Residual
from halftrek.reporting.document import Table, known, p_value
from halftrek.reporting.tables import Cell
from halftrek.results.beside.beyond import said
from halftrek.results.beside.checks import outcome_of


def claims_table(rows: Sequence[Constraint], adjusted: Sequence[float], most: int | None = None) -> Table:
    """What the graph implies, each with its p-value, alone and adjusted for their number."""
    heads = ("constraint", "found", "statistic", "df", "test", "p", "adjusted", "verdict")
    lines: list[tuple[Cell, ...]] = []
    for c, p in zip(rows, adjusted, strict=True):
        numbers = map(known, (c.estimate, c.statistic, c.df))
        lines.append((c.constraint, *numbers, c.test, p_value(c.p), p_value(p), c.note or outcome_of(p)))
    return Table(heads, lines, wide=heads[1:5], most=most, more="fit.tests()")


def lines_table(rows: Sequence[LineTest], adjusted: Sequence[float], most: int | None = None) -> Table:
    """Whether effects are straight lines, equation by equation."""
    heads = ("equation", "statistic", "df", "p", "adjusted", "verdict")
    lines: list[tuple[Cell, ...]] = []
    for row, p in zip(rows, adjusted, strict=True):
        lines.append((row.constraint, *map(known, (row.statistic, row.df)), p_value(row.p), p_value(p), said(row, p)))
    return Table(heads, lines, wide=heads[1:3], most=most, more="fit.tests(beyond='linearity')")


def edges_table(rows: Sequence[Modification], most: int | None = None) -> Table:
    """Edges that could be added, the most wanted first."""
    less = "robust index" if rows[0].test == "robust score" else "chi-square less"
    heads = ("edge", less, "its value", "standardised", "p (not adjusted)")
    lines = [(m.edge, known(m.mi), known(m.epc), known(m.std), p_value(m.p)) for m in rows]
    return Table(heads, lines, wide=heads[3:], most=most, more="fit.modifications()")


def residuals_table(rows: Sequence[Residual], most: int | None = None) -> Table:
    """Observed and implied correlations, the largest residuals first."""
    heads = ("", "observed", "implied", "residual", "z", "p")
    lines = [(f"{r.lhs}, {r.rhs}", *map(known, (r.observed, r.implied, r.residual, r.z)), p_value(r.p)) for r in rows]
    return Table(heads, lines, wide=("residual", "p"), most=most, more="fit.residuals()")
