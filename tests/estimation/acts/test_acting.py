"""Categories that act: the likelihood against a slow one, its slopes, and the truth of simulated rows."""

import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import halftrek as ht
from halftrek.bottom.arrays import Floats
from halftrek.errors import InputError, QueryError
from halftrek.estimation.acts.fit import fit_acting
from halftrek.estimation.acts.likelihood import own_places, row_logliks, scores
from halftrek.inference.how import How
from halftrek.inference.standard_errors.acting import _replicates, acting_parameters, value_where_acting
from halftrek.queries.observed.acting import acting_value
from halftrek.syntax import parse_question

INSTRUMENT = "z -> d -> y; d <-> y"


def instrument(n: int, seed: int, *, acts: bool = True) -> pd.DataFrame:
    """An instrument, a treatment of two values, an outcome, and one in two categories; the effect is 1.

    Without ``acts`` the variable behind the treatment is what has the effect.
    """
    rng = np.random.default_rng(seed)
    z, u = rng.normal(size=(2, n))
    behind = 0.8 * z + 0.6 * u + 0.8 * rng.normal(size=n)
    d = (behind > 0.3).astype(float)
    y = (d if acts else behind) + 0.7 * u + np.sqrt(0.51) * rng.normal(size=n)
    return pd.DataFrame({"z": z, "d": d, "y": y, "ill": (y > 0.5).astype(float)})


def slow_loglik(model: Any, cuts: dict[str, Floats], row: dict[str, float]) -> float:
    """Of one row of the instrument graph with both d and its effect in categories, by scipy's bivariate normal."""
    at = model.names.index
    low, high = [], []
    for v, cause in (("d", "z"), ("ill", "d")):
        line = model.T[at(cause), at(v)] * row[cause] + model.mu[at(v)]
        ends = [-9.0, float(cuts[v][0]) - line, 9.0]
        low.append(ends[int(row[v])])
        high.append(ends[int(row[v]) + 1])
    normal = stats.multivariate_normal([0.0, 0.0], model.W[np.ix_([at("d"), at("ill")], [at("d"), at("ill")])])
    box = normal.cdf(high) - normal.cdf([low[0], high[1]]) - normal.cdf([high[0], low[1]]) + normal.cdf(low)
    plain = stats.norm.logpdf(row["z"], model.mu[at("z")], np.sqrt(model.W[at("z"), at("z")]))
    return float(np.log(box) + plain)


def test_the_likelihood_of_rows_is_that_of_a_slow_way() -> None:
    rows, graph = instrument(60, 1), ht.graph("z -> d -> ill; d <-> ill")
    values = rows[list(graph.observed)].to_numpy()
    found = fit_acting(graph, values, {"d": "acts", "ill": "ordered"})
    model, margins = found.at(graph, found.theta)
    cuts = {v: m.cuts for v, m in margins.items()}
    slow = sum(slow_loglik(model, cuts, dict(zip(graph.observed, row, strict=True))) for row in values.tolist())
    assert found.loglik == pytest.approx(slow, rel=1e-6)


@pytest.mark.parametrize("outcome", ["y", "ill"])
def test_slopes_of_the_likelihood_are_differences_of_it(outcome: str) -> None:
    graph = ht.graph(f"z -> d -> {outcome}; d <-> {outcome}")
    rows = instrument(400, 2)[list(graph.observed)].to_numpy()
    found = fit_acting(graph, rows, {"d": "acts", **({"ill": "ordered"} if outcome == "ill" else {})})
    places, theta = found.places(graph), found.theta + 0.01
    standard = (rows - found.centre) / found.scale
    assert len(places.districts) == 2
    for district in places.districts:
        at = own_places(district)
        fast = scores(places, district, theta, standard, at)
        assert fast is not None
        for k, place in enumerate(at):
            step = np.zeros(len(theta))
            step[place] = 1e-5
            up, down = (row_logliks(places, district, theta + side * step, standard) for side in (1.0, -1.0))
            assert up is not None
            assert down is not None
            np.testing.assert_allclose(fast[:, k], (up - down) / 2e-5, rtol=1e-5, atol=1e-5)


def test_a_regression_on_a_category_without_causes_is_the_plain_one() -> None:
    rows = instrument(300, 3)
    said, plain = ht.fit("d -> y", rows, kinds={"d": "acts"}), ht.fit("d -> y", rows)
    assert said.query("d ~> y").value == plain.query("d ~> y").value
    assert said.query("d ~> y").se == plain.query("d ~> y").se


