"""One data set, one large plain district: the Newton of ``single`` where arithmetic costs more than calls.

Coefficients are multiplied among the variables, not among the slots, of which there may be many for each variable, and
the Hessian is put together from rows and columns of small matrices, in place.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from halftrek.estimation.district.newton import NEAR, QUADRATIC, RIDGE, SLACK
from halftrek.estimation.district.shape import Shape
from halftrek.estimation.fast.single import FAR, SOLID, STEPS, Found
from halftrek.estimation.plan import PAD, Task
from halftrek.models import Floats
from halftrek.models.kernels import cholesky, inverse, quiet, solve

Ints = NDArray[np.intp]
LARGE = 300  # parameters
LEFT = 1e-19  # gain, by firmness, that may be left after the last step


@dataclass(frozen=True, eq=False)
class _Layout:
    """``first``: one of (slots, members) for each variable; ``z``, ``y``: the variables of slots and members."""

    first: Ints
    z: Ints
    y: Ints
    c: Ints
    equations: tuple[Ints, ...]  # slots of each member, members with as many slots in one array
    f: Ints
    j: Ints
    pairs: int
    free: Floats  # 1 where W has a free covariance


@lru_cache(maxsize=64)
def _layout(shape: Shape, where: tuple[int, ...]) -> _Layout:
    _, first, variable = np.unique(np.array(where), return_index=True, return_inverse=True)
    at, m = shape.at, shape.slots
    free = np.zeros((shape.size, shape.size))
    free[at.first, at.second] = free[at.second, at.first] = 1.0
    f, j = np.concatenate([at.first, at.noisy]), np.concatenate([at.second, at.noisy])
    by_count: dict[int, list[Ints]] = {}
    for v in range(shape.size):
        own = np.flatnonzero(at.column == v)
        by_count.setdefault(len(own), []).append(own)
    equations = tuple(np.stack(rows) for count, rows in by_count.items() if count)
    return _Layout(first, variable[:m], variable[m:], at.column, equations, f, j, len(at.first), free)


@dataclass(frozen=True, eq=False)
class _Point:
    value: float
    K: Floats
    SK: Floats  # moments of the variables with the residuals, times K
    KRK: Floats


def newton_giant(task: Task, G: Floats) -> Found | None:
    """The maximum from the regressions' start, if Newton steps lead straight to it; otherwise None."""
    if PAD in task.slots:
        return None
    way = _layout(task.shape, (*task.slots, *task.members))
    try:
        with quiet():
            return _descend(way, G, task.shape.slots)
    except np.linalg.LinAlgError:
        return None


def _descend(way: _Layout, G: Floats, m: int) -> Found | None:
    S, twice = G[np.ix_(way.first, way.first)], 2.0 * G[:m, :m]
    t, w = _start(way, S, twice)
    point, before = _evaluate(way, S, t, w), 1.0
    for taken in range(1, STEPS + 1):
        slope, H = _slope(way, point), _hessian(way, twice, point)
        own = H.diagonal().copy()
        H.ravel()[:: len(H) + 1] *= 1.0 + RIDGE
        move = solve(H, slope)
        gain = 0.5 * float(slope @ move)
        if not 0.0 <= gain < FAR:
            return None
        if gain > NEAR:
            cholesky(H)  # fails where the Hessian is not positive definite
        t, w = t - move[:m], w - move[m:]
        left = 16.0 * gain**3 / before**2  # Newton squares the error; by how much it did so in the last step is known
        if gain < QUADRATIC or left < LEFT:
            firm = float((cholesky(H).diagonal() ** 2 / own).min())  # fails if this is no minimum
            if firm <= SOLID:
                return None
            if gain < QUADRATIC * firm * firm or left < LEFT * firm * firm:
                return _end(way, t, w, point.value - gain, taken)
        new = _evaluate(way, S, t, w)
        if not new.value <= point.value - 1e-4 * gain + SLACK * (1.0 + abs(point.value)):
            return None
        point, before = new, gain
    return None


def _end(way: _Layout, t: Floats, w: Floats, value: float, taken: int) -> Found:
    W = _errors(way, w)
    left = cholesky(W).diagonal() ** 2
    return Found(t, W, value, taken, not bool((left > SOLID * W.diagonal()).all()))


