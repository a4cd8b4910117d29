"""Are effects on columns in categories straight lines in what is behind them?

An effect whose error has nothing to do with its causes is an ordered probit regression on them, whatever else the graph
says. Squares of the causes, and square and cube of the fitted value, are tested as further causes of it would be: by
their efficient scores (as RESET, Ramsey 1969; Pagan and Vella 1989).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.estimation import Fitted
from halftrek.estimation.acts.fit import fit_acting
from halftrek.graphs import Edge, Graph
from halftrek.inference.checks.acting.edges import freed_at, rows_of, spread_by_units
from halftrek.inference.checks.linearity import WHAT, LineTest, distinct, too_few
from halftrek.inference.information.robust import counts_units

CURVE = "curve {} of {}"


def cut_line_test(fit: Fitted, row: LineTest) -> LineTest:
    """The test of an equation whose effect is in categories; causes are values, or categories that act."""
    from scipy.special import chdtrc

    row = replace(row, test="score")
    block, w = rows_of(fit, WHAT)
    causes = [block.values[:, fit.graph.observed.index(u)] for u in row.causes]
    effect = block.values[:, fit.graph.observed.index(row.effect)]
    X = np.column_stack([(x - x.mean()) / (x.std() or 1.0) for x in causes])
    line = Graph([(u, row.effect) for u in row.causes], observed=(*row.causes, row.effect))
    first = fit_acting(line, np.column_stack([*X.T, effect]), {row.effect: "ordered"}, w)
    if first.off:
        return replace(row, note=f"not testable: the causes tell the categories of {row.effect} apart")
    slopes = first.at(line, first.theta)[0].T[: len(causes), -1]
    curves = _curves(X, slopes, w)
    units = float(w.sum()) if block.cluster is None else float(len(np.unique(block.cluster)))
    if (why := too_few(curves.shape[1], len(causes), units)) is not None:
        return replace(row, df=curves.shape[1], note=why)
    names = [CURVE.format(k + 1, row.effect) for k in range(curves.shape[1])]
    graph = Graph(line.directed, observed=(*line.observed, *names))
    values = np.column_stack([*X.T, effect, *curves.T])
    # the curves are given, so that nothing but their own lines is fitted beside the first
    whole = fit_acting(graph, values, {row.effect: "ordered"}, w)
    found = freed_at(whole, graph, [Edge(name, "->", row.effect) for name in names], values, w)
    if not whole.converged or found is None or not found.told:
        return replace(row, df=len(names), note="not testable: the regression has no maximum")
    spread = found.information
    if counts_units(fit, None, WHAT) or found.least < 0.0:
        spread = spread_by_units(fit, found.each, WHAT)[0]
    statistic = float(found.score @ np.linalg.solve(spread, found.score))
    return replace(row, statistic=statistic, df=len(names), p=float(chdtrc(len(names), statistic)))


def _curves(X: Floats, slopes: Floats, weights: Floats) -> Floats:
    """Those of squares, and of square and cube of the fitted value, that the causes and each other do not make up."""
    f = X @ slopes
    f = f / (f.std() or 1.0)
    terms = np.column_stack([np.ones(len(X)), X, X**2, f**2, f**3])
    gram = terms.T @ (terms * weights[:, None])
    size = np.sqrt(np.maximum(np.diag(gram), 1e-300))
    square = np.zeros((len(gram) + 1,) * 2)
    square[:-1, :-1] = gram / np.outer(size, size)
    _, curved = distinct(square, X.shape[1] + 1)
    found = terms[:, curved]
    return np.asarray((found - found.mean(axis=0)) / found.std(axis=0)) if found.size else found
