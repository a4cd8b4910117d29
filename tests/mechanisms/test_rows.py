"""What of the rows does not matter, and what does as one knows beforehand: order, repetition, groups, units."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests import kinds
from tests.kinds import KINDS, Columns, Kind, lacking
from tests.mechanisms.test_errors import by_rows

NUMBERS = ("est", "se", "ci_low", "ci_high")


def lines(table: Any) -> dict[tuple[str, ...], np.ndarray]:
    """Estimate, error and ends of each line by its name."""
    names = [np.asarray(table[c]).astype(str) for c in ("group", "lhs", "op", "rhs") if c in table]
    values = np.column_stack([table[c] for c in NUMBERS if c in table]).astype(float)
    return dict(zip(zip(*names, strict=True), values, strict=True))


def assert_same(found: Any, wanted: Any, rtol: float = 1e-6) -> None:
    """The same lines with the same numbers; what is zero but for rounding is so beside the standard error."""
    ours, theirs = lines(found), lines(wanted)
    assert set(ours) == set(theirs)
    for name, numbers in theirs.items():
        np.testing.assert_allclose(ours[name], numbers, rtol=rtol, atol=rtol * numbers[1], err_msg=" ".join(name))


def taken(rows: Columns, which: np.ndarray) -> Columns:
    return {v: x[which] for v, x in rows.items()}


@pytest.mark.parametrize("kind", KINDS.values(), ids=str)
def test_the_order_of_rows_and_columns_does_not_matter(kind: Kind) -> None:
    shuffled = taken(kind.rows, np.random.default_rng(0).permutation(kind.n))
    with lacking("order", kind):
        assert_same(kind.again({v: shuffled[v] for v in reversed(list(shuffled))}).params(), kinds.fit(kind).params())


@pytest.mark.parametrize("kind", KINDS.values(), ids=str)
def test_a_row_that_counts_twice_is_two_rows(kind: Kind) -> None:
    times = np.arange(kind.n) % 2 + 1
    with lacking("repeated rows", kind):
        counts = kind.rows[kind.options["weights"]] if "weights" in kind.options else 1
        counted = kind.again({**kind.rows, "times": times * counts}, weights="times")
        repeated = kind.again(taken(kind.rows, np.repeat(np.arange(kind.n), times)))
        assert_same(counted.params(), repeated.params())
        if kind.name not in ("covariance", "groups", "together"):
            assert_same(counted.params(interval=by_rows(kind)), repeated.params(interval=by_rows(kind)))
        if kind.name != "groups":
            assert (counted.n, counted.loglik) == pytest.approx((repeated.n, repeated.loglik), rel=1e-9)


# Groups that share parameters are one fit: tests/results/test_together.py has those that share nothing.
@pytest.mark.parametrize("kind", [kind for kind in KINDS.values() if kind.name != "together"], ids=str)
def test_a_group_is_as_if_it_were_fitted_alone(kind: Kind) -> None:
    half = kinds.HALVES
    with lacking("groups apart", kind):
        fits = kind.again({**kind.rows, "half": half}, by="half")
        table = fits.params()
        for key in fits.keys:
            line = np.asarray(table["group"]) == key
            ours = {c: np.asarray(table[c])[line] for c in ("lhs", "op", "rhs", *NUMBERS)}
            assert_same(ours, kind.again(taken(kind.rows, half == key), by=None).params())


@pytest.mark.parametrize("kind", KINDS.values(), ids=str)
def test_parameters_follow_the_units_of_columns(kind: Kind) -> None:
    unit = kind.scale
    rows = {v: x * unit[v] if v in unit else x for v, x in kind.rows.items()}
    with lacking("units", kind):
        before, after = lines(kinds.fit(kind).params()), lines(kind.again(rows).params())
        for (*group, lhs, op, rhs), numbers in before.items():
            left, right = unit.get(lhs, 1.0), unit.get(rhs, 1.0)
            factor = {"~": left / right, "=~": right / left, "~~": left * right, "~1": left, "|": 1.0}[op]
            found = after[(*group, lhs, op, rhs)]
            np.testing.assert_allclose(found, factor * numbers, rtol=1e-6, atol=1e-6 * factor * numbers[1])
