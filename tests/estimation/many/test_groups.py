"""Groups in one program: the same as each group alone; groups that fail alone; tests that groups are alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest

import halftrek as ht
from halftrek.data.by_group.grouping import group_reader
from halftrek.data.by_group.groups import read_groups
from halftrek.errors import DataError, InputError, NotIdentifiedError
from halftrek.estimation.district import district
from halftrek.estimation.district.search import Choice
from halftrek.estimation.district.shape import Problem
from halftrek.estimation.many.batch import fit_batch
from halftrek.results.group_tables import NO_INFORMATION
from halftrek.simulation import random_model
from tests.narrow import floats, grouped, some

FRONT_DOOR = ht.graph("x -> m -> y; x <-> y; w -> x; w -> y")
QUESTIONS = [
    "x ~> y",
    "x -> m",
    "x -> m -> y",
    "w ~> x ~> y",
    "P(y | do(x=1))",
    "P(y, m | do(x=2), w=0.5)",
    "P(y)",
    "P(y_{x=1} | x=0, w=0.3)",
    "E[y | do(x=1)] - E[y | do(x=0)]",
    "P(y > 1 | do(x=1))",
    "std(x ~> y)",
]


def table(graph: ht.Graph, groups: int = 5, rows: int = 300, seed: int = 0) -> pd.DataFrame:
    """Groups with models of their own, in shuffled order."""
    parts = []
    for g in range(groups):
        model = random_model(graph, random_state=seed + g)
        part = pd.DataFrame(np.asarray(model.sample(rows + 10 * g, random_state=seed + 50 + g)), columns=model.names)
        parts.append(part.assign(segment=f"g{g}"))
    return pd.concat(parts).sample(frac=1.0, random_state=1).reset_index(drop=True)


@pytest.mark.parametrize(
    ("graph", "options"),
    [
        (FRONT_DOOR, {}),
        (FRONT_DOOR, {"intercepts": {"y": 0.2}}),
        (FRONT_DOOR, {"coefficients": {"w -> x": "a", "w -> y": "a"}}),
        (ht.graph("latent f; f -> {a, b, c, x}; x -> y"), {}),
    ],
    ids=["front-door", "held intercept", "label", "factor"],
)
def test_every_group_is_as_if_fitted_alone(graph: ht.Graph, options: dict[str, Any]) -> None:
    frame = table(graph, groups=3)
    fits = grouped(ht.fit(graph, frame, by="segment", **options))
    question = "x ~> y"
    kinds: tuple[Literal["delta"] | None, ...] = (None, "delta")
    tables = {interval: fits.query(question, interval=interval).set_index("group") for interval in kinds}
    assert list(fits) == ["g0", "g1", "g2"]
    for key, rows in frame.groupby("segment"):
        alone = ht.fit(graph, rows[list(graph.observed)], **options)
        i = fits.keys.index(key)
        assert fits.batch.loglik[i] == pytest.approx(alone.loglik, abs=1e-6)
        for interval, found in tables.items():
            answer = alone.query(question, interval=interval)
            assert found.loc[key, "estimate"] == pytest.approx(answer.value, abs=1e-5)
            assert found.loc[key, "se"] == pytest.approx(answer.se, rel=1e-4)
            assert found.loc[key, ["low", "high"]].to_numpy(float) == pytest.approx(answer.interval, abs=1e-5)
            assert found.loc[key, "n"] == len(rows)
        assert fits[key].loglik == pytest.approx(alone.loglik, abs=1e-6)


@pytest.mark.parametrize("question", QUESTIONS)
def test_every_kind_of_question_as_alone(question: str) -> None:
    frame = table(FRONT_DOOR, groups=2)
    fits = grouped(ht.fit(FRONT_DOOR, frame, by="segment"))
    found = fits.query(question, level=0.9, interval="delta")
    for key in some(fits):
        answer = fits[key].query(question, level=0.9, interval="delta")
        mine = found[found["group"] == key]
        assert mine["estimate"].to_numpy() == pytest.approx(np.atleast_1d(answer.value), abs=1e-6)
        assert mine["se"].to_numpy() == pytest.approx(np.atleast_1d(floats(answer.se)), rel=1e-5)
        assert mine[["low", "high"]].to_numpy() == pytest.approx(np.atleast_2d(floats(answer.interval)), abs=1e-5)
        if answer.distribution is not None:
            assert mine["variance"].to_numpy() == pytest.approx(answer.distribution.variance, abs=1e-6)
            assert mine["outcome"].tolist() == list(map(str, answer.distribution.names))


def test_effect_is_the_question() -> None:
    fits = ht.fit(FRONT_DOOR, table(FRONT_DOOR), by="segment")
    pd.testing.assert_frame_equal(fits.effect("x", "y"), fits.query("x ~> y"))


def test_one_corner_that_is_not_identified_spoils_nothing() -> None:
    graph = ht.graph("x -> m -> y; x <-> y; a -> b; a <-> b")
    fits = grouped(ht.fit(graph, table(graph, groups=2), by="segment"))
    assert np.isfinite(fits.query("x ~> y")["se"]).all()
    with pytest.raises(NotIdentifiedError):
        fits.query("a -> b")
    hypotheses = fits.invariance()["hypothesis"].tolist()
    assert "a -> b equal" not in hypotheses
    assert "x -> m equal" in hypotheses


# -- moments by group -----------------------------------------------------------------------------


def test_moments_by_group_are_those_of_each_group() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.standard_normal((150_000, 2)) * [1.0, 1e-3] + [3.0, 1e6], columns=["x", "y"])
    frame["k"] = rng.integers(0, 40, len(frame))
    frame["w"] = rng.integers(1, 4, len(frame)).astype(float)
    for weights in (None, "w"):
        found = read_groups(group_reader(frame, "k", ("x", "y"), weights=weights)[0])
        assert found.keys == tuple(range(40))
        for i, (_, rows) in enumerate(frame.groupby("k")):
            w = np.ones(len(rows)) if weights is None else rows["w"].to_numpy()
            X = rows[["x", "y"]].to_numpy()
            assert found.n[i] == w.sum()
            assert found.mean[i] == pytest.approx(np.average(X, axis=0, weights=w), rel=1e-12)
            assert found.cov[i] == pytest.approx(np.cov((X - X[0]).T, aweights=w, ddof=0), rel=1e-9, abs=1e-14)


def test_groups_from_every_source(tmp_path: Path) -> None:
    frame = table(FRONT_DOOR, groups=3)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    frame.to_parquet(tmp_path / "rows.parquet")
    expected = grouped(ht.fit(FRONT_DOOR, frame, by="segment"))
    names = list(FRONT_DOOR.observed)
    for fits in (
        ht.fit(FRONT_DOOR, pl.from_pandas(frame), by="segment"),
        ht.fit(FRONT_DOOR, str(tmp_path / "rows.csv"), by="segment"),
        ht.fit(FRONT_DOOR, str(tmp_path / "rows.parquet"), by="segment"),
        ht.fit(FRONT_DOOR, duckdb.from_df(frame), by="segment"),
        ht.fit(FRONT_DOOR, frame[names].to_numpy(), by=frame["segment"]),
        ht.fit(FRONT_DOOR, {k: ht.moments(rows[names]) for k, rows in frame.groupby("segment")}),
    ):
        assert grouped(fits).keys == expected.keys
        assert pytest.approx(expected.batch.T, abs=1e-6) == grouped(fits).batch.T
    assert type(ht.fit(FRONT_DOOR, pl.from_pandas(frame), by="segment").effect("x", "y")).__module__.startswith(
        "polars"
    )


def test_groups_that_cannot_be_fitted_fail_alone_and_say_why() -> None:
    frame = table(FRONT_DOOR, groups=4)
    frame.loc[frame["segment"] == "g1", "m"] = 7.1
    frame = frame[(frame["segment"] != "g2") | (frame.groupby("segment").cumcount() < 3)]
    frame.loc[frame["segment"] == "g3", "w"] = frame.loc[frame["segment"] == "g3", "x"] * 2.0
    fits = grouped(ht.fit(FRONT_DOOR, frame, by="segment"))
    assert fits.status[0] == "converged"
    assert fits.status[1] == "failed: m constant"
    assert fits.status[2] == "failed: 3 rows are too few for 4 variables"
    assert fits.status[3] == "failed: its variables are collinear"
    found = fits.effect("x", "y").set_index("group")
    assert np.isfinite(found.loc["g0", "estimate"])
    assert found.loc[["g1", "g2", "g3"], ["estimate", "se", "low", "high"]].isna().all(axis=None)
    with pytest.raises(DataError, match="constant"):
        fits["g1"]
    with pytest.raises(DataError, match="no group 'north'"):
        fits["north"]
    with pytest.raises(DataError, match="two are needed"):
        fits.invariance()


def test_rows_with_holes_are_left_out_and_counted() -> None:
    frame = table(FRONT_DOOR, groups=2)
    frame.loc[frame.index[frame["segment"] == "g1"][:7], "m"] = np.nan
    fits = grouped(ht.fit(FRONT_DOOR, frame, by="segment", missing="drop"))
    assert fits.groups.dropped.tolist() == [0, 7]
    assert repr(fits).endswith("0 could not be fitted, 7 rows with missing values left out>")
    assert fits.query("x ~> y")["dropped"].tolist() == [0, 7]
    assert fits.invariance(calibrate=False)["note"].str.contains("7 rows with missing values left out").all()
    assert "missing" not in repr(ht.fit(FRONT_DOOR, frame.dropna(), by="segment"))
    dropped = grouped(ht.fit(FRONT_DOOR, frame.dropna(), by="segment"))
    assert pytest.approx(dropped.batch.T) == fits.batch.T
    assert "7" in " ".join(fits["g1"].query("x ~> y").warnings)
    with pytest.raises(DataError, match="'m' has missing values"):
        ht.fit(FRONT_DOOR, frame, by="segment", missing="error")


def test_no_information_is_said() -> None:
    """An instrument without any strength in one group, exactly: that group has no interval."""
    graph = ht.graph("z -> x -> y; x <-> y")
    model = random_model(graph, random_state=1)
    cov = np.array(model.cov)
    dead = cov.copy()
    i = model.names.index("z")
    dead[i, :] = dead[:, i] = 0.0
    dead[i, i] = 1.0
    groups = {k: ht.Moments(model.names, 100, model.mean, c) for k, c in (("a", cov), ("b", dead))}
    found = grouped(ht.fit(graph, groups))
    rows = found.query("x -> y").set_index("group")
    assert np.isfinite(rows.loc["a", "se"])
    assert np.isnan(rows.loc["b", "se"])
    assert NO_INFORMATION in rows.loc["b", "status"]


@pytest.mark.parametrize("option", [{"method": "cgl-go"}, {"names": ["x"]}])
def test_options_of_one_fit_are_refused(option: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="groups"):
        ht.fit(FRONT_DOOR, table(FRONT_DOOR, groups=2), by="segment", **option)


def test_a_group_column_that_is_a_variable_or_missing_is_refused() -> None:
    frame = table(FRONT_DOOR, groups=2)
    with pytest.raises(DataError, match="variable of the graph"):
        ht.fit(FRONT_DOOR, frame, by="w")
    with pytest.raises(DataError, match=r"no column 'segmnt' for the groups. Did you mean 'segment'"):
        ht.fit(FRONT_DOOR, frame, by="segmnt")
    with pytest.raises(DataError, match="3 group labels for"):
        ht.fit(FRONT_DOOR, frame, by=["a", "b", "c"])
    with pytest.raises(DataError, match="by must be one label"):
        ht.fit(FRONT_DOOR, frame, by=np.zeros((len(frame), 2)))
    with pytest.raises(DataError, match="by goes with rows"):
        ht.fit(FRONT_DOOR, ht.moments(frame[list(FRONT_DOOR.observed)]), by="segment")


# -- are groups alike? ----------------------------------------------------------------------------


def alike(seed: int, n: tuple[int, ...], scale: float = 1.0) -> dict[str, ht.Moments]:
    """Groups of one model with means of their own; the last one's errors may be scaled."""
    model = random_model(FRONT_DOOR, random_state=7)
    groups = {}
    for g, rows in enumerate(n):
        X = np.asarray(model.sample(rows, random_state=1000 * seed + g)) + 10.0 * g
        X = X * (scale if g == len(n) - 1 else 1.0)
        groups[f"g{g}"] = ht.Moments(model.names, rows, X.mean(axis=0), np.cov(X.T, ddof=0))
    return groups


