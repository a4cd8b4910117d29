"""The complete decision: polynomials modulo a prime, counts of values, and both real models where there are two."""

import json
from collections.abc import Iterator
from itertools import combinations, combinations_with_replacement
from math import prod
from typing import Any

import numpy as np
import pytest
from flint import nmod_mpoly_ctx, nmod_poly
from hypothesis import assume, given
from hypothesis import strategies as st

from halftrek.graphs import Graph
from halftrek.identification import every_effect, identify, identify_all, real_values, solve
from halftrek.identification.clock import Clock, start_clock
from halftrek.identification.exact.algebra import algebra
from halftrek.identification.exact.branches import find_branches
from halftrek.identification.exact.elimination import Count, count_values
from halftrek.identification.exact.polynomials import (
    closed_spaces,
    distinct_roots,
    row_of,
    solve_linear,
    univariate,
    variables_of,
)
from halftrek.identification.numbers.modular import PRIMES
from halftrek.identification.study import Study
from halftrek.queries.types import DirectEffect, Distribution, ErrorCovariance, PathEffect, TotalEffect
from tests.identification.exact.test_modular import slow_rref
from tests.identification.local.test_jacobian import REFERENCE
from tests.identification.samples import random_model
from tests.identification.test_identify import truth
from tests.narrow import there

P = PRIMES[0]
CONTEXT = nmod_mpoly_ctx.get(("w", 4), modulus=P, ordering="degrevlex")
X, Y, Z, TARGET = CONTEXT.gens()
TWO_VALUES = Graph([("a", "b"), ("b", "c"), ("b", "d")], [("a", "b"), ("a", "c"), ("a", "d")])
RANK_TRICK = Graph([("2", "4"), ("3", "4")], latents={"U": ["1", "2", "3", "4"]})


def later() -> Clock:
    return start_clock(20.0)


def test_roots_are_counted_without_repetition() -> None:
    assert distinct_roots(nmod_poly([9, -6, 1], P)) == 1  # (x - 3)^2
    assert distinct_roots(nmod_poly([2, -3, 1], P)) == 2  # (x - 1)(x - 2)


def test_a_system_with_four_points() -> None:
    """x^2 = 1 and y^2 = 4: x takes two values, x + y four, x^2 one."""
    found = there(algebra(P, [X**2 - 1, Y**2 - 4], clock=later()))
    assert found.one.nrows() == 4
    counts = [distinct_roots(found.element(f).minpoly()) for f in (X, X + Y, X**2, X * Y)]
    assert counts == [2, 4, 1, 2]


def test_infinitely_many_solutions_have_no_algebra_but_one_variable_may_be_found() -> None:
    """x y = x and x^2 = x: y is free where x = 0; x is 0 or 1."""
    system = [X * Y - X, X**2 - X]
    assert algebra(P, system, clock=later()) is None
    assert univariate(system, 0, clock=later()) == nmod_poly([0, -1, 1], P)


def test_linear_equations_are_used_up_first() -> None:
    system = [X + Y - 3, X - Y - 1]
    assert solve_linear(system)[0] == []
    assert int(there(univariate(system, 0, clock=later()))(2)) == 0


small = st.integers(-4, 4)


@given(st.lists(st.tuples(small, small, small), min_size=1, max_size=4, unique_by=lambda point: point[0]), small, small)
def test_the_algebra_of_some_points_knows_the_values_at_them(
    points: list[tuple[int, int, int]], slope: int, shift: int
) -> None:
    """x is any of these numbers, y and z are polynomials in x: what takes how many values is read off the points."""
    where = prod((X - a for a, _, _ in points), start=CONTEXT.constant(1))
    values = [interpolated(points, coordinate) for coordinate in (1, 2)]
    system = [where, Y - values[0], Z - values[1], (Y - values[0]) * (X + Z)]
    answer = slope * Y * Z + shift * X
    expected = sorted({(slope * b * c + shift * a) % P for a, b, c in points})
    found = there(algebra(P, system, clock=later()))
    assert found.one.nrows() == len(points)
    for equation in (found.element(answer).minpoly(), there(univariate([*system, TARGET - answer], 3, clock=later()))):
        assert sorted(int(root) for root, _ in equation.roots()) == expected
        assert distinct_roots(equation) == len(expected)


