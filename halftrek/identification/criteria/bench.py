"""A graph at a random point modulo a prime: the numbers that the criteria look at instead of paths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from halftrek.identification.local.parameters import Point
    from halftrek.identification.numbers.modular import Ints, PrimeField
    from halftrek.identification.recipes.recipe import Combination, LinearStep


@dataclass(frozen=True, eq=False)
class Bench:
    """T, Omega and Sigma of the whole graph at a point, variables in causal order."""

    point: Point
    field: PrimeField

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Variables, causes before effects."""
        return self.point.parameters.graph.topological_order

    @cached_property
    def place(self) -> dict[str, int]:
        """Row of each variable."""
        return {v: i for i, v in enumerate(self.names)}

    @cached_property
    def _matrices(self) -> tuple[Ints, Ints, Ints]:
        return self.point.matrices(self.names)

    @property
    def T(self) -> Ints:
        """Edge weights."""
        return self._matrices[0]

    @cached_property
    def omega(self) -> Ints:
        """Error covariances, hidden causes included."""
        _, C, W = self._matrices
        return self.field.reduce(self.field.matmul(C.T, C) + W) if len(C) else W

    @cached_property
    def B(self) -> Ints:
        """Total effects."""
        return self.field.total_effects(self.T)

    @cached_property
    def sigma(self) -> Ints:
        """Covariance of the observed variables."""
        return self.field.covariance(self.T, self.omega)

    def invertible(self, step: LinearStep) -> bool:
        """True if the system of a step has one solution at the point; its known quantities are edge weights."""
        if len(step.rows) != len(step.columns):
            return False
        used = {c.variable: None for c in step.columns} | {q: None for c in step.columns for q, _ in c.minus}
        at = [self.place[v] for v in used]
        system = self.covariances(step.rows, at)
        if any(c.minus for c in step.columns):
            place = {v: i for i, v in enumerate(used)}
            mixed = np.zeros((len(used), len(step.columns)), dtype=np.int64)
            for j, c in enumerate(step.columns):
                mixed[place[c.variable], j] = 1
                for q, _ in c.minus:
                    mixed[place[q], j] = -self.T[self.place[q], self.place[c.variable]]
            system = self.field.matmul(system, self.field.reduce(mixed))
        return self.field.rank(system) == len(step.rows)

    def covariances(self, combinations: Sequence[Combination], at: list[int]) -> Ints:
        """Covariances of combinations (their known quantities are edge weights) with the variables in some places."""
        found = self.sigma[[self.place[c.variable] for c in combinations]][:, at]
        for row, c in zip(found, combinations, strict=True):
            if c.minus:
                causes = [self.place[q] for q, _ in c.minus]
                weights = self.T[causes, self.place[c.variable]]
                row -= (weights[:, None] * self.sigma[np.ix_(causes, at)] % self.field.p).sum(axis=0)
        return self.field.reduce(found)
