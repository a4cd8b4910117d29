"""A plain way to the maximum next to a point: damped scoring, dense matrices, nothing of halftrek's.

Error covariances stay positive definite by a barrier, a multiple of their log-determinants that falls to nothing. With
the weight w at the end, ``Z = w B^-1`` are multipliers of the border B >= 0: they are positive, the slope of the
likelihood and theirs cancel, and ``tr(Z B)``, w times the size of B, is all that the border can be worth.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.maxima.model import Shape

STEPS = 60
PATIENCE = 20  # steps of scoring, which crawls where the model is far from the data
ASIDE = 1e-4  # standard errors between a point and those where slopes are taken for its curvature
DONE = 1e-10  # promised rise of a step: the likelihood has no more to give
FLOOR = 1e-8  # of a free variance, as a share of the variable's: halftrek's own, so that both have the same borders
WEIGHTS = 10.0 ** np.arange(0, -9, -1)
LOG_2PI = np.log(2.0 * np.pi)


@dataclass(frozen=True, eq=False)
class Piece:
    """Rows of one pattern of what is seen, by their moments."""

    seen: np.ndarray
    n: float
    mean: np.ndarray
    cov: np.ndarray


@dataclass(frozen=True, eq=False)
class Weights:
    """Least squares in place of a likelihood: a weight for each covariance (``np.triu_indices``)."""

    n: float
    cov: np.ndarray
    weights: np.ndarray


@dataclass(frozen=True, eq=False)
class Block:
    """Error covariances that must be positive definite, ``held + theta moves``."""

    held: np.ndarray
    moves: np.ndarray

    def at(self, theta: np.ndarray) -> np.ndarray:
        return np.asarray(self.held + np.tensordot(theta, self.moves, 1))


@dataclass(frozen=True, eq=False)
class Place:
    """A point: what is climbed there, its slope, its information."""

    theta: np.ndarray
    value: float
    slope: np.ndarray
    bend: np.ndarray


@dataclass(frozen=True, eq=False)
class Ended:
    """Where it ended: the rise that one more step promises, and what the border may be worth if it is near."""

    theta: np.ndarray
    left: float
    gap: float
    border: bool
    steps: int

    @property
    def settled(self) -> bool:
        """True if this is a maximum under the borders, to a tenth of what counts."""
        return self.left < 1e-7


@dataclass(frozen=True, eq=False)
class Problem:
    """Groups with their shapes and data, and what must stay positive definite."""

    shapes: tuple[Shape, ...]
    data: tuple[Sequence[Piece] | Weights, ...]
    blocks: tuple[Block, ...]

    def at(self, theta: np.ndarray, weight: float) -> Place | None:
        """None where a covariance is not positive definite."""
        k = len(theta)
        value, slope, bend = 0.0, np.zeros(k), np.zeros((k, k))
        parts = [_group(shape, data, theta) for shape, data in zip(self.shapes, self.data, strict=True)]
        parts += [_barrier(block, theta, weight) for block in self.blocks] if weight else []
        for part in parts:
            if part is None:
                return None
            value, slope, bend = value + part[0], slope + part[1], bend + part[2]
        return Place(theta, value, slope, bend) if np.isfinite(value) else None

    def inside(self, theta: np.ndarray) -> bool:
        """True if no border is crossed."""
        return all(_definite(block.at(theta)) for block in self.blocks)


Part = tuple[float, np.ndarray, np.ndarray]


def _definite(matrix: np.ndarray) -> bool:
    """On a unit diagonal, whatever the units."""
    sd = np.sqrt(np.maximum(np.diag(matrix), 0.0))
    return bool((sd > 0.0).all() and np.linalg.eigvalsh(matrix / np.outer(sd, sd))[0] > 1e-14)


def _group(shape: Shape, data: Sequence[Piece] | Weights, theta: np.ndarray) -> Part | None:
    A, S, m = shape.at(theta)
    dA, dS, dm = shape.moves
    E = np.linalg.inv(np.eye(len(A)) - A)
    mean, cov = E @ m, E @ S @ E.T
    half = E @ (dA @ cov + 0.5 * dS @ E.T)
    p = shape.seen
    dcov, dmean = (half + half.transpose(0, 2, 1))[:, :p, :p], ((dA @ mean + dm) @ E.T)[:, :p]
    mean, cov = mean[:p], cov[:p, :p]
    if isinstance(data, Weights):
        return _least_squares(data, cov, dcov)
    value, slope, bend = 0.0, np.zeros(len(theta)), np.zeros((len(theta), len(theta)))
    for piece in data:
        o = piece.seen
        inner = _normal(piece, mean[o], cov[np.ix_(o, o)], dmean[:, o], dcov[:, o[:, None], o])
        if inner is None:
            return None
        value, slope, bend = value + inner[0], slope + inner[1], bend + inner[2]
    return value, slope, bend


def _normal(piece: Piece, mean: np.ndarray, cov: np.ndarray, dmean: np.ndarray, dcov: np.ndarray) -> Part | None:
    if not _definite(cov):
        return None
    k, n, K = len(dmean), piece.n, np.linalg.inv(cov)
    gap = piece.mean - mean
    about = piece.cov + np.outer(gap, gap)
    value = -0.5 * n * (len(mean) * LOG_2PI + np.linalg.slogdet(cov)[1] + (K * about).sum())
    turned = K @ dcov
    pull = K @ (about - cov) @ K
    slope = n * (dmean @ K @ gap + 0.5 * (dcov.reshape(k, -1) @ pull.ravel()))
    flat = turned.reshape(k, -1)
    bend = n * (dmean @ K @ dmean.T + 0.5 * flat @ turned.transpose(0, 2, 1).reshape(k, -1).T)
    return float(value), slope, bend


def _least_squares(data: Weights, cov: np.ndarray, dcov: np.ndarray) -> Part:
    i, j = np.triu_indices(len(cov))
    gap, moves = (data.cov - cov)[i, j], dcov[:, i, j]
    pull = data.n * data.weights * gap
    return float(-0.5 * gap @ pull), moves @ pull, data.n * (moves * data.weights) @ moves.T


def _barrier(block: Block, theta: np.ndarray, weight: float) -> Part | None:
    B = block.at(theta)
    if not _definite(B):
        return None
    turned = np.linalg.solve(B, block.moves)
    k = len(theta)
    bend = turned.reshape(k, -1) @ turned.transpose(0, 2, 1).reshape(k, -1).T
    value = float(np.linalg.slogdet(B)[1])
    return weight * value, weight * np.trace(turned, axis1=1, axis2=2), weight * bend


def step_of(place: Place, damping: float) -> tuple[np.ndarray, float]:
    """A damped step, on a unit diagonal, and the rise that it promises."""
    diagonal = np.diag(place.bend)
    scale = np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
    matrix = place.bend / np.outer(scale, scale)
    matrix[np.diag_indices_from(matrix)] = 1.0 + damping
    x = np.linalg.lstsq(matrix, place.slope / scale, rcond=1e-13)[0]
    return x / scale, float(0.5 * x @ (place.slope / scale))


def observed(problem: Problem, place: Place, weight: float) -> Place | None:
    """The same place with its own curvature, from slopes beside it; None where that bends up in some direction."""
    diagonal = np.diag(place.bend)
    slopes = []
    for h in np.diag(ASIDE / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))):
        above, below = problem.at(place.theta + h, weight), problem.at(place.theta - h, weight)
        if above is None or below is None:
            return None
        slopes.append((below.slope - above.slope) / (2.0 * h.sum()))
    bend = 0.5 * (np.array(slopes) + np.array(slopes).T)
    return replace(place, bend=bend) if _definite(bend) else None


def climb(problem: Problem, theta: np.ndarray, weight: float, done: float = DONE) -> tuple[Place | None, float, int]:
    """Up from a point by damped scoring, later by the curvature itself; the last promise, and the steps."""
    place, damping, patient = problem.at(theta, weight), 1e-4, PATIENCE
    if place is None:
        return None, np.inf, 0
    left = np.inf
    for count in range(STEPS):
        bent = observed(problem, place, weight) if count >= patient else None
        if count >= patient and bent is None:
            patient = count + PATIENCE
        left = step_of(bent or place, 0.0)[1]
        if left < done:
            return place, left, count
        move, gain = step_of(bent or place, damping)
        trial = problem.at(place.theta + move, weight)
        rounding = 1e-13 * abs(place.value) if gain < 1e-6 else 0.0
        if trial is not None and trial.value > place.value - rounding:
            place, damping = trial, max(damping / 10.0, 1e-12)
        elif damping > 1e12:
            break
        else:
            damping = max(10.0 * damping, 1e-6)
    return place, left, STEPS


def maximum(problem: Problem, truth: np.ndarray) -> Ended | None:
    """From the truth: without borders, and if that ends outside, between them."""
    free, left, steps = climb(problem, truth, 0.0)
    if free is not None and problem.inside(free.theta):
        return Ended(free.theta, left, 0.0, False, steps)
    theta, weight = truth, 0.0
    for weight in WEIGHTS:
        place, left, more = climb(problem, theta, weight, max(DONE, 1e-3 * weight))
        if place is None:
            return None
        theta, steps = place.theta, steps + more
    return Ended(theta, left, weight * sum(len(block.held) for block in problem.blocks), True, steps)


def borders(shape: Shape, variances: np.ndarray) -> list[Block]:
    """What must stay positive definite: error covariances less floors of the free variances, one block a district.

    ``variances`` are those of the variables: a floor is a share of them.

    Directions in which a block has no variance at any point, as of two factors whose correlation is held at one, are
    left out of it.
    """
    held, moves = shape.held[1], shape.moves[1]
    linked = (held != 0.0) | (moves != 0.0).any(axis=0) | np.eye(len(held), dtype=bool)
    reached = np.linalg.matrix_power(linked.astype(float), len(held)) > 0.0
    found = []
    for i in np.unique(reached.argmax(axis=1)):
        own = np.flatnonzero(reached[i])
        grid = np.ix_(own, own)
        S, D = held[grid], moves[:, own[:, None], own]
        if not D.any():
            continue
        free = np.diagonal(D, axis1=1, axis2=2).any(axis=0)
        sd = np.sqrt(np.where(free, variances[own], np.maximum(np.diag(S), 1e-300)))
        values, vectors = np.linalg.eigh(sum((x / np.outer(sd, sd)) @ (x / np.outer(sd, sd)) for x in (S, *D)))
        Q = vectors[:, values > 1e-12 * values[-1]] / sd[:, None]
        less = S - np.diag(np.where(free, FLOOR * variances[own], 0.0))
        found.append(Block(Q.T @ less @ Q, Q.T @ D @ Q))
    return found
