"""One data set, one plain district: the Newton of ``newton`` without its batch axis.

In a small fit the calls cost more than the arithmetic. Here is only what a district without loadings, ties or fixed
values needs when all goes well; whatever does not is left to ``newton``, from the beginning.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from halftrek.estimation.district.newton import NEAR, QUADRATIC, RIDGE, SLACK
from halftrek.estimation.district.shape import Shape
from halftrek.models import Floats
from halftrek.models.kernels import cholesky, inverse, quiet, solve

Ints = NDArray[np.intp]
STEPS = 12
FAR = 1.0  # a predicted decrease of F that no quadratic can be trusted with
MANY = 300  # parameters from which on a step is dear, and one that is not needed is left out
SOLID = 1e-7  # share of a pivot that is left: more, and the matrix is safely positive definite


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
    """Index arrays into flattened matrices, made once for a shape.

    Parameters of W move ``s (e_f e_j' + e_j e_f')``: pairs with ``s = 1``, variances with ``s = 1/2`` and ``f = j``.
    """

    shape: Shape
    saturated: bool
    column: Ints
    t_at: Ints  # coefficients in T
    w_at: Ints  # parameters in W, upper triangle ...
    w_flip: Ints  # ... and lower
    own: Floats  # slots of the same member
    f: Ints
    j: Ints
    s: Floats
    crossings: Ints  # four pairs of factors of the second derivatives of W, in the flattened K and 2KRK - K
    weights: Floats  # s s' for each
    signs: Floats  # -2 for a coefficient, then as slope
    slope: Floats  # 1 for a variance, 2 for a covariance
    ridge: Floats  # 1 + RIDGE on the diagonal
    steady: Floats
    pairs: Floats  # 1 where W has a free covariance


@lru_cache(maxsize=1024)
def layout_of(shape: Shape) -> Layout:
    at, m, d = shape.at, shape.slots, shape.size
    f, j = np.concatenate([at.first, at.noisy]), np.concatenate([at.second, at.noisy])
    s = np.concatenate([np.ones(len(at.first)), np.full(len(at.noisy), 0.5)])
    pairs = np.zeros((d, d))
    pairs[at.first, at.second] = pairs[at.second, at.first] = 1.0
    size = shape.parameters
    fj, jj, ff = f[:, None] * d + j, j[:, None] * d + j, f[:, None] * d + f
    later = (d * d * np.array([1, 1, 1, 0]))[:, None, None]
    return Layout(
        shape=shape,
        saturated=len(shape.pairs) == d * (d - 1) // 2,
        column=at.column,
        t_at=at.slot * d + at.column,
        w_at=f * d + j,
        w_flip=j * d + f,
        own=(at.column[:, None] == at.column).astype(float),
        f=f,
        j=j,
        s=s,
        crossings=np.stack([np.stack([fj.T, fj, jj, jj + d * d]), np.stack([fj, fj.T, ff, ff]) + later]),
        weights=np.outer(s, s),
        signs=np.concatenate([np.full(m, -2.0), 2.0 * s]),
        slope=2.0 * s,
        ridge=np.ones((size, size)) + RIDGE * np.eye(size),
        steady=1e-12 * np.eye(m),
        pairs=pairs,
    )


def fits_alone(shape: Shape) -> bool:
    """True if a district of this shape, with nothing fixed or tied, can be tried here."""
    return not shape.loadings and len(shape.noisy) == shape.size


def newton_single(shape: Shape, G: Floats) -> Found | None:
    """The maximum from the regressions' start, if Newton steps lead straight to it; otherwise None."""
    try:
        with quiet():
            if shape.parameters > MANY and not shape.slots and len(shape.pairs) == shape.size * (shape.size - 1) // 2:
                return _all_free(G)
            return _descend(layout_of(shape), G)
    except np.linalg.LinAlgError:
        return None


def _all_free(G: Floats) -> Found | None:
    """The maximum of a block of causes, all of whose covariances are free: their moments."""
    W = (G + G.T) * 0.5
    pivots = cholesky(W).diagonal()
    left = pivots**2 / W.diagonal()
    if not left.min() > SOLID:
        return None
    return Found(np.zeros(0), W, 2.0 * float(np.log(pivots).sum()) + len(W), 1, False)


