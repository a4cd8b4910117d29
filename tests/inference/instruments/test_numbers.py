"""Instruments in numbers: against plain regressions on rows, linearmodels, and published values."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from scipy import stats

from halftrek.data import read_moments, row_reader
from halftrek.errors import DataError
from halftrek.inference.instruments.anderson_rubin import anderson_rubin_set, anderson_rubin_test
from halftrek.inference.instruments.equation import Equation
from halftrek.inference.instruments.numbers import (
    critical_value,
    effective_f,
    endogeneity,
    first_stage_test,
    overidentification,
    tsls_errors,
)
from halftrek.inference.instruments.spread import Spread, classical, from_rows
from tests.inference.instruments.plainly import PLACE, Plain, stored_rows

CASES: list[dict[str, Any]] = json.loads((PLACE / "instruments.json").read_text())["cases"]
KINDS = ("classical", "robust", "clustered")
ROWS = stored_rows()
NAMES = tuple(ROWS)[:-1]


def prepared(causes: list[str], tools: list[str], kind: str) -> tuple[Equation, Spread, Plain]:
    table = np.column_stack([ROWS[v] for v in NAMES])
    moments = read_moments(table, NAMES)
    given = Equation(moments, "y", tuple(causes), tuple(tools), ("w",))
    groups = ROWS["group"] if kind == "clustered" else None
    spread = classical(given)
    if kind != "classical":
        (spread,) = from_rows([given], row_reader(table, NAMES, cluster=groups), moments)
    X, Z = (np.column_stack([ROWS[v] for v in names]) for names in (causes, tools))
    return given, spread, Plain(ROWS["y"], X, Z, ROWS["w"][:, None], groups)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", CASES, ids=[c["name"] for c in CASES])
def test_numbers_are_those_of_regressions_on_rows(case: dict[str, Any], kind: str) -> None:
    given, spread, plain = prepared(case["causes"], case["instruments"], kind)
    robust = kind != "classical"
    assert spread.kind == kind
    slopes, errors, _ = plain.tsls(robust)
    np.testing.assert_allclose(given.slopes, slopes, rtol=1e-9)
    np.testing.assert_allclose(tsls_errors(given, spread), errors, rtol=1e-9)
    for j in range(len(case["causes"])):
        F, effective = plain.first_stage(j, robust)
        assert first_stage_test(given, spread, j).statistic == pytest.approx(F, rel=1e-9)
        if len(case["causes"]) == 1:
            assert effective_f(given, spread)[0] == pytest.approx(effective, rel=1e-9)
    assert endogeneity(given, spread).statistic == pytest.approx(plain.wu_hausman(robust), rel=1e-9)
    over = overidentification(given, spread)
    assert (over is None) == (len(case["instruments"]) == len(case["causes"]))
    if over is not None:
        assert over.statistic == pytest.approx(plain.j(robust), rel=1e-9)


@pytest.mark.parametrize("case", CASES, ids=[c["name"] for c in CASES])
def test_numbers_are_those_of_linearmodels(case: dict[str, Any]) -> None:
    for kind in KINDS:
        given, spread, _ = prepared(case["causes"], case["instruments"], kind)
        np.testing.assert_allclose(given.slopes, case["tsls"], rtol=1e-8)
        np.testing.assert_allclose(tsls_errors(given, spread), case["se"][kind], rtol=1e-8)
        found = [first_stage_test(given, spread, j).statistic for j in range(len(case["causes"]))]
        np.testing.assert_allclose(found, case["first_stage_f"][kind], rtol=1e-8)
        over = overidentification(given, spread)
        if kind == "classical":
            np.testing.assert_allclose(given.partial_r2, case["partial_r2"], rtol=1e-8)
            np.testing.assert_allclose(given.shea_r2, case["shea_r2"], rtol=1e-8)
            test = endogeneity(given, spread)
            assert [test.statistic, test.p] == pytest.approx(case["wu_hausman"], rel=1e-7)
            assert over is None or [over.statistic, over.p] == pytest.approx(case["sargan"], rel=1e-8)
        else:
            assert over is None or over.statistic == pytest.approx(case["hansen_j"][kind], rel=1e-8)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("tools", [["z1"], ["z1", "z2", "z3"], ["z3"]], ids=len)
def test_the_anderson_rubin_set_is_where_the_test_keeps(tools: list[str], kind: str) -> None:
    given, spread, plain = prepared(["x1"], tools, kind)
    found = anderson_rubin_set(given, spread, 0.95)
    assert found
    grid = np.concatenate([np.linspace(-3, 3, 601), [-1e4, -50.0, 50.0, 1e4]])
    for value in grid:
        test = anderson_rubin_test(given, spread, float(value))
        assert test.statistic == pytest.approx(plain.anderson_rubin(value, kind != "classical"), rel=1e-7)
        assert (test.p >= 0.05) == any(low <= value <= high for low, high in found)
    for end in [e for pair in found for e in pair if np.isfinite(e)]:
        assert anderson_rubin_test(given, spread, end).p == pytest.approx(0.05, rel=1e-5)


def test_instruments_that_tell_nothing_leave_every_value_open() -> None:
    rng = np.random.default_rng(4)
    z, hidden = rng.normal(size=(2, 50))
    rows = np.column_stack([hidden + rng.normal(size=50), hidden + rng.normal(size=50) + 0.01 * z, z])
    given = Equation(read_moments(rows, ["y", "x", "z"]), "y", ("x",), ("z",))
    found = anderson_rubin_set(given, classical(given), 0.95)
    assert found[0][0] == -np.inf
    assert found[-1][1] == np.inf


def test_instruments_that_contradict_each_other_leave_no_value() -> None:
    rng = np.random.default_rng(5)
    z = rng.normal(size=(400, 2))
    x = z.sum(axis=1) + rng.normal(size=400)
    y = z[:, 0] - z[:, 1] + rng.normal(size=400)
    given = Equation(read_moments(np.column_stack([y, x, z]), ["y", "x", "a", "b"]), "y", ("x",), ("a", "b"))
    assert anderson_rubin_set(given, classical(given), 0.95) == ()
    over = overidentification(given, classical(given))
    assert over is not None
    assert over.p < 1e-6


@pytest.mark.parametrize("tau", [0.05, 0.10, 0.20, 0.30])
@pytest.mark.parametrize("spread", [np.eye(1), np.eye(4), np.diag([3.0, 1.0, 0.2])], ids=["one", "four", "uneven"])
def test_critical_values_are_those_of_the_definition(spread: np.ndarray, tau: float) -> None:
    """Patnaik's: a weighted sum of noncentral chi-squares stands as one, with its degrees of freedom."""
    weights, x = np.diag(spread), 1.0 / tau
    free = weights.sum() ** 2 * (1 + 2 * x) / ((weights**2).sum() + 2 * x * weights.sum() * weights.max())
    expected = stats.ncx2.ppf(0.95, free, x * free) / free
    assert critical_value(spread, tau) == pytest.approx(expected, rel=1e-7)
    assert critical_value(7.0 * spread, tau) == pytest.approx(expected, rel=1e-7)


