"""Deterministic starting values for a district."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.estimation.district.block import residual_moments
from halftrek.estimation.district.em import parameters_of
from halftrek.estimation.district.matching import definite, matched
from halftrek.estimation.district.shape import Problem, Shape


def starting_values(problem: Problem, wanted: int, given: Floats | None = None) -> Floats:
    """One row for each start of each member of the batch, starts of a member next to each other.

    The regressions, coefficients that are ``given``, and random ones.
    """
    columns = [regression_start(problem)] + ([] if given is None else [start_from(problem, given)])
    columns += [random_start(problem, seed) for seed in range(1, wanted - len(columns) + 1)]
    return as_free(problem, columns[:wanted])


def solving_starts(problem: Problem, given: Floats | None, count: int) -> Floats:
    """Starts that solve the equations which identify coefficients, or nearly; the first from the best that is known."""
    best = regression_start(problem) if given is None else start_from(problem, given)
    columns = [best, *(random_start(problem, 50 + seed) for seed in range(1, count))]
    return matched(problem.take(np.repeat(np.arange(len(problem.G)), count)), as_free(problem, columns))


def side_by_side(problem: Problem, *groups: Floats) -> Floats:
    """Several groups of starts as one, those of each member next to each other."""
    b, size = len(problem.G), problem.free
    joined = np.concatenate([group.reshape(b, len(group) // b, size) for group in groups], axis=1)
    return joined.reshape(b * joined.shape[1], size)


def as_free(problem: Problem, columns: Sequence[Floats]) -> Floats:
    """Starts given as all parameters of each member, as free parameters of all starts of the first member and so on."""
    count = len(columns)
    full = np.stack(columns, axis=1).reshape(len(problem.G) * count, problem.shape.parameters)
    if problem.link is None or problem.base is None:
        return full
    link, base = np.repeat(problem.link, count, axis=0), np.repeat(problem.base, count, axis=0)
    free = (np.linalg.pinv(link) @ (full - base)[:, :, None])[:, :, 0]
    # averages of covariances need not be covariances
    return definite(problem.take(np.repeat(np.arange(len(problem.G)), count)), free)


def regression_start(problem: Problem) -> Floats:
    """Least squares for the coefficients, residual variances for the noise.

    With loadings: each hidden cause takes half of the leading common part of its children's residuals. Without: error
    covariances are those of the residuals (less where that would not be positive definite), and coefficients follow.
    """
    shape, b = problem.shape, len(problem.G)
    identity = np.broadcast_to(np.eye(shape.size), (b, shape.size, shape.size))
    T = generalized_least_squares(problem, identity)
    R = residual_moments(problem.G, T)
    if not shape.loadings:
        W = _masked(problem, R)
        return parameters_of(shape, generalized_least_squares(problem, np.linalg.inv(W)), W, np.zeros((b, 0, 1)))
    C = _common_parts(problem, R)
    return parameters_of(shape, T, _noise(problem, R, C), C)


def start_from(problem: Problem, t: Floats) -> Floats:
    """The given coefficients (least squares where nan), and hidden causes and error covariances for their residuals."""
    shape, b = problem.shape, len(problem.G)
    identity = np.broadcast_to(np.eye(shape.size), (b, shape.size, shape.size))
    T = generalized_least_squares(problem, identity)
    own = T[:, shape.at.slot, shape.at.column]
    T[:, shape.at.slot, shape.at.column] = np.where(np.isnan(t), own, t)
    R = residual_moments(problem.G, T)
    if shape.loadings:
        C = _common_parts(problem, R)
        return parameters_of(shape, T, _noise(problem, R, C), C)
    return parameters_of(shape, T, _masked(problem, R), np.zeros((b, 0, shape.size)))


def random_start(problem: Problem, seed: int) -> Floats:
    """Random error covariances and loadings that leave room for noise, coefficients by generalised least squares."""
    shape, b = problem.shape, len(problem.G)
    at = shape.at
    rng = np.random.default_rng([20250717, seed])
    identity = np.broadcast_to(np.eye(shape.size), (b, shape.size, shape.size))
    R = residual_moments(problem.G, generalized_least_squares(problem, identity))
    spread = np.sqrt(np.diagonal(R, axis1=1, axis2=2))
    C = np.zeros((b, shape.hidden, shape.size))
    signs = rng.choice([-1.0, 1.0], size=len(at.latent))
    share = rng.uniform(0.3, 0.8, size=len(at.latent))
    crowd = np.bincount(at.child, minlength=shape.size)[at.child] if len(at.child) else np.ones(0)
    C[:, at.latent, at.child] = signs * share / np.sqrt(np.maximum(crowd, 1)) * spread[:, at.child]
    W = _noise(problem, R, C)
    crowd = np.bincount(np.concatenate([at.first, at.second]), minlength=shape.size)
    size = rng.uniform(-0.9, 0.9, size=len(at.first)) / np.maximum(crowd[at.first], crowd[at.second])
    room = np.sqrt(W[:, at.first, at.first] * W[:, at.second, at.second])
    W[:, at.first, at.second] = W[:, at.second, at.first] = size * room
    T = generalized_least_squares(problem, np.linalg.inv(W + C.transpose(0, 2, 1) @ C))
    return parameters_of(shape, T, W, C)


def wide_start(problem: Problem, seed: int) -> Floats:
    """A random start whose coefficients are random too."""
    theta = random_start(problem, seed)
    at = problem.shape.at
    rng = np.random.default_rng([20250718, seed])
    spread = rng.uniform(0.1, 0.8)
    theta[:, at.t] += spread * rng.standard_normal(problem.shape.slots)
    return theta


def rearranged(problem: Problem, theta: Floats, seed: int) -> Floats:
    """The same coefficients with hidden causes mixed and signs flipped: what explained one pair explains another."""
    shape, at = problem.shape, problem.shape.at
    rng = np.random.default_rng([20250719, seed])
    new = theta.copy()
    new[:, at.w] *= rng.choice([-1.0, 1.0], size=len(at.first))
    if not shape.loadings:
        return new
    C = np.zeros((len(theta), shape.hidden, shape.size))
    C[:, at.latent, at.child] = theta[:, at.c] * rng.choice([-1.0, 1.0], size=len(at.latent), p=[0.25, 0.75])
    mixing = np.linalg.qr(rng.standard_normal((shape.hidden, shape.hidden)))[0]
    new[:, at.c] = (mixing @ C)[:, at.latent, at.child]
    return new


def other_starts(problem: Problem, theta: Floats, count: int) -> Floats:
    """Starts for a second search, after the first one ended at ``theta``: far away, and turned about where it ended."""
    full = problem.expand(theta)
    wide = [wide_start(problem, seed) for seed in range(100, 100 + count - count // 3)]
    turned = [rearranged(problem, full, seed) for seed in range(count // 3)]
    free = as_free(problem, [*wide, *turned])
    owner = np.repeat(np.arange(len(problem.G)), count)
    return matched(problem.take(owner), free)


def generalized_least_squares(problem: Problem, K: Floats) -> Floats:
    """The best coefficients for a given precision of the errors."""
    shape, G = problem.shape, problem.G
    at, m = shape.at, shape.slots
    T = np.zeros((len(G), m, shape.size))
    if m:
        left = G[:, :m, :m] * K[:, at.column[:, None], at.column]
        right = (G[:, :m, m:] * K[:, at.column]).sum(axis=2)
        left = left + 1e-12 * np.eye(m)  # slots may repeat each other where the model is not identified
        T[:, at.slot, at.column] = np.linalg.solve(left, right[:, :, None])[:, :, 0]
    return T


def _common_parts(problem: Problem, R: Floats) -> Floats:
    """Each hidden cause takes half of the leading common part of what those before it left of its children."""
    shape = problem.shape
    C = np.zeros((len(R), shape.hidden, shape.size))
    left = R.copy()
    for k in range(shape.hidden):
        kids = shape.at.child[shape.at.latent == k]
        values, vectors = np.linalg.eigh(left[:, kids[:, None], kids])
        C[:, k, kids] = vectors[:, :, -1] * np.sqrt(0.5 * np.maximum(values[:, -1], 0.0))[:, None]
        left = left - C[:, k, :, None] * C[:, k, None, :]
    return C


def _masked(problem: Problem, R: Floats) -> Floats:
    """The residuals' covariance where the model has one, shrunk if need be until it is positive definite."""
    at = problem.shape.at
    W = _noise(problem, R, np.zeros((len(R), 0, problem.shape.size)))
    if not len(at.first):
        return W
    off = np.zeros_like(W)
    off[:, at.first, at.second] = off[:, at.second, at.first] = R[:, at.first, at.second]
    root = np.sqrt(np.diagonal(W, axis1=1, axis2=2))
    unit = root[:, :, None] * root[:, None, :]
    crowd = (np.abs(off) / unit).sum(axis=2).max(axis=1)  # bounds the eigenvalues
    taken = (np.abs(W) / unit).sum(axis=2).max(axis=1) - 1.0  # by covariances that are fixed
    room = np.maximum(0.95 - taken, 0.0)
    return np.asarray(W + np.minimum(1.0, room / np.maximum(crowd, 1e-12))[:, None, None] * off)


def _noise(problem: Problem, R: Floats, C: Floats) -> Floats:
    """Diagonal W: the fixed variances where they are fixed, else what C leaves of the residuals."""
    shape: Shape = problem.shape
    variance = np.diagonal(R, axis1=1, axis2=2)
    common = (C * C).sum(axis=1)
    W = problem.W0.copy()
    free = shape.at.noisy
    W[:, free, free] = np.maximum(variance - common, 0.2 * variance)[:, free]
    held = np.abs(W - W * np.eye(shape.size)).sum(axis=2)  # fixed covariances need room on the diagonal
    if held.any():
        W[:, free, free] = np.maximum(W[:, free, free], 1.2 * held[:, free])
    return W
