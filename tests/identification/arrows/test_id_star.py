"""ID* and IDC* against models in which every counterfactual is counted out unit by unit."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from halftrek.errors import QueryError
from halftrek.graphs import Graph
from halftrek.identification import identify
from halftrek.identification.arrows.estimand import as_text
from halftrek.identification.arrows.id_star import Conflict, CounterfactualFormula, id_star
from halftrek.identification.arrows.nonparametric import Hedge, id_formula, idc_formula
from halftrek.identification.local.jacobian import jacobian_test
from halftrek.queries import Distribution, Variant
from halftrek.syntax import parse_graph, parse_question
from tests.identification.discrete_worlds import DiscreteWorlds, value_of
from tests.identification.samples import graphs


@st.composite
def questions(draw: st.DrawFn, names: tuple[str, ...], most: int = 2) -> Distribution:
    """Outcomes and evidence in worlds with values 0 and 1."""

    def potential(least: int) -> Variant:
        variable = draw(st.sampled_from(names))
        others = [v for v in names if v != variable]
        held = draw(st.lists(st.sampled_from(others), unique=True, min_size=least, max_size=2))
        return Variant(variable, {v: float(draw(st.integers(0, 1))) for v in held})

    outcomes = dict.fromkeys([potential(1), *(potential(0) for _ in range(draw(st.integers(0, most - 1))))])
    seen = [potential(draw(st.sampled_from([0, 0, 1]))) for _ in range(draw(st.integers(0, 2)))]
    given = {v: float(draw(st.integers(0, 1))) for v in seen if v not in outcomes}
    return Distribution.across(tuple(outcomes), given)


@st.composite
def small_cases(draw: st.DrawFn, size: int) -> tuple[Graph, Distribution]:
    names = tuple("abcd"[:size])
    pairs = list(combinations(names, 2))
    directed = draw(st.lists(st.sampled_from(pairs), unique=True, min_size=1, max_size=4))
    arcs = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=2))
    return Graph(directed, arcs, observed=names), draw(questions(names))


def counterfactual(text: str) -> Distribution:
    query = parse_question(text)
    assert isinstance(query, Distribution)
    return query


def solved(graph: Graph, query: Distribution) -> CounterfactualFormula | Conflict | Hedge:
    try:
        return id_star(graph, query)
    except QueryError:  # evidence that contradicts itself in every model
        assume(False)
        raise


def assert_formula(graph: Graph, query: Distribution, found: CounterfactualFormula, seed: int) -> None:
    model = DiscreteWorlds(graph, seed)
    chances = model.chances()
    table = model.observed(chances)
    numbers = {s: int(s.split("=")[1]) for s in found.symbols if "=" in s}
    free = [s for s in dict.fromkeys((*found.outcomes, *found.arbitrary)) if s not in numbers]
    for values in product((0, 1), repeat=len(free)):
        at = numbers | dict(zip(free, values, strict=True))
        outcomes = tuple(at[s] for s in found.outcomes)
        expected = model.answer(query, outcomes, chances)
        got = value_of(found.formula, table, model.names, found.symbols, at)
        assert got == pytest.approx(expected.real, abs=1e-10)


@given(case=small_cases(4), seed=st.integers(0, 100))
@settings(max_examples=80, deadline=None, derandomize=True)
def test_formulas_give_the_counted_answer(case: tuple[Graph, Distribution], seed: int) -> None:
    graph, query = case
    found = solved(graph, query)
    assume(isinstance(found, CounterfactualFormula))
    assert isinstance(found, CounterfactualFormula)
    assert_formula(graph, query, found, seed)


def identified_in_binary_models(graph: Graph, query: Distribution) -> bool:
    """Is the answer's derivative a combination of those of the observed probabilities, at a random model?"""
    model = DiscreteWorlds(graph, 7, levels=3)
    flat = np.concatenate([w.ravel() for w in model.weights])
    cuts = np.cumsum([w.size for w in model.weights])[:-1]
    outcomes = list(product((0, 1), repeat=len(query.outcomes)))

    def numbers(weights: np.ndarray) -> tuple[np.ndarray, list[complex]]:
        pieces = np.split(weights, cuts)
        chances = model.chances([p.reshape(w.shape) for p, w in zip(pieces, model.weights, strict=True)])
        return model.observed(chances).ravel(), [model.answer(query, o, chances) for o in outcomes]

    rows, answers = [], []
    for k in range(len(flat)):
        moved = flat.astype(complex)
        moved[k] += 1e-30j
        table, values = numbers(moved)
        rows.append(table.imag / 1e-30)
        answers.append([v.imag / 1e-30 for v in values])
    seen, asked = np.array(rows), np.array(answers)
    left = asked - seen @ np.linalg.lstsq(seen, asked, rcond=1e-10)[0]
    return bool(np.abs(left).max() <= 1e-8 * (1e-3 + np.abs(asked).max()))


