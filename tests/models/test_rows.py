"""Simulated rows: an array with names that travel with it, and are gone where the columns are."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable

import numpy as np
import pytest

from halftrek.models.rows import Rows

VALUES = np.arange(6.0).reshape(3, 2)


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda rows: pickle.loads(pickle.dumps(rows))])
@pytest.mark.parametrize("writeable", [True, False])
def test_copies_keep_names_and_are_independent(again: Callable[[Rows], Rows], writeable: bool) -> None:
    rows = Rows(VALUES.copy(), ("a", "b"))
    rows.flags.writeable = writeable
    found = again(rows)
    assert isinstance(found, Rows)
    assert found.names == ("a", "b")
    assert found is not rows
    assert not np.shares_memory(found, rows)
    np.testing.assert_array_equal(np.asarray(found), VALUES)


@pytest.mark.parametrize("again", [copy.deepcopy, lambda rows: pickle.loads(pickle.dumps(rows))])
@pytest.mark.parametrize("writeable", [True, False])
def test_closed_rows_stay_closed(again: Callable[[Rows], Rows], writeable: bool) -> None:
    rows = Rows(VALUES.copy(), ("a", "b"))
    rows.flags.writeable = writeable
    assert again(rows).flags.writeable == writeable


def test_names_stay_with_the_columns() -> None:
    rows = Rows(VALUES, ("a", "b"))
    assert rows[1:].names == ("a", "b")
    assert rows[np.array([True, False, True])].names == ("a", "b")
    for other in (rows.reshape(2, 3), rows.ravel(), rows[0]):
        assert isinstance(other, Rows)
        assert other.names is None
    for plain in (rows[:, ::-1], rows[:, :1], rows * 2.0):
        assert type(plain) is np.ndarray
    assert rows.sum() == 15.0
