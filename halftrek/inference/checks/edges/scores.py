"""Edges that are not in the graph: which they are, their scores, and what freeing them would do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from halftrek.bottom.arrays import Flags, Floats, Ints
from halftrek.graphs import Edge
from halftrek.queries.gradients import Gradient

LEAST_LEFT = 1e-7  # share of a new parameter's information that must be left when all others are free


@dataclass(frozen=True, eq=False)
class Edges:
    """Edges one by one: from ``first`` to ``second`` where ``arrow``, else an arc between the two."""

    arrow: Flags
    first: Ints
    second: Ints

    def __len__(self) -> int:
        return len(self.first)

    @staticmethod
    def of(arrows: Flags, arcs: Flags) -> Edges:
        """Arrows (row to column), then arcs, as flags over pairs; those into one variable stand together."""
        (v, u), (j, i) = np.nonzero(arrows.T), np.nonzero(arcs.T)
        kind = np.arange(len(u) + len(i)) < len(u)
        return Edges(kind, np.concatenate([u, i]), np.concatenate([v, j]))

    def pieces(self, size: int) -> Iterator[Edges]:
        """Some at a time."""
        for start in range(0, len(self), size):
            yield self.take(slice(start, start + size))

    def take(self, which: slice | Flags | Ints) -> Edges:
        """Some of them."""
        return Edges(self.arrow[which], self.first[which], self.second[which])

    def named(self, names: tuple[str, ...]) -> list[Edge]:
        """With the names of variables."""
        ends = zip(self.first, self.arrow, self.second, strict=True)
        return [Edge(names[u], "->" if arrow else "<->", names[v]) for u, arrow, v in ends]


class RowForms(Protocol):
    """Functions of a centred row that are summed over rows or clusters."""

    def __len__(self) -> int: ...

    @property
    def at(self) -> Ints: ...

    def values(self, centred: Floats, cov: Floats) -> Floats: ...


@dataclass(frozen=True, eq=False)
class Relaxation:
    """For each edge: mean score and efficient information of a row (nan if data would not tell the edge).

    ``slopes`` say how some answers move for each unit of the edge's value, one line an answer; ``rows`` are the
    efficient scores of a row.
    """

    edges: Edges
    score: Floats
    information: Floats
    slopes: Floats
    rows: RowForms

    def take(self, which: Flags) -> Relaxation:
        """Of some edges."""
        some = np.flatnonzero(which)
        edges, rows = self.edges.take(some), Chosen(self.rows, some)
        return Relaxation(edges, self.score[some], self.information[some], self.slopes[:, some], rows)

    @property
    def change(self) -> Floats:
        """The value that each edge would take, about."""
        return np.asarray(self.score / self.information)

    def index(self, n: float) -> Floats:
        """The modification index of each edge: about how much chi-square falls."""
        return np.asarray(n * self.score**2 / self.information)


Relaxer = Callable[[Edges, Sequence[Gradient]], Relaxation]  # edges freed each alone, and answers that move


@dataclass(frozen=True, eq=False)
class Chosen:
    """Some of several forms."""

    forms: RowForms
    which: Ints

    def __len__(self) -> int:
        return len(self.which)

    @property
    def at(self) -> Ints:
        """The columns that matter."""
        return self.forms.at

    def values(self, centred: Floats, cov: Floats) -> Floats:
        """One column for each form."""
        return self.forms.values(centred, cov)[:, self.which]


@dataclass(frozen=True, eq=False)
class Postponed:
    """Several forms that are worked out when rows ask for them: few do, and forms of many edges are large."""

    make: Callable[[], RowForms]
    size: int
    at: Ints

    def __len__(self) -> int:
        return self.size

    @cached_property
    def forms(self) -> RowForms:
        """The forms themselves."""
        return self.make()

    def values(self, centred: Floats, cov: Floats) -> Floats:
        """One column for each form."""
        return self.forms.values(centred, cov)
