"""The table of parameters against lavaan, and what is not determined."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd
import pytest

import halftrek as ht
from halftrek.data import Moments
from halftrek.estimation import fit
from halftrek.graphs import Graph
from halftrek.inference import parameter_columns, parameter_rows
from halftrek.inference.how import How
from halftrek.inference.tables.parameter import Parameter
from halftrek.inference.tables.parameters import _rows
from halftrek.models import CGLSCM
from halftrek.results.fit import Fit
from halftrek.simulation import random_model
from tests.estimation.test_reference import load, moments_of
from tests.narrow import some


@pytest.mark.parametrize(
    "name", ["s03_admg_bowfree", "s05_frontdoor_saturated", "s14_kerchoff_recursive", "s17_mediation_simple"]
)
def test_rows_equal_lavaan(name: str) -> None:
    case = load(name)
    rows = parameter_rows(fit(case["graph"], moments_of(case)))
    for row in some(case["parameters"]):
        (mine,) = [r for r in rows if r.op == row["op"] and {r.lhs, r.rhs} == {row["lhs"], row["rhs"]}]
        assert mine.est == pytest.approx(row["est"], rel=1e-4, abs=1e-6)
        assert mine.se == pytest.approx(row["se"], rel=1e-3)
        assert mine.ci_low < mine.est < mine.ci_high
    if "moments" in case:
        assert all(np.isnan(r.est) for r in rows if r.op == "~1")


def test_loadings_of_a_factor_have_errors_and_the_noise_beside_them() -> None:
    C = [[0.8, 0.7, 0.6, 0.9]]
    model = CGLSCM.from_parameters(names=list("abcd"), T=np.zeros((4, 4)), C=C, latents=["F"])
    n, reps = 800, 150
    rng = np.random.default_rng(2)
    found = []
    for _ in range(reps):
        X = np.asarray(model.sample(n, random_state=rng))
        one = fit(model.graph, Moments(model.names, n, X.mean(axis=0), np.cov(X.T, ddof=0)))
        found.append([abs(r.est) for r in parameter_rows(one) if r.op in ("=~", "~~")])
    population = fit(model.graph, Moments(model.names, n, model.mean, model.cov))
    rows = [r for r in parameter_rows(population) if r.op in ("=~", "~~")]
    np.testing.assert_allclose([abs(r.est) for r in rows], [0.8, 0.7, 0.6, 0.9, 1, 1, 1, 1], atol=1e-6)
    np.testing.assert_allclose([r.se for r in rows], np.std(found, axis=0), rtol=0.25)


def test_what_is_not_determined_has_no_estimate_and_a_note() -> None:
    model = CGLSCM.from_parameters(names=["x", "y"], T=[[0, 0.5], [0.0, 0.0]], omega={("x", "y"): 0.3})
    every: tuple[dict[str, Any], ...] = ({}, {"noise": {"x": 1.1}})
    for options in every:
        found = fit(model.graph, Moments(model.names, 100, model.mean, model.cov), **options)
        assert found.status.code == "flat"
        rows = {(r.lhs, r.op, r.rhs): r for r in parameter_rows(found)}
        assert np.isnan(rows["y", "~", "x"].est)
        assert rows["y", "~", "x"].note == "not determined by data"
        assert np.isnan(rows["x", "~~", "y"].est)
    assert not np.isnan(rows["x", "~1", ""].est)


def test_frame_is_of_the_users_library() -> None:
    rows = ht.catalog("front-door").model.sample(300, random_state=0)
    frame = ht.fit(ht.catalog("front-door").graph, rows).params()
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.columns[:10]) == ["lhs", "op", "rhs", "est", "se", "z", "p", "ci_low", "ci_high", "std"]
    assert set(frame.op) == {"~", "~~", "~1"}


def test_a_bow_whose_covariance_happens_to_be_zero_is_still_unknown() -> None:
    """At omega = 0 the variance of b stands still to first order along the direction that data do not tell."""
    cov = np.array([[1.0, 0.0], [0.0, 2.0]])
    found = fit(Graph([("a", "b")], [("a", "b")]), Moments(("a", "b"), 100.0, np.zeros(2), cov))
    unknown = {(r.lhs, r.op, r.rhs) for r in parameter_rows(found) if np.isnan(r.est)}
    assert {("b", "~", "a"), ("a", "~~", "b"), ("b", "~~", "b")} <= unknown
    assert ("a", "~~", "a") not in unknown


@pytest.mark.parametrize("seed", range(40))
def test_whole_columns_equal_rows_one_by_one(seed: int) -> None:
    """Plain districts have a quick way; the way for any model is the oracle."""
    rng = np.random.default_rng(seed)
    names = [f"v{k}" for k in range(int(rng.integers(2, 9)))]
    directed = [(u, v) for i, u in enumerate(names) for v in names[i + 1 :] if rng.random() < 0.4]
    free = [(u, v) for i, u in enumerate(names) for v in names[i + 1 :] if (u, v) not in directed]
    arcs = [pair for pair in free if rng.random() < 0.3]
    hidden = {"H": arcs.pop()} if arcs and seed % 3 == 0 else {}
    graph = Graph(directed, arcs, hidden, names)
    table = np.asarray(random_model(graph, random_state=seed).sample(60, random_state=rng)) + 5.0 * rng.random()
    mean, known = table.mean(axis=0), seed % 5 > 0
    found = fit(graph, Moments(tuple(names), 60, mean * known, np.cov(table.T, ddof=0), has_mean=known))
    expected = _rows(found, How(level=0.9))
    columns: Mapping[str, Any] = parameter_columns(found, level=0.9, interval="delta")
    assert isinstance(columns["se"], np.ndarray)  # the quick way was taken
    assert parameter_rows(found, How(level=0.9))[0] == Parameter(*(next(iter(c)) for c in columns.values()))
    for field, values in columns.items():
        wanted = [getattr(row, field) for row in expected]
        if isinstance(values, np.ndarray):
            np.testing.assert_allclose(values, wanted, rtol=1e-7, atol=1e-12, err_msg=field)
        else:
            assert list(values) == wanted


def test_a_list_of_values_instead_of_a_frame() -> None:
    case = load("s03_admg_bowfree")
    found = Fit.of(fit(case["graph"], moments_of(case)))
    rows, frame = found.params(level=0.9, as_frame=False), found.params(level=0.9)
    assert all(isinstance(row, Parameter) for row in rows)
    pd.testing.assert_frame_equal(pd.DataFrame([asdict(row) for row in rows]), frame)
