"""Many patterns at once, from what they lack.

Rows that miss few of many columns differ little from complete ones. With P the inverse covariance of a complete row and
m the missing columns, the inverse covariance of what is observed is

    K = P - P[:, m] C P[m, :],    C = inverse of P[m, m], the covariance of what is missing given the rest,

so that a pattern costs the inverse of a matrix as large as its holes. Patterns that lack equally many columns are
worked on together. Where more is missing than observed, K itself is the smaller inverse.

What is lost: digits, where a column is almost a function of others. :func:`suits` says where that does not matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from halftrek.bottom.arrays import Flags, Floats, Ints

if TYPE_CHECKING:
    from halftrek.data.missing.patterns import Patterns

MANY = 8_000  # numbers in all matrices of patterns from which on this pays
STACK = 400_000  # numbers in one stack, so that it stays near the processor
CLEAR = 1e-5  # least eigenvalue of a correlation matrix whose inverse has digits to spare
SMALL = 10  # columns up to which inverses are found for all patterns of a group at once
LOG_2PI = float(np.log(2.0 * np.pi))


@dataclass(frozen=True, eq=False)
class Group:
    """Patterns that lack (``holes``), or else have, equally many columns: ``at[:, k]``.

    ``which`` are their places among all patterns; the first few have a covariance of their own.
    """

    holes: bool
    at: Ints
    which: Ints
    n: Floats
    cov: Floats

    @property
    def several(self) -> int:
        """How many have a covariance of their own."""
        return len(self.cov)

    def part(self, first: int, last: int) -> Group:
        """Some of them."""
        here = slice(first, last)
        return Group(self.holes, self.at[:, here], self.which[here], self.n[here], self.cov[here])


@dataclass(frozen=True, eq=False)
class Piece:
    """A group at one covariance: its matrices C (``holes``) or K, the last axis for patterns."""

    group: Group
    inverse: Floats
    logs: Floats  # log-determinants of what was inverted


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums over all rows: log-likelihood, ``K d``, ``K R K`` and ``K``, with R the second moments about the mean."""

    value: float
    pull: Floats
    squares: Floats
    precision: Floats