def _start(way: _Layout, S: Floats, twice: Floats) -> tuple[Floats, Floats]:
    """As ``starts.regression_start``: least squares, the residuals' covariances as far as they fit, once more."""
    t = np.empty(len(way.z))
    for own in way.equations:
        z, y = way.z[own], way.y[way.c[own[:, :1]]]
        gram = S[z[:, :, None], z[:, None, :]] + 1e-12 * np.eye(own.shape[1])
        t[own] = np.linalg.solve(gram, S[z, y][:, :, None])[:, :, 0]
    R = _residuals(way, S, t)[1]
    diagonal = R.diagonal()
    if not diagonal.min() > 0.0:
        raise np.linalg.LinAlgError("the moments are not positive definite")
    off = R * way.free
    root = np.sqrt(diagonal)
    crowd = float((np.abs(off) / (root[:, None] * root)).sum(axis=1).max())
    W = off * min(1.0, 0.95 / max(crowd, 1e-12))
    W.ravel()[:: len(W) + 1] = diagonal
    K = inverse(W)
    if len(t):
        left = twice * K.take(way.c, axis=0).take(way.c, axis=1)
        left.ravel()[:: len(t) + 1] += 2e-12
        right = (S.take(way.y, axis=1) @ K)[way.z, way.c]
        t = solve(left, 2.0 * right)
    return t, W[way.f, way.j]


def _residuals(way: _Layout, S: Floats, t: Floats) -> tuple[Floats, Floats]:
    A = np.zeros((len(S), len(way.y)))
    A[way.y, np.arange(len(way.y))] = 1.0
    A[way.z, way.c] -= t
    SA = S @ A
    R = A.T @ SA
    return SA, (R + R.T) * 0.5


def _errors(way: _Layout, w: Floats) -> Floats:
    W = np.zeros(way.free.shape)
    W[way.f, way.j] = W[way.j, way.f] = w
    return W


def _evaluate(way: _Layout, S: Floats, t: Floats, w: Floats) -> _Point:
    SA, R = _residuals(way, S, t)
    W = _errors(way, w)
    root, K = cholesky(W), inverse(W)
    K = (K + K.T) * 0.5
    value = 2.0 * float(np.log(root.diagonal()).sum()) + float(K.ravel() @ R.ravel())
    return _Point(value, K, SA @ K, K @ R @ K)


def _slope(way: _Layout, point: _Point) -> Floats:
    pull = (point.K - point.KRK)[way.f, way.j]
    pull[: way.pairs] *= 2.0
    return np.concatenate([-2.0 * point.SK[way.z, way.c], pull])


def _hessian(way: _Layout, twice: Floats, point: _Point) -> Floats:
    """Second derivatives of F (docs/mathematics.md, equation 4.2)."""
    m, f, j, n = len(way.z), way.f, way.j, way.pairs
    K, N = point.K, 2.0 * point.KRK - point.K
    Kj, Kf, Nj, Nf = (X.take(i, axis=0) for X in (K, N) for i in (j, f))
    H = np.empty((m + len(f), m + len(f)))
    np.multiply(twice, K.take(way.c, axis=0).take(way.c, axis=1), out=H[:m, :m])
    SK = np.ascontiguousarray(point.SK.T)
    mixed = SK.take(f, axis=0).take(way.z, axis=1)
    mixed *= Kj.take(way.c, axis=1)
    other = SK.take(j, axis=0).take(way.z, axis=1)
    other *= Kf.take(way.c, axis=1)
    mixed += other
    mixed[:n] *= 2.0
    H[m:, :m] = mixed
    H[:m, m:] = mixed.T
    bend = Kf.take(j, axis=1).T * Nf.take(j, axis=1)
    bend += bend.T.copy()
    more = Kj.take(j, axis=1)
    more *= Nf.take(f, axis=1)
    bend += more
    more = Nj.take(j, axis=1)
    more *= Kf.take(f, axis=1)
    bend += more
    bend[n:] *= 0.5
    bend[:, n:] *= 0.5
    H[m:, m:] = bend
    return H
