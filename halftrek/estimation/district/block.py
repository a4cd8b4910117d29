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

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from halftrek.bottom.arrays import Flags, Floats, Ints
from halftrek.estimation.district.shape import Problem, error_matrices
from halftrek.models.kernels import choleskys, inverses

SINGULAR = 1e-13  # share of an error's variance that the errors before it leave
RUNAWAY = 1e13  # residual variance, of a variable with variance one


@dataclass(frozen=True, eq=False)
class Parts:
    """The matrices of a point, whether W is positive definite there or not."""

    problem: Problem
    T: Floats
    C: Floats
    W: Floats
    omega: Floats
    GA: Floats  # rows of G A that belong to the slots
    R: Floats


@dataclass(frozen=True, eq=False)
class State(Parts):
    """What the derivatives need at one point. ``value`` is inf where W is not positive definite."""

    value: Floats
    K: Floats
    J: Floats | None = None  # inverse of W, only for the barrier

    @cached_property
    def V(self) -> Floats:
        return np.asarray(self.GA @ self.K)

    @cached_property
    def KRK(self) -> Floats:
        return np.asarray(self.K @ self.R @ self.K)

    @cached_property
    def M(self) -> Floats:
        """Derivative of F in Omega."""
        return np.asarray(self.K - self.KRK)

    @cached_property
    def pull(self) -> Floats:
        """Derivative of F and its barrier in W."""
        return self.M if self.J is None else np.asarray(self.M - self.problem.barrier * self.J)

    def take(self, rows: Ints) -> State:
        """Some members of the batch, with what has been worked out."""
        return self._changed(lambda name: getattr(self, name)[rows], self.problem.take(rows))

    def but_for(self, rows: Flags, other: State) -> State:
        """This point, and that of another state of the same problem for some members of the batch."""

        def mixed(name: str) -> Floats:
            mine: Floats = getattr(self, name)
            return np.where(rows.reshape(-1, *(1,) * (mine.ndim - 1)), getattr(other, name), mine)

        return self._changed(mixed, self.problem)

    def _changed(self, change: Callable[[str], Floats], problem: Problem) -> State:
        names = ("T", "C", "W", "GA", "R", "value", "K", *(("J",) if self.J is not None else ()))
        new = {name: change(name) for name in names}
        omega = new["W"] if self.omega is self.W else change("omega")
        state = replace(self, problem=problem, omega=omega, **new)
        state.__dict__.update({name: change(name) for name in ("V", "KRK") if name in self.__dict__})
        return state


def parts_of(problem: Problem, free: Floats) -> Parts:
    """The matrices at each point of the batch."""
    shape, G = problem.shape, problem.G
    at, m = shape.at, shape.slots
    theta = problem.expand(free)
    T = np.zeros((len(theta), m, shape.size))
    if m:
        T[:, at.slot, at.column] = theta[:, at.t]
    GA = G[:, :m, m:] - G[:, :m, :m] @ T
    R = G[:, m:, m:] - G[:, m:, :m] @ T - T.transpose(0, 2, 1) @ GA
    W, C = error_matrices(shape, theta, problem.W0)
    omega = W + C.transpose(0, 2, 1) @ C if shape.loadings else W
    return Parts(problem, T, C, W, omega, GA, R)


def evaluate(problem: Problem, free: Floats) -> State:
    """F and its ingredients at each point of the batch."""
    shape = problem.shape
    parts = parts_of(problem, free)
    W, omega, R = parts.W, parts.omega, parts.R
    root = choleskys(W)
    inner = root
    if shape.loadings:
        bad = np.isnan(root[:, -1, -1])
        root = choleskys(omega)
        root[bad] = np.nan
    diagonal = np.diagonal(root, axis1=1, axis2=2)
    with np.errstate(invalid="ignore"):  # beyond, F is rounding, and may come out as low as it likes
        fine = (diagonal**2 > SINGULAR * np.diagonal(omega, axis1=1, axis2=2)).all(axis=1)
        fine &= np.diagonal(R, axis1=1, axis2=2).max(axis=1) < RUNAWAY
    safe = omega if fine.all() else np.where(fine[:, None, None], omega, np.eye(shape.size))
    K = inverses(safe)
    with np.errstate(invalid="ignore"):
        value = 2.0 * np.log(diagonal).sum(axis=1) + (K * R).sum(axis=(1, 2))
        if problem.barrier:
            value = value - 2.0 * problem.barrier * np.log(np.diagonal(inner, axis1=1, axis2=2)).sum(axis=1)
    value = np.where(fine & np.isfinite(value), value, np.inf)
    J = np.linalg.inv(np.where(fine[:, None, None], W, np.eye(shape.size))) if problem.barrier else None
    return State(problem, parts.T, parts.C, W, omega, parts.GA, R, value, K, J)


