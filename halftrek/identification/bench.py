"""A graph at a random point modulo a prime: the numbers that the criteria look at instead of paths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from halftrek.identification.modular import Ints, PrimeField
    from halftrek.identification.parameters import Point
    from halftrek.identification.recipe import Combination, LinearStep


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
        rows, columns = (self._vectors(c) for c in (step.rows, step.columns))
        system = self.field.matmul(self.field.matmul(rows, self.sigma), columns.T)
        return self.field.rank(system) == len(rows) == len(columns)

    def _vectors(self, combinations: Sequence[Combination]) -> Ints:
        vectors = np.zeros((len(combinations), len(self.names)), dtype=np.int64)
        for i, c in enumerate(combinations):
            vectors[i, self.place[c.variable]] = 1
            for q, _ in c.minus:
                vectors[i, self.place[q]] = -self.T[self.place[q], self.place[c.variable]]
        return self.field.reduce(vectors)
