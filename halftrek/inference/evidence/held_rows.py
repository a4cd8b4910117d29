"""Rows in memory, in units of their standard deviations, with what makes sums over them spread."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from halftrek.bottom.arrays import Floats, Ints
from halftrek.data import RowReader
from halftrek.errors import InputError
from halftrek.estimation import Fitted
from halftrek.inference.information.robust import rows_needed

MOST = 20_000_000  # numbers that are held


@dataclass(frozen=True, eq=False)
class HeldRows:
    """Some columns of all rows: ``values`` have mean zero and variance one, ``spreads`` are what they were divided by.

    ``weights`` count rows; of sampling weights ``sampling`` is True. ``starts`` are where clusters begin, once rows are
    sorted by them.
    """

    names: tuple[str, ...]
    values: Floats
    spreads: Floats
    weights: Floats | None = None
    sampling: bool = False
    starts: Ints | None = None

    @property
    def units(self) -> float:
        """How many independent units there are: clusters, or rows."""
        if self.starts is not None:
            return float(len(self.starts))
        return float(len(self.values)) if self.weights is None or self.sampling else float(self.weights.sum())

    def average(self, columns: Floats) -> Floats:
        """Means over the rows."""
        if self.weights is None:
            return np.asarray(np.add.reduce(columns, axis=0) / len(columns))
        return np.asarray(self.weights @ columns / self.weights.sum())

    def sums(self, columns: Floats) -> tuple[Floats, Floats]:
        """Sums over all rows, and how these spread: the sum of squares over independent units."""
        weights = None if self.weights is None else self.weights.reshape(-1, *[1] * (columns.ndim - 1))
        added = columns if weights is None else columns * weights
        if self.starts is not None:
            added = np.add.reduceat(added, self.starts, axis=0)
            return added.sum(axis=0), added.T @ added
        if weights is None or self.sampling:
            return added.sum(axis=0), added.T @ added
        return added.sum(axis=0), added.T @ columns


def held_rows(fit: Fitted, names: tuple[str, ...], what: str) -> HeldRows:
    """The fit's rows in memory; an error says why there are none, or why these do not do."""
    rows = rows_needed(fit, what, "do without it").select(names)
    if fit.n * len(names) > MOST:
        raise InputError(
            f"{what} holds all rows in memory, and {fit.n:.4g} rows of {len(names)} columns are too many: fit a random "
            f"part of the rows"
        )
    values, weights, cluster = _read(rows, fit)
    if np.isnan(values).any():
        holes = [v for v, column in zip(names, values.T, strict=True) if np.isnan(column).any()]
        raise InputError(
            f"{what} needs rows without missing values, and {', '.join(holes)} have such: fit again with "
            f"missing='drop', which is right if values are missing completely at random"
        )
    starts = None
    if cluster is not None:
        order = np.argsort(cluster, kind="stable")
        values, cluster = values[order], cluster[order]
        weights = None if weights is None else weights[order]
        starts = np.flatnonzero(np.concatenate([[True], cluster[1:] != cluster[:-1]]))
    values = values - np.average(values, axis=0, weights=weights)
    spreads = np.sqrt(np.average(values**2, axis=0, weights=weights))
    if (spreads <= 0.0).any():
        raise InputError(f"{what} needs columns that vary, and {names[int(np.argmin(spreads))]} does not")
    return HeldRows(names, values / spreads, spreads, weights, rows.sampling is not None, starts)


def _read(rows: RowReader, fit: Fitted) -> tuple[Floats, Floats | None, Ints | None]:
    blocks = list(rows.blocks(like=None if fit.patterns is not None else fit.moments))
    weights = [b.weights for b in blocks if b.weights is not None]
    cluster = [b.cluster for b in blocks if b.cluster is not None]
    return (
        np.concatenate([b.values for b in blocks]),
        np.concatenate(weights) if weights else None,
        np.concatenate(cluster) if cluster else None,
    )
