"""Verdicts on composite questions: by hand, and against gradients and witnesses on random graphs."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import halftrek as ht
from halftrek.errors import QueryError
from halftrek.graphs import Graph
from halftrek.identification import identify, solve
from halftrek.identification.decision import decide
from halftrek.identification.local.functionals import composite_values, functionals
from halftrek.identification.local.jacobian import random_point
from halftrek.identification.local.parameters import Point, parameters_of
from halftrek.identification.local.pieces import is_rational
from halftrek.identification.local.smooth import filled, model_at, smooth_dual
from halftrek.identification.local.witness import moves_freely, starting_values
from halftrek.identification.numbers.fields import Reals
from halftrek.identification.numbers.modular import PRIMES, PrimeField
from halftrek.identification.study import Study
from halftrek.queries import Composite, Distribution, evaluate
from halftrek.syntax import parse_graph, parse_question
from tests.narrow import normal, number, there
from tests.queries.composites import Maker

BOW = "x -> y; x <-> y"
IV = "z -> x -> y; x <-> y"
MEDIATOR = "x -> m -> y; x -> y"


@pytest.mark.parametrize(
    ("graph", "question", "status", "method"),
    [
        (IV, "E[y | do(x=1)] - E[y | do(x=0)]", "identified", "instrument"),
        (BOW, "E[y | do(x=1)] - E[y | do(x=0)]", "not identified", "jacobian"),
        (IV, "E[y_{x=1} - y_{x=0}]", "identified", "instrument"),
        (IV, "E[y_{x=1} - y_{x=0} | x=0, y=2]", "identified", "instrument"),
        (BOW, "E[y_{x=1} - y_{x=0} | x=0]", "not identified", "jacobian"),
        (BOW, "E[y_{x=1} | x=1]", "identified", "IDC*"),  # consistency: it is E[y | x=1]
        (IV, "P(y > 2 | do(x=1))", "identified", "instrument"),
        (BOW, "P(y > 2 | do(x=1))", "not identified", "jacobian"),
        (BOW, "P(y > 2 | x=1)", "identified", "observed"),
        (BOW, "Corr[x, y]", "identified", "observed"),
        (IV, "P(y_{x=0} < 2 | x=1, y > 2)", "identified", "instrument"),
        (BOW, "P(y_{x=0} < 2 | x=1, y > 2)", "not identified", "jacobian"),
        (BOW, "Var[y | do(x += 1)]", "identified", "observed"),  # a shift moves no variance
        (BOW, "E[y | do(x += 1)] - E[y]", "not identified", "jacobian"),
        (IV, "E[y | do(x += 1)] - E[y]", "identified", "instrument"),
        (IV, "Var[y | do(x *= 2)]", "identified", "instrument"),
        (BOW, "Var[y | do(x *= 2)]", "not identified", "jacobian"),
        (IV, "E[y | do(x ~ N(0, 1))]", "identified", "instrument"),
        (BOW, "SD[y | do(x ~ N(0, 1))]", "not identified", "jacobian"),
        (IV, "E[y | do(x -> y = 1)]", "identified", "instrument"),
        (BOW, "E[y | do(x -> y = 1)]", "not identified", "jacobian"),
        (MEDIATOR, "E[y_{x=1, m_{x=0}} - y_{x=0}]", "identified", "regression"),
        (MEDIATOR, "E[y_{x=0, m_{x=1}} - y_{x=0}]", "identified", "regression"),
        (MEDIATOR + "; m <-> y", "E[y_{x=1, m_{x=0}} - y_{x=0}]", "not identified", "jacobian"),
        (IV, "std(x ~> y)", "identified", "instrument"),
        (BOW, "std(x ~> y)", "not identified", "jacobian"),
        (BOW, "(x ~> y) - (x -> y)", "identified", "no path"),
        (BOW, "(x ~> y) * E[x | do(y += 1)]", "not identified", "jacobian"),
        (BOW, "E[x | do(y += 1)]", "identified", "observed"),
        ("x -> y; x <-> y; w -> y", "E[y | do(x=1, w=2)] - E[y | do(x=1, w=0)]", "identified", "elimination"),
        ("y -> x", "E[y | do(x=1)] - E[y | do(x=0)]", "identified", "no path"),
    ],
)  # fmt: skip
def test_verdicts(graph: str, question: str, status: str, method: str) -> None:
    found = identify(parse_graph(graph), parse_question(question))
    if method == "elimination":
        assert found.identified
    else:
        assert (found.status, found.method) == (status, method)
    assert (found.witness is not None) == (status == "not identified")
    assert found.identified == (found.degree == 1)
    assert found.explain()
    assert found.to_dict()["status"] == status


def test_a_contrast_is_its_effect_with_formula_and_recipe() -> None:
    found = identify(parse_graph(IV), parse_question("E[y | do(x=3)] - E[y | do(x=1)]"))
    assert found.estimand == "2 · [x ~> y] where [x ~> y] = Cov(z, y) / Cov(z, x)"
    assert there(found.latex).startswith("2 \\cdot ")
    assert "2 times the total effect x ~> y" in found.reasons[0]
    cov = np.array([[1.0, 0.5, 0.3], [0.5, 2.0, 0.9], [0.3, 0.9, 3.0]])
    assert solve(there(found.recipe), cov, ("z", "x", "y")) == pytest.approx(0.6)


def test_an_effect_of_w_survives_a_hopeless_effect_of_x() -> None:
    """Only the effect of w is needed, though the two means themselves cannot be known."""
    graph = parse_graph("x -> y; x <-> y; w -> y")
    assert not identify(graph, parse_question("E[y | do(x=1, w=2)]"), witness=False).identified
    contrast = identify(graph, parse_question("E[y | do(x=1, w=2)] - E[y | do(x=1, w=0)]"))
    assert contrast.identified
    assert "w ~> y" in there(contrast.estimand)


@pytest.mark.parametrize(
    ("question", "identified"),
    [
        ("SD[w] + ({})", True),
        ("Var[w] - ({})", True),
        ("({}) / SD[w]", True),
        ("P(w > 1) * ({})", True),
        ("std(w ~> y) + {}", True),
        ("SD[w] + 2 * ({}) + E[w]", True),
        ("E[y_{{x=1, w=2}} - y_{{x=1, w=0}} + w | w=2]", True),
        ("SD[w] + E[y | do(x=1, w=2)]", False),
        ("SD[w] + (E[y | do(x=1, w=2)] - E[y | do(x=2, w=0)])", False),
        ("SD[w] + (E[y | do(x=1, w=2)] + E[y | do(x=1, w=0)])", False),
    ],
)
def test_a_contrast_that_is_known_is_known_beside_other_numbers(question: str, identified: bool) -> None:
    """The means are not identified, and what cannot be known of them cancels."""
    graph = parse_graph("x -> y; x <-> y; w -> y")
    asked = parse_question(question.format("E[y | do(x=1, w=2)] - E[y | do(x=1, w=0)]"))
    found = identify(graph, asked, witness=False)
    assert found.status == ("identified" if identified else "not identified")
    assert moves_freely(graph, asked) != identified
    if identified:
        assert "made of parts that are all identified: E[" in found.reasons[0]
        assert any(r.startswith("In linear models E[") and "the total effect w ~> y." in r for r in found.reasons)
        assert "slope of w in the regression of y on w" in there(found.estimand)


@pytest.mark.parametrize(
    ("rest", "identified"),
    [
        ("E[y | do(x=1)] - (E[y | do(x=0)] + (x -> y))", True),  # zero: what x does is taken away again
        ("E[y | do(x=1)] - (E[y | do(x=0)] - (x -> y))", False),
        ("(x ~> y) - (x -> y)", True),
        ("(x ~> y) + (x -> y)", False),
    ],
)
@pytest.mark.parametrize("beside", ["SD[w]", "P(w > 1)"])
def test_the_signs_of_a_sum_that_is_not_rational_count(rest: str, identified: bool, beside: str) -> None:
    graph = parse_graph("x -> y; x <-> y; w -> y")
    prime = PRIMES[0]
    point = random_point(parameters_of(graph), PrimeField(prime), 1)
    alone = parse_question(rest)
    assert isinstance(alone, Composite)
    assert is_rational(alone)
    (exact,) = composite_values(alone, point)
    for text, sign in ((f"{beside} + ({rest})", 1), (f"{beside} - ({rest})", -1), (f"{rest} - {beside}", 1)):
        asked = parse_question(text)
        assert isinstance(asked, Composite)
        assert not is_rational(asked)
        assert composite_values(asked, point)[0] == sign * int(exact) % prime  # the rest of the sum comes first
        assert moves_freely(graph, asked) != identified  # the model's own answers, by matrices
        assert identify(graph, asked, witness=False).identified == identified


def test_the_bow_has_two_models_that_answer_differently() -> None:
    asked = parse_question("P(y > 1 | do(x=1))")
    found = identify(parse_graph(BOW), asked)
    witness = there(found.witness)
    first, second = witness
    np.testing.assert_allclose(first.cov, second.cov, atol=1e-10)
    np.testing.assert_allclose(first.mean, second.mean, atol=1e-10)
    answers = [number(evaluate(asked, model)) for model in witness]
    assert answers == pytest.approx(list(witness.answers))
    assert abs(answers[0] - answers[1]) > 0.04
    assert found.helps


def test_without_linearity() -> None:
    graph = parse_graph("x -> m -> y; x <-> y")
    found = identify(graph, parse_question("E[y | do(x=1)] - E[y | do(x=0)]"), scope="nonparametric")
    assert (found.status, found.scope, found.method) == ("identified", "nonparametric", "front-door")
    assert identify(parse_graph(IV), parse_question("E[y | do(x=1)]"), scope="nonparametric").status == "not identified"
    contrast = parse_question("E[y | do(x=1)] - E[y | do(x=0)]")
    assert identify(parse_graph(IV), contrast, scope="nonparametric").status in ("not identified", "undecided")
    with pytest.raises(QueryError, match="means nothing without them"):
        identify(graph, parse_question("E[y | do(x += 1)]"), scope="nonparametric")
    assert identify(graph, parse_question("E[y_{x=1} - y_{x=0}]"), scope="nonparametric").identified


def test_conditions_that_never_happen_are_no_reason_to_fail() -> None:
    found = identify(parse_graph(BOW), parse_question("P(y_{x=1} > 1 | x > 1000)"))
    assert not found.identified
    assert identify(parse_graph(IV), parse_question("P(y_{x=1} > 1 | x > 1000)")).identified


def test_values_may_be_left_out() -> None:
    assert identify(parse_graph(IV), parse_question("E[y | do(x), z]"), witness=False).identified
    assert not identify(parse_graph(BOW), parse_question("P(y > 1 | do(x))"), witness=False).identified
    assert not identify(parse_graph(BOW), parse_question("E[y_{x} | x]"), witness=False).identified


@st.composite
def small_graphs(draw: st.DrawFn) -> Graph:
    size = draw(st.integers(2, 4))
    names = "abcd"[:size]
    pairs = [(u, v) for i, u in enumerate(names) for v in names[i + 1 :]]
    arrows = [p for p in pairs if draw(st.booleans())]
    arcs = [p for p in pairs if draw(st.integers(0, 3)) == 0]
    return Graph(arrows, arcs, {}, tuple(names))


def question(graph: Graph, seed: int) -> Composite:
    rng = np.random.default_rng(seed)
    maker = Maker(graph.observed, graph.directed, rng, left_out=rng.random() < 0.3)
    while True:
        query = maker.distribution() if rng.random() < 0.2 else maker.expression(1)
        if isinstance(query, Composite):
            return query


@given(graph=small_graphs(), seed=st.integers(0, 10**5))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_exact_pieces_equal_the_answer_of_the_model(graph: Graph, seed: int) -> None:
    """The same number and derivatives by path sums with dual numbers, and by matrices."""
    query = question(graph, seed)
    table = parameters_of(graph)
    point = Point(table, Reals(), starting_values(table, np.random.default_rng(seed)))
    try:
        found = functionals(query, point)
        answer = evaluate(filled(query), model_at(point, means=True))
    except QueryError:
        assume(False)
    if isinstance(query, Distribution):
        means = [v for t, v in zip(found.texts, found.values, strict=True) if t.startswith("the mean")]
        np.testing.assert_allclose(means, normal(answer).mean, atol=1e-9)
    elif is_rational(query):
        assert found.values[0] == pytest.approx(answer, rel=1e-8, abs=1e-8)
        np.testing.assert_allclose(found.duals[0], smooth_dual(query, point), rtol=1e-7, atol=1e-7)
    else:
        assert found.values[0] == answer


@pytest.mark.parametrize(
    "text",
    [
        "E[y | x=1, m=0]",
        "Var[y | x=1]",
        "Var[y + 2 * x | m=1]",
        "Cov[x, y | m=1]",
        "Cov[y_{x=1}, m | x=0, y=2]",
        "Var[y_{x=1} - y_{x=0} | y=2]",
        "Var[y | do(x ~ N(1, 2)), m=1]",
        "Var[y | do(x *= 2), m=1]",
        "E[y | do(x += 1), m=1]",
        "Cov[x, y | do(m -> y = 2)]",
        "E[y | x=1] / Var[m | x=1, y=0] - (x ~> y) * (x <-> y)",
    ],
)
def test_exact_pieces_of_each_kind_equal_the_answer_of_the_model(text: str) -> None:
    query = parse_question(text)
    assert isinstance(query, Composite)
    assert is_rational(query)
    table = parameters_of(parse_graph("x -> m -> y; x -> y; x <-> y"))
    point = Point(table, Reals(), starting_values(table, np.random.default_rng(2)))
    found = functionals(query, point)
    assert found.values[0] == pytest.approx(number(evaluate(query, model_at(point, means=True))), rel=1e-9)
    np.testing.assert_allclose(found.duals[0], smooth_dual(query, point), rtol=1e-8, atol=1e-8)


@given(graph=small_graphs(), seed=st.integers(0, 10**5))
@settings(max_examples=50, deadline=None, derandomize=True)
def test_verdicts_agree_with_gradients_and_witnesses(graph: Graph, seed: int) -> None:
    query = question(graph, seed)
    try:
        found = decide(
            Study(graph), query, scope="linear", budget=0.3, witness=True
        )  # without advice, which takes time
    except QueryError:
        assume(False)
    try:
        moves = moves_freely(graph, query)
    except QueryError:
        assume(False)
    assume(found.status in ("identified", "not identified"))
    if found.identified:
        assert not moves
    else:
        assert moves or is_rational(query) or isinstance(query, Distribution)
        if found.witness is not None and not isinstance(query, Distribution):
            answers = [evaluate(filled(query), model) for model in found.witness]
            assert answers == pytest.approx(list(found.witness.answers), rel=1e-6, abs=1e-8)
            assert found.witness.largest_difference < 1e-9


@given(graph=small_graphs(), seed=st.integers(0, 10**5))
@settings(max_examples=30, deadline=None, derandomize=True)
def test_a_known_contrast_of_random_graphs_is_known_beside_a_spread(graph: Graph, seed: int) -> None:
    assume(len(graph) > 2)
    a, b, y = (str(v) for v in np.random.default_rng(seed).permutation(graph.observed)[:3])
    contrast = f"E[{y} | do({a}=1, {b}=2)] - E[{y} | do({a}=1, {b}=0)]"
    alone, beside = (parse_question(text) for text in (contrast, f"SD[{a}] * ({contrast}) + SD[{b}]"))
    known, found = (decide(Study(graph), q, scope="linear", budget=0.3, witness=False) for q in (alone, beside))
    if known.identified:
        assert found.identified
    if found.identified:
        assert not moves_freely(graph, beside)
    assert known.identified or not found.identified


@given(graph=small_graphs(), seed=st.integers(0, 10**5))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_identified_effects_make_their_counterfactuals_identified(graph: Graph, seed: int) -> None:
    """``E[y_x - y | e]`` for any evidence, once the total effect of x on y is identified in the linear model."""
    rng = np.random.default_rng(seed)
    x, y, *rest = (str(v) for v in rng.permutation(graph.observed))
    assume(identify(graph, parse_question(f"{x} ~> {y}"), witness=False, budget=0.5).identified)
    evidence = ", ".join(f"{v}={rng.integers(-2, 3)}" for v in (x, y, *rest) if rng.random() < 0.7)
    behind = f" | {evidence}" if evidence else ""
    for text in (f"E[{y}_{{{x}=1}} - {y}{behind}]", f"P({y}_{{{x}=1}} - {y} > 0{behind})", f"E[{y}_{{{x}=1}}{behind}]"):
        try:
            found = identify(graph, parse_question(text), witness=False, budget=0.5)
        except QueryError:
            assume(False)
        assert found.identified


@given(graph=small_graphs(), seed=st.integers(0, 10**5))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_what_the_arrows_alone_identify_is_identified_in_linear_models(graph: Graph, seed: int) -> None:
    """ID and ID* formulas hold in linear models too, so the linear verdict must not be weaker."""
    rng = np.random.default_rng(seed)
    x, y, *rest = (str(v) for v in rng.permutation(graph.observed))
    evidence = ", ".join(f"{v}={rng.integers(-2, 3)}" for v in (x, *rest) if rng.random() < 0.5)
    behind = f" | {evidence}" if evidence else ""
    asked = parse_question(
        str(
            rng.choice(
                [
                    f"E[{y}_{{{x}=1}} - {y}_{{{x}=0}}{behind}]",
                    f"P({y}_{{{x}=1}} > 0{behind})",
                    f"SD[{y}_{{{x}=1}}{behind}]",
                ]
            )
        )
    )
    try:
        arrows = identify(graph, asked, scope="nonparametric", witness=False)
    except QueryError:
        assume(False)
    assume(arrows.identified)
    linear = identify(graph, asked, witness=False, budget=0.5)
    assert linear.identified
    if linear.scope == "nonparametric":
        assert linear.method == arrows.method


def test_three_hundred_causes_that_covary_need_little_memory() -> None:
    """45,000 covariances: a number that carries a derivative for each of them takes 11 GB in the end."""
    graph = ht.graph("y ~ " + " + ".join(f"x{i}" for i in range(300)))
    tracemalloc.start()
    try:
        verdict = ht.identify(graph, "E[y | do(x0=1)]")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert verdict.identified
    assert peak < 200e6


def test_two_parts_are_named_even_if_neither_needs_linearity() -> None:
    found = identify(parse_graph("x -> m -> y; x <-> y"), parse_question("E[m | do(x=1)] * E[y | do(x=1)]"))
    assert found.reasons[0] == "It is made of parts that are all identified: P(m | do(x)), P(y | do(x))."
    alone = identify(parse_graph("x -> m -> y; x <-> y"), parse_question("E[y | do(x=1)]"))
    assert not any("made of parts" in reason for reason in alone.reasons)
