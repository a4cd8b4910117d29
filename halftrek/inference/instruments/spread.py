"""How sums of instruments times errors spread: as if all errors were alike, or as the rows show it.

Everything that is tested or estimated with instruments is a function of such sums, so that one value says what kind of
errors are allowed for. From rows: ``Σ (z e)(z e)'`` over rows (White 1980) or over clusters, with the usual corrections
``n / (n - k)`` and ``G/(G-1) (n-1)/(n-k)``. Sampling weights multiply z e.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.data import Moments, RowReader
from halftrek.inference.information.robust import NUMBERS, cluster_correction, sums_by
from halftrek.inference.instruments.equation import Equation


@dataclass(frozen=True, eq=False)
class Spread:
    """Variances of sums over rows, with small-sample corrections; ``kind`` is "classical", "robust" or "clustered".

    ``first[a, b]`` is of the instruments times what the first stage leaves of a and b (0 is the outcome, then the
    causes), ``second`` of the instruments times what two-stage least squares leaves, ``moments`` the same without a
    correction, ``added`` of the regressors that test endogeneity. ``clusters`` is
    their number, None where rows are independent.
    """

    kind: str
    first: Floats
    second: Floats
    moments: Floats
    added: Floats
    clusters: int | None = None


def classical(given: Equation) -> Spread:
    """All errors alike."""
    n, m = given.n, len(given.causes)
    Szz = given.part("z", "z")
    first = np.einsum("ab,kl->abkl", n * given.left / given.first_free, n * Szz)
    plain = n * given.error_variance * Szz
    _, alone, rest = given.added
    variance = n * float((rest.T @ given.S @ rest)[0, 0]) / (given.second_free - m)
    return Spread("classical", first, plain * n / given.second_free, plain, n * variance * (alone.T @ given.S @ alone))


def from_rows(equations: Sequence[Equation], rows: RowReader, like: Moments) -> list[Spread]:
    """Of several equations in the same variables, by one pass over the rows."""
    left: list[Floats] = []
    right: list[Floats] = []
    sizes: list[int] = []
    names = like.names
    for given in equations:
        pairs = [(given.z, column) for column in (*given.v.T, given.u[:, 0])]
        _, alone, rest = given.added
        sides = [(a, np.repeat(b[:, None], a.shape[1], axis=1)) for a, b in pairs]
        sides.append((given.forms(alone), np.repeat(given.forms(rest), alone.shape[1], axis=1)))
        at = [names.index(v) for v in given.names]
        for side, mine in ((left, 0), (right, 1)):
            whole = np.zeros((len(names), sum(s[mine].shape[1] for s in sides)))
            whole[at] = np.hstack([s[mine] for s in sides])
            side.append(whole)
        sizes.append(left[-1].shape[1])
    total, clusters = _products(rows, like, np.hstack(left), np.hstack(right), sizes)
    return [_spread(given, part, clusters) for given, part in zip(equations, total, strict=True)]


def _products(
    rows: RowReader, like: Moments, left: Floats, right: Floats, sizes: Sequence[int]
) -> tuple[list[Floats], int | None]:
    """Sums over units of the products of all forms of each equation, and the number of clusters if units are these."""
    ends = np.cumsum(sizes)[:-1]
    total = [np.zeros((size, size)) for size in sizes]
    sums = np.zeros((0, 1 + left.shape[1]))
    size = max(64, NUMBERS // left.shape[1])

    def add(values: Floats, weights: Floats | None) -> None:
        for k, part in enumerate(np.split(values, ends, axis=1)):
            total[k] += part.T @ (part if weights is None else part * weights[:, None])

    for block in rows.blocks(like=like):
        for start in range(0, len(block), size):
            at = slice(start, start + size)
            centred = block.values[at] - like.mean
            values = (centred @ left) * (centred @ right)
            weights = None if block.weights is None else block.weights[at]
            if weights is not None and (rows.sampling is not None or block.cluster is not None):
                values, weights = values * weights[:, None], None
            if block.cluster is None:
                add(values, weights)
            else:
                counted = np.concatenate([np.ones((len(values), 1)), values], axis=1)
                sums = sums_by(block.cluster[at], counted, sums)
    if rows.cluster is None:
        return total, None
    units = sums[sums[:, 0] > 0.0, 1:]
    add(units, None)
    return total, len(units)


def _spread(given: Equation, total: Floats, clusters: int | None) -> Spread:
    m, K, n = len(given.causes), len(given.instruments), given.n

    def correction(free: float) -> float:
        return n / free if clusters is None else cluster_correction(clusters) * (n - 1.0) / free

    reduced = (1 + m) * K
    first = total[:reduced, :reduced].reshape(1 + m, K, 1 + m, K).swapaxes(1, 2) * correction(given.first_free)
    plain = total[reduced : reduced + K, reduced : reduced + K]
    added = total[reduced + K :, reduced + K :] * correction(given.second_free - m)
    kind = "robust" if clusters is None else "clustered"
    return Spread(kind, first, plain * correction(given.second_free), plain, added, clusters)
