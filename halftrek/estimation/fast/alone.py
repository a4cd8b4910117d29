"""One data set, one plain district: the Newton of ``newton`` without its batch axis.

Here is only what a district without loadings, ties or fixed values needs when all goes well; whatever does not is left
to ``newton``, from the beginning. In a small district the calls cost more than the arithmetic, so they are few; for the
sake of large ones coefficients are multiplied among the variables, not among the slots, of which there may be many for
each variable, and the Hessian is put together from rows and columns of small matrices, in place.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from halftrek.bottom.arrays import Floats, Ints
from halftrek.estimation.district.shape import Shape
from halftrek.estimation.district.steps import (
    FAR,
    NEAR,
    RIDGE,
    SOLID,
    STEPS,
    gain_after,
    has_fallen,
    is_last,
)  # fmt: skip
from halftrek.estimation.plan import Task
from halftrek.models.kernels import cholesky, inverse, quiet, share_left, solve

MANY = 100  # parameters from which on a step is dear, and one that is not needed is left out


@dataclass(frozen=True, eq=False)
class Found:
    """The maximum: coefficients, errors' covariance, F, steps taken, and whether W is nearly singular there."""

    t: Floats
    W: Floats
    value: float
    iterations: int
    boundary: bool


@dataclass(frozen=True, eq=False)
class Layout:
    """Index arrays into flattened matrices, made once. The residuals are ``A'x``, x having each variable once.

    Parameters of W move ``s (e_f e_j' + e_j e_f')``: pairs with ``s = 1``, variances with ``s = 1/2`` and ``f = j``.
    """

    slots: int
    saturated: bool
    rows: Ints  # one of (slots, members) for each variable ...
    row: Ints  # ... and the variable of each slot
    column: Ints
    ones: Floats  # A without coefficients ...
    t_at: Ints  # ... and where they stand in it
    v_at: Ints  # each slot with its own member
    w_at: Ints  # parameters in W, upper triangle ...
    w_flip: Ints  # ... and lower
    f: Ints
    j: Ints
    s: Floats
    slope: Floats  # -2 for a coefficient, 1 for a variance, 2 for a covariance
    same: Floats  # 1 for slots of the same member
    free: Floats  # 1 where W has a free covariance

    def moments(self, G: Floats) -> Floats:
        """Second moments of the variables, out of those of (slots, members)."""
        return np.asarray(G[self.rows[:, None], self.rows])


def layout_of(task: Task) -> Layout:
    """The layout of a task, the same for tasks alike."""
    return _layout(task.shape, (*task.slots, *task.members))


@lru_cache(maxsize=1024)
def _layout(shape: Shape, where: tuple[int, ...]) -> Layout:
    _, rows, row = np.unique(np.array(where), return_index=True, return_inverse=True)
    at, m, d = shape.at, shape.slots, shape.size
    f, j = np.concatenate([at.first, at.noisy]), np.concatenate([at.second, at.noisy])
    s = np.concatenate([np.ones(len(at.first)), np.full(len(at.noisy), 0.5)])
    ones, free = np.zeros((row.max() + 1, d)), np.zeros((d, d))
    ones[row[m:], np.arange(d)] = 1.0
    free[at.first, at.second] = free[at.second, at.first] = 1.0
    return Layout(
        slots=m,
        saturated=len(shape.pairs) == d * (d - 1) // 2,
        rows=rows,
        row=row[:m],
        column=at.column,
        ones=ones,
        t_at=row[:m] * d + at.column,
        v_at=at.slot * d + at.column,
        w_at=f * d + j,
        w_flip=j * d + f,
        f=f,
        j=j,
        s=s,
        slope=np.concatenate([np.full(m, -2.0), 2.0 * s]),
        same=(at.column[:, None] == at.column).astype(float),
        free=free,
    )


def fits_alone(shape: Shape) -> bool:
    """True if a district of this shape, with nothing fixed or tied, can be tried here."""
    return not shape.loadings and len(shape.noisy) == shape.size


def newton_alone(way: Layout, G: Floats) -> Found | None:
    """The maximum from the regressions' start, if Newton steps lead straight to it; otherwise None."""
    try:
        with quiet():
            return _all_free(G) if way.saturated and not way.slots else _descend(way, G)
    except np.linalg.LinAlgError:
        return None


def _all_free(G: Floats) -> Found | None:
    """The maximum of a block of causes, all of whose covariances are free: their moments."""
    W = (G + G.T) * 0.5
    pivots = cholesky(W).diagonal()
    if not (pivots**2 / W.diagonal()).min() > SOLID:
        return None
    return Found(np.zeros(0), W, 2.0 * float(np.log(pivots).sum()) + len(W), 1, False)


