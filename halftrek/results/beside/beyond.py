"""Tests beyond covariances as tidy frames: are errors independent, and effects straight lines?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, get_args

import numpy as np

from halftrek.bottom.choices import Beyond, Multiplicity
from halftrek.bottom.frames import Frame, as_frame
from halftrek.bottom.progress import late_bar
from halftrek.errors import InputError
from halftrek.inference.checks.linearity import LineTest, line_tests
from halftrek.inference.checks.multiplicity import adjusted, benjamini_hochberg, holm
from halftrek.inference.independence.pair_tests import PairTest, pair_tests
from halftrek.queries import Query
from halftrek.results.beside.checks import CURVED, LEVEL, refuse_test_options

if TYPE_CHECKING:
    from halftrek.estimation.fit import Fitted

DEPENDENT = "contradicted: a missing arc, a curve, or a spread that changes"


def beyond_frame(
    fit: Fitted,
    beyond: Beyond,
    question: str | Query | None = None,
    *,
    multiplicity: Multiplicity = "holm",
    level: float = LEVEL,
) -> Frame:
    """One row for each pair of errors, or for each equation, with p-values adjusted for their number."""
    if beyond not in get_args(Beyond):
        raise InputError(f"beyond must be 'correlation' or 'linearity', not {beyond!r}")
    if question is not None:
        raise InputError("beyond= tests the whole graph: leave the question out")
    refuse_test_options(multiplicity, level)
    if beyond == "linearity":
        return as_frame(_columns(line_tests(fit), multiplicity, level), fit.frame)
    if fit.acting is not None:
        raise InputError("beyond='correlation' is not known where a category acts; ask fit.tests(), or for 'linearity'")
    with late_bar("independent errors") as progress:
        return as_frame(_columns(pair_tests(fit, progress), multiplicity, level), fit.frame)


def _columns(
    rows: Sequence[PairTest | LineTest], multiplicity: Multiplicity, level: float
) -> dict[str, Sequence[object]]:
    p = np.array([row.p for row in rows], dtype=float)
    final = adjusted(p, multiplicity)
    return {
        "constraint": [row.constraint for row in rows],
        "test": [row.test for row in rows],
        "statistic": [row.statistic for row in rows],
        "df": [row.df for row in rows],
        "p": p.tolist(),
        "p_holm": holm(p).tolist(),
        "p_bh": benjamini_hochberg(p).tolist(),
        "p_adjusted": final.tolist(),
        "verdict": [said(row, x, level) for row, x in zip(rows, final, strict=True)],
    }


def said(row: PairTest | LineTest, p: float, level: float = LEVEL) -> str:
    """What a test came to, and what a rejection may mean."""
    if row.note:
        return row.note
    if p >= level:
        return "not contradicted"
    return DEPENDENT if isinstance(row, PairTest) else CURVED
