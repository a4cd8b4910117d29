"""The equations of some districts alone, where those of the whole graph are many.

A covariance tells of each district on its own: which weights into it, and which covariances of its errors, agree with
the covariance does not depend on those of other districts (Tian and Pearl 2002). So where an edge is varied, the
districts that it touches move, and all others can stay as they are in the fitted model. Weights with one label are one
unknown, which joins the districts that they lead into.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from halftrek.bottom.arrays import Array, Flags, Floats, Ints
from halftrek.graphs import Graph
from halftrek.partial.varied.engine.equations import Entries, Equations

MANY = 400_000  # derivatives of equations, above which it pays to leave some out


def is_large(equations: Equations) -> bool:
    """True if the equations of all districts together are many."""
    return len(equations.pairs) * equations.size > MANY


def districts_of(graph: Graph, names: tuple[str, ...], equations: Equations) -> Ints:
    """A number for each variable, the same for those whose unknowns cannot be told apart by districts or labels."""
    at = {v: i for i, v in enumerate(names)}
    found = np.zeros(len(names), dtype=np.intp)
    for k, members in enumerate(graph.districts):
        found[[at[v] for v in members]] = k
    first: dict[int, int] = {}
    for entries in (equations.T, equations.C, equations.W):
        for unknown, column in zip(entries.unknown.tolist(), entries.column.tolist(), strict=True):
            other = first.setdefault(unknown, column)
            found[found == found[column]] = found[other]
    return found


def within(equations: Equations, start: Floats, moving: Flags) -> tuple[Equations, Floats]:
    """The equations in which the variables ``moving`` have a part, with all else as it is at the start."""
    kept = np.zeros(equations.size, dtype=bool)
    parts = []
    for entries, constants in ((equations.T, equations.T0), (equations.C, equations.C0), (equations.W, equations.W0)):
        mine = moving[entries.column]
        kept[entries.unknown[mine]] = True
        parts.append((entries, mine, _with(constants, entries, ~mine, start)))
    number = np.cumsum(kept) - 1
    (T, T0), (C, C0), (W, W0) = (
        (Entries(e.row[mine], e.column[mine], number[e.unknown[mine]], e.by[mine]), constants)
        for e, mine, constants in parts
    )
    i, j = equations.pairs.T
    pairs = equations.pairs[moving[i] | moving[j]]
    return replace(equations, T=T, C=C, W=W, T0=T0, C0=C0, W0=W0, unit=equations.unit[kept], pairs=pairs), start[kept]


def _with(constants: Floats, entries: Entries, still: Flags, start: Floats) -> Array:
    """The matrix with the unknowns that stay as they are."""
    found = constants.copy()
    found[entries.row[still], entries.column[still]] = start[entries.unknown[still]] * entries.by[still]
    return found
