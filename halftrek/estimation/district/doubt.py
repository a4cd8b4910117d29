"""Is the maximum that was found one? What no model can exceed, and when a fit falls suspiciously short of it.

In causal order every member of a district is, in any model, normal given what comes before it, with a linear mean:
members and regressors of members before it, and its own regressors. So ``F`` is never lower than

    sum over members of  1 + log Var(member | what comes before it)

A fit that reaches this floor is at its highest maximum, whatever the shape of the likelihood. How far above it the data
put a true model follows chi-squared; further is a reason to search again: the graph may be wrong, or the maximum one of
several. With few rows the floor lies lower: the log of a variance given k others falls by about (k + 2) / n, so that
deviances are held against chi-squared after Bartlett's correction, with k on average over members.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from halftrek.bottom.arrays import Flags, Floats, Ints
from halftrek.models.kernels import choleskys

if TYPE_CHECKING:
    from halftrek.estimation.fast.together import Bunch
    from halftrek.estimation.plan import Task

REACHED = 1e-10  # of F, that is per row
CERTAIN = 1e-6  # deviance that cannot be chance where the graph restricts nothing
LEAST = 0.2  # share of a deviance that is always counted
LEVEL = 0.05  # share of true models that are searched again


@dataclass(frozen=True, eq=False)
class Yardstick:
    """What fits of one shape are held against: the floor of F, rows (nan: unknown), and numbers left unexplained."""

    floor: Floats
    n: Floats
    spare: Ints
    before: Floats  # 1 for a slot whose regressor no member causes
    beside: int = 1  # districts that are judged with it
    share: Floats = field(default_factory=lambda: np.ones(1))  # of a deviance that is not due to few rows

    def reached(self, value: Floats) -> Flags:
        """Where F cannot be lower."""
        return np.asarray(value < self.floor + REACHED)

    def deviance(self, value: Floats) -> Floats:
        """Twice the log-likelihood by which F falls short of its floor; nan where the rows are unknown."""
        return np.asarray(self.n * np.where(self.reached(value), 0.0, value - self.floor))

    def doubtful(self, value: Floats, flat: Ints | int = 0) -> Flags:
        """Where a fit lies further from the floor than true models do; ``flat`` directions explain nothing."""
        deviance = self.deviance(value) * np.where(self.spare + flat > 0, self.share, 1.0)
        return is_doubtful(deviance, self.spare + flat, self.beside) & np.isfinite(value)

    def take(self, rows: Ints) -> Yardstick:
        """Some members of the batch."""
        share = np.broadcast_to(self.share, self.n.shape)[rows]
        return Yardstick(self.floor[rows], self.n[rows], self.spare[rows], self.before[rows], self.beside, share)


def yardstick_of(tasks: Sequence[Task], G: Floats, n: Floats | None, beside: int = 1) -> Yardstick:
    """For tasks of one shape, whose moments stand next to each other in ``G`` for each of the data sets."""
    count = len(tasks)
    ahead = np.empty(len(G))
    floor, spare, before = np.empty(len(G)), np.empty(len(G), dtype=np.intp), np.empty((len(G), tasks[0].shape.slots))
    for k, task in enumerate(tasks):
        floor[k::count] = floor_of(task, G[k::count])
        spare[k::count] = task.spare
        ahead[k::count] = task.causal[1].mean()
        before[k::count] = [slot in task.before for slot in task.slots]
    rows = np.full(len(G), np.nan) if n is None else np.repeat(n, count)
    return Yardstick(floor, rows, spare, before, beside, few_rows_share(rows, ahead))


def few_rows_share(n: Floats, ahead: Floats) -> Floats:
    """Bartlett's factor for rows that are few beside what stands before a member; 1 where their number is unknown."""
    return np.asarray(np.fmin(np.maximum(1.0 - (ahead + 2.0) / n, LEAST), 1.0))  # fmin takes 1 for nan


def floor_of(task: Task, G: Floats) -> Floats:
    """The lowest F of any model, for each member of the batch, from the moments of (slots, members)."""
    at, own = task.causal
    pivots = choleskys(G[:, at[:, None], at]).diagonal(axis1=1, axis2=2)[:, own] ** 2
    lost = np.flatnonzero(np.isnan(pivots).any(axis=1))
    if len(lost):  # what is fixed makes some of them functions of others
        pivots = pivots.copy()
        pivots[lost] = _projected(G[lost][:, at[:, None], at], own)
    return np.asarray(task.shape.size + np.log(np.maximum(pivots, 1e-300)).sum(axis=1))


def floors_of_bunch(bunch: Bunch, moments: Floats) -> Floats:
    """As ``floor_of``, for all tasks of a bunch, from moments in causal order."""
    pivots = choleskys(moments).diagonal(axis1=1, axis2=2)
    return np.asarray((bunch.own * (1.0 + 2.0 * np.log(np.maximum(pivots, 1e-150)))).sum(axis=1))


def _projected(moments: Floats, own: Ints) -> Floats:
    """What is left of each member after those before it, some of which may be functions of others."""
    left = np.empty((len(moments), len(own)))
    for k, j in enumerate(own):
        before, cross = moments[:, :j, :j], moments[:, :j, j]
        slope = (np.linalg.pinv(before, rcond=1e-11, hermitian=True) @ cross[:, :, None])[:, :, 0]
        left[:, k] = moments[:, j, j] - (slope * cross).sum(axis=1)
    return left


def is_doubtful(deviance: Floats | float, df: Ints | int, beside: int = 1) -> Flags:
    """Where a fit lies further above the floor than true models do but once in twenty graphs of so many districts.

    With nothing left to explain any distance is one too many. Quantiles of chi-squared by Wilson and Hilferty.
    """
    free = np.maximum(np.asarray(df, dtype=float), 1e-9)
    cut = free * np.maximum(1.0 - 2.0 / (9.0 * free) + _upper(beside) * np.sqrt(2.0 / (9.0 * free)), 0.0) ** 3
    return np.asarray(np.asarray(deviance) > np.where(np.asarray(df) > 0, cut, CERTAIN))


@lru_cache(maxsize=64)
def _upper(beside: int) -> float:
    return NormalDist().inv_cdf(1.0 - LEVEL / max(beside, 1))
