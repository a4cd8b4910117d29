"""Checks of a fitted model as tidy frames and as tables: R², residuals, tests of what the graph implies, indices."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, get_args

import numpy as np

from halftrek.bottom.choices import Multiplicity
from halftrek.bottom.frames import Frame, as_frame
from halftrek.errors import InputError
from halftrek.inference.checks.constraints import Constraint, constraint_tests
from halftrek.inference.checks.contradictions import Contradiction
from halftrek.inference.checks.edges.modification import Modification, modifications
from halftrek.inference.checks.linearity import LineTest, lines_at_hand
from halftrek.inference.checks.multiplicity import adjusted, benjamini_hochberg, holm
from halftrek.inference.checks.residuals import Explained, Residual, explained, residuals
from halftrek.inference.information.information import Kind
from halftrek.queries import Query
from halftrek.results.words.listings import restrictions_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halftrek.estimation.fit import Fitted

LEVEL = 0.05  # of the tests
CURVED = "contradicted: a curve, a missing cause, or a wrong arrow"


def r2_frame(fit: Fitted) -> Frame:
    """One row for each variable that has a cause."""
    return as_frame(_columns(explained(fit), Explained), fit.frame)


def residual_frame(fit: Fitted, robust: bool | None = None) -> Frame:
    """One row for each pair of variables."""
    return as_frame(_columns(residuals(fit, robust), Residual), fit.frame)


def modification_frame(fit: Fitted, information: Kind | None = None, robust: bool | None = None) -> Frame:
    """One row for each edge that could be added."""
    if information not in (None, *get_args(Kind)):
        raise InputError(f"information must be 'expected' or 'observed', not {information!r}")
    return as_frame(_columns(modifications(fit, information, robust), Modification), fit.frame)


def implication_frame(
    fit: Fitted, *, multiplicity: Multiplicity = "holm", level: float = 0.05, robust: bool | None = None
) -> Frame:
    """One row for each thing that the graph implies, and for each equation whether it is a straight line.

    P-values are adjusted for the number of claims about covariances, and of equations, each for themselves. A test of
    all edges together is no further claim.
    """
    refuse_test_options(multiplicity, level)
    columns: dict[str, list[object]] = {}
    claims = constraint_tests(fit, robust)
    single = [row for row in claims if row.kind != "together"]
    lines = [_as_constraint(line) for line in lines_at_hand(fit)]
    for rows in ([row for row in claims if row.kind == "together"], single, lines):
        p = np.array([row.p for row in rows], dtype=float)
        final = adjusted(p, multiplicity)
        part = _columns(rows, Constraint)
        notes = part.pop("note")
        part |= {"p_holm": holm(p).tolist(), "p_bh": benjamini_hochberg(p).tolist(), "p_adjusted": final.tolist()}
        part["verdict"] = [
            note or outcome_of(x, level, row.kind) for x, note, row in zip(final, notes, rows, strict=True)
        ]
        columns = {name: columns.get(name, []) + values for name, values in part.items()}
    return as_frame(columns, fit.frame)


def _as_constraint(line: LineTest) -> Constraint:
    numbers = (line.statistic, float(line.df), line.p)
    return Constraint("linearity", line.constraint, float("nan"), line.test, *numbers, line.note)


def restriction_frame(
    fit: Fitted,
    question: str | Query,
    *,
    multiplicity: Multiplicity = "holm",
    level: float = 0.05,
    robust: bool | None = None,
) -> Frame:
    """One row for each restriction that an answer rests on, those that move it most first."""
    refuse_test_options(multiplicity, level)
    rows = restrictions_of(fit, question, multiplicity=multiplicity, robust=robust)
    columns = _columns(rows, Contradiction)
    del columns["widening"], columns["alike"]
    columns["test"] = ["robust t" if by_units else "score" for by_units in columns.pop("robust")]
    columns["verdict"] = [outcome_of(row.p_adjusted, level) for row in rows]
    return as_frame(columns, fit.frame)


def refuse_test_options(multiplicity: str, level: float) -> None:
    if multiplicity not in get_args(Multiplicity):
        raise InputError(f"multiplicity must be one of {', '.join(get_args(Multiplicity))}, not {multiplicity!r}")
    if not 0.0 < level < 1.0:
        raise InputError(f"level must lie between 0 and 1, for instance 0.05, not {level!r}")


def outcome_of(p: float, level: float = LEVEL, kind: str = "") -> str:
    if p >= level:
        return "not contradicted"
    return CURVED if kind == "linearity" else "contradicted by the data"


def _columns(rows: Sequence[object], kind: type) -> dict[str, list[object]]:
    return {f.name: [getattr(r, f.name) for r in rows] for f in fields(kind)}
