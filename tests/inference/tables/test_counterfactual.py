"""Intervals of counterfactual answers through a fit."""

from __future__ import annotations

import numpy as np
import pytest

import halftrek as ht
from tests.narrow import ends, floats, interval_of, number

INSTRUMENT = "z -> x -> y; x <-> y"


def known_model() -> ht.CGLSCM:
    return ht.CGLSCM.from_parameters(
        names=["z", "x", "y"],
        T=[[0, 0.8, 0], [0, 0, 0.5], [0.0, 0.0, 0.0]],
        mu=[1.0, 0.0, 2.0],
        omega={("x", "y"): 0.4},
    )


@pytest.mark.parametrize(
    ("counterfactual", "plain"),
    [
        ("P(y_{x=1})", "P(y | do(x=1))"),
        ("P(y_{x=1}, z_{x=1})", "P(y, z | do(x=1))"),
        ("P(y_{x=1} | z_{x=1}=2)", "P(y | do(x=1), z=2)"),
        ("P(y_{x=1} | x=1)", "P(y | x=1)"),
        ("P(y_{x=1}, z | x=1)", "P(y, z | x=1)"),
    ],
)
def test_answers_that_are_no_counterfactuals_have_the_same_errors(counterfactual: str, plain: str) -> None:
    fit = ht.fit(INSTRUMENT, known_model().sample(500, random_state=2))
    first, second = fit.query(counterfactual), fit.query(plain)
    for attribute in ("mean", "variance", "se"):
        np.testing.assert_allclose(getattr(first, attribute), getattr(second, attribute), rtol=1e-6)
    np.testing.assert_allclose(floats(first.variance_interval), floats(second.variance_interval), rtol=1e-6)


def test_intervals_cover_the_truth_about_as_often_as_they_say() -> None:
    question = "P(y_{x=1} | x=0, z=1)"
    truth = known_model().query(question)
    hits = variance_hits = 0
    for seed in range(200):
        answer = ht.fit(INSTRUMENT, known_model().sample(400, random_state=seed)).query(question)
        low, high = interval_of(answer)
        hits += low <= number(truth.mean) <= high
        low, high = ends(answer.variance_interval)
        variance_hits += low <= number(truth.variance) <= high
    assert 178 <= hits <= 199
    assert 178 <= variance_hits <= 199


def test_the_bow_is_refused() -> None:
    rows = known_model().sample(200, random_state=1)
    with pytest.raises(ht.NotIdentifiedError):
        ht.fit("x -> y; x <-> y", rows).query("E[y_{x=1} | x=0]")


def test_a_covariance_without_means_says_so() -> None:
    fit = ht.fit(INSTRUMENT, cov=known_model().cov, n=100, names=["z", "x", "y"])
    assert any("no means were given" in w for w in fit.query("P(y_{x=1} | x=0)").warnings)


def test_tables_from_a_covariance_without_means_warn_where_they_were_asked_for() -> None:
    fit = ht.fit(INSTRUMENT, cov=known_model().cov, n=100, names=["z", "x", "y"])
    with pytest.warns(UserWarning, match="no means were given") as caught:
        fit.counterfactual({"x": [0.0]}, {"x": 1.0}, "y")
    assert {w.filename for w in caught} == {__file__}
    with pytest.warns(UserWarning, match="no means were given") as caught:
        fit.predict({"z": [1.0]}, "y")
    assert {w.filename for w in caught} == {__file__}
