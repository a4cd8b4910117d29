"""Verdicts, and recipes that give the true answers back."""

import itertools
import json

import numpy as np
import pytest
from hypothesis import assume, given, settings

from halftrek.bottom.choices import Scope
from halftrek.errors import DataError
from halftrek.graphs import Graph
from halftrek.identification import every_effect, identify, identify_all, solve
from halftrek.identification.exact.elimination import count_values
from halftrek.identification.local.functionals import functionals
from halftrek.identification.local.parameters import Point, parameters_of
from halftrek.identification.numbers.fields import Reals
from halftrek.identification.study import Study
from halftrek.identification.verdict import Verdict
from halftrek.models import CGLSCM
from halftrek.queries import Query
from halftrek.queries.types import (
    DirectEffect,
    Distribution,
    ErrorCovariance,
    PathEffect,
    ThroughEffect,
    TotalEffect,
)
from tests.identification.local.test_jacobian import queries_on, reference_graphs
from tests.identification.samples import constrained_graphs, graphs, random_model
from tests.narrow import number, there

BOW = Graph([("x", "y")], [("x", "y")])
INSTRUMENT = Graph([("z", "x"), ("x", "y")], [("x", "y")])


def truth(model: CGLSCM, query: Query) -> float:
    match query:
        case DirectEffect(u, v):
            return model.T[model.names.index(u), model.names.index(v)]
        case TotalEffect(u, v):
            return model.total_effect(u, v)
        case PathEffect(path):
            return float(np.prod([truth(model, DirectEffect(u, v)) for u, v in itertools.pairwise(path)]))
        case ThroughEffect(path):
            return float(np.prod([truth(model, TotalEffect(u, v)) for u, v in itertools.pairwise(path)]))
        case ErrorCovariance(u, v):
            return model.omega[model.names.index(u), model.names.index(v)]
    raise AssertionError(f"{query} has no truth here")


@settings(deadline=None, max_examples=60, derandomize=True)
@given(graphs(most=5))
def test_recipes_give_random_parameters_back(graph: Graph) -> None:
    model = random_model(graph, np.random.default_rng(7))
    queries = [*every_effect(graph), *(q for q in queries_on(graph) if not isinstance(q, Distribution))]
    solved = [verdict for verdict in identify_all(graph, queries) if verdict.recipe is not None]
    assume(solved)
    for verdict in solved:
        assert verdict.identified
        value = number(solve(there(verdict.recipe), model.cov, model.names))
        assert np.isclose(value, truth(model, verdict.query), rtol=1e-6, atol=1e-6), verdict


@settings(deadline=None, max_examples=40, derandomize=True)
@given(graphs(most=5))
def test_interventions_on_several_variables_come_back(graph: Graph) -> None:
    model = random_model(graph, np.random.default_rng(8))
    assume(len(graph) >= 3)
    a, c, b = graph.observed[0], graph.observed[1], graph.observed[-1]
    verdict = identify(graph, Distribution.after((b,), {a: None, c: None}))
    assume(verdict.recipe is not None)
    values = solve(there(verdict.recipe), model.cov)
    assert isinstance(values, dict)
    first, second = values.values()
    assert np.isclose(model.do({a: 1.0, c: 0.0}).distribution(b).mean[0], first)
    assert np.isclose(model.do({a: 0.0, c: 1.0}).distribution(b).mean[0], second)


@settings(deadline=None, max_examples=40, derandomize=True)
@given(graphs(most=5))
def test_a_negative_verdict_comes_with_two_checked_models(graph: Graph) -> None:
    negative = [verdict for verdict in identify_all(graph, witness=True) if verdict.status == "not identified"]
    assume(negative)
    for verdict in negative:
        assert verdict.witness is not None, verdict
        first, second = verdict.witness.models
        assert np.abs(first.cov - second.cov).max() < 1e-10
        for model in (first, second):
            assert model.graph == graph
            assert np.linalg.eigvalsh(model.W)[0] > 0
        answers = [truth(m, verdict.query) for m in (first, second)]
        assert np.allclose(answers, verdict.witness.answers)
        assert abs(answers[0] - answers[1]) >= 0.05