def gradient(state: State) -> Floats:
    """First derivatives of F in the free parameters (docs/mathematics.md, equation 4.1)."""
    shape, pull = state.problem.shape, state.pull
    at = shape.at
    full = np.empty((len(pull), shape.parameters))
    full[:, at.t] = -2.0 * state.V[:, at.slot, at.column]
    full[:, at.w] = 2.0 * pull[:, at.first, at.second]
    full[:, at.v] = pull[:, at.noisy, at.noisy]
    if shape.loadings:
        full[:, at.v] *= state.W[:, at.noisy, at.noisy]
        full[:, at.c] = 2.0 * (state.C @ state.M)[:, at.latent, at.child]
    return pull_back(state.problem, full)


def fisher(state: State) -> Floats:
    """A Fisher information that is positive semi-definite everywhere: ``tr(K D_a K D_b) + 2 tr(K A_a' M0 A_b)``.

    ``D`` is how a parameter moves the covariance of the errors, the movement of A included; M0 is the part of the slots
    that the residuals do not explain. It is the expected Hessian at the model with the residual covariance of the data.
    """
    shape, K = state.problem.shape, state.K
    at, m = shape.at, shape.slots
    tiny = 1e-14 * np.trace(state.R, axis1=1, axis2=2)[:, None, None] * np.eye(shape.size)
    weights = np.linalg.solve(state.R + tiny, state.GA.transpose(0, 2, 1)).transpose(0, 2, 1)  # rows: R^-1 A'G e_a
    rest = np.broadcast_to(directions(state), (len(K), shape.parameters - m, shape.size))
    U = np.concatenate([weights @ state.omega, rest], axis=1)
    UK = U @ K
    cross = UK[:, :, at.target]
    KK = K[:, at.target[:, None], at.target]
    H = 2.0 * (cross * cross.transpose(0, 2, 1) + KK * (UK @ U.transpose(0, 2, 1)))
    unexplained = state.problem.G[:, :m, :m] - state.GA @ weights.transpose(0, 2, 1)
    H[:, :m, :m] += 2.0 * unexplained * KK[:, :m, :m]
    _add_barrier(state, U[:, m:], H)
    return pull_back_twice(state.problem, H)


def hessian(state: State) -> Floats:
    """Second derivatives of F in the free parameters (docs/mathematics.md, equation 4.2)."""
    shape, K = state.problem.shape, state.K
    at, m, size = shape.at, shape.slots, shape.parameters
    V, M = state.V, state.M
    N = state.KRK - M
    U = directions(state)
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
        H[:, v, v] += (state.pull * state.W)[:, at.noisy, at.noisy]
    _add_barrier(state, U, H)
    return pull_back_twice(state.problem, H)


def profiled_curvatures(state: State) -> tuple[Floats, Floats]:
    """Information and Hessian of F in the coefficients alone, where errors covary freely and as the residuals do.

    There ``F = log|R|`` but for a constant. Both are what the full matrices leave after the parameters of W.
    """
    shape, V = state.problem.shape, state.V
    at, m = shape.at, shape.slots
    unexplained = state.problem.G[:, :m, :m] - V @ state.GA.transpose(0, 2, 1)
    information = 2.0 * unexplained * state.K[:, at.column[:, None], at.column]
    cross = V[:, :, at.column]
    return information, information - 2.0 * cross * cross.transpose(0, 2, 1)


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


def directions(state: Parts) -> Floats:
    """The vectors u of all parameters of Omega; without loadings one set serves the whole batch."""
    shape = state.problem.shape
    at = shape.at
    if not shape.loadings:
        return at.directions[None]
    U = np.repeat(at.directions[None], len(state.W), axis=0)
    U[:, len(at.first) + np.arange(len(at.noisy)), at.noisy] *= state.W[:, at.noisy, at.noisy]
    return np.concatenate([U, state.C[:, at.latent]], axis=1)


def pull_back(problem: Problem, full: Floats) -> Floats:
    """A gradient in all parameters as one in the free ones."""
    if problem.link is None:
        return full
    return np.asarray((full[:, None, :] @ problem.link)[:, 0])


def pull_back_twice(problem: Problem, full: Floats) -> Floats:
    """A Hessian in all parameters as one in the free ones."""
    if problem.link is None:
        return full
    return np.asarray(problem.link.transpose(0, 2, 1) @ full @ problem.link)


def residual_moments(G: Floats, T: Floats) -> Floats:
    """Second moments of the residuals, from those of (slots, members)."""
    m = T.shape[1]
    GA = G[:, :m, m:] - G[:, :m, :m] @ T
    R = G[:, m:, m:] - G[:, m:, :m] @ T - T.transpose(0, 2, 1) @ GA
    return np.asarray(R + R.transpose(0, 2, 1)) / 2.0
