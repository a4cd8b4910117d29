"""Is what the graph implies true of the data? A test of each independence, and of what is no independence.

- Independences: the partial correlation, with its exact t distribution under normality; where values are missing, the
  one of the unrestricted maximum with the error that the observed values leave it.
- All other constraints at once: the likelihood ratio of the graph against the ancestral graph with the same
  independences (Richardson and Spirtes 2002), whose model obeys them and nothing else.
- Vanishing tetrads that no independence implies: a Wald test from the covariances, ``se² = 2 tr(HSHS) / n``.
- Pairs that have no edge and yet cannot be separated (Verma constraints and the like): a score test of the edge.

For data that are not normal, and for rows in clusters, each is tested by its spread over independent units. Where
categories act there are no covariances to test: see ``acting``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.data import Moments
from halftrek.estimation import Fitted
from halftrek.estimation.given.data_kind import patterns_behind, refit
from halftrek.graphs import Graph
from halftrek.inference.checks.edges.relaxation import relaxation
from halftrek.inference.checks.edges.scores import Edges
from halftrek.inference.checks.measures import measures
from halftrek.inference.checks.missing_checks import partial_correlation, partial_correlations, partial_residuals
from halftrek.inference.checks.robust_fit import ratio_mixture
from halftrek.inference.checks.tetrads import Tetrad, beyond_independences, tetrad_slope
from halftrek.inference.checks.unit_tests import Centred, unit_tests
from halftrek.inference.information.base import kind_of_data
from halftrek.inference.information.missing.incomplete import saturated_information
from halftrek.inference.information.robust import counts_units

Kind = Literal["together", "independence", "other constraints", "tetrad", "missing edge", "linearity"]
Test = Literal["t", "chi2", "z", "robust t", "robust chi2", "RESET", "score"]
Independence = tuple[str, str, tuple[str, ...]]

PIECE = 1_000_000  # numbers in the correlations that are looked at together


@dataclass(frozen=True)
class Constraint:
    """One test: what must hold, what was found, how unlikely that is if it holds.

    ``estimate`` is zero if the constraint holds exactly: a partial correlation, a tetrad of correlations, the value
    that a missing edge would take; nan for several constraints at once. A "robust" test needs no normal data, and
    counts clusters where rows are in such.
    """

    kind: Kind
    constraint: str
    estimate: float
    test: Test
    statistic: float
    df: float
    p: float
    note: str = ""


def constraint_tests(fit: Fitted, robust: bool | None = None) -> list[Constraint]:
    """Tests of everything that the graph implies and data could contradict.

    ``robust``: from independent units (rows, or clusters), for data that are not normal; left out: for clusters.
    """
    if fit.acting is not None:
        from halftrek.inference.checks.acting.overall import acting_tests  # here, for few need it

        return acting_tests(fit, robust)
    by_units = counts_units(fit, robust, "tests()")
    apart = fit.graph.implied_independences()
    data = kind_of_data(fit)
    rows = data.independences(fit, apart)
    if by_units:
        rows = _by_units(fit, rows, [_partial_slope(data.unrestricted(fit), one) for one in apart])
    if fit.n <= len(fit.graph) or not data.has_errors(fit):
        return rows  # no saturated model to compare with
    everything = measures(fit)
    remaining = everything.df - sum(not np.isnan(row.p) for row in rows)
    if remaining <= 0:
        return rows
    graph = ancestral(fit.graph.project() if fit.graph.hidden else fit.graph, apart)
    wider = refit(fit, graph) if apart else None
    found = [] if fit.graph.hidden else beyond_independences(fit.graph, graph, fit.model, apart)
    single = _tetrads(fit, found, by_units)
    if len(single) < remaining:
        single += _missing_edges(fit, apart, by_units)
    together = _other(fit, everything.chi2, wider, remaining, by_units)
    if remaining == 1 and single:  # one and the same constraint
        return [*rows, replace(together, constraint=single[0].constraint)]
    return [*rows, together, *single]


def _by_units(fit: Fitted, rows: list[Constraint], slopes: list[Floats]) -> list[Constraint]:
    """The same from independent units, where there is a test; slopes are those of the estimates where they are zero."""
    some = [k for k, row in enumerate(rows) if not np.isnan(row.p)]
    if not some:
        return rows
    forms = kind_of_data(fit).covariance_scores(fit, np.array([slopes[k] for k in some]))
    found = unit_tests(fit, np.array([rows[k].estimate for k in some]), forms)
    rows = list(rows)
    for k, t, p in zip(some, found.t, found.p, strict=True):
        rows[k] = replace(rows[k], test="robust t", statistic=float(t), df=found.df, p=float(p))
    return rows


def _partial_slope(moments: Moments, independent: Independence) -> Floats:
    """The derivative of a partial correlation in the covariance, where it is zero."""
    x, y, given = independent
    _, u, v = partial_residuals(moments, [moments.names.index(name) for name in (x, y, *given)])
    return np.asarray(np.outer(u, v) + np.outer(v, u)) / 2.0


def independence(moments: Moments, x: str, y: str, given: tuple[str, ...]) -> Constraint:
    """Partial correlation of x and y: t with n - 2 - |given| degrees of freedom if they are independent."""
    return independences(moments, [(x, y, given)])[0]


def independences(moments: Moments, asked: Sequence[Independence]) -> list[Constraint]:
    """The same of many, those with equally many others at once."""
    from scipy.special import stdtr

    place = {v: i for i, v in enumerate(moments.names)}
    by_size: dict[int, list[int]] = {}
    for k, (_, _, given) in enumerate(asked):
        by_size.setdefault(len(given), []).append(k)
    r, df = np.zeros(len(asked)), np.zeros(len(asked))
    for size, every in by_size.items():
        step = max(1, PIECE // (2 + size) ** 2)
        for some in (every[k : k + step] for k in range(0, len(every), step)):
            at = np.array([[place[v] for v in (asked[k][0], asked[k][1], *asked[k][2])] for k in some], dtype=np.intp)
            r[some] = np.clip(partial_correlations(moments.cov, at), -1.0, 1.0)
        df[every] = moments.n - 2.0 - size
    with np.errstate(invalid="ignore"):
        t = r * np.sqrt(np.where(df > 0.0, df, np.nan) / np.maximum(1.0 - r * r, 1e-300))
    p = 2.0 * stdtr(df, -np.abs(t))
    few = "too few rows for a test"
    return [
        Constraint("independence", _independent(*asked[k]), r_, "t", t_, df_, p_, "" if df_ > 0.0 else few)
        for k, (r_, t_, df_, p_) in enumerate(np.stack([r, t, df, p], axis=1).tolist())
    ]


def missing_independence(fit: Fitted, x: str, y: str, given: tuple[str, ...]) -> Constraint:
    """The same where values are missing: a Wald test on Fisher's scale, from the unrestricted maximum."""
    from scipy.special import ndtr

    patterns, nan = patterns_behind(fit), float("nan")
    known = saturated_information(patterns)
    text = _independent(x, y, given)
    if known is None:
        why = "no test: the rows do not determine the covariances without the model"
        return Constraint("independence", text, nan, "z", nan, nan, nan, why)
    at = [patterns.names.index(v) for v in (x, y, *given)]
    r, error = partial_correlation(known, patterns.unrestricted.moments, at)
    spare = patterns.total - 3.0 - len(given)
    if spare <= 0:
        return Constraint("independence", text, r, "z", nan, nan, nan, "too few rows for a test")
    if np.isnan(error):
        why = "no test: no row has the variables together"
        return Constraint("independence", text, nan, "z", nan, nan, nan, why)
    z = float(np.arctanh(r) / error * np.sqrt(spare / patterns.total))
    return Constraint("independence", text, r, "z", z, nan, 2.0 * float(ndtr(-abs(z))))


