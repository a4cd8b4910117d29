"""Composite questions from a fit: values, errors, intervals on their own scale, refusals, words."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pytest

import halftrek as ht
from halftrek.cli import main
from halftrek.inference.intervals.base import ends_on
from halftrek.queries.derivatives import Scale
from halftrek.queries.evaluate import evaluate
from halftrek.syntax import parse_question
from tests.narrow import interval_of, number, se_of, value_of

GRAPH = "x -> m -> y; x <-> y; w -> y"
QUESTIONS = [
    "E[y | do(x=1)]",
    "E[y | do(x=1)] - E[y | do(x=0)]",
    "E[y | do(x=1), m=2]",
    "Var[y | do(x=1)]",
    "SD[y | w=1]",
    "Cov[y, m | do(x=1)]",
    "Corr[x, y]",
    "P(y > 1 | do(x=1))",
    "P(0 < y < 1, m > 0 | do(x=1))",
    "Q(0.9, y | do(x=1))",
    "E[y_{x=1} - y_{x=0} | x=0, y=2]",
    "E[y_{x=1} | m=1, y=2]",
    "E[y_{x=1, m_{x=0}}]",
    "P(y_{x=0} < 1 | x=1, y > 1)",
    "E[y | do(x += 1)] / E[y]",
    "Var[y | do(x *= 2)]",
    "P(y | do(x ~ N(0, 1)))",
    "P(y | do(m -> y = 1))",
    "std(x ~> y)",
    "(x ~> y) / (m -> y)",
]


@pytest.fixture(scope="module")
def model() -> ht.CGLSCM:
    return ht.CGLSCM.from_parameters(
        names=["x", "m", "y", "w"],
        T=[[0, 0.8, 0, 0], [0, 0, 1.1, 0], [0.0, 0.0, 0.0, 0.0], [0, 0, -0.5, 0]],
        mu=[0.2, 0.1, 0.5, -0.3],
        omega={("x", "y"): 0.4},
    )


@pytest.fixture(scope="module")
def fit(model: ht.CGLSCM) -> ht.Fit:
    return ht.fit(GRAPH, model.sample(4000, random_state=3))


@pytest.mark.parametrize("text", QUESTIONS)
def test_every_kind_has_a_value_an_error_and_an_interval(fit: ht.Fit, model: ht.CGLSCM, text: str) -> None:
    found = fit.query(text)
    exact = model.query(text)
    assert found.identified
    assert np.isfinite(se_of(found))
    assert se_of(found) > 0
    low, high = interval_of(found)
    assert low < found.value < high
    assert abs(value_of(found) - value_of(exact)) < 4 * se_of(found)
    assert exact.se is None
    assert exact.method == "given model"
    assert str(found.query) in str(found)
    assert found.explain().count("\n") >= 3
    assert "exact" in exact.explain()


def test_the_delta_method_is_that_of_simulated_fits(model: ht.CGLSCM) -> None:
    """The spread of answers over fresh data sets is what one data set says it is."""
    texts = ["P(y > 1 | do(x=1))", "Q(0.9, y | do(x=1))", "Corr[x, y]", "P(y_{x=0} < 1 | x=1, y > 1)"]
    n, repeats = 500, 120
    batch = ht.fit_batch(ht.graph(GRAPH), [model.sample(n, random_state=k) for k in range(repeats)])
    one = ht.fit(GRAPH, model.sample(20_000, random_state=999))
    for text in texts:
        answers = [number(evaluate(parse_question(text), m)) for m in batch]
        expected = one.query(text).se * np.sqrt(20_000 / n)
        assert np.std(answers, ddof=1) == pytest.approx(expected, rel=0.25)  # 3.9 standard errors of a spread


def test_a_contrast_is_the_effect(fit: ht.Fit) -> None:
    contrast, effect = fit.query("E[y | do(x=3)] - E[y | do(x=1)]"), fit.effect("x", "y")
    assert contrast.value == pytest.approx(2 * effect.value)
    assert contrast.se == pytest.approx(2 * se_of(effect))


def test_intervals_on_their_own_scale(fit: ht.Fit) -> None:
    z = NormalDist().inv_cdf(0.975)
    found = fit.query("P(y > 1 | do(x=1))")
    p, se = found.value, found.se
    ends = np.log(p / (1 - p)) + np.array([-z, z]) * se / (p * (1 - p))
    assert found.interval == pytest.approx(1 / (1 + np.exp(-ends)))
    found = fit.query("Corr[x, y]")
    assert np.arctanh(interval_of(found)) == pytest.approx(
        np.arctanh(found.value) + np.array([-z, z]) * found.se / (1 - found.value**2)
    )
    found = fit.query("Var[y]")
    assert np.log(interval_of(found)) == pytest.approx(np.log(found.value) + np.array([-z, z]) * found.se / found.value)


def test_sure_answers_stay_at_the_border() -> None:
    sure: tuple[tuple[Scale, float], ...] = (("logit", 0.0), ("logit", 1.0), ("log", 0.0), ("atanh", 1.0))
    for scale, value in sure:
        assert ends_on(scale, np.array([value]), np.zeros(1)).tolist() == [[value, value]]
    low, high = ends_on("logit", np.array([1e-9]), np.array([2e-3]))[0]
    assert 0.0 <= low < high <= 1.0


@pytest.mark.parametrize(
    "text",
    [
        "E[y | do(x=1)] - E[y | do(x=0)]",
        "P(y > 1 | do(x=1))",
        "E[y_{x=1} - y_{x=0} | x=0]",
        "std(x ~> y)",
        "Var[y | do(x ~ N(0, 1))]",
        "P(y | do(x += 1))",
        "Q(0.5, y_{x=1})",
    ],
)
def test_no_number_for_what_cannot_be_known(text: str) -> None:
    rows = ht.CGLSCM.from_parameters(names=["x", "y"], T=[[0, 1], [0, 0]], omega={("x", "y"): 0.5}).sample(100, 1)
    with pytest.raises(ht.NotIdentifiedError):
        ht.fit("x -> y; x <-> y", rows).query(text)


def test_noise_and_estimation_are_kept_apart(fit: ht.Fit) -> None:
    found = fit.query("E[y_{x=1} | m=1]")
    alone = fit.query("P(y_{x=1} | m=1)")
    assert found.variance == pytest.approx(alone.variance)
    assert found.se == pytest.approx(alone.se)
    text = found.explain()
    assert "Single units differ from each other" in text
    assert "from 4,000 rows" in text
    sure = fit.query("E[y_{x=1} | x=0, y=2]")
    assert sure.variance == 0.0
    assert "there is no noise left" in sure.explain()


def test_catalog_models_answer_exactly() -> None:
    model = ht.catalog("napkin").model
    found = model.query("E[X4 | do(X3=1)] - E[X4 | do(X3=0)]")
    assert found.value == pytest.approx(model.total_effect("X3", "X4"))
    assert isinstance(found.value, float)


def test_means_that_were_not_given_are_mentioned_only_where_they_matter(model: ht.CGLSCM) -> None:
    fit = ht.fit(GRAPH, cov=model.cov, n=500, names=model.names)
    assert not any("no means" in w for w in fit.query("E[y | do(x=1)] - E[y | do(x=0)]").warnings)
    assert any("no means" in w for w in fit.query("E[y | do(x=1)]").warnings)
    assert any("no means" in w for w in fit.query("P(y > 1 | do(x=1))").warnings)


def test_answers_are_saved_and_read_back(fit: ht.Fit, tmp_path: Path) -> None:
    for text in ("P(y_{x=0} < 1 | x=1, y > 1)", "E[y_{x=1, m_{x=0}}] - 2 * (x ~> y)", "E[y | do(m -> y = 1, x += 1)]"):
        found = fit.query(text)
        found.save(tmp_path / "answer.json")
        again = ht.load(tmp_path / "answer.json")
        assert again.query == found.query
        assert again.value == found.value
        assert again.explain() == found.explain()


def test_the_command_line_answers_every_kind(
    model: ht.CGLSCM, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "rows.csv"
    rows = model.sample(300, random_state=1)
    np.savetxt(path, rows, delimiter=",", header=",".join(model.names), comments="")
    for text in QUESTIONS:
        assert main(["query", GRAPH, str(path), text, "--json"]) == 0
        record = json.loads(capsys.readouterr().out)
        assert record["query"] == str(parse_question(text))
        assert record["explanation"].startswith("The question: ")
        assert ("value" in record) != ("distribution" in record)
    assert main(["query", GRAPH, str(path), "P(y > 1 | do(x=1))"]) == 0
    assert "value" in capsys.readouterr().out
    assert main(["query", "x -> y; x <-> y", str(path), "P(y > 1 | do(x=1))"]) == 3
    assert main(["query", GRAPH, str(path), "P(y > | do(x=1))"]) == 2
    assert "^" in capsys.readouterr().err


def test_explanations_are_sentences_for_readers_without_the_language(fit: ht.Fit) -> None:
    text = fit.query("P(y > 1 | do(x=1))").explain()
    lines = text.split("\n")
    assert lines[0] == (
        "The question: P(y > 1 | do(x=1)), that is, the probability that y is above 1 if x were set to 1."
    )
    assert "hidden causes are shared only where drawn (x and y)" in lines[-1]
    assert "of 100 units" in text
    assert "Zero lies outside the interval: the data speak for a positive value." in fit.effect("x", "y").explain()
    nothing = ht.fit("a -> b", np.random.default_rng(0).normal(size=(50, 2))).query("a ~> b")
    assert "Zero lies within the interval" in nothing.explain()