@settings(deadline=None, max_examples=30, derandomize=True)
@given(constrained_graphs())
def test_fixed_and_equal_coefficients_are_obeyed_in_recipes_and_witnesses(graph: Graph) -> None:
    model = random_model(graph, np.random.default_rng(9))
    found = [v for v in identify_all(graph, witness=True) if v.recipe is not None or v.witness is not None]
    assume(found)
    for verdict in found:
        if verdict.recipe is not None:
            value = number(solve(verdict.recipe, model.cov, model.names))
            assert np.isclose(value, truth(model, verdict.query), rtol=1e-5, atol=1e-6), verdict
        if verdict.witness is not None:
            for u, arrow, v in graph.edges():
                known = graph.coefficients.get(f"{u} {arrow} {v}")
                if isinstance(known, float) and arrow == "->" and u not in graph.latents:
                    values = [truth(m, DirectEffect(u, v)) for m in verdict.witness.models]
                    assert values == [known, known]
            first, second = verdict.witness.models
            assert np.abs(first.cov - second.cov).max() < 1e-10


@settings(deadline=None, max_examples=60, derandomize=True)
@given(constrained_graphs(most=4))
def test_criteria_and_elimination_agree_on_constrained_graphs(graph: Graph) -> None:
    study = Study(graph)
    decided = [verdict for verdict in identify_all(graph) if verdict.status in ("identified", "finite")]
    counts = [(count_values(study, v.query, frozenset(), budget=1.0), there(v.degree)) for v in decided]
    counted = [(count, degree) for count, degree in counts if count is not None]
    assume(counted)
    for count, degree in counted:
        assert count.values == degree if count.exact else count.values >= degree


def test_three_node_graphs_have_the_known_degrees() -> None:
    asked = [(case, verdict) for case, graph in reference_graphs() for verdict in identify_all(graph)]
    assert len(asked) > 100
    for case, verdict in asked:
        table = {(f"v{a}", f"v{b}"): int(d) for (a, b), d in zip(case["D"], case["deg"], strict=True)}
        if isinstance(verdict.query, TotalEffect):
            table = {(f"v{a}", f"v{b}"): d for a, b, d in case["te"]}
        assert isinstance(verdict.query, DirectEffect | TotalEffect)
        degree = table[verdict.query.cause, verdict.query.effect]
        assert (verdict.degree or 0) == degree
        assert verdict.status == {0: "not identified", 1: "identified"}[degree]


def test_named_methods() -> None:
    assert identify(INSTRUMENT, DirectEffect("x", "y")).method == "instrument"
    assert identify(INSTRUMENT, DirectEffect("x", "y")).estimand == "Cov(z, y) / Cov(z, x)"
    conditional = Graph([("w", "z"), ("w", "y"), ("z", "x"), ("x", "y")], [("x", "y")])
    assert identify(conditional, DirectEffect("x", "y")).estimand == "Cov(z, y | w) / Cov(z, x | w)"


def test_the_bow_is_not_identified_and_says_why() -> None:
    verdict = identify(BOW, Distribution.after(("y",), {"x": 1.0}))
    assert verdict.status == "not identified"
    assert not verdict.identified
    assert "same covariance matrix" in verdict.explain()
    assert json.loads(json.dumps(verdict.to_dict()))["witness"]["answers"] == list(there(verdict.witness).answers)
    assert identify(BOW, DirectEffect("x", "y"), witness=False).witness is None


def test_one_unidentified_corner_does_not_spoil_the_rest() -> None:
    graph = Graph([("x", "y"), ("a", "m"), ("m", "b")], [("x", "y"), ("a", "b")])
    found = {str(v.query): v.status for v in identify_all(graph)}
    assert found["x -> y"] == "not identified"
    assert found["a ~> b"] == "identified"