def interpolated(points: list[tuple[int, int, int]], coordinate: int) -> Any:
    """The polynomial in x that goes through the points (Lagrange)."""
    total = CONTEXT.constant(0)
    for point in points:
        others = [other[0] for other in points if other is not point]
        basis = prod(((X - a) * pow(point[0] - a, -1, P) for a in others), start=CONTEXT.constant(1))
        total += basis * point[coordinate]
    return total


@given(st.integers(0, 2**32))
def test_the_space_of_products_is_that_of_a_plain_elimination(seed: int) -> None:
    """All products of degree up to 3 of random equations, written down and eliminated by hand."""
    rng = np.random.default_rng(seed)
    quadratic = [m for k in range(3) for m in combinations_with_replacement((X, Y, Z), k)]
    system: list[Any] = [
        sum(int(rng.integers(0, 3)) * prod(m, start=CONTEXT.constant(1)) for m in quadratic) for _ in range(3)
    ]
    system = [f for f in system if f.total_degree() == 2]
    assume(system)
    spaces = dict(closed_spaces(system, 4, later()))
    used = [(X, Y, Z)[v] for v in variables_of(system)]
    columns = [m for k in (3, 2, 1, 0) for m in combinations_with_replacement(range(3), k)]
    products: list[Any] = system
    before: list[Any] = []
    while len(products) != len(before):  # what falls in degree is multiplied again
        before = products
        lower = [f * x for f in products if f.total_degree() < 3 for x in used]
        reduced, pivots = slow_rref(P, [[row_of(f).get(m, 0) for m in columns] for f in (*products, *lower)])
        products = [sum(c * power(m) for c, m in zip(row, columns, strict=True)) for row in reduced]
    assert sorted(spaces[3]) == sorted(columns[j] for j in pivots)
    for row, pivot in zip(reduced, pivots, strict=True):
        tail = {m: P - c for m, c in zip(columns, row, strict=True) if c and m != columns[pivot]}
        assert spaces[3][columns[pivot]] == tail


def power(monomial: tuple[int, ...]) -> Any:
    return prod(((X, Y, Z)[v] for v in monomial), start=CONTEXT.constant(1))


def test_two_values_and_the_two_models_behind_them() -> None:
    verdict = identify(TWO_VALUES, DirectEffect("a", "b"))
    assert (verdict.status, verdict.degree, verdict.identified) == ("finite", 2, False)
    first, second = there(verdict.witness).models
    assert np.abs(first.cov - second.cov).max() < 1e-10
    assert [truth(m, verdict.query) for m in (first, second)] == pytest.approx(there(verdict.witness).answers)
    branches = real_values(TWO_VALUES, DirectEffect("a", "b"), first.cov)
    assert [b[0] for b in branches] == pytest.approx(sorted(there(verdict.witness).answers))
    assert "2 values" in str(verdict)


def test_all_equations_of_arcs_are_used_so_that_the_count_of_values_is_exact() -> None:
    found = [count_values(Study(TWO_VALUES), query, frozenset(), budget=5.0) for query in every_effect(TWO_VALUES)]
    assert found == [Count(2, exact=True)] * 8


def test_two_models_are_shown_by_the_number_in_which_they_differ() -> None:
    """The effect on w is the larger one, and the same in both."""
    arrows = [*TWO_VALUES.directed, ("a", "w")]
    graph = Graph(arrows, TWO_VALUES.bidirected, coefficients={"a -> w": 5.0})
    witness = there(find_branches(graph, Distribution.after(("w", "b"), {"a": 1.0})))
    assert witness.quantity == "a ~> b"
    first, second = (truth(model, TotalEffect("a", "b")) for model in witness)
    assert (first, second) == pytest.approx(witness.answers)
    assert abs(first - second) > 0.05
    assert witness.largest_difference < 1e-9