def _descend(way: Layout, G: Floats) -> Found | None:
    m = way.shape.slots
    Gzz, Gzy, Gyy = G[:m, :m], G[:m, m:], G[m:, m:]
    t, W = _start(way, Gzz, Gzy, Gyy)
    point = _evaluate(way, Gzz, Gzy, Gyy, t, W)
    for taken in range(1, STEPS + 1):
        value, K, V, R = point
        slope, H = derivatives(way, Gzz, K, V, R)
        damped = H * way.ridge
        move = solve(damped, slope)
        gain = 0.5 * float(slope @ move)
        if not 0.0 <= gain < FAR:
            return None
        if gain > NEAR:
            cholesky(damped)  # fails where the Hessian is not positive definite
        t = t - move[:m]
        W = W if way.saturated else _errors(way, W.ravel()[way.w_at] - move[m:])
        if gain < QUADRATIC:
            pivots = cholesky(damped).diagonal() ** 2  # fails if this is no minimum
            firm = float((pivots / H.diagonal()).min())
            if firm <= SOLID:
                return None
            if gain < QUADRATIC * firm * firm:
                return _end(way, (Gzz, Gzy, Gyy), t, W, value - gain, taken)
        point = _evaluate(way, Gzz, Gzy, Gyy, t, W)
        if way.saturated:
            W = point[3]
        if not point[0] <= value - 1e-4 * gain + SLACK * (1.0 + abs(value)):
            return None
    return None


def _end(way: Layout, G: tuple[Floats, Floats, Floats], t: Floats, W: Floats, value: float, taken: int) -> Found:
    """After the last step, which is so short that the quadratic tells F to the last digit."""
    if way.saturated:
        W = _residuals(way, *G, t)[1]
        W = (W + W.T) * 0.5
    left = cholesky(W).diagonal() ** 2
    return Found(t, W, value, taken, not bool((left > SOLID * W.diagonal()).all()))


def _start(way: Layout, Gzz: Floats, Gzy: Floats, Gyy: Floats) -> tuple[Floats, Floats]:
    """As ``starts.regression_start``: least squares, the residuals' covariances as far as they fit, once more."""
    d = way.shape.size
    column = way.column
    t = solve(Gzz * way.own + way.steady, Gzy.ravel()[way.t_at])
    R = _residuals(way, Gzz, Gzy, Gyy, t)[1]
    diagonal = R.diagonal()
    if not diagonal.min() > 0.0:
        raise np.linalg.LinAlgError("the moments are not positive definite")
    root = np.sqrt(diagonal)
    off = R * way.pairs
    crowd = float((np.abs(off) / (root[:, None] * root)).sum(axis=1).max())
    W = off * min(1.0, 0.95 / max(crowd, 1e-12))
    W.ravel()[:: d + 1] = diagonal
    K = inverse(W)
    Kc = K[column]
    left = Gzz * Kc[:, column] + way.steady
    return solve(left, (Gzy * Kc).sum(axis=1)), W


def _residuals(way: Layout, Gzz: Floats, Gzy: Floats, Gyy: Floats, t: Floats) -> tuple[Floats, Floats]:
    T = np.zeros(Gzy.shape)
    T.ravel()[way.t_at] = t
    GA = Gzy - Gzz @ T
    return GA, Gyy - Gzy.T @ T - T.T @ GA


def _errors(way: Layout, w: Floats) -> Floats:
    d = way.shape.size
    W = np.zeros((d, d))
    flat = W.ravel()
    flat[way.w_at] = w
    flat[way.w_flip] = w
    return W


def _evaluate(
    way: Layout, Gzz: Floats, Gzy: Floats, Gyy: Floats, t: Floats, W: Floats
) -> tuple[float, Floats, Floats, Floats]:
    """F, the inverse K of W, the residuals' moments with the slots times K, and their own."""
    GA, R = _residuals(way, Gzz, Gzy, Gyy, t)
    if way.saturated:
        W = R = (R + R.T) * 0.5
    root = cholesky(W)
    K = inverse(W)
    return 2.0 * float(np.log(root.diagonal()).sum()) + float(K.ravel() @ R.ravel()), K, GA @ K, R


def derivatives(way: Layout, Gzz: Floats, K: Floats, V: Floats, R: Floats) -> tuple[Floats, Floats]:
    """Gradient and Hessian of F (docs/mathematics.md, section 4)."""
    m, d = way.shape.slots, way.shape.size
    both = np.empty((2, d, d))
    both[0] = K
    KRK = K @ R @ K
    M = K - KRK
    np.subtract(KRK, M, out=both[1])
    size = way.shape.parameters
    slope = np.empty(size)
    slope[:m] = V.ravel()[way.t_at]
    slope[m:] = M.ravel()[way.w_at]
    slope *= way.signs
    factors = both.ravel()[way.crossings]
    H = np.empty((size, size))
    H[m:, m:] = (factors[0] * factors[1] * way.weights).sum(axis=0)
    Kc = K[way.column]
    H[:m, :m] = 2.0 * Gzz * Kc[:, way.column]
    H[:m, m:] = mixed = (V[:, way.f] * Kc[:, way.j] + V[:, way.j] * Kc[:, way.f]) * way.slope
    H[m:, :m] = mixed.T
    return slope, H
