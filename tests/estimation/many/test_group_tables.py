"""Groups of several columns, rows in clusters within groups, and tables of all parameters and measures by group."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import halftrek as ht
import halftrek.trust.group_parameters as judged
from halftrek.errors import DataError, InputError
from halftrek.trust.groups import LOOKS
from tests.estimation.many.test_groups import FRONT_DOOR, table
from tests.narrow import floats, grouped, some

NUMBERS = ["est", "se", "z", "p", "ci_low", "ci_high", "std"]
BY = ["site", "sex"]


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    """Rows by site and sex, of which one combination is empty, in schools that both have."""
    rng = np.random.default_rng(4)
    rows = table(FRONT_DOOR, groups=3, rows=400)
    rows["site"] = np.where(rng.random(len(rows)) < 0.5, "north", "south")
    rows["sex"] = rng.integers(0, 2, len(rows))
    rows = rows[(rows["site"] == "north") | (rows["sex"] == 0)].reset_index(drop=True)
    rows["school"] = [f"school {k}" for k in rng.integers(0, 45, len(rows))]
    rows["few"] = rng.integers(0, 12, len(rows))
    rows["times"] = rng.integers(1, 4, len(rows)).astype(float)
    rows["survey"] = rng.exponential(size=len(rows)) + 0.1
    return rows


def of_group(frame: pd.DataFrame, key: tuple[str, int]) -> pd.DataFrame:
    return frame[(frame["site"] == key[0]) & (frame["sex"] == key[1])]


# -- several columns --------------------------------------------------------------------------------


def test_combinations_are_groups_with_labels_as_they_were(frame: pd.DataFrame, tmp_path: Path) -> None:
    fits = grouped(ht.fit(FRONT_DOOR, frame, by=BY))
    assert fits.keys == (("north", 0), ("north", 1), ("south", 0))
    assert all(type(sex) is int for _, sex in fits)
    found = fits.query("x ~> y")
    assert found.columns.tolist()[:3] == ["site", "sex", "estimate"]
    for tables in (found, fits.params(), fits.measures()):
        assert [*dict.fromkeys(zip(tables["site"], tables["sex"], strict=True))] == list(fits.keys)
        assert pd.api.types.is_integer_dtype(tables["sex"].dtype)
    for i, key in enumerate(fits):
        alone = ht.fit(FRONT_DOOR, of_group(frame, key))
        assert found.loc[i, "estimate"] == pytest.approx(alone.effect("x", "y").value, abs=1e-10)
        assert fits[key].loglik == pytest.approx(alone.loglik, abs=1e-8)
        assert found.loc[i, "n"] == len(of_group(frame, key))
    with pytest.raises(DataError, match=r"no group \('south', 1\); groups are \('north', 0\)"):
        fits["south", 1]
    path = fits.save(tmp_path / "fits.json")
    again: Any = ht.load(path)
    assert again.keys == fits.keys
    assert again.groups.by == ("site", "sex")
    pd.testing.assert_frame_equal(again.params(), fits.params())
    pd.testing.assert_frame_equal(again.query("x ~> y"), found)


def test_several_columns_from_every_source(frame: pd.DataFrame, tmp_path: Path) -> None:
    csv, parquet = str(tmp_path / "rows.csv"), str(tmp_path / "rows.parquet")
    frame.to_csv(csv, index=False)
    frame.to_parquet(parquet, row_group_size=300)
    names = list(FRONT_DOOR.observed)
    expected = grouped(ht.fit(FRONT_DOOR, frame, by=BY))
    labels = {"site": frame["site"], "sex": frame["sex"].to_numpy()}
    for source, by in (
        (pl.from_pandas(frame), BY),
        (pl.from_pandas(frame).lazy(), tuple(BY)),
        (pa.Table.from_pandas(frame), BY),
        (csv, BY),
        (parquet, BY),
        (duckdb.from_df(frame), BY),
        (frame.to_dict("list"), BY),
        (frame[names].to_numpy(), labels),
        (frame[names].to_numpy(), frame[BY]),
        (frame, {"site": "site", "sex": labels["sex"]}),
        ({key: ht.moments(of_group(frame, key)[names]) for key in expected}, BY),
    ):
        fits = grouped(ht.fit(FRONT_DOOR, source, by=by))
        assert fits.keys == expected.keys, type(source)
        assert fits.groups.by == ("site", "sex")
        np.testing.assert_allclose(fits.batch.T, expected.batch.T, atol=1e-8)


def test_blocks_do_not_matter(frame: pd.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    """Combinations that are met late, and again, in rows that come in small blocks."""
    expected = grouped(ht.fit(FRONT_DOOR, frame, by=["site", "sex", "few"])).groups
    monkeypatch.setattr("halftrek.data.rows.BLOCK", 37)
    found = grouped(ht.fit(FRONT_DOOR, frame, by=["site", "sex", "few"])).groups
    truth = frame.groupby(["site", "sex", "few"]).size()
    assert found.keys == expected.keys == tuple(truth.index)
    assert found.n.tolist() == expected.n.tolist() == truth.tolist()
    np.testing.assert_allclose(found.cov, expected.cov, atol=1e-12)


@pytest.mark.parametrize("options", [{"weights": "times"}, {"sampling_weights": "survey"}, {"missing": "drop"}, {}])
def test_weights_and_holes_go_with_several_columns(frame: pd.DataFrame, options: dict[str, Any]) -> None:
    rows = frame.copy()
    if not {"weights", "sampling_weights"} & set(options):
        rows.loc[rows.index % 7 == 0, "m"] = np.nan
    found = grouped(ht.fit(FRONT_DOOR, rows, by=BY, **options)).query("x ~> y")
    for i, key in enumerate(some(list(found[BY].itertuples(index=False, name=None)))):
        alone = ht.fit(FRONT_DOOR, of_group(rows, key), **options).query("x ~> y")
        assert found.loc[i, "estimate"] == pytest.approx(alone.value, abs=1e-7)
        assert found.loc[i, "se"] == pytest.approx(alone.se, rel=1e-5)


def test_a_list_of_one_column_and_names_that_a_table_has_already(frame: pd.DataFrame) -> None:
    fits = grouped(ht.fit(FRONT_DOOR, frame, by=["site"]))
    assert fits.keys == (("north",), ("south",))
    assert fits["north"].n == fits["north",].n == (frame["site"] == "north").sum()
    renamed = frame.rename(columns={"sex": "n", "site": "note"})
    found = ht.fit(FRONT_DOOR, renamed, by=["note", "n"]).query("x ~> y")
    assert found["note_group"].tolist() == ["north", "north", "south"]
    assert found["n_group"].tolist() == [0, 1, 0]
    assert found["n"].sum() == len(frame)


def test_what_is_wrong_with_several_columns_is_said(frame: pd.DataFrame) -> None:
    wrong: list[tuple[Any, str]] = [
        (["site", "sxe"], r"no column 'sxe' for the groups. Did you mean 'sex'"),
        (["site", "site"], "by has 'site' twice"),
        (["site", "w"], "'w' is a variable of the graph"),
        ({}, "by names no column"),
        ({"site": frame["site"], "sex": [0, 1]}, "2 group labels for"),
    ]
    for by, words in wrong:
        with pytest.raises(DataError, match=words):
            ht.fit(FRONT_DOOR, frame, by=by)
    incomplete = frame.assign(sex=np.where(frame.index == 4, np.nan, frame["sex"]))
    with pytest.raises(DataError, match="the group 'sex' is missing in row 5"):
        ht.fit(FRONT_DOOR, incomplete, by=BY)
    one = ht.moments(frame[list(FRONT_DOOR.observed)])
    moments = {("north", 0): one, "south": one}
    with pytest.raises(DataError, match="the key 'south' of a group is not one label for each of 'site', 'sex'"):
        ht.fit(FRONT_DOOR, moments, by=BY)
    with pytest.raises(DataError, match="cluster goes with rows"):
        ht.fit(FRONT_DOOR, {"south": one}, cluster="school")


# -- clusters ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("cluster", ["school", "few"])
@pytest.mark.parametrize("holes", [False, True])
def test_clusters_within_a_group_as_if_it_were_fitted_alone(frame: pd.DataFrame, cluster: str, holes: bool) -> None:
    rows = frame.copy()
    if holes:
        rows.loc[rows.index % 9 == 0, "m"] = np.nan
    fits = grouped(ht.fit(FRONT_DOOR, rows, by=BY, cluster=cluster))
    effects = fits.query("x ~> y")
    worlds = fits.query("P(y, m | do(x=1))").groupby(BY)
    params, measures = fits.params().groupby(BY), fits.measures().set_index(BY)
    for i, key in enumerate(some(fits.keys)):
        alone = ht.fit(FRONT_DOOR, of_group(rows, key), cluster=cluster)
        answer = alone.query("x ~> y")
        line = effects.loc[i, ["estimate", "se", "low", "high"]].to_numpy(float)
        assert line == pytest.approx([answer.value, answer.se, *floats(answer.interval)], rel=1e-10, abs=1e-10)
        assert ("few clusters" in effects.loc[i, "note"]) == (cluster == "few")
        world = alone.query("P(y, m | do(x=1))")
        assert worlds.get_group(key)["se"].to_numpy() == pytest.approx(np.asarray(world.se), rel=1e-10, abs=1e-10)
        own = alone.params()
        np.testing.assert_allclose(params.get_group(key)[NUMBERS], own[NUMBERS], rtol=1e-10, atol=1e-10)
        for name, value in alone.measures().items():
            near = 1e-7 if holes else 1e-10  # the unrestricted maximum of rows with holes is searched for
            expected = value if isinstance(value, str) else pytest.approx(value, rel=near, abs=near)
            assert measures.loc[key, name] == expected, name


def test_a_group_in_one_cluster_says_so_alone(frame: pd.DataFrame) -> None:
    rows = frame.assign(village=np.where(frame["site"] == "south", "one", frame["school"]))
    fits = grouped(ht.fit(FRONT_DOOR, rows, by=BY, cluster="village"))
    found = fits.query("x ~> y").set_index(BY)
    assert "all rows are in one cluster" in found.loc[("south", 0), "status"]
    assert np.isnan(found.loc[("south", 0), "se"])
    assert np.isfinite(found.loc["north", "se"]).all()
    lines = fits.params().set_index(BY)
    assert lines.loc[("south", 0), "se"].isna().all()
    assert lines.loc[("south", 0), "note"].str.contains("one cluster").all()
    assert "one cluster" in fits.measures().set_index(BY).loc[("south", 0), "note"]


def test_clusters_are_not_forgotten(frame: pd.DataFrame, tmp_path: Path) -> None:
    fits = grouped(ht.fit(FRONT_DOOR, frame, by=BY, cluster="school"))
    for tables in (fits.query("x ~> y", interval="delta"), fits.params(interval="delta")):
        assert tables["note"].str.contains("clusters not counted").all()
    with pytest.raises(InputError, match="rows are in clusters"):
        fits.invariance()
    again: Any = ht.load(fits.save(tmp_path / "fits.json"))
    for method, asked in (("query", ["x ~> y"]), ("params", []), ("measures", [])):
        with pytest.raises(InputError, match="need the rows, and those of groups are not saved"):
            getattr(again, method)(*asked)
    with pytest.raises(InputError, match="needs the rows"):
        again["north", 0].query("x ~> y")
    assert again.params(interval="delta")["note"].str.contains("clusters not counted").all()


# -- all parameters and measures --------------------------------------------------------------------

MODELS: list[Any] = [
    pytest.param(FRONT_DOOR, {}, 300, id="front door"),
    pytest.param(FRONT_DOOR, {}, 14, id="few rows"),
    pytest.param(FRONT_DOOR, {"intercepts": {"y": 0.2}}, 300, id="held intercept"),
    pytest.param(FRONT_DOOR, {"coefficients": {"w -> x": "a", "w -> y": "a"}}, 300, id="label"),
    pytest.param(FRONT_DOOR, {"coefficients": {"w -> x": 0.3}}, 300, id="fixed"),
    pytest.param(ht.graph("latent f; f -> {a, b, c, x}; x -> y"), {}, 300, id="factor"),
    pytest.param(ht.graph("x -> m -> y; x <-> y; a -> b; a <-> b"), {}, 300, id="not all identified"),
    pytest.param(ht.graph("z -> x -> y; x <-> y"), {}, 60, id="weak instrument"),
]


@pytest.mark.parametrize("closer", [0, 20])
@pytest.mark.parametrize(("graph", "options", "rows"), MODELS)
def test_tables_have_what_each_fit_has(
    graph: ht.Graph, options: dict[str, Any], rows: int, closer: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where no group is looked at by itself: then numbers are those of the usual interval."""
    monkeypatch.setattr(judged, "LOOKS", closer)
    fits = grouped(ht.fit(graph, table(graph, groups=3, rows=rows), by="segment", **options))
    kinds: list[Literal["delta"] | None] = ["delta", None] if closer or rows == 14 else ["delta"]
    for interval in kinds:
        found = fits.params(interval=interval)
        assert found.columns.tolist() == ["group", "lhs", "op", "rhs", *NUMBERS, "note"]
        for key, mine in found.groupby("group"):
            own = fits[key].params(interval=interval)
            assert mine[["lhs", "op", "rhs"]].to_numpy().tolist() == own[["lhs", "op", "rhs"]].to_numpy().tolist()
            np.testing.assert_allclose(mine[NUMBERS], own[NUMBERS], rtol=1e-7, atol=1e-9)
            if interval is None:
                assert mine["note"].tolist() == own["note"].tolist()
    measures = fits.measures().set_index("group")
    assert measures.columns.tolist()[-3:] == ["test", "status", "note"]
    for key in fits:
        for name, value in fits[key].measures().items():
            number = np.nan if value is None else value
            expected = value if isinstance(value, str) else pytest.approx(number, rel=1e-7, abs=1e-7, nan_ok=True)
            assert measures.loc[key, name] == expected, name


