"""Directions in which the parameters of a district move while its covariance stays, variable by variable.

With ``A = Sigma (I - T)`` a change of the weights moves the error covariances by ``-(dT' A + A' dT)``. It leaves Sigma
as it is exactly if this is zero for every pair of variables without a free error covariance; free ones just follow.
Such an equation is about the weights into i alone if those into j cannot move, or do not matter for it. So variables
are settled one after another, each with a system of its own size, and only what remains of them is solved at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from halftrek.bottom.arrays import Flags

if TYPE_CHECKING:
    from halftrek.identification.local.jacobian import Block
    from halftrek.identification.numbers.modular import Ints, PrimeField


@dataclass(frozen=True, eq=False)
class _Equations:
    """The equations of a district: ``slopes[i]`` holds the rows of A of the causes whose weights on i are free."""

    field: PrimeField
    slopes: dict[int, Ints]
    bound: Flags  # pairs whose error covariance cannot move

    def settle(self) -> dict[int, Ints]:
        """For each variable whose weights may move: the directions that equations of its own leave open."""
        size = len(self.bound)
        left = {i: np.eye(len(slopes), dtype=np.int64) for i, slopes in self.slopes.items()}
        silent = np.ones((size, size), dtype=bool)  # the weights into the first do not matter for this pair
        for i, slopes in self.slopes.items():
            silent[i] = ~slopes.any(axis=0)
        looked = dict.fromkeys(left, -1)
        changed = True
        while changed:
            changed = False
            for i in list(left):
                usable = np.flatnonzero(self.bound[i] & silent[:, i])
                if len(usable) == looked[i]:
                    continue
                looked[i] = len(usable)
                left[i] = self.field.null_space(self.slopes[i][:, usable].T)
                if not left[i].shape[1]:
                    del left[i]
                    silent[i] = True
                    changed = True
        return left

    def together(self, left: dict[int, Ints]) -> Ints:
        """How the open directions of several variables may be combined, variable after variable."""
        starts = dict(zip(left, np.cumsum([0, *(n.shape[1] for n in left.values())])[:-1].tolist(), strict=True))
        width = sum(n.shape[1] for n in left.values())
        kernel = np.eye(width, dtype=np.int64)
        moves = {i: self.field.matmul(n.T, self.slopes[i]) for i, n in left.items()}
        order = list(left)
        for at, i in enumerate(order):
            others = [j for j in order[:at] if self.bound[i, j]]
            if not others or not kernel.shape[1]:
                continue
            rows = np.zeros((len(others), width), dtype=np.int64)
            rows[:, starts[i] : starts[i] + len(moves[i])] = moves[i][:, others].T
            for row, j in zip(rows, others, strict=True):
                row[starts[j] : starts[j] + len(moves[j])] = moves[j][:, i]
            kernel = self.field.matmul(kernel, self.field.null_space(self.field.matmul(rows, kernel)))
        return kernel


def free_directions(field: PrimeField, block: Block) -> Ints:
    """A basis, in columns, of the movements of a district's free parameters; each stands for one entry of T or W."""
    place = {v: i for i, v in enumerate(block.names)}
    A = field.carried(block.weights, block.omega)
    bound = ~np.eye(len(place), dtype=bool)
    edges: dict[int, list[tuple[int, int]]] = {}  # for each effect its causes, with the place of the parameter
    for k, e in enumerate(block.entries):
        i, j = place[e.source], place[e.target]
        if e.kind == "direct":
            edges.setdefault(j, []).append((i, k))
        else:
            bound[i, j] = bound[j, i] = False
    equations = _Equations(field, {j: A[[i for i, _ in causes]] for j, causes in edges.items()}, bound)
    left = equations.settle()
    if not left:
        return np.zeros((len(block.free), 0), dtype=np.int64)
    kernel = equations.together(left)
    found = np.zeros((len(block.free), kernel.shape[1]), dtype=np.int64)
    follows: dict[int, Ints] = {}
    start = 0
    for j, basis in left.items():
        change = field.matmul(basis, kernel[start : start + basis.shape[1]])
        start += basis.shape[1]
        found[[k for _, k in edges[j]]] = change
        follows[j] = field.matmul(equations.slopes[j].T, change)
    for k, e in enumerate(block.entries):
        i, j = place[e.source], place[e.target]
        if e.kind != "direct":
            for a, b in ((i, j), (j, i)):
                if a in follows:
                    found[k] -= follows[a][b]
    return field.reduce(found)