def _independent(x: str, y: str, given: tuple[str, ...]) -> str:
    return f"{x} independent of {y}" + (f" given {', '.join(given)}" if given else "")


def ancestral(graph: Graph, independences: list[Independence]) -> Graph:
    """The maximal ancestral graph: the same independences, an edge between every pair that nothing separates."""
    apart = {frozenset((x, y)) for x, y, _ in independences}
    above = {v: graph.ancestors(v) for v in graph.observed}
    arrows: list[tuple[str, str]] = []
    arcs: list[tuple[str, str]] = []
    order = graph.topological_order
    for j, y in enumerate(order):
        for x in order[:j]:
            if frozenset((x, y)) not in apart:
                (arrows if x in above[y] else arcs).append((x, y))
    return graph.with_(directed=arrows, bidirected=arcs, latents={}, coefficients={}, variances={}, intercepts={})


def _other(fit: Fitted, chi2: float, wider: Fitted | None, df: int, by_units: bool) -> Constraint:
    """The likelihood ratio against the graph that has the same independences; None if that is no restriction."""
    from scipy.special import chdtrc

    statistic = max(0.0, chi2 - (0.0 if wider is None else measures(wider).chi2))
    text = f"{df} constraint{'s' * (df > 1)} beyond independences, together"
    spread = ratio_mixture(fit, wider) if by_units else None
    if by_units and spread is not None:
        scaled, p = statistic / spread.scaling, spread.p(statistic)
        return Constraint("other constraints", text, float("nan"), "robust chi2", scaled, float(df), p)
    p = float(chdtrc(df, statistic))
    return Constraint("other constraints", text, float("nan"), "chi2", statistic, float(df), p)


