"""How the value of a recipe moves with the covariance matrix: one sweep back through its steps.

A linear step solves ``M b = m`` with ``M = L Sigma R'`` and ``m = L Sigma t``. If the answer moves by ``g'db`` with b,
it moves by ``l' (dm - dM b)`` with the system, where ``M'l = g``. With ``e = t - R'b``, what is left of the target,
this is ``l' (dL Sigma e + L dSigma e + L Sigma de)``: all that is needed are ``L'l`` and e.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.identification.recipes.recipe import (
    Combination,
    CovarianceStep,
    LinearStep,
    Recipe,
    Step,
    SumStep,
    ValueStep,
    variables_used,
)


def solve_with_slope(recipe: Recipe, Sigma: Floats, names: Sequence[str]) -> tuple[float, Floats] | None:
    """The value of a recipe with one output, and the symmetric G with ``d value = tr(G dSigma)``.

    None where a step has no unique solution.
    """
    place = {v: i for i, v in enumerate(names)}
    at = [place[v] for v in variables_used(recipe)]
    tape = _Tape(tuple(variables_used(recipe)), np.asarray(Sigma, dtype=float)[np.ix_(at, at)])
    try:
        for step in recipe.steps:
            tape.forward(step)
    except (np.linalg.LinAlgError, ZeroDivisionError):
        return None
    (output,) = recipe.outputs
    tape.pull(output, 1.0)
    for step in reversed(recipe.steps):
        tape.backward(step)
    slope = np.zeros((len(names), len(names)))
    slope[np.ix_(at, at)] = (tape.slope + tape.slope.T) / 2.0
    return float(tape.known[output]), slope


class _Tape:
    """Quantities on the way forward; on the way back how the answer moves with each, and with Sigma."""

    def __init__(self, names: tuple[str, ...], sigma: Floats) -> None:
        self.place = {v: i for i, v in enumerate(names)}
        self.sigma, self.slope = sigma, np.zeros_like(sigma)
        self.known: dict[str, float] = {}
        self.moves: dict[str, float] = {}

    def vector(self, c: Combination) -> Floats:
        found = np.zeros(len(self.place))
        found[self.place[c.variable]] = 1.0
        for v, q in c.minus:
            found[self.place[v]] -= self.known[q]
        return found

    def pull(self, quantity: str, slope: float) -> None:
        self.moves[quantity] = self.moves.get(quantity, 0.0) + slope

    def pull_vector(self, c: Combination, slope: Floats) -> None:
        for v, q in c.minus:
            self.pull(q, -float(slope[self.place[v]]))

    def system(self, step: LinearStep) -> tuple[Floats, Floats, Floats]:
        left = np.array([self.vector(c) for c in step.rows])
        right = np.array([self.vector(c) for c in step.columns])
        return left, right, self.vector(step.target)

    def forward(self, step: Step) -> None:
        match step:
            case LinearStep():
                left, right, target = self.system(step)
                solution = np.linalg.solve(left @ self.sigma @ right.T, left @ self.sigma @ target)
                self.known |= {q: float(x) for q, x in zip(step.outputs, solution, strict=True) if q is not None}
            case SumStep(output, terms, divisor):
                total = sum(sign * float(np.prod([self.known[q] for q in factors])) for sign, factors in terms)
                self.known[output] = total if divisor is None else total / self.known[divisor]
            case CovarianceStep(output, first, second):
                self.known[output] = float(self.vector(first) @ self.sigma @ self.vector(second))
            case ValueStep(output, value):
                self.known[output] = value

    def backward(self, step: Step) -> None:
        match step:
            case LinearStep():
                self._solved(step)
            case SumStep():
                self._summed(step)
            case CovarianceStep(output, first, second):
                slope = self.moves.get(output, 0.0)
                u, v = self.vector(first), self.vector(second)
                self.slope += slope * np.outer(u, v)
                self.pull_vector(first, slope * (self.sigma @ v))
                self.pull_vector(second, slope * (self.sigma @ u))

    def _solved(self, step: LinearStep) -> None:
        g = np.array([0.0 if q is None else self.moves.get(q, 0.0) for q in step.outputs])
        if not g.any():
            return
        left, right, target = self.system(step)
        matrix = left @ self.sigma @ right.T
        b = np.linalg.solve(matrix, left @ self.sigma @ target)
        weights = np.linalg.solve(matrix.T, g)
        tool, rest = left.T @ weights, target - right.T @ b
        self.slope += np.outer(tool, rest)
        after, before = self.sigma @ rest, self.sigma @ tool
        for c, weight in zip(step.rows, weights, strict=True):
            self.pull_vector(c, weight * after)
        for c, x in zip(step.columns, b, strict=True):
            self.pull_vector(c, -x * before)
        self.pull_vector(step.target, before)

    def _summed(self, step: SumStep) -> None:
        slope = self.moves.get(step.output, 0.0)
        if not slope:
            return
        scale = 1.0
        if step.divisor is not None:
            scale = 1.0 / self.known[step.divisor]
            self.pull(step.divisor, -slope * self.known[step.output] * scale)
        for sign, factors in step.terms:
            for k, q in enumerate(factors):
                others = float(np.prod([self.known[r] for i, r in enumerate(factors) if i != k]))
                self.pull(q, slope * scale * sign * others)
