"""Moments of many data sets drawn like the one at hand: rows (or clusters) drawn again, or drawn from the fitted model.

Rows drawn again are counts; the moments of all replicates are one matrix product of counts with the products of
columns. Rows pass in chunks: how many draws fall into a chunk is binomial, given what is left.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from halftrek.bottom.arrays import Codes, Floats, Ints
from halftrek.data import Moments, RowBlock, RowPart, RowReader, gather
from halftrek.data.summing.passes import are_elsewhere, keyed
from halftrek.errors import InputError
from halftrek.estimation import Fitted
from halftrek.inference.draws.row_counts import COUNTS, row_counts
from halftrek.inference.information.robust import (
    ByLabel,
    cluster_correction,
    in_order,
    labelled,
    merged_by_label,
    rows_needed,
    sums_by,
)

Progress = Callable[[int, int], None]

NUMBERS = 4_000_000  # products of columns that are held at a time
EDGE = 64  # of the cubes that products are cut into: 64³ multiplications, up to which BLAS starts no threads ...
WIDE = 400  # ... unless the table has more columns
COVARIANCES = 5_000_000  # numbers in the covariances of replicates that are fitted at a time
HELD = 20_000_000  # numbers in the sums of replicates that are drawn at a time, where values are missing ...
SENT = 4_000_000  # ... where each part of an engine's rows sends them: 32 megabytes
ALL = 1_000_000_000  # replicates: more than anybody asks for
MANY = 120  # variables above which each replicate multiplies its own rows: making all products first would cost more


@dataclass(frozen=True, eq=False)
class Drawn:
    """Covariances ``(b, p, p)``, means ``(b, p)`` and numbers of rows of the replicates."""

    cov: Floats
    mean: Floats
    n: Floats


def at_once(p: int) -> int:
    """Replicates of so many variables whose covariances are held at a time."""
    return max(1, COVARIANCES // p**2)


def replicates_at_once(fit: Fitted) -> int:
    """Replicates that are drawn by one pass over the rows; clusters are summed up once, and then drawn for all."""
    rows, p = rows_needed(fit, 'interval="bootstrap"'), len(fit.moments.names)
    if rows.cluster is not None or (p <= MANY and not are_elsewhere(rows)):
        return ALL
    return max(1, SENT // (1 + p + p * (p + 1) // 2)) if are_elsewhere(rows) else at_once(p)


def draw_rows(fit: Fitted, replicates: int, rng: np.random.Generator, progress: Progress | None = None) -> Drawn:
    """Replicates by drawing as many rows as there are, with replacement; clusters are drawn whole.

    A row with a sampling weight is as likely to be drawn as any other, and brings its weight along.
    """
    rows = rows_needed(fit, 'interval="bootstrap"')
    scale = np.sqrt(np.diag(fit.moments.cov))
    products = Products(fit.moments.mean, scale)
    if rows.cluster is None and are_elsewhere(rows):
        return _drawn_there(fit, rows, products, replicates, int(rng.integers(2**63)))
    if rows.cluster is not None:
        units = _units(rows, products, fit.moments)
        cluster_correction(len(units))
        left, weight = np.full(replicates, len(units)), float(len(units))
        pieces: Iterator[tuple[Floats, Floats | None]] = _slices(units, NUMBERS // products.width)
    else:
        if rows.sampling is None and len(scale) > MANY:
            products = WideProducts(fit.moments.mean, scale)
        left, weight = np.full(replicates, round(fit.n)), fit.n
        chunks = in_chunks(rows.blocks(like=fit.moments), NUMBERS // products.width)
        sampling = rows.sampling is not None
        pieces = (_weighted(products.of(chunk), chunk.weights, sampling=sampling) for chunk in chunks)
    sums = products.nothing(replicates)
    done, total = 0, len(units) if rows.cluster is not None else round(fit.n)
    for values, weights in pieces:
        inside = float(len(values)) if weights is None else float(weights.sum())
        share = 1.0 if weight - inside < 1e-9 * fit.n else inside / weight
        taken = rng.binomial(left, share)
        for start, counts in draw_counts(len(values), weights, taken, rng):
            products.add(sums[start : start + len(counts)], counts, values)
        left, weight = left - taken, weight - inside
        done += len(values)
        if progress is not None:
            progress(min(done, total), total)
    return products.moments(sums)


def _weighted(values: Floats, weights: Floats | None, *, sampling: bool) -> tuple[Floats, Floats | None]:
    """Values and how many rows have each; sampling weights are part of the values."""
    return (values * weights[:, None], None) if sampling and weights is not None else (values, weights)


def leave_clusters_out(fit: Fitted) -> Drawn:
    """One data set for each cluster: all rows but its own."""
    rows = rows_needed(fit, 'interval="jackknife"')
    if rows.cluster is None:
        raise InputError('interval="jackknife" leaves out one cluster at a time: say with cluster= which rows are one')
    products = Products(fit.moments.mean, np.sqrt(np.diag(fit.moments.cov)))
    units = _units(rows, products, fit.moments)
    cluster_correction(len(units))
    return products.moments(units.sum(axis=0) - units)


def draw_model(fit: Fitted, replicates: int, rng: np.random.Generator) -> Drawn:
    """Replicates from the fitted model: Wishart covariances (by Bartlett's decomposition) and normal means."""
    n, p, implied = fit.n, len(fit.graph), fit.implied
    if n <= p:
        raise InputError(f'interval="parametric" needs more rows than variables: {n:g} rows for {p} variables')
    root = np.linalg.cholesky(implied.cov)
    factor = np.zeros((replicates, p, p))
    i = np.arange(p)
    factor[:, i, i] = np.sqrt(rng.chisquare(n - 1.0 - i, size=(replicates, p)))
    below = np.tril_indices(p, -1)
    factor[:, below[0], below[1]] = rng.standard_normal((replicates, len(below[0])))
    spread = root @ factor
    mean = np.repeat(implied.mean[None], replicates, axis=0)
    if fit.moments.has_mean:
        mean = mean + rng.standard_normal((replicates, p)) @ root.T / np.sqrt(n)
    return Drawn(spread @ spread.transpose(0, 2, 1) / n, mean, np.full(replicates, n))


class Products:
    """Rows about the mean, in standard deviations, as ``1, z_i, z_i z_j``: what sums of moments are made of."""

    def __init__(self, mean: Floats, scale: Floats) -> None:
        self._mean, self._scale, self._p = mean, scale, len(mean)
        self._i, self._j = np.triu_indices(self._p)
        self.width = 1 + self._p + len(self._i)
        place = np.zeros((self._p, self._p), dtype=np.intp)
        place[self._i, self._j] = place[self._j, self._i] = np.arange(len(self._i))
        self._place = place.ravel()

    def of(self, block: RowBlock) -> Floats:
        Z = (block.values - self._mean) / self._scale
        found = np.empty((len(Z), self.width))
        found[:, 0] = 1.0
        found[:, 1 : self._p + 1] = Z
        np.multiply(Z[:, self._i], Z[:, self._j], out=found[:, self._p + 1 :])
        return found

    def nothing(self, count: int) -> Floats:
        """Sums of so many replicates, before any row."""
        return np.zeros((count, self.width))

    def add(self, sums: Floats, counts: Floats, values: Floats) -> None:
        """To the sums of some replicates, rows that each has so often."""
        sums += product(counts, values)

    def means(self, sums: Floats) -> Floats:
        """Of each line of sums, which may have more axes in front."""
        return np.asarray(self._mean + sums[..., 1 : self._p + 1] / sums[..., :1] * self._scale)

    def moments(self, sums: Floats) -> Drawn:
        n = sums[:, 0]
        first = sums[:, 1 : self._p + 1] / n[:, None]
        second = sums[:, self._p + 1 :] / n[:, None] - first[:, self._i] * first[:, self._j]
        second = second * self._scale[self._i] * self._scale[self._j]
        cov = np.take(second, self._place, axis=1).reshape(len(n), self._p, self._p)
        return Drawn(cov, self._mean + first * self._scale, n)


class WideProducts(Products):
    """The same for many variables: rows stay as they are, ``1, z_i``, and each replicate multiplies its own."""

    def of(self, block: RowBlock) -> Floats:
        return np.hstack([np.ones((len(block), 1)), (block.values - self._mean) / self._scale])

    def nothing(self, count: int) -> Floats:
        return np.zeros((count, self._p + 1, self._p + 1))

    def add(self, sums: Floats, counts: Floats, values: Floats) -> None:
        own = np.empty((values.shape[1], values.shape[1]))
        for total, times in zip(sums, counts, strict=True):
            drawn = times > 0.0
            rows = values[drawn] * np.sqrt(times[drawn])[:, None]
            total += np.matmul(rows.T, rows, out=own)

    def moments(self, sums: Floats) -> Drawn:
        """In place: the sums of many variables are large, and nobody needs them any more."""
        n = sums[:, 0, 0].copy()
        first, cov = sums[:, 0, 1:] / n[:, None], sums[:, 1:, 1:]
        for one, mean, count in zip(cov, first, n, strict=True):
            one /= count
            one -= mean[:, None] * mean
            one *= self._scale[:, None] * self._scale
        return Drawn(cov, self._mean + first * self._scale, n)


def in_chunks(blocks: Iterator[RowBlock], size: int) -> Iterator[RowBlock]:
    size = max(size, 64)
    for block in blocks:
        for start in range(0, len(block), size):
            part = slice(start, start + size)
            yield block.take(part)


def _units(rows: RowReader, products: Products, like: Moments) -> Floats:
    """Sums of the products over each cluster that has rows."""
    found = gather(rows, partial(_by_cluster, products), merged_by_label, like)
    sums = in_order(found).values if are_elsewhere(rows) else found.values
    return np.asarray(sums[sums[:, 0] > 0.0])


def _by_cluster(products: Products, part: RowPart) -> ByLabel:
    sums = np.zeros((0, products.width))
    for chunk in in_chunks(part.blocks, NUMBERS // products.width):
        assert chunk.cluster is not None
        values = products.of(chunk)
        sums = sums_by(chunk.cluster, values if chunk.weights is None else values * chunk.weights[:, None], sums)
    return labelled(part, sums)


def _drawn_there(fit: Fitted, rows: RowReader, products: Products, replicates: int, seed: int) -> Drawn:
    """Replicates where the rows lie: how often a row is drawn is Poisson, as it nearly is among very many rows."""
    over = partial(_poisson, products, replicates, seed, rows.sampling is not None)
    return products.moments(gather(keyed(rows), over, operator.add, fit.moments))


def _poisson(products: Products, replicates: int, seed: int, sampling: bool, part: RowPart) -> Floats:
    """The sums of each replicate over rows that lie together."""
    sums = np.zeros((replicates, products.width))
    for chunk in in_chunks(part.blocks, NUMBERS // products.width):
        values = products.of(chunk)
        for start, counts in row_counts(chunk, replicates, seed, sampling=sampling):
            sums[start : start + len(counts)] += product(counts, values)
    return sums


def _slices(units: Floats, size: int) -> Iterator[tuple[Floats, Floats | None]]:
    size = max(size, 64)
    for start in range(0, len(units), size):
        yield units[start : start + size], None


def product(counts: Floats, values: Floats) -> Floats:
    """``counts @ values``, to the last digit whatever the number of threads that BLAS may use.

    Threads cut a large product into pieces of their own, and sums end on another digit. Cubes of this edge are below
    the size from which on threads start, so that each is computed by one. A very wide table is multiplied as it is:
    there the pieces would cost.
    """
    rows, width = values.shape
    if width > WIDE:
        return np.asarray(counts @ values)
    found = np.empty((len(counts), width))
    whole = rows - rows % EDGE
    for j in range(0, width, EDGE):
        right = values[:, j : j + EDGE]
        deep = right[:whole].reshape(-1, EDGE, right.shape[1])
        for i in range(0, len(counts), EDGE):
            left = counts[i : i + EDGE]
            cubes = left[:, :whole].reshape(len(left), -1, EDGE).transpose(1, 0, 2)
            found[i : i + EDGE, j : j + EDGE] = (cubes @ deep).sum(axis=0) + left[:, whole:] @ right[whole:]
    return found


def draw_counts(
    rows: int, weights: Floats | None, taken: Codes, rng: np.random.Generator
) -> Iterator[tuple[int, Floats]]:
    """How often each row is among ``taken[b]`` draws: the first replicate of some, and one line of counts for each.

    The lines are good until the next ones are asked for.
    """
    step = max(1, COUNTS // rows)
    edges = None if weights is None else np.cumsum(weights)
    counts = np.empty((step, rows))
    for start in range(0, len(taken), step):
        draws = taken[start : start + step]
        for b, k in enumerate(draws):
            counts[b] = np.bincount(_places(rows, edges, int(k), rng), minlength=rows)
        yield start, counts[: len(draws)]


def _places(rows: int, edges: Floats | None, draws: int, rng: np.random.Generator) -> NDArray[np.int32] | Ints:
    if edges is None:
        return rng.integers(0, rows, size=draws, dtype=np.int32)
    at = np.searchsorted(edges, rng.random(draws) * edges[-1], side="right")
    return np.asarray(np.minimum(at, rows - 1))  # rounding may reach the end
