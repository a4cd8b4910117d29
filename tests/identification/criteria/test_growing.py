"""Rows that grow are the rows that were added, and branches grow apart."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from halftrek.identification.numbers.growing import GrowingRows


@given(st.lists(st.integers(0, 5), min_size=1, max_size=12))
def test_as_one_stack(counts: list[int]) -> None:
    rng = np.random.default_rng(sum(counts))
    first = rng.integers(0, 100, (2, 3))
    wanted, grown = first.copy(), GrowingRows(first)
    for count in counts:
        more = rng.integers(0, 100, (count, 3))
        wanted = np.vstack([wanted, more])
        grown.add(more)
    other = grown.branch()
    other.add(wanted[:1])
    grown.add(wanted[1:2])
    assert np.array_equal(grown.rows, np.vstack([wanted, wanted[1:2]]))
    assert np.array_equal(other.rows, np.vstack([wanted, wanted[:1]]))
