"""Correlations of the normal variables behind pairs of ordered columns, from their tables: Olsson (1979), two steps.

The cuts are those of the margins; r maximises ``sum N_ab log P_ab(r)``. With ``s = P'/P`` and ``I = sum P'^2 / P`` a
row in cell ab moves r, times n, by ``(s_ab - sum_tau C_tau IF_tau) / I`` where ``C_tau = sum P' dP/dtau / P``.
All pairs are worked out at once: arrays are ``(pairs, a, b)``, and columns with fewer categories have cuts at infinity.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from halftrek.bottom.arrays import Floats, Ints
from halftrek.layer.bivariate import BORDER, Cells, cells, shares
from halftrek.layer.margins import Margin

LEAST = 1e-300
STEPS = 100
EXACT = 1e-13


def padded_cuts(margins: Sequence[Margin]) -> Floats:
    """The cuts of several columns, with infinity where a column has fewer than others."""
    most = max((len(m.cuts) for m in margins), default=0)
    found = np.full((len(margins), most), np.inf)
    for row, margin in zip(found, margins, strict=True):
        row[: len(margin.cuts)] = margin.cuts
    return found


def tables(codes: Sequence[Ints], weights: Floats, first: Ints, second: Ints, size: int) -> Floats:
    """Shares of the rows in each cell, for each pair of columns; rows with a hole in one are left out of its pairs."""
    known = np.zeros((len(weights), len(codes) * size))
    rows = np.arange(len(weights))
    for j, column in enumerate(codes):
        seen = column >= 0
        known[rows[seen], j * size + column[seen]] = 1.0
    products = (known.T @ (known * weights[:, None])).reshape(len(codes), size, len(codes), size)
    found = products[first, :, second, :]
    return np.asarray(found / found.sum(axis=(1, 2), keepdims=True))


def best_correlations(table: Floats, h: Floats, k: Floats) -> Floats:
    """The correlation of each pair that makes its table most likely: Newton's steps, never beyond the border.

    Where the likelihood has no maximum inside, its correlation is at the border.
    """
    found = np.zeros(len(table))
    open_, low, high = np.arange(len(table)), np.full(len(table), -BORDER), np.full(len(table), BORDER)
    for _ in range(STEPS):
        if not len(open_):  # a pair that stands still is not looked at again
            break
        seen, r = table[open_], found[open_]
        share, by_r, by_rr = shares(h[open_], k[open_], r)
        share = np.maximum(share, LEAST)
        score = np.where(seen > 0.0, by_r / share, 0.0)  # of an empty cell, next to which a share may be nothing
        slope = (seen * score).sum(axis=(1, 2))
        with np.errstate(over="ignore"):
            bend = (seen * (by_rr / share - score**2)).sum(axis=(1, 2))
        low[open_], high[open_] = np.where(slope > 0.0, r, low[open_]), np.where(slope > 0.0, high[open_], r)
        with np.errstate(divide="ignore", invalid="ignore"):
            step = r - slope / bend
        inside = (bend < 0.0) & (step > low[open_]) & (step < high[open_])
        new = np.where(inside, step, 0.5 * (low[open_] + high[open_]))
        found[open_] = new
        open_ = open_[np.abs(new - r) >= EXACT]
    return found


def cell_influence(h: Floats, k: Floats, r: Floats) -> tuple[Floats, Floats, Floats]:
    """What a row adds to r before its share in the cuts, ``s_ab / I``; and ``C_tau / I`` for the cuts of both."""
    at: Cells = cells(h, k, r)
    share = np.where(at.share > LEAST, at.share, np.inf)
    score = at.by_r / share
    information = (score * at.by_r).sum(axis=(-2, -1))
    of_first = (score[..., None, :, :] * at.by_first).sum(axis=(-2, -1)) / information[..., None]
    of_second = (score[..., None, :, :] * at.by_second).sum(axis=(-2, -1)) / information[..., None]
    return score / information[..., None, None], of_first, of_second
