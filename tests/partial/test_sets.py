"""Sets of values: what a graph alone leaves, what kinds of question and assumption come to, and bad input."""

from __future__ import annotations

from math import inf, isfinite

import numpy as np
import pytest

import halftrek as ht
from halftrek.errors import DataError, InputError, QueryError
from halftrek.partial import bounds
from halftrek.partial.sets import IdentifiedSet, identified_set

BOW = "x -> y; x <-> y"
SIGMA = np.array([[1.5, 0.9], [0.9, 2.0]])
MEAN = np.array([0.3, -0.2])


def bow(question: str, *assume: str) -> IdentifiedSet:
    return identified_set(ht.graph(BOW), SIGMA, MEAN, question, assume)


def three(text: str, question: str, *assume: str) -> IdentifiedSet:
    sigma = np.array([[1.0, 0.7, 0.4], [0.7, 1.49, 1.28], [0.4, 1.28, 1.91]])
    return identified_set(ht.graph(text), sigma, None, question, assume)


@pytest.mark.parametrize(
    ("text", "question", "kind"),
    [
        ("z -> x -> y; z -> y; x <-> y", "x -> y", "whole line"),  # an instrument that leaks
        ("z -> x; z -> w; x -> y; w -> y; x <-> y; w <-> y", "x -> y", "whole line"),  # fewer instruments than causes
        ("z -> x -> y; z -> y; x <-> y", "z ~> y", "point"),
        ("z -> x -> y; z -> y; x <-> y", "z -> x -> y", "whole line"),
    ],
)
def test_what_graphs_leave_without_assumptions(text: str, question: str, kind: str) -> None:
    sigma = np.array([[1.0, 0.7, 0.4, 0.3], [0.7, 1.49, 1.28, 0.2], [0.4, 1.28, 1.91, 0.5], [0.3, 0.2, 0.5, 1.1]])
    graph = ht.graph(text)
    size = len(graph)
    found = identified_set(graph, sigma[:size, :size], None, question)
    assert found.kind == kind
    assert found.proved


def test_a_variance_has_a_smallest_value() -> None:
    found = bow("Var[y | do(x=1)]")
    assert found.kind == "half-line"
    assert found.low == pytest.approx(2.0 - 0.9**2 / 1.5)
    assert bow("SD[y | do(x=1)]").low == pytest.approx(found.low**0.5)


def test_a_probability_is_bounded_by_itself() -> None:
    """The extremes over beta of Phi((k + beta d) / sqrt(s_yy - 2 beta s_xy + beta² s_xx)), limits included."""
    from statistics import NormalDist

    found = bow("P(y > 0.5 | do(x=1))")
    beta = np.concatenate([np.linspace(-50, 50, 200001), [-1e8, 1e8]])
    z = (MEAN[1] - 0.5 + beta * (1.0 - MEAN[0])) / np.sqrt(2.0 - 1.8 * beta + 1.5 * beta**2)
    assert found.low == pytest.approx(NormalDist().cdf(float(z.min())), abs=1e-7)
    assert found.high == pytest.approx(NormalDist().cdf(float(z.max())), abs=1e-7)
    assert found.lower.attained
    assert not found.upper.attained  # in the limit of ever larger effects


@pytest.mark.parametrize("question", ["P(0 < y < 0.5 | do(x=1))", "E[y_{x=1} | y > 1]", "P(y_{x=1} > 0, y > 0)"])
def test_questions_without_a_formula_are_searched_and_said_to_be(question: str) -> None:
    found = bow(question, "|corr(x <-> y)| <= 0.3")
    effects = np.linspace(*bow("x -> y", "|corr(x <-> y)| <= 0.3").pieces[0], 60)
    answers = []
    for b in effects:
        omega = {("x", "y"): 0.9 - 1.5 * b}
        model = ht.CGLSCM.from_parameters(
            names=("x", "y"), T=[[0.0, b], [0.0, 0.0]], mu=[0.3, -0.2 - 0.3 * b],
            psi=[1.5, 2.0 - 1.8 * b + 1.5 * b * b], omega=omega,
        )  # fmt: skip
        answers.append(float(np.asarray(model.query(question).value)))
    assert found.certificate == "searched"
    assert "not proved" in found.explain()
    assert found.low == pytest.approx(min(answers), abs=2e-4)
    assert found.high == pytest.approx(max(answers), abs=2e-4)
    assert found.low <= min(answers) + 1e-7
    assert found.high >= max(answers) - 1e-7


def test_finitely_many_values_are_given_as_values() -> None:
    """Of a weight whose square alone is known both signs remain; an assumption takes one of them away."""
    graph = ht.graph("latent U; U -> a; U -> b; U -> c")
    c = np.array([0.6, 0.7, 0.8])
    sigma = np.outer(c, c) + np.diag([0.5, 0.6, 0.7])
    wide = identified_set(graph, sigma, None, "a <-> b", names=["a", "b", "c"])
    assert wide.kind == "point"
    assert wide.low == pytest.approx(0.42)


