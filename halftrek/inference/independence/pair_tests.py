"""Are the errors of two variables without an arc independent? A J-test of each pair, beyond their correlation.

The weights in the two equations are free, so that the test needs no estimate of them: ``min J`` has a chi-squared
distribution with as many degrees of freedom as there are conditions beyond the weights, or a smaller one where the
conditions hardly tell the weights, as with normal errors.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from halftrek.bottom.progress import Advance
from halftrek.estimation import Fitted
from halftrek.inference.evidence.held_rows import HeldRows, held_rows
from halftrek.inference.independence.conditions import CONDITIONS, Conditions
from halftrek.inference.independence.least import least

UNITS = 10  # independent units for each condition, below which there is no test
WHAT = "the test of independent errors"


@dataclass(frozen=True)
class PairTest:
    """One test: the errors of ``lhs`` and ``rhs`` are independent; ``note`` says why there is none."""

    lhs: str
    rhs: str
    statistic: float
    df: int
    p: float
    note: str = ""
    test: str = "J"

    @property
    def constraint(self) -> str:
        """What is tested."""
        return f"e({self.lhs}) ⊥ e({self.rhs})"


def pair_tests(fit: Fitted, progress: Advance | None = None) -> list[PairTest]:
    """A test of every pair that the graph joins by no arc and no hidden cause, in the order of the variables."""
    names = tuple(fit.graph.observed)
    rows = held_rows(fit, names, WHAT)
    order = fit.graph.topological_order
    pairs = [(u, v) for u, v in combinations(order, 2) if v not in fit.graph.spouses(u)]
    found = []
    for done, pair in enumerate(pairs):
        found.append(_test(fit, rows, pair))
        if progress is not None:
            progress(done + 1, len(pairs))
    return found


def _test(fit: Fitted, rows: HeldRows, pair: tuple[str, str]) -> PairTest:
    from scipy.special import chdtrc

    given = Conditions(rows, fit.graph, pair, (pair,))
    df = CONDITIONS - given.unknowns
    if df < 1:
        note = f"not testable: {given.unknowns} weights in the two equations, and {CONDITIONS} conditions"
        return PairTest(*pair, np.nan, max(df, 0), np.nan, note)
    if rows.units < UNITS * CONDITIONS:
        return PairTest(*pair, np.nan, df, np.nan, f"not testable: fewer than {UNITS * CONDITIONS} independent rows")
    at = fit.model.names.index
    fitted = np.array([fit.model.T[at(p), at(v)] for p, v in given.arrows])
    found = least(given, given.starts(fitted))
    return PairTest(*pair, found.statistic, df, float(chdtrc(df, found.statistic)))
