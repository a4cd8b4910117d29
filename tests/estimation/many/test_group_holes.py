"""Groups with missing values: full information in each, as if it were alone; complete groups beside them."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.optimize import minimize

import halftrek as ht
from halftrek.data.by_group.groups import stack_groups
from halftrek.data.missing.likelihood import best_mean, loglik
from halftrek.data.missing.patterns import Patterns, put_together
from halftrek.errors import DataError, InputError
from halftrek.estimation import Fitted
from halftrek.estimation.many.pooling import pooled_fit
from halftrek.estimation.space import make_space
from halftrek.inference.groups.estimates import sample_of
from halftrek.simulation import random_model
from tests.narrow import floats, grouped, some, there, wrong

FRONT_DOOR = ht.graph("x -> m -> y; x <-> y; w -> x; w -> y")
CASES = Path(__file__).parents[2] / "reference" / "cases"
QUESTIONS = [
    "x ~> y",
    "x -> m -> y",
    "w ~> x ~> y",
    "x <-> y",
    "P(y, m | do(x=2), w=0.5)",
    "P(y_{x=1} | x=0, w=0.3)",
    "E[y | do(x=1)] - E[y | do(x=0)]",
    "P(y > 1 | do(x=1))",
]


def table(
    graph: ht.Graph = FRONT_DOOR, *, groups: int = 3, rows: int = 80, share: float = 0.15, seed: int = 0
) -> pd.DataFrame:
    """Groups with models of their own in shuffled order; the first one is complete."""
    rng = np.random.default_rng(seed)
    parts = []
    for g in range(groups):
        model = random_model(graph, random_state=seed + g)
        values = np.array(model.sample(rows + 5 * g, random_state=seed + 50 + g))
        if g:
            values[rng.random(values.shape) < share] = np.nan
        parts.append(pd.DataFrame(values, columns=model.names).assign(segment=f"g{g}"))
    return pd.concat(parts).sample(frac=1.0, random_state=1).reset_index(drop=True)


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    return table()


@pytest.fixture(scope="module")
def fits(frame: pd.DataFrame) -> ht.GroupFits:
    return grouped(ht.fit(FRONT_DOOR, frame, by="segment"))


# -- each group ------------------------------------------------------------------------------------


@pytest.mark.parametrize("question", QUESTIONS)
def test_every_group_is_as_if_fitted_alone(frame: pd.DataFrame, fits: ht.GroupFits, question: str) -> None:
    assert sorted(fits.alone) == [1, 2]
    found = fits.query(question, level=0.9, interval="delta")
    for key, rows in frame.groupby("segment"):
        alone = ht.fit(FRONT_DOOR, rows[list(FRONT_DOOR.observed)])
        answer = alone.query(question, level=0.9, interval="delta")
        mine = found[found["group"] == key]
        assert mine["estimate"].to_numpy() == pytest.approx(np.atleast_1d(answer.value), abs=1e-6)
        assert mine["se"].to_numpy() == pytest.approx(np.atleast_1d(floats(answer.se)), rel=1e-5)
        assert mine[["low", "high"]].to_numpy() == pytest.approx(np.atleast_2d(floats(answer.interval)), abs=1e-5)
        assert (mine["n"] == rows[list(FRONT_DOOR.observed)].notna().any(axis=1).sum()).all()
        assert (mine["status"] == "converged").all()


@pytest.mark.parametrize(
    ("graph", "options"),
    [
        (FRONT_DOOR, {"intercepts": {"y": 0.2}}),
        (FRONT_DOOR, {"coefficients": {"w -> x": "a", "w -> y": "a"}, "noise": {"m": 1.0}}),
        (ht.graph("latent f; f -> {a, b, c, x}; x -> y"), {}),
    ],
    ids=["held intercept", "label and noise", "factor"],
)
def test_options_hold_in_every_group(graph: ht.Graph, options: dict[str, Any]) -> None:
    frame = table(graph, groups=2)
    fits = grouped(ht.fit(graph, frame, by="segment", **options))
    found = fits.effect("x", "y", interval="delta").set_index("group")
    for key, rows in some(frame.groupby("segment")):
        alone = ht.fit(graph, rows[list(graph.observed)], **options)
        answer = alone.effect("x", "y", interval="delta")
        assert fits.batch.loglik[fits.keys.index(key)] == pytest.approx(alone.loglik, abs=1e-5)
        assert found.loc[key, "estimate"] == pytest.approx(answer.value, abs=1e-5)
        assert found.loc[key, "se"] == pytest.approx(answer.se, rel=1e-4)


def test_the_table_says_what_is_missing(frame: pd.DataFrame, fits: ht.GroupFits) -> None:
    found = fits.effect("x", "y").set_index("group")
    rows = frame[frame["segment"] == "g1"][list(FRONT_DOOR.observed)].dropna(how="all")
    assert found["note"].tolist()[0] == ""
    assert found.loc["g1", "note"].startswith(f"{rows.isna().any(axis=1).sum()} of {len(rows)} rows incomplete")
    assert "2 with missing values" in repr(fits)
    assert fits["g1"].patterns is not None
    assert "full-information" in " ".join(fits["g1"].effect("x", "y").warnings)
    assert fits["g0"].patterns is None


def test_weights_count_rows(frame: pd.DataFrame) -> None:
    values = frame[list(FRONT_DOOR.observed)]
    weights = np.random.default_rng(3).integers(1, 4, len(frame)).astype(float)
    repeated = frame.loc[frame.index.repeat(weights.astype(int))]
    first = grouped(ht.fit(FRONT_DOOR, values, by=frame["segment"], weights=weights))
    second = grouped(ht.fit(FRONT_DOOR, repeated, by="segment"))
    assert first.batch.loglik == pytest.approx(second.batch.loglik, rel=1e-9)
    assert first.groups.n.tolist() == second.groups.n.tolist()


def test_rows_may_come_from_anywhere(frame: pd.DataFrame, fits: ht.GroupFits, tmp_path: Path) -> None:
    frame.to_csv(tmp_path / "rows.csv", index=False)
    names = list(FRONT_DOOR.observed)
    for other in (
        ht.fit(FRONT_DOOR, str(tmp_path / "rows.csv"), by="segment"),
        ht.fit(FRONT_DOOR, pl.from_pandas(frame), by="segment"),
        ht.fit(FRONT_DOOR, frame[names].to_numpy(), by=frame["segment"]),
        ht.fit(FRONT_DOOR, {k: fits.groups[i] for i, k in enumerate(fits.keys)}),
    ):
        assert grouped(other).keys == fits.keys
        assert sorted(grouped(other).alone) == [1, 2]
        assert grouped(other).batch.loglik == pytest.approx(fits.batch.loglik, abs=1e-6)


def test_blocks_of_rows_are_put_together(
    frame: pd.DataFrame, fits: ht.GroupFits, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_module("halftrek.data.rows"), "BLOCK", 17)
    again = grouped(ht.fit(FRONT_DOOR, frame, by="segment"))
    assert again.batch.loglik == pytest.approx(fits.batch.loglik, abs=1e-6)


def test_groups_that_cannot_be_fitted_fail_alone_and_say_why() -> None:
    frame = table(groups=6)
    frame.loc[frame["segment"] == "g1", "m"] = np.nan
    frame.loc[frame["segment"] == "g2", "m"] = frame.loc[frame["segment"] == "g2", "m"].where(lambda s: s.isna(), 7.1)
    frame.loc[frame["segment"] == "g3", "w"] = frame.loc[frame["segment"] == "g3", "x"] * 2.0
    frame = frame[(frame["segment"] != "g4") | (frame.groupby("segment").cumcount() < 4)]
    frame.loc[frame["segment"] == "g5", list(FRONT_DOOR.observed)] = np.nan
    fits = grouped(ht.fit(FRONT_DOOR, frame, by="segment"))
    assert fits.status[0] == "converged"
    assert fits.status[1].startswith("failed: column 'm' has no value")
    assert fits.status[2].startswith("failed: 'm' is constant")
    assert "'w' and 'x' are perfectly correlated" in fits.status[3] or "'x' and 'w' are perfectly" in fits.status[3]
    assert "4 rows are too few" in fits.status[4]
    assert fits.status[5] == "failed: 0 rows are too few for 4 variables"
    found = fits.effect("x", "y").set_index("group")
    assert found.loc[["g1", "g2", "g3", "g4", "g5"], ["estimate", "se"]].isna().all(axis=None)
    assert np.isfinite(found.loc["g0", "se"])
    assert found.loc["g5", "dropped"] == 105
    with pytest.raises(DataError, match="could not be fitted: column 'm' has no value"):
        fits["g1"]


def test_pairs_that_no_row_has_both_of_are_named() -> None:
    frame = table(groups=2, share=0.0)
    holes = frame["segment"] == "g1"
    first = holes & (frame.groupby("segment").cumcount() < 40)
    frame.loc[first, "w"] = np.nan
    frame.loc[holes & ~first, "m"] = np.nan
    note = grouped(ht.fit(FRONT_DOOR, frame, by="segment")).effect("x", "y", interval="delta")["note"][1]
    assert note == "85 of 85 rows incomplete; no row has both m and w"


def test_rows_without_any_value_leave_a_group_complete(frame: pd.DataFrame) -> None:
    rows = frame[frame["segment"] == "g0"].copy()
    rows.loc[rows.index[:3], list(FRONT_DOOR.observed)] = np.nan
    fits = grouped(ht.fit(FRONT_DOOR, rows, by="segment"))
    assert not fits.alone
    assert fits.groups.dropped.tolist() == [3]
    assert fits.groups.n.tolist() == [77]


def test_a_saved_table_of_fits_is_the_same(fits: ht.GroupFits, tmp_path: Path) -> None:
    fits.save(tmp_path / "fits.json")
    loaded = ht.load(tmp_path / "fits.json")
    for question in QUESTIONS[:5]:
        pd.testing.assert_frame_equal(loaded.query(question), fits.query(question), check_exact=True)
    assert loaded.status == fits.status
    assert loaded["g1"].effect("x", "y").interval == fits["g1"].effect("x", "y").interval


# -- are groups alike? -----------------------------------------------------------------------------


def test_lavaan_by_month() -> None:
    """Estimates and errors of each month, and the likelihood ratio of one covariance structure for all."""
    expected = json.loads((CASES / "fiml_by_month.json").read_text())
    graph = "Solar -> Temp -> Ozone; Solar -> Ozone; Wind -> Ozone; Temp <-> Wind"
    fits = grouped(ht.fit(graph, str(CASES / "s21_fiml_airquality.csv"), by="Month"))
    assert fits.batch.loglik.sum() == pytest.approx(expected["loglik"], abs=1e-4)
    tables = {
        e: fits.query(e, interval="delta").set_index("group") for e in {c["effect"] for c in expected["coefficients"]}
    }
    for row in expected["coefficients"]:
        assert tables[row["effect"]].loc[row["group"], "estimate"] == pytest.approx(row["est"], rel=1e-4, abs=1e-5)
        assert tables[row["effect"]].loc[row["group"], "se"] == pytest.approx(row["se"], rel=1e-3)
    alike = fits.invariance(calibrate=False).iloc[0]
    assert alike["statistic"] == pytest.approx(2.0 * (expected["loglik"] - expected["loglik_equal"]), abs=1e-3)
    assert alike["df"] == expected["df"]


def test_one_structure_for_all_by_brute_force(fits: ht.GroupFits) -> None:
    """Model and means of all groups at once, by a general optimiser."""
    whole, incomplete = (fits.groups[i] for i in range(2))
    assert isinstance(incomplete, Patterns)
    data = [whole, incomplete]
    found = pooled_fit(fits, data)
    space = make_space(FRONT_DOOR, FRONT_DOOR.observed, found.options)
    p = len(FRONT_DOOR)

    def loss(v: np.ndarray) -> float:
        cov = space.moments(v[2 * p :])[1]
        together = put_together(data, v[: 2 * p].reshape(2, p))
        assert isinstance(together, Patterns)
        with np.errstate(all="ignore"):
            value = loglik(together, np.zeros(p), cov)
        return -value if np.isfinite(value) else 1e9

    theta = space.vector(found.model)
    means = [whole.mean, best_mean(incomplete, found.model.cov)]
    start = np.concatenate([*means, theta])
    moved = start + 0.02 * np.random.default_rng(0).standard_normal(len(start))
    end = minimize(loss, moved, method="BFGS", options={"gtol": 1e-5, "maxiter": 500})
    assert -end.fun == pytest.approx(found.loglik, abs=1e-4)


def test_coefficients_of_different_equations_vary_together(fits: ht.GroupFits) -> None:
    """The Wald test of all coefficients, with their covariance from second differences of the likelihood."""
    pair = sample_of(fits, np.array([1, 2]))
    two = replace(
        fits, groups=stack_groups({k: fits.groups[i] for i, k in ((1, "g1"), (2, "g2"))}, FRONT_DOOR.observed),
        batch=pair.batch, alone=pair.incomplete, rows=None,
    )  # fmt: skip
    estimates, weights = [], []
    for fit in pair.incomplete.values():
        at = [(fit.model.names.index(u), fit.model.names.index(v)) for u, v in FRONT_DOOR.directed]
        estimates.append(np.array([fit.model.T[place] for place in at]))
        weights.append(np.linalg.inv(inverse_hessian(fit, at)))
    middle = np.linalg.solve(sum(weights), sum(w @ e for w, e in zip(weights, estimates, strict=True)))
    statistic = sum((e - middle) @ w @ (e - middle) for w, e in zip(weights, estimates, strict=True))
    found = two.invariance(calibrate=False).set_index("hypothesis").loc["all coefficients equal"]
    assert found["statistic"] == pytest.approx(statistic, rel=1e-3)
    assert found["df"] == 4


def inverse_hessian(fit: Fitted, at: list[tuple[int, int]]) -> np.ndarray:
    """The covariance of some coefficients, by second differences of the log-likelihood in all parameters."""
    space = make_space(fit.graph, fit.model.names, fit.options)
    theta, size = space.vector(fit.model), space.size
    step = 1e-4 * np.eye(size)

    def value(a: np.ndarray, b: np.ndarray) -> float:
        return loglik(there(fit.patterns), *space.moments(theta + a + b))

    H = np.zeros((size, size))
    for a in range(size):
        for b in range(a + 1):
            x, y = step[a], step[b]
            H[a, b] = H[b, a] = (value(x, y) - value(x, -y) - value(-x, y) + value(-x, -y)) / 4e-8
    owner = [int(next(a for i, j, a in space.T_at if (i, j) == place)) for place in at]
    return np.linalg.inv(-H)[np.ix_(owner, owner)]


def test_p_values_allow_for_few_rows() -> None:
    """Groups of one model with 14 rows, some with holes: the statistic is too large on average, and p is not."""
    model = random_model(ht.graph("x -> m -> y"), random_state=2)
    rng = np.random.default_rng(5)
    values = np.array(model.sample(12 * 14, random_state=6))
    values[:70][rng.random((70, 3)) < 0.1] = np.nan
    fits = grouped(ht.fit("x -> m -> y", values, by=np.repeat(np.arange(12), 14)))
    assert 0 < len(fits.alone) <= 5
    found = fits.invariance()
    assert (found["inflation"].iloc[:2] > 1.1).all()
    assert found["p"].between(0.001, 0.999).all()
    one = fits.invariance("x ~> y").iloc[0]
    assert 0.001 < one["p"] < 0.999
    assert one["groups"] == 12


# -- few rows --------------------------------------------------------------------------------------


@pytest.mark.parametrize("question", ["x ~> y", "P(y, m | do(x=2), w=0.5)", "P(y_{x=1} | x=0, w=0.3)"])
def test_few_rows_get_the_interval_of_one_fit(question: str) -> None:
    """Student's t with the observed information, as for each group alone; large samples on request."""
    frame = table(rows=14, share=0.06, seed=2)
    fits = grouped(ht.fit(FRONT_DOOR, frame, by="segment"))
    assert sorted(fits.alone) == [1, 2]
    found = fits.query(question)
    for key, rows in frame.groupby("segment"):
        answer = ht.fit(FRONT_DOOR, rows[list(FRONT_DOOR.observed)]).query(question, interval="t")
        mine = found[found["group"] == key]
        assert mine["se"].to_numpy() == pytest.approx(np.atleast_1d(floats(answer.se)), rel=1e-4)
        assert mine[["low", "high"]].to_numpy() == pytest.approx(np.atleast_2d(floats(answer.interval)), rel=1e-4)
        assert mine["note"].str.contains("degrees of freedom").all()
    with pytest.raises(InputError, match="is for one group"):
        fits.query(question, interval=wrong("robust"))


def test_many_small_groups_are_covered() -> None:
    """300 groups of 6 rows."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 6))
    y = 0.5 * x + rng.normal(size=(300, 6))
    fits = grouped(ht.fit("x -> y", {"x": x.ravel(), "y": y.ravel()}, by=np.repeat(np.arange(300), 6)))
    usual, delta = fits.effect("x", "y"), fits.effect("x", "y", interval="delta")
    for found, low, high in ((usual, 0.92, 0.98), (delta, 0.75, 0.86)):
        assert low < ((np.array(found["low"]) < 0.5) & (np.array(found["high"]) > 0.5)).mean() < high
    assert set(usual["note"]) == {"t with 4 degrees of freedom"}
