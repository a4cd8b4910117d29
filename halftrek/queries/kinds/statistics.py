"""Means, variances, correlations, probabilities and quantiles of variables in changed worlds."""

from __future__ import annotations

from collections.abc import Callable
from statistics import NormalDist

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.errors import QueryError
from halftrek.queries.affine import Parameters, joint_of
from halftrek.queries.derivatives import Gradient
from halftrek.queries.kinds.distributions import Distribution
from halftrek.queries.kinds.terms import Probability, Quantile, Statistic, Stepped, case_of, sums_of
from halftrek.queries.kinds.variants import Event, single
from halftrek.queries.normal.conditional import Conditional, numbers_seen
from halftrek.queries.normal.events import box_gradient, box_probability, interval_probability
from halftrek.queries.normal.truncated import Truncated, truncated
from halftrek.queries.numbers import checked_number, checked_spread, each_model, refused
from halftrek.queries.written.writing import number

Asked = Statistic | Probability | Quantile
SMALL = 1000  # coefficients


def conditional_of(term: Asked | Distribution, models: Parameters) -> Conditional:
    """The sums of a term, then those of the events behind the bar, given the values that were seen."""
    refuse_single_values(term)
    case = case_of(term).in_worlds
    before = [case_of(term).placed_sum(of) for of in sums_of(term)]
    sums = [*before, *(e.of for e in case.events), *(single(v) for v in case.given)]
    seen = numbers_seen(list(case.given.items()), term)
    return Conditional(joint_of(models, sums, term), seen, term)


def refuse_single_values(term: Asked | Distribution) -> None:
    """Raise QueryError for ``y = 2`` of a normal variable; that of an ordered column lies between two cuts by now."""
    for event in term.events if isinstance(term, Probability) else ():
        if event.at is not None:
            raise QueryError(
                f"{term}: a single value of a continuous outcome has probability 0; ask P({event.of} > "
                f"{number(event.at)}) or for a range. If the column is yes/no or a scale, say "
                f"kinds={{{str(event.of)!r}: 'ordered'}}; without it E[...] of a 0/1 outcome is the probability of 1"
            )


def distribution_gradients(query: Distribution, models: Parameters) -> list[Gradient]:
    """Gradients of the means, then of the variances, along first axes: of a small model all in one, else one each.

    A small model costs calls, many or a large one memory, and a mean or a variance alone has parts that are nothing.
    """
    found = conditional_of(query, models)
    k, axes = found.count, found.mean.ndim - 1
    by_mean, by_cov = np.zeros((2 * k, *[1] * axes, k)), np.zeros((2 * k, *[1] * axes, k, k))
    for i in range(k):
        by_mean[i, ..., i] = by_cov[k + i, ..., i, i] = 1.0
    pieces = [slice(i, i + 1) for i in range(2 * k)] if models.T.size > SMALL else [slice(None)]
    return [found.pull(by_mean[piece], by_cov[piece]) for piece in pieces]


def term_value(term: Asked, models: Parameters) -> Floats:
    """The number that a term is in each model."""
    found = conditional_of(term, models)
    match term:
        case Stepped(first=first):
            steps, share, _ = _stairs(term, found.mean, found.cov)
            return checked_number(first + share @ steps, term)
        case Statistic(kind, _, _):
            mean, cov = (found.mean, found.cov) if not term.case.events else _cut_moments(term, found)
            return (checked_spread if kind in ("Var", "SD") else checked_number)(_statistic(term, mean, cov), term)
        case Quantile(level, _, _):
            return np.asarray(found.mean[..., 0] + NormalDist().inv_cdf(level) * np.sqrt(found.cov[..., 0, 0]))
        case Probability(events, case):
            if len(events) == 1 and not case.events:
                return _one_event(events[0], found.mean[..., 0], np.sqrt(found.cov[..., 0, 0]))
            ratio = _per_model(found, lambda mean, root: _ratio(term, mean, root))
            share = checked_number(ratio[..., 0] / ratio[..., 1], term)
            return np.asarray(np.minimum(share, 1.0))  # two integrals, each with its own rounding


def term_gradient(term: Asked, models: Parameters) -> Gradient:
    """How the number moves with the parameters."""
    found = conditional_of(term, models)
    match term:
        case Statistic() if not term.case.events:
            return found.pull(*_slopes(term, found.mean, found.cov))
        case Statistic():
            return found.pull(*_apart(_per_model(found, lambda mean, root: _cut_slopes(term, mean, root))))
        case Quantile(level, _, _):
            spread = NormalDist().inv_cdf(level) * _half_inverse(found.cov)
            return found.pull(np.ones(1), spread)
        case Probability():
            return found.pull(*_apart(_per_model(found, lambda mean, root: _ratio_gradient(term, mean, root))))


def _per_model(found: Conditional, find: Callable[[Floats, Floats], Floats]) -> Floats:
    """What is found from the mean and the root of each model."""
    return each_model(found.mean.shape[:-1], lambda at: find(found.mean[at], found.root[at]))


def _apart(slopes: Floats) -> tuple[Floats, Floats]:
    """Derivatives in means and in covariances, out of one array."""
    return slopes[..., 0, :], slopes[..., 1:, :]


def _cut(term: Statistic, mean: Floats, root: Floats) -> Truncated | None:
    """The sums of one model given the events behind the bar; None if they surely happen."""
    return truncated(mean, root, len(term.of), *_ends(term.case.events), term)


