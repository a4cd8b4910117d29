"""A fixed sample of odd tables."""

from __future__ import annotations

import numpy as np
import pytest

from halftrek.errors import HalftrekError
from tests.fuzz.tables import CONTAINERS, FILLINGS, READERS, failure, made, odd_tables
from tests.narrow import there


def test_odd_tables_give_a_result_or_an_error_of_ours() -> None:
    count = len(CONTAINERS) * len(FILLINGS)  # each kind once
    assert count >= 400
    tried, failures = odd_tables(np.random.default_rng(14), count)
    assert tried == count
    assert not failures, "\n".join(failures)


def is_read(container: str, reader: str, seed: int) -> bool:
    table = made(container, "plain", seed)
    try:
        return table is not None and READERS[reader](*table) == ""
    except HalftrekError:
        return False


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("container", [c for c in CONTAINERS if c not in ("array of objects", "polars query")])
def test_plain_numbers_are_read_from_every_container(container: str, reader: str) -> None:
    """Else a table that is refused whatever it holds would pass for one that is well treated."""
    if (container, reader) == ("csv", "groups"):
        with pytest.raises(HalftrekError, match="an open file can be read only once"):
            READERS[reader](*there(made(container, "plain", 2)))
    else:
        assert any(is_read(container, reader, seed) for seed in range(40)), "no table of this kind was read"


@pytest.mark.parametrize(("container", "seed"), [("polars", 1884441571), ("masked columns", 863958055)])
def test_squares_that_are_almost_too_large_are_added_without_a_warning(container: str, seed: int) -> None:
    assert not failure(container, "numbers", seed, "fit")


def test_rows_that_do_not_determine_all_covariances_are_not_tested() -> None:
    assert not failure("masked columns", "truths with holes", 1855167621, "fit")
