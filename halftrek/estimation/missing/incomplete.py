"""The likelihood of rows with holes as a function of a model's parameters: value, gradient, information.

Every entry of T, W, C moves the covariance by ``D = u v' + v u'``, and entries of T and mu move the mean by ``m``. With
the precision K of a pattern, R its second moments about the model's mean and d its mean less the model's, minus the
second derivatives of the log-likelihood of a row along a and b are

    tr(D_a K D_b (2 K R K - K)) / 2  +  m_a' K m_b  +  m_a' K D_b K d  +  m_b' K D_a K d

less what the curvature of the moments themselves adds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from halftrek.bottom.arrays import Floats, Ints
from halftrek.data import Patterns
from halftrek.data.missing.curvature import Moves, curvature, quick
from halftrek.data.missing.likelihood import Slice, Slope, slices, slope
from halftrek.estimation.space import Space
from halftrek.models import total_effects

Kind = Literal["expected", "observed", "moments"]


@dataclass(frozen=True, eq=False)
class Point:
    """The likelihood at one point: total over all rows, and its derivatives."""

    theta: Floats
    value: float
    gradient: Floats
    slope: Slope


def evaluate(space: Space, patterns: Patterns, theta: Floats) -> Point | None:
    """Value and gradient; None where the errors' covariance is not positive definite."""
    try:
        np.linalg.cholesky(space.errors(theta))
        mean, cov = space.moments(theta)
        with np.errstate(all="ignore"):
            found = slope(patterns, mean, cov)
    except np.linalg.LinAlgError:
        return None
    if not np.isfinite(found.value):
        return None
    return Point(theta, found.value, pulled(space, found, theta), found)


def pulled(space: Space, found: Slope, theta: Floats) -> Floats:
    """Derivatives in mean and covariance as derivatives in the parameters."""
    T, W, C, mu = space.arrays(theta)
    B = total_effects(T)
    cov, mean = B.T @ (W + C.T @ C) @ B, mu @ B
    shift = B @ found.mean
    inside = found.cov @ B.T
    return space.collect(2.0 * cov @ inside + np.outer(mean, shift), B @ inside, shift, C)


def complete_information(space: Space, n: float, point: Point) -> Floats:
    """The expected information of so many complete rows."""
    mean, cov = space.moments(point.theta)
    whole = np.ones((1, len(mean)), dtype=bool)
    rows = Patterns(space.names, whole, np.array([2]), np.array([n]), mean[None].copy(), cov[None].copy())
    return information(space, rows, point, "expected")


def information(space: Space, patterns: Patterns, point: Point, kind: Kind = "observed") -> Floats:
    """Minus the second derivatives of the log-likelihood, or their expectation for these patterns.

    "moments": those in mean and covariance, carried over to the parameters as if they moved the moments along lines. It
    is the same where the model is true, and does not depend on how the model is written.
    """
    return informations(space, patterns, point, (kind,))[0]


def informations(space: Space, patterns: Patterns, point: Point, kinds: Sequence[Kind]) -> list[Floats]:
    """Several kinds of information in one pass over the patterns."""
    mean, cov = space.moments(point.theta)
    if quick(patterns, cov):
        moves, owner = moves_of(space, point.theta)
        bend = curvature(
            patterns, mean, cov, total_effects(space.arrays(point.theta)[0]), observed=set(kinds) != {"expected"}
        )
        nothing = np.zeros((0, 0))
        expected = bend.between(bend.expected, moves, moves) if "expected" in kinds else nothing
        observed = bend.between(bend.observed, moves, moves) if set(kinds) != {"expected"} else nothing
    else:
        along, owner = _directions(space, point.theta)
        expected, observed = _pattern_by_pattern(along, patterns, mean, cov, kinds)
    found = []
    for kind in kinds:
        matrix = _by_parameter(expected if kind == "expected" else observed, owner, space.size)
        if kind == "observed" and not space.linear:
            matrix -= _bending(space, point)
        found.append(np.asarray((matrix + matrix.T) / 2.0))
    return found


def metric(space: Space, patterns: Patterns, point: Point) -> Floats:
    """About the expected information, for little work: what the unrestricted moments have where all searches begin."""
    start, p = patterns.warm, len(space.names)
    along, owner = _directions(space, point.theta)
    U, V, M = along.U, along.V, along.M
    i, j = np.triu_indices(p)
    pairs = (U[:, i] * V[:, j] + V[:, i] * U[:, j]) * np.where(i == j, 0.5, 1.0)
    X = np.zeros((space.size, p + len(i)))
    np.add.at(X, owner, np.concatenate([M, pairs], axis=1))
    return np.asarray(X @ curvature(patterns, start.mean, start.cov, np.eye(p), observed=False).expected @ X.T)


@dataclass(frozen=True, eq=False)
class Meeting:
    """Information about a model's own parameters, what they share with directions beside them, and about these."""

    own: Floats
    shared: Floats
    beside: Floats