def test_equalities() -> None:
    held = bow("x -> y", "corr(x <-> y) == 0.1")
    assert held.kind == "point"
    slope, rest = 0.9 / 1.5, 2.0 - 0.81 / 1.5
    assert held.low == pytest.approx(slope - 0.1 / np.sqrt(0.99) * np.sqrt(rest / 1.5))
    assert bow("x <-> y", "x -> y == 0.4").low == pytest.approx(0.3)
    assert bow("x -> y", "corr(x <-> y) == 0").low == pytest.approx(0.6)


def test_units_do_not_matter() -> None:
    units = np.array([1e-5, 1e6])
    found = identified_set(ht.graph(BOW), SIGMA * np.outer(units, units), None, "x -> y", ["|corr(x <-> y)| <= 0.3"])
    plain = bow("x -> y", "|corr(x <-> y)| <= 0.3")
    np.testing.assert_allclose(np.array(found.pieces) / 1e11, plain.pieces)


def test_no_model_obeys() -> None:
    found = bow("x -> y", "x -> y >= 1", "corr(x <-> y) >= 0.1")
    assert found.empty
    assert found.proved
    assert np.isnan(found.low)
    assert "No model" in found.explain()


def test_assumptions_elsewhere_matter_only_if_nothing_obeys_them() -> None:
    text = "x -> y; x <-> y; a -> b; a <-> b; x <-> a"
    sigma = np.eye(4) * 1.5 + 0.3
    graph = ht.graph(text)
    free = identified_set(graph, sigma, None, "x -> y", ["|corr(x <-> y)| <= 0.3"])
    more = identified_set(graph, sigma, None, "x -> y", ["|corr(x <-> y)| <= 0.3", "corr(a <-> b) >= 0.2"])
    none = identified_set(
        graph, sigma, None, "x -> y", ["|corr(x <-> y)| <= 0.3", "corr(a <-> b) >= 0.2", "a -> b >= 5"]
    )
    np.testing.assert_allclose(free.pieces, more.pieces)
    assert none.empty


def test_bad_input_is_named() -> None:
    with pytest.raises(QueryError, match="several outcomes, x, y"):
        identified_set(ht.graph("z -> x; z -> y; x -> y; x <-> y"), np.eye(3) + 0.2, None, "P(x, y | do(z=1))")
    with pytest.raises(QueryError, match="no variable 'q'"):
        bow("q ~> y")
    with pytest.raises(QueryError, match="no value"):
        bow("E[y | do(x)]")
    with pytest.raises(DataError, match="a row and a column for each"):
        identified_set(ht.graph(BOW), np.eye(3), None, "x -> y")
    data = {"x": [0.0, 1.0, 3.0, 2.0], "y": [1.0, 0.0, 2.0, 5.0]}
    with pytest.raises(InputError, match="one and the same"):
        bounds(BOW, data, "x -> y", assume=["x -> y <= 1"], constraints=["x -> y <= 1"])


def test_bounds_of_data_and_an_identified_question_is_the_estimate() -> None:
    rng = np.random.default_rng(1)
    z, u = rng.standard_normal((2, 300))
    x = 0.7 * z + u + rng.standard_normal(300)
    y = 0.5 * x - 0.4 * u + rng.standard_normal(300)
    w = 0.5 * z + rng.standard_normal(300)
    rows = {"z": z, "x": x, "y": y, "w": w}
    text = "z -> x -> y; z -> w; x <-> y"  # over-identified: w and x are independent given z
    answer = ht.fit(text, rows).query("x -> y")
    found = bounds(text, rows, "x -> y")
    assert found.pieces == ((found.low, found.low),)
    assert found.low == pytest.approx(float(answer.value), abs=1e-8)
    leaky = bounds(text, rows, "x -> y", constraints="|z -> y| <= 0.1")
    assert leaky.low < found.low < leaky.high
    assert any("fitted" in remark for remark in leaky.remarks)


def test_the_value_says_all_of_itself() -> None:
    found = bow("x -> y", "x <-> y >= 0")
    assert found.low == -inf
    assert str(found) == "x -> y: at most 0.6000"
    record = found.to_dict()
    assert record["pieces"] == [[None, 0.6]]
    assert record["binding"] == {"low": [], "high": ["x <-> y >= 0"]}
    assert "0.6000 is reached where this binds" in found.explain()
    assert 0.5 in found
    assert 0.7 not in found
    assert isfinite(found.high)


def test_a_pole_at_zero_of_what_is_asked_hides_no_model_elsewhere() -> None:
    graph = "v0 -> v1 -> v2 -> v3; v1 -> v3; v0 <-> v1; v0 <-> v2; v0 <-> v3; v1 <-> v3"
    rows = np.random.default_rng(0).normal(size=(6, 4))
    data = ht.Moments.from_cov(rows.T @ rows / 6.0, names=["v0", "v1", "v2", "v3"], n=500)
    found = ht.bounds(graph, data, "Var[v2_{v1=1} | v2=1]", assume=["norm(v0 -> v3, v2 -> v3) <= 0.347"])
    assert not found.empty  # the assumption is about other weights, and there is a place for them
    assert (found.low, found.high) == (0.0, np.inf)
    model = found.models["low"]
    assert model is not None
    assert np.hypot(model.T[0, 3], model.T[2, 3]) <= 0.347 + 1e-9
