"""Is what the graph implies true of the data? A test of each independence, and of what is no independence.

- Independences: the partial correlation, with its exact t distribution under normality; where values are missing, the
  one of the unrestricted maximum with the error that the observed values leave it.
- All other constraints at once: the likelihood ratio of the graph against the ancestral graph with the same
  independences (Richardson and Spirtes 2002), whose model obeys them and nothing else.
- Vanishing tetrads that no independence implies: a Wald test from the covariances, ``se² = 2 tr(HSHS) / n``.
- Pairs that have no edge and yet cannot be separated (Verma constraints and the like): a score test of the edge.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from halftrek.estimation import Fit
from halftrek.estimation import fit as fit_model
from halftrek.graph import Graph
from halftrek.inference.holed_checks import partial_correlation
from halftrek.inference.incomplete import PatternInformation
from halftrek.inference.measures import measures
from halftrek.inference.modification import edge_scores
from halftrek.inference.saturated import saturated_information
from halftrek.inference.tetrads import Tetrad, beyond_independences, tetrad_test
from halftrek.moments import Moments, Patterns

Kind = Literal["independence", "other constraints", "tetrad", "missing edge"]


@dataclass(frozen=True)
class Constraint:
    """One test: what must hold, what was found, how unlikely that is if it holds.

    ``estimate`` is zero if the constraint holds exactly: a partial correlation, a tetrad of correlations, the value
    that a missing edge would take; nan for several constraints at once.
    """

    kind: Kind
    constraint: str
    estimate: float
    test: Literal["t", "chi2", "z"]
    statistic: float
    df: float
    p: float
    note: str = ""


def constraint_tests(fit: Fit) -> list[Constraint]:
    """Tests of everything that the graph implies and data could contradict."""
    independences = fit.graph.implied_independences()
    holes = fit.patterns
    known = None if holes is None else saturated_information(holes)
    if holes is None:
        rows = [independence(fit.moments, x, y, given) for x, y, given in independences]
    else:
        rows = [holed_independence(holes, known, x, y, given) for x, y, given in independences]
    if fit.n <= len(fit.graph) or (holes is not None and known is None):
        return rows  # no saturated model to compare with
    everything = measures(fit)
    remaining = everything.df - sum(not np.isnan(row.p) for row in rows)
    if remaining <= 0:
        return rows
    wider = ancestral(fit.graph, independences)
    base = measures(fit_model(wider, fit.moments if holes is None else holes)).chi2 if independences else 0.0
    found = beyond_independences(fit.graph, wider, fit.model, independences)
    moments = fit.moments if holes is None else holes.unrestricted.moments
    single = [row for row in (_tetrad(moments, one, known) for one in found) if not np.isnan(row.p)]
    if len(single) < remaining:
        single += _missing_edges(fit, independences)
    together = _other(everything.chi2, base, remaining)
    if remaining == 1 and single:  # one and the same constraint
        return [*rows, replace(together, constraint=single[0].constraint)]
    return [*rows, together, *single]


def independence(moments: Moments, x: str, y: str, given: tuple[str, ...]) -> Constraint:
    """Partial correlation of x and y: t with n - 2 - |given| degrees of freedom if they are independent."""
    from scipy.special import stdtr

    text = _independent(x, y, given)
    at = [moments.names.index(v) for v in (x, y, *given)]
    cov = moments.cov[np.ix_(at, at)]
    left = cov[:2, :2]
    if given:
        left = left - cov[:2, 2:] @ np.linalg.lstsq(cov[2:, 2:], cov[2:, :2], rcond=None)[0]
    r = float(np.clip(left[0, 1] / np.sqrt(left[0, 0] * left[1, 1]), -1.0, 1.0))
    df = moments.n - 2.0 - len(given)
    if df <= 0:
        nan = float("nan")
        return Constraint("independence", text, r, "t", nan, df, nan, "too few rows for a test")
    t = r * np.sqrt(df / max(1.0 - r * r, 1e-300))
    return Constraint("independence", text, r, "t", float(t), df, 2.0 * float(stdtr(df, -abs(t))))


def holed_independence(
    patterns: Patterns, known: PatternInformation | None, x: str, y: str, given: tuple[str, ...]
) -> Constraint:
    """The same where values are missing: a Wald test on Fisher's scale, from the unrestricted maximum."""
    from scipy.special import ndtr

    nan = float("nan")
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


def ancestral(graph: Graph, independences: list[tuple[str, str, tuple[str, ...]]]) -> Graph:
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
    return Graph(arrows, arcs, observed=graph.observed)


def _other(chi2: float, wider: float, df: int) -> Constraint:
    from scipy.special import chdtrc

    statistic = max(0.0, chi2 - wider)
    text = f"{df} constraint{'s' * (df > 1)} beyond independences, together"
    return Constraint(
        "other constraints", text, float("nan"), "chi2", statistic, float(df), float(chdtrc(df, statistic))
    )


def _tetrad(moments: Moments, tetrad: Tetrad, known: PatternInformation | None) -> Constraint:
    from scipy.special import ndtr

    (a, b), (c, d) = tetrad.rows, tetrad.columns
    text = f"cov({a}, {c}) cov({b}, {d}) = cov({a}, {d}) cov({b}, {c})"
    value, error = tetrad_test(moments, tetrad, known)
    z = value / error
    return Constraint("tetrad", text, value, "z", z, float("nan"), 2.0 * float(ndtr(-abs(z))))


def _missing_edges(fit: Fit, independences: list[tuple[str, str, tuple[str, ...]]]) -> list[Constraint]:
    """Score tests for pairs without an edge that no set separates; an arrow if data can tell it, else an arc."""
    from scipy.special import chdtrc

    graph, names = fit.graph, fit.model.names
    apart = {frozenset((x, y)) for x, y, _ in independences}
    pairs = []
    order = graph.topological_order
    for j, y in enumerate(order):
        near = {*graph.parents(y), *graph.children(y), *graph.spouses(y)}
        pairs += [(x, y) for x in order[:j] if x not in near and frozenset((x, y)) not in apart]
    if not pairs:
        return []
    directed, mutual = edge_scores(fit)
    rows = []
    for x, y in pairs:
        i, j = names.index(x), names.index(y)
        for scores, at, arrow in ((directed, (i, j), "->"), (mutual, (min(i, j), max(i, j)), "<->")):
            score, left = float(scores.score[at]), float(scores.information[at])
            if np.isfinite(left):
                index = fit.n * score**2 / left
                text = f"no edge {x} {arrow} {y}, which is no independence"
                p = float(chdtrc(1.0, index))
                rows.append(Constraint("missing edge", text, score / left, "chi2", index, 1.0, p))
                break
    return rows