def test_a_part_of_a_study_is_that_of_the_part_of_the_graph() -> None:
    study = Study(TWO_VALUES)
    assert study.part(tuple(TWO_VALUES.observed)) is study
    small = tuple(TWO_VALUES.topological_order[:2])
    part = study.part(small)
    assert part.graph == TWO_VALUES.induced(small)
    assert study.part(small) is part


def test_branches_do_not_depend_on_units() -> None:
    model = random_model(TWO_VALUES, np.random.default_rng(1))
    unit = dict(zip(model.names, 10.0 ** np.random.default_rng(2).uniform(-12.0, 14.0, len(model.names)), strict=True))
    scale = np.array(list(unit.values()))
    plain = real_values(TWO_VALUES, DirectEffect("a", "b"), model.cov, model.names)
    other = real_values(TWO_VALUES, DirectEffect("a", "b"), model.cov * np.outer(scale, scale), model.names)
    assert len(plain) == 2
    assert [v[0] * unit["a"] / unit["b"] for v in other] == pytest.approx([v[0] for v in plain], rel=1e-6)


def test_an_identified_answer_has_one_branch() -> None:
    model = random_model(RANK_TRICK, np.random.default_rng(3))
    (value,) = real_values(RANK_TRICK, DirectEffect("2", "4"), model.cov)
    assert value[0] == pytest.approx(truth(model, DirectEffect("2", "4")), abs=1e-5)


def test_what_published_criteria_for_latent_factors_leave_open() -> None:
    verdict = identify(RANK_TRICK, DirectEffect("2", "4"))
    assert (verdict.status, verdict.degree) == ("identified", 1)


NAMED = [c for c in json.loads((REFERENCE / "linear_named.json").read_text())["items"] if not c.get("cyclic")]


@pytest.mark.parametrize("case", NAMED, ids=[case["id"] for case in NAMED])
def test_named_graphs(case: dict[str, Any]) -> None:
    graph = Graph(case["directed"], case["bidirected"], observed=case["nodes"])
    verdicts = identify_all(graph)
    assert verdicts
    for verdict in verdicts:
        assert isinstance(verdict.query, DirectEffect | TotalEffect)
        kind = "edge" if isinstance(verdict.query, DirectEffect) else "total_effect"
        expected = case["truth"][kind][f"{verdict.query.cause}->{verdict.query.effect}"]
        degrees = {"identified": 1, "not identified": 0, "finite": verdict.degree}
        assert degrees[verdict.status] == expected, verdict


def four_node_sample() -> Iterator[Graph]:
    """Every 97th of the 4096 labelled graphs."""
    pairs = list(combinations(["v0", "v1", "v2", "v3"], 2))
    for code in range(0, 4096, 97):
        directed = [e for i, e in enumerate(pairs) if code >> i & 1]
        bidirected = [e for i, e in enumerate(pairs) if code >> (6 + i) & 1]
        yield Graph(directed, bidirected, observed=["v0", "v1", "v2", "v3"])


def test_criteria_and_elimination_from_scratch_agree() -> None:
    compared = 0
    for graph in four_node_sample():
        study = Study(graph)
        for verdict in identify_all(graph):
            assert verdict.status != "undecided"
            if verdict.status != "not identified":
                count = count_values(study, verdict.query, frozenset(), budget=20.0)
                assert count is not None
                assert count.values == verdict.degree
                compared += 1
    assert compared > 100


def test_other_questions_are_counted_too() -> None:
    study = Study(TWO_VALUES)
    for query, values in (
        (PathEffect(("a", "b", "c")), 2),
        (ErrorCovariance("a", "b"), 2),
        (Distribution.after(("c", "d"), {"b": None}), 2),
        (Distribution.after(("c",), {"b": None}, {"a": None}), 2),
        (Distribution.after(("c",), {"a": None, "b": None}), 2),
        (Distribution.after(("d",), {"b": None}, {"c": None}), 2),  # what is seen moves with what is held
        (Distribution.after(("d",), {"a": None}, {"c": None}), 2),
    ):
        assert there(count_values(study, query, frozenset(), budget=20.0)).values == values


