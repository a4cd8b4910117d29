"""Where a category acts an interval says how weak its instrument is, and that clusters are few."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import halftrek as ht

GRAPH = "z -> d -> y; d <-> y"


def rows(strength: float, n: int = 500) -> pd.DataFrame:
    z, u, e, f = np.random.default_rng(3).normal(size=(4, n))
    d = (strength * z + 0.7 * u + 0.7 * e > 0.0).astype(int)
    return pd.DataFrame({"z": z, "d": d, "y": d - 0.7 * u + 0.7 * f, "place": np.arange(n) // 25})


@pytest.mark.parametrize("strength", [0.05, 0.8])
def test_a_weak_instrument_is_named_with_its_first_stage(strength: float) -> None:
    data = rows(strength)
    r2 = np.corrcoef(data["z"], data["d"])[0, 1] ** 2
    F = (len(data) - 2) * r2 / (1.0 - r2)
    fit = ht.fit(GRAPH, data[["z", "d", "y"]], kinds={"d": "acts"})
    said = [n for n in fit.query("d ~> y").notes if n.code == "weak, acting"]
    assert bool(said) == (F < 10.0)
    if said:
        assert f"(first-stage F = {F:.1f}, below 10)" in str(said[0])
    effects, params = fit.effects(), fit.params()
    for table in (effects[(effects["cause"] == "d")], params[(params["lhs"] == "y") & (params["op"] == "~")]):
        assert len(table)
        assert table["note"].str.contains("cannot be trusted").all() == (F < 10.0)
    assert not effects[effects["effect"] == "d"]["note"].str.contains("cannot be trusted").any()  # a plain regression


def test_few_clusters_are_said_of_every_interval() -> None:
    fit = ht.fit(GRAPH, rows(0.8), kinds={"d": "acts"}, cluster="place")
    assert [str(n) for n in fit.query("d ~> y").notes if n.code == "few clusters, acting"] == [
        "20 clusters are few for this interval, which may be too narrow"
    ]
    table = fit.params()
    assert table[table["se"] > 0.0]["note"].str.contains("few clusters").all()


def test_a_weak_instrument_is_named_where_rows_in_clusters_have_holes() -> None:
    data = rows(0.05)
    data.loc[::20, "z"] = np.nan
    fit = ht.fit(GRAPH, data, kinds={"d": "acts"}, cluster="place")
    assert "weak, acting" in [n.code for n in fit.query("d ~> y").notes]


def test_rows_without_any_value_change_nothing_but_their_count() -> None:
    data = rows(0.8, 300)
    data.loc[::7, "z"] = np.nan
    empty = pd.DataFrame({"z": np.nan, "d": np.nan, "y": np.nan, "place": [3, 100, 101]})
    for table in (data, data.dropna()):  # with and without other holes
        one, other = (
            ht.fit(GRAPH, some, kinds={"d": "acts"}, cluster="place") for some in (table, pd.concat([table, empty]))
        )
        a, b = (fit.query("P(d=1 | do(z=1))") for fit in (one, other))
        assert (a.value, a.se) == pytest.approx((b.value, b.se), rel=1e-9)
        beside = [[n.code for n in x.notes if n.code not in ("missing values", "rows left out")] for x in (a, b)]
        assert beside[0] == beside[1]
        pair = [fit.query("d ~> y", interval="bootstrap", replicates=5, random_state=1).se for fit in (one, other)]
        assert pair[0] == pytest.approx(pair[1], rel=1e-6)
