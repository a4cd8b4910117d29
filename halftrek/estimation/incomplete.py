"""The likelihood of rows with holes as a function of a model's parameters: value, gradient, information.

Every entry of T, W, C moves the covariance by ``u w' + w u'``, and entries of T and mu move the mean by ``m``. With the
precision K of a pattern and ``N = K R K`` (R: second moments about the model's mean), second derivatives are products
of the small matrices ``U K U'``, ``U K W'`` and so on, summed over patterns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from halftrek.estimation.space import Numbers, Space
from halftrek.model import Floats
from halftrek.moments import Patterns
from halftrek.moments.likelihood import Slope, slices, slope

STEP = 1e-30  # imaginary, so that nothing cancels


@dataclass(frozen=True, eq=False)
class Point:
    """The likelihood at one point: total over all rows, and its derivatives."""

    theta: Floats
    value: float
    gradient: Floats
    slope: Slope


def evaluate(space: Space, patterns: Patterns, theta: Floats) -> Point | None:
    """Value and gradient; None where the errors' covariance is not positive definite."""
    W = space.arrays(theta)[1]
    try:
        np.linalg.cholesky(W)
        mean, cov = space.moments(theta)
        with np.errstate(all="ignore"):
            found = slope(patterns, mean, cov)
    except np.linalg.LinAlgError:
        return None
    if not np.isfinite(found.value):
        return None
    return Point(theta, found.value, pulled(space, found, theta), found)


def pulled(space: Space, found: Slope, theta: Numbers) -> Numbers:
    """Derivatives in mean and covariance as derivatives in the parameters; a complex point gives complex ones."""
    T, W, C, mu = space.arrays(theta)
    B = np.linalg.inv(np.eye(len(space.names)) - T)
    cov, mean = B.T @ (W + C.T @ C) @ B, mu @ B
    shift = B @ found.mean
    inside = found.cov @ B.T
    return space.collect(2.0 * cov @ inside + np.outer(mean, shift), B @ inside, shift, C)


def information(
    space: Space, patterns: Patterns, point: Point, kind: Literal["expected", "observed"] = "observed"
) -> Floats:
    """Minus the second derivatives of the log-likelihood, or their expectation for these patterns."""
    U, V, M, owner = _directions(space, point.theta)
    mean, cov = space.moments(point.theta)
    size = len(U)
    total = np.zeros((size, size))
    for part in slices(patterns, mean, cov, 2 * size * size):
        n = part.n
        flip = (0, 2, 1)
        KU, KV = U @ part.K, V @ part.K
        uu, uv, vv = KU @ U.T, KU @ V.T, KV @ V.T
        total += np.einsum("k,kab->ab", n, M @ part.K @ M.T)
        if kind == "expected":
            total += np.einsum("k,kab->ab", n, uu * vv + uv * uv.transpose(flip))
            continue
        N = part.K @ part.spread @ part.K
        H = 2.0 * N - part.K  # -tr(DaKDbK)/2 + tr(DaKDbN), by the symmetry of the two forms
        HU, HV = U @ H, V @ H
        huu, huv, hvv = HU @ U.T, HU @ V.T, HV @ V.T
        bend = 0.5 * (uu * hvv + vv * huu + uv * huv.transpose(flip) + uv.transpose(flip) * huv)
        total += np.einsum("k,kab->ab", n, bend)
        pull = (part.K @ part.gap[:, :, None])[:, :, 0]
        MK = M @ part.K
        mu, mv = MK @ U.T, MK @ V.T  # how a move of the mean meets a move of the covariance
        cross = mu * (pull @ V.T)[:, None, :] + mv * (pull @ U.T)[:, None, :]
        cross = np.einsum("k,kab->ab", n, cross)
        total += cross + cross.T
    matrix = np.zeros((space.size, space.size))
    np.add.at(matrix, (owner[:, None], owner[None, :]), total)
    if kind == "observed":
        matrix -= _bending(space, point)
    return np.asarray((matrix + matrix.T) / 2.0)


def _directions(space: Space, theta: Floats) -> tuple[Floats, Floats, Floats, NDArray[np.intp]]:
    """For each entry of T, W, C and mu: u, w, m, and the parameter that it belongs to."""
    T, W, C, mu = space.arrays(theta)
    p = len(space.names)
    B = np.linalg.inv(np.eye(p) - T)
    cov, mean = B.T @ (W + C.T @ C) @ B, mu @ B
    u, v, a = space.T_at.T
    i, j, b = space.W_at.T
    k, child, c = space.C_at.T
    own, _, d = space.mu_at.T
    share = np.where(i == j, 0.5, 1.0)[:, None]
    none = np.zeros((len(own), p))
    U = np.concatenate([cov[u], share * B[i], (C @ B)[k], none])
    V = np.concatenate([B[v], B[j], B[child], none])
    M = np.concatenate([mean[u, None] * B[v], np.zeros((len(i) + len(k), p)), B[own]])
    return U, V, M, np.concatenate([a, b, c, d])


def _bending(space: Space, point: Point) -> Floats:
    """What the curvature of mean and covariance themselves adds: how the pull of a fixed slope turns."""
    matrix = np.empty((space.size, space.size))
    for a in range(space.size):
        moved = point.theta.astype(complex)
        moved[a] += 1j * STEP
        matrix[a] = pulled(space, point.slope, moved).imag / STEP
    return matrix
