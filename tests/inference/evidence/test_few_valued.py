"""0/1 outcomes, few values and counts: what is noted, warned of and refused; robust errors, and that they hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import halftrek as ht
from halftrek.bottom.choices import Interval
from halftrek.data import read_moments
from halftrek.errors import DataError, QueryError
from halftrek.inference.evidence.few_valued import few_valued, kind_notes, parts_of, resting_on
from halftrek.inference.evidence.row_needs import left_out, needs_rows
from halftrek.inference.evidence.rows_behind import in_numbers
from halftrek.syntax import parse_question
from tests.narrow import interval_of, se_of

N = 4000


def rows(seed: int = 0, n: int = N) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    z = rng.normal(size=n)
    x = (rng.random(n) < 1.0 / (1.0 + np.exp(-z))).astype(float)
    y = (rng.random(n) < np.clip(0.05 + 0.08 * x + 0.01 * z, 0.0, 1.0)).astype(float)
    score = np.clip(np.round(3.0 + x + rng.normal(size=n)), 1, 5)
    visits = rng.poisson(np.exp(0.8 + 0.5 * x))
    wage = 2.0 * x + y + z + rng.normal(size=n)
    return pd.DataFrame({"z": z, "x": x, "y": y, "score": score, "visits": visits, "wage": wage})


GRAPH = "z -> x; z -> y; x -> y; x -> score; x -> visits; x -> wage; y -> wage; z -> wage"
FIT = ht.fit(GRAPH, rows())


def codes(question: str, fit: ht.Fit = FIT) -> set[str]:
    query = parse_question(question)
    return {note.code for note in few_valued(fit, query)}


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("x ~> y", {"linear probability"}),
        ("x -> y", {"linear probability"}),
        ("std(x ~> y)", {"linear probability"}),
        ("E[y | do(x=1)]", {"linear probability"}),
        ("E[y | do(x=1)] - E[y | do(x=0)]", {"linear probability"}),
        ("E[y_{x=1} - y_{x=0} | x=0]", {"linear probability"}),
        ("E[wage_{x=1} | x=0, z=1]", set()),
        ("E[wage | y=1]", set()),
        ("P(y | do(x=1))", {"linear probability", "not normal"}),
        ("Var[y | do(x=1)]", {"linear probability", "spread not equal"}),
        ("Cov[y, z | do(x=1)]", {"linear probability", "spread not equal"}),
        ("Corr[y, z]", {"linear probability"}),
        ("P(y_{x=1} | x=0, y=1)", {"linear probability", "not normal", "evidence of two values"}),
        ("E[wage | do(x=1), y > 0.5]", {"event of few values"}),
        ("E[wage | do(x=1), y=1]", {"evidence of two values"}),
        ("P(score > 3.5 | do(x=1))", {"event of few values"}),
        ("Q(0.9, score | do(x=1))", {"event of few values"}),
        ("P(visits > 5 | do(x=1))", {"event of few values"}),
        ("P(score, wage | do(x=1))", {"not normal"}),
        ("E[score | do(x=1)]", set()),
        ("x ~> visits", set()),
        ("x ~> wage", set()),
        ("P(wage > 2 | do(x=1))", set()),
        ("Var[wage | do(x=1)]", set()),
        ("E[z]", set()),
        ("x <-> y", {"linear probability"}),
    ],
)
def test_each_answer_says_what_it_takes_for_normal(question: str, expected: set[str]) -> None:
    assert codes(question) == expected


def test_warnings_reach_the_answer_and_notes_are_none() -> None:
    assert any("only the mean" in w for w in FIT.query("P(y | do(x=1))").warnings)
    assert any("takes it for normally distributed" in w for w in FIT.query("P(visits > 5 | do(x=1))").warnings)
    assert not FIT.query("x ~> wage").warnings
    assert any("linear probability" in text for text in FIT.query("x ~> y").remarks)
    (note,) = few_valued(FIT, parse_question("x ~> y"))
    assert note.level == "note"
    assert "linear probability" in str(note)
    assert note.short == "linear probability"


@pytest.mark.parametrize(
    ("question", "instead"),
    [
        ("P(y > 0.5 | do(x=1))", r"ask E\[y \| do\(x=1\)\], the probability that y is 1"),
        ("P(0 < y < 2 | do(x=1), z=1)", r"ask E\[y \| do\(x=1\), z=1\]"),
        ("P(y > 0.5 | do(x=1)) - P(y > 0.5 | do(x=0))", r"ask E\[y \| do\(x=1\)\]"),
        ("P(y_{x=1} > 0.5 | x=0)", r"ask E\[y_\{x=1\} \| x=0\]"),
        ("Q(0.5, y | do(x=1))", r"ask E\[y \| do\(x=1\)\]"),
        ("P(x > 0.5)", r"ask E\[x\]"),
    ],
)
def test_events_of_a_0_1_variable_are_refused_with_the_better_question(question: str, instead: str) -> None:
    with pytest.raises(QueryError, match=instead):
        FIT.query(question)
    better = ht.fit("z -> y", rows().assign(y=lambda d: 1.0 + d["y"]))
    with pytest.raises(QueryError, match=r"values 1 and 2.*ask E\[y \| do\(z=1\)\], its mean"):
        better.query("P(y > 1.5 | do(z=1))")
    assert codes("z ~> y", better) == {"two values"}


def test_the_better_question_gives_what_the_rows_say() -> None:
    """The example of the issue: P(y > 0.5 | do(x=1)) was far from the share of rows; the mean is not."""
    data = rows(3, 40_000)
    found = ht.fit("x -> y; z -> y; z -> x", data).query("E[y | do(x=1)]")
    truth = float(np.clip(0.13 + 0.01 * data["z"], 0.0, 1.0).mean())
    assert found.value == pytest.approx(truth, abs=3.5 * se_of(found))
    assert found.outcome is None  # and no normal spread of single units is told


def test_a_mean_outside_of_the_values_is_warned_of() -> None:
    assert any("outside of its values 0 and 1" in w for w in FIT.query("E[y | do(z=300)]").warnings)
    assert any("outside of its values" in w for w in FIT.query("P(y | do(z=-300))").warnings)
    assert not any("outside" in w for w in FIT.query("E[y | do(z=1)]").warnings)


def test_a_ratio_of_means_outside_of_the_values_is_warned_of_and_a_difference_is_not() -> None:
    for ratio in ("RR", "OR"):
        found = FIT.query(f"{ratio}(y | do(z=0) : do(z=-300))")
        assert found.value < 0.0  # which no ratio of risks can be
        assert sum("outside of its values 0 and 1" in w for w in found.warnings) == 1
    assert not any("outside" in w for w in FIT.query("RD(y | do(z=0) : do(z=-300))").warnings)
    assert not any("outside" in w for w in FIT.query("RR(y | do(z=1) : do(z=0))").warnings)


def test_a_single_value_is_refused_with_the_mean_as_a_way_out() -> None:
    with pytest.raises(ht.HalftrekError, match=r"ask E\[y \| do\(x=1\)\], the probability that y is 1"):
        FIT.query("P(y = 1 | do(x=1))")


# -- errors --------------------------------------------------------------------------------------


def test_robust_errors_are_the_default_where_the_answer_rests_on_a_0_1_equation() -> None:
    for question, kind in {
        "x ~> y": "robust",
        "E[y | do(x=1)]": "robust",
        "x ~> wage": "robust",  # through y
        "y ~> wage": "delta",  # y is the cause; its equation does not matter
        "x ~> score": "delta",
        "z ~> x": "robust",
        "Var[x]": "robust",
        "E[x]": "robust",
        "E[z]": "delta",
    }.items():
        assert needs_rows(FIT, parse_question(question)) == (kind == "robust"), question
        estimate = FIT.query(question).estimate
        assert estimate is not None
        assert estimate.kind == kind
    assert needs_rows(FIT)
    np.testing.assert_allclose(FIT.params()["se"], FIT.params(interval="robust")["se"])
    parts = list(parts_of(parse_question("x ~> wage")))
    assert resting_on(FIT.graph, parts[0]) == {"y", "wage"}


def test_another_interval_says_what_it_leaves_out() -> None:
    answer = FIT.query("x ~> y", interval="delta")
    assert any("equally spread" in w for w in answer.warnings)
    assert {note.code for note in left_out(FIT, answer.query)} == {"unequal spread ignored"}
    assert not FIT.query("x ~> y", interval="bootstrap", replicates=50).warnings
    alone = ht.fit(GRAPH, read_moments(rows()))
    assert alone.query("x ~> y").estimate.kind == "delta"  # type: ignore[union-attr]
    assert any("without the rows" in w for w in alone.query("x ~> y").warnings)
    plain = ht.fit("x -> y", cov=np.cov(rows()[["x", "y"]].T), n=N)
    assert not plain.query("x ~> y").warnings


def test_robust_intervals_cover_where_the_others_do_not() -> None:
    """A rare outcome whose spread moves with a skewed cause: 400 studies of 400 rows."""
    rng = np.random.default_rng(5)
    held: dict[Interval, int] = {"delta": 0, "robust": 0}
    for _ in range(400):
        x = rng.exponential(size=400)
        y = rng.random(400) < np.clip(0.02 + 0.08 * x, 0.0, 1.0)
        found = ht.fit("x -> y", np.column_stack([x, y.astype(float)]))
        for kind in held:
            low, high = interval_of(found.query("x -> y", interval=kind))
            held[kind] += low < 0.0784 < high
    assert held["delta"] < 360
    assert held["robust"] > 365


def test_groups_have_robust_errors_for_0_1_outcomes() -> None:
    data = rows().assign(g=np.arange(N) % 4)
    fits: Any = ht.fit("x -> y; z -> y", data, by="g")
    table = fits.query("x ~> y")
    own = ht.fit("x -> y; z -> y", data[data["g"] == 2]).query("x ~> y")
    assert table["se"][2] == pytest.approx(own.se, rel=1e-9)
    assert own.estimate is not None
    assert own.estimate.kind == "robust"
    with pytest.raises(QueryError, match="ask E"):
        fits.query("P(y > 0.5 | do(x=1))")
    assert "unequal spread ignored" in fits.invariance("x ~> y")["note"][0]


# -- tables, summaries, categories -----------------------------------------------------------------


def test_a_table_of_counterfactuals_warns() -> None:
    with pytest.warns(UserWarning, match="y has the 2 values 0 and 1"):
        FIT.counterfactual(rows()[["x", "z"]][:3], {"x": 1}, "y")
    FIT.counterfactual(rows()[["x", "z"]][:3], {"x": 1}, "wage")


def test_tables_of_effects_say_linear_probability() -> None:
    table = FIT.effects()
    assert (table["note"].str.contains("linear probability") == table["effect"].isin(["x", "y"])).all()
    rows = FIT.params().query("op == '~'")
    assert (rows["note"].str.contains("linear probability") == rows["lhs"].isin(["x", "y"])).all()
    assert FIT.decompose("z", "y").total.note == "linear probability"
    assert any("linear probability" in text for text in FIT.mediation("z", "y").warnings)


def test_the_summary_names_what_is_not_continuous() -> None:
    (note,) = kind_notes(FIT)
    assert "y has the 2 values 0 and 1" in str(note)
    assert "visits holds whole numbers from 0 on" in str(note)
    assert "score has the 5 values 1, 2, 3, 4 and 5" in str(note)
    assert "wage" not in str(note)
    assert "y has the 2 values 0 and 1" in " ".join(FIT.summary().split())
    assert not kind_notes(ht.fit("x -> wage; z -> wage", rows()))


LEVELS = rows().assign(
    region=np.array(["north", "south", "west"])[np.arange(N) % 3], smoker=lambda d: np.where(d["x"], "Yes", "no")
)
REGIONS = ht.fit("region -> wage; smoker -> wage", LEVELS, categories={"region": "north"})


def test_an_indicator_is_not_set_alone() -> None:
    alone = 'E[wage | do("region=south"=1)]'
    assert codes(alone, REGIONS) == {"indicator alone"}
    assert 'do(..., "region=west"=0)' in REGIONS.query(alone).warnings[0]
    assert not codes('E[wage | do("region=south"=1, "region=west"=0)]', REGIONS)
    assert not codes('"region=south" ~> wage', REGIONS)
    assert not codes('E[wage | do("region=south"=0)]', REGIONS)


def test_units_may_be_given_in_texts() -> None:
    unit = {"region": "south", "smoker": "YES", "wage": 2.0}
    assert in_numbers(REGIONS, unit) == {"region=south": 1.0, "region=west": 0.0, "smoker": 1.0, "wage": 2.0}
    found = REGIONS.counterfactual(unit, {"region": "west"}, "wage")
    effect = [REGIONS.effect(f"region={v}", "wage").value for v in ("west", "south")]
    assert found.value == pytest.approx(2.0 + effect[0] - effect[1])
    table = REGIONS.counterfactual(LEVELS[:5], {"region": "north"}, "wage")
    by_hand = {"region=south": 0.0, "region=west": 0.0}
    numbers = pd.DataFrame({"region=south": LEVELS["region"] == "south", "region=west": LEVELS["region"] == "west"})
    numbers = numbers.astype(float).assign(smoker=LEVELS["x"], wage=LEVELS["wage"])
    pd.testing.assert_frame_equal(table, REGIONS.counterfactual(numbers[:5], by_hand, "wage"))
    with pytest.raises(DataError, match="'east', which is none of its levels"):
        REGIONS.counterfactual({"region": "east"}, {"smoker": 1}, "wage")
