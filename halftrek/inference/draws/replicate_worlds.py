"""Variables in worlds where others are held, for many models at once: joint normal distributions, and what follows.

A variable of any such world is affine in the errors ``r ~ N(mu, Omega)`` that all worlds share: its slopes are the
variable's column of B in that world without what is held, its constant the held values times the rest of the column.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import NormalDist

import numpy as np

from halftrek.arrays import Floats
from halftrek.estimation import BatchFit
from halftrek.models import total_effects
from halftrek.queries import Counterfactual, Potential
from halftrek.queries.kinds.terms import Distribution, Probability, Quantile, Statistic, case_of, sums_of
from halftrek.queries.kinds.variants import Event, Sum, single

Parts = list[tuple[float, Potential]]
Term = Statistic | Probability | Quantile | Distribution

SINGULAR = 1e-10  # share of the largest eigenvalue of a correlation matrix that is rounding


def counterfactual_moments(batch: BatchFit, query: Counterfactual) -> tuple[Floats, Floats] | None:
    """Means and covariances of the outcomes; None if some value was left out."""
    parts: list[Parts] = [[(1.0, v)] for v in (*query.outcomes, *query.given)]
    return _conditional(batch, parts, list(query.given.values()))


def term_values(batch: BatchFit, term: Statistic | Probability | Quantile) -> Floats | None:
    """The number that a term is in each model; None if it needs more than held variables and single events."""
    found = distribution_moments(batch, term)
    if found is None:
        return None
    mean, cov = found
    sd = np.sqrt(cov[:, 0, 0])
    match term:
        case Statistic("E", _, _):
            return mean[:, 0]
        case Statistic("Var", _, _):
            return cov[:, 0, 0]
        case Statistic("SD", _, _):
            return sd
        case Statistic("Cov", _, _):
            return cov[:, 0, 1]
        case Statistic("Corr", _, _):
            with np.errstate(divide="ignore", invalid="ignore"):
                return np.asarray(cov[:, 0, 1] / np.sqrt(cov[:, 0, 0] * cov[:, 1, 1]))
        case Quantile(level, _, _):
            return mean[:, 0] + NormalDist().inv_cdf(level) * sd
        case Probability(events, _) if len(events) == 1 and (sd > 0.0).all():
            return _probability(events[0], mean[:, 0], sd)
        case _:
            return None


def distribution_moments(batch: BatchFit, term: Term) -> tuple[Floats, Floats] | None:
    """Means and covariances of the sums that a term is about, given what was seen."""
    case = case_of(term).in_worlds
    if case.events:
        return None
    sums = [*(case_of(term).placed_sum(of) for of in sums_of(term)), *(single(v) for v in case.given)]
    parts = [_plain(of) for of in sums]
    if any(p is None for p in parts):
        return None
    return _conditional(batch, [p for p in parts if p is not None], list(case.given.values()))


def _plain(of: Sum) -> Parts | None:
    """A sum whose variables live in worlds where others are held, nothing else."""
    found = [(weight, v.plain) for weight, v in of.parts]
    return [(w, p) for w, p in found if p is not None] if all(p is not None for _, p in found) else None


def _probability(event: Event, mean: Floats, sd: Floats) -> Floats:
    from scipy.special import ndtr

    low, high = (event.low - mean) / sd, (event.high - mean) / sd
    upper = low > 0.0  # differences of small tails keep their digits
    return np.asarray(np.where(upper, ndtr(-low) - ndtr(-high), ndtr(high) - ndtr(low)))


def _conditional(
    batch: BatchFit, sums: Sequence[Parts], values: Sequence[float | None]
) -> tuple[Floats, Floats] | None:
    """Means and covariances of the first sums, given the values of the last."""
    held = [x for parts in sums for _, v in parts for x in v.held.values()]
    if any(x is None for x in (*values, *held)):
        return None
    mean, cov = _joint(batch, sums)
    k = len(sums) - len(values)
    if not values:
        return mean, cov
    seen = np.array([float(x) for x in values if x is not None])
    scale = np.sqrt(np.maximum(np.diagonal(cov, axis1=1, axis2=2)[:, k:], 0.0))
    scale[scale == 0.0] = 1.0
    spread = cov[:, k:, k:] / (scale[:, :, None] * scale[:, None, :])
    cross = cov[:, :k, k:] / scale[:, None, :]
    slope = cross @ np.linalg.pinv(spread, rcond=SINGULAR, hermitian=True)
    gap = ((seen - mean[:, k:]) / scale)[:, :, None]
    rest = cov[:, :k, :k] - slope @ cross.transpose(0, 2, 1)
    rounding = 1e-12 * np.diagonal(cov, axis1=1, axis2=2)[:, :k]
    own = np.arange(k)
    rest[:, own, own] = np.where(rest[:, own, own] > rounding, rest[:, own, own], 0.0)
    return mean[:, :k] + (slope @ gap)[:, :, 0], rest


def _joint(batch: BatchFit, sums: Sequence[Parts]) -> tuple[Floats, Floats]:
    named = [w for parts in sums for _, v in parts for w in (v.variable, *v.held)]
    names, T, omega, mu = ancestral(batch, named)
    worlds: dict[frozenset[str], Floats] = {}
    slopes = np.zeros((len(batch), len(names), len(sums)))
    constants = np.zeros((len(batch), len(sums)))
    for s, parts in enumerate(sums):
        for weight, v in parts:
            key = frozenset(v.held)
            if key not in worlds:
                worlds[key] = _effects(T, [names.index(w) for w in key])
            column = weight * worlds[key][:, :, names.index(v.variable)]
            for w, x in v.held.items():
                constants[:, s] += column[:, names.index(w)] * float(x or 0.0)
                column[:, names.index(w)] = 0.0
            slopes[:, :, s] += column
    mean = constants + (mu[:, None, :] @ slopes)[:, 0]
    return mean, slopes.transpose(0, 2, 1) @ omega @ slopes


def _effects(T: Floats, held: list[int]) -> Floats:
    """Total effects where some variables no longer listen to their causes."""
    cut = T.copy()
    cut[:, :, held] = 0.0
    return total_effects(cut)


def ancestral(batch: BatchFit, variables: Iterable[str]) -> tuple[list[str], Floats, Floats, Floats]:
    """The parameters ``T, Omega, mu`` of some variables and all their causes; what lies downstream does not matter."""
    keep = batch.graph.ancestors(variables)
    at = np.array([i for i, v in enumerate(batch.names) if v in keep], dtype=np.intp)
    C = batch.C[:, :, at]
    omega = C.transpose(0, 2, 1) @ C + batch.W[:, at[:, None], at]
    return [batch.names[i] for i in at], batch.T[:, at[:, None], at], omega, batch.mu[:, at]