def test_the_likelihood_ratio_by_hand() -> None:
    """One covariance for all groups: the pooled one within groups, with the means of each."""
    groups = alike(0, (200, 300))
    fits = grouped(ht.fit(FRONT_DOOR, groups))
    pooled = sum(m.n * m.cov for m in groups.values()) / 500
    together = ht.fit(FRONT_DOOR, cov=pooled, n=500, names=next(iter(groups.values())).names)
    apart = sum(fits[k].loglik for k in fits)
    row = fits.invariance(calibrate=False).iloc[0]
    assert row["hypothesis"] == "everything equal"
    assert row["statistic"] == pytest.approx(2.0 * (apart - together.loglik), abs=1e-5)
    assert row["df"] == 9  # four coefficients, four variances, one covariance


def test_cochran_by_hand() -> None:
    fits = grouped(ht.fit(FRONT_DOOR, alike(1, (200, 300, 250))))
    rows = fits.query("x ~> y", interval="delta")
    w = 1.0 / rows["se"] ** 2
    middle = (w * rows["estimate"]).sum() / w.sum()
    found = fits.invariance("x ~> y")
    assert found["statistic"][0] == pytest.approx((w * (rows["estimate"] - middle) ** 2).sum())
    assert found["df"][0] == 2


def test_scaled_groups_differ_in_errors_and_not_in_coefficients() -> None:
    found = grouped(ht.fit(FRONT_DOOR, alike(2, (800, 800), scale=2.0))).invariance().set_index("hypothesis")
    assert found.loc["everything equal", "p"] < 1e-6
    assert found.loc["all coefficients equal", "p"] > 0.01
    assert found.loc["everything equal", "verdict"] == "groups differ"


