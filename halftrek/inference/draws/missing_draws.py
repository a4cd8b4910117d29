"""Data sets with missing values, drawn like the one at hand: rows (or clusters) again, or rows of the fitted model.

A data set is what its patterns of missingness have as moments. Replicates come in portions that fit into memory, each
with random numbers of its own; rows are read once more for every portion.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from scipy.sparse import csr_array

from halftrek.arrays import Floats
from halftrek.choices import Redraw
from halftrek.data import Patterns, RowBlock
from halftrek.data.missing.gather import grouped
from halftrek.data.missing.stack import Stack
from halftrek.errors import DataError
from halftrek.estimation import Fitted
from halftrek.estimation.data_kind import patterns_behind
from halftrek.inference.draws.resample import NUMBERS, Products, draw_counts, in_chunks, product
from halftrek.inference.information.robust import cluster_correction, clusters_with_rows, is_clustered, rows_needed

HELD = 20_000_000  # numbers in the sums of one portion of replicates
STACKED = 1_000_000  # numbers in the matrices of replicates that are refitted together
MANY = 500  # patterns in a chunk of rows from which on they are added up all at once
SAME = 1e-9  # share of a column's size by which the mean of the same rows may move by rounding

Counter = Callable[[RowBlock], Iterator[tuple[int, Floats]]]


def draw_patterns(fit: Fitted, kind: Redraw, replicates: int, random_state: int) -> Iterator[Patterns]:
    """Replicates of a fit whose rows lack values, one after the other."""
    for stack in draw_stacks(fit, kind, replicates, random_state):
        yield from stack.patterns()


def draw_stacks(fit: Fitted, kind: Redraw, replicates: int, random_state: int) -> Iterator[Stack]:
    """Replicates of a fit whose rows lack values, some at a time."""
    patterns = patterns_behind(fit)
    if kind != "parametric":
        rows_needed(fit, f'interval="{kind}"')
    if kind == "jackknife":
        yield from _from_rows(fit, patterns, replicates, _all_but_one(fit, replicates))
        return
    p = len(patterns.names)
    portion = max(1, HELD // (len(patterns) * (1 + p + p * p)))
    seeds = np.random.SeedSequence(random_state).spawn(-(-replicates // portion))
    for first, seed in zip(range(0, replicates, portion), seeds, strict=True):
        size = min(portion, replicates - first)
        rng = np.random.default_rng(seed)
        if kind == "parametric":
            yield from _from_model(fit, patterns, size, rng)
        else:
            counts = _by_cluster(fit, size, rng) if is_clustered(fit) else _row_by_row(fit, patterns, size, rng)
            yield from _from_rows(fit, patterns, size, counts)


def _together(like: Patterns) -> int:
    """Replicates whose matrices are held at a time."""
    return max(1, STACKED // (len(like) * len(like.names) ** 2))


# -- rows drawn again ------------------------------------------------------------------------------


def _from_rows(fit: Fitted, like: Patterns, replicates: int, counts: Counter) -> Iterator[Stack]:
    if like.left_out:
        raise DataError(
            "there are too many patterns of missing values to keep them all, so that rows cannot be drawn again; ask "
            'for interval="delta", or leave out columns with many missing values'
        )
    mean, variance = like.available
    products = Products(mean, np.sqrt(variance))
    place = {observed.tobytes(): k for k, observed in enumerate(like.observed)}
    sums = np.zeros((replicates, len(like), products.width))
    for chunk in _seen_rows(fit, like, products.width):
        values = products.of(RowBlock(chunk.values))
        parts = grouped(~np.isnan(chunk.values))
        found = [place.get(observed.tobytes(), -1) for observed, _ in parts]
        if -1 in found:
            raise DataError("the rows are no longer those that the model was fitted to; fit again")
        np.nan_to_num(values, copy=False)
        if len(parts) > MANY:
            order = np.concatenate([rows for _, rows in parts])
            ends = np.cumsum([0, *(len(rows) for _, rows in parts)])
            values = values[order]
        for first, count in counts(chunk):
            if len(parts) > MANY:  # a product for each would cost more than to add up all
                for b, times in enumerate(count[:, order]):
                    sums[first + b, found] += csr_array((times, np.arange(len(times)), ends)) @ values
                continue
            for k, (_, rows) in zip(found, parts, strict=True):
                sums[first : first + len(count), k] += product(count[:, rows], values[rows])
    both = like.observed[:, :, None] & like.observed[:, None, :]
    step = _together(like)
    for first in range(0, replicates, step):
        some = sums[first : first + step]
        n, flat = some[:, :, 0], some.reshape(-1, products.width)
        drawn = products.moments(np.where(flat[:, :1] > 0.0, flat, 1.0))
        mean = np.where(like.observed, drawn.mean.reshape(*n.shape, -1), 0.0)
        yield Stack(
            like.names, like.observed, n, mean, np.where(both, drawn.cov.reshape(*n.shape, *both.shape[1:]), 0.0)
        )


def _seen_rows(fit: Fitted, like: Patterns, width: int) -> Iterator[RowBlock]:
    """The rows that have a value, in chunks; an error at the end if they are not those of the fit."""
    total, sums, seen = 0.0, np.zeros(len(like.names)), np.zeros(len(like.names))
    blocks = rows_needed(fit, 'interval="bootstrap"').blocks()
    for chunk in in_chunks(blocks, NUMBERS // width):
        some = ~np.isnan(chunk.values).all(axis=1)
        if not some.all():
            weights = None if chunk.weights is None else chunk.weights[some]
            chunk = RowBlock(chunk.values[some], weights, None if chunk.cluster is None else chunk.cluster[some])
        weight = np.ones(len(chunk)) if chunk.weights is None else chunk.weights
        total += float(weight.sum())
        seen += weight @ ~np.isnan(chunk.values)
        sums += weight @ np.nan_to_num(chunk.values)
        if len(chunk):
            yield chunk
    mean, variance = like.available
    size = np.sqrt(variance) + np.abs(mean)
    if (
        abs(total - like.total) > SAME * like.total
        or (np.abs(sums / np.maximum(seen, 1e-300) - mean) > SAME * size).any()
    ):
        raise DataError("the rows are no longer those that the model was fitted to; fit again")


def _row_by_row(fit: Fitted, like: Patterns, replicates: int, rng: np.random.Generator) -> Counter:
    """How often each row of a chunk is drawn: how many draws fall into it is binomial, given what is left.

    Weights that count rows make a row likely to be drawn; sampling weights come with a row that was drawn.
    """
    left, weight = np.full(replicates, round(like.total)), like.total
    sampling = fit.rows is not None and fit.rows.sampling is not None

    def counts(chunk: RowBlock) -> Iterator[tuple[int, Floats]]:
        nonlocal left, weight
        chances = None if sampling else chunk.weights
        inside = float(len(chunk)) if chances is None else float(chances.sum())
        share = 1.0 if weight - inside < 1e-9 * like.total else inside / weight
        taken = rng.binomial(left, share)
        left, weight = left - taken, weight - inside
        for first, count in draw_counts(len(chunk), chances, taken, rng):
            yield first, count * chunk.weights if sampling and chunk.weights is not None else count

    return counts


def _by_cluster(fit: Fitted, replicates: int, rng: np.random.Generator) -> Counter:
    """How often each row is drawn, times its weight, where whole clusters are."""
    clusters = clusters_with_rows(fit)
    times = np.concatenate(
        [count.copy() for _, count in draw_counts(len(clusters), None, np.full(replicates, len(clusters)), rng)]
    )
    return _whole_clusters(clusters, times)


def _all_but_one(fit: Fitted, replicates: int) -> Counter:
    """Every row once, times its weight, but for those of one cluster in each replicate."""
    return _whole_clusters(clusters_with_rows(fit), 1.0 - np.eye(replicates))


def _whole_clusters(clusters: Sequence[int], times: Floats) -> Counter:
    """Counts of rows from those of their clusters, a line for each replicate."""
    cluster_correction(len(clusters))
    number = np.zeros(max(clusters) + 1, dtype=np.intp)
    number[list(clusters)] = np.arange(len(clusters))

    def counts(chunk: RowBlock) -> Iterator[tuple[int, Floats]]:
        assert chunk.cluster is not None
        step = max(1, NUMBERS // len(chunk))
        weight = np.ones(len(chunk)) if chunk.weights is None else chunk.weights
        for first in range(0, len(times), step):
            yield first, times[first : first + step, number[chunk.cluster]] * weight

    return counts


# -- rows drawn from the model -----------------------------------------------------------------------


def _from_model(fit: Fitted, like: Patterns, replicates: int, rng: np.random.Generator) -> Iterator[Stack]:
    """Normal rows that lack the same values, by their moments: Wishart covariances, or rows where these are few."""
    p, K = len(like.names), len(like)
    root = np.linalg.cholesky(fit.model.cov)
    mean, cov = np.zeros((replicates, K, p)), np.zeros((replicates, K, p, p))
    below, i = np.tril_indices(p, -1), np.arange(p)
    for k, n in enumerate(like.n):
        if n > p:
            factor = np.zeros((replicates, p, p))
            factor[:, i, i] = np.sqrt(rng.chisquare(n - 1.0 - i, size=(replicates, p)))
            factor[:, below[0], below[1]] = rng.standard_normal((replicates, len(below[0])))
            spread = root @ factor / np.sqrt(n)
            cov[:, k] = spread @ spread.transpose(0, 2, 1)
            mean[:, k] = rng.standard_normal((replicates, p)) @ root.T / np.sqrt(n)
        else:
            rows = rng.standard_normal((replicates, max(1, round(float(n))), p)) @ root.T
            mean[:, k] = rows.mean(axis=1)
            centred = rows - mean[:, k, None]
            cov[:, k] = centred.transpose(0, 2, 1) @ centred / rows.shape[1]
    both = like.observed[:, :, None] & like.observed[:, None, :]
    step = _together(like)
    for first in range(0, replicates, step):
        part = slice(first, first + step)
        means, covs = np.where(like.observed, mean[part] + fit.model.mean, 0.0), np.where(both, cov[part], 0.0)
        yield Stack(like.names, like.observed, np.repeat(like.n[None], len(means), axis=0), means, covs)
