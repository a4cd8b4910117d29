"""How the quantities of a recipe move with the covariance matrix that it is run on.

A quantity q has a slope G with ``dq = tr(G dSigma)``. A linear step solves ``L Sigma R' x = L Sigma t`` for x, where L,
R and t may depend on earlier quantities; with ``e = t - R'x``, M the matrix of the system and w a row of its inverse,

    dx = w L dSigma e  +  w dL Sigma e  +  w L Sigma (dt - dR' x)
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
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


def slopes_of(
    recipe: Recipe, sigma: Floats, names: Sequence[str], wanted: Collection[str] | None = None
) -> Sloped | None:
    """The recipe run with slopes; None if some step has no unique solution.

    ``wanted``: the quantities whose slopes are needed (left out: all); others have only values, for a slope is as
    large as the covariance matrix.
    """
    found = Sloped(sigma, {v: i for i, v in enumerate(names)}, {}, {})
    needed = None if wanted is None else behind(recipe, wanted)
    for step in recipe.steps:
        match step:
            case LinearStep():
                if not _solved(found, step, needed):
                    return None
            case SumStep():
                if not _summed(found, step, needed):
                    return None
            case CovarianceStep(output, left, right):
                a, b = found.vector(left), found.vector(right)
                found.values[output] = float(a @ sigma @ b)
                if needed is None or output in needed:
                    found.slopes[output] = (
                        _symmetric(np.outer(b, a)) + found.moved(left, sigma @ b) + found.moved(right, sigma @ a)
                    )
            case ValueStep(output, value):
                found.values[output] = value
                if needed is None or output in needed:
                    found.slopes[output] = np.zeros_like(sigma)
    return found


def behind(recipe: Recipe, wanted: Collection[str]) -> set[str]:
    """Quantities, and all that their slopes are made of."""
    found = set(wanted)
    for step in reversed(recipe.steps):
        match step:
            case LinearStep(rows, columns, target, outputs):
                if any(q in found for q in outputs):
                    found |= quantities_in((*rows, *columns, target))
            case SumStep(output, terms, divisor):
                if output in found:
                    found |= {q for _, factors in terms for q in factors} | (
                        {divisor} if divisor is not None else set()
                    )
            case CovarianceStep(output, left, right):
                if output in found:
                    found |= quantities_in((left, right))
    return found


def quantities_in(combinations: Sequence[Combination]) -> set[str]:
    """The quantities that some combinations of variables are made with."""
    return {q for c in combinations for _, q in c.minus}


def _solved(found: Sloped, step: LinearStep, needed: Collection[str] | None) -> bool:
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
        found.values[output] = float(x[i])
        if needed is not None and output not in needed:
            continue
        along = inverse[i] @ L
        through = found.sigma @ along
        slope = _symmetric(np.outer(left_over, along)) + found.moved(step.target, through)
        for r, c in enumerate(step.rows):
            slope = slope + inverse[i, r] * found.moved(c, seen)
        for k, c in enumerate(step.columns):
            slope = slope - x[k] * found.moved(c, through)
        found.slopes[output] = slope
    return True


def _summed(found: Sloped, step: SumStep, needed: Collection[str] | None) -> bool:
    total = sum(sign * float(np.prod([found.values[q] for q in factors])) for sign, factors in step.terms)
    below = 1.0 if step.divisor is None else found.values[step.divisor]
    if below == 0.0:
        return False
    total = total / below
    found.values[step.output] = total
    if needed is not None and step.output not in needed:
        return True
    slope = np.zeros_like(found.sigma)
    for sign, factors in step.terms:
        numbers = [found.values[q] for q in factors]
        for k, q in enumerate(factors):
            slope += sign * float(np.prod(numbers[:k] + numbers[k + 1 :])) * found.slopes[q]
    if step.divisor is not None:
        slope = (slope - total * found.slopes[step.divisor]) / below
    found.slopes[step.output] = slope
    return True


def _symmetric(matrix: Floats) -> Floats:
    return np.asarray((matrix + matrix.T) / 2.0)
