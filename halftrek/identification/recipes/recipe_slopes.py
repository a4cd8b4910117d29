"""How the quantities of a recipe move with the covariance matrix that it is run on.

A quantity q has a slope G with ``dq = tr(G dSigma)``. A linear step solves ``L Sigma R' x = L Sigma t`` for x, where L,
R and t may depend on earlier quantities; with ``e = t - R'x``, M the matrix of the system and w a row of its inverse,

    dx = w L dSigma e  +  w dL Sigma e  +  w L Sigma (dt - dR' x)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.identification.recipes.recipe import Combination, CovarianceStep, LinearStep, Recipe, SumStep, ValueStep


@dataclass(frozen=True, eq=False)
class Sloped:
    """Values and slopes of all quantities of a recipe, at a covariance matrix."""

    sigma: Floats
    place: dict[str, int]
    values: dict[str, float]
    slopes: dict[str, Floats]

    def vector(self, c: Combination) -> Floats:
        """A combination of variables as a vector."""
        found = np.zeros(len(self.sigma))
        found[self.place[c.variable]] = 1.0
        for v, q in c.minus:
            found[self.place[v]] -= self.values[q]
        return found

    def moved(self, c: Combination, weights: Floats) -> Floats:
        """The slope of ``weights @ vector(c)``."""
        found = np.zeros_like(self.sigma)
        for v, q in c.minus:
            found -= weights[self.place[v]] * self.slopes[q]
        return found

    def log_determinant(self, rows: Sequence[Combination], columns: Sequence[Combination]) -> tuple[float, Floats]:
        """``log |det(L Sigma R')|`` and its slope; minus infinity where the matrix is singular."""
        L, R = (np.array([self.vector(c) for c in part]) for part in (rows, columns))
        matrix = L @ self.sigma @ R.T
        value = float(np.linalg.slogdet(matrix)[1])
        if not np.isfinite(value):
            return -np.inf, np.zeros_like(self.sigma)
        inverse = np.linalg.inv(matrix)
        slope = _symmetric(R.T @ inverse @ L)
        left, right = self.sigma @ R.T @ inverse, inverse @ L @ self.sigma
        for i, c in enumerate(rows):
            slope = slope + self.moved(c, left[:, i])
        for j, c in enumerate(columns):
            slope = slope + self.moved(c, right[j])
        return value, slope


def slopes_of(recipe: Recipe, sigma: Floats, names: Sequence[str]) -> Sloped | None:
    """The recipe run with slopes; None if some step has no unique solution."""
    found = Sloped(sigma, {v: i for i, v in enumerate(names)}, {}, {})
    for step in recipe.steps:
        match step:
            case LinearStep():
                if not _solved(found, step):
                    return None
            case SumStep():
                if not _summed(found, step):
                    return None
            case CovarianceStep(output, left, right):
                a, b = found.vector(left), found.vector(right)
                found.values[output] = float(a @ sigma @ b)
                found.slopes[output] = (
                    _symmetric(np.outer(b, a)) + found.moved(left, sigma @ b) + found.moved(right, sigma @ a)
                )
            case ValueStep(output, value):
                found.values[output], found.slopes[output] = value, np.zeros_like(sigma)
    return found


def _solved(found: Sloped, step: LinearStep) -> bool:
    L, R = (np.array([found.vector(c) for c in part]) for part in (step.rows, step.columns))
    target = found.vector(step.target)
    try:
        inverse = np.linalg.inv(L @ found.sigma @ R.T)
    except np.linalg.LinAlgError:
        return False
    x = inverse @ (L @ found.sigma @ target)
    left_over = target - R.T @ x
    seen = found.sigma @ left_over
    for i, output in enumerate(step.outputs):
        if output is None:
            continue
        along = inverse[i] @ L
        through = found.sigma @ along
        slope = _symmetric(np.outer(left_over, along)) + found.moved(step.target, through)
        for r, c in enumerate(step.rows):
            slope = slope + inverse[i, r] * found.moved(c, seen)
        for k, c in enumerate(step.columns):
            slope = slope - x[k] * found.moved(c, through)
        found.values[output], found.slopes[output] = float(x[i]), slope
    return True


def _summed(found: Sloped, step: SumStep) -> bool:
    total, slope = 0.0, np.zeros_like(found.sigma)
    for sign, factors in step.terms:
        numbers = [found.values[q] for q in factors]
        total += sign * float(np.prod(numbers))
        for k, q in enumerate(factors):
            slope = slope + sign * float(np.prod(numbers[:k] + numbers[k + 1 :])) * found.slopes[q]
    if step.divisor is not None:
        below = found.values[step.divisor]
        if below == 0.0:
            return False
        total = total / below
        slope = (slope - total * found.slopes[step.divisor]) / below
    found.values[step.output], found.slopes[step.output] = total, slope
    return True


def _symmetric(matrix: Floats) -> Floats:
    return np.asarray((matrix + matrix.T) / 2.0)