@given(case=small_cases(3))
@settings(max_examples=120, deadline=None, derandomize=True)
def test_verdicts_agree_with_the_derivatives_of_binary_models(case: tuple[Graph, Distribution]) -> None:
    """Both ways: a formula only where the observed distribution fixes the answer, and wherever it does.

    Evidence on one variable in two worlds is left out: it may say that a cause is not 1, which for binary causes, but
    not in general, says that it is 0.
    """
    graph, query = case
    assume(len({v.variable for v in query.given}) == len(query.given))
    found = solved(graph, query)
    assert isinstance(found, CounterfactualFormula) == identified_in_binary_models(graph, query)


@given(graph=graphs(most=5), data=st.data())
@settings(max_examples=200, deadline=None, derandomize=True)
def test_one_world_is_an_intervention(graph: Graph, data: st.DataObject) -> None:
    roles = [data.draw(st.integers(0, 3)) for _ in graph.observed]
    outcomes = [v for v, r in zip(graph.observed, roles, strict=True) if r == 0]
    held = {v: None for v, r in zip(graph.observed, roles, strict=True) if r == 1}
    seen = [v for v, r in zip(graph.observed, roles, strict=True) if r == 2]
    assume(outcomes)
    query = Distribution.across(
        tuple(Variant(v, dict(held.items())) for v in outcomes), {Variant(v, dict(held.items())): None for v in seen}
    )
    found = id_star(graph, query)
    plain = idc_formula(graph, outcomes, held, seen) if seen else id_formula(graph, outcomes, held)
    assert not isinstance(found, Conflict)
    assert isinstance(found, Hedge) == isinstance(plain, Hedge)


@given(graph=graphs(most=5), data=st.data())
@settings(max_examples=80, deadline=None, derandomize=True)
def test_what_the_arrows_identify_is_identified_in_linear_models(graph: Graph, data: st.DataObject) -> None:
    query = data.draw(questions(graph.observed))
    found = solved(graph, query)
    assume(isinstance(found, CounterfactualFormula))
    try:
        locally = jacobian_test(graph, query)
    except QueryError:  # evidence of which linear models determine one part from the rest
        assume(False)
    assert locally


def test_a_value_left_out_is_one_value_in_all_worlds() -> None:
    graph = parse_graph("x -> {y, z}; w -> y; y <-> z")
    found = id_star(graph, counterfactual("P(y_{x, w} | z_{x, w})"))
    assert isinstance(found, CounterfactualFormula)
    expected = idc_formula(graph, ["y"], ["x", "w"], ["z"])
    assert not isinstance(expected, Hedge)
    assert as_text(found.formula) == as_text(expected)
    bow = parse_graph("x -> {y, z}; w -> y; y <-> z; x <-> y; x <-> z")
    assert isinstance(id_star(bow, counterfactual("P(y_{x, w}, z_{x})")), Hedge)


def test_minus_zero_is_zero() -> None:
    found = id_star(parse_graph("x -> y; x <-> y"), counterfactual("P(y_{x=0} | x=-0)"))
    assert isinstance(found, CounterfactualFormula)
    assert as_text(found.formula) == "P(y | x=0)"


FRONT_DOOR = "x -> m -> y; x <-> y"
BACK_DOOR = "z -> {x, y}; x -> y"


