"""What rows add to each covariance, with means over rows in the place of expectations, as lavaan has it.

Muthen (1984): with s the scores of a row in the margins of a pair (cuts; mean and variance of a plain column) and in r,
the margins move by ``A11^-1 s1`` and r by ``(s_r - A21 A11^-1 s1) / A22``, where all A are mean products of scores: of
each margin alone in A11, of the pair in A21 and A22. Rows are read once for these means, which are kept as ``moves``:
for a pair ``1 / A22`` and what the scores of its first and second margin are taken off with; for a plain column 1 and
the columns of ``A11^-1``, which move its variance and its mean; 0 for all else. A plain column that is far from
normal has second derivatives in A11, see ``_inverse``. Ranked columns, and rows with holes,
have what ``RowInfluence`` says.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from halftrek.bottom.arrays import Codes, Floats
from halftrek.layer.bivariate import cells, phi
from halftrek.layer.layer import Layer
from halftrek.layer.margins import Margin
from halftrek.layer.polyserial import Serial

LEAST = 1e-300
NORMAL = 1.5  # how far mean products of scores may be from their expectation in a column that counts as normal


def moves_of(layer: Layer, values: Floats, weights: Floats) -> Floats:
    """``(p, p, 1 + 2 m)``, where m is the largest number of parameters of a margin: see above."""
    p, w = len(layer.names), weights / weights.sum()
    m = max(_size(margin) for margin in layer.margins)
    found = np.zeros((p, p, 1 + 2 * m))
    if not layer.complete:
        return found
    own = [_own_scores(margin, values[:, k]) for k, margin in enumerate(layer.margins)]
    codes = [margin.codes(values[:, k]) if margin.cut else None for k, margin in enumerate(layer.margins)]
    inverse = [_inverse(margin, s, w) for margin, s in zip(layer.margins, own, strict=True)]
    for a, b in zip(*np.triu_indices(p), strict=True):
        first, second = layer.margins[a], layer.margins[b]
        if "ranked" in (first.kind, second.kind) or (a == b and first.cut):
            continue
        if a == b:
            found[a, a, 0], found[a, a, 1:3], found[a, a, 1 + m : 3 + m] = 1.0, inverse[a][:, 1], inverse[a][:, 0]
            continue
        if first.cut and second.cut:  # all rows of a cell are alike
            score, beside, times = _cell_means(layer, int(a), int(b), codes, w)
        else:
            score, beside, times = *_pair_scores(layer, int(a), int(b), values), w
        square, size = float(times @ score**2), _size(first)
        together = beside.T @ (times * score) / square
        parts = inverse[a] @ together[:size], inverse[b] @ together[size:]
        for line, (one, other) in ((found[a, b], parts), (found[b, a], parts[::-1])):
            line[0], line[1 : 1 + len(one)], line[1 + m : 1 + m + len(other)] = 1.0 / square, one, other
    return found


def moved_covariance(layer: Layer, a: int, b: int, values: Floats, codes: Sequence[Codes | None]) -> Floats | None:
    """How rows, times n, move a covariance; None where no means were kept. ``codes`` are of columns in categories."""
    line = _line(layer, a, b)
    if line is None:
        return None
    first, second = layer.margins[a], layer.margins[b]
    m = (len(line) - 1) // 2
    if a == b:
        return np.asarray(_own_scores(first, values[:, a]) @ line[1:3])
    here, there = line[1 : 1 + _size(first)], line[1 + m : 1 + m + _size(second)]
    if first.cut and second.cut:  # of each cell, and rows look it up
        one, other = (_own_scores(margin, margin.values) @ part for margin, part in ((first, here), (second, there)))
        table = line[0] * _cell_scores(layer, a, b) - one[:, None] - other
        return np.asarray(table[codes[a], codes[b]])
    own = _own_scores(first, values[:, a]) @ here + _own_scores(second, values[:, b]) @ there
    moved = line[0] * _score(layer, a, b, values) - own
    s, t, r = float(layer.scale[a]), float(layer.scale[b]), float(layer.correlations[a, b])
    found = s * t * moved
    for j, sd, beside in ((a, s, t), (b, t, s)):  # a covariance moves with the deviations of plain columns, too
        if layer.margins[j].kind == "plain":
            variance = moved_covariance(layer, j, j, values, codes)
            assert variance is not None
            found = found + 0.5 * r * beside / sd * variance
    return np.asarray(found)


def moved_mean(layer: Layer, a: int, values: Floats) -> Floats | None:
    """How rows, times n, move the mean of a plain column; None where no means were kept."""
    line = _line(layer, a, a)
    if line is None:
        return None
    m = (len(line) - 1) // 2
    return np.asarray(_own_scores(layer.margins[a], values[:, a]) @ line[1 + m : 3 + m])


def _line(layer: Layer, a: int, b: int) -> Floats | None:
    return None if layer.moves is None or not layer.moves[a, b, 0] else np.asarray(layer.moves[a, b])


# -- scores --------------------------------------------------------------------------------------


def _size(margin: Margin) -> int:
    """How many parameters a margin has."""
    return len(margin.cuts) if margin.cut else 2


def _inverse(margin: Margin, scores: Floats, w: Floats) -> Floats:
    """``A11^-1`` of a margin.

    For a plain column, mean products of scores are right only if it is normal (those of 0 and 1 have no inverse: their
    variance is a function of their mean). Its mean and variance move by ``x - m`` and ``(x - m)^2 - s^2`` whatever it
    is, and where it is far from normal this is taken, the mean of second derivatives.
    """
    products = scores.T @ (scores * w[:, None])
    if margin.cut:
        return np.linalg.inv(products)
    whole = np.diag([margin.sd**2, 2.0 * margin.sd**4])
    unit = np.sqrt(np.diag(whole))
    far = np.linalg.eigvalsh(products * np.outer(unit, unit))  # 1 and 1 for a normal column
    return whole if far[0] < 1.0 / NORMAL or far[-1] > NORMAL else np.linalg.inv(products)


def _own_scores(margin: Margin, column: Floats) -> Floats:
    if not margin.cut:
        z = margin.behind(column) if margin.kind == "ranked" else (column - margin.mean) / margin.sd
        return np.stack([z / margin.sd, 0.5 * (z**2 - 1.0) / margin.sd**2], axis=1)
    found = np.zeros((len(margin.shares), len(margin.cuts) + 2))
    at, steep = np.arange(len(margin.shares)), np.concatenate([[0.0], phi(margin.cuts), [0.0]])
    found[at, at + 1] = steep[1:] / margin.shares
    found[at, at] = -steep[:-1] / margin.shares
    return np.asarray(found[margin.codes(column), 1:-1])


def _score(layer: Layer, a: int, b: int, values: Floats) -> Floats:
    """Of each row in r, where one column of the pair or both are plain."""
    first, second = layer.margins[a], layer.margins[b]
    r = float(layer.correlations[a, b])
    if first.cut or second.cut:
        plain, cut = (b, a) if first.cut else (a, b)
        other = layer.margins[cut]
        return Serial(other.cuts, r).score(layer.margins[plain].behind(values[:, plain]), other.codes(values[:, cut]))
    x, y = first.behind(values[:, a]), second.behind(values[:, b])
    rest = (1.0 - r) * (1.0 + r)
    return np.asarray((r + x * y) / rest - r * (x * x - 2.0 * r * x * y + y * y) / rest**2)


def _cell_scores(layer: Layer, a: int, b: int) -> Floats:
    at = cells(layer.margins[a].cuts, layer.margins[b].cuts, layer.correlations[a, b])
    return np.asarray(at.by_r / np.maximum(at.share, LEAST))


def _cell_means(
    layer: Layer, a: int, b: int, codes: Sequence[Codes | None], w: Floats
) -> tuple[Floats, Floats, Floats]:
    """Of two columns in categories, cell by cell: scores in r and in the cuts of both, and the share of the rows."""
    first, second, one, other = layer.margins[a], layer.margins[b], codes[a], codes[b]
    assert one is not None
    assert other is not None
    at, wide = cells(first.cuts, second.cuts, layer.correlations[a, b]), len(second.values)
    share = np.maximum(at.share, LEAST).ravel()
    beside = np.concatenate([at.by_first, at.by_second]).reshape(-1, len(share)).T / share[:, None]
    return at.by_r.ravel() / share, beside, np.bincount(one * wide + other, w, len(share))


def _pair_scores(layer: Layer, a: int, b: int, values: Floats) -> tuple[Floats, Floats]:
    """In r, and in the parameters of both margins, the first's first; for each row."""
    first, second = layer.margins[a], layer.margins[b]
    score = _score(layer, a, b, values)
    if first.cut or second.cut:
        of_plain, of_cut = _one_cut(layer, *((b, a) if first.cut else (a, b)), values)
        return score, np.concatenate([of_cut, of_plain] if first.cut else [of_plain, of_cut], axis=1)
    return score, _no_cut(layer, a, b, values)


