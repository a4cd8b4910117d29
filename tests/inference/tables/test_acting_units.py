"""Tables of new rows where categories act: as single questions say, and as a simulation of the fitted model has it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import halftrek as ht
from halftrek.errors import InputError, NotIdentifiedError, QueryError
from halftrek.inference.standard_errors.acting import value_where_acting
from halftrek.syntax import parse_question
from tests.narrow import interval_of, se_of, value_of

GRAPH = "z -> {d, g}; d -> {s, w, y}; s -> {y, w}; g -> {y, w}; d <-> y"
KINDS: dict[str, Any] = {"d": "acts", "g": "acts", "s": "behind", "y": "ordered"}
DRAWS = 400_000


@pytest.fixture(scope="module")
def fit() -> ht.Fit:
    rng, n = np.random.default_rng(5), 900
    z, hidden = rng.normal(size=(2, n))
    d = (0.8 * z + 0.6 * hidden + 0.8 * rng.normal(size=n) > 0.2).astype(float)
    g = np.digitize(0.5 * z + rng.normal(size=n), [-0.4, 0.7]).astype(float)
    s = 0.7 * d + rng.normal(size=n)
    y = np.digitize(0.6 * d + 0.5 * s - 0.4 * g - 0.6 * hidden + 0.8 * rng.normal(size=n), [-0.5, 0.6]).astype(float)
    w = 2.0 + 1.5 * d + 0.8 * s + 0.6 * g + rng.normal(size=n)
    rows = {"z": z, "d": d, "g": g, "s": np.digitize(s, [0.0, 1.0]).astype(float), "y": y, "w": w}
    return ht.fit(GRAPH, pd.DataFrame(rows), kinds=KINDS)


def simulated(fit: ht.Fit, z: float, do: dict[str, float] | None = None) -> dict[str, Any]:
    """Rows of the fitted model with one value of z, which has no cause; ``w_mean`` and ``w_sd`` are those of w."""
    assert fit.acting is not None
    model, margins = fit.acting.at(fit.graph, fit.acting.theta)
    at = {v: k for k, v in enumerate(model.names)}
    errors = np.random.default_rng(1).multivariate_normal(np.zeros(len(at)), model.W, size=DRAWS)
    value: dict[str, Any] = {"z": np.full(DRAWS, z)}
    cause, held = dict(value), do or {}
    for v in [v for v in fit.graph.topological_order if v != "z"]:
        mean = model.mu[at[v]] + sum(model.T[at[u], at[v]] * cause[u] for u in fit.graph.parents(v))
        behind = mean + errors[:, at[v]]
        if v == "w":
            value["w_mean"], value["w_sd"] = mean, float(np.sqrt(model.W[at[v], at[v]]))
        value[v] = margins[v].values[np.searchsorted(margins[v].cuts, behind)] if v in margins else behind
        value[v] = np.full(DRAWS, held[v]) if v in held else value[v]
        cause[v] = value[v] if v not in margins or margins[v].kind == "acts" else behind
    return value


ROWS: list[dict[str, float]] = [
    {"z": 0.4},
    {"z": -0.3, "w": 3.0},
    {"z": 0.4, "d": 1.0, "w": 4.2},
    {"z": 1.0, "d": 0.0, "s": 2.0},
    {"z": 0.0, "s": 0.0, "w": 2.5},
    {"z": 0.2, "g": 2.0, "s": 1.0, "w": 3.5},
]


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_rows_as_they_come_are_those_of_a_simulation(fit: ht.Fit, row: dict[str, float]) -> None:
    table = fit.predict(pd.DataFrame([row]), ["y", "d"]) if "d" not in row else fit.predict(pd.DataFrame([row]), ["y"])
    made = simulated(fit, row["z"])
    weights = np.ones(DRAWS)
    for v, x in row.items():
        if v == "w":
            weights *= np.exp(-0.5 * ((x - made["w_mean"]) / made["w_sd"]) ** 2)
        elif v != "z":
            weights *= made[v] == x
    share = weights / weights.sum()
    near = 5.0 / np.sqrt(1.0 / (share**2).sum())  # five standard errors of the simulation
    assert near < 0.1
    assert table["y"][0] == pytest.approx(share @ made["y"], abs=near)
    for k in (0, 1, 2):
        assert table[f"P(y={k})"][0] == pytest.approx(share @ (made["y"] == k), abs=near / 2)
    noise = table["y_noise_sd" if "d" not in row else "noise_sd"][0]
    assert noise == pytest.approx(np.sqrt(share @ made["y"] ** 2 - (share @ made["y"]) ** 2), abs=near)
    if "d" not in row:
        assert table["d"][0] == pytest.approx(share @ made["d"], abs=near / 2)


def test_rows_under_an_intervention_are_those_of_a_simulation(fit: ht.Fit) -> None:
    rows = pd.DataFrame({"z": [0.5, -1.0]})
    assert len(fit.predict(rows, "y", do={"d": 1.0})) == len(rows)
    for do in ({"d": 1.0}, {"d": 0.0, "g": 2.0}):
        table = fit.predict(rows, ["y", "w"], do=do)
        for k, z in enumerate(rows["z"]):
            made = simulated(fit, z, do)
            assert table["y"][k] == pytest.approx(made["y"].mean(), abs=0.006)
            assert table["w"][k] == pytest.approx(made["w"].mean(), abs=0.012)
            assert table["w_noise_sd"][k] == pytest.approx(made["w"].std(), abs=0.012)


def test_rows_are_answered_as_single_questions_are(fit: ht.Fit) -> None:
    table = fit.predict({"z": [0.4, np.nan], "d": [1.0, 0.0], "g": [1.0, 2.0]}, "y")
    for k, seen in enumerate(("z=0.4, d=1, g=1", "d=0, g=2")):
        one = fit.query(f"E[y | {seen}]")
        assert table["y"][k] == pytest.approx(value_of(one), abs=1e-6)
        assert table["se"][k] == pytest.approx(se_of(one), rel=1e-4)
        assert (table["ci_low"][k], table["ci_high"][k]) == pytest.approx(interval_of(one), abs=1e-5)
    one = fit.query("E[w | do(d=1), z=0.4]")
    table = fit.predict({"z": [0.4]}, "w", do={"d": 1})
    assert (table["w"][0], table["se"][0]) == pytest.approx((value_of(one), se_of(one)), rel=1e-4)
    one = fit.query("P(d > 0 | z=0.4)")
    table = fit.predict({"z": [0.4]}, "d")
    assert (table["d"][0], table["ci_low"][0]) == pytest.approx((value_of(one), interval_of(one)[0]), abs=1e-4)


def test_equal_rows_are_answered_once_and_in_their_places(fit: ht.Fit) -> None:
    rng = np.random.default_rng(3)
    rows = pd.DataFrame({"z": rng.integers(0, 3, 60).astype(float), "d": rng.integers(0, 2, 60).astype(float)})
    table = fit.predict(rows, "y")
    assert len(table) == 60
    alone = fit.predict({"z": rows["z"][7], "d": rows["d"][7]}, "y")
    assert table["y"][7] == pytest.approx(alone["y"][0], abs=1e-12)
    assert table["se"][7] == pytest.approx(alone["se"][0], rel=1e-8)
    assert table.groupby([rows["z"], rows["d"]])["y"].nunique().max() == 1


def test_a_way_that_next_to_never_occurs_adds_nothing(fit: ht.Fit) -> None:
    table = fit.predict({"z": [9.0, -9.0], "w": [2.0, 2.0]}, "y")  # without the drug, or with it, hardly possible
    known = fit.predict({"z": [9.0, -9.0], "w": [2.0, 2.0], "d": [1.0, 0.0]}, "y")
    assert table["y"] == pytest.approx(known["y"], abs=1e-6)
    assert np.isfinite(table["se"]).all()


def test_one_unit_would_have_been_what_a_question_says(fit: ht.Fit) -> None:
    unit = {"z": 0.4, "d": 0.0, "g": 1.0}
    found = fit.counterfactual(unit, do={"d": 1}, outcome="y")
    one = fit.query("E[y_{d=1} | z=0.4, d=0, g=1]")
    assert (value_of(found), se_of(found)) == (value_of(one), se_of(one))
    assert interval_of(found) == interval_of(one)
    with pytest.raises(QueryError, match="one unit has one outcome at a time"):
        fit.counterfactual(unit, do={"d": 1}, outcome=["y", "w"])


UNITS: list[dict[str, float]] = [
    {"z": 0.4, "d": 0.0, "g": 1.0},
    {"z": 0.4, "d": 0.0, "y": 1.0},
    {"z": -0.2, "d": 1.0, "w": 4.0},
    {"z": 0.1, "w": 3.0},
    {"z": 1.0},
    {"d": 1.0, "y": 2.0},
]


@pytest.mark.parametrize(("do", "outcome"), [("d=1", "y"), ("z=0.8", "d"), ("z=0.8", "w"), ("d=0", "w")])
def test_a_table_of_what_would_have_been_is_its_units_one_by_one(fit: ht.Fit, do: str, outcome: str) -> None:
    held, units = {do[0]: float(do[2:])}, UNITS[:-1] if do[0] == "z" else UNITS
    table = fit.counterfactual(pd.DataFrame(units), do=held, outcome=outcome)
    assert len(table) == len(units)
    for k, unit in enumerate(units):
        seen = ", ".join(f"{v}={x}" for v, x in unit.items())
        one = value_where_acting(fit, parse_question(f"E[{outcome}_{{{do}}} | {seen}]"))
        assert table[outcome][k] == pytest.approx(one, abs=2e-5), unit
    if do[0] != "z":
        plain = fit.predict(pd.DataFrame({"z": [1.0]}), outcome, do=held)
        assert table[outcome][4] == pytest.approx(plain[outcome][0], abs=1e-9)


def test_errors_of_a_table_of_what_would_have_been_are_those_of_one_unit(fit: ht.Fit) -> None:
    one = fit.counterfactual({"z": 0.4, "d": 0.0}, do={"z": 0.8}, outcome="d")
    table = fit.counterfactual(pd.DataFrame({"z": [0.4], "d": [0.0]}), do={"z": "+0.4"}, outcome="d")
    assert (table["d"][0], table["se"][0]) == pytest.approx((value_of(one), se_of(one)), rel=1e-4)
    assert (table["ci_low"][0], table["ci_high"][0]) == pytest.approx(interval_of(one), rel=1e-4)
    with pytest.raises(QueryError, match="w: columns in categories, of what was seen and of what would have been"):
        fit.counterfactual(pd.DataFrame([UNITS[-1]]), do={"z": 0.8}, outcome="w")


def both_worlds(fit: ht.Fit, do: dict[str, float]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The world as it is and another one, of the same errors, at z = 0.4."""
    return simulated(fit, 0.4), simulated(fit, do.get("z", 0.4), {v: x for v, x in do.items() if v != "z"})


