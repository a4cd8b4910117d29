"""Gradients of many numbers that depend on the direct effects alone: a number for each edge, not for each pair."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import overload

import numpy as np

from halftrek.bottom.arrays import Flags, Floats, Ints
from halftrek.inference.information.information import DistrictInformation
from halftrek.queries.gradients import Gradient


@dataclass(frozen=True, eq=False)
class EdgeSlopes(Sequence[Gradient]):
    """One line for each number, one column for each edge, from ``tails`` to ``heads``, places in the model of ``size``.

    As a sequence it gives gradients like any other, each made when it is asked for.
    """

    values: Floats
    tails: Ints
    heads: Ints
    size: int

    def __len__(self) -> int:
        return len(self.values)

    @overload
    def __getitem__(self, index: int) -> Gradient: ...

    @overload
    def __getitem__(self, index: slice) -> EdgeSlopes: ...

    def __getitem__(self, index: int | slice) -> Gradient | EdgeSlopes:
        if isinstance(index, slice):
            return EdgeSlopes(self.values[index], self.tails, self.heads, self.size)
        T = np.zeros((self.size, self.size))
        T[self.tails, self.heads] = self.values[index]
        return Gradient(T, np.broadcast_to(0.0, T.shape), np.zeros(self.size))

    def single(self, size: int) -> Iterator[Gradient]:  # noqa: ARG002 (as all of its kind are called)
        """One by one."""
        return iter(self)

    @cached_property
    def _column(self) -> dict[tuple[int, int], int]:
        return {(int(u), int(v)): k for k, (u, v) in enumerate(zip(self.tails, self.heads, strict=True))}

    @property
    def touched(self) -> Flags:
        """The variables whose equations some number depends on."""
        found = np.zeros(self.size, dtype=bool)
        found[self.heads[self.values.any(axis=0)]] = True
        return found

    def pulled(self, block: DistrictInformation) -> Floats:
        """The gradients in a district's free parameters, one a line."""
        task, shape = block.task, block.task.shape
        full = np.zeros((len(self), shape.parameters))
        own = block.scale[shape.slots :]
        for a, (slot, j) in enumerate(zip(task.slots, shape.column, strict=True)):
            k = self._column.get((slot, task.variables[j]))
            if k is not None:
                full[:, a] = self.values[:, k] * (own[j] / block.scale[a])
        link = block.state.problem.link
        return full if link is None else np.asarray(full @ link[0])
