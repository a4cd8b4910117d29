"""How far rows spread in what they add to each covariance, with means over rows in the place of expectations.

Muthen (1984): with s the scores of a row in the margins of a pair (cuts; mean and variance of a plain column) and in r,
the margins move by ``A11^-1 s1`` and r by ``(s_r - A21 A11^-1 s1) / A22``, where all A are mean products of scores: of
each margin alone in A11, of the pair in A21 and A22. These are the weights that lavaan takes.
"""

from __future__ import annotations

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.layer.bivariate import cells, phi
from halftrek.layer.influence import RowInfluence
from halftrek.layer.layer import Layer
from halftrek.layer.margins import Margin
from halftrek.layer.polyserial import Serial

LEAST = 1e-300


def weights_spread(layer: Layer, values: Floats, weights: Floats) -> Floats:
    """Mean squares of what rows add to each covariance; for complete rows of ordered and plain columns.

    Ranked columns, and rows with holes, have what ``RowInfluence`` says.
    """
    p = len(layer.names)
    w, found = weights / weights.sum(), np.zeros((p, p))
    i, j = np.triu_indices(p)
    known = w @ RowInfluence(layer).products(values, np.arange(p)) ** 2
    found[i, j] = found[j, i] = known
    if not layer.complete:
        return found
    alone = [_alone(m, values[:, k], w) for k, m in enumerate(layer.margins)]
    for a, b in zip(i, j, strict=True):
        first, second = layer.margins[a], layer.margins[b]
        if "ranked" in (first.kind, second.kind) or (a == b and first.cut):
            continue
        if a == b:
            added = alone[a][:, 1]
        elif not (first.cut or second.cut):
            added = _no_cut(layer, int(a), int(b), values, w, alone)
        elif first.cut and second.cut:
            added = _two_cuts(layer, int(a), int(b), values, w, alone)
        else:
            plain, cut = (int(b), int(a)) if first.cut else (int(a), int(b))
            added = _one_cut(layer, plain, cut, values, w, alone)
        found[a, b] = found[b, a] = float(w @ added**2)
    return found


def _alone(margin: Margin, column: Floats, w: Floats) -> Floats:
    """What rows add to the parameters of one margin: ``A11^-1 s1``."""
    if margin.kind == "ranked":
        return np.zeros((len(column), 0))
    scores = _cut_scores(margin, column) if margin.cut else _plain_scores(margin, column)
    return np.asarray(scores @ np.linalg.inv(scores.T @ (scores * w[:, None])))


def _cut_scores(margin: Margin, column: Floats) -> Floats:
    codes, rows = margin.codes(column), np.arange(len(column))
    found = np.zeros((len(column), len(margin.cuts) + 2))
    share = margin.shares[codes]
    steep = np.concatenate([[0.0], phi(margin.cuts), [0.0]])
    found[rows, codes + 1] += steep[codes + 1] / share
    found[rows, codes] -= steep[codes] / share
    return found[:, 1:-1]


def _plain_scores(margin: Margin, column: Floats) -> Floats:
    z = (column - margin.mean) / margin.sd
    return np.stack([z / margin.sd, 0.5 * (z**2 - 1.0) / margin.sd**2], axis=1)


def _moved(score: Floats, beside: Floats, alone: Floats, w: Floats) -> Floats:
    """``(s_r - A21 A11^-1 s1) / A22``."""
    return np.asarray((score - alone @ (beside.T @ (w * score))) / (w @ score**2))


def _two_cuts(layer: Layer, a: int, b: int, values: Floats, w: Floats, alone: list[Floats]) -> Floats:
    first, second = layer.margins[a], layer.margins[b]
    at = cells(first.cuts, second.cuts, np.array(layer.correlations[a, b]))
    i, j = first.codes(values[:, a]), second.codes(values[:, b])
    share = np.maximum(at.share[i, j], LEAST)
    score = at.by_r[i, j] / share
    beside = np.concatenate([at.by_first[:, i, j], at.by_second[:, i, j]]).T / share[:, None]
    return _moved(score, beside, np.concatenate([alone[a], alone[b]], axis=1), w)


def _one_cut(layer: Layer, plain: int, cut: int, values: Floats, w: Floats, alone: list[Floats]) -> Floats:
    margin, other = layer.margins[plain], layer.margins[cut]
    r, sd = float(layer.correlations[plain, cut]), margin.sd
    pair, z = Serial(other.cuts, r), margin.behind(values[:, plain])
    codes, rows = other.codes(values[:, cut]), np.arange(len(values))
    rest = np.sqrt((1.0 - r) * (1.0 + r))
    share, slope = (x[rows, codes] for x in pair.share_and_slope(z))
    share = np.maximum(share, LEAST)
    density = np.concatenate(
        [np.zeros((len(z), 1)), phi((other.cuts - r * z[:, None]) / rest) / rest, np.zeros((len(z), 1))], 1
    )
    by_cut = np.zeros_like(density)
    by_cut[rows, codes + 1] += density[rows, codes + 1] / share
    by_cut[rows, codes] -= density[rows, codes] / share
    by_z = -r * (density[rows, codes + 1] - density[rows, codes]) / share
    own = _plain_scores(margin, values[:, plain]) + np.stack([-by_z / sd, -0.5 * z * by_z / sd**2], axis=1)
    beside = np.concatenate([own, by_cut[:, 1:-1]], axis=1)
    moved = _moved(slope / share, beside, np.concatenate([alone[plain], alone[cut]], axis=1), w)
    return np.asarray(sd * moved + 0.5 * r / sd * alone[plain][:, 1])


def _no_cut(layer: Layer, a: int, b: int, values: Floats, w: Floats, alone: list[Floats]) -> Floats:
    r, pair = float(layer.correlations[a, b]), (a, b)
    rest = (1.0 - r) * (1.0 + r)
    x, y = (layer.margins[k].behind(values[:, k]) for k in pair)
    s, t = (layer.margins[k].sd for k in pair)
    score = (r + x * y) / rest - r * (x * x - 2.0 * r * x * y + y * y) / rest**2
    beside = []
    for one, other, sd in ((x, y, s), (y, x, t)):
        beside += [(one - r * other) / (sd * rest), 0.5 * ((one * one - r * one * other) / rest - 1.0) / sd**2]
    moved = _moved(score, np.stack(beside, axis=1), np.concatenate([alone[a], alone[b]], axis=1), w)
    return np.asarray(s * t * moved + 0.5 * r * (t / s * alone[a][:, 1] + s / t * alone[b][:, 1]))
