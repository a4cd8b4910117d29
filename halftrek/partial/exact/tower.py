"""The columns of a plan in exact arithmetic, each worked out when something asks for it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from flint import fmpq

from halftrek.bottom.arrays import Floats
from halftrek.models.scm import CGLSCM
from halftrek.partial.exact.rational import Number, Rational, Ring, exact, solved, total
from halftrek.partial.fibre.plan import Plan

Matrix = list[list[fmpq]]


class Tower:
    """Weights, error covariances and intercepts as quotients of polynomials in ``u / unit``; a unit is a power of 2."""

    def __init__(self, plan: Plan, sigma: Matrix, mean: Sequence[Number]) -> None:
        self.plan = plan
        self.ring = Ring(len(plan.coordinates))
        self.p = len(plan.names)
        self.size = len(plan.form)
        self.sigma = sigma
        self.mean = [exact(x) for x in mean]
        self.units = np.array([power_of_two(c.unit) for c in plan.coordinates])
        self._steps = {step.at: step for step in plan.columns}
        self._columns: dict[int, dict[int, Rational]] = {}
        self._carried: dict[int, dict[int, Rational]] = {}
        self._omega: dict[tuple[int, int], Rational] = {}

    @cached_property
    def place(self) -> dict[str, int]:
        """Where each variable stands."""
        return {v: i for i, v in enumerate((*self.plan.names, *self.plan.latents))}

    def form(self, i: int, j: int) -> fmpq | None:
        """An entry of the bilinear form, None for nothing."""
        if i < self.p and j < self.p:
            return self.sigma[i][j]
        return fmpq(-1) if i == j else None

    def column(self, j: int) -> dict[int, Rational]:
        """``a_j``: 1 for the variable itself, less its weights and loadings; what is absent is zero."""
        if j not in self._columns:
            self._columns[j] = self._worked_out(j)
        return self._columns[j]

    def carried(self, j: int, i: int) -> Rational:
        """``(form a_j)_i``: the covariance of the error of j with variable i."""
        kept = self._carried.setdefault(j, {})
        if i not in kept:
            parts = []
            for k, entry in self.column(j).items():
                weight = self.form(i, k)
                if weight is not None and weight != 0:
                    parts.append(entry.times(weight))
            kept[i] = total(parts, self.ring)
        return kept[i]

    def _worked_out(self, j: int) -> dict[int, Rational]:
        step = self._steps[j]
        a = {j: self.ring.one}
        for i, k in step.free:
            a[i] = self.ring.coordinate(k).times(-float(self.units[k]))
        for i, value in step.held:
            a[i] = self.ring.number(-value)
        for i, cause, effect in step.tied:
            if effect != j:
                a[i] = self.column(effect)[cause]
            elif cause in a:
                a[i] = a[cause]
        if step.solved:
            shared = {i: [i, *(t for t, u, v in step.tied if v == j and u == i)] for i in step.solved}
            matrix = [
                [total([self.carried(k, c) for c in shared[i]], self.ring) for i in step.solved] for k in step.rows
            ]
            right = []
            for k in step.rows:
                whole = total([self.carried(k, i) * entry for i, entry in a.items()], self.ring)
                right.append(whole - self.ring.number(float(self.plan.known[k, j])))
            weights = solved(matrix, right)
            if weights is None:
                raise ZeroDivisionError("the equations of a column are singular everywhere")
            for i, weight in zip(step.solved, weights, strict=True):
                for c in shared[i]:
                    a[c] = -weight
        return a

    def weight(self, i: int, j: int) -> Rational:
        """``T[i, j]``."""
        found = self.column(j).get(i)
        return self.ring.zero if found is None or i == j else -found

    def loading(self, k: int, j: int) -> Rational:
        """``C[k, j]``."""
        found = self.column(j).get(self.p + k)
        return self.ring.zero if found is None else -found

    def noise(self, i: int, j: int) -> Rational:
        """``W[i, j]``: errors without their hidden causes."""
        key = (min(i, j), max(i, j))
        if key not in self._omega:
            parts = [self.carried(key[0], k) * entry for k, entry in self.column(key[1]).items()]
            self._omega[key] = total(parts, self.ring)
        return self._omega[key]

    def omega(self, i: int, j: int) -> Rational:
        """``Omega[i, j]``, hidden causes in it."""
        hidden = [self.loading(k, i) * self.loading(k, j) for k in range(self.size - self.p)]
        return total([self.noise(i, j), *hidden], self.ring)

    def intercept(self, j: int) -> Rational:
        """``mu[j]``, which gives the mean."""
        parts = [entry.times(self.mean[i]) for i, entry in self.column(j).items() if i < self.p and self.mean[i] != 0]
        return total(parts, self.ring)

    def covariance(self, i: int, j: int) -> fmpq:
        """``Sigma[i, j]``."""
        return self.sigma[i][j]


def power_of_two(value: float) -> float:
    """The nearest, so that a change of units is exact."""
    return float(2.0 ** np.round(np.log2(value)))


def exact_matrix(matrix: Floats) -> Matrix:
    """Every entry as the number that its float is."""
    return [[exact(x) for x in row] for row in np.asarray(matrix, dtype=float).tolist()]


def exact_covariance(model: CGLSCM) -> Matrix:
    """``B' Omega B`` of a model without rounding: a covariance that the graph has exactly."""
    p = len(model.names)
    T, W, C = (exact_matrix(part) for part in (model.T, model.W, model.C))
    B = [[fmpq(int(i == j)) for j in range(p)] for i in range(p)]
    for v in model.graph.topological_order:
        j = model.names.index(v)
        for k in range(p):
            if T[k][j] != 0:
                for i in range(p):
                    if B[i][k] != 0:
                        B[i][j] += B[i][k] * T[k][j]
    own = [[W[max(i, j)][min(i, j)] for j in range(p)] for i in range(p)]  # the two halves may differ in the last bit
    omega = [[sum((row[i] * row[j] for row in C), start=own[i][j]) for j in range(p)] for i in range(p)]
    half = [[sum((omega[i][k] * B[k][j] for k in range(p)), start=fmpq(0)) for j in range(p)] for i in range(p)]
    return [[sum((B[k][i] * half[k][j] for k in range(p)), start=fmpq(0)) for j in range(p)] for i in range(p)]
