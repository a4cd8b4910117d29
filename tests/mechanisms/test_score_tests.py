"""A modification index is the score test of the wider model, from its slope and its curvature where the fit stands."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from tests import kinds
from tests.kinds import KINDS, Kind, lacking
from tests.mechanisms.plain import (
    Plain,
    Straight,
    curvature,
    expected,
    loglik,
    plain,
    slopes,
    weights_of,
)
from tests.mechanisms.test_errors import by_unit, near, scores


def edges(table: Any) -> list[tuple[str, str, str]]:
    """Those with the largest and the smallest index."""
    lhs, op, rhs = (list(table[c]) for c in ("lhs", "op", "rhs"))
    return [(lhs[k], op[k], rhs[k]) for k in (0, -1)]


@cache
def wider(kind: Kind, edge: tuple[str, str, str]) -> tuple[Plain, np.ndarray]:
    """The model with one edge more, and its information: expected, and where values are missing observed.

    That one takes moments to follow the parameters along straight lines.
    """
    model = plain(kind).freed(*edge)
    if kind.name == "missing":
        straight = Straight(model.kind, model.lines, model.theta)
        return model, curvature(lambda theta: loglik(straight, theta), model.theta)
    return model, curvature(lambda theta: expected(model, theta), model.theta)


def without_others(matrix: np.ndarray) -> np.ndarray:
    """The last parameter's slope less what those of the others explain of it, as weights of all slopes."""
    return np.append(-np.linalg.solve(matrix[:-1, :-1], matrix[:-1, -1]), 1.0)


def slope(model: Plain) -> float:
    return float(slopes(lambda theta: loglik(model, theta), model.theta)[-1])


@pytest.mark.parametrize("kind", KINDS.values(), ids=str)
def test_an_index_is_the_score_test_of_one_edge_more(kind: Kind) -> None:
    with lacking("score test", kind):
        table = kinds.fit(kind).modifications(robust=False)
        for place, edge in zip((0, -1), edges(table), strict=True):
            model, matrix = wider(kind, edge)
            left = matrix[-1] @ without_others(matrix)
            assert table["mi"].iloc[place] == pytest.approx(slope(model) ** 2 / left, rel=1e-6)
            assert table["epc"].iloc[place] == pytest.approx(slope(model) / left, rel=1e-6)


@pytest.mark.parametrize("kind", KINDS.values(), ids=str)
def test_a_robust_index_has_the_spread_of_that_slope_over_units(kind: Kind) -> None:
    """About its mean, with n - 1: a row that counts twice is two, one of a survey adds its share."""
    with lacking("robust score test", kind):
        table = kinds.fit(kind).modifications(robust=True)
        for place, edge in zip((0, -1), edges(table), strict=True):
            model, matrix = wider(kind, edge)
            efficient = scores(model) @ without_others(matrix)
            units = by_unit(kind, (efficient - weights_of(kind) @ efficient / weights_of(kind).sum())[:, None])
            spread = (units**2).sum() * len(units) / (len(units) - 1.0)
            wanted = pytest.approx(slope(model) ** 2 / spread, rel=near(kind))
            assert table["mi"].iloc[place] == wanted, "robust score test"
