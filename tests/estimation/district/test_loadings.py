"""Pairs of loadings from error covariances: what they reproduce, and what they leave as noise."""

from itertools import combinations

import numpy as np
import pytest

from halftrek.estimation.district.loadings import Pairs, split_covariances

CHAIN: Pairs = ((0, 1), (1, 2), (2, 3))
TWO_PARTS: Pairs = ((0, 1), (0, 2), (1, 2), (3, 4))
EVERY: Pairs = tuple(combinations(range(4), 2))


@pytest.mark.parametrize(("size", "pairs"), [(2, ((0, 1),)), (4, CHAIN), (4, EVERY), (5, TWO_PARTS)])
def test_loadings_reproduce_the_covariances_and_leave_the_share_as_noise(size: int, pairs: Pairs) -> None:
    rng = np.random.default_rng(3)
    spread = rng.uniform(0.3, 4.0, (6, size))
    W = np.zeros((6, size, size))
    W[:, range(size), range(size)] = spread**2
    for i, j in pairs:
        W[:, i, j] = W[:, j, i] = rng.uniform(-0.3, 0.3, 6) * spread[:, i] * spread[:, j]
    loadings, share = split_covariances(W, pairs)
    left = W.copy()
    for k, (i, j) in enumerate(pairs):
        c = loadings[:, k]
        np.testing.assert_allclose(c[:, 0] * c[:, 1], W[:, i, j], rtol=1e-9)
        left[:, i, i] -= c[:, 0] ** 2
        left[:, j, j] -= c[:, 1] ** 2
    noise = np.diagonal(left, axis1=1, axis2=2) / spread**2
    compare = 2.0 * np.eye(size) - np.abs(W / (spread[:, :, None] * spread[:, None, :]))
    np.testing.assert_allclose(share, np.linalg.eigvalsh(compare)[:, 0], rtol=1e-9)
    np.testing.assert_allclose(noise.min(axis=1), share, rtol=1e-9)
    if pairs != TWO_PARTS:  # a part of its own has a share of its own
        np.testing.assert_allclose(noise, np.broadcast_to(share[:, None], noise.shape), rtol=1e-9)