def test_a_probit_regression_has_its_own_maximum() -> None:
    rows, graph = instrument(400, 4), ht.graph("d -> ill; z -> ill")
    found = fit_acting(graph, rows[list(graph.observed)].to_numpy(), {"d": "acts", "ill": "ordered"})
    model, margins = found.at(graph, found.theta)
    at = model.names.index
    line = model.T[at("d"), at("ill")] * rows["d"] + model.T[at("z"), at("ill")] * rows["z"] - margins["ill"].cuts[0]
    residual = (
        (rows["ill"] - stats.norm.cdf(line)) * stats.norm.pdf(line) / (stats.norm.cdf(line) * stats.norm.sf(line))
    )
    for regressor in (np.ones(400), rows["d"], rows["z"]):  # the equations that a probit solves
        assert abs(float(residual @ regressor)) < 1e-3


def test_both_kinds_of_cause_recover_their_own_truth() -> None:
    """The benchmark layer_recovery has 100 samples of 4,000; here are few, and their mean has its own error."""
    kinds: list[Any] = ["acts", "behind"]
    for kind in kinds:
        found = []
        for seed in range(4):
            rows = instrument(4000, 100 + seed, acts=kind == "acts")
            fit = ht.fit(INSTRUMENT, rows, kinds={"d": kind})
            scale = 1.0 if kind == "acts" else np.sqrt(0.64 + 1.0)  # of what is behind, which counts as 1
            found.append(float(fit.query("d ~> y").value) / scale)
        assert abs(np.mean(found) - 1.0) < 4.0 * np.std(found, ddof=1) / 2.0
        assert abs(np.mean(found) - 1.0) < 0.1


def test_answers_are_those_of_simulated_worlds() -> None:
    graph = ht.graph("z -> d -> ill; d <-> ill; d -> w; z -> w")
    rng = np.random.default_rng(5)

    def world(n: int, z: float | None = None, d: float | None = None) -> dict[str, Floats]:
        u = rng.normal(size=n)
        first = rng.normal(size=n) if z is None else np.full(n, z)
        behind = 0.8 * first + 0.6 * u + 0.8 * rng.normal(size=n)
        second = (behind > 0.3).astype(float) if d is None else np.full(n, d)
        ill = (second + 0.7 * u + np.sqrt(0.51) * rng.normal(size=n) > 0.5).astype(float)
        return {"z": first, "d": second, "ill": ill, "w": 2.0 * second - first + rng.normal(size=n)}

    rows = world(4000)
    found = fit_acting(graph, np.stack([rows[v] for v in graph.observed], axis=1), {"d": "acts", "ill": "ordered"})
    theta = found.theta.copy()
    places = found.places(graph)
    truth = {("z", "d"): 0.8, ("d", "ill"): 1.0, ("d", "w"): 2.0, ("z", "w"): -1.0}
    for district in places.districts:  # the parameters that made the rows, not those that were found
        for u, v, place in district.slopes:
            names = (graph.observed[u], graph.observed[v])
            theta[place] = truth[names] * found.scale[u] / found.scale[v]
        for i, place in district.intercepts.items():
            at = {"z": 0.0, "w": 0.0}[graph.observed[i]] - found.centre[i]
            if graph.observed[i] == "w":
                at -= found.centre[graph.observed.index("z")]
            theta[place] = at / found.scale[i]
        for i, place in district.spreads.items():
            theta[place] = np.log(1.0 / found.scale[i])
        for i, (first, _) in district.cuts.items():
            theta[first] = {"d": 0.3, "ill": 0.5}[graph.observed[i]]
            for u, v, place in district.slopes:
                if v == i:
                    theta[first] -= theta[place] * found.centre[u] / found.scale[u]
        for *_, place in district.covariances:
            theta[place] = 0.42
    model, margins = found.at(graph, theta)
    n = 400_000
    now, done, held = world(n), world(n, z=1.0), world(n, d=1.0)
    for question, simulated in {
        "P(ill > 0 | do(d=1))": held["ill"].mean(),
        "P(ill > 0 | do(z=1))": done["ill"].mean(),
        "E[w | do(z=1)]": done["w"].mean(),
        "P(ill > 0 | d=1)": now["ill"][now["d"] == 1.0].mean(),
        "P(d > 0)": now["d"].mean(),
        "E[w | ill=1]": now["w"][now["ill"] == 1.0].mean(),
        "P(w > 1, ill > 0 | do(z=1))": ((done["w"] > 1.0) & (done["ill"] > 0.0)).mean(),
        "E[w | d=1, ill=0]": now["w"][(now["d"] == 1.0) & (now["ill"] == 0.0)].mean(),
    }.items():
        assert acting_value(parse_question(question), model, margins) == pytest.approx(simulated, abs=0.01), question


