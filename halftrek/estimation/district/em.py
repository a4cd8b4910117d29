"""The closed-form EM step of a district, which the likelihood never falls under.

E-step: expected second moments of (slots, members, hidden causes). M-step, one member after the other: regress it on
its slots, its hidden causes, and, if its error covaries with others, on their pseudo-variables ``W_rest^-1 e_rest``
(iterative conditional fitting, Drton, Eichler and Richardson 2009). Without error covariances this is the M-step that
the paper did not find (docs/mathematics.md, equation 3.2); without hidden causes it needs no E-step.
"""

from __future__ import annotations

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.estimation.district.block import State, evaluate
from halftrek.estimation.district.shape import Problem, Shape


def has_em_step(problem: Problem) -> bool:
    """True if the M-step is a regression for every member.

    That needs: no ties, no fixed variance among covarying errors, no fixed covariance of errors but zero.
    """
    shape, W0 = problem.shape, problem.W0
    covarying = {i for pair in shape.pairs for i in pair}
    held = np.count_nonzero(W0) > np.count_nonzero(W0.diagonal(axis1=1, axis2=2))
    return problem.link is None and covarying <= set(shape.noisy) and not held


def em_step(problem: Problem, theta: Floats) -> Floats:
    """One step from ``theta`` to parameters whose likelihood is at least as large."""
    shape = problem.shape
    at, m, d = shape.at, shape.slots, shape.size
    state = evaluate(problem, theta)
    moments = expected_moments(problem, state)
    T, C, W = state.T.copy(), state.C.copy(), state.W.copy()
    total = m + d + shape.hidden
    for j in range(d):
        slots = np.flatnonzero(at.column == j)
        hidden = at.latent[at.child == j]
        near = _covarying(shape, j)
        plain = np.concatenate([slots, m + d + hidden])
        maps = np.zeros((len(theta), total, len(plain) + len(near)))
        maps[:, plain, np.arange(len(plain))] = 1.0
        rest = np.array([i for i in range(d) if i != j], dtype=np.intp)
        if near:
            residual = np.concatenate([-T, np.broadcast_to(np.eye(d), W.shape), -C], axis=1)[:, :, rest]
            chosen = [int(np.flatnonzero(rest == i)[0]) for i in near]
            inverse = np.linalg.inv(W[:, rest[:, None], rest])
            maps[:, :, len(plain) :] = residual @ inverse[:, :, chosen]
        right = (maps.transpose(0, 2, 1) @ moments[:, :, m + j, None])[:, :, 0]
        gram = maps.transpose(0, 2, 1) @ moments @ maps
        slope = (np.linalg.pinv(gram, rcond=1e-13, hermitian=True) @ right[:, :, None])[:, :, 0]
        left = moments[:, m + j, m + j] - (slope * right).sum(axis=1)
        T[:, slots, j] = slope[:, : len(slots)]
        C[:, hidden, j] = slope[:, len(slots) : len(plain)]
        if near:
            W[:, near, j] = W[:, j, near] = slope[:, len(plain) :]
            row = W[:, j, rest]
            left = left + (row[:, None, :] @ inverse @ row[:, :, None])[:, 0, 0]
        if j in shape.noisy:
            W[:, j, j] = np.maximum(left, 1e-300)
    return parameters_of(shape, T, W, C)


def expected_moments(problem: Problem, state: State) -> Floats:
    """Second moments of (slots, members, hidden causes), those of the hidden causes given the data."""
    shape, G = problem.shape, problem.G
    k, q = G.shape[1], shape.hidden
    moments = np.empty((len(G), k + q, k + q))
    moments[:, :k, :k] = G
    if q:
        A = np.concatenate([-state.T, np.broadcast_to(np.eye(shape.size), state.W.shape)], axis=1)
        weight = state.C @ state.K
        known = weight @ A.transpose(0, 2, 1) @ G
        moments[:, k:, :k] = known
        moments[:, :k, k:] = known.transpose(0, 2, 1)
        spread = np.eye(q) - weight @ state.C.transpose(0, 2, 1)
        moments[:, k:, k:] = spread + weight @ state.R @ weight.transpose(0, 2, 1)
    return moments


def parameters_of(shape: Shape, T: Floats, W: Floats, C: Floats) -> Floats:
    """The parameter vector of a shape from its matrices."""
    at = shape.at
    variances = W[:, at.noisy, at.noisy]
    if shape.loadings:
        variances = np.log(np.maximum(variances, 1e-300))
    pieces = [T[:, at.slot, at.column], W[:, at.first, at.second], variances, C[:, at.latent, at.child]]
    return np.concatenate(pieces, axis=1)


def _covarying(shape: Shape, j: int) -> list[int]:
    return [b if a == j else a for a, b in shape.pairs if j in (a, b)]