def _tetrads(fit: Fitted, tetrads: list[Tetrad], by_units: bool) -> list[Constraint]:
    from scipy.special import ndtr

    rows, data = [], kind_of_data(fit)
    found = [tetrad_slope(data.unrestricted(fit), one) for one in tetrads]
    for one, (value, slope) in zip(tetrads, found, strict=True):
        (a, b), (c, d) = one.rows, one.columns
        text = f"cov({a}, {c}) cov({b}, {d}) = cov({a}, {d}) cov({b}, {c})"
        z = value / data.covariance_error(fit, slope)
        rows.append(Constraint("tetrad", text, value, "z", z, float("nan"), 2.0 * float(ndtr(-abs(z)))))
    if by_units:
        rows = _by_units(fit, rows, [slope for _, slope in found])
    return [row for row in rows if not np.isnan(row.p)]


def _missing_edges(fit: Fitted, independences: list[Independence], by_units: bool) -> list[Constraint]:
    """Score tests for pairs without an edge that no set separates; an arrow if data can tell it, else an arc."""
    from scipy.special import chdtrc

    edges = _inseparable(fit, independences)
    if not len(edges):
        return []
    freed = relaxation(fit, edges)
    freed = freed.take(np.isfinite(freed.score))
    test: Test = "chi2"
    statistic, df = freed.index(fit.n), 1.0
    p = chdtrc(1.0, statistic)
    if by_units and len(freed.edges):
        found = unit_tests(fit, freed.score, Centred(freed.rows, freed.score))
        statistic, p, test, df = found.t, found.p, "robust t", found.df
    rows: dict[frozenset[str], Constraint] = {}
    for k, edge in enumerate(freed.edges.named(fit.model.names)):
        text = f"no edge {edge}, which is no independence"
        row = Constraint("missing edge", text, float(freed.change[k]), test, float(statistic[k]), df, float(p[k]))
        rows.setdefault(frozenset((edge.first, edge.second)), row)
    return list(rows.values())


def _inseparable(fit: Fitted, independences: list[Independence]) -> Edges:
    """Arrows and arcs between pairs without an edge that no set separates, arrows first."""
    graph, names = fit.graph, fit.model.names
    apart = {frozenset((x, y)) for x, y, _ in independences}
    order = [v for v in graph.topological_order if v not in graph.hidden]
    pairs = []
    for j, y in enumerate(order):
        near = {*graph.parents(y), *graph.children(y), *graph.spouses(y)}
        pairs += [(x, y) for x in order[:j] if x not in near and frozenset((x, y)) not in apart]
    ends = np.array([(names.index(x), names.index(y)) for x, y in pairs], dtype=np.intp).reshape(-1, 2)
    both = np.concatenate([ends, np.sort(ends, axis=1)])
    return Edges(np.arange(len(both)) < len(ends), both[:, 0], both[:, 1])