def test_intervals_by_the_sandwich_and_by_rows_drawn_again() -> None:
    fit = ht.fit(INSTRUMENT, instrument(300, 6), kinds={"d": "acts"})
    usual, drawn = fit.query("d ~> y"), fit.query("d ~> y", interval="bootstrap", replicates=20)
    assert usual.estimate is not None
    assert usual.estimate.kind == "influence"
    assert drawn.se == pytest.approx(usual.se, rel=0.4)
    values = [value_where_acting(fit, parse_question("d ~> y"), one.theta) for one in _replicates(fit, 20, 0, None)]
    assert drawn.interval == pytest.approx(np.quantile(values, [0.025, 0.975]), rel=1e-9)
    table = fit.params().set_index(["lhs", "op", "rhs"])
    assert table.loc[("y", "~", "d"), "se"] == pytest.approx(usual.se, rel=1e-4)
    assert ("d", "|", "t1") in table.index


def test_what_rows_do_not_determine_leaves_the_rest_its_errors() -> None:
    fit = ht.fit(INSTRUMENT, instrument(300, 6), kinds={"d": "acts"})
    acting = fit.acting
    assert acting is not None
    spread = acting.spread.copy()
    spread[0], spread[:, 0] = np.nan, np.nan
    usual, left = (
        acting_parameters(f, How(interval=None)) for f in (fit, replace(fit, acting=replace(acting, spread=spread)))
    )
    lost = [np.isnan(line.se) for line in left]
    assert 0 < sum(lost) < len(lost)
    assert all(gone or line.se == known.se for gone, line, known in zip(lost, left, usual, strict=True))


def test_clusters_of_equal_rows_tell_as_much_as_one_of_each() -> None:
    rows = instrument(300, 7)
    twice = pd.concat([rows, rows], ignore_index=True).assign(home=np.tile(np.arange(300), 2))
    single = ht.fit(INSTRUMENT, rows, kinds={"d": "acts"}).query("d ~> y")
    pairs = ht.fit(INSTRUMENT, twice, kinds={"d": "acts"}, cluster="home").query("d ~> y")
    assert pairs.value == pytest.approx(single.value, abs=1e-5)
    assert pairs.se == pytest.approx(single.se * np.sqrt(300 / 299), rel=2e-4)  # few clusters: c / (c - 1)


def test_what_is_not_known_is_refused_by_name() -> None:
    rows = instrument(400, 8)
    fit = ht.fit("z -> d -> ill; d <-> ill", rows, kinds={"d": "acts", "ill": "ordered"})
    with pytest.raises(QueryError, match="d lies between and acts as a category"):
        fit.query("z ~> ill")
    with pytest.raises(QueryError, match="can be held at one of its values: 0, 1"):
        fit.query("P(ill > 0 | do(d=2))")
    with pytest.raises(QueryError, match="is not known where a category acts"):
        fit.query("std(d ~> ill)")
    with pytest.raises(InputError, match='interval="profile" is not known where a category acts'):
        fit.query("d ~> ill", interval="profile")
    for name in ("residuals", "r2", "decompose", "modifications"):
        with pytest.raises(InputError, match=rf"fit\.{name}\(\) is not known where a category acts"):
            getattr(fit, name)()


def test_a_fit_travels_and_is_saved(tmp_path: Path) -> None:
    fit = ht.fit("z -> d -> ill; d <-> ill", instrument(300, 9), kinds={"d": "acts", "ill": "ordered"})
    fit.save(tmp_path / "fit.json")
    asked = "RD(ill > 0 | do(d=1) : do(d=0))"
    for again in (pickle.loads(pickle.dumps(fit)), ht.load(tmp_path / "fit.json")):  # intervals need no rows
        assert again.query(asked).value == fit.query(asked).value
        assert again.query(asked).se == fit.query(asked).se
