"""Categories that act beside columns that are ordered, ranked or behind: the likelihood, what rows add, answers."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import halftrek as ht
from halftrek.bottom.arrays import Floats
from halftrek.bottom.choices import ColumnKind
from halftrek.errors import DataError, QueryError
from halftrek.estimation.acts.fit import Acting, fit_acting
from halftrek.estimation.acts.likelihood import own_places, row_logliks, scores
from halftrek.estimation.acts.places import in_units
from halftrek.estimation.acts.spread import row_influence
from halftrek.queries.observed.acting import acting_value
from halftrek.syntax import parse_question
from tests.estimation.acts.test_boxes import integral

MIXED = "z -> drug; income -> {drug, stress, y}; drug -> {stress, y, w}; stress -> {y, w}; drug <-> y"
KINDS: dict[str, ColumnKind] = {"y": "ordered", "income": "ranked", "stress": "behind", "drug": "acts"}
SLOPES = {
    ("z", "drug"): 0.8, ("income", "drug"): 0.4, ("income", "stress"): -0.5, ("income", "y"): 0.3,
    ("drug", "stress"): -0.7, ("drug", "y"): 0.6, ("drug", "w"): 0.5, ("stress", "y"): -0.5, ("stress", "w"): 0.8,
}  # fmt: skip
CUTS = {"drug": [0.3], "stress": [-1.0, 0.0, 0.8], "y": [0.0, 1.0]}


class World:
    """Rows of the mixed graph, made of errors: with the same errors and other changes they are counterfactual."""

    def __init__(self, n: int, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.z, self.income, self.stress, self.w = rng.normal(size=(4, n))
        self.drug, self.y = rng.multivariate_normal([0.0, 0.0], [[1.0, 0.5], [0.5, 1.0]], size=n).T

    def rows(self, drug: float | None = None, z: float | None = None) -> pd.DataFrame:
        first = self.z if z is None else np.full(len(self.z), z)
        treated = (0.8 * first + 0.4 * self.income + self.drug > 0.3).astype(float)
        treated = treated if drug is None else np.full(len(self.z), drug)
        stress = -0.5 * self.income - 0.7 * treated + self.stress
        y = 0.3 * self.income + 0.6 * treated - 0.5 * stress + self.y
        return pd.DataFrame({
            "z": first, "income": np.exp(10.0 + 0.8 * self.income), "drug": treated,
            "stress": np.digitize(stress, CUTS["stress"]).astype(float), "y": np.digitize(y, CUTS["y"]).astype(float),
            "w": 1.0 + 0.5 * treated + 0.8 * stress + 0.7 * self.w,
        })  # fmt: skip


def fitted(rows: pd.DataFrame, weights: Floats | None = None, **more: Any) -> tuple[ht.Graph, Acting]:
    graph = ht.graph(MIXED)
    return graph, fit_acting(graph, rows[list(graph.observed)].to_numpy(), KINDS, weights, **more)


def slow_loglik(model: Any, cuts: dict[str, Floats], row: dict[str, float]) -> float:
    """Of one row, given its category of the drug: all variables are sums of errors, worked out one after the other."""
    at = {v: i for i, v in enumerate(model.names)}
    size = len(at)
    mean, loads = {}, {}
    for v in ("z", "income", "drug", "stress", "y", "w"):  # an order in which causes come first
        mean[v], loads[v] = float(model.mu[at[v]]), np.eye(size)[at[v]]
        for u in at:
            b = float(model.T[at[u], at[v]])
            if b and u == "drug":
                mean[v] += b * row["drug"]
            elif b:
                mean[v] += b * mean[u]
                loads[v] = loads[v] + b * loads[u]
    L = np.stack([loads[v] for v in mean])
    cov, order = L @ model.W @ L.T, list(mean)
    seen, cut = [order.index(v) for v in ("z", "income", "w")], [order.index(v) for v in ("drug", "stress", "y")]
    middle = np.array(list(mean.values()))
    gap = np.array([row[order[i]] for i in seen]) - middle[seen]
    inside = cov[np.ix_(seen, seen)]
    density = stats.multivariate_normal(np.zeros(3), inside).logpdf(gap)
    slope = np.linalg.solve(inside, cov[np.ix_(seen, cut)])
    left = cov[np.ix_(cut, cut)] - cov[np.ix_(cut, seen)] @ slope
    ends = {order[i]: [-np.inf, *cuts[order[i]].tolist(), np.inf] for i in cut}
    low = [ends[order[i]][int(row[order[i]])] for i in cut]
    high = [ends[order[i]][int(row[order[i]]) + 1] for i in cut]
    return float(density + np.log(integral(np.array(low), np.array(high), middle[cut] + gap @ slope, left)))


def test_the_likelihood_is_that_of_a_slow_way() -> None:
    graph, found = fitted(World(300, 1).rows())
    rows = World(300, 1).rows()[:40]
    places, theta = found.places(graph), found.theta + 0.02  # anywhere
    model, margins = found.at(graph, theta)
    cuts = {v: m.cuts for v, m in margins.items() if m.cut}
    values = rows[list(graph.observed)].to_numpy()
    standard = in_units(graph.observed, values, found.margins, found.centre, found.scale)
    fast = np.zeros(len(rows))
    for district in places.districts:
        each = row_logliks(places, district, theta, standard)
        assert each is not None
        fast += each
    rows["income"] = found.margins["income"].behind(rows["income"].to_numpy())
    slow = [slow_loglik(model, cuts, row) for row in rows.to_dict("records")]
    np.testing.assert_allclose(fast, slow, rtol=0.0, atol=2e-5)


def test_slopes_of_the_likelihood_are_differences_of_it() -> None:
    rows = World(200, 2).rows()
    graph, found = fitted(rows)
    places, theta = found.places(graph), found.theta + 0.01
    values = rows[list(graph.observed)].to_numpy()
    standard = in_units(graph.observed, values, found.margins, found.centre, found.scale)
    assert sorted(len(d.cut) for d in places.districts) == [0, 0, 3]
    for district in places.districts:
        at = own_places(district)
        fast = scores(places, district, theta, standard, at)
        assert fast is not None
        for k, place in enumerate(at):
            step = np.zeros(len(theta))
            step[place] = 1e-4
            up, down = (row_logliks(places, district, theta + side * step, standard) for side in (1.0, -1.0))
            assert up is not None
            assert down is not None
            np.testing.assert_allclose(fast[:, k], (up - down) / 2e-4, rtol=1e-3, atol=1e-3)


def test_what_a_row_adds_is_what_a_little_more_of_it_changes() -> None:
    """Also by its share in the ranks of others, which nothing but another fit knows of."""
    graph, found = fitted(World(400, 3).rows())
    values = World(400, 3).rows()[list(graph.observed)].to_numpy()
    adds = row_influence(found.places(graph), found.theta, values, np.ones(400))
    assert np.abs(adds.sum(axis=0) / np.sqrt((adds**2).sum(axis=0))).max() < 0.05
    for row in (0, int(np.argmax(values[:, list(graph.observed).index("income")])), 7):
        weights = np.ones(400)
        weights[row] += 0.02
        again = fit_acting(graph, values, KINDS, weights, start=found.theta, like=found)
        moved = (again.theta - found.theta) / 0.02
        np.testing.assert_allclose(adds[row], moved, atol=0.06 * np.abs(moved).max())


def test_truth_lies_within_standard_errors() -> None:
    """Three samples of ten parameters: ``python -m benchmarks.acting`` counts over many."""
    graph, found = ht.graph(MIXED), []
    for seed in range(3):
        _, one = fitted(World(700, 40 + seed).rows())
        assert one.converged
        for district in one.places(graph).districts:
            error = np.sqrt(np.diag(one.spread))
            for u, v, place in district.slopes:
                truth = SLOPES[graph.observed[u], graph.observed[v]] * one.scale[u] / one.scale[v]
                found.append((one.theta[place] - truth) / error[place])
            found += [(one.theta[place] - 0.5) / error[place] for *_, place in district.covariances]
    assert len(found) == 30
    assert np.abs(found).max() < 4.0
    assert 0.5 < np.mean(np.square(found)) < 1.9  # the mean of 30 squares of standard normal errors


def test_answers_are_those_of_simulated_worlds() -> None:
    graph, found = fitted(World(800, 5).rows())
    places, theta = found.places(graph), found.theta.copy()
    z, w = graph.observed.index("z"), graph.observed.index("w")
    for district in places.districts:  # the parameters that made the rows, not those that were found
        for u, v, place in district.slopes:
            theta[place] = SLOPES[graph.observed[u], graph.observed[v]] * found.scale[u] / found.scale[v]
        for i, place in district.intercepts.items():
            theta[place] = {"z": -found.centre[z], "w": 1.0 - found.centre[w], "income": 0.0}[graph.observed[i]]
            theta[place] /= found.scale[i]
        for i, place in district.spreads.items():
            theta[place] = np.log({"z": 1.0, "w": 0.7, "income": 1.0}[graph.observed[i]] / found.scale[i])
        for i, (first, last) in district.cuts.items():
            theta[first:last] = CUTS[graph.observed[i]]
        for *_, place in district.covariances:
            theta[place] = 0.5
    drug = next(first for d in places.districts for i, (first, _) in d.cuts.items() if graph.observed[i] == "drug")
    theta[drug] -= SLOPES["z", "drug"] * found.centre[z]
    model, margins = found.at(graph, theta)
    world = World(400_000, 6)
    now, held, done = world.rows(), world.rows(drug=1.0), world.rows(z=1.0)
    near = np.abs(now["w"] - 1.0) < 0.1
    untreated = now["drug"] == 0.0
    for question, simulated in {
        "P(y > 0 | do(drug=1))": (held["y"] > 0).mean(),
        "P(stress > 1 | do(drug=1))": (held["stress"] > 1).mean(),
        "E[y | do(z=1)]": done["y"].mean(),
        "E[w | do(z=1)]": done["w"].mean(),
        "P(income > 30000)": (now["income"] > 30000).mean(),
        "P(income > 30000 | drug=1)": (now["income"] > 30000)[now["drug"] == 1.0].mean(),
        "E[w | stress=2]": now["w"][now["stress"] == 2.0].mean(),
        "E[y | w=1]": now["y"][near].mean(),
        "P(drug = 1 | w=1)": now["drug"][near].mean(),
        "E[y_{drug=1} | drug=0]": held["y"][untreated].mean(),
        "P(y_{drug=1} > 0 | drug=0, y=0)": (held["y"] > 0)[untreated & (now["y"] == 0.0)].mean(),
        "E[w_{drug=1} | drug=0, stress=3]": held["w"][untreated & (now["stress"] == 3.0)].mean(),
        "E[y_{z=1} | y=0]": done["y"][now["y"] == 0.0].mean(),
    }.items():
        assert acting_value(parse_question(question), model, margins) == pytest.approx(simulated, abs=0.015), question


def test_a_mixed_fit_answers_travels_and_is_saved(tmp_path: Path) -> None:
    rows = World(600, 8).rows()
    fit = ht.fit(MIXED, rows, kinds=KINDS)
    share = float((rows["income"] > 30000).mean())
    seen = fit.query("P(income > 30000)")
    assert seen.value == pytest.approx(share, abs=2e-3)
    assert seen.se == pytest.approx(np.sqrt(share * (1.0 - share) / 600), rel=0.02)
    mean = fit.query("E[income]")
    assert mean.value == pytest.approx(rows["income"].mean(), rel=5e-3)
    assert mean.se == pytest.approx(rows["income"].std() / np.sqrt(600), rel=0.1)
    risk = "RD(y > 0 | do(drug=1) : do(drug=0))"
    fit.save(tmp_path / "fit.json")
    for again in (pickle.loads(pickle.dumps(fit)), ht.load(tmp_path / "fit.json")):
        assert again.query(risk).value == fit.query(risk).value
        assert again.query(risk).se == fit.query(risk).se
    text = str(fit.summary())
    for piece in ("drug acts as the category it is (0, 1)", "income is ranked (600 values)", "y is ordered (0, 1, 2)"):
        assert piece in " ".join(text.split())
    assert "a standard deviation of its error" in str(fit.query("stress ~> w"))


def test_units_of_columns_change_nothing() -> None:
    rows = World(300, 9).rows()
    one = ht.fit(MIXED, rows, kinds=KINDS)
    other = ht.fit(MIXED, rows.assign(income=np.log(rows["income"]), z=100.0 + 5.0 * rows["z"]), kinds=KINDS)
    for question in ("P(y > 0 | do(drug=1))", "P(stress > 1 | do(drug=1))", "E[w | do(drug=0)]"):
        a, b = one.query(question), other.query(question)
        assert a.value == pytest.approx(b.value, abs=1e-5)
        assert a.se == pytest.approx(b.se, rel=1e-3)


def test_rows_drawn_again_tell_the_same_errors() -> None:
    rows = World(250, 10).rows()[["z", "income", "drug", "w"]]
    fit = ht.fit("z -> drug -> w; drug <-> w; income -> drug", rows, kinds={"drug": "acts", "income": "ranked"})
    for question in ("income -> drug", "P(drug = 1 | do(income=30000))"):
        usual, drawn = fit.query(question), fit.query(question, interval="bootstrap", replicates=25)
        assert drawn.se == pytest.approx(usual.se, rel=0.5), question


def test_what_is_not_right_is_refused_by_name() -> None:
    rows = World(300, 11).rows()
    with pytest.raises(DataError, match="'y' has few values and causes 'w': say what acts"):
        ht.fit("z -> drug -> y -> w", rows, kinds={"drug": "acts", "y": "ordered"})
    fit = ht.fit("z -> drug -> stress -> w; income -> w", rows, kinds={"drug": "acts", "stress": "behind"})
    with pytest.raises(QueryError, match="stress is a cut of a continuous variable"):
        fit.query("E[w | do(stress=1)]")
    many = " ; ".join(f"drug -> a{k}; a{k} <-> a{k + 1}" for k in range(6))
    rng = np.random.default_rng(1)
    wide = rows[["drug"]].assign(**{f"a{k}": (rng.normal(size=300) > 0).astype(float) for k in range(7)})
    with pytest.raises(DataError, match="more than the 5 of which the likelihood is known"):
        ht.fit(
            f"z -> drug; {many}", wide.assign(z=rows["z"]),
            kinds={"drug": "acts", **{f"a{k}": "ordered" for k in range(7)}},
        )  # fmt: skip


def test_three_categories_that_act_share_a_hidden_cause() -> None:
    rng = np.random.default_rng(12)
    z, v, hidden = rng.normal(size=(3, 900))
    first = (0.9 * z + 0.6 * hidden + 0.8 * rng.normal(size=900) > 0.0).astype(float)
    second = (0.9 * v + 0.8 * first + 0.6 * hidden + 0.8 * rng.normal(size=900) > 0.3).astype(float)
    ill = (first - 0.5 * second + 0.6 * hidden + 0.8 * rng.normal(size=900) > 0.2).astype(float)
    rows = pd.DataFrame({"z": z, "v": v, "first": first, "second": second, "ill": ill})
    graph = "z -> first -> {second, ill}; v -> second -> ill; first <-> second; first <-> ill; second <-> ill"
    fit = ht.fit(graph, rows, kinds={"first": "acts", "second": "acts", "ill": "ordered"})
    assert fit.converged
    for question, truth in {"first -> ill": 1.0, "second -> ill": -0.5, "first -> second": 0.8}.items():
        answer = fit.query(question)
        assert isinstance(answer.se, float)
        assert answer.value == pytest.approx(truth, abs=3.5 * answer.se), question


def test_rows_with_holes_are_left_out_when_that_is_said() -> None:
    rows = World(300, 13).rows()[["z", "drug", "w"]]
    graph, holes = "z -> drug -> w; drug <-> w", rows.copy()
    holes.loc[:9, "z"] = np.nan
    dropped = ht.fit(graph, holes, kinds={"drug": "acts"}, missing="drop").query("drug ~> w")
    assert dropped.value == ht.fit(graph, rows[10:], kinds={"drug": "acts"}).query("drug ~> w").value