def _one_cut(layer: Layer, plain: int, cut: int, values: Floats) -> tuple[Floats, Floats]:
    """In the mean and variance of a plain column, and in the cuts of another."""
    margin, other = layer.margins[plain], layer.margins[cut]
    r, sd = float(layer.correlations[plain, cut]), margin.sd
    z, codes, rows = margin.behind(values[:, plain]), other.codes(values[:, cut]), np.arange(len(values))
    rest = np.sqrt((1.0 - r) * (1.0 + r))
    share = np.maximum(Serial(other.cuts, r).share_and_slope(z)[0][rows, codes], LEAST)
    nothing = np.zeros((len(z), 1))
    density = np.concatenate([nothing, phi((other.cuts - r * z[:, None]) / rest) / rest, nothing], axis=1)
    by_cut = np.zeros_like(density)
    by_cut[rows, codes + 1] += density[rows, codes + 1] / share
    by_cut[rows, codes] -= density[rows, codes] / share
    by_z = -r * (density[rows, codes + 1] - density[rows, codes]) / share
    own = _own_scores(margin, values[:, plain])
    return own + np.stack([-by_z / sd, -0.5 * z * by_z / sd**2], axis=1), by_cut[:, 1:-1]


def _no_cut(layer: Layer, a: int, b: int, values: Floats) -> Floats:
    """In the means and variances of two plain columns."""
    r = float(layer.correlations[a, b])
    rest = (1.0 - r) * (1.0 + r)
    x, y = (layer.margins[k].behind(values[:, k]) for k in (a, b))
    found = []
    for one, other, sd in ((x, y, layer.margins[a].sd), (y, x, layer.margins[b].sd)):
        found += [(one - r * other) / (sd * rest), 0.5 * ((one * one - r * one * other) / rest - 1.0) / sd**2]
    return np.stack(found, axis=1)
