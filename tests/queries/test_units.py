"""Counterfactuals of whole tables against the question about each unit, and against a dense oracle."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings

import halftrek as ht
from halftrek.bottom.choices import Interval
from halftrek.graphs import Graph
from halftrek.inference import How, estimate
from halftrek.models import CGLSCM
from halftrek.queries import Distribution, Variant, evaluate
from halftrek.queries.gradients import linearize
from halftrek.queries.units import unit_gradients, unit_map, unit_query
from tests.estimation.strategies import models
from tests.graphs.random_graphs import random_model
from tests.narrow import some

few = settings(max_examples=25, deadline=None, derandomize=True)


def both_worlds(
    model: CGLSCM, evidence: Mapping[str, float], do: Mapping[str, float], outcome: str
) -> tuple[float, float]:
    """Mean and sd of the outcome in the other world, from the dense joint normal of all errors and hidden causes."""
    p, q = len(model.names), len(model.latents)
    place = {v: i for i, v in enumerate(model.names)}
    root = np.linalg.cholesky(model.W)
    sources = np.concatenate([model.C, root.T])  # rows: standard normal draws; columns: error terms
    factual = sources @ np.linalg.inv(np.eye(p) - model.T)
    held = [place[v] for v in do]
    T = model.T.copy()
    T[:, held] = 0.0
    B = np.linalg.inv(np.eye(p) - T)
    errors, mu = sources.copy(), model.mu.copy()
    errors[:, held] = 0.0
    mu[held] = list(do.values())
    joint = np.concatenate([factual, errors @ B], axis=1)
    mean = np.concatenate([model.mean, mu @ B])
    cov = joint.T @ joint
    assert joint.shape == (p + q, 2 * p)
    on, y = [place[v] for v in evidence], p + place[outcome]
    slope = np.linalg.solve(cov[np.ix_(on, on)], cov[on, y]) if on else np.zeros(0)
    gap = np.array(list(evidence.values())) - mean[on]
    return mean[y] + gap @ slope, np.sqrt(max(cov[y, y] - cov[on, y] @ slope, 0.0))


def four() -> CGLSCM:
    T = np.zeros((4, 4))
    T[0, 1], T[1, 2], T[2, 3], T[0, 3] = 0.7, 0.5, 0.4, 0.3
    names = ["x1", "x2", "x3", "x4"]
    return CGLSCM.from_parameters(names=names, T=T, omega={("x1", "x3"): 0.4}, mu=[1, 2, 0, 3], psi=[1, 2, 1.5, 1])


@pytest.fixture(scope="module")
def fitted() -> ht.Fit:
    model = four()
    return ht.fit(model.graph, model.sample(500, random_state=5))


@pytest.fixture(scope="module")
def holes() -> np.ndarray:
    """Rows in which each entry is missing three times in ten."""
    rng = np.random.default_rng(8)
    values = np.asarray(four().sample(40, random_state=5))
    return np.where(rng.random(values.shape) < 0.3, np.nan, values)


@given(models(most=5, bows=True), st.integers(0, 2**16))
@few
def test_a_given_model_equals_the_dense_oracle(model: CGLSCM, seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = np.asarray(model.sample(6, random_state=seed))
    values[rng.random(values.shape) < 0.4] = np.nan
    outcome = model.names[int(rng.integers(len(model.names)))]
    others = [v for v in model.names if v != outcome]
    held = list(rng.permutation(others)[: int(rng.integers(1, len(others) + 1))])
    do = {str(v): rng.normal(size=6) for v in held}
    table = dict(zip(model.names, values.T, strict=True))
    found = model.counterfactual(table, do, outcome)
    assert list(found) == [outcome, "noise_sd"]
    for i, row in enumerate(values):
        evidence = {v: x for v, x in zip(model.names, row, strict=True) if not np.isnan(x)}
        mean, sd = both_worlds(model, evidence, {v: x[i] for v, x in do.items()}, outcome)
        assert found[outcome][i] == pytest.approx(mean, abs=1e-8)
        assert found["noise_sd"][i] == pytest.approx(sd, abs=3e-7)


@pytest.mark.parametrize("interval", ["delta", "robust"])
def test_each_row_equals_its_own_question(fitted: ht.Fit, holes: np.ndarray, interval: Interval) -> None:
    held, how = np.linspace(-1.0, 2.0, len(holes)), How(level=0.9, interval=interval)
    found = fitted.counterfactual(holes, {"x1": held}, ["x3", "x4"], level=0.9, interval=interval)
    assert len({tuple(np.isnan(row)) for row in holes}) > 8
    for i, row in enumerate(holes):
        seen = {Variant(v): x for v, x in zip(fitted.model.names, row, strict=True) if not np.isnan(x)}
        for y in ("x3", "x4"):
            question = Distribution.across((Variant(y, {"x1": held[i]}),), seen)
            sure = estimate(fitted, question, evaluate(question, fitted.model), how)
            assert found[y][i] == pytest.approx(sure.values[0], abs=1e-10)
            assert found[f"{y}_noise_sd"][i] == pytest.approx(np.sqrt(sure.variances[0]), abs=1e-7)
            assert found[f"{y}_se"][i] == pytest.approx(sure.errors[0], rel=1e-6, abs=1e-10)
            ends = (found[f"{y}_ci_low"][i], found[f"{y}_ci_high"][i])
            assert ends == pytest.approx(sure.intervals[0], abs=1e-8)


def test_fixed_intercepts_count(holes: np.ndarray) -> None:
    model = four()
    known = ht.fit(model.graph, model.sample(200, random_state=1), intercepts={"x2": 2.0})
    found = known.counterfactual(holes[:5], {"x1": 1.0}, "x2")
    for i, row in some(enumerate(holes[:5])):
        unit = dict(zip(model.names, row, strict=True))
        assert found["se"][i] == pytest.approx(known.counterfactual(unit, {"x1": 1.0}, "x2").se, abs=1e-10)


def test_rows_with_missing_values_in_the_fit(holes: np.ndarray) -> None:
    model = four()
    rng = np.random.default_rng(1)
    data = np.asarray(model.sample(300, random_state=1))
    data[rng.random(data.shape) < 0.1] = np.nan
    fit = ht.fit(model.graph, data, missing="fiml")
    found = fit.counterfactual(holes[:6], {"x1": 1.0}, "x4")
    for i, row in some(enumerate(holes[:6])):
        unit = dict(zip(model.names, row, strict=True))
        assert found["se"][i] == pytest.approx(fit.counterfactual(unit, {"x1": 1.0}, "x4").se, rel=1e-6, abs=1e-10)


def test_one_unit_is_an_answer(fitted: ht.Fit) -> None:
    answer = fitted.counterfactual({"x1": 0.2, "x3": 1.0, "x2": None}, do={"x1": 1}, outcome="x3")
    same = fitted.query("P(x3_{x1=1} | x1=0.2, x3=1)")
    assert (answer.mean, answer.se, answer.variance) == (same.mean, same.se, same.variance)
    shifted = fitted.counterfactual({"x1": 0.2, "x3": 1.0}, do={"x1": "+0.8"}, outcome="x3")
    assert shifted.mean == pytest.approx(same.mean)
    exact = four().counterfactual({"x1": 0.2, "x3": 1.0}, do={"x1": 1}, outcome="x3")
    assert exact.se is None
    mean, sd = both_worlds(four(), {"x1": 0.2, "x3": 1.0}, {"x1": 1.0}, "x3")
    assert (exact.mean, exact.variance) == pytest.approx((mean, sd**2))


def test_what_was_done_anyway_is_certain(fitted: ht.Fit) -> None:
    rows = np.asarray(four().sample(50, random_state=2))
    found = fitted.counterfactual(rows, {"x1": rows[:, 0]}, "x4")
    assert found["x4"] == pytest.approx(rows[:, 3])
    assert found["noise_sd"].max() == 0.0
    assert found["se"].max() < 1e-13
    raised = fitted.counterfactual(rows, {"x1": "+1"}, "x4")
    effect = fitted.effect("x1", "x4")
    assert raised["x4"] - rows[:, 3] == pytest.approx(effect.value)
    assert raised["se"] == pytest.approx(effect.se)


def test_changes_of_what_was_seen(fitted: ht.Fit) -> None:
    rows = pd.DataFrame(np.asarray(four().sample(5, random_state=2)), columns=four().names)
    rows["dose"] = [1.0, 2.0, 3.0, 4.0, 5.0]
    rows["who"] = list("abcde")
    plain = fitted.counterfactual(rows, {"x1": rows["dose"].to_numpy()}, "x4")
    pd.testing.assert_frame_equal(plain, fitted.counterfactual(rows, {"x1": "dose"}, "x4"))
    twice = fitted.counterfactual(rows, {"x1": 2 * rows["x1"]}, "x4")
    pd.testing.assert_frame_equal(twice, fitted.counterfactual(rows, {"x1": "*2"}, "x4"))
    less = fitted.counterfactual(rows, {"x1": rows["x1"] - 0.5}, "x4")
    pd.testing.assert_frame_equal(less, fitted.counterfactual(rows, {"x1": "- 0.5"}, "x4"))


def test_the_library_of_the_rows(fitted: ht.Fit) -> None:
    values = np.asarray(four().sample(6, random_state=3))
    values[1, 2] = np.nan
    frame = pd.DataFrame(values, columns=four().names, index=list("uvwxyz"))
    names = ["x4", "noise_sd", "se", "ci_low", "ci_high"]
    found = fitted.counterfactual(frame, {"x1": 1}, "x4")
    assert list(found.columns) == names
    assert list(found.index) == list("uvwxyz")
    by_polars = fitted.counterfactual(pl.from_pandas(frame), {"x1": 1}, "x4")
    assert isinstance(by_polars, pl.DataFrame)
    by_arrow = fitted.counterfactual(pa.Table.from_pandas(frame, preserve_index=False), {"x1": 1}, "x4")
    assert isinstance(by_arrow, pa.Table)
    by_dict = fitted.counterfactual({v: frame[v].to_list() for v in frame}, {"x1": 1}, "x4")
    assert isinstance(by_dict, dict)
    by_array = fitted.counterfactual(values, {"x1": 1}, "x4")
    assert by_array.dtype.names == tuple(names)
    for name in names:
        expected = found[name].to_numpy()
        for other in (by_polars[name].to_numpy(), by_arrow[name].to_numpy(), by_dict[name], by_array[name]):
            np.testing.assert_array_equal(other, expected)


def test_a_pattern_that_is_not_identified() -> None:
    graph = ht.graph("x -> y; x <-> y; z -> y")
    fit = ht.fit(graph, np.random.default_rng(0).normal(size=(80, 3)), names=["x", "y", "z"])
    rows = pd.DataFrame({"x": [0.0, np.nan], "y": [1.0, np.nan], "z": [0.5, 0.5]})
    with pytest.raises(ht.NotIdentifiedError, match=r"all rows in which x, z, y was seen|rows in which") as caught:
        fit.counterfactual(rows, {"x": 1}, "y")
    assert caught.value.verdict is not None
    found = fit.counterfactual(rows, {"z": 1}, "y")  # z is not confounded
    assert found["y"].notna().all()
    empty = fit.counterfactual(rows, {"x": 1}, ["y", "z"], unidentified="nan")
    assert empty["y"].isna().all()
    assert empty["z"].tolist() == pytest.approx([0.5, 0.5])


def test_evidence_that_contradicts_itself() -> None:
    model = CGLSCM.from_parameters(names=["x", "y"], T=[[0, 2.0], [0.0, 0.0]], psi=[1.0, 0.0])
    good = model.counterfactual({"x": [1.0, 0.0], "y": [2.0, 0.0]}, {"x": 3.0}, "y")
    assert good["y"] == pytest.approx([6.0, 6.0])
    with pytest.raises(ht.QueryError, match="row 1 cannot occur"):
        model.counterfactual({"x": [1.0, 0.0], "y": [2.0, 0.5]}, {"x": 3.0}, "y")


@pytest.mark.parametrize(
    ("rows", "do", "outcome", "words"),
    [
        ({"x1": [1.0]}, {"x9": 1}, "x3", "x9"),
        ({"x1": [1.0]}, {"x3": 1}, "x3", "held"),
        ({"x1": [1.0]}, {}, "x3", "do names what is held"),
        ({"x1": [1.0]}, {"x1": [1.0, 2.0]}, "x3", "for 1 rows"),
        ({"x1": [1.0]}, {"x1": np.nan}, "x3", "no finite value in row 0"),
        ({"x2": [1.0]}, {"x1": "+1"}, "x3", "missing in some rows"),
        ({"x1": [1.0]}, {"x1": "dose"}, "x3", "dose"),
        ({"z": [1.0]}, {"x1": 1}, "x3", "none of the columns"),
        ({"x1": 1.0, "zz": 1.0}, {"x1": 1}, "x3", "zz"),
        ({"x1": [np.inf]}, {"x1": 1}, "x3", "infinite"),
    ],
)
def test_what_cannot_be_asked(
    fitted: ht.Fit, rows: dict[str, Any], do: dict[str, Any], outcome: str, words: str
) -> None:
    with pytest.raises(ht.InputError, match=words):
        fitted.counterfactual(rows, do, outcome)


def test_means_that_were_not_given() -> None:
    model = four()
    bare = ht.fit(model.graph, cov=model.cov, n=100)
    rows = {"x1": [0.5], "x2": [0.1], "x3": [0.2], "x4": [1.0]}
    assert bare.counterfactual(rows, {"x1": 1}, "x4")["se"][0] > 0.0  # all seen: means do not matter
    with pytest.warns(UserWarning, match="deviations"):
        bare.counterfactual({"x2": [0.1]}, {"x1": 1}, "x4")


def test_a_fit_that_did_not_converge() -> None:
    graph = ht.graph("x -> m -> y; x <-> y; m -> w; w <-> x; w <-> y")
    rows = random_model(graph, 1).sample(60, random_state=0)
    short = ht.fit(graph, rows, max_iter=1, finish=False)
    assert not short.converged
    with pytest.warns(UserWarning, match="maximum"):
        short.counterfactual(rows[:3], {"x": 1}, "y")


def test_a_million_units_in_a_second(fitted: ht.Fit) -> None:
    rows = pd.DataFrame(np.asarray(four().sample(1_000_000, random_state=6)), columns=four().names)
    fitted.counterfactual(rows[:10], {"x1": 1}, "x3")
    times = []
    for _ in range(3):
        start = time.process_time()
        found = fitted.counterfactual(rows, {"x1": 1}, "x3")
        times.append(time.process_time() - start)
    assert len(found) == 1_000_000
    assert min(times) < 1.0


def test_no_rows(fitted: ht.Fit) -> None:
    found = fitted.counterfactual(pd.DataFrame({"x1": np.zeros(0)}), {"x1": 1}, "x3")
    assert list(found.columns) == ["x3", "noise_sd", "se", "ci_low", "ci_high"]
    assert len(found) == 0


def test_graph_of_the_module_is_the_one_meant() -> None:
    assert four().graph == Graph([("x1", "x2"), ("x2", "x3"), ("x3", "x4"), ("x1", "x4")], [("x1", "x3")])


def test_words_where_numbers_belong_are_refused_by_name() -> None:
    """Of one unit as of a table."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(50, 3)), columns=["age", "dose", "y"])
    fit = ht.fit("age -> dose -> y; age -> y", table)
    for rows in ({"age": 50.0}, table):
        with pytest.raises(ht.DataError, match="the data have no column 'double'"):
            fit.counterfactual(rows, do={"dose": "double"}, outcome="y")
    for value in ("old", np.inf, pd.NaT):
        with pytest.raises(ht.QueryError, match="the value of 'age' is a finite number"):
            fit.counterfactual({"age": value}, do={"dose": 1}, outcome="y")
    missing = [fit.counterfactual({"age": v}, do={"dose": 1}, outcome="y").value for v in (None, np.nan)]
    assert missing[0] == missing[1]