def test_what_would_have_been_is_that_of_simulated_worlds(fit: ht.Fit) -> None:
    now, then = both_worlds(fit, {"z": 1.4})
    for seen in ({"d": 0.0}, {"d": 0.0, "y": 1.0}, {"y": 0.0, "g": 1.0}, {}):
        some = np.all([now[v] == x for v, x in seen.items()], axis=0) if seen else slice(None)
        for outcome in ("d", "y", "w"):
            found = fit.counterfactual(pd.DataFrame([{"z": 0.4, **seen}]), do={"z": "+1"}, outcome=outcome)
            known = then[outcome][some]
            assert found[outcome][0] == pytest.approx(known.mean(), abs=0.015), (seen, outcome)
            assert found["noise_sd"][0] == pytest.approx(known.std(), abs=0.02), (seen, outcome)
    done = both_worlds(fit, {"d": 1.0})[1]
    found = fit.counterfactual(pd.DataFrame([{"z": 0.4, "d": 0.0, "y": 1.0}]), do={"d": 1}, outcome="y")
    some = (now["d"] == 0.0) & (now["y"] == 1.0)
    assert [found[f"P(y={k})"][0] for k in range(3)] == pytest.approx(
        [float((done["y"][some] == k).mean()) for k in range(3)], abs=0.01
    )


