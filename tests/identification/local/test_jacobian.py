"""The exact Jacobian test: derivatives, reference verdicts, hidden causes, fixed and equal coefficients."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from halftrek.errors import QueryError
from halftrek.graphs import Graph
from halftrek.identification.local.functionals import functionals
from halftrek.identification.local.jacobian import block_at, jacobian_test, model_dimension
from halftrek.identification.local.parameters import Point, parameters_of
from halftrek.identification.numbers.fields import Reals
from halftrek.models import CGLSCM
from halftrek.queries import Query
from halftrek.queries.evaluate import check_roles
from halftrek.queries.types import (
    DirectEffect,
    Distribution,
    ErrorCovariance,
    PathEffect,
    ThroughEffect,
    TotalEffect,
)
from tests.identification.samples import graphs
from tests.narrow import some

REFERENCE = Path(__file__).parents[2] / "reference"
QUICK = settings(deadline=None, max_examples=40, derandomize=True)


def real_point(graph: Graph, seed: int = 0) -> Point:
    table = parameters_of(graph)
    rng = np.random.default_rng(seed)
    values = rng.uniform(0.2, 0.5, table.count) * rng.choice([-1, 1], table.count)
    for e in table.entries:
        if e.kind == "noise":
            values[e.parameter] = 2.0
    return Point(table, Reals(), values)


def moved(point: Point, k: int, step: float = 1e-6) -> Point:
    values = point.values.copy()
    values[k] += step
    return Point(point.parameters, point.field, values)


@QUICK
@given(graphs())
def test_derivatives_of_sigma_agree_with_differences(graph: Graph) -> None:
    point = real_point(graph)
    for members in some(point.parameters.blocks):
        block = block_at(point, members)
        upper = np.triu_indices(len(block.names))
        for row, k in some(enumerate(block.free)):
            high, low = block_at(moved(point, k), members), block_at(moved(point, k, -1e-6), members)
            difference = ((high.sigma - low.sigma) / 2e-6)[upper]
            assert np.allclose(block.jacobian[row], difference, atol=1e-7)


def queries_on(graph: Graph) -> Iterator[Query]:
    a, b = graph.observed[0], graph.observed[-1]
    yield TotalEffect(a, b)
    yield ErrorCovariance(a, b)
    yield Distribution.after((b,), {a: None})
    yield from (DirectEffect(u, v) for u, v in graph.directed[:1])
    if len(graph) > 2:
        c = graph.observed[1]
        yield PathEffect((a, c, b))
        yield ThroughEffect((a, c, b))
        yield Distribution.after((b,), {a: None}, {c: None})
        yield Distribution.after((b,), {a: None, c: None})


@QUICK
@given(graphs())
def test_derivatives_of_queries_agree_with_differences(graph: Graph) -> None:
    point = real_point(graph)
    for query in some(queries_on(graph)):
        found = functionals(query, point)
        for k in range(point.parameters.count):
            high, low = functionals(query, moved(point, k)), functionals(query, moved(point, k, -1e-6))
            assert np.allclose(found.gradients[:, k], (high.values - low.values) / 2e-6, atol=1e-6)


def as_model(point: Point) -> CGLSCM:
    graph = point.parameters.graph
    T, C, W = point.matrices(graph.observed)
    return CGLSCM(graph.observed, T, C, np.zeros(len(graph)), W, tuple(graph.latents), graph)


@QUICK
@given(graphs())
def test_values_of_queries_agree_with_the_model(graph: Graph) -> None:
    point = real_point(graph)
    model = as_model(point)
    a, b = graph.observed[0], graph.observed[-1]
    assert np.isclose(functionals(TotalEffect(a, b), point).values[0], model.total_effect(a, b))
    assert np.isclose(functionals(ErrorCovariance(a, b), point).values[0], model.omega[0, -1])
    if len(graph) > 2:
        c = graph.observed[1]
        slope, spread, effect = functionals(Distribution.after((b,), {a: None}, {c: None}), point).values
        for x, z in ((0.0, 0.0), (1.0, 0.0), (1.0, 2.0)):
            answer = model.do({a: x}).joint.given({c: z}).marginal(b)
            assert np.isclose(answer.mean[0], slope * z + effect * x)
            assert np.isclose(answer.variance[0], spread)
        joint = functionals(Distribution.after((b,), {a: None, c: None}), point).values
        assert np.isclose(model.do({a: 1.0, c: 0.0}).distribution(b).mean[0], joint[0])
        assert np.isclose(model.do({a: 0.0, c: 1.0}).distribution(b).mean[0], joint[1])
        through = model.total_effect(a, c) * model.total_effect(c, b)
        assert np.isclose(functionals(ThroughEffect((a, c, b)), point).values[0], through)


def reference_graphs() -> Iterator[tuple[dict[str, Any], Graph]]:
    for line in (REFERENCE / "linear_all_n3.jsonl").read_text().splitlines():
        case = json.loads(line)
        directed = [(f"v{a}", f"v{b}") for a, b in case["D"]]
        bidirected = [(f"v{a}", f"v{b}") for a, b in case["B"]]
        yield case, Graph(directed, bidirected, observed=[f"v{i}" for i in range(case["n"])])


def test_every_three_node_graph() -> None:
    cases = list(reference_graphs())
    assert len(cases) == 40
    for case, graph in cases:
        assert model_dimension(graph) == case["rank"]
        for (a, b), degree in zip(case["D"], case["deg"], strict=True):
            assert jacobian_test(graph, DirectEffect(f"v{a}", f"v{b}")) == (degree != "0")
        for a, b, degree in case["te"]:
            assert jacobian_test(graph, TotalEffect(f"v{a}", f"v{b}")) == (degree != 0)
            assert jacobian_test(graph, Distribution.after((f"v{b}",), {f"v{a}": None})) == (degree != 0)


def test_an_instrument_need_not_be_an_ancestor() -> None:
    graph = Graph([("x", "y")], [("x", "y"), ("z", "x")])
    assert jacobian_test(graph, DirectEffect("x", "y"))


def test_one_hidden_cause_carries_one_instrument_not_two() -> None:
    causes = Graph([("x1", "y"), ("x2", "y")], [("x1", "y"), ("x2", "y")], {"U": ["z1", "z2", "x1", "x2"]})
    assert jacobian_test(causes.induced(["x1", "z1", "z2", "y"]), DirectEffect("x1", "y"))
    assert not jacobian_test(causes, DirectEffect("x1", "y"))
    arcs = [("z1", "z2"), ("z1", "x1"), ("z1", "x2"), ("z2", "x1"), ("z2", "x2"), ("x1", "x2")]
    clique = Graph(causes.directed, [*causes.bidirected, *arcs])
    assert jacobian_test(clique, DirectEffect("x1", "y"))


def test_a_fixed_coefficient_identifies_and_can_also_spoil() -> None:
    bow = [("x", "y")]
    assert not jacobian_test(Graph([("x", "y")], bow), ErrorCovariance("x", "y"))
    assert jacobian_test(Graph([("x", "y")], bow, coefficients={"x -> y": 0.5}), ErrorCovariance("x", "y"))
    assert jacobian_test(Graph([("x", "y")], bow, coefficients={"x <-> y": 0.1}), DirectEffect("x", "y"))
    iv = Graph([("z", "x"), ("x", "y")], bow, coefficients={"z -> x": 0.0})
    assert not jacobian_test(iv, DirectEffect("x", "y"))


def test_equal_labels_share_a_parameter_across_districts() -> None:
    edges, arcs = [("x", "y"), ("a", "b")], [("x", "y")]
    assert not jacobian_test(Graph(edges, arcs), DirectEffect("x", "y"))
    assert jacobian_test(Graph(edges, arcs, coefficients={"x -> y": "t", "a -> b": "t"}), DirectEffect("x", "y"))


@QUICK
@given(graphs())
def test_districts_decide_like_the_whole_jacobian(graph: Graph) -> None:
    """The slow oracle: the rank of the Jacobian of all of Sigma with and without the query's gradient."""
    from halftrek.identification.numbers.modular import PrimeField

    table = parameters_of(graph)
    field = PrimeField()
    point = Point(table, field, field.random(table.count, np.random.default_rng(5)))
    whole = block_at(point, graph.topological_order)
    for query in some(queries_on(graph)):
        gradients = functionals(query, point).gradients[:, list(whole.free)]
        rank = field.rank(whole.jacobian)
        inside = field.rank(np.hstack([whole.jacobian, gradients.T])) == rank
        assert jacobian_test(graph, query) == inside


@pytest.mark.parametrize(
    ("query", "words"),
    [
        (DirectEffect("x", "q"), "no variable 'q'"),
        (DirectEffect("U", "x"), "'U' is hidden"),
        (TotalEffect("x", "x"), "twice"),
        (Distribution.after(("y",), {"y": 1}), "both an outcome"),
        (Distribution.after(("y",), {"x": 1}, {"x": 1}), "both held by do"),
        (Distribution.after((), {"x": 1}), "no outcome"),
    ],
)
def test_a_query_that_does_not_fit_is_refused(query: Query, words: str) -> None:
    graph = Graph([("x", "y")], latents={"U": ["x", "y"]})
    with pytest.raises(QueryError, match=words):
        check_roles(query, graph)
