"""Models side by side: criteria, nested pairs, one question under each."""

from __future__ import annotations

import numpy as np
import pytest

import halftrek as ht
from halftrek.comparison.nesting import contained
from halftrek.errors import DataError, InputError
from halftrek.simulation import random_model

TRUTH = ht.graph("x -> m -> y; x <-> y; w -> x; w -> y")
ROWS = random_model(TRUTH, random_state=1).sample(2000, random_state=2)
GRAPHS = {
    "truth": TRUTH,
    "no w -> y": "x -> m -> y; x <-> y; w -> x; y",
    "turned": "x -> m -> y; x <-> y; x <-> w; w -> y",
    "no m -> y": "x -> m; x <-> y; w -> x; w -> y",
    "direct": "x -> m -> y; x -> y; w -> x; w -> y",
    "bow": "x -> m; x -> y; x <-> y; m -> y; w -> x; w -> y",
}
COMPARED = ht.compare(GRAPHS, ROWS, "x ~> y")


def test_criteria_are_those_of_each_fit() -> None:
    frame = COMPARED.frame.set_index("name")
    for name, graph in GRAPHS.items():
        own = ht.fit(graph, ROWS).measures()
        for column in ("loglik", "parameters", "df", "chi2", "aic", "bic"):
            assert frame.loc[name, column] == pytest.approx(own[column], rel=1e-9, abs=1e-6)
    assert frame["aic"].is_monotonic_increasing
    assert frame["delta_aic"].to_numpy() == pytest.approx((frame["aic"] - frame["aic"].min()).to_numpy())
    assert frame["delta_bic"].min() == 0.0
    raw = np.exp(-0.5 * frame["delta_aic"].to_numpy())
    assert frame["weight"].to_numpy() == pytest.approx(raw / raw.sum())


def test_nested_pairs_and_their_tests() -> None:
    tests = COMPARED.tests.set_index(["smaller", "larger"])
    small, large = ht.fit(GRAPHS["no w -> y"], ROWS), ht.fit(TRUTH, ROWS)
    row = tests.loc[("no w -> y", "truth")]
    assert row["statistic"] == pytest.approx(2.0 * (large.loglik - small.loglik), abs=1e-6)
    assert row["df"] == 1
    assert row["verdict"] == "smaller contradicted"
    assert ("truth", "turned") in tests.index
    assert tests.loc[("truth", "turned"), "df"] == 0
    assert "cannot tell" in tests.loc[("truth", "turned"), "verdict"]
    assert COMPARED.unrelated == (("no w -> y", "no m -> y"),)


def test_models_with_the_same_covariances_under_different_edges_are_found() -> None:
    """ "truth" and "direct" both say that w and m are independent given x, and nothing else."""
    row = COMPARED.tests.set_index(["smaller", "larger"]).loc[("truth", "direct")]
    assert row["df"] == 0
    assert row["statistic"] == pytest.approx(0.0, abs=1e-5)


def test_degrees_of_freedom_of_a_pair_count_what_data_determine() -> None:
    """The bow has two edges more than "direct" less one, and its model is saturated but for one constraint."""
    row = COMPARED.tests.set_index(["smaller", "larger"]).loc[("truth", "bow")]
    frame = COMPARED.frame.set_index("name")
    assert row["df"] == frame.loc["bow", "parameters"] - frame.loc["truth", "parameters"]


def test_the_question_under_each_model() -> None:
    answers = COMPARED.answers.set_index("name")
    own = ht.fit(TRUTH, ROWS).effect("x", "y")
    assert answers.loc["truth", "estimate"] == pytest.approx(own.value)
    assert answers.loc["truth", ["low", "high"]].to_numpy(float) == pytest.approx(own.interval)
    assert np.isnan(answers.loc["bow", "estimate"])
    assert "not" in answers.loc["bow", "note"]


def test_text_fits_the_page_and_says_all() -> None:
    text = str(COMPARED)
    assert max(map(len, text.splitlines())) <= 80
    for name in GRAPHS:
        assert name in text
    assert "Not nested" in text
    assert "x ~> y" in text


def test_an_outcome_for_each_of_several() -> None:
    found = ht.compare({"a": TRUTH, "b": GRAPHS["turned"]}, ROWS, "P(y, m | do(x=1))")
    assert found.answers["outcome"].tolist() == ["y", "m", "y", "m"]
    assert max(map(len, str(found).splitlines())) <= 80


def test_fits_may_be_given() -> None:
    fits = {name: ht.fit(graph, ROWS) for name, graph in list(GRAPHS.items())[:2]}
    assert (
        ht.compare(fits).frame["loglik"].tolist() == COMPARED.frame.set_index("name").loc[list(fits), "loglik"].tolist()
    )
    assert ht.compare(fits).answers.empty


def test_different_data_are_warned_of_and_not_tested() -> None:
    found = ht.compare({"a": ht.fit(TRUTH, ROWS), "b": ht.fit(GRAPHS["no w -> y"], ROWS[:1000])})
    assert any("different data" in w for w in found.warnings)
    assert found.tests.empty
    assert "different data" in str(found)


def test_different_data_with_holes_are_told_from_the_same() -> None:
    """As many rows, the same holes, other values; the same rows with variables in another order are the same."""
    incomplete = {v: np.array(ROWS[:300, i]) for i, v in enumerate(TRUTH.observed)}
    incomplete["x"][::3] = np.nan
    other = incomplete | {"x": incomplete["x"] + np.eye(1, 300, 1)[0]}
    graph = GRAPHS["no w -> y"]
    turned = dict(reversed(incomplete.items()))
    assert not ht.compare({"a": ht.fit(TRUTH, incomplete), "b": ht.fit(graph, turned)}).warnings
    assert any(
        "different data" in w for w in ht.compare({"a": ht.fit(TRUTH, incomplete), "b": ht.fit(graph, other)}).warnings
    )


def test_refusals_name_the_fix() -> None:
    with pytest.raises(DataError, match="different observed variables"):
        ht.compare({"a": TRUTH, "b": "x -> y; w -> y"}, ROWS)
    with pytest.raises(InputError, match="give data"):
        ht.compare({"a": TRUTH, "b": GRAPHS["bow"]})
    with pytest.raises(InputError, match="at least two"):
        ht.compare({"a": TRUTH}, ROWS)


@pytest.mark.parametrize(
    ("small", "large", "inside"),
    [
        ("a -> b -> c", "a -> b -> c; a -> c", True),
        ("a -> b -> c; a -> c", "a -> b -> c", False),
        ("a -> b -> c", "c -> b -> a", True),
        ("a -> b; c -> b", "a -> b -> c", False),
        ("a -> b [0.5]; b -> c", "a -> b; b -> c", True),
        ("a -> b; b -> c", "a -> b [0.5]; b -> c", False),
        ("latent f; f -> {a, b, c, d}", "a <-> b <-> c <-> d <-> a; a <-> c; b <-> d", True),
        ("a <-> b <-> c <-> d <-> a; a <-> c; b <-> d", "latent f; f -> {a, b, c, d}", False),
    ],
)
def test_containment_by_edges_and_by_covariances(small: str, large: str, inside: bool) -> None:
    graph = ht.graph(large)
    data = random_model(ht.graph(small) if inside else graph, random_state=5).sample(500, random_state=6)
    assert contained(ht.fit(small, data), ht.fit(graph, data)) is inside
