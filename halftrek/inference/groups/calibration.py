"""How large a statistic of many groups is when groups are alike: drawn again from the fitted models.

With few rows to a group the chi-square reference is too small, and with many groups the excess adds up. The mean of
the drawn statistics over their degrees of freedom measures it (an empirical Bartlett correction); as that mean is
itself drawn, the corrected statistic is referred to the F distribution.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from halftrek.bottom.arrays import Floats, Ints
from halftrek.data import Moments, Patterns
from halftrek.estimation import BatchFit, Fitted, fit_batch
from halftrek.estimation.given.data_kind import data_of
from halftrek.estimation.many.groups import FittedGroups, placed
from halftrek.estimation.missing.fiml import refit_incomplete
from halftrek.estimation.plan import make_plan
from halftrek.estimation.status import Status
from halftrek.inference.draws.missing_draws import draw_patterns
from halftrek.inference.groups.estimates import Sample
from halftrek.models import CGLSCM

DRAWN = 1000  # groups to draw at least, all replicates together ...
INCOMPLETE_DRAWN = 120  # ... and where some have missing values, for which each is a search of its own


@dataclass(frozen=True)
class Drawn:
    """Sums of statistics drawn under equality, and of their degrees of freedom."""

    statistic: float
    df: float

    @property
    def inflation(self) -> float:
        """How much larger than its degrees of freedom the statistic is on average."""
        return self.statistic / self.df

    def p(self, statistic: float, df: float) -> float:
        """The p-value of a statistic."""
        from scipy.special import fdtrc

        return float(fdtrc(df, self.df, statistic / df / self.inflation))


@dataclass(frozen=True, eq=False)
class Redrawn:
    """Fits to data drawn again for every group, several times over.

    ``group`` says which group each fit is of, ``time`` in which replicate; fits that reached no maximum are left out.
    ``mean`` and ``cov`` are what complete groups were drawn to have.
    """

    sample: Sample
    mean: Floats
    cov: Floats
    group: Ints
    time: Ints

    def times(self) -> Iterator[slice]:
        """The fits of each replicate."""
        ends = np.r_[0, np.flatnonzero(np.diff(self.time)) + 1, len(self.time)]
        return (slice(int(a), int(b)) for a, b in pairwise(ends))

    def data(self, places: slice) -> list[Moments | Patterns]:
        """What some of the groups were drawn to have."""
        found: list[Moments | Patterns] = []
        for i in range(places.start, places.stop):
            if i in self.sample.incomplete:
                found.append(data_of(self.sample.incomplete[i]))
            else:
                n = float(self.sample.n[i])
                found.append(Moments(self.sample.batch.names, n, self.mean[i], self.cov[i]))
        return found


def redraw(fits: FittedGroups, sample: Sample, seed: int, *, alike: CGLSCM | None = None) -> Redrawn:
    """Draw the data of all groups from their models, or all from one, and fit them, so often that there are many."""
    groups = len(sample.n)
    times = -(-(INCOMPLETE_DRAWN if sample.incomplete else DRAWN) // groups)
    group, time = np.tile(np.arange(groups), times), np.repeat(np.arange(times), groups)
    whole = np.flatnonzero(~np.isin(group, list(sample.incomplete)))
    mean, cov = np.zeros((len(group), len(sample.batch.names))), np.zeros((len(group), *sample.batch.cov.shape[1:]))
    n, own = sample.n[group], group[whole]
    found = sample.batch.take(np.zeros(len(group), dtype=np.intp))  # to be overwritten, each by its own
    if len(whole):
        drawn_from = (sample.batch.cov[own], sample.batch.mean[own])
        if alike is not None:
            drawn_from = np.broadcast_to(alike.cov, (len(own), *alike.cov.shape)), np.zeros_like(mean[whole])
        cov[whole], mean[whole] = draw_moments(*drawn_from, n[whole], np.random.default_rng(seed))
        found = _written(found, whole, _fitted(fits, cov[whole], mean[whole], n[whole]))
    incomplete = {
        place: fit
        for i in sample.incomplete
        for place, fit in zip(
            i + groups * np.arange(times), _incomplete(fits, sample, i, times, seed, alike), strict=True
        )
    }
    found = placed(found, {int(place): fit for place, fit in incomplete.items() if fit is not None})
    lost = np.isin(np.arange(len(group)), [place for place, fit in incomplete.items() if fit is None])
    good = np.flatnonzero(found.converged & ~lost)
    where = {int(place): i for i, place in enumerate(good)} if incomplete else {}
    kept = {where[int(place)]: fit for place, fit in incomplete.items() if fit is not None and int(place) in where}
    return Redrawn(Sample(found.take(good), n[good], kept), mean[good], cov[good], group[good], time[good])


def _fitted(fits: FittedGroups, cov: Floats, mean: Floats, n: Floats) -> BatchFit:
    return fit_batch(
        fits.graph, cov=cov, mean=mean, n=n, noise=dict(fits.options.noise),
        intercepts=dict(fits.options.intercepts), starts=fits.starts, max_iter=fits.max_iter,
    )  # fmt: skip


def _written(batch: BatchFit, rows: Ints, some: BatchFit) -> BatchFit:
    """The batch with some of its models written over."""
    if len(rows) == len(batch):
        return some
    whole = {name: getattr(batch, name).copy() for name in ("T", "C", "W", "mu", "loglik", "code")}
    for name, values in whole.items():
        values[rows] = getattr(some, name)
    return replace(batch, **whole)


def _incomplete(
    fits: FittedGroups, sample: Sample, i: int, times: int, seed: int, alike: CGLSCM | None
) -> Iterator[Fitted | None]:
    """Fits to rows drawn from the model of a group (or from another), with the holes of that group."""
    source = sample.incomplete[i] if alike is None else replace(sample.incomplete[i], model=alike)
    plan = make_plan(fits.graph, source.model.names, fits.options)
    for patterns in draw_patterns(source, "parametric", times, seed + i):
        end = refit_incomplete(fits.graph, plan, patterns, fits.options, source.model)
        if end is None:
            yield None
            continue
        model, loglik = end
        moments = Moments(model.names, patterns.total, model.mean, model.cov)
        status = Status("converged")
        yield Fitted(fits.graph, moments, model, loglik, status, options=fits.options, patterns=patterns)


def draw_moments(cov: Floats, mean: Floats, n: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Sample covariances (divisor n) and means of normal rows, one for each model: Bartlett's decomposition."""
    b, p = mean.shape
    root = np.linalg.cholesky(cov)
    A = np.tril(rng.standard_normal((b, p, p)), -1)
    A[:, np.arange(p), np.arange(p)] = np.sqrt(rng.chisquare(n[:, None] - 1.0 - np.arange(p)))
    LA = root @ A
    drawn = LA @ LA.transpose(0, 2, 1) / n[:, None, None]
    shift = (root @ rng.standard_normal((b, p, 1)))[:, :, 0] / np.sqrt(n)[:, None]
    return drawn, mean + shift


def summed(statistics: Iterable[Sequence[tuple[float, float]]]) -> list[Drawn]:
    """Sums over replicates of ``(statistic, df)`` for each of several tests."""
    total = np.sum(list(statistics), axis=0)
    return [Drawn(float(statistic), float(df)) for statistic, df in total]