def meeting(space: Space, wider: Space, patterns: Patterns, point: Point, kinds: Sequence[Kind]) -> list[Meeting]:
    """The parameters of a wider space that follow those of a space, each alone beside all of these."""
    size = space.size
    mean, cov = wider.moments(point.theta)
    if "observed" in kinds or not quick(patterns, cov):
        found = informations(wider, patterns, point, kinds)
        return [Meeting(one[:size, :size], one[:size, size:], np.diag(one)[size:]) for one in found]
    moves, owner = moves_of(wider, point.theta)
    A = total_effects(wider.arrays(point.theta)[0])
    bend = curvature(patterns, mean, cov, A, observed=set(kinds) != {"expected"})
    inside = owner < size
    own, others = moves.take(inside), moves.take(~inside)
    order = owner[~inside] - size
    meetings = []
    for kind in kinds:
        matrix = bend.expected if kind == "expected" else bend.observed
        entries = bend.between(matrix, own, moves)
        inner = _by_parameter(entries[:, inside], owner[inside], size)
        shared, beside = np.zeros((size, len(others))), np.zeros(len(others))
        np.add.at(shared, (owner[inside][:, None], order), entries[:, ~inside])
        beside[order] = bend.alone(matrix, others)
        meetings.append(Meeting((inner + inner.T) / 2.0, shared, beside))
    return meetings


def _by_parameter(entries: Floats, owner: Ints, size: int) -> Floats:
    """A matrix over entries summed up by the parameters that they belong to."""
    matrix = np.zeros((size, size))
    if len(owner) == size:  # none is shared
        matrix[np.ix_(owner, owner)] = entries
    else:
        np.add.at(matrix, (owner[:, None], owner), entries)
    return matrix


@dataclass(frozen=True, eq=False)
class Directions:
    """How entries of T, W, C and mu move covariance and mean.

    All u and v are among a few ``rows``, at places ``first`` and ``second``, u times a ``share``.
    """

    rows: Floats
    first: Ints
    second: Ints
    share: Floats
    M: Floats

    @property
    def U(self) -> Floats:
        """u of each entry."""
        return np.asarray(self.share[:, None] * self.rows[self.first])

    @property
    def V(self) -> Floats:
        """v of each entry."""
        return np.asarray(self.rows[self.second])


def _pattern_by_pattern(
    along: Directions, patterns: Patterns, mean: Floats, cov: Floats, kinds: Sequence[str]
) -> tuple[Floats, Floats]:
    """Expected and observed information along directions, as far as they are asked for."""
    size, p = len(along.first), len(mean)
    small = p**4 < 16 * size * size
    expected, observed = np.zeros((size, size)), np.zeros((size, size))
    summed = _by_moments if small else _by_entries
    for part in slices(patterns, mean, cov, None if small else 2 * size * size):
        # second derivatives along D_a and D_b: tr(D_a K D_b H) / 2, with H = K where it is the expectation
        if "expected" in kinds:
            expected += summed(along, part, part.K, None)
        if any(kind != "expected" for kind in kinds):
            H = 2.0 * part.K @ part.spread @ part.K - part.K
            observed += summed(along, part, H, (part.K @ part.gap[:, :, None])[:, :, 0])
    return expected, observed


def _by_moments(along: Directions, part: Slice, H: Floats, pull: Floats | None) -> Floats:
    """Summed over patterns first, as a matrix over pairs of entries of the covariance: for few variables."""
    U, V, M = along.U, along.V, along.M
    p = U.shape[1]
    D = (U[:, :, None] * V[:, None, :] + V[:, :, None] * U[:, None, :]).reshape(len(U), -1)
    weighted = (part.n[:, None, None] * part.K).reshape(len(part.n), -1)
    if len(part.n) == 1:  # then no matrix over pairs of entries is needed
        first, second = (D.reshape(-1, p, p) @ x for x in (weighted.reshape(p, p), H[0]))
        total = 0.5 * first.reshape(len(D), -1) @ np.swapaxes(second, 1, 2).reshape(len(D), -1).T
    else:
        both = (weighted.T @ H.reshape(len(part.n), -1)).reshape(p, p, p, p)  # [j, l, m, i]
        total = 0.5 * D @ both.transpose(3, 0, 1, 2).reshape(p * p, p * p) @ D.T
    total += M @ weighted.sum(axis=0).reshape(p, p) @ M.T
    if pull is not None:  # how a move of the mean meets a move of the covariance
        meet = (weighted.T @ pull).reshape(p, p * p)
        cross = M @ meet @ D.T
        total += cross + cross.T
    return np.asarray(total)