def _cut_moments(term: Statistic, found: Conditional) -> tuple[Floats, Floats]:
    """Means and covariances given the events behind the bar."""

    def one(mean: Floats, root: Floats) -> Floats:
        cut, k = _cut(term, mean, root), len(term.of)
        return np.vstack((mean[:k], root[:, :k].T @ root[:, :k]) if cut is None else cut.moments())

    return _apart(_per_model(found, one))


def _cut_slopes(term: Statistic, mean: Floats, root: Floats) -> Floats:
    cut = _cut(term, mean, root)
    if cut is None:
        return np.vstack(_slopes(term, mean, root.T @ root))
    return np.vstack(cut.pull(*_slopes(term, *cut.moments())))


def _slopes(term: Statistic, mean: Floats, cov: Floats) -> tuple[Floats, Floats]:
    """Derivatives of a statistic in means and covariances."""
    by_mean, by_cov = np.zeros_like(mean), np.zeros_like(cov)
    if isinstance(term, Stepped):
        from halftrek.layer.bivariate import phi

        steps, _, u = _stairs(term, mean, cov)
        sd = np.sqrt(cov[..., 0, 0])
        by_mean[..., 0] = phi(u) @ steps / sd
        by_cov[..., 0, 0] = np.where(np.isfinite(u), u * phi(u), 0.0) @ steps / (2.0 * cov[..., 0, 0])
        return by_mean, by_cov
    match term.kind:
        case "E":
            by_mean[..., 0] = 1.0
        case "Var":
            by_cov[..., 0, 0] = 1.0
        case "SD":
            by_cov[..., 0, 0] = _half_inverse(cov)[..., 0, 0]
        case "Cov":
            by_cov[..., 0, 1] = by_cov[..., 1, 0] = 0.5
        case "Corr":
            r, first, last = _statistic(term, mean, cov), cov[..., 0, 0], cov[..., 1, 1]
            by_cov[..., 0, 1] = by_cov[..., 1, 0] = 0.5 / np.sqrt(first * last)
            by_cov[..., 0, 0], by_cov[..., 1, 1] = -r / (2.0 * first), -r / (2.0 * last)
    return by_mean, by_cov


def _stairs(term: Stepped, mean: Floats, cov: Floats) -> tuple[Floats, Floats, Floats]:
    """The steps, the probabilities of passing each cut, and how far beyond the mean each is."""
    from scipy.special import ndtr

    cuts, steps = term.arrays
    with np.errstate(divide="ignore", invalid="ignore"):
        u = (cuts - mean[..., :1]) / np.sqrt(cov[..., 0, 0, None])
    return steps, np.asarray(ndtr(-u)), u


def _half_inverse(variance: Floats) -> Floats:
    """Derivative of the square root; where there is no variance, the answer does not move."""
    there = variance > 0.0
    return np.where(there, 0.5 / np.sqrt(np.where(there, variance, 1.0)), 0.0)


def _statistic(term: Statistic, mean: Floats, cov: Floats) -> Floats:
    match term.kind:
        case "E":
            return mean[..., 0]
        case "Var":
            return cov[..., 0, 0]
        case "SD":
            return np.sqrt(cov[..., 0, 0])
        case "Cov":
            return cov[..., 0, 1]
    first, last = cov[..., 0, 0], cov[..., 1, 1]
    fixed = ~(first > 0.0)
    wrong = fixed | ~(last > 0.0)
    constant = term.of[0 if fixed.all() else 1]
    cov = refused(cov[..., 0, 1], wrong, term, f"{constant} does not vary here, so it has no correlation")
    return np.asarray(cov / np.sqrt(np.where(wrong, 1.0, first * last)))


def _ends(events: tuple[Event, ...]) -> tuple[Floats, Floats]:
    return np.array([e.low for e in events]), np.array([e.high for e in events])


def _one_event(event: Event, mean: Floats, sd: Floats) -> Floats:
    """The probability of an interval; what does not vary is inside or not."""
    spread = np.where(sd > 0.0, sd, 1.0)
    share = interval_probability((event.low - mean) / spread, (event.high - mean) / spread)
    return np.where(sd > 0.0, share, (event.low < mean) & (mean < event.high))


def _ratio(term: Probability, mean: Floats, root: Floats) -> Floats:
    """The probabilities of all events, and of those behind the bar, in one model."""
    m = len(term.events)
    both = box_probability(mean, root, *_ends((*term.events, *term.case.events)))
    if not term.case.events:
        return np.array([both, 1.0])
    behind = box_probability(mean[m:], root[:, m:], *_ends(term.case.events))
    if not behind > 1e-300:
        raise QueryError(f"{term}: what stands behind the bar has probability zero in this model")
    return np.array([both, behind])


def _ratio_gradient(term: Probability, mean: Floats, root: Floats) -> Floats:
    m = len(term.events)
    by_mean, by_cov = box_gradient(mean, root, *_ends((*term.events, *term.case.events)))
    if term.case.events:
        both, behind = _ratio(term, mean, root)
        less_mean, less_cov = box_gradient(mean[m:], root[:, m:], *_ends(term.case.events))
        by_mean, by_cov = by_mean / behind, by_cov / behind
        by_mean[m:] -= both / behind * (less_mean / behind)  # not its square, which may be nothing
        by_cov[m:, m:] -= both / behind * (less_cov / behind)
    return np.vstack([by_mean, by_cov])
