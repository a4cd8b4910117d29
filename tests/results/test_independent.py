"""Effects from independent errors, as users see them: a set of values, its words, and what is refused."""

import json
from pathlib import Path

import numpy as np
import pytest

import halftrek as ht
from benchmarks.independence import DOOR, door_rows
from halftrek.errors import InputError, NotIdentifiedError, QueryError
from halftrek.results.fit import Fit
from halftrek.results.sets.bounds import Bounds
from tests.inference.independence.samples import door_fit


@pytest.fixture(scope="module")
def skewed() -> Fit:
    return door_fit("skewed", 400)


@pytest.fixture(scope="module")
def normal() -> Fit:
    return door_fit("normal", 400, seed=2)


def values_of(answer: ht.Answer) -> Bounds:
    assert isinstance(answer.result, Bounds)
    return answer.result


def test_skewed_errors_give_an_estimate_with_an_interval(skewed: Fit, tmp_path: Path) -> None:
    with pytest.raises(NotIdentifiedError):
        skewed.query("m -> y")
    answer = skewed.query("m -> y", errors="independent")
    found = values_of(answer)
    assert answer.identified
    assert (answer.form, answer.method) == ("bounds", "independent errors")
    assert found.low == found.high
    low, high = found.interval or (np.nan, np.nan)
    assert low < found.low < high
    assert low < 0.7 < high
    assert found.kind == "independent errors"
    assert "The estimate, at which these errors look most independent" in answer.explain()
    assert "by the test of independence" in answer.explain()
    assert "errors of m and y may be independent" in str(answer)
    line = answer.to_frame()
    assert [line[name][0] for name in ("est", "ci_low", "ci_high", "level")] == [found.low, low, high, 0.95]
    record = json.loads(json.dumps(answer.to_dict()))
    assert record["bounds"]["interval"] == [low, high]
    again = ht.load(answer.save(tmp_path / "answer.json"))
    assert isinstance(again, ht.Answer)
    assert again.result == found
    assert str(again) == str(answer)
    with pytest.raises(NotIdentifiedError, match="is not one number"):
        _ = answer.value


def test_normal_errors_are_said_to_tell_nothing(normal: Fit) -> None:
    answer = normal.query("m -> y", errors="independent")
    found = values_of(answer)
    assert not np.isfinite([found.low, found.high]).any()
    (warning,) = answer.warnings
    assert warning.startswith("covariances do not determine m -> y; independent errors would, but these data are ")
    assert "normal" in warning


def test_what_covariances_tell_is_answered_as_ever() -> None:
    fit = ht.fit("x -> m -> y; x <-> y", door_rows("skewed", 300, np.random.default_rng(0)))
    usual, answer = fit.query("x ~> y"), fit.query("x ~> y", errors="independent")
    assert (answer.value, answer.se) == (usual.value, usual.se)
    assert "covariances determine it" in str(answer)


def test_what_nothing_tells_is_refused() -> None:
    fit = ht.fit("x -> m -> y; m <-> y", door_rows("skewed", 300, np.random.default_rng(0)))
    with pytest.raises(NotIdentifiedError, match="whose errors are not normal"):
        ht.fit("m -> y; m <-> y", {"m": [1.0, 2.0, 4.0, 3.0], "y": [0.5, 2.0, 1.0, 3.0]}).query(
            "m -> y", errors="independent"
        )
    assert fit.query("m -> y", errors="independent").method == "instrument"


def test_options_that_do_not_go_together_are_refused(skewed: Fit) -> None:
    with pytest.raises(InputError, match="interval= has no meaning"):
        skewed.query("m -> y", errors="independent", interval="bootstrap")
    with pytest.raises(InputError, match="crude= has no meaning"):
        skewed.query("m -> y", errors="independent", crude=True)
    with pytest.raises(InputError, match="leave one of them out"):
        skewed.query("m -> y", errors="independent", bounds=True)
    with pytest.raises(InputError, match="errors must be"):
        skewed.query("m -> y", errors="odd")  # type: ignore[arg-type]
    with pytest.raises(QueryError, match="answers questions about effects"):
        skewed.query("E[y | do(x=1)]", errors="independent")
    with pytest.raises(InputError, match="needs the rows"):
        ht.fit(DOOR, skewed.moments).query("m -> y", errors="independent")
    holes = door_rows("skewed", 100, np.random.default_rng(0))
    holes[0, 0] = np.nan
    with pytest.raises(InputError, match="missing='drop'"):
        ht.fit(DOOR, holes).query("m -> y", errors="independent")


def test_effects_with_few_values_are_told_of() -> None:
    rows = door_rows("skewed", 200, np.random.default_rng(0))
    rows[:, 2] = rows[:, 2] > 0.0
    answer = ht.fit(DOOR, rows).query("x -> m", errors="independent")
    assert any(w.startswith("y has 2 values only") for w in answer.warnings)


def test_tests_beyond_correlation(skewed: Fit) -> None:
    frame = skewed.tests(beyond="correlation")
    assert list(frame["constraint"]) == ["e(m) ⊥ e(y)"]
    assert list(frame["verdict"]) == ["not contradicted"]
    rng = np.random.default_rng(3)
    x = rng.standard_exponential(500)
    wrong = ht.fit("y -> x", {"x": x, "y": x + rng.standard_exponential(500)}).tests(beyond="correlation")
    assert list(wrong["verdict"]) == ["contradicted: a missing arc, a curve, or a spread that changes"]
    with pytest.raises(InputError, match="beyond must be"):
        skewed.tests(beyond="odd")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="leave the question out"):
        skewed.tests("m -> y", beyond="correlation")
    many = ht.fit("a -> f; b -> f; c -> f; d -> f; e -> f", rng.normal(size=(60, 6)))
    assert all("fewer than 90" in note for note in many.tests(beyond="correlation")["verdict"])


def test_tests_of_lines() -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=400)
    data = {"x": x, "y": x + x**2 + rng.normal(size=400), "z": x + rng.normal(size=400)}
    frame = ht.fit("x -> y; x -> z", data).tests(beyond="linearity")
    said = dict(zip(frame["constraint"], frame["verdict"], strict=True))
    assert said == {
        "y linear in x": "contradicted: a curve, a missing cause, or a wrong arrow",
        "z linear in x": "not contradicted",
    }


def test_a_report_says_what_independent_errors_tell_and_whether_lines_are_straight(skewed: Fit, tmp_path: Path) -> None:
    text = skewed.report(tmp_path / "report.html", ["m -> y"]).read_text(encoding="utf-8")
    assert "If errors are independent, not only uncorrelated" in text
    assert "The values at which the errors may be independent." in text
    assert "Are effects straight lines?" in text
    assert "hidden causes relate m to the error of y" in text