def _descend(way: Layout, G: Floats) -> Found | None:
    m = way.slots
    S = way.moments(G)
    t, W = _start(way, S, G)
    twice, before = 2.0 * G[:m, :m], 1.0
    value, *point = _evaluate(way, S, t, W)
    for taken in range(1, STEPS + 1):
        slope, H = derivatives(way, twice, *point)
        H.ravel()[:: len(H) + 1] *= 1.0 + RIDGE
        move = solve(H, slope)
        gain = 0.5 * float(slope @ move)
        if not 0.0 <= gain < FAR:
            return None
        if gain > NEAR:
            cholesky(H)  # fails where the Hessian is not positive definite
        t = t - move[:m]
        W = W if way.saturated else _errors(way, W.ravel()[way.w_at] - move[m:])
        next_gain = gain_after(gain, before) if len(H) > MANY else np.inf
        if is_last(gain, 1.0, next_gain):
            firm = share_left(H)  # fails if this is no minimum
            if firm <= SOLID:
                return None
            if is_last(gain, firm, next_gain):
                return _end(way, S, t, W, value - gain, taken)
        old = value
        value, *point = _evaluate(way, S, t, W)
        if not has_fallen(value, old, gain):
            return None
        before = gain
    return None


def _end(way: Layout, S: Floats, t: Floats, W: Floats, value: float, taken: int) -> Found:
    """After the last step, which is so short that the quadratic tells F to the last digit."""
    if way.saturated:
        W = residuals(way.ones, way.t_at, S, t)[1]
        W = (W + W.T) * 0.5
    return Found(t, W, value, taken, not share_left(W) > SOLID)


def _start(way: Layout, S: Floats, G: Floats) -> tuple[Floats, Floats]:
    """As ``starts.regression_start``: least squares, the residuals' covariances as far as they fit, once more."""
    m = way.slots
    Gzz, Gzy = G[:m, :m], G[:m, m:]
    steady = 1e-12 * np.eye(m)
    t = solve(Gzz * way.same + steady, Gzy.ravel()[way.v_at])
    W = shrunk(residuals(way.ones, way.t_at, S, t)[1], way.free)
    Kc = inverse(W).take(way.column, axis=0)
    return solve(Gzz * Kc.take(way.column, axis=1) + steady, (Gzy * Kc).sum(axis=1)), W


def residuals(ones: Floats, t_at: Ints, G: Floats, t: Floats) -> tuple[Floats, Floats]:
    """Moments of everything with the residuals, and their own; of one district or of many."""
    A = ones.copy()
    A.ravel()[t_at] = -t
    GA = G @ A
    return GA, A.swapaxes(-1, -2) @ GA


def shrunk(R: Floats, free: Floats) -> Floats:
    """The residuals' covariances where they are free, as far as they fit; of one district or of many."""
    variance = R.diagonal(axis1=-2, axis2=-1)
    if not variance.min() > 0.0:
        raise np.linalg.LinAlgError("the moments are not positive definite")
    root, off = np.sqrt(variance), R * free
    crowd = (np.abs(off) / (root[..., :, None] * root[..., None, :])).sum(axis=-1).max(axis=-1)
    W = off * np.minimum(1.0, 0.95 / np.maximum(crowd, 1e-12))[..., None, None]
    W.reshape(*W.shape[:-2], -1)[..., :: W.shape[-1] + 1] = variance
    return np.asarray(W)


def _errors(way: Layout, w: Floats) -> Floats:
    W = np.zeros(way.free.shape)
    flat = W.ravel()
    flat[way.w_at] = w
    flat[way.w_flip] = w
    return W


def _evaluate(way: Layout, S: Floats, t: Floats, W: Floats) -> tuple[float, Floats, Floats, Floats]:
    """F, the inverse K of W, the residuals' moments with the slots times K, and their own."""
    SA, R = residuals(way.ones, way.t_at, S, t)
    if way.saturated:
        W = R = (R + R.T) * 0.5
    root, K = cholesky(W), inverse(W)
    value = 2.0 * float(np.log(root.diagonal()).sum()) + float(K.ravel() @ R.ravel())
    return value, K, (SA @ K).take(way.row, axis=0), R


def derivatives(way: Layout, twice: Floats, K: Floats, V: Floats, R: Floats) -> tuple[Floats, Floats]:
    """Gradient and Hessian of F (docs/mathematics.md, section 4); ``twice`` the moments of the slots."""
    m, f, j = way.slots, way.f, way.j
    KRK = K @ R @ K
    M = K - KRK
    slope = np.concatenate((V.ravel()[way.v_at], M.ravel()[way.w_at]))
    slope *= way.slope
    H = np.empty((len(slope), len(slope)))
    Kc = K.take(way.column, axis=0)
    np.multiply(twice, Kc.take(way.column, axis=1), out=H[:m, :m])
    mixed = V.take(f, axis=1)
    mixed *= Kc.take(j, axis=1)
    other = V.take(j, axis=1)
    other *= Kc.take(f, axis=1)
    mixed += other
    mixed *= way.slope[m:]
    H[:m, m:] = mixed
    H[m:, :m] = mixed.T
    H[m:, m:] = _bend(f, j, way.s, K, KRK - M)
    return slope, H


def _bend(f: Ints, j: Ints, s: Floats, K: Floats, N: Floats) -> Floats:
    """Second derivatives of F in the parameters of W, from K and ``N = 2KRK - K``."""
    Kj, Kf, Nj, Nf = (X.take(i, axis=0) for X in (K, N) for i in (j, f))
    bend = Kf.take(j, axis=1).T * Nf.take(j, axis=1)
    bend += bend.T.copy()
    for one, other in ((Kj.take(j, axis=1), Nf.take(f, axis=1)), (Nj.take(j, axis=1), Kf.take(f, axis=1))):
        one *= other
        bend += one
    bend *= s[:, None]
    bend *= s
    return bend
