"""Texts as numbers: yes and no, indicator columns, the same from files and frames; other texts are refused."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import halftrek as ht
from halftrek.data import read_moments, row_reader
from halftrek.data.columns.categories import Category
from halftrek.data.columns.kinds import Coding
from halftrek.data.sources import memory as frames
from halftrek.errors import DataError, GraphError
from halftrek.inference.evidence.rows_behind import data_notes
from tests.narrow import grouped

N = 1500
RNG = np.random.default_rng(5)
FRAME = pd.DataFrame(
    {
        "smoker": RNG.choice(["Yes", "no", "NO"], N),
        "sex": RNG.choice(["M", "F"], N),
        "sure": RNG.choice(["true", "False"], N),
        "region": RNG.choice(["west", "north", "south east"], N),
        "grade": RNG.integers(1, 4, N),
        "x": RNG.standard_normal(N),
    }
)
FRAME["y"] = 2.0 * (FRAME["region"] == "south east") - 1.0 * (FRAME["region"] == "west") + RNG.standard_normal(N)
NUMBERS = {"smoker": FRAME["smoker"] == "Yes", "sex": FRAME["sex"] == "M", "sure": FRAME["sure"] == "true"}
SOURCES = ["pandas", "categorical", "dict", "polars", "polars categorical", "lazy", "arrow", "dictionary", "duckdb"]
FILES = ["csv", "semicolons", "parquet", "feather"]


def given(kind: str, folder: Path, frame: pd.DataFrame = FRAME) -> Any:
    texts = [v for v in frame.columns if frame[v].dtype == object]
    match kind:
        case "pandas":
            return frame
        case "categorical":
            return frame.astype(dict.fromkeys(texts, "category"))
        case "dict":
            return {v: frame[v].tolist() for v in frame}
        case "polars":
            return pl.from_pandas(frame)
        case "polars categorical":
            return pl.from_pandas(frame).with_columns(pl.col(texts).cast(pl.Categorical))
        case "lazy":
            return pl.from_pandas(frame).lazy()
        case "arrow":
            return pa.Table.from_pandas(frame)
        case "dictionary":
            table = pa.Table.from_pandas(frame)
            coded = {v: table[v].dictionary_encode() if v in texts else table[v] for v in frame}
            return pa.table(coded)
        case "duckdb":
            return duckdb.connect().from_arrow(pa.Table.from_pandas(frame))
        case "csv":
            frame.to_csv(folder / "t.csv", index=False)
            return folder / "t.csv"
        case "semicolons":
            frame.to_csv(folder / "s.csv", index=False, sep=";", decimal=",")
            return folder / "s.csv"
        case "parquet":
            pq.write_table(pa.Table.from_pandas(frame), folder / "t.parquet")
            return folder / "t.parquet"
    frame.to_feather(folder / "t.feather")
    return folder / "t.feather"


@pytest.mark.parametrize("kind", [*SOURCES, *FILES])
def test_yes_and_no_are_one_and_zero(kind: str, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(frames, "PIECE", 400)
    names = ["smoker", "x", "sex", "sure"]
    m = read_moments(given(kind, tmp_path), names)
    expected = np.column_stack([FRAME[v] if v == "x" else NUMBERS[v] for v in names]).astype(float)
    np.testing.assert_allclose(m.mean, expected.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(m.cov, np.cov(expected, rowvar=False, ddof=0), rtol=1e-9, atol=1e-13)
    assert m.kinds is not None
    codings = {v: k.coding for v, k in zip(names, m.kinds, strict=True)}
    assert codings["x"] is None
    assert codings["sex"] == Coding("sex", "M", "F")
    assert codings["smoker"] is not None
    assert (codings["smoker"].one, codings["smoker"].zero.lower()) == ("Yes", "no")
    assert codings["sure"] is not None
    assert codings["sure"].one == "true"


@pytest.mark.parametrize("kind", [*SOURCES, *FILES])
def test_indicators_are_the_same_from_files_and_frames(kind: str, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(frames, "PIECE", 400)
    fitted = ht.fit(
        "region -> y; grade -> y; x -> y", given(kind, tmp_path), categories={"region": "north", "grade": 2}
    )
    names = ("region=south east", "region=west", "y", "grade=1", "grade=3", "x")
    assert fitted.graph.observed == names
    text, number = FRAME["region"], FRAME["grade"]
    columns = [text == "south east", text == "west", FRAME["y"], number == 1, number == 3, FRAME["x"]]
    expected = np.column_stack(columns).astype(float)
    np.testing.assert_allclose(fitted.moments.cov, np.cov(expected, rowvar=False, ddof=0), rtol=1e-9, atol=1e-13)
    X = np.column_stack([np.ones(N), *(expected[:, k] for k in (0, 1, 3, 4, 5))])
    slopes = np.linalg.lstsq(X, expected[:, 2], rcond=None)[0]
    assert fitted.effect("region=south east", "y").value == pytest.approx(slopes[1], rel=1e-9)
    again = np.concatenate([block.values for block in fitted.rows.blocks(fitted.moments)])  # type: ignore[union-attr]
    np.testing.assert_array_equal(again, expected)
    assert str(data_notes(fitted)[0]) == (
        "region=south east is 1 where region is 'south east', else 0; its effects are differences from 'north'"
    )


def test_the_graph_of_a_category() -> None:
    graph = ht.graph("region -> {y, m}; region <-> z; z -> y; m -> y")
    fitted = ht.fit(
        graph, FRAME.assign(m=FRAME["x"], z=FRAME["y"] * 2 + RNG.standard_normal(N)), categories={"region": "west"}
    )
    parts = ("region=north", "region=south east")
    assert set(fitted.graph.directed) == {*((v, w) for v in parts for w in "ym"), ("z", "y"), ("m", "y")}
    assert set(map(frozenset, fitted.graph.bidirected)) == {frozenset(parts), *(frozenset((v, "z")) for v in parts)}
    assert fitted.query('"region=north" ~> y').identified
    table = fitted.effects()
    assert set(parts) <= set(table["cause"])
    assert set(parts) <= set(fitted.params()["rhs"])
    assert '"region=north"' in str(fitted.query('"region=north" -> y'))


@pytest.mark.parametrize(
    ("graph", "categories", "error", "message"),
    [
        ("x -> region -> y", {"region": "north"}, GraphError, r"x -> region makes it an effect.*region <-> x"),
        ("latent U; U -> {region, y}", {"region": "north"}, GraphError, "U -> region makes it an effect"),
        ("x -> y", {"region": "north"}, GraphError, "'region' is no observed variable"),
        ("region -> y [0.5]", {"region": "north"}, GraphError, "an edge for each of its levels"),
        ("region -> y", {"region": "nord"}, DataError, "'nord' is no level of column 'region'.*'north'"),
        ("region -> y", {"regoin": "north"}, DataError, "no column 'regoin'.*'region'"),
        ("x -> y", {"x": 0}, DataError, "more than 50 levels"),
        ("region -> y", {"region": None}, DataError, "None is no level"),
        ("region -> y", "region", DataError, "names the reference level of each column"),
        ("region -> y", None, DataError, r"'north', 'south east', 'west'.*categories=\{'region': 'north'\}"),
    ],
)
def test_what_cannot_be_a_category(graph: str, categories: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        ht.fit(graph, FRAME, categories=categories)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["yes", "no", "maybe"], "'maybe'.*categories="),
        (["yes", "n", "no"], "'n'"),
        (["m", "t", "f"], "'f'"),
        (["1.5", "2", "3"], "numbers as text, for instance '1.5'"),
        (["1.5", "high", "3"], "for instance 'high'; correct"),
        ([f"name {k}" for k in range(30)], "for instance 'name 0'; convert it to numbers, or leave it out"),
        ([["a"], ["b"], ["c"]], "not numbers"),
    ],
)
def test_other_texts_are_refused(values: list[Any], message: str) -> None:
    frame = pd.DataFrame({"t": values, "y": np.arange(len(values), dtype=float)})
    with pytest.raises(DataError, match=message):
        read_moments(frame, ["t", "y"])


def test_a_text_that_comes_late_is_refused(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(frames, "PIECE", 100)
    late = FRAME["smoker"].where(FRAME.index < N - 1, "perhaps")
    for kind in ("pandas", "csv", "duckdb"):
        with pytest.raises(DataError, match="'perhaps'"):
            read_moments(given(kind, tmp_path, FRAME.assign(smoker=late)), ["smoker", "x"])


def test_missing_labels_are_missing_values(tmp_path: Path) -> None:
    incomplete = FRAME.assign(
        smoker=FRAME["smoker"].where(FRAME.index % 7 > 0), region=FRAME["region"].where(FRAME["x"] < 1)
    )
    for kind in ("pandas", "polars", "csv", "dict"):
        fitted = ht.fit("region -> y; smoker -> y", given(kind, tmp_path, incomplete), categories={"region": "north"})
        assert fitted.patterns is not None
        assert fitted.patterns.incomplete == int(incomplete[["smoker", "region"]].isna().any(axis=1).sum())
        both = fitted.patterns.names.index("region=west"), fitted.patterns.names.index("region=south east")
        assert (fitted.patterns.observed[:, both[0]] == fitted.patterns.observed[:, both[1]]).all()


def test_booleans_say_which_is_one() -> None:
    for frame in (pd.DataFrame, pl.DataFrame, pa.table, dict):
        m = read_moments(frame({"b": np.arange(10) % 3 == 0, "x": np.arange(10.0)}))
        assert m.kinds is not None
        assert m.kinds[0].coding == Coding("b", "true", "false")
    objects = pd.DataFrame({"b": [True, None, False, True] * 3, "x": np.arange(12.0)})
    assert read_moments(objects, missing="drop").mean[0] == pytest.approx(2 / 3)


def test_a_plain_array_has_its_columns_in_the_order_of_the_graph() -> None:
    table = np.column_stack([FRAME["grade"], FRAME["y"]])
    fitted = ht.fit("grade -> y", table, categories={"grade": 1})
    assert fitted.graph.observed == ("grade=2", "grade=3", "y")
    named = ht.fit("grade -> y", table[:, ::-1], names=["y", "grade"], categories={"grade": "1"})
    assert named.loglik == pytest.approx(fitted.loglik)
    with pytest.raises(DataError, match="1 columns, but 2 names are needed: grade, y"):
        ht.fit("grade -> y", table[:, :1], categories={"grade": 1})


def test_rows_are_needed_twice() -> None:
    text = FRAME[["region", "y"]].to_csv(index=False)
    with pytest.raises(DataError, match="an open file can be read only once"):
        ht.fit("region -> y", io.StringIO(text), categories={"region": "north"})
    with pytest.raises(DataError, match="categories go with rows"):
        ht.fit("region -> y", cov=np.eye(2), n=10, categories={"region": "north"})
    m = read_moments(FRAME, ["y", "region"], categories={"region": "north"})
    assert m.names == ("y", "region=south east", "region=west")
    with pytest.raises(DataError, match="moments have no texts"):
        read_moments(m, categories={"region": "north"})


def test_groups_clusters_and_files_keep_categories(tmp_path: Path) -> None:
    fits = grouped(ht.fit("region -> y", FRAME, by="sex", categories={"region": "north"}))
    one = ht.fit("region -> y", FRAME[FRAME["sex"] == "F"], categories={"region": "north"})
    assert fits["F"].loglik == pytest.approx(one.loglik)
    assert fits["F"].query('"region=west" ~> y', interval="robust").se == pytest.approx(
        one.query('"region=west" ~> y', interval="robust").se
    )
    path = given("csv", tmp_path)
    clustered = ht.fit("region -> y", path, cluster="smoker", categories={"region": "north"})
    back = ht.load(clustered.save(tmp_path / "fit.json"))
    assert back.rows.categories == (Category("region", "north", ("south east", "west")),)
    assert back.params()["se"].tolist() == clustered.params()["se"].tolist()
    inside = ht.load(clustered.save(tmp_path / "rows.json", rows=True))
    assert inside.params()["se"].tolist() == pytest.approx(clustered.params()["se"].tolist())


def test_a_category_may_say_the_cluster_as_well(tmp_path: Path) -> None:
    frame = FRAME.assign(region=[f"r{k % 7}" for k in range(N)])
    one = ht.fit("region -> y", frame, cluster="region", categories={"region": "r0"})
    other = ht.fit("region -> y", frame, cluster=frame["region"].tolist(), categories={"region": "r0"})
    for kind in ("pandas", "csv"):
        again = ht.fit("region -> y", given(kind, tmp_path, frame), cluster="region", categories={"region": "r0"})
        ours, theirs = (f.params(interval="robust")["se"].tolist() for f in (again, other))
        assert ours == pytest.approx(theirs)
    assert one.rows is not None
    with pytest.raises(DataError, match="no column 'regoin' for the clusters"):
        ht.fit("region -> y", frame, cluster="regoin", categories={"region": "r0"})
    table = np.column_stack([FRAME["grade"], FRAME["y"]])
    with pytest.raises(DataError, match="give its labels as a list"):
        ht.fit("grade -> y", table, categories={"grade": 1}, cluster="grade").params(interval="robust")


def test_texts_may_be_weights_and_clusters() -> None:
    counted = ht.fit("x -> y", FRAME, weights="smoker")
    assert counted.n == (FRAME["smoker"] == "Yes").sum()
    assert counted.params(interval="robust")["se"].notna().all()
    assert ht.fit("smoker -> y", FRAME, cluster="smoker").rows is not None


def test_a_new_level_is_refused_when_rows_are_read_again() -> None:
    reader = row_reader(FRAME, ("region=west", "y"), categories=(Category("region", "north", ("west",)),))
    with pytest.raises(DataError, match="'south east', which is none of its levels"):
        list(reader.blocks())
    with pytest.raises(DataError, match="a column 'region=west' already"):
        list(row_reader(FRAME.assign(**{"region=west": 0.0}), ("y",), categories=reader.categories).blocks())