def test_one_coefficient_that_differs_is_found() -> None:
    groups = alike(3, (800, 800))
    model = random_model(FRONT_DOOR, random_state=7)
    T = np.array(model.T)
    T[model.names.index("x"), model.names.index("m")] += 0.5
    other = ht.CGLSCM(model.names, T, model.C, model.mu, model.W, graph=FRONT_DOOR)
    X = np.asarray(other.sample(800, random_state=5))
    groups["other"] = ht.Moments(model.names, 800, X.mean(axis=0), np.cov(X.T, ddof=0))
    found = grouped(ht.fit(FRONT_DOOR, groups)).invariance().set_index("hypothesis")
    assert found.loc["x -> m equal", "p_adjusted"] < 1e-6
    assert found.loc["m -> y equal", "p_adjusted"] > 0.05
    assert found.loc["all coefficients equal", "p"] < 1e-6


@pytest.mark.parametrize("question", [None, "x ~> y"], ids=["all", "one answer"])
def test_p_values_hold_for_many_small_groups(question: str | None) -> None:
    """600 groups of 15 rows: the plain chi-square is certain that groups which are alike differ."""
    found = [grouped(ht.fit(FRONT_DOOR, alike(seed, (15,) * 600))) for seed in range(4)]
    tables = [fits.invariance(question) for fits in found]
    for line in range(1 if question else 2):  # everything, and all coefficients
        p = np.array([table["p"].iloc[line] for table in tables])
        assert p.min() > 1e-3
        assert 0.1 < p.mean() < 0.9
    plain = found[0].invariance(question, calibrate=False)
    assert plain["inflation"].iloc[0] == 1.0
    if question is None:
        assert plain["p"].iloc[0] < 1e-10