@pytest.mark.parametrize("seed", range(6))
def test_gradients_of_slopes_equal_those_of_each_point(seed: int) -> None:
    rng = np.random.default_rng(seed)
    order = [f"v{i}" for i in range(int(rng.integers(4, 8)))]
    pairs = [(u, v) for k, v in enumerate(order) for u in order[:k]]
    arrows, arcs = ([pair for pair in pairs if rng.random() < share] for share in (0.5, 0.3))
    model = random_model(Graph(arrows, arcs, observed=order), seed)
    names, held = model.names, model.names[:1] if seed % 2 else ()
    outcomes = names[-2:] if held and len(names) > 3 else names[-1:]
    seen = tuple(v for v in names if held or v not in outcomes)
    found = unit_map(model, seen, held, outcomes)
    middle = np.concatenate([found.centre, found.held_centre])
    points = [middle, *(middle + step * unit for step, unit in zip(found.steps(), np.eye(len(middle)), strict=True))]
    lines = [linearize(unit_query(seen, held, outcomes, x), model).values for x in points]
    gradients = list(unit_gradients(found))
    assert len(gradients) == len(lines[0])
    for k, gradient in enumerate(gradients):
        for part in ("T", "omega", "mean"):
            slow = np.stack([getattr(line[k], part) for line in lines])
            slow[1:] -= slow[0]
            np.testing.assert_allclose(
                getattr(gradient, part), slow, rtol=1e-9, atol=1e-11 * np.abs(slow).max() + 1e-13
            )
