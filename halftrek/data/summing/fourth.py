"""Fourth moments of a few columns, summed by the engine that has the rows: what errors by rows are made of."""

from __future__ import annotations

import os

import numpy as np

from halftrek.bottom.arrays import Floats, Ints
from halftrek.data.moments import Moments
from halftrek.data.read import answered, opened_source
from halftrek.data.rows import RowReader, Tally
from halftrek.data.sources.sending import Spent
from halftrek.data.summing.sums import Features, Sums
from halftrek.data.weights import RowWeights


def are_far(rows: RowReader) -> bool:
    """Whether an engine has the rows that makes sums of them, or sends its workers to them."""
    if isinstance(rows.source, Spent | str | os.PathLike | np.ndarray | dict):
        return False  # a file is read as a table in memory is, to the last digit
    with opened_source(rows.source, rows.columns or rows.names, rows.categories) as source:
        return source.sums is not None or source.parts is not None


def summed_features(rows: RowReader, turn: Floats, like: Moments) -> tuple[Floats, float] | None:
    """Products of the features of units, summed over these, and how many units there are.

    The features are those of the rows' columns less the mean of ``like``, turned. A unit is a row (as many as its
    weight says), or a cluster, whose rows are summed up first; sampling weights are a part of what a row adds. None
    where the rows have to be read: their engine makes no sums, or other ones.
    """
    columns = rows.names if rows.missing == "own" else (rows.columns or rows.names)
    weights = RowWeights(rows.weights, rows.sampling is not None)
    if not (rows.cluster is None or isinstance(rows.cluster, str)):
        return None
    at = [columns.index(v) for v in rows.names]
    origin, wide = np.zeros(len(columns)), np.zeros((len(turn), len(columns)))
    origin[at], wide[:, at] = like.select(rows.names).mean, turn
    features = Features(origin, wide, rooted=weights.sampling)
    with opened_source(rows.source, columns, rows.categories) as source:
        if source.parts is not None:  # workers do it
            return None
        by = () if rows.cluster is None else (rows.cluster,)
        found = answered(source, columns, weights, by, None if by else features)
    if found is None:
        return None
    sums, scale = found[1], rows.sampling or 1.0
    whole = np.flatnonzero(sums.observed.all(axis=1))
    n, mean, p = sums.n[whole], sums.mean[whole], len(columns)
    seen = Tally(len(rows.names))
    seen.count(float(n.sum()) / scale, (n @ (mean[:, :p] + sums.origin[:p])[:, at]) / scale)
    seen.compare(like.select(rows.names))
    if by:
        units = _of_clusters(sums, whole, features) / scale
        return units.T @ units, float(len(units))
    first = n[:, None] * mean[:, p:]
    total = (sums.squares[whole][:, p:, p:] + first[:, :, None] * mean[:, None, p:]).sum(axis=0) / scale**2
    return total, float(sums.rows[whole].sum() if weights.sampling else n.sum())


def _of_clusters(sums: Sums, whole: Ints, features: Features) -> Floats:
    """The sums of the features of each cluster, from its moments."""
    n, turn, (i, j) = sums.n[whole], features.turn, features.pairs
    mean = (sums.mean[whole] + (sums.origin - features.origin)) @ turn.T
    squares = turn @ (sums.squares[whole] / n[:, None, None]) @ turn.T
    made = np.concatenate([np.ones((len(n), 1)), mean, squares[:, i, j] + mean[:, i] * mean[:, j]], axis=1)
    return np.asarray(n[:, None] * made)
