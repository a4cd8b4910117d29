"""Means, variances, correlations, probabilities and quantiles of variables in changed worlds."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np

from halftrek.arrays import Floats
from halftrek.errors import QueryError
from halftrek.models import CGLSCM, Gaussian
from halftrek.queries.affine import joint_of
from halftrek.queries.derivatives import Gradient
from halftrek.queries.kinds.terms import Distribution, Probability, Quantile, Statistic, case_of, sums_of
from halftrek.queries.kinds.variants import Event, single
from halftrek.queries.normal.conditional import Conditional, numbers_seen
from halftrek.queries.normal.events import box_gradient, box_probability
from halftrek.queries.normal.truncated import Truncated, truncated
from halftrek.queries.numbers import checked_number, checked_spread

Asked = Statistic | Probability | Quantile


def conditional_of(term: Asked | Distribution, model: CGLSCM) -> Conditional:
    """The sums of a term, then those of the events behind the bar, given the values that were seen."""
    case = case_of(term).in_worlds
    before = [case_of(term).placed_sum(of) for of in sums_of(term)]
    sums = [*before, *(e.of for e in case.events), *(single(v) for v in case.given)]
    seen = numbers_seen(list(case.given.items()), term)
    return Conditional(joint_of(model, sums, term), seen, term)


def distribution_of(query: Distribution, model: CGLSCM) -> Gaussian:
    """The joint distribution of the sums."""
    found = conditional_of(query, model)
    return Gaussian(tuple(map(str, query.of)), found.mean, found.cov)


def distribution_gradients(query: Distribution, model: CGLSCM) -> tuple[list[Gradient], list[Gradient]]:
    """Gradients of the means and of the variances."""
    found = conditional_of(query, model)
    units = np.eye(found.count)
    none = np.zeros((found.count, found.count))
    means = [found.pull(u, none) for u in units]
    return means, [found.pull(np.zeros(found.count), np.outer(u, u)) for u in units]


def term_value(term: Asked, model: CGLSCM) -> float:
    """The number that a term is in a model."""
    found = conditional_of(term, model)
    match term:
        case Statistic():
            cut = _cut(term, found)
            mean, cov = (found.mean, found.cov) if cut is None else cut.moments()
            found_value = _statistic(term, mean, cov)
            return (checked_spread if term.kind in ("Var", "SD") else checked_number)(found_value, term)
        case Quantile(level, _, _):
            return float(found.mean[0] + NormalDist().inv_cdf(level) * np.sqrt(found.cov[0, 0]))
        case Probability():
            both, behind = _ratio(term, found)
            return min(checked_number(both / behind, term), 1.0)  # two integrals, each with its own rounding


def term_gradient(term: Asked, model: CGLSCM) -> Gradient:
    """How the number moves with the parameters."""
    found = conditional_of(term, model)
    match term:
        case Statistic():
            cut = _cut(term, found)
            if cut is None:
                return found.pull(*_slopes(term, found.mean, found.cov, found.count))
            return found.pull(*cut.pull(*_slopes(term, *cut.moments(), len(term.of))))
        case Quantile(level, _, _):
            by_mean, by_cov = np.ones(1), np.zeros((1, 1))
            by_cov[0, 0] = NormalDist().inv_cdf(level) * _half_inverse(found.cov[0, 0])
            return found.pull(by_mean, by_cov)
        case Probability():
            return found.pull(*_ratio_gradient(term, found))


def _cut(term: Statistic, found: Conditional) -> Truncated | None:
    """The sums given the events behind the bar; None if there are none, or if they surely happen."""
    if not term.case.events:
        return None
    return truncated(found.mean, found.root, len(term.of), *_ends(term.case.events), term)


def _slopes(term: Statistic, mean: Floats, cov: Floats, count: int) -> tuple[Floats, Floats]:
    """Derivatives of a statistic in means and covariances."""
    by_mean, by_cov = np.zeros(count), np.zeros((count, count))
    match term.kind:
        case "E":
            by_mean[0] = 1.0
        case "Var":
            by_cov[0, 0] = 1.0
        case "SD":
            by_cov[0, 0] = _half_inverse(cov[0, 0])
        case "Cov":
            by_cov[0, 1] = by_cov[1, 0] = 0.5
        case "Corr":
            r = _statistic(term, mean, cov)
            by_cov[0, 1] = by_cov[1, 0] = 0.5 / np.sqrt(cov[0, 0] * cov[1, 1])
            by_cov[0, 0], by_cov[1, 1] = -r / (2.0 * cov[0, 0]), -r / (2.0 * cov[1, 1])
    return by_mean, by_cov


def _half_inverse(variance: float) -> float:
    """Derivative of the square root; where there is no variance, the answer does not move."""
    return 0.5 / float(np.sqrt(variance)) if variance > 0.0 else 0.0


def _statistic(term: Statistic, mean: Floats, cov: Floats) -> float:
    match term.kind:
        case "E":
            return float(mean[0])
        case "Var":
            return float(cov[0, 0])
        case "SD":
            return float(np.sqrt(cov[0, 0]))
        case "Cov":
            return float(cov[0, 1])
    if not (cov[0, 0] > 0.0 and cov[1, 1] > 0.0):
        fixed = term.of[0] if not cov[0, 0] > 0.0 else term.of[1]
        raise QueryError(f"{term}: {fixed} does not vary here, so it has no correlation")
    return float(cov[0, 1] / np.sqrt(cov[0, 0] * cov[1, 1]))


def _ends(events: tuple[Event, ...]) -> tuple[Floats, Floats]:
    return np.array([e.low for e in events]), np.array([e.high for e in events])


def _ratio(term: Probability, found: Conditional) -> tuple[float, float]:
    """The probabilities of all events, and of those behind the bar."""
    m = len(term.events)
    both = box_probability(found.mean, found.root, *_ends((*term.events, *term.case.events)))
    if not term.case.events:
        return both, 1.0
    behind = box_probability(found.mean[m:], found.root[:, m:], *_ends(term.case.events))
    if not behind > 1e-300:
        raise QueryError(f"{term}: what stands behind the bar has probability zero in this model")
    return both, behind


def _ratio_gradient(term: Probability, found: Conditional) -> tuple[Floats, Floats]:
    m = len(term.events)
    by_mean, by_cov = box_gradient(found.mean, found.root, *_ends((*term.events, *term.case.events)))
    if term.case.events:
        both, behind = _ratio(term, found)
        less_mean, less_cov = box_gradient(found.mean[m:], found.root[:, m:], *_ends(term.case.events))
        by_mean, by_cov = by_mean / behind, by_cov / behind
        by_mean[m:] -= both / behind * (less_mean / behind)  # not its square, which may be nothing
        by_cov[m:, m:] -= both / behind * (less_cov / behind)
    return by_mean, by_cov
