"""Kinds of columns: what is recognised, what is asked for, and answers on the scale of the columns."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import norm

import halftrek as ht
from halftrek.data import Moments
from halftrek.errors import DataError, InputError, QueryError
from halftrek.estimation import fit as fit_moments
from halftrek.inference.information.behind.layer_forms import layer_form
from halftrek.inference.information.influence import influence
from halftrek.layer import layer_of
from halftrek.queries.observed.values import observed
from halftrek.results.given.column_kinds import Kinds
from halftrek.syntax import parse_question

FRONT_DOOR = "x -> m -> y; x <-> y"
KINDS: Kinds = {"m": "ranked", "y": "ordered"}


def front_door(n: int, seed: int = 0) -> pd.DataFrame:
    """A hidden cause of x and y, a skewed mediator, a yes/no outcome."""
    rng = np.random.default_rng(seed)
    u = rng.normal(size=n)
    x = 0.6 * u + 0.8 * rng.normal(size=n)
    m = 0.7 * x + 0.7 * rng.normal(size=n)
    y = 0.6 * m + 0.5 * u + 0.6 * rng.normal(size=n)
    return pd.DataFrame({"x": x, "m": np.exp(m), "y": (y > 0.5).astype(float)})


def error_of(answer: ht.Answer) -> float:
    """The standard error of an answer that is one number."""
    assert isinstance(answer.se, float)
    return answer.se


def test_answers_are_those_of_the_model_that_made_the_rows() -> None:
    fit = ht.fit(FRONT_DOOR, front_door(40_000), kinds=KINDS)
    spread = np.sqrt(0.36 * 0.49 + 0.25 + 0.36)
    truths = {
        "P(y > 0 | do(x=1))": norm.sf((0.5 - 0.42) / spread),
        "E[y | do(x=1)] - E[y | do(x=0)]": norm.sf(0.08 / spread) - norm.sf(0.5 / spread),
        "P(y > 0 | do(m=2))": norm.sf((0.5 - 0.6 * np.log(2.0)) / np.sqrt(0.61)),
        "E[m | do(x=1)]": np.exp(0.7 + 0.245),
        "P(m > 2 | do(x=1))": norm.sf((np.log(2.0) - 0.7) / 0.7),
        "P(y < 1 | do(x=1))": norm.cdf((0.5 - 0.42) / spread),
    }
    for question, truth in truths.items():
        answer = fit.query(question)
        assert abs(answer.value - truth) < 4.0 * error_of(answer), question
        assert error_of(answer) < 0.02, question


def test_without_an_intervention_answers_are_what_the_rows_say() -> None:
    rows = front_door(500)
    fit = ht.fit("x -> m; x -> y; m -> y", rows, kinds=KINDS)
    assert fit.query("E[m]").value == pytest.approx(rows["m"].mean(), rel=1e-12)
    assert fit.query("P(y > 0)").value == pytest.approx(rows["y"].mean(), rel=1e-12)
    assert fit.query("E[y]").value == pytest.approx(rows["y"].mean(), rel=1e-12)
    assert fit.query("P(m > 2)").value == pytest.approx((rows["m"] > 2.0).mean(), abs=1e-12)


@pytest.mark.parametrize(
    "question",
    [
        "x ~> y",
        "P(y > 0 | do(x=1))",
        "E[m | do(x=1)]",
        "E[y | do(m=2)]",
        "RR(y > 0 | do(x=1) : do(x=0))",
        "E[x | y=1]",
        "E[m | do(x=1), y=1]",
        "E[m | x > 0, y=0]",
        "P(m > 2 | do(x=1), y=1)",
        "E[y | m=2]",
        "E[x | y=1, m > 1]",
    ],
)
def test_influence_on_an_answer_is_what_a_heavier_row_does(question: str) -> None:
    """The oracle weights a row a little more, and works out everything again."""
    rows, names = front_door(3000, 1).to_numpy(), ("x", "m", "y")
    graph, query = ht.graph(FRONT_DOOR), parse_question(question)

    def fitted(weights: Any = None) -> Any:
        layer = layer_of(names, rows, {"m": "ranked", "y": "ordered"}, weights)
        return fit_moments(graph, Moments(names, 3000.0, layer.mean, layer.cov, layer=layer)), layer

    def value(weights: Any = None) -> float:
        found, layer = fitted(weights)
        return observed(query, found.model, layer).values[0].value

    fit, layer = fitted()
    one = observed(query, fit.model, layer).values[0]
    cuts = {v: np.asarray(line)[None] for v, line in one.cuts.items()}
    form = layer_form(layer, influence(fit, (one.slope,)), cuts)
    some = np.arange(0, 3000, 120)
    fast = form.values(rows[some] - fit.moments.mean, fit.moments.cov)[:, 0]
    slow = []
    for row in some:
        weights = np.ones(3000)
        weights[row] = 1.01
        slow.append((value(weights) - value()) / 0.01 * 3000)
    gap, size = (float(np.sqrt(np.mean(np.square(x)))) for x in (fast - np.array(slow), np.array(slow)))
    assert gap < 0.06 * size


def test_bootstrap_and_influence_agree() -> None:
    fit = ht.fit(FRONT_DOOR, front_door(400, 2), kinds=KINDS)
    for question in ("x ~> y", "P(y > 0 | do(x=1))"):
        drawn = fit.query(question, interval="bootstrap", replicates=120, random_state=1)
        usual = fit.query(question)
        assert usual.estimate is not None
        assert usual.estimate.kind == "influence"
        assert drawn.se == pytest.approx(usual.se, rel=0.25)


@pytest.mark.parametrize("interval", ["delta", "t", "robust", "sandwich", "profile", "parametric"])
def test_intervals_that_need_a_likelihood_are_refused_by_name(interval: Any) -> None:
    fit = ht.fit(FRONT_DOOR, front_door(300), kinds=KINDS)
    with pytest.raises(InputError, match=f'interval="{interval}" is not known where columns are ordered or ranked'):
        fit.query("x ~> y", interval=interval)
    with pytest.raises(InputError, match="not known where columns are ordered or ranked"):
        fit.params(interval=interval)


def test_influence_is_for_fits_with_kinds() -> None:
    with pytest.raises(InputError, match='this fit has none; ask for interval="robust"'):
        ht.fit(FRONT_DOOR, front_door(300)).query("x ~> y", interval="influence")


def test_a_cause_in_categories_is_asked_about() -> None:
    rows = front_door(300).assign(smoker=lambda d: (d["x"] > 0).astype(float)).rename(columns={"m": "tar"})
    said = (
        "'smoker' has two values and causes 'tar': say what acts. kinds={'smoker': 'acts'} if being in the category is "
        "the cause, 'behind' if it is a cut of a continuous one."
    )
    with pytest.raises(DataError, match=re.escape(said)):
        ht.fit("smoker -> tar -> y", rows, kinds={"smoker": "ordered"})


def test_columns_of_two_values_are_as_ever_without_a_word() -> None:
    rows = front_door(300)
    plain, said = ht.fit("x -> y", rows), ht.fit("x -> y", rows, kinds={})
    assert plain.loglik == said.loglik
    assert plain.moments.layer is None
    assert any(n.code == "linear probability" for n in plain.query("x ~> y").notes)


def test_ordered_categoricals_are_recognised_and_lists_say_an_order() -> None:
    rows = front_door(400, 3)
    texts = np.array(["low", "mid", "high"])[np.digitize(rows["m"], [0.6, 1.5])]
    ordered = pd.Categorical(texts, ["low", "mid", "high"], ordered=True)
    in_polars = pl.DataFrame(
        {"x": rows["x"].to_numpy(), "m": pl.Series(texts.tolist(), dtype=pl.Enum(["low", "mid", "high"]))}
    )
    fits = [
        ht.fit("x -> m", pd.DataFrame({"x": rows["x"], "m": ordered})),
        ht.fit("x -> m", in_polars),
        ht.fit("x -> m", in_polars.lazy()),
        ht.fit("x -> m", pd.DataFrame({"x": rows["x"], "m": texts}), kinds={"m": ["low", "mid", "high"]}),
    ]
    for fit in fits:
        np.testing.assert_array_equal(fit.moments.cov, fits[0].moments.cov)
        assert "m is ordered (0 'low', 1 'mid', 2 'high')" in " ".join(fit.summary().split())
    assert fits[0].query("E[m | do(x=1)]").value > fits[0].query("E[m | do(x=0)]").value


def test_an_ordered_column_of_numbers_keeps_them() -> None:
    rows = front_door(400, 4)
    scale = pd.Categorical(np.digitize(rows["m"], [0.6, 1.5]) * 2 + 1, [1, 3, 5], ordered=True)
    fit = ht.fit("x -> m", pd.DataFrame({"x": rows["x"], "m": scale}))
    assert fit.query("E[m]").value == pytest.approx(np.asarray(scale, dtype=float).mean())


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("P(y | do(x=1))", r"P\(...\) of y, which is in categories, is no normal distribution; ask E\[y"),
        ("Var[m | do(x=1)]", "of m, which is ranked"),
        ("E[y | do(m=1000)]", "m is ranked and was seen from"),
        ("E[y | do(m += 1)]", "m is ranked: it can be held at a value"),
        ("P(y - m > 0)", "cannot be added up"),
        ("E[x | y=2]", "y has the values 0, 1"),
    ],
)
def test_questions_without_a_meaning_say_what_to_ask(question: str, said: str) -> None:
    fit = ht.fit(FRONT_DOOR, front_door(300), kinds=KINDS)
    with pytest.raises(QueryError, match=said):
        fit.query(question)


def test_what_was_cut_cannot_be_held() -> None:
    rows = front_door(300).assign(m=lambda d: np.digitize(d["m"], [0.6, 1.5]))
    fit = ht.fit(FRONT_DOOR, rows, kinds={"m": "behind", "y": "ordered"})
    with pytest.raises(QueryError, match="m is a cut of a continuous variable, and a category does not say"):
        fit.query("P(y > 0 | do(m=1))")
    assert fit.query("m ~> y").notes[0].code == "behind units"


def test_ends_belong_to_events_of_categories() -> None:
    rows = front_door(300).assign(m=lambda d: np.digitize(d["m"], [0.6, 1.5]))
    fit = ht.fit("x -> m", rows, kinds={"m": "ordered"})
    share = rows["m"].value_counts(normalize=True)
    for question, truth in {
        "P(m >= 1)": share[1] + share[2],
        "P(m > 1)": share[2],
        "P(m <= 1)": share[0] + share[1],
        "P(m < 1)": share[0],
        "P(0 < m < 2)": share[1],
        "P(0 <= m <= 2)": 1.0,
        "P(m > 5)": 0.0,
        "P(m = 0)": share[0],
        "P(m = 1)": share[1],
        "P(m=2)": share[2],
    }.items():
        assert fit.query(question).value == pytest.approx(truth, abs=1e-9), question


def test_named_contrasts_are_arithmetic() -> None:
    fit = ht.fit(FRONT_DOOR, front_door(500), kinds=KINDS)
    high, low = fit.query("P(y > 0 | do(x=1))").value, fit.query("P(y > 0 | do(x=0))").value
    found = {name: fit.query(f"{name}(y > 0 | do(x=1) : do(x=0))") for name in ("RD", "RR", "OR")}
    assert found["RD"].value == pytest.approx(high - low)
    assert found["RR"].value == pytest.approx(high / low)
    assert found["OR"].value == pytest.approx(high / (1 - high) / (low / (1 - low)))
    assert found["OR"].estimate is not None
    low_end, high_end = found["OR"].estimate.intervals[0]
    assert low_end * high_end == pytest.approx(found["OR"].value ** 2)  # even on logarithms
    assert str(parse_question("RR[y | do(x=1) : do(x=0)]")) == "E[y | do(x=1)] / E[y | do(x=0)]"


def test_clusters_of_equal_rows_tell_as_much_as_one_of_each() -> None:
    rows = front_door(300)
    twice = pd.concat([rows, rows], ignore_index=True).assign(home=np.tile(np.arange(300), 2))
    single = ht.fit(FRONT_DOOR, rows, kinds=KINDS).query("P(y > 0 | do(x=1))")
    pairs = ht.fit(FRONT_DOOR, twice, kinds=KINDS, cluster="home").query("P(y > 0 | do(x=1))")
    assert pairs.value == pytest.approx(single.value, abs=1e-9)
    assert pairs.se == pytest.approx(single.se, rel=0.01)


def test_weights_count_rows_or_stand_for_shares() -> None:
    rows = front_door(300)
    times = np.tile([1.0, 2.0, 3.0], 100)
    repeated = rows.loc[np.repeat(np.arange(300), times.astype(int))]
    counted = ht.fit(FRONT_DOOR, rows, kinds=KINDS, weights=times).query("x ~> y")
    spelt = ht.fit(FRONT_DOOR, repeated, kinds=KINDS).query("x ~> y")
    assert counted.value == pytest.approx(spelt.value)
    assert counted.se == pytest.approx(spelt.se)
    shares = ht.fit(FRONT_DOOR, rows, kinds=KINDS, sampling_weights=times).query("x ~> y")
    assert shares.value == pytest.approx(spelt.value)
    assert error_of(shares) > error_of(spelt)


def test_missing_values_are_used_pair_by_pair_and_said() -> None:
    rows = front_door(600)
    rows.loc[:99, "m"] = np.nan
    fit = ht.fit(FRONT_DOOR, rows, kinds=KINDS)
    assert "each correlation is from the rows that have both columns, at least 83%" in " ".join(fit.summary().split())
    dropped = ht.fit(FRONT_DOOR, rows, kinds=KINDS, missing="drop")
    assert dropped.n == 500
    assert error_of(fit.query("x ~> y")) < error_of(dropped.query("x ~> y")) * 1.05


def test_moments_and_unknown_kinds_are_refused_by_name() -> None:
    rows = front_door(300)
    with pytest.raises(DataError, match="kinds go with rows"):
        ht.fit(FRONT_DOOR, ht.moments(front_door(300)), kinds=KINDS)
    with pytest.raises(InputError, match="kinds names 'w', which is no variable"):
        ht.fit(FRONT_DOOR, rows, kinds={"w": "ordered"})
    wrong: Any = {"y": "binary"}
    with pytest.raises(InputError, match="'y' is one of 'plain', 'ordered', 'ranked', 'behind', 'acts'"):
        ht.fit(FRONT_DOOR, rows, kinds=wrong)


def test_the_test_of_fit_is_scaled() -> None:
    rows = front_door(500)
    fit = ht.fit("x -> m -> y", rows, kinds=KINDS)
    found, unscaled = fit.measures(), fit.measures(robust=False)
    assert found["chi2"] != unscaled["chi2"]
    assert found["pvalue"] < 0.001  # the hidden cause is left out
    assert np.isnan(found["aic"])
    assert "variables behind the columns" in found["test"]


@pytest.mark.parametrize("name", ["profile", "adjustments", "instruments", "assumptions"])
def test_what_is_not_known_is_refused_by_name(name: str) -> None:
    fit = ht.fit(FRONT_DOOR, front_door(300), kinds=KINDS)
    with pytest.raises(InputError, match=rf"fit\.{name}\(\) is not known where columns are ordered or ranked"):
        getattr(fit, name)("x ~> y")


def test_other_ways_to_what_is_not_known_are_refused_too() -> None:
    fit = ht.fit(FRONT_DOOR, front_door(300), kinds=KINDS)
    with pytest.raises(InputError, match=r"bounds of std\(x ~> y\) are not known"):
        fit.query("std(x ~> y)", bounds=True)
    with pytest.raises(InputError, match="likelihoods are not comparable"):
        ht.compare({"one": fit, "other": fit})
    with pytest.raises(InputError, match=r"what P\(y > 0 \| do\(x=1\)\) rests on is not known"):
        fit.tests("P(y > 0 | do(x=1))")
    with pytest.raises(InputError, match='estimator="dwls" goes with columns that are ordered'):
        ht.fit(FRONT_DOOR, front_door(300), estimator="dwls")
    with pytest.raises(InputError, match="noise cannot be used with kinds"):
        ht.fit(FRONT_DOOR, front_door(300), kinds=KINDS, noise="unit")


def test_a_weak_instrument_is_said_and_tables_are_made() -> None:
    rng = np.random.default_rng(5)
    z, u, e, f = rng.normal(size=(4, 400))
    x = 0.08 * z + u + e
    rows = {"z": z, "x": x, "y": (x + u + f > 0.0).astype(float)}
    fit = ht.fit("z -> x -> y; x <-> y", rows, kinds={"y": "ordered"})
    (said,) = fit.query("x ~> y").warnings
    assert "z is a weak instrument for x" in said
    assert "profile" not in said
    assert len(fit.params()) == 10
    assert len(fit.effects()) == 6


def test_a_report_and_a_picture_are_made(tmp_path: Path) -> None:
    fit = ht.fit(FRONT_DOOR, front_door(300), kinds=KINDS)
    page = fit.report(tmp_path / "report.html", ["P(y > 0 | do(x=1))", "x ~> y"]).read_text()
    assert "kinds={&#39;m&#39;: &#39;ranked&#39;, &#39;y&#39;: &#39;ordered&#39;}" in page
    axes = ht.plot.dose_response(fit, "m", "y")
    assert axes.get_ylabel() == "mean of y"


def test_what_a_category_tells_of_another_world() -> None:
    rng = np.random.default_rng(0)
    x, e = rng.normal(size=(2, 3000))
    fit = ht.fit("x -> y", {"x": x, "y": (0.8 * x + e > 0.3).astype(float)}, kinds={"y": "ordered"})
    now, held = norm.cdf(0.3), norm.cdf(0.3) - norm.cdf(-0.5)  # ill at x=1 and not at x=0
    for question, truth in {"P(y_{x=1} > 0 | x=0, y=0)": held / now, "P(y_{x=1} > 0, y_{x=0} < 1)": held}.items():
        answer = fit.query(question)
        assert abs(answer.value - truth) < 3.0 * error_of(answer), question
    sure = fit.query("E[y_{x=1} | x=0, y=1]")
    assert sure.value == pytest.approx(1.0)
    assert sure.notes[-1].code == "kinked behind"


def test_complete_rows_with_sampling_weights_are_not_called_incomplete() -> None:
    fit = ht.fit(FRONT_DOOR, front_door(300), kinds=KINDS, sampling_weights=np.tile([1.0, 2.0, 4.0], 100))
    assert "incomplete" not in fit.summary()
    assert fit.moments.layer is not None
    assert fit.moments.layer.complete
