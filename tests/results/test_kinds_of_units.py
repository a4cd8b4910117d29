"""Tables of units where columns are ordered or ranked: beside single questions, and beside the model that made them."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad
from scipy.stats import norm

import halftrek as ht
from halftrek.errors import InputError, QueryError
from halftrek.inference.draws.bootstrap import acceleration
from halftrek.syntax import parse_question
from tests.results.test_column_kinds import FRONT_DOOR, KINDS, front_door

CUTS = np.array([-1.0, -0.3, 0.3, 1.0])


def scale(n: int, seed: int = 0) -> pd.DataFrame:
    """A mediator on a scale of five points, a yes/no outcome, a skewed bystander."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    m = 0.7 * x + 0.7 * rng.normal(size=n)
    y = 0.6 * m + 0.4 * x + 0.6 * rng.normal(size=n)
    w = np.exp(0.5 * x + rng.normal(size=n))
    return pd.DataFrame({"x": x, "m": np.digitize(m, CUTS), "y": (y > 0.5) * 1.0, "w": w})


GRAPH, OWN = "x -> m -> y; x -> y; x -> w", {"m": "behind", "y": "ordered", "w": "ranked"}


def five_points(n: int, seed: int = 0) -> ht.Fit:
    kinds: Any = OWN
    return ht.fit(GRAPH, scale(n, seed), kinds=kinds)


def test_a_table_says_what_single_questions_say() -> None:
    rows = front_door(800)
    fit, some = ht.fit(FRONT_DOOR, rows, kinds=KINDS), rows.head(3)
    asked: dict[str, tuple[Any, str]] = {
        "values": (fit.predict(some, "y"), "E[y | x={x!r}, m={m!r}]"),
        "a box": (fit.predict(some[["m", "y"]], "x"), "E[x | m={m!r}, y={y!r}]"),
        "done": (fit.predict(some[["x"]], "y", do={"m": 2.0}), "E[y_{{m=2}} | x={x!r}]"),
        "in a box": (fit.counterfactual(some, do={"x": 1.0}, outcome="y"), "E[y_{{x=1}} | x={x!r}, m={m!r}, y={y!r}]"),
    }
    for name, (table, question) in asked.items():
        for i in range(3):
            unit = {v: float(some[v].iloc[i]) for v in some}
            alone = fit.query(question.format(**unit))
            line = table.iloc[i]
            outcome = table.columns[0]
            assert line[outcome] == pytest.approx(alone.value, abs=1e-9), name
            assert line["se"] == pytest.approx(alone.se, rel=1e-4), name
            assert (line["ci_low"], line["ci_high"]) == pytest.approx(alone.interval, abs=1e-5), name


def test_predictions_are_those_of_the_model_that_made_the_rows() -> None:
    fit = five_points(40_000)
    units = pd.DataFrame({"x": [0.0, 0.5, -1.0], "m": [2.0, 3.0, 1.0], "w": [1.0, 2.0, 0.5]})
    found = fit.predict(units, "y")
    for i, (x, m, _) in enumerate(units.to_numpy()):
        low, high = (np.array([-np.inf, *CUTS, np.inf])[int(m) + k] for k in (0, 1))
        density = lambda at, x=x: norm.pdf((at - 0.7 * x) / 0.7) / 0.7  # noqa: E731
        risk = lambda at, x=x: norm.sf((0.5 - 0.6 * at - 0.4 * x) / 0.6) * norm.pdf((at - 0.7 * x) / 0.7) / 0.7  # noqa: E731
        truth = quad(risk, low, high)[0] / quad(density, low, high)[0]
        assert abs(found["y"][i] - truth) < 4.0 * found["se"][i]
        assert found["se"][i] < 0.01
    scores = fit.predict(units[["x", "w"]], "m")
    shares = scores.filter(regex="^P").to_numpy()
    for i, x in enumerate(units["x"]):
        below = np.concatenate([[0.0], norm.cdf((CUTS - 0.7 * x) / 0.7), [1.0]])
        np.testing.assert_allclose(shares[i], np.diff(below), atol=0.012)
    np.testing.assert_allclose(shares @ np.arange(5), scores["m"], atol=1e-12)
    wages = fit.predict(units[["x", "m"]].assign(y=1.0), "w")
    np.testing.assert_allclose(wages["w"], np.exp(0.5 * units["x"] + 0.5), rtol=0.04)


def test_many_ranks_in_bins_are_next_to_the_ranks_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    import halftrek.queries.observed.units as room

    fit, units = five_points(900), pd.DataFrame({"x": [0.4, -1.0], "m": [2.0, 0.0]})
    binned = fit.predict(units, "w")
    monkeypatch.setattr(room, "FEW", 10_000)
    whole = fit.predict(units, "w")
    for column in ("w", "noise_sd", "se"):
        np.testing.assert_allclose(binned[column], whole[column], rtol=1e-3)