def test_a_conditional_answer_may_be_identified_where_the_joint_one_is_not() -> None:
    graph = Graph([("x", "m"), ("m", "y")], [("x", "m")])
    assert identify(graph, Distribution.after(("y",), {"x": None})).status == "not identified"
    assert identify(graph, Distribution.after(("y",), {"x": None}, {"m": None})).identified


def test_too_small_a_budget_is_said() -> None:
    arcs = [("0", "1"), ("0", "2"), ("0", "3"), ("0", "4"), ("1", "3"), ("2", "4")]
    graph = Graph([("0", "1"), ("1", "2"), ("2", "3"), ("3", "4")], arcs)
    verdict = identify(graph, TotalEffect("0", "4"), budget=0.0)
    assert verdict.status == "undecided"
    assert "larger" in verdict.explain()
    assert every_effect(graph)[0] == DirectEffect("0", "1")


def beyond_half_treks() -> Iterator[tuple[Graph, bool]]:
    cases = json.loads((REFERENCE / "linear_n5_beyond_half_trek.json").read_text())["graphs"]
    for case in cases:
        directed, bidirected = ([tuple(e) for e in case[kind]] for kind in ("directed", "bidirected"))
        yield Graph(directed, bidirected, observed=list("01234")), case["beyond_criteria"]


def test_the_fourteen_graphs_that_no_graphical_criterion_decides() -> None:
    hard = [graph for graph, beyond in beyond_half_treks() if beyond]
    assert len(hard) == 14
    for graph in hard:
        verdicts = identify_all(graph, [DirectEffect(u, v) for u, v in graph.directed])
        assert {(v.status, v.method) for v in verdicts} == {("identified", "elimination")}


def test_graphs_beyond_half_treks_that_have_a_recipe() -> None:
    some = [graph for graph, beyond in beyond_half_treks() if not beyond][::8]
    assert len(some) == 14
    for graph in some:
        for verdict in identify_all(graph, [DirectEffect(u, v) for u, v in graph.directed]):
            assert verdict.identified
            assert verdict.recipe is not None


def effect_of(case: dict[str, Any], edges: list[dict[str, Any]]) -> float:
    names = case["observed"]
    T = np.zeros((len(names),) * 2)
    for e in edges:
        T[names.index(e["from"]), names.index(e["to"])] = e["weight"]
    x, y = case["query"]
    return np.linalg.inv(np.eye(len(names)) - T)[names.index(x), names.index(y)]


@pytest.mark.parametrize("number", range(3))
def test_synthetic_models(number: int) -> None:
    case = json.loads((REFERENCE / "identification_synthetic.json").read_text())["cases"][number]
    graph = Graph(case["directed"], case["bidirected"], case["latents"], case["observed"])
    query = TotalEffect(*case["query"])
    verdict = identify(graph, query)
    assert verdict.identified == case["identified"]
    true = effect_of(case, case["edges"])
    if verdict.identified:
        assert solve(there(verdict.recipe), case["covariance"], case["observed"]) == pytest.approx(true, rel=1e-8)
    else:
        found = [v[0] for v in real_values(graph, query, case["covariance"], case["observed"])]
        assert found == pytest.approx(sorted([true, effect_of(case, case["witness_edges"])]), rel=1e-6)


def test_somebody_may_watch_the_time_pass() -> None:
    seen = []
    verdict = identify(TWO_VALUES, DirectEffect("b", "c"), progress=lambda spent, budget: seen.append((spent, budget)))
    assert verdict.status == "finite"
    assert seen
    assert all(0 <= spent <= budget == 5.0 for spent, budget in seen)
    assert seen == sorted(seen)


def test_a_clock_runs_out_and_is_halved() -> None:
    clock = start_clock(100.0)
    assert not clock.over()
    assert 49.0 < clock.half().left() <= 50.0
    seen = []
    assert start_clock(-1.0, lambda *times: seen.append(times)).over()
    assert len(seen) == 1
