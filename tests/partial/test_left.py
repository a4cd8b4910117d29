"""What a fit leaves of a refused question: its set, and two models of the user's own data."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pytest

import halftrek as ht
from halftrek.graphs import Graph
from halftrek.partial.sets import identified_set
from halftrek.queries import Query, evaluate
from halftrek.results.answers import Refusal
from tests.narrow import there
from tests.project.pages import ROOT

REFUSED = [
    ("x -> y; x <-> y", "x ~> y"),
    ("x -> y; x <-> y", "Var[y | do(x=1)]"),
    ("x -> y; x <-> y", "P(y > 1 | do(x=1))"),
    ("x -> m -> y; x <-> y; x <-> m", "x ~> y"),
    ("latent U; U -> {x, y, m}; x -> y", "x ~> y"),
]


def rows() -> dict[str, np.ndarray]:
    u, e, f, g = np.random.default_rng(5).normal(size=(4, 400))
    x = u + e
    m = 0.7 * x + f
    return {"x": x, "m": m, "y": 0.5 * m + u + g}


def refused(text: str, question: str) -> ht.NotIdentifiedError:
    with pytest.raises(ht.NotIdentifiedError) as caught:
        ht.fit(text, rows()).query(question)
    return caught.value


@pytest.mark.parametrize(("text", "question"), REFUSED)
def test_the_two_models_have_the_fitted_covariance_and_answers_of_the_set(text: str, question: str) -> None:
    error, fit = refused(text, question), ht.fit(text, rows())
    answer = there(error.answer)
    assert answer.form == "refusal"
    assert isinstance(answer.result, Refusal)
    left = there(answer.result.leaves)
    witness = there(error.verdict.witness)
    assert witness.answers[0] != pytest.approx(witness.answers[1])
    for model, value in zip(witness.models, witness.answers, strict=True):
        assert np.abs(model.cov - fit.model.cov).max() < 1e-8
        assert float(value_in(model, answer.query)) == pytest.approx(value)
        assert any(low - 1e-6 <= value <= high + 1e-6 for low, high in left.pieces)
    assert left.words in str(error)
    assert "What to do next" in str(error)
    assert "bounds(" in str(error)


def value_in(model: ht.CGLSCM, query: Query) -> float:
    found = evaluate(query, model)
    return float(found.mean[0]) if isinstance(found, ht.Gaussian) else float(found)


def test_a_refusal_that_holds_a_set_is_saved_and_loaded(tmp_path: object) -> None:
    answer = there(refused("x -> y; x <-> y", "Var[y | do(x=1)]").answer)
    path = answer.save(f"{tmp_path}/refused.json")
    again = ht.load(path)
    assert str(again) == str(answer)
    assert again.to_dict() == answer.to_dict()


def test_a_question_of_several_outcomes_is_refused_without_a_set() -> None:
    error = refused("x -> y; x -> m; x <-> y; x <-> m", "P(y, m | do(x=1))")
    assert there(error.answer).result == Refusal()


def test_a_large_graph_is_refused_without_a_search() -> None:
    names = [f"v{i}" for i in range(14)]
    text = "; ".join(f"{a} -> {b}; {a} <-> {b}" for a, b in pairwise(names))
    data = dict(zip(names, np.random.default_rng(1).normal(size=(14, 100)), strict=True))
    with pytest.raises(ht.NotIdentifiedError) as caught:
        ht.fit(text, data).query("v0 ~> v13")
    assert there(caught.value.answer).result == Refusal()
    assert "halftrek" not in str(caught.value)


def test_finitely_many_values_are_proved_and_the_two_models_are_ones_own() -> None:
    stored = json.loads((ROOT / "tests" / "reference" / "cases" / "f01_finite_to_one.json").read_text(encoding="utf-8"))
    drawn = stored["graph"]
    graph = Graph(
        [(u, v) for u, v in drawn["directed"]], [(u, v) for u, v in drawn["bidirected"]], {}, drawn["observed"]
    )
    asked = f"{stored['query']['treatment']} ~> {stored['query']['outcome']}"
    true = identified_set(graph, stored["population"]["covariance"], None, asked, names=drawn["observed"])
    assert true.kind == "values"
    assert true.proved
    wanted = sorted((stored["total_effect"], stored["second_total_effect"]))
    assert [low for low, _ in true.pieces] == pytest.approx(wanted, abs=1e-6)
    held = identified_set(
        graph, stored["population"]["covariance"], None, asked, [f"V1 -> V2 <= {-1e3}"], names=drawn["observed"]
    )
    assert held.empty  # which of the values obey is seen, too
    fit = ht.fit(graph, cov=stored["sample"]["covariance"], names=drawn["observed"], n=stored["sample"]["n"])
    with pytest.raises(ht.NotIdentifiedError) as caught:
        fit.query(asked)
    witness = there(there(caught.value.answer).verdict).witness
    for model, value in zip(there(witness).models, there(witness).answers, strict=True):
        assert np.abs(model.cov - fit.model.cov).max() < 1e-6
        assert value_in(model, there(caught.value.answer).query) == pytest.approx(value, abs=1e-6)