def test_errors_are_those_of_many_samples() -> None:
    units = pd.DataFrame({"x": [0.5, 0.5], "m": [3.0, np.nan], "y": [0.0, 1.0]})
    each = [five_points(500, seed).counterfactual(units, do={"x": 1.0}, outcome="y") for seed in range(40)]
    values, errors = (np.array([one[name] for one in each]) for name in ("y", "se"))
    assert values[:, 0].std(ddof=1) == pytest.approx(errors[:, 0].mean(), rel=0.35)
    np.testing.assert_allclose(values[:, 1], 1.0, atol=1e-9)  # who was ill at less stays ill
    wages = [five_points(500, seed).predict(units[["x", "m"]], "w") for seed in range(40)]
    spread, said = np.std([one["w"] for one in wages], axis=0, ddof=1), np.mean([one["se"] for one in wages], axis=0)
    np.testing.assert_allclose(spread, said, rtol=0.4)


def test_a_ranked_outcome_that_was_seen_is_moved_along_its_ranks() -> None:
    rows = front_door(20_000)
    fit, some = ht.fit(FRONT_DOOR, rows, kinds=KINDS), rows.iloc[:5]
    found = fit.counterfactual(some, do={"x": 1.0}, outcome="m")
    truth = some["m"] * np.exp(0.7 * (1.0 - some["x"]))
    np.testing.assert_allclose(found["m"], truth, rtol=0.08)
    assert (found["noise_sd"] == 0.0).all()
    assert (np.abs(found["m"] - truth) < 5.0 * found["se"]).all()
    with pytest.raises(QueryError, match="would have a value of m beyond all that were seen"):
        fit.counterfactual(some, do={"x": 30.0}, outcome="m")
    assert fit.counterfactual(some, do={"x": 30.0}, outcome="m", unidentified="nan")["m"].isna().all()


def test_a_ranked_outcome_is_moved_however_many_columns_in_categories_were_seen() -> None:
    """What was seen of others says nothing more of an outcome that was seen itself."""
    fit, rows = five_points(500), scale(500).iloc[:4]
    first, *more = [
        fit.counterfactual(rows[list(seen)], do={"x": 0.3}, outcome="w")["w"] for seen in ("xw", "xmw", "xmyw")
    ]
    np.testing.assert_allclose(first, np.asarray(more[0]), rtol=1e-9)
    np.testing.assert_allclose(first, np.asarray(more[1]), rtol=1e-9)


def test_texts_and_one_unit() -> None:
    rows = scale(600)
    levels = ["never", "seldom", "sometimes", "often", "always"]
    rows["m"] = np.array(levels)[rows["m"]]
    kinds: Any = {"m": {"behind": levels}, "y": "ordered"}
    fit = ht.fit("x -> m -> y; x -> y", rows, kinds=kinds)
    found = fit.predict(rows[["x", "m"]].head(2), "y")
    one = fit.counterfactual({"x": 0.1, "m": "often", "y": 0}, do={"x": 1.0}, outcome="y")
    table = fit.counterfactual(pd.DataFrame({"x": [0.1], "m": ["often"], "y": [0]}), do={"x": 1.0}, outcome="y")
    assert one.value == pytest.approx(table["y"][0], abs=1e-4)
    assert found["y"].between(0.0, 1.0).all()
    site = ht.fit("x -> m -> y; x -> y", rows.assign(s=np.arange(600) % 2), kinds=kinds, by="s")[0]
    assert site.predict(rows[["x", "m"]].head(2), "y")["y"].between(0.0, 1.0).all()


def test_what_cannot_be_answered_says_which_row() -> None:
    fit, units = five_points(300), pd.DataFrame({"x": [0.0, 0.0], "m": [2.0, 2.0], "w": [1.0, 1.0]})
    with pytest.raises(QueryError, match="row 1: m=7, and m has the values 0, 1, 2, 3, 4"):
        fit.predict(units.assign(m=[1.0, 7.0]), "y")
    with pytest.raises(QueryError, match="row 1: w=1000, and w is ranked and was seen from"):
        fit.predict(units.assign(w=[1.0, 1000.0]), "y")
    assert fit.predict(units.assign(w=[1.0, 1000.0]), "y", unidentified="nan")["y"].isna().tolist() == [False, True]
    with pytest.raises(QueryError, match="m is a cut of a continuous variable"):
        fit.predict(units[["x"]], "y", do={"m": 1.0})
    with pytest.raises(InputError, match='ends="bca" is for single questions'):
        fit.predict(units, "y", interval="bootstrap", ends="bca")
    with pytest.raises(QueryError, match="one outcome at a time"):
        fit.counterfactual({"x": 0.0}, do={"x": 1.0}, outcome=["y", "w"])


