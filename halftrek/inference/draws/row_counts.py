"""How often rows are drawn where they lie: Poisson numbers that depend on the rows themselves and on nothing else.

An engine may cut and order its rows in another way each time, and run a part of them again. So it gives its rows each
once, with a key made of its entries and how often it occurs (``RowReader.keyed``): the counts of a row are numbers of
its key. Rows that are alike are drawn apart all the same, since the sum of ``m`` Poisson numbers of mean one is a
Poisson number of mean ``m``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, pdtr

from halftrek.bottom.arrays import Floats, Ints
from halftrek.data import RowBlock

Words = NDArray[np.uint64]

COUNTS = 400_000  # counts that are held at a time: few enough to stay in the cache until they are multiplied
LARGE = 10_000.0  # mean above which a Poisson number is a normal one, bent by its skewness, and rounded
CELLS = 2**16  # of the table for a mean of one
SPLIT = 255  # in the table: the first bits do not tell the count

_STEP, _FIRST, _SECOND = (np.uint64(x) for x in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))


def row_counts(chunk: RowBlock, replicates: int, seed: int, *, sampling: bool) -> Iterator[tuple[int, Floats]]:
    """The first replicate of some, and one line of counts for each; with ``sampling``, counts times weights.

    Weights that count rows make a row likely to be drawn; sampling weights come with a row that was drawn.
    """
    assert chunk.key is not None
    assert chunk.times is not None
    weights = chunk.weights
    kinds = by_mean(chunk.times if sampling or weights is None else chunk.times * weights)
    step = max(1, COUNTS // max(1, len(chunk)))
    for first in range(0, replicates, step):
        numbers = np.arange(first, min(first + step, replicates), dtype=np.uint64)
        counts = poisson(random_words(chunk.key, numbers, seed), kinds)
        yield first, counts * weights if sampling and weights is not None else counts


def random_words(keys: Words, numbers: Words, seed: int) -> Words:
    """64 random bits for each number (a line) and key: each key starts a sequence of its own (SplitMix64)."""
    starts = _mixed(keys ^ _mixed(np.array([seed], dtype=np.uint64) * _STEP + _STEP))
    return _mixed(starts + (numbers[:, None] + np.uint64(1)) * _STEP)


def _mixed(words: Words) -> Words:
    """Bits that each depend on all bits of a word (the last step of SplitMix64); no two words become one."""
    words = (words ^ (words >> np.uint64(30))) * _FIRST
    words = (words ^ (words >> np.uint64(27))) * _SECOND
    return np.asarray(words ^ (words >> np.uint64(31)))


@dataclass(frozen=True, eq=False)
class Mean:
    """Columns that have one mean, and the chances of no more than 0, 1, 2, …"""

    mean: float
    columns: Ints
    steps: Floats


def by_mean(means: Floats) -> list[Mean]:
    """The columns by their means."""
    kinds, which = np.unique(means, return_inverse=True)
    order = np.argsort(which, kind="stable")
    parts = np.split(order, np.cumsum(np.bincount(which, minlength=len(kinds)))[:-1])
    return [Mean(mean, at, _steps(min(mean, LARGE))) for mean, at in zip(kinds.tolist(), parts, strict=True)]


def poisson(words: Words, kinds: list[Mean]) -> Floats:
    """Poisson numbers of the columns' means, from random words."""
    if len(kinds) == 1:
        return _of_mean(words, kinds[0])
    found = np.empty(words.shape)
    for kind in kinds:
        found[:, kind.columns] = _of_mean(words[:, kind.columns], kind)
    return found


def _of_mean(words: Words, kind: Mean) -> Floats:
    mean, steps = kind.mean, kind.steps
    if mean == 1.0:
        found: Floats = _table()[words >> np.uint64(48)].astype(np.float64)
        split = np.nonzero(found == SPLIT)
        found[split] = np.searchsorted(steps, _uniform(words[split]), side="right")
        return found
    if mean <= LARGE:
        return np.searchsorted(steps, _uniform(words), side="right").astype(np.float64)
    z = ndtri(np.maximum(_uniform(words), 2.0**-54))
    return np.asarray(np.rint(mean + np.sqrt(mean) * z + (z**2 - 1.0) / 6.0))


def _uniform(words: Words) -> Floats:
    """Numbers from 0 up to 1."""
    return np.asarray((words >> np.uint64(11)).astype(np.float64) * 2.0**-53)


def _steps(mean: float) -> Floats:
    """The chances of no more than 0, 1, 2, … as far as a float tells them from one."""
    return np.asarray(pdtr(np.arange(0.0, mean + 12.0 * np.sqrt(mean) + 30.0), mean))


@cache
def _table() -> NDArray[np.uint8]:
    """The count of mean one for the first 16 bits of a word, where these tell it."""
    edges = np.arange(CELLS + 1) / CELLS
    low, high = np.searchsorted(_steps(1.0), edges[:-1], "right"), np.searchsorted(_steps(1.0), edges[1:], "left")
    return np.where(low == high, low, SPLIT).astype(np.uint8)
