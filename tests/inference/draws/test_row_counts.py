"""Counts of rows by their keys: Poisson numbers that depend on the row, the replicate and the seed alone."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from halftrek.data import RowBlock
from halftrek.inference.draws import row_counts as module
from halftrek.inference.draws.row_counts import by_mean, poisson, random_words, row_counts

KEYS = np.random.default_rng(0).integers(0, 2**64, 5_000, dtype=np.uint64)


def block(keys: np.ndarray, times: np.ndarray, weights: np.ndarray | None = None) -> RowBlock:
    return RowBlock(np.zeros((len(keys), 1)), weights, key=keys, times=times.astype(float))


def counts_of(rows: RowBlock, replicates: int, seed: int, *, sampling: bool = False) -> np.ndarray:
    lines = [counts.copy() for _, counts in row_counts(rows, replicates, seed, sampling=sampling)]
    return np.concatenate(lines)


def split_mix(word: int) -> int:
    """The last step of SplitMix64 in whole numbers of any length."""
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    word = (word ^ word >> 27) * 0x94D049BB133111EB % 2**64
    return word ^ word >> 31


def test_words_are_those_of_split_mix() -> None:
    step, seed = 0x9E3779B97F4A7C15, 77
    found = random_words(KEYS[:3], np.arange(4, dtype=np.uint64), seed)
    starts = [split_mix(key ^ split_mix((seed + 1) * step % 2**64)) for key in KEYS[:3].tolist()]
    assert found.tolist() == [[split_mix((start + (b + 1) * step) % 2**64) for start in starts] for b in range(4)]


@pytest.mark.parametrize("mean", [1.0, 0.3, 7.0, 250.0, 9_999.0, 10_001.0, 3e6])
def test_numbers_are_poisson(mean: float) -> None:
    """Against the exact chances: the share of counts up to each tenth, and mean and variance."""
    words = random_words(KEYS, np.arange(40, dtype=np.uint64), 3)
    found = poisson(words, by_mean(np.full(len(KEYS), mean))).ravel()
    law = stats.poisson(mean)
    for share in np.linspace(0.05, 0.95, 10):
        at = law.ppf(share)
        assert abs((found <= at).mean() - law.cdf(at)) < 4.5 * np.sqrt(0.25 / len(found))
    assert abs(found.mean() - mean) < 4.5 * np.sqrt(mean / len(found))
    assert found.var() == pytest.approx(mean, rel=4.5 * np.sqrt((2.0 + 1.0 / mean) / len(found)))


def test_the_table_of_mean_one_is_the_inverse_of_its_chances() -> None:
    words = np.concatenate([KEYS, np.array([0, 2**64 - 1], dtype=np.uint64)])[None]
    chances = stats.poisson(1.0).cdf(np.arange(40))
    slow = [int((chances <= (word >> 11) / 2**53).sum()) for word in words[0].tolist()]
    assert poisson(words, by_mean(np.ones(words.shape[1])))[0].tolist() == slow


def test_counts_depend_on_the_row_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not on the order of rows, nor on those beside them, nor on how many are counted at a time."""
    rng = np.random.default_rng(1)
    times = rng.choice([1.0, 1.0, 2.0, 5.0], len(KEYS))
    whole = counts_of(block(KEYS, times), 30, 9)
    order = rng.permutation(len(KEYS))
    assert (counts_of(block(KEYS[order], times[order]), 30, 9) == whole[:, order]).all()
    monkeypatch.setattr(module, "COUNTS", 700)
    assert (counts_of(block(KEYS[:123], times[:123]), 30, 9) == whole[:, :123]).all()
    assert (counts_of(block(KEYS, times), 30, 10) != whole).any()


def test_rows_replicates_and_seeds_are_independent() -> None:
    first, second = (counts_of(block(KEYS, np.ones(len(KEYS))), 40, seed) for seed in (1, 2))
    near = np.sort(KEYS[:1])[0] + np.arange(5_000, dtype=np.uint64)  # keys that follow each other
    beside = counts_of(block(near, np.ones(5_000)), 40, 1)
    limit = 4.5 / np.sqrt(first.size)
    for a, b in (
        (first[1:], first[:-1]), (first[:, 1:], first[:, :-1]), (first, second), (beside[:, 1:], beside[:, :-1]),
        (beside[1:, 1:], beside[:-1, :-1]),
    ):  # fmt: skip
        assert abs(np.corrcoef(a.ravel(), b.ravel())[0, 1]) < limit


def test_weights_that_count_and_weights_of_samples() -> None:
    times, weights = np.array([1.0, 3.0, 2.0]), np.array([2.0, 1.0, 0.5])
    counted = counts_of(block(KEYS[:3], times, np.array([2.0, 1.0, 4.0])), 4_000, 5)
    assert np.abs(counted.mean(axis=0) - [2.0, 3.0, 8.0]).max() < 0.2
    sampled = counts_of(block(KEYS[:3], times, weights), 4_000, 5, sampling=True)
    assert (sampled == counts_of(block(KEYS[:3], times), 4_000, 5) * weights).all()
