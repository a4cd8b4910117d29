"""Rows with ordered or ranked columns, as moments of the normal variables behind them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.bottom.choices import ColumnKind
from halftrek.data.columns.categories import Categories
from halftrek.data.missing.patterns import Patterns
from halftrek.data.moments import Moments
from halftrek.data.rows import RowBlock, RowReader
from halftrek.layer import Layer, layer_of, with_weights


def read_layer(
    rows: RowReader,
    read: Moments | Patterns,
    kinds: Mapping[str, ColumnKind],
    levels: Categories = (),
    *,
    spread: bool = False,
) -> Moments:
    """The moments behind the rows that ``read`` was made of: all of them are held in memory at once.

    ``levels`` are those of columns of texts in an order. ``spread`` adds how far rows spread in what they add to each
    covariance, for weights of these.
    """
    whole = all_rows(rows)
    layer = layer_of(rows.names, whole.values, kinds, whole.weights, labels_of(levels))
    n = read.total if isinstance(read, Patterns) else read.n
    if spread:
        times = np.ones(len(whole)) if whole.weights is None else whole.weights
        layer = with_weights(layer, whole.values, times, n)
    dropped = read.dropped if isinstance(read, Moments) else 0
    found = read.select(rows.names)
    return Moments(
        rows.names, n, layer.mean, layer.cov, dropped, kinds=found.kinds, weighting=found.weighting, layer=layer
    )


def all_rows(rows: RowReader) -> RowBlock:
    """Every row at once, but those without any value, which say nothing and are in no count."""
    blocks = list(rows.blocks())
    values = np.concatenate([b.values for b in blocks]).astype(float)
    parts: list[Floats | None] = []
    for name in ("weights", "cluster"):
        found = [part for b in blocks if (part := getattr(b, name)) is not None]
        parts.append(np.concatenate(found) if found else None)
    there = ~np.isnan(values).all(axis=1)
    if there.all():
        return RowBlock(values, *parts)
    weights, cluster = (None if part is None else part[there] for part in parts)
    if cluster is not None:  # without the numbers of clusters that are gone
        cluster = np.unique(cluster, return_inverse=True)[1].ravel()
    return RowBlock(values[there], weights, cluster)


def labels_of(categories: Categories) -> dict[str, tuple[str, ...]]:
    """The texts of columns whose levels are in an order."""
    return {c.column: (c.reference, *c.levels) for c in categories if c.ordered}


def seen_as(layer: Layer, n: float) -> Moments | None:
    """Means and variances of the columns as they were read, to know the same rows again; None where they have holes."""
    if not layer.complete:
        return None
    mean, variance = np.zeros(len(layer.names)), np.zeros(len(layer.names))
    for j, margin in enumerate(layer.margins):
        if margin.kind == "plain":
            mean[j], variance[j] = margin.mean, margin.sd**2
        else:
            mean[j] = margin.shares @ margin.values
            variance[j] = margin.shares @ (margin.values - mean[j]) ** 2
    return Moments(layer.names, n, mean, np.diag(variance))