def test_what_was_seen_and_is_not_changed_stays(fit: ht.Fit) -> None:
    rows = pd.DataFrame([{"z": 0.4, "d": 0.0, "g": 2.0, "w": 3.0}])
    for outcome, value in (("z", 0.4), ("g", 2.0)):
        found = fit.counterfactual(rows, do={"d": 1}, outcome=outcome)
        assert (found[outcome][0], found["noise_sd"][0]) == pytest.approx((value, 0.0), abs=1e-6)
    done = fit.counterfactual(rows, do={"d": 1, "g": 2}, outcome="w")
    assert done["w"][0] == pytest.approx(3.0 + value_of(fit.query("d ~> w")), abs=1e-6)  # its own error stays
    assert done["noise_sd"][0] == pytest.approx(0.0, abs=1e-6)


def test_what_is_not_known_of_rows_is_refused(fit: ht.Fit) -> None:
    with pytest.raises(QueryError, match="row 1: d=2, and d has the values 0, 1"):
        fit.predict({"z": [0.0, 1.0], "d": [1.0, 2.0]}, "y")
    with pytest.raises(QueryError, match="do: s is a cut of a continuous variable"):
        fit.predict({"z": [0.0]}, "y", do={"s": 1})
    with pytest.raises(QueryError, match="row 0: d=3, and d has the values 0, 1"):
        fit.predict({"z": [0.0]}, "y", do={"d": 3})
    with pytest.raises(InputError, match='interval="delta" is not known where a category acts'):
        fit.predict({"z": [0.0]}, "y", interval="delta")
    rows = pd.DataFrame({"d": np.tile([0.0, 1.0, 1.0], 60), "y": np.tile([0.0, 1.0, 0.0, 1.0], 45)})
    bow = ht.fit("d -> y; d <-> y", rows, kinds={"d": "acts", "y": "ordered"})
    with pytest.raises(NotIdentifiedError):
        bow.predict({"d": [0.0]}, "y", do={"d": 1})
    assert np.isnan(bow.predict({"d": [0.0]}, "y", do={"d": 1}, unidentified="nan")["y"]).all()