def make_groups(observed: Flags, n: Floats, cov: Floats) -> tuple[Group, ...]:
    """Patterns in groups of bounded size."""
    p = observed.shape[1]
    lacking = p - observed.sum(axis=1)
    groups = []
    for m in np.unique(lacking):
        members = np.flatnonzero(lacking == m)
        holes = bool(m <= p - m)
        side = int(m) if holes else p - int(m)
        step = max(1, STACK // max(p, side * p))
        for first in range(0, len(members), step):
            which = members[first : first + step]
            flags = ~observed[which] if holes else observed[which]
            at = np.ascontiguousarray(np.nonzero(flags)[1].reshape(len(which), side).T)
            groups.append(Group(holes, at, which, n[which], cov[which[: np.searchsorted(which, len(cov))]]))
    return tuple(groups)


def suits(patterns: Patterns, cov: Floats) -> bool:
    """True if there are so many patterns that this way is quicker, and the covariance is clear of singular ones."""
    p = len(patterns.names)
    return len(patterns) * p * p >= MANY and _clear(cov)


def _clear(cov: Floats) -> bool:
    variance = np.diag(cov)
    if not (np.isfinite(cov).all() and (variance > 0.0).all()):
        return False
    scale = np.sqrt(variance)
    return bool(np.linalg.eigvalsh(cov / scale / scale[:, None])[0] > CLEAR)


def whole_precision(cov: Floats) -> tuple[Floats, float]:
    """The inverse of a covariance, and the logarithm of its determinant."""
    scale = np.sqrt(np.diag(cov))
    correlation = cov / scale / scale[:, None]
    P = np.linalg.inv(correlation)
    logs = 2.0 * float(np.log(np.diag(np.linalg.cholesky(correlation))).sum() + np.log(scale).sum())
    return (P + P.T) / 2.0 / (scale * scale[:, None]), logs


def pieces(groups: Iterable[Group], cov: Floats, P: Floats) -> Iterator[Piece]:
    """The groups with their matrices."""
    for group in groups:
        inside = (P if group.holes else cov)[group.at[:, None, :], group.at[None, :, :]]
        yield Piece(group, *inverses(inside))


def precisions(observed: Flags, cov: Floats) -> Floats:
    """Inverse covariances of what each pattern observes, zero elsewhere."""
    p = len(cov)
    if not _clear(cov):
        scale = np.sqrt(np.diag(cov))
        both = observed[:, :, None] & observed[:, None, :]
        padded = np.where(both, cov / scale / scale[:, None], np.eye(p))
        return np.asarray(np.where(both, np.linalg.inv(padded), 0.0) / (scale * scale[:, None]))
    found = np.zeros((len(observed), p, p))
    P, _ = whole_precision(cov)
    for piece in pieces(make_groups(observed, np.ones(len(observed)), np.zeros((0, p, p))), cov, P):
        at, which = piece.group.at.T, piece.group.which
        inverse = piece.inverse.transpose(2, 0, 1)
        if piece.group.holes:
            K = P - P[at].transpose(0, 2, 1) @ inverse @ P[at]
            found[which] = np.where(observed[which][:, :, None] & observed[which][:, None, :], K, 0.0)
        else:
            found[which[:, None, None], at[:, :, None], at[:, None, :]] = inverse
    return found


def inverses(stack: Floats, *, strict: bool = True) -> tuple[Floats, Floats]:
    """Inverses and log-determinants of positive definite matrices, the last axis counts them.

    ``LinAlgError`` if one is not; unless ``strict`` its log-determinant is nan.
    """
    side = len(stack)
    if side > SMALL and strict:
        matrices = np.ascontiguousarray(stack.transpose(2, 0, 1))
        roots = np.linalg.cholesky(matrices)
        logs = 2.0 * np.log(np.diagonal(roots, axis1=1, axis2=2)).sum(axis=1)
        return np.ascontiguousarray(np.linalg.inv(matrices).transpose(1, 2, 0)), logs
    found, pivots = stack, np.ones(stack.shape[::2])
    for j in range(side):  # Gauss and Jordan, one column for all matrices
        pivots[j] = found[j, j]
        line, column = found[j] / pivots[j], found[:, j].copy()
        found -= column[:, None] * line
        found[j], found[:, j] = line, -column / pivots[j]
        found[j, j] = 1.0 / pivots[j]
    if strict and not (pivots > 0.0).all():
        raise np.linalg.LinAlgError("a covariance is not positive definite")
    return found, np.log(pivots).sum(axis=0)


def gather_sums(patterns: Patterns, mean: Floats, cov: Floats) -> Sums:
    """All sums at one mean and covariance."""
    p = len(mean)
    P, logs = whole_precision(cov)
    gap = np.where(patterns.observed, patterns.mean - mean, 0.0)
    toward = gap @ P
    filled = gap.copy()  # becomes the expected complete row, less the mean
    weight = patterns.n.copy()  # of rows that are filled in; zero for those whose K is the smaller inverse
    lost, moved = np.zeros((p, p)), patterns.spread_of_few_holes.copy()
    pull, squares, precision = np.zeros(p), np.zeros((p, p)), np.zeros((p, p))
    value = -0.5 * LOG_2PI * float(patterns.n @ patterns.observed.sum(axis=1))
    for piece in pieces(patterns.groups, cov, P):
        group = piece.group
        at, which, n = group.at, group.which, group.n
        value -= 0.5 * float(n @ piece.logs)
        if group.holes:
            value -= 0.5 * float(n.sum()) * logs
            if len(at):
                filled[which, at] = -_times(piece.inverse, toward[which, at])
                lost += scattered(at, n * piece.inverse, p)
                if group.several:
                    moved += _filled_spread(piece, P)
            continue
        weight[which] = 0.0
        K = piece.inverse
        q = _times(K, gap[which, at])
        Q = n * q[:, None] * q
        value -= 0.5 * float((n * gap[which, at] * q).sum())
        if group.several:
            S = own_spread(group)
            half = np.einsum("ijk,jlk->ilk", K[..., : group.several], S)
            value -= 0.5 * float(np.einsum("iik,k->", half, n[: group.several]))
            Q[..., : group.several] += n[: group.several] * np.einsum("ijk,jlk->ilk", half, K[..., : group.several])
        pull += np.bincount(at.ravel(), (n * q).ravel(), minlength=p)
        squares += scattered(at, Q, p)
        precision += scattered(at, n * K, p)
    moved += (filled * weight[:, None]).T @ filled
    value -= 0.5 * float((P * moved).sum())
    pull += P @ (weight @ filled)
    squares += P @ moved @ P
    precision += weight.sum() * P - P @ lost @ P
    return Sums(value, pull, (squares + squares.T) / 2.0, (precision + precision.T) / 2.0)


def own_spread(group: Group) -> Floats:
    """Covariances of the patterns that have one, at the columns of the group."""
    at = group.at[:, : group.several]
    return group.cov[np.arange(group.several), at[:, None, :], at[None, :, :]]


def scattered(at: Ints, stack: Floats, p: int) -> Floats:
    """The sum of matrices of some columns each, as a matrix of all columns."""
    cells = at[:, None, :] * p + at
    return np.bincount(cells.ravel(), stack.ravel(), minlength=p * p).reshape(p, p)


def _times(stack: Floats, vectors: Floats) -> Floats:
    return np.asarray(np.einsum("ijk,jk->ik", stack, vectors))


def _filled_spread(piece: Piece, P: Floats) -> Floats:
    """What filling in adds to the covariance of rows about the mean of their pattern, summed over patterns.

    A hole moves by ``-C P[m, :]`` times what was observed.
    """
    group, p = piece.group, len(P)
    few = group.several
    at, n = group.at[:, :few], group.n[:few]
    C = np.ascontiguousarray(piece.inverse[..., :few].transpose(2, 0, 1))
    along = P[at.T]
    step = C @ (along @ group.cov)  # minus the covariance of what is filled in with what was observed
    own = step @ along.transpose(0, 2, 1) @ C
    total = scattered(at, n * own.transpose(1, 2, 0), p)
    cells = at.T[:, :, None] * p + np.arange(p)
    cross = np.bincount(cells.ravel(), (n[:, None, None] * step).ravel(), minlength=p * p).reshape(p, p)
    return total - cross - cross.T
