"""Fits by group where columns are ordered, ranked or act: each group has cuts and correlations of its own."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import halftrek as ht
from halftrek.cli import main
from halftrek.errors import DataError, InputError, UnsaidKindError
from tests.results.test_column_kinds import FRONT_DOOR, KINDS, front_door

RISK = "P(y > 0 | do(x=1))"


def sites(**changed: object) -> pd.DataFrame:
    """Four sites of 300 rows; in ``none`` nobody is ill, in ``single`` one is."""
    parts = [front_door(300, k).assign(site=name) for k, name in enumerate(("a", "b", "none", "single"))]
    parts[2]["y"] = 0.0
    parts[3]["y"] = 0.0
    parts[3].loc[7, "y"] = 1.0
    return pd.concat(parts, ignore_index=True).assign(**changed)


def test_each_group_is_what_its_rows_alone_are() -> None:
    rows = sites()
    rows.loc[:20, "m"] = np.nan
    fits = ht.fit(FRONT_DOOR, rows, kinds=KINDS, by="site")
    for question in ("x ~> y", RISK, "OR(y > 0 | do(x=1) : do(x=0))", "E[m | do(x=1)]"):
        table = fits.query(question).set_index("group")
        for key in ("a", "b"):
            alone = ht.fit(FRONT_DOOR, rows[rows["site"] == key], kinds=KINDS).query(question)
            assert table.loc[key, "estimate"] == alone.value
            assert table.loc[key, "se"] == alone.se
            assert (table.loc[key, "low"], table.loc[key, "high"]) == alone.interval
        assert table.loc[["none", "single"], "estimate"].isna().all()
    assert "incomplete" in table.loc["a", "note"]
    measures = fits.measures().set_index("group")
    own = ht.fit(FRONT_DOOR, rows[rows["site"] == "b"], kinds=KINDS).measures()
    assert measures.loc["b", "srmr"] == own["srmr"]
    assert np.isnan(measures.loc["none", "srmr"])


def test_a_group_without_a_fit_says_why_and_others_go_on() -> None:
    fits = ht.fit(FRONT_DOOR, sites(), kinds=KINDS, by="site")
    status = dict(zip(fits.keys, fits.status, strict=True))
    assert status["a"] == status["b"] == "converged"
    assert status["none"] == "failed: 'y' has one value in all rows; leave it out of the graph"
    assert status["single"].startswith("failed: only one row has 'y' = 1; merge the category")
    with pytest.raises(DataError, match="group 'single' could not be fitted: only one row"):
        fits["single"]
    params = fits.params().set_index("group")
    assert params.loc["none", "est"].isna().all()
    assert params.loc["none", "note"].str.contains("has one value in all rows").all()
    assert params.loc["a", "est"].notna().all()


def test_an_empty_category_of_a_group_is_said() -> None:
    rows = front_door(900).assign(y=lambda d: np.digitize(d["m"], [0.5, 1.0, 2.0]), site=np.tile(["a", "b", "c"], 300))
    rows = rows[~((rows["site"] == "a") & (rows["y"] == 1))]
    fits = ht.fit("x -> y", rows, kinds={"y": "ordered"}, by="site")
    table = fits.query("P(y > 1 | do(x=1))").set_index("group")
    assert table.loc["a", "note"] == "no row has y=1"
    assert table.loc["b", "note"] == ""
    own = rows[rows["site"] == "a"]
    assert fits["a"].query("P(y > 0)").value == pytest.approx((own["y"] > 0).mean())
    params = fits.params()
    lacking = params[(params["group"] == "a") & (params["rhs"] == "t3")]
    assert lacking["est"].isna().all()
    assert lacking["note"].str.startswith("this group has no such cut").all()


def test_texts_keep_their_labels_where_a_level_has_no_row() -> None:
    rows = front_door(600).assign(site=np.tile(["a", "b"], 300))
    rows["mood"] = np.array(["low", "mid", "high"])[np.digitize(rows["m"], [0.6, 1.5])]
    rows = rows[~((rows["site"] == "a") & (rows["mood"] == "mid"))]
    fits = ht.fit("x -> mood", rows, kinds={"mood": ["low", "mid", "high"]}, by="site")
    assert "mood is ordered (0 'low', 2 'high')" in " ".join(fits["a"].summary().split())
    assert "mood is ordered (0 'low', 1 'mid', 2 'high')" in " ".join(fits["b"].summary().split())


def test_categories_that_act_by_group() -> None:
    rows = sites(drug=lambda d: (d["x"] > 0).astype(float))
    kinds: Any = {"drug": "acts", "y": "ordered"}
    table = ht.fit("drug -> y", rows, kinds=kinds, by="site").query("P(y > 0 | do(drug=1))").set_index("group")
    alone = ht.fit("drug -> y", rows[rows["site"] == "b"], kinds=kinds).query("P(y > 0 | do(drug=1))")
    assert table.loc["b", "estimate"] == alone.value
    assert table.loc["b", "se"] == alone.se
    assert "only one row has 'y' = 1" in table.loc["single", "status"]
    with pytest.raises(UnsaidKindError, match="say what acts"):
        ht.fit("drug -> y", rows, kinds={"drug": "ordered", "y": "ordered"}, by="site")


def test_least_squares_weights_and_clusters_by_group() -> None:
    rows = sites(home=np.arange(1200) // 3, times=np.tile([1.0, 2.0], 600))
    for options in ({"estimator": "dwls"}, {"weights": "times"}, {"sampling_weights": "times"}, {"cluster": "home"}):
        more: Any = options
        table = ht.fit(FRONT_DOOR, rows, kinds=KINDS, by="site", **more).query(RISK).set_index("group")
        alone = ht.fit(FRONT_DOOR, rows[rows["site"] == "a"], kinds=KINDS, **more).query(RISK)
        assert table.loc["a", "estimate"] == pytest.approx(alone.value, rel=1e-12)
        assert table.loc["a", "se"] == pytest.approx(alone.se, rel=1e-9)


def test_groups_are_compared_by_one_number() -> None:
    fits = ht.fit(FRONT_DOOR, sites(), kinds=KINDS, by="site")
    table = fits.query(RISK).set_index("group")
    (test,) = fits.invariance(RISK).to_dict("records")
    (a, b), (s, t) = table.loc[["a", "b"], "estimate"], table.loc[["a", "b"], "se"]
    assert test["statistic"] == pytest.approx((a - b) ** 2 / (s**2 + t**2))
    assert "not drawn again" in test["note"]
    assert "2 groups (none, single)" in test["note"]
    (effect,) = fits.invariance("x ~> y").to_dict("records")
    assert "standard deviation" in effect["note"]
    with pytest.raises(InputError, match="compared by one number at a time"):
        fits.invariance()


def test_what_groups_with_kinds_do_not_take_is_refused_by_name() -> None:
    fits = ht.fit(FRONT_DOOR, sites(), kinds=KINDS, by="site")
    with pytest.raises(InputError, match="interval='delta' is not known where columns have kinds"):
        fits.query("x ~> y", interval="delta")
    with pytest.raises(InputError, match="noise cannot be used with kinds"):
        ht.fit(FRONT_DOOR, sites(), kinds=KINDS, by="site", noise="unit")
    with pytest.raises(DataError, match="kinds go with rows"):
        ht.fit(FRONT_DOOR, {"a": ht.moments(front_door(300))}, kinds=KINDS)


def test_by_group_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sites().to_csv(tmp_path / "rows.csv", index=False)
    words = ["query", FRONT_DOOR, str(tmp_path / "rows.csv"), RISK, "--kind", "y=ordered", "--kind", "m=ranked"]
    assert main([*words, "--by", "site"]) == 0
    shown = capsys.readouterr().out
    found = ht.fit(FRONT_DOOR, sites(), kinds=KINDS, by="site").query(RISK)
    assert f"{found['estimate'][0]:.4f}" in shown
    assert "only one row has 'y' = 1; merge the category" in " ".join(shown.split())


def test_groups_with_kinds_are_saved(tmp_path: Path) -> None:
    fits = ht.fit(FRONT_DOOR, sites(), kinds=KINDS, by="site")
    again = ht.load(fits.save(tmp_path / "groups.json"))
    assert again.status == fits.status
    assert again["a"].moments.layer is not None
    np.testing.assert_array_equal(again["a"].model.T, fits["a"].model.T)
    with pytest.raises(InputError, match="need the rows"):
        again.query(RISK)