def _by_entries(along: Directions, part: Slice, H: Floats, pull: Floats | None) -> Floats:
    """Pattern by pattern from ``u'Ku``, ``u'Kv`` and so on, all of them products of a few rows: for many variables."""
    rows, u, v = along.rows, along.first, along.second
    n, flip = part.n, (0, 2, 1)

    def between(inner: Floats, left: Ints, right: Ints) -> Floats:
        return np.take(np.take(inner, left, axis=1), right, axis=2)

    inner = rows @ part.K @ rows.T
    uv = between(inner, u, v)
    if H is part.K:
        bend = uv * uv.transpose(flip)
        uv = between(inner, u, u)  # in the same place: these are large
        uv *= between(inner, v, v)
        bend += uv
    else:
        other = rows @ H @ rows.T
        cross = uv * between(other, u, v).transpose(flip)
        bend = cross + cross.transpose(flip)
        for first, second in ((inner, other), (other, inner)):
            cross = between(first, u, u)
            cross *= between(second, v, v)
            bend += cross
        bend *= 0.5
    bend *= along.share
    bend *= along.share[:, None]
    total = n[0] * bend[0] if len(n) == 1 else np.einsum("k,kab->ab", n, bend)
    if along.M.any():
        total += np.einsum("k,kab->ab", n, along.M @ part.K @ along.M.T)
        if pull is not None:
            MK, U, V = along.M @ part.K, along.U, along.V
            meet = (MK @ U.T) * (pull @ V.T)[:, None, :] + (MK @ V.T) * (pull @ U.T)[:, None, :]
            cross = np.einsum("k,kab->ab", n, meet)
            total += cross + cross.T
    return np.asarray(total)


def _directions(space: Space, theta: Floats) -> tuple[Directions, Ints]:
    """For each entry of T, W, C and mu: u, v, m, and the parameter that it belongs to."""
    T, W, C, mu = space.arrays(theta)
    p, q = len(space.names), len(C)
    B = total_effects(T)
    cov, mean = B.T @ (W + C.T @ C) @ B, mu @ B
    u, v, a = space.T_at.T
    i, j, b = space.W_at.T
    k, child, c = space.C_at.T
    own, _, d = space.mu_at.T
    rows = np.concatenate([cov, B, C @ B, np.zeros((1, p))])
    none = np.full(len(own), 2 * p + q)
    first = np.concatenate([u, p + i, 2 * p + k, none])
    second = np.concatenate([p + v, p + j, p + child, none])
    share = np.ones(len(first))
    share[len(u) : len(u) + len(i)] = np.where(i == j, 0.5, 1.0)
    M = np.concatenate([mean[u, None] * B[v], np.zeros((len(i) + len(k), p)), B[own]])
    return Directions(rows, first, second, share, M), np.concatenate([a, b, c, d])


def moves_of(space: Space, theta: Floats) -> tuple[Moves, Ints]:
    """For each entry of T, W, C and mu how it moves error covariances and intercepts, and its parameter."""
    T, W, C, mu = space.arrays(theta)
    p = len(space.names)
    B = total_effects(T)
    u, v, a = space.T_at.T
    i, j, b = space.W_at.T
    k, child, c = space.C_at.T
    own, _, d = space.mu_at.T
    share = np.where(i == j, 0.5, 1.0)[:, None]
    w = np.concatenate([((W + C.T @ C) @ B).T[u], share * np.eye(p)[i], C[k], np.zeros((len(own), p))])
    level = np.concatenate([(mu @ B)[u], np.zeros(len(i) + len(k)), np.ones(len(own))])
    return Moves(w, np.concatenate([v, j, child, own]), level), np.concatenate([a, b, c, d])


def _bending(space: Space, point: Point) -> Floats:
    """What the curvature of mean and covariance themselves adds: second derivatives of ``tr(G cov) + g'mean``.

    ``X = B G B'`` and ``h = B g`` are the slopes in Omega and mu; a step in ``T[k, l]`` moves B by ``B[:, k] B[l]``.
    """
    T, W, C, mu = space.arrays(point.theta)
    B = total_effects(T)
    cov, mean = B.T @ (W + C.T @ C) @ B, mu @ B
    h, Y = B @ point.slope.mean, cov @ point.slope.cov @ B.T
    X = B @ point.slope.cov @ B.T
    (u, v, a), (i, j, b), (k, c, d), (own, _, e) = space.T_at.T, space.W_at.T, space.C_at.T, space.mu_at.T
    turn = B[np.ix_(v, u)]  # how the effects that leave v reach u: nonzero on a path only
    half = turn.T * (2.0 * Y[np.ix_(u, v)].T + np.outer(h[v], mean[u]))
    TT = 2.0 * cov[np.ix_(u, u)] * X[np.ix_(v, v)] + half + half.T
    twice = np.where(i == j, 1.0, 2.0)
    TW = twice * (B[np.ix_(i, u)].T * X[np.ix_(v, j)] + X[np.ix_(v, i)] * B[np.ix_(j, u)].T)
    TC = 2.0 * ((C @ B)[np.ix_(k, u)].T * X[np.ix_(v, c)] + (C @ X)[np.ix_(k, v)].T * B[np.ix_(c, u)].T)
    Tm = B[np.ix_(own, u)].T * h[v][:, None]
    CC = 2.0 * (k[:, None] == k) * X[np.ix_(c, c)]
    matrix = np.zeros((space.size, space.size))
    for left, right, part in ((a, b, TW), (a, d, TC), (a, e, Tm)):
        np.add.at(matrix, (left[:, None], right), part)
    matrix = matrix + matrix.T
    for left, part in ((a, TT), (d, CC)):
        np.add.at(matrix, (left[:, None], left), part)
    return matrix
