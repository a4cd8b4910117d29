"""Rows with missing values drawn again as numbers of how often each is drawn: what most bootstraps are made of.

A data set is then the rows of the fit, which all data sets share, and its own counts; only rows of frequent patterns
are summed up. Rows that lie elsewhere, clusters, and rows of the model come as moments of patterns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from halftrek.bottom.arrays import Flags, Floats, Ints
from halftrek.bottom.choices import Redraw
from halftrek.data import Patterns, RowPart, gather
from halftrek.data.missing.layout import Layout, is_frequent
from halftrek.data.missing.redrawn import Redrawn
from halftrek.data.missing.stack import Stack
from halftrek.data.summing.passes import are_elsewhere
from halftrek.estimation import Fitted
from halftrek.estimation.given.data_kind import patterns_behind
from halftrek.estimation.space import make_space
from halftrek.inference.draws.missing_draws import (
    Drawing,
    draw_stacks,
    one_by_one,
    pieces,
    products_of,
    refuse_left_out,
    refuse_other_rows,
)
from halftrek.inference.draws.resample import HELD, Products, product
from halftrek.inference.information.robust import is_clustered, rows_needed

NEAR = 4_000_000  # numbers in the arrays of data sets that are worked on together
NEARER = 48_000  # of one entry of their inverses
LEAST, MOST = 32, 256  # such data sets


def draw_sets(fit: Fitted, kind: Redraw, replicates: int, random_state: int) -> Iterator[Stack | Redrawn]:
    """Replicates of a fit whose rows lack values, some at a time."""
    if kind != "bootstrap" or is_clustered(fit) or are_elsewhere(rows_needed(fit, 'interval="bootstrap"')):
        yield from draw_stacks(fit, kind, replicates, random_state)
        return
    like = patterns_behind(fit)
    refuse_left_out(like)
    frequent = is_frequent(like.rows, len(like.names))
    products, near = products_of(like), make_space(fit.graph, like.names, fit.options).near
    portion = max(1, HELD // (int(like.rows[~frequent].sum()) + products.width * (1 + int(frequent.sum()))))
    seeds = np.random.SeedSequence(random_state).spawn(-(-replicates // portion))
    for first, seed in zip(range(0, replicates, portion), seeds, strict=True):
        size = min(portion, replicates - first)
        drawing = one_by_one(fit, like, size, np.random.default_rng(seed))
        over = partial(_drawn_part, products, like, frequent, size, drawing)
        drawn = gather(rows_needed(fit, 'interval="bootstrap"'), over, lambda ours, _: ours)  # rows here are one part
        refuse_other_rows(like, drawn.tally)
        yield from _sets(like, frequent, drawn, near)


@dataclass(frozen=True, eq=False)
class _Drawn:
    """Rows of rare patterns with their patterns, how often each replicate has them, and sums; a replicate a line."""

    values: Floats
    pattern: Ints
    times: Floats
    sums: Floats
    whole: Floats
    tally: Floats


def _drawn_part(
    products: Products, like: Patterns, frequent: Flags, replicates: int, drawing: Drawing, part: RowPart
) -> _Drawn:
    p, place = len(like.names), np.cumsum(frequent) - 1
    sums = np.zeros((replicates, int(frequent.sum()), products.width))
    whole, tally = np.zeros((replicates, products.width)), np.zeros(1 + 2 * p)
    values, pattern, times = [np.zeros((0, p))], [np.zeros(0, dtype=np.intp)], [np.zeros((replicates, 0))]
    for chunk, found, parts in pieces(products, like.observed, part, tally):
        many = [(place[k], rows) for k, rows in parts if frequent[k]]
        rare = [(k, rows) for k, rows in parts if not frequent[k]]
        own = np.concatenate([np.zeros(0, dtype=np.intp), *(rows for _, rows in rare)])
        kinds = np.repeat(np.array([k for k, _ in rare], dtype=np.intp), [len(rows) for _, rows in rare])
        lines, counts = found[own], np.zeros((replicates, len(own)))
        for first, count in drawing(chunk):
            some = slice(first, first + len(count))
            counts[some] = np.take(count, own, axis=1)
            whole[some] += product(counts[some], lines)
            for k, rows in many:
                sums[some, k] += product(np.take(count, rows, axis=1), found[rows])
        values.append(lines[:, 1 : p + 1])
        pattern.append(kinds)
        times.append(counts)
    whole += sums.sum(axis=1)
    return _Drawn(np.concatenate(values), np.concatenate(pattern), np.concatenate(times, axis=1), sums, whole, tally)


def _sets(like: Patterns, frequent: Flags, drawn: _Drawn, near: Flags) -> Iterator[Redrawn]:
    centre, variance = like.available
    holes = int((~like.observed[drawn.pattern]).sum())
    size = holes + 2 * drawn.sums[0].size + 8 * len(centre) ** 2
    step = int(np.clip(NEAR // size, LEAST, MOST))
    layout = Layout(
        like.names, like.observed, len(like.cov), np.sqrt(variance), drawn.values, drawn.pattern,
        np.flatnonzero(frequent), NEARER // step, near,
    )  # fmt: skip
    for first in range(0, len(drawn.times), step):
        some = slice(first, first + step)
        times, sums = drawn.times[some].T, drawn.sums[some].transpose(1, 2, 0)
        yield Redrawn(
            layout, centre, np.ascontiguousarray(times), np.ascontiguousarray(sums),
            np.ascontiguousarray(drawn.whole[some].T),
        )  # fmt: skip
