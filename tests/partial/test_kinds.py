"""Bounds where columns are ordered or ranked: the set at the covariance behind, intervals by how rows move its ends."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

import halftrek as ht
from halftrek.errors import InputError, NotIdentifiedError
from halftrek.results.given.column_kinds import Kinds

GRAPH, ASSUMED = "x -> y; x <-> y", ["corr(x <-> y) in [-0.3, 0.4]"]
KINDS: Kinds = {"y": "ordered"}


def confounded(n: int, seed: int = 0) -> pd.DataFrame:
    """A yes/no outcome that shares a hidden cause with what causes it."""
    rng = np.random.default_rng(seed)
    u = rng.normal(size=n)
    x = 0.6 * u + 0.8 * rng.normal(size=n)
    y = 0.5 * x + 0.4 * u + 0.7 * rng.normal(size=n)
    return pd.DataFrame({"x": x, "y": (y > 0.3).astype(float), "site": np.arange(n) % 2})


def test_the_set_is_that_of_the_covariance_behind() -> None:
    fit = ht.fit(GRAPH, confounded(900), kinds=KINDS)
    found = fit.bounds("x ~> y", assume=ASSUMED)
    behind = ht.bounds(GRAPH, None, "x ~> y", assume=ASSUMED, cov=fit.moments.cov, names=["x", "y"], n=900)
    assert (found.low, found.high) == pytest.approx((behind.low, behind.high), rel=1e-9)
    assert found.kind == "stoye"
    assert found.interval is not None
    assert behind.interval is not None
    assert found.interval[0] < behind.interval[0]  # rows in two categories tell less than the variable behind them
    assert [n.code for n in found.notes] == ["behind units, ask", "stoye set"]


def test_ends_vary_over_samples_as_their_errors_say() -> None:
    ends, errors = [], []
    for seed in range(60):
        found = ht.fit(GRAPH, confounded(600, seed), kinds=KINDS).bounds("x ~> y", assume=ASSUMED)
        assert found.interval is not None
        ends.append((found.low, found.high))
        errors.append(((found.low - found.interval[0]) / 1.645, (found.interval[1] - found.high) / 1.645))
    np.testing.assert_allclose(np.std(ends, axis=0, ddof=1), np.mean(errors, axis=0), rtol=0.25)


def test_a_refusal_shows_the_set() -> None:
    fit = ht.fit(f"{GRAPH}; z -> x; z -> y", confounded(500).assign(z=lambda d: d["x"] * 0.5 + d["site"]), kinds=KINDS)
    with pytest.raises(NotIdentifiedError, match="two models with this graph have the same covariance"):
        fit.query("x ~> y")
    whole = ht.fit(GRAPH, confounded(500), kinds=KINDS).query("x ~> y", bounds=True)
    assert "any value" in str(whole)


def test_groups_have_bounds_and_what_is_not_known_is_refused_by_name() -> None:
    fits = ht.fit(GRAPH, confounded(800), kinds=KINDS, by="site")
    table: Any = fits.bounds("x ~> y", assume=ASSUMED)
    own = fits[1].bounds("x ~> y", assume=ASSUMED)
    assert table["low"][1] == own.low
    fit = fits[0]
    with pytest.raises(InputError, match='interval="likelihood" is not known where columns are ordered'):
        fit.bounds("x ~> y", assume=ASSUMED, interval="likelihood")
    acts: Any = {"x": "acts", "y": "ordered"}
    acting = ht.fit("z -> x -> y; x <-> y", confounded(400).assign(z=0.0).assign(
        z=lambda d: np.random.default_rng(1).normal(size=len(d)) + d["x"], x=lambda d: (d["x"] > 0.0) * 1.0
    ), kinds=acts)  # fmt: skip
    with pytest.raises(InputError, match=r"fit\.bounds\(\) is not known where a category acts"):
        acting.bounds("x ~> y")