def test_effects_that_the_graph_excludes_are_zero() -> None:
    for query in (DirectEffect("z", "y"), TotalEffect("y", "x"), PathEffect(("z", "y")), ThroughEffect(("y", "x"))):
        verdict = identify(INSTRUMENT, query)
        assert verdict.identified
        assert verdict.estimand == "0"


def test_a_question_without_an_intervention_is_answered_by_the_data() -> None:
    assert identify(BOW, Distribution.after(("y",), {}, {"x": 1.0})).method == "observed"


def test_a_conditional_intervention_is_decided_on_its_own() -> None:
    mediator = Graph([("x", "m"), ("m", "y")], [("x", "m")])
    assert identify(mediator, Distribution.after(("y",), {"x": None})).status == "not identified"
    table = parameters_of(mediator)
    found = functionals(
        Distribution.after(("y",), {"x": None}, {"m": None}), Point(table, Reals(), np.ones(table.count))
    )
    assert found.texts[0] == "slope of y on m after do"


def test_sigma_may_come_in_any_order_and_must_have_the_variables() -> None:
    model = random_model(INSTRUMENT, np.random.default_rng(0))
    recipe = there(identify(INSTRUMENT, DirectEffect("x", "y")).recipe)
    at = [2, 0, 1]
    value = number(solve(recipe, model.cov[np.ix_(at, at)], [model.names[i] for i in at]))
    assert np.isclose(value, truth(model, DirectEffect("x", "y")))
    with pytest.raises(DataError, match="no row for 'z'"):
        solve(recipe, np.eye(2), ["x", "y"])
    with pytest.raises(DataError, match="shape"):
        solve(recipe, np.eye(2))
    with pytest.raises(DataError, match="singular"):
        solve(recipe, np.eye(3))


def test_an_answer_that_fixed_coefficients_determine() -> None:
    known = {"x -> y": 0.5, "z -> x": 2.0, "U -> z": 0.0}
    graph = Graph(INSTRUMENT.directed, INSTRUMENT.bidirected, {"U": ["x", "z"]}, coefficients=known)
    for query, value in ((TotalEffect("z", "y"), 1.0), (ErrorCovariance("x", "z"), 0.0)):
        verdict = identify(graph, query)
        assert verdict.identified
        assert solve(there(verdict.recipe), np.eye(3)) == value


@pytest.mark.parametrize("graph", [BOW, INSTRUMENT, Graph([("x", "m"), ("m", "y")], [("x", "y")])])
@pytest.mark.parametrize("scope", ["linear", "nonparametric"])
def test_what_is_identified_has_one_value(graph: Graph, scope: Scope) -> None:
    """However it was found out; what has no more than a few is not identified."""
    queries: list[Query] = [
        Distribution.after((v,), {u: None} if u else {})
        for u in ("", *graph.observed)
        for v in graph.observed
        if u != v
    ]
    if scope == "linear":
        queries += [TotalEffect(u, v) for u in graph.observed for v in graph.observed if u != v]
        queries += [ErrorCovariance(u, v) for u, v in itertools.combinations(graph.observed, 2)]
    found = [identify(graph, query, scope=scope, witness=False) for query in queries]
    assert len({verdict.method for verdict in found}) > 2
    assert all(verdict.identified == (verdict.degree == 1) for verdict in found)


def test_a_verdict_without_a_formula_ends_without_one() -> None:
    query = TotalEffect("x", "y")
    counted = Verdict(query, BOW, "identified", "elimination", "linear", degree=1)
    assert str(counted) == "x ~> y: identified by counting solutions [linear]"
    refused = Verdict(query, BOW, "not identified", "jacobian", "linear", estimand="Cov(x, y)")
    assert str(refused) == "x ~> y: not identified [linear]"
