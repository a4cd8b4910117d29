"""Districts that the graph leaves open in part: what is identified keeps its interval, the rest has no number.

A bow (``a -> y; a <-> y``) adds nothing that rows could tell from ``a -> y`` alone: the two models fit every table
equally well, so that what both answer has to be the same, to the last digit that a flat likelihood leaves.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

import halftrek as ht
from halftrek.errors import NotIdentifiedError, QueryError
from halftrek.estimation.acts.fit import fit_acting
from halftrek.estimation.acts.likelihood import own_places, pieces, scores
from halftrek.estimation.acts.places import in_units
from tests.narrow import interval_of, se_of, value_of

KINDS: Any = {"d": "acts", "y": "ordered"}
RISK = "RD(y > 0 | do(d=1) : do(d=0))"


def rows(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    z, hidden, other = rng.normal(size=(3, n))
    d = (0.9 * z + 0.6 * hidden + 0.8 * rng.normal(size=n) > 0.2).astype(float)
    a = other + rng.normal(size=n)
    y = (0.7 * d - 0.6 * hidden + 0.4 * a + 0.5 * other + 0.7 * rng.normal(size=n) > 0.2).astype(float)
    return pd.DataFrame({"z": z, "d": d, "y": y, "a": a, "b": a + other + rng.normal(size=n)})


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("bow", ["a -> b; a <-> b", "a -> y; a <-> y"])
def test_a_bow_leaves_the_rest_its_intervals(bow: str, seed: int) -> None:
    plain = bow.split(";")[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        free, fit = (ht.fit(f"z -> d -> y; d <-> y; {g}", rows(500, seed), kinds=KINDS) for g in (plain, bow))
        known, found = free.query(RISK), fit.query(RISK)
    assert fit.loglik == pytest.approx(free.loglik, abs=1e-4)
    assert value_of(found) == pytest.approx(value_of(known), abs=1e-3)
    assert se_of(found) == pytest.approx(se_of(known), rel=0.01)
    assert interval_of(found) == pytest.approx(interval_of(known), abs=2e-3)
    table = fit.predict({"z": [0.5]}, "y", do={"d": 1})
    usual = free.predict({"z": [0.5]}, "y", do={"d": 1})
    assert (table["y"][0], table["se"][0]) == pytest.approx((usual["y"][0], usual["se"][0]), rel=0.01)
    effect = bow.split("; ")[0].replace("->", "~>")
    with pytest.raises(NotIdentifiedError):
        fit.query(effect)


def test_an_effect_in_a_unit_that_data_leave_open_is_refused() -> None:
    fit = ht.fit("z -> d -> y; d <-> y; a -> y; a <-> y", rows(400, 3), kinds=KINDS)
    for question in ("d ~> y", "d -> y", "d <-> y", "2 * (d ~> y)"):
        with pytest.raises(QueryError, match=r"y is in categories, and data do not determine.*RD\(y > 0"):
            fit.query(question)
    table = fit.effects("total").set_index(["cause", "effect"])
    assert np.isnan(table.loc[("d", "y"), "est"])
    assert "the unit of y" in table.loc[("d", "y"), "note"]
    assert np.isfinite(table.loc[("z", "d"), "est"])
    params = fit.params().set_index(["lhs", "op", "rhs"])
    for key in (("y", "~", "d"), ("y", "~", "a"), ("d", "~~", "y"), ("y", "|", "t1")):
        assert np.isnan(params.loc[key, "est"])
    assert np.isfinite(params.loc[("a", "~~", "a"), ["est", "se"]].astype(float)).all()


def test_a_plain_district_of_a_bow_knows_means_and_variances() -> None:
    table = rows(500, 4)
    fit = ht.fit("z -> d -> y; d <-> y; a -> b; a <-> b", table, kinds=KINDS)
    params = fit.params().set_index(["lhs", "op", "rhs"])
    a = table["a"]
    assert params.loc[("a", "~1", ""), "se"] == pytest.approx(a.std(ddof=0) / np.sqrt(500), rel=1e-3)
    assert params.loc[("a", "~~", "a"), "est"] == pytest.approx(a.var(ddof=0), rel=1e-4)
    assert np.isnan(params.loc[("b", "~", "a"), "est"])


def test_errors_that_run_off_make_no_model_and_no_warning() -> None:
    table = rows(200, 5)[["z", "d", "y"]]
    graph = ht.graph("z -> d -> y; d <-> y")
    acting = fit_acting(graph, table[list(graph.observed)].to_numpy(), KINDS)
    places = acting.places(graph)
    seen = in_units(graph.observed, table.to_numpy(), acting.margins, acting.centre, acting.scale)
    district = next(one for one in places.districts if one.spreads)
    far = acting.theta.copy()
    far[list(district.spreads.values())] = 1000.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert pieces(places, district, far, seen) is None


def test_three_categories_in_an_open_district_come_to_their_top() -> None:
    """Scores hardly vary along what the graph leaves open, and mislead; the likelihood's own bend does not."""
    rng = np.random.default_rng(0)
    n = 500
    z, hidden, other = rng.normal(size=(3, n))
    d = (0.9 * z + 0.6 * hidden + 0.8 * rng.normal(size=n) > 0.2).astype(float)
    a = (other + rng.normal(size=n) > 0.3).astype(float)
    y = np.digitize(0.7 * d - 0.6 * hidden + 0.5 * a + 0.5 * other + 0.7 * rng.normal(size=n), [0.2, 1.2])
    table = pd.DataFrame({"z": z, "d": d, "a": a, "y": y.astype(float)})
    graph = ht.graph("z -> d -> y; d <-> y; a -> y; a <-> y")
    acting = fit_acting(graph, table[list(graph.observed)].to_numpy(), {**KINDS, "a": "acts"})
    assert acting.converged
    places = acting.places(graph)
    seen = in_units(graph.observed, table[list(graph.observed)].to_numpy(), acting.margins, acting.centre, acting.scale)
    for district in places.districts:
        at = own_places(district)
        each = scores(places, district, acting.theta, seen, at)
        assert each is not None
        slope = each.sum(axis=0)
        errors = np.sqrt(np.diag(acting.spread)[at])
        assert np.abs(slope * errors).max() < 1e-3  # of what moves the likelihood by a half
