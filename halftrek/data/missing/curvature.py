"""How the likelihood of many patterns bends in mean and covariance: information that every model's parameters share.

With K, R, d of a pattern as in :mod:`halftrek.data.missing.likelihood`, ``q = K d`` and ``Q = K R K``, minus the second
derivative of the log-likelihood of a row along moves of the mean by m and of the covariance by D is

    tr(D_a K D_b (2 Q - K)) / 2  +  m_a' K m_b  +  m_a' K D_b q  +  m_b' K D_a q

and its expectation is ``tr(D_a K D_b K) / 2 + m_a' K m_b``. It is summed up over patterns as products of matrices whose
lines are patterns and whose columns are pairs of variables, each pair once. Moves are those that a matrix A carries
over, ``m = A'a`` and ``D = A'E A``: with total effects for A, a and E are moves of intercepts and of error covariances,
and a coefficient moves one line and column of E.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from halftrek.bottom.arrays import Flags, Floats, Ints
from halftrek.bottom.memory import remembered
from halftrek.data.missing.holes import Group, Piece, pieces, suits, whole_precision

if TYPE_CHECKING:
    from halftrek.data.missing.patterns import Patterns

WIDEST = 64  # variables up to which matrices over pairs of pairs of them fit
NUMBERS = 1_500_000  # in one stack of lines
KEPT = 2  # points whose information is remembered, as they are large


@dataclass(frozen=True, eq=False)
class Moves:
    """Directions: each moves E by ``w v' + v w'`` and a by ``level v``, v the unit vector at ``at``."""

    w: Floats
    at: Ints
    level: Floats

    def __len__(self) -> int:
        return len(self.at)

    def take(self, which: Flags) -> Moves:
        """Some of them."""
        return Moves(self.w[which], self.at[which], self.level[which])

    @cached_property
    def lines(self) -> Floats:
        """What each does in the coordinates that it moves."""
        return np.concatenate([self.level[:, None], self.w], axis=1)

    @cached_property
    def members(self) -> list[tuple[int, Ints]]:
        """The directions at each variable."""
        return [(int(v), np.flatnonzero(self.at == v)) for v in np.unique(self.at)]


@dataclass(frozen=True, eq=False)
class Curvature:
    """Information, summed over rows, about the p entries of the mean and then the pairs of variables.

    A pair's coordinate moves E at both its ends; that of a variable with itself moves its variance by two. ``observed``
    has no size where it was not asked for; the expected information is made of the sums of ``K`` and of ``K (x) K``.
    """

    place: Ints
    once: Floats
    twice: Floats
    observed: Floats

    @cached_property
    def expected(self) -> Floats:
        """Its expectation, for these patterns."""
        p, size = len(self.place), len(self.place) + len(self.twice)
        found = np.zeros((size, size))
        found[:p, :p] = self.once[self.place]
        found[p:, p:] = _traces(self.place, self.twice)
        return found

    def between(self, matrix: Floats, one: Moves, other: Moves) -> Floats:
        """Information, expected or observed, that directions share with others."""
        half = np.empty((len(one), len(matrix)))
        for v, which in one.members:
            half[which] = one.lines[which] @ matrix[_coordinates(one, v)]
        found = np.empty((len(one), len(other)))
        for v, which in other.members:
            found[:, which] = half[:, _coordinates(other, v)] @ other.lines[which].T
        return found

    def alone(self, matrix: Floats, moves: Moves) -> Floats:
        """Information, expected or observed, about each direction."""
        found = np.empty(len(moves))
        for v, which in moves.members:
            at, lines = _coordinates(moves, v), moves.lines[which]
            found[which] = ((lines @ matrix[np.ix_(at, at)]) * lines).sum(axis=1)
        return found


def _coordinates(moves: Moves, v: int) -> Ints:
    """The coordinates that directions at a variable move: its mean, and its pairs."""
    p = moves.w.shape[1]
    other = np.arange(p)
    low, high = np.minimum(other, v), np.maximum(other, v)
    return np.concatenate([[v], p + low * p - low * (low - 1) // 2 + high - low])


def quick(patterns: Patterns, cov: Floats) -> bool:
    """True if many patterns at once are quicker, fit into memory, and lose no digits."""
    return len(patterns.names) <= WIDEST and suits(patterns, cov)


def curvature(patterns: Patterns, mean: Floats, cov: Floats, A: Floats, *, observed: bool = True) -> Curvature:
    """The information at one mean and covariance, which the patterns remember."""
    key = (mean.tobytes(), cov.tobytes(), A.tobytes())
    whole: Curvature | None = patterns.bends.get((True, *key))
    if whole is not None:
        return whole
    return remembered(
        patterns.bends, (observed, *key), lambda: summed_up(patterns, mean, cov, A, observed=observed), most=KEPT
    )


def summed_up(patterns: Patterns, mean: Floats, cov: Floats, A: Floats, *, observed: bool = True) -> Curvature:
    """The information at one mean and covariance."""
    p = len(mean)
    ends = np.triu_indices(p)
    flat = len(ends[0])
    sums = _Sums(p, flat, observed=observed)
    for n, K, q, Q in _stacks(patterns, mean, cov, A, observed=observed):
        squares = np.zeros((0, flat))
        if observed:
            squares = q[:, ends[0]] * q[:, ends[1]]
            squares[: len(Q)] += Q[:, ends[0], ends[1]]
        sums.add(n, K[:, ends[0], ends[1]], q, squares)
    sums.flush()
    place = np.zeros((p, p), dtype=np.intp)
    place[ends] = place[ends[::-1]] = np.arange(flat)
    if not observed:
        return Curvature(place, sums.once, sums.twice, np.zeros((0, 0)))
    found = np.zeros((p + flat, p + flat))
    found[:p, :p] = sums.once[place]
    found[p:, p:] = _traces(place, 2.0 * sums.cross - sums.twice)
    line = sums.meet[place]
    found[:p, p:] = line[:, ends[0], ends[1]] + line[:, ends[1], ends[0]]
    found[p:, :p] = found[:p, p:].T
    return Curvature(place, sums.once, sums.twice, found)


class _Sums:
    """Sums over patterns of K, of K (x) K, of K (x) q and of K (x) Q; lines of small groups wait for each other."""

    def __init__(self, p: int, flat: int, *, observed: bool) -> None:
        self.once = np.zeros(flat)
        self.twice = np.zeros((flat, flat))
        self.meet = np.zeros((flat, p))
        self.cross = np.zeros((flat, flat) if observed else (0, 0))
        self._observed = observed
        self._waiting: list[tuple[Floats, Floats, Floats, Floats]] = []
        self._size = 0

    def add(self, n: Floats, K: Floats, q: Floats, Q: Floats) -> None:
        """Take in patterns: numbers of their rows, and their matrices as lines."""
        self._waiting.append((n, K, q, Q))
        self._size += K.size
        if self._size > NUMBERS:
            self.flush()

    def flush(self) -> None:
        """Sum up what waits."""
        if not self._waiting:
            return
        n, K, q, Q = (np.concatenate(part) for part in zip(*self._waiting, strict=True))
        self._waiting, self._size = [], 0
        root = np.sqrt(n)[:, None]
        self.once += n @ K
        K *= root
        self.twice += K.T @ K
        if self._observed:
            K *= root
            self.meet += K.T @ q
            self.cross += K.T @ Q


def _stacks(
    patterns: Patterns, mean: Floats, cov: Floats, A: Floats, *, observed: bool
) -> Iterator[tuple[Floats, Floats, Floats, Floats]]:
    """Numbers of rows, ``A K A'``, ``A q``, and ``A K S K A'`` of the first few, that have a covariance S of their own.

    The last two are zero, or none, where they are not asked for.
    """
    P, _ = whole_precision(cov)
    PA = P @ A.T
    gap = np.where(patterns.observed, patterns.mean - mean, 0.0)
    toward, across = gap @ P, gap @ PA
    for whole in pieces(patterns.groups, cov, P):
        for piece in _portions(whole, len(P)):
            group = piece.group
            at, which = group.at.T, group.which
            inverse = np.ascontiguousarray(piece.inverse.transpose(2, 0, 1))
            if group.holes:
                step = inverse @ PA[at]  # what a hole takes: C P A'
                K = A @ PA - PA[at].transpose(0, 2, 1) @ step
                q = across[which] - (toward[which[:, None], at][:, None] @ step)[:, 0]
            else:
                step = inverse @ A.T[at]
                K = A.T[at].transpose(0, 2, 1) @ step
                q = (gap[which[:, None], at][:, None] @ step)[:, 0]
            yield group.n, K, q, _own_squares(group, P, PA, step) if observed else np.zeros((0, *P.shape))


def _own_squares(group: Group, P: Floats, PA: Floats, step: Floats) -> Floats:
    """``A K S K A'`` of the patterns that have a covariance of their own."""
    few = group.several
    at, S, step = group.at.T[:few], group.cov, step[:few]
    if group.holes:
        KA = PA - P[at].transpose(0, 2, 1) @ step
    else:
        S, KA = S[np.arange(few)[:, None, None], at[:, :, None], at[:, None, :]], step
    return np.asarray(KA.transpose(0, 2, 1) @ S @ KA)


def _traces(place: Ints, products: Floats) -> Floats:
    """``tr(D_a X D_b Y) / 2`` for all pairs of coordinates from the sum of ``X (x) Y``."""
    both, p = 0.5 * (products + products.T), len(place)
    found = np.empty_like(both)
    ends = np.concatenate([[0], np.cumsum(np.arange(p, 0, -1))])
    blocks = [slice(a, b) for a, b in pairwise(ends)]  # the pairs that each variable begins
    for i in range(p):
        for k in range(i, p):
            part = both[place[i, k]][place[i:, k:]] + both[place[i:, k][:, None], place[i, k:]]
            found[blocks[i], blocks[k]] = part
            found[blocks[k], blocks[i]] = part.T
    return found


def _portions(piece: Piece, p: int) -> Iterator[Piece]:
    """A piece in parts whose stacks are of bounded size."""
    group = piece.group
    step = max(1, NUMBERS // (p * p))
    for first in range(0, len(group.which), step):
        last = first + step
        yield Piece(group.part(first, last), piece.inverse[..., first:last], piece.logs[first:last])
