"""The normal variables behind columns: their means and covariances, from rows.

A plain column is its own variable and keeps its units; one behind an ordered or ranked column has mean 0 and variance
1. Rows with holes count for the pairs of columns that they have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from halftrek.bottom.arrays import Codes, Flags, Floats, Ints
from halftrek.bottom.choices import ColumnKind
from halftrek.bottom.portable import Portable
from halftrek.bottom.words import listed
from halftrek.errors import DataError
from halftrek.layer.bivariate import BORDER
from halftrek.layer.margins import Margin, margin_of, tells_apart

MOST = 12  # categories of an ordered column


@dataclass(frozen=True, eq=False)
class Layer(Portable):
    """Columns, what each is taken for, and the means and covariances of the variables behind them.

    ``have`` is the share of the rows that have a value in both columns of a pair (in the column itself, on the
    diagonal). Cuts and all covariances together say how a row moves each of them: see ``RowInfluence``.
    """

    names: tuple[str, ...]
    margins: tuple[Margin, ...]
    cov: Floats
    have: Floats
    spread: Floats | None = None  # mean squares of what rows add to each covariance, where these are weights
    moves: Floats | None = None  # means over rows by which rows move covariances, see ``muthen``
    larger: float = 1.0  # what rows add is multiplied by this: the root of n / (n - 1) where lavaan's n - 1 counts

    @property
    def mean(self) -> Floats:
        """Zero for what is behind a column."""
        return np.array([m.mean if m.kind == "plain" else 0.0 for m in self.margins])

    @property
    def scale(self) -> Floats:
        """Standard deviations: those of plain columns, and 1."""
        return np.array([m.sd if m.kind == "plain" else 1.0 for m in self.margins])

    @cached_property
    def correlations(self) -> Floats:
        """Of the variables behind."""
        return np.asarray(self.cov / np.outer(self.scale, self.scale))

    @property
    def complete(self) -> bool:
        """True if no row has a hole."""
        return bool((self.have == 1.0).all())

    def margin(self, name: str) -> Margin | None:
        """The margin of a column that is not its own variable; None for others."""
        found = self.margins[self.names.index(name)] if name in self.names else None
        return None if found is None or found.kind == "plain" else found

    def select(self, names: Sequence[str]) -> Layer:
        """Some of the columns, in this order."""
        at = [self.names.index(v) for v in names]
        grid = np.ix_(at, at)
        spread, moves = (None if part is None else part[grid] for part in (self.spread, self.moves))
        margins = tuple(self.margins[i] for i in at)
        return Layer(tuple(names), margins, self.cov[grid], self.have[grid], spread, moves, self.larger)


def layer_of(
    names: Sequence[str],
    values: Floats,
    kinds: Mapping[str, ColumnKind],
    weights: Floats | None = None,
    labels: Mapping[str, tuple[str, ...]] | None = None,
    *,
    strict: bool = True,
) -> Layer:
    """The layer behind rows: ``values`` has a column for each name, nan for holes; weights are numbers of rows.

    Columns that ``kinds`` does not name are plain. ``strict`` refuses categories with one row.
    """
    w = np.ones(len(values)) if weights is None else weights
    texts = {} if labels is None else labels
    seen = ~np.isnan(values)
    margins = []
    for j, v in enumerate(names):
        kind = kinds.get(v, "plain")
        own = seen[:, j]
        margin = margin_of(values[own, j], w[own], kind, texts.get(v, ()))
        refuse_margin(v, margin, values[own, j], 2 if strict else 1)
        margins.append(margin)
    weighted = seen * w[:, None]
    have = np.asarray(seen.T.astype(float) @ weighted) / w.sum()
    have[np.ix_(seen.all(axis=0), seen.all(axis=0))] = 1.0  # whatever weights add up to
    if not have.all():
        i, j = np.argwhere(have == 0.0)[0]
        raise DataError(f"no row has both {names[i]!r} and {names[j]!r}, so that their correlation cannot be known")
    R = _correlations(tuple(names), values, w, margins, seen)
    scale = np.array([m.sd if m.kind == "plain" else 1.0 for m in margins])
    layer = Layer(tuple(names), tuple(margins), R * np.outer(scale, scale), have)
    _refuse_no_covariance(layer)
    return layer


def _correlations(
    names: tuple[str, ...], values: Floats, weights: Floats, margins: Sequence[Margin], seen: Flags
) -> Floats:
    from halftrek.layer.polyserial import best_serial

    p = len(names)
    R = np.eye(p)
    cut = np.array([m.cut for m in margins], dtype=bool)
    codes: list[Codes] = [m.codes(values[:, j]) if m.cut else np.zeros(0, np.int64) for j, m in enumerate(margins)]
    z = np.stack([np.zeros(len(values)) if m.cut else m.behind(values[:, j]) for j, m in enumerate(margins)], axis=1)
    smooth = np.flatnonzero(~cut)
    both = np.where(seen, z, 0.0)[:, smooth]
    count = (seen[:, smooth].T * weights) @ seen[:, smooth]
    R[np.ix_(smooth, smooth)] = ((both.T * weights) @ both) / count
    np.fill_diagonal(R, 1.0)
    for j in np.flatnonzero(cut).tolist():
        for i in smooth.tolist():
            rows = seen[:, i] & seen[:, j]
            r = best_serial(z[rows, i], codes[j][rows], weights[rows], margins[j].cuts)
            _refuse_border(names, i, j, r, apart=tells_apart(z[rows, i], codes[j][rows]))
            R[i, j] = R[j, i] = r
    where = np.flatnonzero(cut)
    if len(where) > 1:
        own = [margins[j] for j in where.tolist()]
        first, second = np.triu_indices(len(where), 1)
        found = _ordered_pairs(
            [names[j] for j in where.tolist()], own, [codes[j] for j in where.tolist()], weights, first, second
        )
        R[where[first], where[second]] = R[where[second], where[first]] = found
    return R


def _ordered_pairs(
    names: Sequence[str],
    margins: Sequence[Margin],
    codes: Sequence[Codes],
    weights: Floats,
    first: Ints,
    second: Ints,
) -> Floats:
    from halftrek.layer.polychoric import best_correlations, padded_cuts, tables

    cuts = padded_cuts(margins)
    table = tables(codes, weights, first, second, cuts.shape[1] + 1)
    for i, j, one in zip(first, second, table, strict=True):
        a, b = margins[i], margins[j]
        if len(a.values) == len(b.values) == 2 and not one[:2, :2].all():
            _refuse_empty(names[i], a, names[j], b, one)
    found = best_correlations(table, cuts[first], cuts[second])
    for i, j, r, one in zip(first, second, found, table, strict=True):
        if abs(r) > BORDER - 1e-6:
            _refuse_empty(names[i], margins[i], names[j], margins[j], one)
    return found


# -- what is no layer ----------------------------------------------------------------------------


def refuse_margin(name: str, margin: Margin, column: Floats, least: int) -> None:
    """Raise for a column of one value, of too many categories, or with fewer than ``least`` rows in one of them."""
    plain = margin.kind == "plain"  # whose variance may be a little more than nothing by rounding
    if len(margin.values) < 2 if not plain else len(column) > 0 and column.min() == column.max():
        raise DataError(f"{name!r} has one value in all rows; leave it out of the graph")
    if not margin.cut:
        return
    if len(margin.values) > MOST:
        raise DataError(
            f"{name!r} has {len(margin.values)} values, more than the {MOST} categories that an ordered column may "
            f"have; give kinds={{{name!r}: 'ranked'}}, or merge categories"
        )
    counts = (column[:, None] == margin.values).sum(axis=0)
    if (counts < least).any():
        raise DataError(
            f"only one row has {name!r} = {margin.values[int(np.argmin(counts))]:g}; merge the category with the next, "
            f"or leave the row out"
        )


def _refuse_border(names: Sequence[str], i: int, j: int, r: float, *, apart: bool) -> None:
    if apart or abs(r) > BORDER - 1e-6:
        raise DataError(
            f"{names[i]!r} tells every category of {names[j]!r} apart (perfect separation): their correlation is at "
            f"its border, and a slope between them runs off; merge categories, or leave one of the two out"
        )


def _refuse_empty(first: str, a: Margin, second: str, b: Margin, table: Floats) -> None:
    inside = table[: len(a.values), : len(b.values)]
    at, to = (int(k) for k in np.argwhere(inside == inside.min())[0])
    raise DataError(
        f"no row has {first}={a.values[at]:g} and {second}={b.values[to]:g}: their correlation is at its border; merge "
        f"categories or leave one out"
    )


def _refuse_no_covariance(layer: Layer) -> None:
    values, vectors = np.linalg.eigh(layer.correlations)
    if values[0] > 1e-10:
        return
    most = np.argsort(-np.abs(vectors[:, 0]))
    far = [layer.names[k] for place, k in enumerate(most[:5]) if place < 3 or abs(vectors[k, 0]) > 0.3]
    raise DataError(
        f"the correlations behind {listed(far)} are no covariance matrix (smallest eigenvalue {values[0]:.3g}): they "
        f"are found pair by pair, and these do not go together. Leave one of the columns out, merge categories, or "
        f"take more rows"
    )
