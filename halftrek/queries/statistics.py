"""Means, variances, correlations, probabilities and quantiles of variables in changed worlds."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np

from halftrek.errors import QueryError
from halftrek.model import CGLSCM, Floats, Gaussian
from halftrek.queries.affine import joint_of
from halftrek.queries.conditional import Conditional, numbers_seen
from halftrek.queries.derivatives import Gradient
from halftrek.queries.events import box_gradient, box_probability
from halftrek.queries.terms import Distribution, Probability, Quantile, Statistic, case_of, sums_of
from halftrek.queries.variants import Event, single

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
        case Statistic(kind, _, _):
            return _statistic(term, kind, found)
        case Quantile(level, _, _):
            return float(found.mean[0] + NormalDist().inv_cdf(level) * np.sqrt(found.cov[0, 0]))
        case Probability():
            both, behind = _ratio(term, found)
            return both / behind


def term_gradient(term: Asked, model: CGLSCM) -> Gradient:
    """How the number moves with the parameters."""
    found = conditional_of(term, model)
    by_mean, by_cov = np.zeros(found.count), np.zeros((found.count, found.count))
    match term:
        case Statistic("E", _, _):
            by_mean[0] = 1.0
        case Statistic("Var", _, _):
            by_cov[0, 0] = 1.0
        case Statistic("SD", _, _):
            by_cov[0, 0] = _half_inverse(found.cov[0, 0])
        case Statistic("Cov", _, _):
            by_cov[0, 1] = by_cov[1, 0] = 0.5
        case Statistic("Corr", _, _):
            r = _statistic(term, "Corr", found)
            by_cov[0, 1] = by_cov[1, 0] = 0.5 / np.sqrt(found.cov[0, 0] * found.cov[1, 1])
            by_cov[0, 0], by_cov[1, 1] = -r / (2.0 * found.cov[0, 0]), -r / (2.0 * found.cov[1, 1])
        case Quantile(level, _, _):
            by_mean[0] = 1.0
            by_cov[0, 0] = NormalDist().inv_cdf(level) * _half_inverse(found.cov[0, 0])
        case Probability():
            by_mean, by_cov = _ratio_gradient(term, found)
    return found.pull(by_mean, by_cov)


def _half_inverse(variance: float) -> float:
    """Derivative of the square root; where there is no variance, the answer does not move."""
    return 0.5 / float(np.sqrt(variance)) if variance > 0.0 else 0.0


def _statistic(term: Statistic, kind: str, found: Conditional) -> float:
    cov = found.cov
    match kind:
        case "E":
            return float(found.mean[0])
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
        by_mean[m:] -= both / behind**2 * less_mean
        by_cov[m:, m:] -= both / behind**2 * less_cov
    return by_mean, by_cov
