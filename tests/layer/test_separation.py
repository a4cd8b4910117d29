"""Which parameters run off where causes tell categories apart, against every edge of the cone of such directions."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from halftrek.bottom.arrays import Codes, Floats
from halftrek.layer.separation import FIRST, Separation, separation


def by_edges(causes: Floats, codes: Codes) -> Separation | None:
    """The slow way: an edge of the cone has all but one of its dimensions' bounds at zero; try every choice of them."""
    last, p = int(codes.max()), causes.shape[1]
    bounds = []
    for x, k in zip(causes, codes, strict=True):
        for cut, sign in ((k, 1.0), (k - 1, -1.0)):
            if 0 <= cut < last:
                bounds.append([*(-sign * x), *(sign * (np.arange(last) == cut))])
    A = np.unique(np.array(bounds), axis=0)
    assert np.linalg.matrix_rank(A) == p + last  # else the cone has no edges
    edges = []
    for some in combinations(range(len(A)), p + last - 1):
        _, s, Vt = np.linalg.svd(A[list(some)])
        if s[-1] > 1e-9:
            edges += [d for d in (Vt[-1], -Vt[-1]) if (A @ d > -1e-9).all()]
    if not edges:
        return None
    E = np.array(edges)
    sides = [
        None if not (np.abs(e) > 1e-9).any() else int((e > 1e-9).any()) - int((e < -1e-9).any()) for e in E.T
    ]  # fmt: skip
    return Separation(tuple(sides[:p]), tuple(sides[p:]), bool((A @ E.sum(axis=0) > 1e-9).all()))


@pytest.mark.parametrize("categories", [2, 3])
def test_what_runs_off_is_what_the_edges_of_the_cone_say(categories: int) -> None:
    found: dict[str, int] = {}
    for seed in range(60):
        random = np.random.default_rng(seed)
        X = random.integers(-2, 3, size=(9, 2)).astype(float)  # with ties, so that some are separated in part
        behind = X @ random.normal(size=2) + 0.8 * (seed % 3) * random.normal(size=9)
        codes = np.searchsorted(np.quantile(behind, np.arange(1, categories) / categories), behind)
        if len(np.unique(codes)) < categories or np.linalg.matrix_rank(np.column_stack([X, np.ones(9)])) < 3:
            continue
        slow = by_edges(X, codes)
        assert separation(X, codes) == slow, seed
        what = "none" if slow is None else "total" if slow.total else "part"
        found[what] = found.get(what, 0) + 1
    assert min(found.get(what, 0) for what in ("none", "part", "total")) >= 3, found


def test_many_rows_are_taken_in_as_they_object() -> None:
    """A few rows among many overlap, or not: a program that looked at the first rows alone would not know."""
    random = np.random.default_rng(1)
    X = random.normal(size=(20 * FIRST, 2))
    codes = (X @ [1.0, -2.0] > 0.3) * 1
    whole = separation(X, codes)
    assert whole == Separation((1, -1), (1,), total=True)
    near = np.argsort(np.abs(X @ [1.0, -2.0] - 0.3))[50]
    codes[near] = 1 - codes[near]
    assert separation(X, codes) is None
