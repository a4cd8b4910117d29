"""Counterfactuals against unit responses of the structural equations and against simulation."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halftrek.errors import QueryError
from halftrek.models import CGLSCM, Gaussian
from halftrek.queries import (
    Counterfactual,
    Distribution,
    Interventional,
    Query,
    Variant,
    check_query,
    evaluate,
)
from halftrek.syntax import parse_question
from tests.estimation.strategies import models
from tests.narrow import normal, there
from tests.queries.test_gradients import some_counterfactual


def run_world(model: CGLSCM, held: Mapping[str, float | None], hidden: np.ndarray, errors: np.ndarray) -> np.ndarray:
    """All variables of one world, equation by equation, from the hidden causes and the errors (with intercepts)."""
    values = np.zeros((*errors.shape[:-1], len(model.names)))
    for v in model.graph.topological_order:
        j = model.names.index(v)
        values[..., j] = values @ model.T[:, j] + hidden @ model.C[:, j] + errors[..., j]
        if v in held:
            values[..., j] = held[v]
    return values


def dense_joint(model: CGLSCM, potentials: tuple[Variant, ...]) -> Gaussian:
    """Mean at the mean errors; covariance by the response to a unit of each hidden cause and each error."""
    p, q = len(model.names), len(model.latents)

    def response(hidden: np.ndarray, errors: np.ndarray) -> np.ndarray:
        found = [run_world(model, v.held, hidden, errors)[model.names.index(v.variable)] for v in potentials]
        return np.array(found)

    centre = response(np.zeros(q), model.mu)
    units = [response(row, model.mu) - centre for row in np.eye(q)]
    units += [response(np.zeros(q), model.mu + row) - centre for row in np.eye(p)]
    spread = np.zeros((q + p, q + p))
    spread[:q, :q] = np.eye(q)
    spread[q:, q:] = model.W
    rows = np.array(units)
    return Gaussian(tuple(map(str, range(len(potentials)))), centre, rows.T @ spread @ rows)


@given(model=models(bows=True, most=5), seed=st.integers(0, 10_000))
@settings(max_examples=100, deadline=None, derandomize=True)
def test_answers_equal_the_dense_joint_of_all_worlds(model: CGLSCM, seed: int) -> None:
    query = some_counterfactual(model, np.random.default_rng(seed))
    found = evaluate(query, model)
    joint = dense_joint(model, (*query.outcomes, *query.given))
    count = len(query.outcomes)
    expected = joint.given({str(count + k): there(x) for k, x in enumerate(query.given.values())})
    assert isinstance(found, Gaussian)
    assert found.names == tuple(map(str, query.outcomes))
    np.testing.assert_allclose(found.mean, expected.mean, atol=1e-8)
    np.testing.assert_allclose(found.cov, expected.cov, atol=1e-8)


@given(model=models(bows=True, most=5), seed=st.integers(0, 10_000))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_one_world_is_an_intervention(model: CGLSCM, seed: int) -> None:
    names = list(np.random.default_rng(seed).permutation(model.names))
    held = {names[0]: 0.7}
    rest = names[1:]
    counterfactual = normal(evaluate(Distribution.across(tuple(Variant(v, held) for v in rest)), model))
    direct = normal(evaluate(Distribution.after(tuple(rest), held), model))
    np.testing.assert_allclose(counterfactual.mean, direct.mean, atol=1e-10)
    np.testing.assert_allclose(counterfactual.cov, direct.cov, atol=1e-10)


def test_simulated_units_agree() -> None:
    """Abduction by keeping the simulated units that show the evidence, action, prediction."""
    model = CGLSCM.from_parameters(
        names=["x", "m", "y"],
        T=[[0, 0.8, 0.5], [0, 0, -1.2], [0.0, 0.0, 0.0]],
        C=[[0.7, 0.0, 0.9]],
        mu=[0.3, -0.2, 1.0],
        psi=[0.6, 0.5, 0.4],
    )
    rng = np.random.default_rng(3)
    n = 2_000_000
    hidden = rng.standard_normal((n, 1))
    errors = model.mu + rng.standard_normal((n, 3)) * np.sqrt(model.psi)
    factual = run_world(model, {}, hidden, errors)
    near = (np.abs(factual[:, 0] - 0.5) < 0.1) & (np.abs(factual[:, 1] - 0.4) < 0.1)
    with_one = run_world(model, {"x": 1.0}, hidden[near], errors[near])[:, 2]
    with_none = run_world(model, {"x": -1.0}, hidden[near], errors[near])[:, 2]
    kept = np.stack([with_one, with_none])
    given = {Variant("x"): 0.5, Variant("m"): 0.4}
    exact = normal(evaluate(Distribution.across((Variant("y", {"x": 1.0}), Variant("y", {"x": -1.0})), given), model))
    assert near.sum() > 10_000
    np.testing.assert_allclose(kept.mean(axis=1), exact.mean, atol=0.02)
    np.testing.assert_allclose(np.cov(kept), exact.cov, atol=0.03)


def test_a_unit_seen_completely_is_known_in_every_world() -> None:
    model = CGLSCM.from_parameters(names=["x", "y"], T=[[0, 2], [0, 0]], mu=[1, 1], omega={("x", "y"): 0.3})
    given = {Variant("x"): 0.0, Variant("y"): 2.0}
    found = normal(evaluate(Distribution.across((Variant("y", {"x": 1.0}),), given), model))
    assert found.mean[0] == pytest.approx(4.0)
    assert found.cov[0, 0] == 0.0


def test_evidence_without_spread() -> None:
    """Redundant evidence changes nothing, contradicting evidence is refused."""
    model = CGLSCM.from_parameters(names=["x", "y"], T=[[0, 2], [0, 0]], psi=[1, 0])
    x, y, y3 = Variant("x"), Variant("y"), Variant("y", {"x": 3.0})
    found = normal(evaluate(Distribution.across((Variant("y", {"x": 5.0}), x), {y: 4.0, y3: 6.0}), model))
    np.testing.assert_allclose(found.mean, [10.0, 2.0])
    with pytest.raises(QueryError, match="cannot have this value"):
        evaluate(Distribution.across((x,), {y: 4.0, y3: 7.0}), model)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (Distribution.across((Variant("y", {"q": 1.0}),)), "no variable 'q'"),
        (Distribution.across((Variant("y", {"y": 1.0}),)), "held in its own world"),
        (Distribution.across((Variant("y", {"x": 1.0}),), {Variant("y", {"x": 1.0}): 2.0}), "both an outcome and"),
        (Distribution.across((Variant("y", {"x": 1.0}), Variant("y", {"x": 1.0}))), "named twice"),
        (Distribution.across(()), "names no outcome"),
    ],
)
def test_questions_that_do_not_fit_are_refused(query: Query, message: str) -> None:
    model = CGLSCM.from_parameters(names=["x", "y"], T=[[0, 2], [0, 0]])
    with pytest.raises(QueryError, match=message):
        check_query(query, model.graph)


@pytest.mark.parametrize(
    "query",
    [
        Distribution.across((Variant("y", {"x": None}),)),
        Distribution.across((Variant("y", {"x": 1.0}),), {Variant("x"): None}),
    ],
)
def test_a_value_left_out_is_named(query: Query) -> None:
    model = CGLSCM.from_parameters(names=["x", "y"], T=[[0, 2], [0, 0]])
    with pytest.raises(QueryError, match="'x' has no value"):
        evaluate(query, model)


def test_equal_questions_are_equal_values() -> None:
    first = Distribution.across((Variant("y", {"x": 1.0, "w": 0.0}),), {Variant("x"): 0.0, Variant("z"): 1.0})
    second = Distribution.across((Variant("y", {"w": 0.0, "x": 1.0}),), {Variant("z"): 1.0, Variant("x"): 0.0})
    assert first == second
    assert hash(first) == hash(second)
    assert str(first) == "P(y_{x=1, w=0} | x=0, z=1)"


def test_types_that_were_folded_make_the_questions_that_texts_make() -> None:
    assert Interventional(("y",), {"x": 1.0}, {"z": 2.0}) == parse_question("P(y | do(x=1), z=2)")
    assert Counterfactual((Variant("y", {"x": 1.0}),), {Variant("x"): 0.0}) == parse_question("P(y_{x=1} | x=0)")


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("P(y)", "intervention"),
        ("P(y, z | do(x=1), w)", "intervention"),
        ("P(y_{x=1})", "counterfactual"),
        ("P(y | z_{x=1}=2)", "counterfactual"),
        ("P(y_{x=1}, y | x)", "counterfactual"),
        ("P(y - z | do(x=1))", "more"),
        ("P(2 * y | do(x=1))", "more"),
        ("P(y | do(x += 1))", "more"),
        ("P(y | do(x -> y = 1))", "more"),
        ("P(y_{x=1, m_{x=0}})", "more"),
        ("P(y_{x *= 2} | x=0)", "more"),
    ],
)
def test_what_kind_of_question_a_distribution_is(text: str, asks: str) -> None:
    query = parse_question(text)
    assert isinstance(query, Distribution)
    assert query.asks == asks
