"""The likelihood of one district, for many data sets at once: value, gradient, Fisher information, Hessian.

A district with members Y is ``Y = Z t + r`` where each free coefficient has a regressor slot of its own in Z, and
``r ~ N(0, Omega)``, ``Omega = W + C'C``. From the second moments G of (Z, Y), with ``A = [-T; I]``, ``R = A'GA``:

    F = log|Omega| + tr(Omega^-1 R)

All arrays carry a leading batch axis: bootstrap replicates, groups, starts, districts of the same shape.

Every direction in Omega is ``u e_j' + e_j u'`` for some vector u and member j: u is ``e_i`` for an error covariance,
half of ``e_j`` for a variance, a row of C for a loading. A coefficient moves the covariance the same way, with
``u = Omega R^-1 A'G e_a``, so that one formula serves the whole information matrix.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from halftrek.model import Floats

Ints = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Shape:
    """The pattern of a district: who regresses on how many slots, which entries of Omega are free.

    Parameters, in this order: one coefficient per slot (``column`` says whose), error covariances ``pairs``, free noise
    variances ``noisy`` (as logarithms if there are loadings, to stay positive), loadings ``(latent, member)``.
    """

    size: int
    column: tuple[int, ...]
    pairs: tuple[tuple[int, int], ...]
    noisy: tuple[int, ...]
    loadings: tuple[tuple[int, int], ...] = ()

    @cached_property
    def slots(self) -> int:
        return len(self.column)

    @cached_property
    def parameters(self) -> int:
        return len(self.column) + len(self.pairs) + len(self.noisy) + len(self.loadings)

    @cached_property
    def hidden(self) -> int:
        return 1 + max((k for k, _ in self.loadings), default=-1)

    @cached_property
    def at(self) -> Places:
        return Places.of(self)


@dataclass(frozen=True, eq=False)
class Places:
    """Index arrays of a shape, made once."""

    column: Ints
    slot: Ints
    first: Ints
    second: Ints
    noisy: Ints
    latent: Ints
    child: Ints
    target: Ints  # the member j of every parameter's direction u e_j' + e_j u'
    t: slice
    w: slice
    v: slice
    c: slice
    same_latent: Floats

    @staticmethod
    def of(shape: Shape) -> Places:
        column = np.array(shape.column, dtype=np.intp)
        first, second = (np.array([pair[i] for pair in shape.pairs], dtype=np.intp) for i in (0, 1))
        noisy = np.array(shape.noisy, dtype=np.intp)
        latent, child = (np.array([pair[i] for pair in shape.loadings], dtype=np.intp) for i in (0, 1))
        ends = np.cumsum([0, len(column), len(first), len(noisy), len(latent)])
        return Places(
            column=column,
            slot=np.arange(len(column)),
            first=first,
            second=second,
            noisy=noisy,
            latent=latent,
            child=child,
            target=np.concatenate([column, second, noisy, child]),
            t=slice(ends[0], ends[1]),
            w=slice(ends[1], ends[2]),
            v=slice(ends[2], ends[3]),
            c=slice(ends[3], ends[4]),
            same_latent=(latent[:, None] == latent[None, :]).astype(float),
        )


@dataclass(frozen=True, eq=False)
class Problem:
    """Data for a shape: second moments of (slots, members), the fixed part of W, and optional linear ties.

    With ties the parameters are ``base + link @ free``: coefficients held equal or fixed.
    """

    shape: Shape
    G: Floats
    W0: Floats
    link: Floats | None = None
    base: Floats | None = None
    lower: Floats | None = None  # lower bounds of the free parameters, for variances that run into zero
    barrier: float = 0.0  # weight of -log|W|, which keeps W positive definite where it holds covariances beside C

    def take(self, rows: Ints) -> Problem:
        """Some members of the batch."""
        link = None if self.link is None else self.link[rows]
        base = None if self.base is None else self.base[rows]
        return replace(self, G=self.G[rows], W0=self.W0[rows], link=link, base=base)

    @property
    def free(self) -> int:
        """Number of free parameters."""
        return self.shape.parameters if self.link is None else int(self.link.shape[2])

    def expand(self, free: Floats) -> Floats:
        """All parameters from the free ones."""
        if self.link is None or self.base is None:
            return free
        return np.asarray(self.base + (self.link @ free[..., None])[..., 0])


@dataclass(frozen=True, eq=False)
class State:
    """What the derivatives need at one point. ``value`` is inf where W is not positive definite."""

    problem: Problem
    value: Floats
    T: Floats
    C: Floats
    W: Floats
    omega: Floats
    K: Floats
    GA: Floats  # rows of G A that belong to the slots
    R: Floats
    J: Floats | None = None  # inverse of W, only for the barrier


def error_matrices(shape: Shape, theta: Floats, W0: Floats) -> tuple[Floats, Floats]:
    """W and C from all parameters."""
    at = shape.at
    W = W0.copy()
    W[:, at.first, at.second] = theta[:, at.w]
    W[:, at.second, at.first] = theta[:, at.w]
    variances = theta[:, at.v]
    W[:, at.noisy, at.noisy] = np.exp(np.clip(variances, -80.0, 80.0)) if shape.loadings else variances
    C = np.zeros((len(theta), shape.hidden, shape.size))
    C[:, at.latent, at.child] = theta[:, at.c]
    return W, C


def evaluate(problem: Problem, free: Floats) -> State:
    """F and its ingredients at each point of the batch."""
    shape, G = problem.shape, problem.G
    at, m = shape.at, shape.slots
    theta = problem.expand(free)
    T = np.zeros((len(theta), m, shape.size))
    T[:, at.slot, at.column] = theta[:, at.t]
    GA = G[:, :m, m:] - G[:, :m, :m] @ T
    R = G[:, m:, m:] - G[:, m:, :m] @ T - T.transpose(0, 2, 1) @ GA
    W, C = error_matrices(shape, theta, problem.W0)
    root = cholesky_or_nan(W)
    inner = root
    if shape.loadings:
        omega = W + C.transpose(0, 2, 1) @ C
        bad = np.isnan(root[:, -1, -1])
        root = cholesky_or_nan(omega)
        root[bad] = np.nan
    else:
        omega = W
    fine = np.isfinite(root[:, -1, -1])
    safe = omega if fine.all() else np.where(fine[:, None, None], omega, np.eye(shape.size))
    K = np.linalg.inv(safe)
    diagonal = np.diagonal(root, axis1=1, axis2=2)
    with np.errstate(invalid="ignore"):
        value = 2.0 * np.log(diagonal).sum(axis=1) + (K * R).sum(axis=(1, 2))
        if problem.barrier:
            value = value - 2.0 * problem.barrier * np.log(np.diagonal(inner, axis1=1, axis2=2)).sum(axis=1)
    value = np.where(np.isfinite(value), value, np.inf)
    J = np.linalg.inv(np.where(fine[:, None, None], W, np.eye(shape.size))) if problem.barrier else None
    return State(problem, value, T, C, W, omega, K, GA, R, J)


def gradient(state: State) -> Floats:
    """First derivatives of F in the free parameters (MATHEMATICS, section 4)."""
    shape, K = state.problem.shape, state.K
    at = shape.at
    V = state.GA @ K
    M = K - K @ state.R @ K
    pull = M if state.J is None else M - state.problem.barrier * state.J
    variance = pull[:, at.noisy, at.noisy]
    if shape.loadings:
        variance = variance * state.W[:, at.noisy, at.noisy]
    full = np.concatenate(
        [
            -2.0 * V[:, at.slot, at.column],
            2.0 * pull[:, at.first, at.second],
            variance,
            2.0 * (state.C @ M)[:, at.latent, at.child],
        ],
        axis=1,
    )
    return _pull_back(state.problem, full)


def fisher(state: State) -> Floats:
    """A Fisher information that is positive semi-definite everywhere: ``tr(K D_a K D_b) + 2 tr(K A_a' M0 A_b)``.

    ``D`` is how a parameter moves the covariance of the errors, the movement of A included; M0 is the part of the slots
    that the residuals do not explain. It is the expected Hessian at the model with the residual covariance of the data.
    """
    shape, K = state.problem.shape, state.K
    at, m = shape.at, shape.slots
    weights = np.linalg.solve(state.R, state.GA.transpose(0, 2, 1)).transpose(0, 2, 1)  # rows: R^-1 A'G e_a
    U = np.concatenate([weights @ state.omega, _directions(state)], axis=1)
    UK = U @ K
    cross = UK[:, :, at.target]
    KK = K[:, at.target[:, None], at.target]
    H = 2.0 * (cross * cross.transpose(0, 2, 1) + KK * (UK @ U.transpose(0, 2, 1)))
    rest = state.problem.G[:, :m, :m] - state.GA @ weights.transpose(0, 2, 1)
    H[:, :m, :m] += 2.0 * rest * KK[:, :m, :m]
    _add_barrier(state, U[:, m:], H)
    return _pull_back_twice(state.problem, H)


def hessian(state: State) -> Floats:
    """Second derivatives of F in the free parameters (MATHEMATICS, section 4)."""
    shape, K = state.problem.shape, state.K
    at, m, size = shape.at, shape.slots, shape.parameters
    V = state.GA @ K
    KRK = K @ state.R @ K
    M, N = K - KRK, 2.0 * KRK - K
    U = _directions(state)
    j = at.target[m:]
    UK, UN = U @ K, U @ N
    KU, NU = UK[:, :, j], UN[:, :, j]
    flip = (0, 2, 1)
    EE = (
        KU.transpose(flip) * NU
        + KU * NU.transpose(flip)
        + K[:, j[:, None], j] * (UN @ U.transpose(flip))
        + N[:, j[:, None], j] * (UK @ U.transpose(flip))
    )
    H = np.empty((len(K), size, size))
    H[:, :m, :m] = 2.0 * state.problem.G[:, :m, :m] * K[:, at.column[:, None], at.column]
    tE = (V @ U.transpose(flip)) * K[:, at.column[:, None], j] + V[:, :, j] * UK[:, :, at.column].transpose(flip)
    H[:, :m, m:] = 2.0 * tE
    H[:, m:, :m] = 2.0 * tE.transpose(flip)
    H[:, m:, m:] = EE
    if shape.loadings:  # curvature of Omega itself
        H[:, at.c, at.c] += 2.0 * at.same_latent * M[:, at.child[:, None], at.child]
        v = np.arange(at.v.start, at.v.stop)
        pull = M if state.J is None else M - state.problem.barrier * state.J
        H[:, v, v] += (pull * state.W)[:, at.noisy, at.noisy]
    _add_barrier(state, U, H)
    return _pull_back_twice(state.problem, H)


def _add_barrier(state: State, U: Floats, H: Floats) -> None:
    """Second derivatives of ``-log|W|`` in the parameters of W: ``tr(J E_a J E_b)``."""
    if state.J is None:
        return
    at = state.problem.shape.at
    inside = slice(at.w.start, at.v.stop)
    size = at.v.stop - at.w.start
    j = at.target[inside]
    UJ = U[:, :size] @ state.J
    cross = UJ[:, :, j]
    JJ = state.J[:, j[:, None], j]
    bend = 2.0 * (cross * cross.transpose(0, 2, 1) + JJ * (UJ @ U[:, :size].transpose(0, 2, 1)))
    H[:, inside, inside] += state.problem.barrier * bend


def _directions(state: State) -> Floats:
    """The vectors u of all parameters of Omega."""
    shape = state.problem.shape
    at, d = shape.at, shape.size
    b = len(state.K)
    U = np.zeros((b, shape.parameters - shape.slots, d))
    o, v = len(at.first), len(at.noisy)
    U[:, np.arange(o), at.first] = 1.0
    half = 0.5 * state.W[:, at.noisy, at.noisy] if shape.loadings else 0.5
    U[:, o + np.arange(v), at.noisy] = half
    if shape.loadings:
        U[:, o + v :] = state.C[:, at.latent]
    return U


def _pull_back(problem: Problem, full: Floats) -> Floats:
    if problem.link is None:
        return full
    return np.asarray((full[:, None, :] @ problem.link)[:, 0])


def _pull_back_twice(problem: Problem, full: Floats) -> Floats:
    if problem.link is None:
        return full
    return np.asarray(problem.link.transpose(0, 2, 1) @ full @ problem.link)


def cholesky_or_nan(matrices: Floats) -> Floats:
    """Cholesky factors, NaN for the matrices of the batch that are not positive definite."""
    try:
        return np.asarray(np.linalg.cholesky(matrices))
    except np.linalg.LinAlgError:
        pass
    roots = np.full_like(matrices, np.nan)
    finite = np.flatnonzero(np.isfinite(matrices).all(axis=(1, 2)))
    values = np.linalg.eigvalsh(matrices[finite])
    safe = finite[values[:, 0] > 1e-14 * values[:, -1]]
    try:
        roots[safe] = np.linalg.cholesky(matrices[safe])
    except np.linalg.LinAlgError:  # positive only to rounding
        for i in safe:
            if np.linalg.eigvalsh(matrices[i])[0] > 1e-12 * np.trace(matrices[i]):
                roots[i] = np.linalg.cholesky(matrices[i])
    return roots
