"""Are effects straight lines? A test of each equation whose error has nothing to do with its causes.

Such an equation is a regression: what is left of the effect must be unrelated to curved functions of the causes, too,
here their squares and the square and cube of the fitted value (Ramsey's RESET, 1969), by a score test whose variance
holds for errors of unequal spread and for clusters (Wooldridge 1991). Where a hidden cause acts on an effect and on one
of its causes, a regression is no equation of the model, and nothing is tested.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.estimation import Fitted
from halftrek.graphs import Graph
from halftrek.inference.evidence.held_rows import HeldRows, held_rows

WHAT = "the test of straight lines"
UNITS = 10  # independent rows for each curve
_FLAT = 1e-8  # share of a curve's variance beyond the causes themselves, below which it is no curve


@dataclass(frozen=True)
class LineTest:
    """One test: ``effect`` is linear in its ``causes``; ``note`` says why there is none."""

    effect: str
    causes: tuple[str, ...]
    statistic: float
    df: int
    p: float
    note: str = ""
    test: str = "RESET"

    @property
    def constraint(self) -> str:
        """What is tested."""
        return f"{self.effect} linear in {', '.join(self.causes)}"


def line_tests(fit: Fitted) -> list[LineTest]:
    """A test of every equation, in causal order; those that cannot be tested say why."""
    graph = fit.graph
    effects = [v for v in graph.topological_order if graph.parents(v) and v not in graph.hidden]
    rows = held_rows(fit, tuple(graph.observed), WHAT)
    return [_test(graph, rows, v) for v in effects]


def confounded_causes(graph: Graph, v: str) -> tuple[str, ...]:
    """Causes that the error of ``v`` is related to: hidden causes act on both, or on ``v`` and above the cause."""
    below = graph.descendants(graph.spouses(v)) if graph.spouses(v) else frozenset()
    return tuple(p for p in graph.parents(v) if p in below)


def _test(graph: Graph, rows: HeldRows, v: str) -> LineTest:
    from scipy.special import chdtrc

    causes = graph.parents(v)
    unseen = [p for p in causes if p in graph.hidden]
    if unseen:
        return LineTest(v, causes, np.nan, 0, np.nan, f"not testable: {', '.join(unseen)} is hidden")
    confounded = confounded_causes(graph, v)
    if confounded:
        note = f"not testable: hidden causes relate {', '.join(confounded)} to the error of {v}"
        return LineTest(v, causes, np.nan, 0, np.nan, note)
    at = rows.names.index
    X, y = rows.values[:, [at(p) for p in causes]], rows.values[:, at(v)]
    curves, left = _curves(rows, X, y)
    df = curves.shape[1]
    if not df:
        return LineTest(v, causes, np.nan, 0, np.nan, "not testable: with two values a cause has no curve")
    if rows.units < UNITS * (df + len(causes)):
        note = f"not testable: fewer than {UNITS * (df + len(causes))} independent rows"
        return LineTest(v, causes, np.nan, df, np.nan, note)
    sums, spread = rows.sums(curves * left[:, None])
    statistic = float(sums @ np.linalg.solve(spread, sums))
    return LineTest(v, causes, statistic, df, float(chdtrc(df, statistic)))


def _curves(rows: HeldRows, X: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Curved functions of the causes, less what is linear in these and each other; and what is left of the effect."""
    root = np.ones(len(y)) if rows.weights is None else np.sqrt(rows.weights)
    basis = np.linalg.qr(root[:, None] * np.column_stack([np.ones(len(y)), X]))[0]

    def beyond(column: Floats) -> Floats:
        weighted = root * column
        return np.asarray(weighted - basis @ (basis.T @ weighted))

    left = beyond(y)
    fitted = y - left / root
    tried = [*(X**2).T, fitted**2, fitted**3]
    found: list[Floats] = []
    for column in tried:
        size = float(np.sum((root * (column - column.mean())) ** 2))
        curve = beyond(column)
        if float(curve @ curve) > _FLAT * size > 0.0:
            basis = np.column_stack([basis, curve / np.linalg.norm(curve)])
            found.append(curve / (root * np.sqrt(float(np.mean(curve**2)))))
    return np.column_stack(found) if found else np.zeros((len(y), 0)), left / root
