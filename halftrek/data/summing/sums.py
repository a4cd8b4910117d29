"""What engines are asked for: sums of rows and of products of columns, by label and by what a row lacks.

A model needs nothing else of its rows, so that rows can stay where they are. Whoever has them answers a
:class:`Request` with :class:`Sums`; answers for parts of the rows are merged exactly.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from halftrek.bottom.arrays import Codes, Flags, Floats, Ints
from halftrek.bottom.portable import Portable
from halftrek.data.columns.kinds import Kind
from halftrek.data.columns.kinds import merged as merged_kinds

LOSS = 64.0  # a shift may inflate a sum of squares by this factor (six bits) before the sums are made again


@dataclass(frozen=True)
class Column:
    """A column of numbers called ``name``: one of the engine's, or made of its entries by ``numbers``."""

    name: str
    column: str
    numbers: Mapping[Hashable, float] | None = None


@dataclass(frozen=True, eq=False)
class Features:
    """What sums of squares of any quadratic function of a row are made of: 1, numbers ``z``, and their products.

    ``z`` are a request's columns less ``origin``, turned by ``turn`` (a line for each). With ``rooted`` all are
    multiplied by the root of the row's weight: their weighted products have weights squared.
    """

    origin: Floats
    turn: Floats
    rooted: bool = False

    def __len__(self) -> int:
        return 1 + len(self.turn) + len(self.pairs[0])

    @property
    def pairs(self) -> tuple[Ints, Ints]:
        """The products, in their order."""
        return np.triu_indices(len(self.turn))

    def of(self, centred: Floats) -> Floats:
        """Those of rows (less the origin), one a column."""
        z, (i, j) = centred @ self.turn.T, self.pairs
        return np.concatenate([np.ones((len(z), 1)), z, z[:, i] * z[:, j]], axis=1)


@dataclass(frozen=True)
class Request:
    """Sums of ``columns`` over rows, weighted by a column, apart for each label in ``by`` and each pattern of holes.

    With ``features`` these come after the columns, and products of these alone are summed.
    """

    columns: tuple[Column, ...]
    weights: str | None = None
    by: tuple[str, ...] = ()
    sampling: bool = False  # weights are shares of a population, else numbers of rows
    features: Features | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns that are summed."""
        return tuple(column.name for column in self.columns)

    @property
    def read(self) -> tuple[str, ...]:
        """The engine's columns that are needed, each once."""
        last = () if self.weights is None else (self.weights,)
        return tuple(dict.fromkeys((*(column.column for column in self.columns), *last, *self.by)))

    @property
    def width(self) -> int:
        """How many numbers of a row are summed."""
        return len(self.columns) + (0 if self.features is None else len(self.features))

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """The products that are summed."""
        first = 0 if self.features is None else len(self.columns)
        return [(i, j) for i in range(first, self.width) for j in range(first, i + 1)]

    def in_terms_of(self, other: Mapping[str, str]) -> Request:
        """The same of an engine whose columns have other names."""
        columns = tuple(replace(column, column=other[column.column]) for column in self.columns)
        weights = None if self.weights is None else other[self.weights]
        return replace(self, columns=columns, weights=weights, by=tuple(other[v] for v in self.by))


@dataclass(frozen=True, eq=False)
class Sums(Portable):
    """One line for each set of labels and holes: its rows, weights, and moments of what is observed.

    ``labels[k]`` are the labels of line ``k``; ``observed[k]`` says which columns its rows have. ``rows`` counts rows
    of positive weight, ``n`` and ``squared`` are sums of weights and of their squares; ``mean`` is the mean less
    ``origin``, and ``squares`` are products about the mean, both zero where nothing is observed (``squares`` have no
    meaning where products were not asked for). ``unweighted`` counts rows of weight zero.
    """

    labels: tuple[tuple[Hashable, ...], ...]
    observed: Flags
    rows: Codes
    n: Floats
    squared: Floats
    origin: Floats
    mean: Floats
    squares: Floats
    unweighted: int = 0
    kinds: tuple[Kind, ...] | None = None

    def __len__(self) -> int:
        return len(self.rows)

    def merge(self, other: Sums) -> Sums:
        """The sums of both parts of the rows together (Chan, Golub and LeVeque)."""
        return merged_sums((self, other))


def merged_sums(parts: Sequence[Sums]) -> Sums:
    """The sums of several parts of the rows together, lines in the order of their first appearance."""
    first = parts[0]
    if len(parts) == 1:
        return first
    place: dict[Hashable, int] = {}
    where = []
    for part in parts:
        names = [(label, seen.tobytes()) for label, seen in zip(part.labels, part.observed, strict=True)]
        where.append(np.array([place.setdefault(name, len(place)) for name in names], dtype=np.int64))
    k, p = len(place), first.observed.shape[1]
    labels: list[tuple[Hashable, ...]] = [()] * k
    observed = np.zeros((k, p), dtype=bool)
    rows, n, squared = np.zeros(k, dtype=np.int64), np.zeros(k), np.zeros(k)
    mean, squares = np.zeros((k, p)), np.zeros((k, p, p))
    for part, at in zip(parts, where, strict=True):
        if not len(at):
            continue
        for i, label in zip(at, part.labels, strict=True):
            labels[i] = label
        observed[at] = part.observed
        total = n[at] + part.n
        share = np.divide(part.n, total, out=np.zeros_like(total), where=total > 0.0)
        gap = np.where(part.observed, part.mean + (part.origin - first.origin), 0.0) - mean[at]
        squares[at] += part.squares + (n[at] * share)[:, None, None] * gap[:, :, None] * gap[:, None, :]
        mean[at] += np.where((n[at] > 0.0)[:, None], gap * share[:, None], gap)
        rows[at] += part.rows
        n[at] = total
        squared[at] += part.squared
    kinds = first.kinds
    for part in parts[1:]:
        kinds = merged_kinds(kinds, part.kinds)
    return Sums(
        tuple(labels), observed, rows, n, squared, first.origin, mean, squares, sum(p.unweighted for p in parts), kinds,
    )  # fmt: skip


def about_means(first: Floats, second: Floats, n: Floats) -> tuple[Floats, Floats, bool]:
    """Means and centred products from sums about a shift, and whether the shift was near enough to keep the digits."""
    safe = np.maximum(n, 1e-300)[:, None]
    mean = first / safe
    squares = second - first[:, :, None] * mean[:, None, :]
    raw = np.diagonal(second, axis1=1, axis2=2).sum(axis=0)
    kept = np.maximum(np.diagonal(squares, axis1=1, axis2=2), 0.0).sum(axis=0)
    return mean, squares, bool((raw <= LOSS * kept).all())
