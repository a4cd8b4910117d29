"""Data sets with missing values, drawn like the one at hand: rows (or clusters) again, or rows of the fitted model.

A data set is what its patterns of missingness have as moments. Replicates come in portions that fit into memory, each
with random numbers of its own; rows are read once more for every portion.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from halftrek.bottom.arrays import Flags, Floats, Ints
from halftrek.bottom.choices import Redraw
from halftrek.data import Patterns, RowBlock, RowPart, gather
from halftrek.data.missing.gather import grouped
from halftrek.data.missing.stack import Stack
from halftrek.data.summing.passes import are_elsewhere, keyed
from halftrek.errors import DataError
from halftrek.estimation import Fitted
from halftrek.estimation.given.data_kind import patterns_behind
from halftrek.inference.draws.resample import (
    EDGE,
    HELD,
    NUMBERS,
    SENT,
    Products,
    draw_counts,
    in_chunks,
    product,
)
from halftrek.inference.draws.row_counts import row_counts
from halftrek.inference.information.robust import (
    ByLabel,
    cluster_correction,
    in_order,
    is_clustered,
    merged_by_label,
    rows_needed,
    sums_by,
)

STACKED = 2_000_000  # numbers in the matrices of replicates that are refitted together
SAME = 1e-9  # share of a column's size by which the mean of the same rows may move by rounding

Drawing = Callable[[RowBlock], Iterator[tuple[int, Floats]]]  # how often each of some rows is drawn


def draw_patterns(fit: Fitted, kind: Redraw, replicates: int, random_state: int) -> Iterator[Patterns]:
    """Replicates of a fit whose rows lack values, one after the other."""
    for stack in draw_stacks(fit, kind, replicates, random_state):
        yield from stack.patterns()


def draw_stacks(fit: Fitted, kind: Redraw, replicates: int, random_state: int) -> Iterator[Stack]:
    """Replicates of a fit whose rows lack values, some at a time."""
    patterns = patterns_behind(fit)
    p = len(patterns.names)
    if kind != "parametric":
        rows = rows_needed(fit, f'interval="{kind}"')
        refuse_left_out(patterns)
    whole = kind == "jackknife" or (kind != "parametric" and is_clustered(fit))
    units = _cluster_units(fit, patterns) if whole else None
    if kind == "jackknife" and units is not None:
        yield from _stacks(patterns, _weighted_sums(units, patterns, 1.0 - np.eye(len(units.clusters))))
        return
    elsewhere = kind != "parametric" and units is None and are_elsewhere(rows)
    portion = max(1, (SENT if elsewhere else HELD) // (len(patterns) * (1 + p + p * p)))
    seeds = np.random.SeedSequence(random_state).spawn(-(-replicates // portion))
    for first, seed in zip(range(0, replicates, portion), seeds, strict=True):
        size = min(portion, replicates - first)
        rng = np.random.default_rng(seed)
        if kind == "parametric":
            yield from _from_model(fit, patterns, size, rng)
        elif units is not None:
            yield from _stacks(patterns, _weighted_sums(units, patterns, _times(len(units.clusters), size, rng)))
        else:
            drawing = _poisson_there(fit, size, rng) if elsewhere else one_by_one(fit, patterns, size, rng)
            yield from _stacks(patterns, _from_rows(fit, patterns, size, drawing))


def refuse_left_out(like: Patterns) -> None:
    if like.left_out:
        raise DataError(
            "there are too many patterns of missing values to keep them all, so that rows cannot be drawn again; ask "
            'for interval="delta", or leave out columns with many missing values'
        )


def _together(like: Patterns) -> int:
    """Replicates whose matrices are held at a time."""
    return max(1, STACKED // (len(like) * len(like.names) ** 2))


# -- rows drawn again ------------------------------------------------------------------------------


def _stacks(like: Patterns, sums: Floats) -> Iterator[Stack]:
    """Data sets from their sums of products, for each replicate and pattern; some of them at a time."""
    products, several, p = products_of(like), len(like.cov), len(like.names)
    seen = like.observed[:several]
    both = seen[:, :, None] & seen[:, None, :]
    step = _together(like)
    for first in range(0, len(sums), step):
        some = sums[first : first + step]
        n = some[:, :, 0].copy()
        some = np.where(n[:, :, None] > 0.0, some, 1.0)
        mean = np.where(like.observed, products.means(some), 0.0)
        drawn = products.moments(some[:, :several].reshape(-1, products.width))
        cov = np.where(both, drawn.cov.reshape(len(some), several, p, p), 0.0)
        yield Stack(like.names, like.observed, n, mean, cov)


def products_of(like: Patterns) -> Products:
    mean, variance = like.available
    return Products(mean, np.sqrt(variance))


def _from_rows(fit: Fitted, like: Patterns, replicates: int, drawing: Drawing) -> Floats:
    """The sums of products of each replicate over the rows of each pattern, by one pass over the rows."""
    over = partial(_drawn_part, products_of(like), like.observed, replicates, drawing)
    rows = rows_needed(fit, 'interval="bootstrap"')
    found = gather(keyed(rows) if are_elsewhere(rows) else rows, over, _both)
    refuse_other_rows(like, found[1])
    return found[0]


def _drawn_part(
    products: Products, observed: Flags, replicates: int, drawing: Drawing, part: RowPart
) -> tuple[Floats, Floats]:
    """The sums of the rows that lie together, and what says whether they are the rows of the fit."""
    sums = np.zeros((replicates, len(observed), products.width))
    tally = np.zeros(1 + 2 * observed.shape[1])
    for chunk, values, parts in pieces(products, observed, part, tally):
        batches = _by_size(values, parts)
        order = np.concatenate([lines.ravel() for _, lines, _ in batches])
        for first, count in drawing(chunk):
            into, count = sums[first : first + len(count)], count.take(order, axis=1)
            start = 0
            for found, lines, own in batches:
                times = count[:, start : start + lines.size].reshape(len(count), *lines.shape).transpose(1, 0, 2)
                start += lines.size
                if len(found) == 1:
                    into[:, found[0]] += product(times[0], own[0])
                    continue
                for i in range(0, len(count), EDGE):
                    into[i : i + EDGE, found] += (times[:, i : i + EDGE] @ own).transpose(1, 0, 2)
    return sums, tally


def _by_size(values: Floats, parts: list[tuple[int, Ints]]) -> list[tuple[Ints, Ints, Floats]]:
    """Patterns in batches: their numbers, their rows, and the products of these.

    A product for each pattern of few rows would cost more than the work in it. So those of about as many rows are
    multiplied together, each with as many lines as the longest may have; what it lacks are zeros. Their products are
    small enough that BLAS starts no threads.
    """
    width = values.shape[1]
    deep, most = EDGE * EDGE // width, max(1, NUMBERS // (EDGE * width))
    batches: dict[tuple[int, int], list[tuple[int, Ints]]] = {}
    for place, (k, rows) in enumerate(parts):
        side = 1 << (len(rows) - 1).bit_length()
        key = (side, 0) if side <= deep else (len(rows), place + 1)
        batches.setdefault(key, []).append((k, rows))
    found = []
    for (side, _), some in batches.items():
        for first in range(0, len(some), most):
            here = some[first : first + most]
            lines, own = np.zeros((len(here), side), dtype=np.intp), np.zeros((len(here), side, width))
            for at, (_, rows) in enumerate(here):
                lines[at, : len(rows)], own[at, : len(rows)] = rows, values[rows]
            found.append((np.array([k for k, _ in here], dtype=np.intp), lines, own))
    return found


def _both(ours: tuple[Floats, Floats], theirs: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    return ours[0] + theirs[0], ours[1] + theirs[1]


def pieces(
    products: Products, observed: Flags, part: RowPart, tally: Floats
) -> Iterator[tuple[RowBlock, Floats, list[tuple[int, Ints]]]]:
    """Rows that have a value, in chunks: their products, and which of them have each pattern, by its number."""
    p, place = observed.shape[1], {seen.tobytes(): k for k, seen in enumerate(observed)}
    for chunk in in_chunks(part.blocks, NUMBERS // products.width):
        some = np.asarray(~np.isnan(chunk.values).all(axis=1))
        rows = chunk if some.all() else chunk.take(some)
        if not len(rows):
            continue
        weight = np.ones(len(rows)) if rows.weights is None else rows.weights
        weight = weight if rows.times is None else weight * rows.times
        tally[0] += weight.sum()
        tally[1 : p + 1] += weight @ ~np.isnan(rows.values)
        tally[p + 1 :] += weight @ np.nan_to_num(rows.values)
        parts = [(place.get(seen.tobytes(), -1), at) for seen, at in grouped(~np.isnan(rows.values))]
        if any(k < 0 for k, _ in parts):
            raise DataError("the rows are no longer those that the model was fitted to; fit again")
        yield rows, np.nan_to_num(products.of(RowBlock(rows.values)), copy=False), parts


def refuse_other_rows(like: Patterns, tally: Floats) -> None:
    p = len(like.names)
    total, seen, sums = tally[0], tally[1 : p + 1], tally[p + 1 :]
    mean, variance = like.available
    size = np.sqrt(variance) + np.abs(mean)
    if (
        abs(total - like.total) > SAME * like.total
        or (np.abs(sums / np.maximum(seen, 1e-300) - mean) > SAME * size).any()
    ):
        raise DataError("the rows are no longer those that the model was fitted to; fit again")


def one_by_one(fit: Fitted, like: Patterns, replicates: int, rng: np.random.Generator) -> Drawing:
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


def _poisson_there(fit: Fitted, replicates: int, rng: np.random.Generator) -> Drawing:
    """As often as a row is drawn among very many rows; its draws are made of its key, so that none must be sent."""
    sampling = fit.rows is not None and fit.rows.sampling is not None
    return partial(row_counts, replicates=replicates, seed=int(rng.integers(2**63)), sampling=sampling)


# -- whole clusters ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Units:
    """Sums of products, a line for each cluster and pattern that occur together, and which these are."""

    clusters: tuple[Hashable, ...]
    cluster: Ints
    pattern: Ints
    values: Floats


def _cluster_units(fit: Fitted, like: Patterns) -> _Units:
    """What each cluster adds to each pattern, by one pass over the rows."""
    over = partial(_clusters_part, products_of(like), like.observed)
    rows = rows_needed(fit, "errors by cluster")
    sums, tally = gather(rows, over, _both_by_label)
    refuse_other_rows(like, tally)
    sums = in_order(sums) if are_elsewhere(rows) else sums
    some = np.flatnonzero(sums.values[:, 0] > 0.0)
    number: dict[Hashable, int] = {}
    cluster = np.array([number.setdefault(sums.labels[i][0], len(number)) for i in some], dtype=np.intp)
    cluster_correction(len(number))
    pattern = np.array([sums.labels[i][1] for i in some], dtype=np.intp)
    return _Units(tuple(number), cluster, pattern, sums.values[some])


def _clusters_part(products: Products, observed: Flags, part: RowPart) -> tuple[ByLabel, Floats]:
    tally = np.zeros(1 + 2 * observed.shape[1])
    by_pattern: dict[int, Floats] = {}
    for chunk, values, parts in pieces(products, observed, part, tally):
        assert chunk.cluster is not None
        weighted = values if chunk.weights is None else values * chunk.weights[:, None]
        for k, rows in parts:
            into = by_pattern.get(k, np.zeros((0, products.width)))
            by_pattern[k] = sums_by(chunk.cluster[rows], weighted[rows], into)
    labels, lines, names = [], [], list(part.codes)
    for k, sums in by_pattern.items():
        some = np.flatnonzero(sums[:, 0] > 0.0)
        labels += [(names[code], k) for code in some]
        lines.append(sums[some])
    return ByLabel(tuple(labels), np.concatenate([np.zeros((0, products.width)), *lines])), tally


def _both_by_label(ours: tuple[ByLabel, Floats], theirs: tuple[ByLabel, Floats]) -> tuple[ByLabel, Floats]:
    return merged_by_label(ours[0], theirs[0]), ours[1] + theirs[1]


def _times(clusters: int, replicates: int, rng: np.random.Generator) -> Floats:
    """How often each cluster is drawn, a line for each replicate."""
    draws = draw_counts(clusters, None, np.full(replicates, clusters), rng)
    return np.concatenate([count.copy() for _, count in draws])


def _weighted_sums(units: _Units, like: Patterns, times: Floats) -> Floats:
    """The sums of each replicate and pattern, where clusters count so often."""
    sums = np.zeros((len(times), len(like), units.values.shape[1]))
    for k in np.unique(units.pattern):
        lines = np.flatnonzero(units.pattern == k)
        sums[:, k] = product(times[:, units.cluster[lines]], units.values[lines])
    return sums


# -- rows drawn from the model -----------------------------------------------------------------------


def _from_model(fit: Fitted, like: Patterns, replicates: int, rng: np.random.Generator) -> Iterator[Stack]:
    """Normal rows that lack the same values, by their moments: Wishart covariances, or rows where these are few."""
    p, K = len(like.names), len(like)
    root = np.linalg.cholesky(fit.implied.cov)
    several = len(like.cov) if (like.n[len(like.cov) :] < 1.5).all() else K  # a row may stand for several
    mean, cov = np.zeros((replicates, K, p)), np.zeros((replicates, several, p, p))
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
            if k < several:
                cov[:, k] = centred.transpose(0, 2, 1) @ centred / rows.shape[1]
    seen = like.observed[:several]
    both = seen[:, :, None] & seen[:, None, :]
    step = _together(like)
    for first in range(0, replicates, step):
        part = slice(first, first + step)
        means, covs = np.where(like.observed, mean[part] + fit.implied.mean, 0.0), np.where(both, cov[part], 0.0)
        yield Stack(like.names, like.observed, np.repeat(like.n[None], len(means), axis=0), means, covs)