def test_the_critical_value_of_one_instrument_is_the_well_known_one() -> None:
    assert critical_value(np.eye(1)) == pytest.approx(23.1, abs=0.05)


def test_a_spread_in_one_direction_counts_as_one_instrument() -> None:
    lone = np.diag([1.0, 1e-12, 1e-12])
    assert critical_value(lone) == pytest.approx(critical_value(np.eye(1)), rel=1e-6)
    assert critical_value(np.eye(3)) < critical_value(np.diag([1.0, 1.0, 0.1])) < critical_value(np.eye(1))


def test_weights_that_count_rows_are_rows() -> None:
    table = np.column_stack([ROWS[v] for v in NAMES])
    counts = np.arange(len(table)) % 3 + 1
    long = np.repeat(table, counts, axis=0)
    both = []
    for rows, weights in ((table, counts.astype(float)), (long, None)):
        moments = read_moments(rows, NAMES, weights=weights)
        given = Equation(moments, "y", ("x1",), ("z1", "z2"), ("w",))
        (spread,) = from_rows([given], row_reader(rows, NAMES, weights=weights), moments)
        over = overidentification(given, spread)
        assert over is not None
        both.append([*effective_f(given, spread), *tsls_errors(given, spread), over.statistic])
    assert both[0] == pytest.approx(both[1], rel=1e-9)


def test_what_the_controls_determine_is_refused_by_name() -> None:
    z = np.random.default_rng(1).normal(size=(60, 3))
    rows = np.column_stack([z, 2.0 * z[:, 1]])
    moments = read_moments(rows, ["y", "w", "z", "x"])
    with pytest.raises(DataError, match="determine 'x'"):
        Equation(moments, "y", ("x",), ("z",), ("w",))
    few = read_moments(z[:3], ["y", "x", "z"])
    with pytest.raises(DataError, match="too few"):
        Equation(few, "y", ("x",), ("z",))
