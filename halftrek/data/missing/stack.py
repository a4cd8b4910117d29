"""Many data sets that lack the same values: their likelihoods and slopes at a point each, all at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from halftrek.bottom.arrays import Flags, Floats, Ints
from halftrek.data.missing.holes import LOG_2PI, Group, inverses, make_groups
from halftrek.data.missing.patterns import Patterns

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True, eq=False)
class Stack:
    """Number of rows ``(b, k)``, means ``(b, k, p)`` and covariances ``(b, k, p, p)`` of each pattern in each data set.

    Zero where a column is not observed. A pattern may have no rows in some of the data sets.
    """

    names: tuple[str, ...]
    observed: Flags
    n: Floats
    mean: Floats
    cov: Floats

    def __len__(self) -> int:
        return len(self.n)

    def take(self, which: Ints | Flags) -> Stack:
        """Some of the data sets."""
        return Stack(self.names, self.observed, self.n[which], self.mean[which], self.cov[which])

    def less(self, constant: Floats) -> Stack:
        """The same rows with a constant less in each column."""
        if not constant.any():
            return self
        return Stack(self.names, self.observed, self.n, np.where(self.observed, self.mean - constant, 0.0), self.cov)

    def patterns(self) -> Iterator[Patterns]:
        """Each data set: the patterns that have rows, those of many first."""
        for n, mean, cov in zip(self.n, self.mean, self.cov, strict=True):
            which = np.argsort(-n, kind="stable")
            which = which[n[which] > 0.0]
            rows = np.maximum(np.rint(n[which]), 1.0).astype(np.int64)
            yield Patterns(self.names, self.observed[which], rows, n[which], mean[which], cov[which])

    @cached_property
    def filled_rows(self) -> Floats:
        """Numbers of rows of patterns that lack no more than they have, whose holes are filled; zero for others."""
        return np.where(2 * self.observed.sum(axis=1) >= len(self.names), self.n, 0.0)

    @cached_property
    def filled_spread(self) -> Floats:
        """Summed covariances about the means of these patterns."""
        return np.asarray(np.einsum("bk,bkij->bij", self.filled_rows, self.cov))

    @cached_property
    def parts(self) -> list[_Part]:
        """The patterns by how many columns they lack; none for those that lack nothing."""
        p, found = len(self.names), []
        for group in make_groups(self.observed, np.ones(len(self.observed)), np.zeros((0, p, p))):
            if group.holes and not len(group.at):
                continue
            at, which = group.at.T, group.which
            if group.holes:
                cov = self.cov[:, which]
            else:
                cov = self.cov[:, which[:, None, None], at[:, :, None], at[:, None, :]]
            found.append(_Part(group, self.n[:, which], cov, *_places(at, p)))
        return found


@dataclass(frozen=True, eq=False)
class Slopes:
    """Log-likelihoods and their derivatives in mean and covariance (as symmetric matrices), one for each data set."""

    value: Floats
    mean: Floats
    cov: Floats


@dataclass(frozen=True, eq=False)
class _Part:
    """A group of patterns in all data sets: rows and covariances, and what adds up by column and by pair of columns."""

    group: Group
    n: Floats
    cov: Floats
    once: csr_array
    twice: csr_array


def slopes(stack: Stack, mean: Floats, cov: Floats) -> Slopes:
    """At a mean ``(b, p)`` and a covariance ``(b, p, p)`` each; nan where that is not positive definite.

    As :func:`halftrek.data.missing.holes.gather_sums` has it for one data set.
    """
    b, _, p = stack.mean.shape
    P = np.linalg.inv(cov)
    sign, logs = np.linalg.slogdet(cov)
    gap = np.where(stack.observed, stack.mean - mean[:, None], 0.0)
    n = stack.filled_rows
    rows = n.sum(axis=1)
    weighted = n[:, :, None] * gap
    moved = stack.filled_spread + weighted.transpose(0, 2, 1) @ gap
    pull = weighted.sum(axis=1)
    lost, squares, precision, away = (np.zeros((b, p, p)) for _ in range(4))
    seen_pull = np.zeros((b, p))
    value = -0.5 * (LOG_2PI * stack.n @ stack.observed.sum(axis=1) + rows * logs)
    for part in stack.parts:
        group = part.group
        at, which = group.at.T, group.which
        inverse, own_logs = _inverses(P if group.holes else cov, group)
        value -= 0.5 * (part.n * own_logs).sum(axis=1)
        apart = gap[:, which]
        if group.holes:
            along = P[:, at]  # (b, g, m, p)
            toward = (along @ apart[..., None])[..., 0]
            step = inverse @ (along @ part.cov + toward[..., None] * apart[:, :, None])
            own = step @ along.transpose(0, 1, 3, 2) @ inverse
            lost += _onto(part, inverse, p)
            entries = (part.n[..., None, None] * step).reshape(b, -1, p).transpose(1, 0, 2).reshape(-1, b * p)
            away += (part.once @ entries).reshape(p, b, p).transpose(1, 0, 2)
            moved += _onto(part, own, p)
            fill = (inverse @ toward[..., None])[..., 0]
            pull -= (part.once @ (part.n[..., None] * fill).reshape(b, -1).T).T
        else:
            seen = np.take_along_axis(apart, np.broadcast_to(at, (b, *at.shape)), axis=2)
            half = inverse @ (part.cov + seen[..., :, None] * seen[..., None, :])
            value -= 0.5 * (part.n * np.einsum("bgii->bg", half)).sum(axis=1)
            squares += _onto(part, half @ inverse, p)
            precision += _onto(part, inverse, p)
            q = (inverse @ seen[..., None])[..., 0]
            seen_pull += (part.once @ (part.n[..., None] * q).reshape(b, -1).T).T
    moved -= away + away.transpose(0, 2, 1)
    value -= 0.5 * (P * moved).sum(axis=(1, 2))
    squares += P @ moved @ P
    precision += rows[:, None, None] * P - P @ lost @ P
    first = seen_pull + (P @ pull[:, :, None])[:, :, 0]
    second = 0.5 * (squares - precision)
    return Slopes(np.where(sign > 0.0, value, np.nan), first, (second + second.transpose(0, 2, 1)) / 2.0)


def _inverses(whole: Floats, group: Group) -> tuple[Floats, Floats]:
    """Inverses ``(b, g, m, m)`` and log-determinants ``(b, g)`` of the parts of matrices that a group is about."""
    b = len(whole)
    m, g = group.at.shape
    inside = whole[:, group.at[:, None, :], group.at[None, :, :]].transpose(1, 2, 0, 3).reshape(m, m, b * g)
    found, logs = inverses(np.ascontiguousarray(inside), strict=False)
    return found.reshape(m, m, b, g).transpose(2, 3, 0, 1), logs.reshape(b, g)


def _places(at: Ints, p: int) -> tuple[csr_array, csr_array]:
    """What adds up entries, and pairs of entries, of all patterns of a group by the columns that they are about."""
    return _adder(at.ravel(), p), _adder((at[:, :, None] * p + at[:, None, :]).ravel(), p * p)


def _adder(owner: Ints, size: int) -> csr_array:
    """Ones that add up entries by their owner; nearly all of it is zero, which a plain matrix would multiply."""
    from scipy.sparse import csr_array  # a quarter of a second to load, for bootstraps with missing values alone

    return csr_array((np.ones(len(owner)), (owner, np.arange(len(owner)))), shape=(size, len(owner)))


def _onto(part: _Part, matrices: Floats, p: int) -> Floats:
    entries = (part.n[..., None, None] * matrices).reshape(len(part.n), -1)
    return np.asarray((part.twice @ entries.T).T.reshape(-1, p, p))