def chain(seed: int, n: int, groups: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    m = 0.5 * x + rng.normal(size=n)
    y = 0.5 * m + rng.normal(size=n)
    return pd.DataFrame({"x": x, "m": m, "y": y, "g": np.repeat(range(groups), n // groups)})


@pytest.mark.parametrize(
    ("graph", "seed", "n", "groups"),
    [
        ("x -> m -> y; x <-> y", 0, 100, 20),
        ("x -> m -> y; m <-> y", 0, 240, 40),
        ("x -> m -> y; m <-> y", 15, 400, 4),
    ],
)
def test_drawn_groups_that_tell_nothing_do_not_spoil_the_tests(graph: str, seed: int, n: int, groups: int) -> None:
    """Some data that are drawn again have no information about a coefficient: those are left out."""
    fits = grouped(ht.fit(graph, chain(seed, n, groups), by="g"))
    found = fits.invariance()
    assert len(found) == 4
    assert found["p"].between(0.0, 1.0).all()
    rows = fits.query("m -> y", interval="delta")
    w = 1.0 / rows["se"] ** 2
    middle = (w * rows["estimate"]).sum() / w.sum()
    assert found["statistic"].iloc[3] == pytest.approx((w * (rows["estimate"] - middle) ** 2).sum())


def test_groups_that_cannot_tell_are_left_out_by_name() -> None:
    fits = grouped(ht.fit("x -> m -> y; m <-> y", chain(0, 480, 40), by="g"))
    dead = [k for k, text in zip(fits.keys, fits.query("m -> y")["status"], strict=True) if NO_INFORMATION in text]
    assert dead == [32]
    found = fits.invariance().set_index("hypothesis")
    assert found.loc["m -> y equal", ["groups", "df"]].tolist() == [39, 38]
    assert found.loc["everything equal", "note"] == ""
    assert all("1 group (32)" in found.loc[h, "note"] for h in ("all coefficients equal", "m -> y equal"))
    without = fits.invariance("m -> y").iloc[0]
    kept = grouped(ht.fit("x -> m -> y; m <-> y", chain(0, 480, 40).query("g != 32"), by="g"))
    assert without["statistic"] == pytest.approx(kept.invariance("m -> y", calibrate=False)["statistic"][0])
    assert found.loc["all coefficients equal", "statistic"] == pytest.approx(
        kept.invariance(calibrate=False)["statistic"][1]
    )


def test_one_group_that_tells_is_too_few_and_failed_groups_are_named() -> None:
    graph = ht.graph("z -> x -> y; x <-> y")
    model = random_model(graph, random_state=1)
    dead = np.array(model.cov)
    i = model.names.index("z")
    dead[i, :] = dead[:, i] = 0.0
    dead[i, i] = 1.0
    covs = {"a": model.cov, "b": dead, "c": np.ones((3, 3))}
    fits = grouped(ht.fit(graph, {k: ht.Moments(model.names, 100, model.mean, c) for k, c in covs.items()}))
    for found in (fits.invariance(), fits.invariance("x -> y")):
        row = found.iloc[-1]
        assert row["hypothesis"] == "x -> y equal"
        assert np.isnan(row["p"])
        assert row["verdict"] == "not tested"
        assert "1 group can tell, and two are needed" in row["note"]
        assert "1 group (b)" in row["note"]
        assert "no maximum: 1 group (c)" in row["note"]


def test_rows_without_anything_that_tells_groups_apart_are_refused() -> None:
    with pytest.raises(DataError, match="say what tells the groups apart: by='column'"):
        ht.fit_groups("x -> y", {"x": [0.0, 1.0, 2.0], "y": [1.0, 0.0, 2.0]})


def test_groups_that_solve_their_equations_wait_for_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """A confounded effect with an instrument in many small groups: as from all starts, for a few groups only."""
    rng = np.random.default_rng(5)
    z, u = rng.normal(size=(2, 300, 12))
    x = 0.8 * z + u + rng.normal(size=z.shape)
    y = 0.5 * x + u + rng.normal(size=z.shape)
    rows = np.stack([z, x, y], axis=2)
    cov = np.stack([np.cov(one.T, ddof=0) for one in rows])
    graph = ht.graph("z -> x -> y; x <-> y")
    searched: list[int] = []
    highest = district._highest

    def counted(problem: Problem, *args: Any, **options: Any) -> Choice:
        searched.append(len(problem.G))
        return highest(problem, *args, **options)

    monkeypatch.setattr(district, "_highest", counted)
    quick = fit_batch(graph, cov=cov, mean=rows.mean(axis=1), n=12)
    assert sum(searched) < 0.2 * len(cov)
    monkeypatch.setattr(district, "_known_first", lambda problem, measure, _, search: search(problem, measure))
    monkeypatch.setattr(Problem, "two_equations", False)
    slow = fit_batch(graph, cov=cov, mean=rows.mean(axis=1), n=12)
    assert list(quick.code) == list(slow.code)
    np.testing.assert_allclose(quick.loglik, slow.loglik, rtol=1e-10)
    good = quick.code == "converged"
    assert good.mean() > 0.9
    np.testing.assert_allclose(quick.T[good], slow.T[good], rtol=1e-6, atol=1e-8)
