"""Starts from the equations that identify: errors that covary only where the graph lets them.

At a maximum that reproduces the data ``A'SA = W + C'C``, and errors are uncorrelated with regressors that no member of
the district causes: polynomial equations in the coefficients and loadings. Least squares solves them without asking
whether W is positive definite on the way. So it has no peaks beside steep walls to get caught at, as the likelihood
has, and where coefficients are identified it goes straight to them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.estimation.district.block import Parts, directions, evaluate, parts_of, pull_back, pull_back_twice
from halftrek.estimation.district.shape import Problem

STEPS = 50
SOLVED = 1e-26  # sum of squares, of correlations
SLOW = 1e-3  # share of them by which a step has to lessen them
LEAST, STUCK = 1e-12, 1e7  # damping
FAR = 1e6  # for a parameter of correlations
ROOM = 1e-3  # lowest eigenvalue of W that is asked for
SHARES = (1.0, 0.97, 0.9, 0.8, 0.6, 0.4, 0.2, 0.0)


def matched(problem: Problem, theta: Floats) -> Floats:
    """Parameters near ``theta`` whose errors covary as the residuals do, as far as that can be; W positive definite."""
    theta = np.array(theta)
    rows = np.arange(len(theta))  # who is still under way
    part, here = problem, _absorbed(problem, theta)
    gap = _Gap.at(part, here)
    damping = np.full(len(theta), 1e-2)
    for _ in range(STEPS):
        value = gap.squares
        slope, bend = _derivatives(part, gap)
        size = bend.diagonal(axis1=1, axis2=2).mean(axis=1)
        bend.reshape(len(rows), -1)[:, :: bend.shape[1] + 1] += (np.maximum(damping, LEAST) * size + 1e-14)[:, None]
        tried = here - np.linalg.solve(bend, slope[:, :, None])[:, :, 0]
        tried = _absorbed(part, np.where(np.all(np.abs(tried) < FAR, axis=1, keepdims=True), tried, here))
        after = _Gap.at(part, tried)
        new = after.squares
        good = new < value
        theta[rows[good]] = tried[good]
        damping = np.where(good, damping / 5.0, damping * 4.0)
        going = np.where(good, (new > SOLVED) & (value - new > SLOW * value), damping < STUCK)
        if not going.any():
            break
        if good.all() and going.all():
            here, gap = tried, after
            continue
        rows, damping = rows[going], damping[going]
        part, here = problem.take(rows), theta[rows]
        gap = _Gap.at(part, here)
    return definite(problem, theta)


def _absorbed(problem: Problem, theta: Floats) -> Floats:
    """The same with the error covariances and noise variances that solve their own equations."""
    theta = theta if problem.lower is None else np.maximum(theta, problem.lower)
    if problem.link is not None:
        return theta
    at = problem.shape.at
    parts = parts_of(problem, theta)
    left = parts.R - (parts.omega - parts.W)
    best = theta.copy()
    best[:, at.w] = left[:, at.first, at.second]
    noise = left[:, at.noisy, at.noisy]
    if problem.shape.loadings:
        noise = np.log(np.maximum(noise, 1e-10))
    best[:, at.v] = noise
    return best


def definite(problem: Problem, theta: Floats) -> Floats:
    """The same with smaller error covariances where W would not be positive definite."""
    at = problem.shape.at
    if not problem.shape.pairs:
        return theta
    covariance = np.zeros(theta.shape[1], dtype=bool)
    if problem.link is None:
        covariance[at.w] = True
    else:
        covariance = np.asarray(np.abs(problem.link[0, at.w]).sum(axis=0) > 0.0)
    left = np.arange(len(theta))
    fine = theta.copy()
    for share in SHARES:
        fine[left] = np.where(covariance, share * theta[left], theta[left])
        left = left[~np.isfinite(evaluate(problem.take(left), fine[left]).value)]
        if not len(left):
            break
    return fine


@dataclass(frozen=True, eq=False)
class _Gap:
    """How far a point is from solving the equations, and W from definite."""

    parts: Parts
    matrix: Floats  # what the errors leave of the residuals' covariances
    outer: Floats  # covariances of the residuals with regressors that no member causes
    short: Floats  # of each eigenvalue of W
    vectors: Floats

    @staticmethod
    def at(problem: Problem, theta: Floats) -> _Gap:
        parts = parts_of(problem, theta)
        matrix = parts.R - parts.omega
        outer = np.zeros((len(theta), 0, 0)) if problem.before is None else parts.GA * problem.before[:, :, None]
        if not problem.covarying:
            return _Gap(parts, matrix, outer, np.zeros((len(theta), 0)), np.zeros((len(theta), parts.W.shape[1], 0)))
        values, vectors = np.linalg.eigh(parts.W)
        return _Gap(parts, matrix, outer, np.maximum(ROOM - values, 0.0), vectors)

    @property
    def squares(self) -> Floats:
        aside = (self.outer * self.outer).sum(axis=(1, 2)) + (self.short * self.short).sum(axis=1)
        return np.asarray((self.matrix * self.matrix).sum(axis=(1, 2)) + 2.0 * aside)


def _derivatives(problem: Problem, gap: _Gap) -> tuple[Floats, Floats]:
    """A quarter of the gradient of the squares, and of their Gauss-Newton Hessian.

    Every parameter moves the matrix by ``-(u e_j' + e_j u')``: see ``block``; a coefficient with its row of ``G A``. An
    eigenvalue of W with vector q moves with a parameter of W by ``2 (u'q) q_j``.
    """
    at = problem.shape.at
    target, m = at.target, problem.shape.slots
    b, size = len(gap.matrix), len(target)
    rest = np.broadcast_to(directions(gap.parts), (b, size - m, gap.matrix.shape[1]))
    U = np.concatenate([gap.parts.GA, rest], axis=1)
    cross = U[:, :, target]
    same = (target[:, None] == target).astype(float)
    bend = same * (U @ U.transpose(0, 2, 1)) + cross * cross.transpose(0, 2, 1)
    pull = -(U @ gap.matrix)[:, np.arange(size), target]
    if gap.outer.any():
        shift = problem.G[:, :m, :m] * problem.before[:, :, None]  # type: ignore[index]
        bend[:, :m, :m] += same[:m, :m] * (shift.transpose(0, 2, 1) @ shift)
        pull[:, :m] -= (shift * gap.outer[:, :, target[:m]]).sum(axis=1)
    if gap.short.any():
        inside = slice(at.w.start, at.v.stop)
        rise = -2.0 * (U[:, inside] @ gap.vectors) * gap.vectors[:, target[inside]] * (gap.short > 0.0)[:, None, :]
        bend[:, inside, inside] += rise @ rise.transpose(0, 2, 1)
        pull[:, inside] += (rise @ gap.short[:, :, None])[:, :, 0]
    return pull_back(problem, pull), pull_back_twice(problem, bend)
