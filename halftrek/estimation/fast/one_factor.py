"""One hidden cause of many variables and nothing else: the likelihood as a function of the noise variances alone.

With noise variances psi (R the correlations, ``A = psi^-1/2 R psi^-1/2``, largest eigenvalue l with vector v) the best
loadings are ``psi^1/2 v sqrt(l - 1)`` (Jöreskog 1967), and what is left to minimise in ``x = log psi`` is

    F = sum x + tr A + log l - l + 1,    dF/dx_i = 1 - A_ii + (l - 1) v_i²

whose second derivatives are about ``(1[i=j] - v_i v_j)²``: a diagonal and one product, so that a step costs no more
than the eigenvector. The last steps have the second derivatives from all eigenvectors, which also show a maximum.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.estimation.district.newton import Optimum
from halftrek.estimation.district.shape import Problem

LEAST = 40  # children from which on this is quicker than Newton steps in all parameters from many starts
STEPS = 200
CLOSE = 1e-5  # of F: from here on exact second derivatives
DONE = 1e-13  # of F
SMALL = 1e-3  # a noise variance, as a share, below which the boundary is near: not for here
APART = 1e-3  # by how much, as a share, the largest eigenvalue has to stand out
TURNS = 300  # of the search for the eigenvector


def is_one_factor(problem: Problem) -> bool:
    """True for a hidden cause of all members, many, with nothing else, nothing fixed and nothing tied."""
    shape = problem.shape
    alone = not shape.column and not shape.pairs and shape.hidden == 1 and problem.link is None
    every = len(shape.loadings) == len(shape.noisy) == shape.size
    return alone and every and shape.size >= LEAST and not problem.covarying


def fit_one_factor(problem: Problem) -> Optimum | None:
    """The maximum for each member of the batch from two starts that agree; None if one of them is no plain case."""
    found = [_best(R) for R in problem.G]
    if any(one is None for one in found):
        return None
    at, ends = problem.shape.at, [one for one in found if one is not None]
    theta = np.zeros((len(ends), problem.shape.parameters))
    for row, end in zip(theta, ends, strict=True):
        row[at.v] = end.x[at.noisy]
        row[at.c] = end.loadings[at.child]
    every = np.ones(len(ends), dtype=bool)
    steps = np.array([end.steps for end in ends], dtype=np.intp)
    return Optimum(
        theta, np.array([e.value for e in ends]), np.array([e.decrement for e in ends]), steps, every, every.copy()
    )


@dataclass(frozen=True, eq=False)
class _Place:
    """The likelihood at some noise variances."""

    x: Floats
    value: float
    diagonal: Floats
    largest: float
    vector: Floats
    steps: int = 0
    decrement: float = np.inf

    @property
    def slope(self) -> Floats:
        return np.asarray(1.0 - self.diagonal + (self.largest - 1.0) * self.vector**2)

    @property
    def loadings(self) -> Floats:
        return np.asarray(np.exp(self.x / 2.0) * self.vector * np.sqrt(self.largest - 1.0))


def _best(R: Floats) -> _Place | None:
    try:
        unique = 1.0 / np.diag(np.linalg.inv(R))  # what the others leave of each
    except np.linalg.LinAlgError:
        return None
    ends = [_descend(R, np.log(np.clip(start, 0.05, 1.0))) for start in (unique, np.full(len(R), 0.5))]
    if any(end is None for end in ends):
        return None
    first, second = (end for end in ends if end is not None)
    if abs(first.value - second.value) > 10.0 * CLOSE:
        return None
    return _finish(R, first if first.value <= second.value else second)


def _descend(R: Floats, x: Floats) -> _Place | None:
    """Steps with second derivatives that need one eigenvector."""
    here = _at(R, x, np.ones(len(R)))
    for taken in range(1, STEPS + 1):
        if here is None:
            return None
        w = here.vector**2
        diagonal = 1.0 - 2.0 * w
        if diagonal.min() <= 0.01:  # one variable has half of the whole: hardly many children
            return None
        g = here.slope
        step = -(g / diagonal - w / diagonal * ((w / diagonal) @ g) / (1.0 + (w / diagonal) @ w))
        gain = -0.5 * float(g @ step)
        if gain < CLOSE:
            return here
        here = _moved(R, here, step, gain, taken)
    return None


def _finish(R: Floats, here: _Place) -> _Place | None:
    """Newton steps, and whether they end at a maximum beyond doubt."""
    taken = here.steps
    for _ in range(12):
        values, vectors = np.linalg.eigh(_scaled(R, here.x))
        largest, v, others, U = values[-1], vectors[:, -1], values[:-1], vectors[:, :-1]
        if largest - 1.0 < APART * largest or largest - others[-1] < APART * largest:
            return None
        share = (U * ((largest + others) / (largest - others))) @ U.T
        H = np.diag(here.diagonal) - largest * np.outer(v**2, v**2) - (largest - 1.0) * np.outer(v, v) * share
        low, axes = np.linalg.eigh(H)
        if low[0] < APART:
            return None
        g = 1.0 - here.diagonal + (largest - 1.0) * v**2
        along = axes.T @ g
        gain = 0.5 * float((along**2 / low).sum())
        if gain < DONE * (1.0 + abs(here.value)):
            inside = np.exp(here.x).min() > SMALL
            return _Place(here.x, here.value, here.diagonal, largest, v, taken, gain) if inside else None
        taken += 1
        moved = _moved(R, here, -axes @ (along / low), gain, taken)
        if moved is None:
            return None
        here = moved
    return None


def _moved(R: Floats, here: _Place, step: Floats, gain: float, taken: int) -> _Place | None:
    """The first place along the step (halved as often as needed) that is low enough."""
    size = 1.0
    rounding = 1e-14 * (1.0 + abs(here.value))
    for _ in range(30):
        found = _at(R, here.x + size * step, here.vector, taken)
        if found is not None and found.value <= here.value - 1e-4 * size * gain + rounding:
            return found
        size /= 2.0
    return None


def _scaled(R: Floats, x: Floats) -> Floats:
    root = np.exp(-x / 2.0)
    return np.asarray(R * root[:, None] * root)


def _at(R: Floats, x: Floats, near: Floats, taken: int = 0) -> _Place | None:
    """F at some noise variances; None where the best hidden cause has no loadings."""
    A = _scaled(R, x)
    v = near / np.linalg.norm(near)
    for _ in range(TURNS):
        image = A @ v
        turned = image / np.linalg.norm(image)
        if np.abs(turned - v).max() < 1e-13:
            break
        v = turned
    else:
        v = np.linalg.eigh(A)[1][:, -1]
    largest = float(v @ A @ v)
    if not largest > 1.0:
        return None
    diagonal = A.diagonal()
    value = float(x.sum() + diagonal.sum() + np.log(largest) - largest + 1.0)
    return _Place(x, value, diagonal, largest, v, taken)
