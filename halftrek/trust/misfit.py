"""Do the data reject the model that an answer comes from, and what follows for the answer?

The likelihood-ratio statistic is too large where rows are few. For regressions its mean is known: a variable regressed
on k - 1 others and a constant adds ``e(k) = n (log(n/2) - psi((n - k)/2))``, so that the statistic of a graph against
no restriction has the mean ``sum of e(1 .. p) - sum of e(k_j)``, exactly for graphs without hidden causes and closely
for others, and likewise the variance, with ``n^2 psi'((n - k)/2)`` in place of ``e(k)``. It is compared with the gamma
distribution of that mean and variance, which is chi-squared where rows are many. Of rows in clusters, with sampling
weights or with 0/1 outcomes it is compared with what the spread over them says instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from halftrek import identification
from halftrek.errors import HalftrekError
from halftrek.estimation import Fitted
from halftrek.estimation import fit as fit_model
from halftrek.estimation.given.data_kind import data_of
from halftrek.estimation.given.options import needs_whole
from halftrek.estimation.plan import make_plan
from halftrek.inference import How, estimate
from halftrek.inference.checks.measures import counted
from halftrek.inference.evidence.row_needs import needs_rows
from halftrek.inference.evidence.rows_behind import has_rows, sampled
from halftrek.inference.information.base import kind_of_data
from halftrek.inference.information.robust import is_clustered
from halftrek.inference.kept import kept
from halftrek.models import Gaussian
from halftrek.notes import Note, note
from halftrek.queries import Query, evaluate, variables_of

if TYPE_CHECKING:
    from halftrek.inference.checks.contradictions import Contradiction

REJECTED = 0.01  # p-value below which the data count as contradicting the graph
SINGLE = 6.6  # overall statistic below which no single restriction is rejected at this level
RELIABLE = 1.2  # correction for few rows up to which tests of single restrictions are taken as they are
LARGE = 60  # variables from which on only the part of the model before an answer is tested ...
TOO_LARGE = 200  # ... if that has fewer than this
MATTERS = 1.0  # standard errors by which a restriction moves an answer that is worth a word by itself
BESIDE = 3  # restrictions without which the answer is given
BUDGET = 0.5  # seconds to see whether the answer is known without a restriction


@dataclass(frozen=True)
class Misfit:
    """The overall test of a model, with its p-value for few rows."""

    chi2: float
    df: int
    p: float
    factor: float = 1.0  # by which the statistic is too large on average, with so few rows

    @property
    def rejected(self) -> bool:
        """True if the data contradict the graph somewhere."""
        return self.p < REJECTED


def rejected(fit: Fitted, query: Query | None = None) -> Misfit | None:
    """The test, if the data contradict the graph (of a large one, the part before the answer)."""
    tested = fit if query is None or len(fit.graph) <= LARGE else _before(fit, frozenset(variables_of(query)))
    if tested is None or len(tested.graph) > TOO_LARGE:
        return None
    found = misfit(tested)
    return found if found is not None and found.rejected else None


@kept
def misfit(fit: Fitted) -> Misfit | None:
    """The overall test of a fit; None where there is nothing to test, or too few rows to test it."""
    if not fit.converged or fit.method != "em" or not counted(fit)[1]:
        return None
    if sampled(fit) is not None and not has_rows(fit):  # what the weights do to the test, only rows can say
        return None
    from halftrek.inference.checks.robust_fit import measures_by_units, usual_measures

    try:
        by_units = not is_clustered(fit) and needs_rows(fit)
        found = measures_by_units(fit)[0] if by_units else usual_measures(fit)[0]
    except HalftrekError:  # rows that are gone, clusters that are too few
        return None
    if not found.df or found.pvalue is None or not np.isfinite(found.chi2):
        return None
    few = few_rows(fit, kind_of_data(fit).rows(fit))
    if few is None:
        return None
    p = found.pvalue if is_clustered(fit) or needs_rows(fit) else few.tail(found.chi2, found.df)
    return Misfit(found.chi2, found.df, p, few.factor)


@kept
def _before(fit: Fitted, variables: frozenset[str]) -> Fitted | None:
    """The model of some variables and all their causes, fitted alone; None for a fit that cannot be made again."""
    if fit.method != "em" or fit.options.noise or fit.options.intercepts or fit.graph.restrictions:
        return None
    graph = fit.graph
    kept_names = graph.ancestors(variables)
    inside = [v for v in graph.observed if v in kept_names]
    if len(inside) > TOO_LARGE:
        return None
    part = graph.induced(inside)
    part = part.with_(latents={u: kids for u, kids in part.latents.items() if len(kids) > 1}, coefficients={})
    found = fit_model(part, data_of(fit).select(inside))
    return replace(found, rows=None if fit.rows is None else fit.rows.select(tuple(inside)))


@dataclass(frozen=True)
class FewRows:
    """What few rows do to the likelihood-ratio statistic of a true graph."""

    factor: float = 1.0  # its mean over the degrees of freedom
    spread: float = 1.0  # its variance over that of chi-squared

    def tail(self, chi2: float, df: int) -> float:
        """The probability of as large a statistic: of the gamma distribution with this mean and variance."""
        from scipy.special import gammaincc

        shape = 0.5 * df * self.factor**2 / self.spread
        return float(gammaincc(shape, shape * chi2 / (self.factor * df)))


def few_rows(fit: Fitted, rows: float) -> FewRows | None:
    """By how much the statistic is too large, and spreads too far; None for fewer rows than it takes."""
    from scipy.special import polygamma, psi

    p = len(fit.graph)
    if rows <= p + 1.0:
        return None
    if needs_whole(fit.graph):
        return FewRows()
    plan = make_plan(fit.graph, fit.model.names, fit.options)
    sizes: list[int] = []
    for task in plan.every_task:
        count = np.ones(task.shape.size, dtype=np.intp)
        for j in (*task.shape.column, *(max(pair) for pair in task.shape.pairs), *(j for _, j in task.shape.loadings)):
            count[j] += 1
        sizes += count.tolist()
    restrictions = p * (p + 1) // 2 - sum(sizes)
    if restrictions < 1:
        return FewRows()
    free, full = (rows - np.minimum(np.array(sizes), p)) / 2.0, (rows - np.arange(1, p + 1)) / 2.0
    mean = float(rows * (psi(free).sum() - psi(full).sum()))
    variance = float(rows**2 * (polygamma(1, full).sum() - polygamma(1, free).sum()))
    return FewRows(max(1.0, mean / restrictions), max(1.0, variance / (2.0 * restrictions)))


def misfit_notes(fit: Fitted, query: Query, how: How) -> tuple[Note, ...]:
    """What to say beside an answer of a model that the data reject; nothing if they do not.

    Even where the overall test is passed, a single restriction may be rejected that moves this answer a lot, an
    over-identifying instrument for instance: it must not drown among all the others.
    """
    found = rejected(fit, query)
    if len(fit.graph) > LARGE:
        return () if found is None else (note("misfit", p=found.p),)
    overall = misfit(fit)
    if overall is None or overall.chi2 < SINGLE or (found is None and overall.factor > RELIABLE):
        return ()
    against = _contradicted(fit, query)
    if found is None:
        against = [
            row
            for row in against
            if row.behind == "answer" and row.p_adjusted < REJECTED and abs(row.standard_errors) >= MATTERS
        ]
    overall_note = () if found is None else (note("misfit", p=found.p),)
    if not against:
        return overall_note
    others = [n for row in against[:BESIDE] for n in _without(fit, query, row, how)]
    return (*overall_note, _named(against).note, *dict.fromkeys(others))


def _named(against: Sequence[Contradiction]) -> Contradiction:
    """The restriction that moves the answer most; of several that are one and the same to the data, an independence."""
    from halftrek.inference.checks.contradictions import SAME

    first = against[0]
    same = [row for row in against if abs(row.statistic - first.statistic) <= SAME * (1.0 + first.statistic)]
    return next((row for row in same if row.independence), first)


@kept
def _contradicted(fit: Fitted, query: Query) -> Sequence[Contradiction]:
    """Whatever the interval is to be: the same for all kinds."""
    from halftrek.inference.checks.contradictions import contradictions

    try:
        return tuple(contradictions(fit, query))
    except (HalftrekError, np.linalg.LinAlgError):
        return ()


def _without(fit: Fitted, query: Query, row: Contradiction, how: How) -> tuple[Note, ...]:
    """The answer without the contradicted restriction, where the graph still determines it."""
    from halftrek.inference.checks.contradictions import relaxed

    try:
        wider = relaxed(fit, row.edge)
        verdict = identification.identify(wider.graph, query, budget=BUDGET, witness=False)
        if not verdict.identified:
            return (note("not known without it", edge=row.edge),)
        value = evaluate(query, wider.model)
        usual = how if how.interval in ("delta", "robust") else replace(how, interval="delta")
        sure = estimate(wider, query, value, usual)
    except HalftrekError:
        return ()
    if isinstance(value, Gaussian) or np.isnan(sure.intervals).any():
        return ()
    low, high = (float(x) for x in sure.intervals[0])
    return (note("without the restriction", edge=row.edge, value=float(value), low=low, high=high),)