def items(count: int, n: int = 400) -> tuple[ht.Fit, pd.DataFrame]:
    """Yes/no items with one cause, of which nothing is said but that all go together; y is that cause, nearly."""
    rng = np.random.default_rng(1)
    f = rng.normal(size=n)
    rows = pd.DataFrame({f"i{k}": (f + rng.normal(size=n) > 0.3 * (k % 3)) * 1.0 for k in range(count)})
    names = [*rows.columns, "y"]
    graph = "; ".join(f"{a} <-> {b}" for k, b in enumerate(names) for a in names[:k])
    kinds: Any = dict.fromkeys(rows.columns, "ordered")
    rows["y"] = f + 0.3 * rng.normal(size=n)
    return ht.fit(graph, rows, kinds=kinds), rows


def test_many_categories_are_integrated_over() -> None:
    fit, rows = items(7)
    seen = rows.drop(columns="y")
    found = fit.predict(seen.head(60), "y")
    model, layer = fit.model, fit.moments.layer
    assert layer is not None
    drawn = np.random.default_rng(2).multivariate_normal(model.mean, model.cov, size=1_000_000)
    order = [model.names.index(v) for v in rows.columns]
    cuts = [m.cuts[0] for m in (layer.margin(v) for v in seen.columns) if m is not None]
    codes = (drawn[:, order[:-1]] > np.array(cuts)) @ 2 ** np.arange(7)
    own = seen.head(60).to_numpy() @ 2 ** np.arange(7)
    looked = 0
    for k in np.unique(own).astype(int):
        there = drawn[codes == k, order[-1]]
        (mean, noise), *others = found.loc[own == k, ["y", "noise_sd"]].to_numpy()
        assert all(np.array_equal(other, (mean, noise)) for other in others)  # rows that say the same
        if len(there) > 2000:
            looked += 1
            assert abs(mean - there.mean()) < 5.0 * there.std() / np.sqrt(len(there)) + 1e-3
            assert noise == pytest.approx(there.std(), rel=0.06)
    assert looked > 10
    fit, rows = items(17)
    with pytest.raises(QueryError, match=r"17 columns in categories were seen .* more than the 16"):
        fit.predict(rows.drop(columns="y").head(2), "y")


@pytest.mark.parametrize("outcome", ["y", "w"])
def test_errors_by_drawn_rows_are_those_by_influence(outcome: str) -> None:
    fit, rows = five_points(400), scale(400).head(3)
    some = rows.drop(columns=outcome)
    usual = fit.predict(some, outcome)
    drawn = fit.predict(some, outcome, interval="bootstrap", replicates=150, random_state=1)
    np.testing.assert_array_equal(drawn[outcome], usual[outcome])
    np.testing.assert_allclose(drawn["se"], usual["se"], rtol=0.3)
    assert ((drawn["ci_low"] < drawn[outcome]) & (drawn[outcome] < drawn["ci_high"])).all()
    assert not np.allclose(drawn["ci_low"], usual["ci_low"])
    one = fit.query(f"E[{outcome} | x={float(some['x'][0])!r}, m={some['m'][0]}"
                    + (f", w={float(some['w'][0])!r}]" if outcome == "y" else f", y={some['y'][0]}]"),
                    interval="bootstrap", replicates=150, random_state=1)  # fmt: skip
    assert one.se == pytest.approx(drawn["se"][0], rel=0.02)


def test_errors_by_leaving_clusters_out_are_those_of_a_single_question() -> None:
    kinds: Any = OWN
    rows = scale(300).assign(site=np.arange(300) % 12)
    fit = ht.fit(GRAPH, rows, kinds=kinds, cluster="site")
    table = fit.predict(pd.DataFrame({"x": [0.4], "m": [2.0]}), "y", interval="jackknife")
    one = fit.query("P(y = 1 | x=0.4, m=2)", interval="jackknife")
    assert one.estimate is not None
    np.testing.assert_allclose(
        table[["se", "ci_low", "ci_high"]].iloc[0], [one.se, *one.estimate.intervals[0]], rtol=1e-6
    )


def test_drawn_rows_may_lack_a_value_that_is_asked_about() -> None:
    fit, rows = five_points(300), scale(300)
    most = float(rows["w"].max())
    answer = fit.query(f"E[y | w={most!r}]", interval="bootstrap", replicates=60)
    assert [n.code for n in answer.notes][-1] == "many replicates left out"
    found = fit.predict(pd.DataFrame({"w": [most, 1.0]}), "y", interval="bootstrap", replicates=60)
    assert answer.se == pytest.approx(found["se"][0])
    assert found["se"].notna().all()


def test_corrected_ends_are_on_the_scale_of_the_columns() -> None:
    """What rows add to a skewed mean is skewed, and to the variable behind it is not."""
    fit = five_points(300)
    skew = acceleration(fit, parse_question("E[w | do(x=1.5)]"), "bootstrap")
    behind = acceleration(fit, parse_question("E[x]"), "bootstrap")
    assert skew[0] > 5.0 * abs(behind[0])