@pytest.mark.parametrize(
    ("graph", "question", "formula"),
    [
        # Shpitser and Pearl (2008), the running example: P(y_x | x', z_d, d)
        ("x -> w -> y; d -> z -> y; x <-> y", "P(y_{x=1} | x=0, z_{d=1}=1, d=1)", "Σ_w P(w | x=1) P(y | x=0, w, z=1)"),
        ("x -> y", "P(y_{x=1})", "P(y | x=1)"),
        ("x -> y", "P(y_{x=1} | x=0)", "P(y | x=1)"),
        (BACK_DOOR, "P(y_{x=1} | x=0, z=1)", "P(y | z=1, x=1)"),
        (FRONT_DOOR, "P(y_{x=1} | x=0)", "Σ_m P(m | x=1) P(y | x=0, m)"),
        (FRONT_DOOR, "P(y_{m=1} | x=0, m=0)", "P(y | x=0, m=1)"),
        ("x -> y; x <-> y", "P(y_{x=1} | x=1)", "P(y | x=1)"),
        ("x -> y; x <-> y", "P(x_{y=1})", "P(x)"),
        ("z -> x -> y; x <-> y", "P(y_{x=1}, z | x=1)", "P(y, z | x=1)"),
        ("x -> y; x <-> y", "P(y_{x=1} | x=1, y=0)", "1"),
    ],
)
def test_known_formulas(graph: str, question: str, formula: str) -> None:
    drawn, query = parse_graph(graph), counterfactual(question)
    found = id_star(drawn, query)
    assert isinstance(found, CounterfactualFormula)
    assert as_text(found.formula) == formula
    assert_formula(drawn, query, found, 3)


@pytest.mark.parametrize(
    ("graph", "question", "why"),
    [
        ("x -> y", "P(y_{x=1}, y_{x=0})", Conflict),
        ("x -> y", "P(y_{x=1} | x=0, y=1)", Conflict),
        ("x -> y", "P(y_{x} | x, y)", Conflict),
        ("x -> y; x <-> y", "P(y_{x=1})", Hedge),
        ("x -> y; x <-> y", "P(y_{x=1} | x=0)", Conflict),
        ("x -> {a, b}; a <-> b", "P(a_{x=1}, b_{x=0})", Conflict),  # the w-graph
        ("x -> {a, b}; a <-> z; z <-> b", "P(a_{x=1}, b_{x=0}, z)", Conflict),
        (FRONT_DOOR, "P(y_{x=1} | x=0, m=0)", Conflict),
    ],
)
def test_known_refusals(graph: str, question: str, why: Any) -> None:
    found = id_star(parse_graph(graph), counterfactual(question))
    assert isinstance(found, why)


def test_effect_of_treatment_on_the_treated_by_the_back_door() -> None:
    graph, query = parse_graph(BACK_DOOR), counterfactual("P(y_{x=1} | x=0)")
    found = id_star(graph, query)
    assert isinstance(found, CounterfactualFormula)
    assert_formula(graph, query, found, 5)


def test_the_verdict_says_why() -> None:
    verdict = identify(parse_graph("x -> y"), counterfactual("P(y_{x=1}, y_{x=0})"), scope="nonparametric")
    assert (verdict.status, verdict.method, verdict.scope) == ("not identified", "ID*", "nonparametric")
    assert "the copies of y in different worlds share their error" in verdict.explain()
    verdict = identify(parse_graph(FRONT_DOOR), counterfactual("P(y_{x=1} | x=0)"), scope="nonparametric")
    assert (verdict.status, verdict.method) == ("identified", "IDC*")
    assert verdict.latex == r"\sum_{m} P(m \mid x=1) P(y \mid x=0, m)"


def test_contradicting_evidence_is_refused() -> None:
    with pytest.raises(QueryError, match="two things about z"):
        id_star(parse_graph("x -> y; z -> x"), counterfactual("P(y_{x=1} | z=0, z_{y=1}=1)"))
    with pytest.raises(QueryError, match="contradicts itself"):
        id_star(parse_graph("x -> y"), counterfactual("P(y_{x=0} | x=1, y=0, y_{x=1}=1)"))