def test_groups_that_failed_have_lines_that_say_why() -> None:
    frame = table(FRONT_DOOR, groups=3)
    frame.loc[frame["segment"] == "g1", "m"] = 4.0
    fits = grouped(ht.fit(FRONT_DOOR, frame, by="segment"))
    lines = fits.params().set_index("group")
    assert lines.loc["g1", "est"].isna().all()
    assert set(lines.loc["g1", "note"]) == {"failed: m constant"}
    assert lines.loc[["g0", "g2"], "est"].notna().all()
    measures = fits.measures().set_index("group")
    assert measures.loc["g1", "status"] == "failed: m constant"
    assert np.isnan(measures.loc["g1", "chi2"])
    assert measures["n"].tolist() == [300, 310, 320]


def test_no_group_could_be_fitted() -> None:
    frame = table(FRONT_DOOR, groups=2, rows=3).groupby("segment").head(3)
    fits = grouped(ht.fit(FRONT_DOOR, frame, by="segment"))
    assert len(fits.params()) == 0
    assert fits.measures()["status"].str.startswith("failed").all()


def test_what_speaks_against_a_line_is_said_of_groups_that_nobody_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weak instruments, and data that contradict the graph, in more groups than are looked at one by one."""
    monkeypatch.setattr(judged, "LOOKS", 0)
    rng = np.random.default_rng(0)
    n = 900
    z, u = rng.normal(size=n), rng.normal(size=n)
    g = np.repeat(["strong", "weak", "wrong"], n // 3)
    x = np.where(g == "weak", 0.02, 2.0) * z + u + rng.normal(size=n)
    y = x + u + rng.normal(size=n)
    other = rng.normal(size=n) + np.where(g == "wrong", 1.0, 0.0) * y
    frame = pd.DataFrame({"z": z, "x": x, "y": y, "other": other, "segment": g})
    lines = ht.fit("z -> x -> y; x <-> y; z -> other", frame, by="segment").params().set_index(["group", "lhs", "rhs"])
    notes: dict[Any, str] = lines["note"].to_dict()
    assert "hardly identified" in notes["weak", "y", "x"]
    assert "hardly identified" in notes["weak", "x", "y"]  # the errors' covariance is known no better
    assert "hardly identified" not in notes["weak", "x", "z"]
    assert all("the data contradict the graph" in text for key, text in notes.items() if key[0] == "wrong")
    assert not any(text for key, text in notes.items() if key[0] == "strong")


def test_many_groups_make_no_fit_each(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(rng.normal(size=(60_000, 4)), columns=["x", "m", "y", "w"]).assign(
        segment=np.arange(60_000) % 600
    )
    frame["y"] += frame["m"]
    frame["m"] += frame["x"]
    fits = grouped(ht.fit(FRONT_DOOR, frame, by="segment"))
    made: set[object] = set()
    one = type(fits).one

    def counted(self: ht.GroupFits, key: int) -> Any:
        made.add(key)
        return one(self, key)

    monkeypatch.setattr(type(fits), "one", counted)
    assert len(fits.params()) == 600 * 13
    assert len(fits.measures()) == 600
    assert len(made) <= LOOKS + 1


def test_a_column_that_is_too_large_in_some_group_is_named() -> None:
    rows = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 3)), columns=["x", "m", "y"])
    rows.loc[5, "y"] = 1e200
    with pytest.raises(DataError, match="the values of 'y' are too large to be squared"):
        ht.fit("x -> m -> y", rows.assign(segment=np.repeat(list("abc"), 20)), by="segment")


def test_a_single_coefficient_is_tested_once() -> None:
    rows = pd.DataFrame(np.random.default_rng(0).normal(size=(90, 2)), columns=["x", "y"])
    fits = grouped(ht.fit("x -> y", rows.assign(segment=np.repeat(list("abc"), 30)), by="segment"))
    found = fits.invariance(calibrate=False)
    assert found["hypothesis"].tolist() == ["everything equal", "all coefficients equal"]
