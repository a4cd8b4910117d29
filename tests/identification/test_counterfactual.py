"""Linear verdicts on counterfactuals, and what they rest on, against the closed form of given models."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from halftrek.errors import QueryError
from halftrek.examples import catalog
from halftrek.graphs import Graph
from halftrek.identification import Verdict, identify, solve
from halftrek.identification.exact.elimination import count_values
from halftrek.identification.local.functionals import functionals
from halftrek.identification.local.parameters import Point, parameters_of
from halftrek.identification.local.witness import find_witness, starting_values
from halftrek.identification.numbers.duals import constant
from halftrek.identification.numbers.fields import Reals
from halftrek.identification.study import Study
from halftrek.models import CGLSCM, Gaussian
from halftrek.queries import Distribution, TotalEffect, Variant, evaluate
from halftrek.syntax import parse_graph, parse_question
from tests.identification.arrows.test_id_star import questions
from tests.identification.samples import graphs, random_model
from tests.narrow import normal

QUICK = settings(max_examples=60, deadline=None, derandomize=True)


def verdict(graph: str, question: str) -> Verdict:
    return identify(parse_graph(graph), parse_question(question))


@pytest.mark.parametrize(
    ("graph", "question", "status", "method"),
    [
        ("x -> y; x <-> y", "E[y_{x=1} | x=0]", "not identified", "jacobian"),
        ("x -> y; x <-> y", "P(y_{x=1} | x=0, y=2)", "not identified", "jacobian"),
        ("x -> y; x <-> y", "P(y_{x} | x)", "not identified", "jacobian"),
        ("x -> y; x <-> y", "P(y_{x=1} | x=1)", "identified", "IDC*"),
        ("x -> y; x <-> y", "P(x_{y=1} | y=2)", "identified", "observed"),
        ("z -> x -> y; x <-> y", "E[y_{x=1} | x=0, y=2]", "identified", "instrument"),
        ("z -> x -> y; x <-> y", "P(y_{x=1}, y_{x=0} | z=1)", "identified", "instrument"),
        ("x -> y", "P(y_{x=1}, y_{x=0})", "identified", "back-door"),
        ("x -> m -> y; x <-> y", "P(y_{x=1} | x=0, y=2)", "identified", "front-door"),
        ("x -> m -> y; x <-> y", "P(y_{x=1} | x=0)", "identified", "IDC*"),
        ("x -> m -> y; m <-> y", "P(y_{m=1} | m_{x=1}=2)", "identified", "back-door and instrument"),
    ],
)
def test_known_verdicts(graph: str, question: str, status: str, method: str) -> None:
    found = verdict(graph, question)
    assert found.status == status
    if method != "back-door and instrument":
        assert found.method == method
    else:
        assert set(found.method.split(" and ")) == {"back-door", "instrument"}


def test_the_witness_shows_two_answers() -> None:
    found = verdict("x -> y; x <-> y", "E[y_{x=1} | x=0]")
    assert found.witness is not None
    asked = parse_question("E[y_{x=1} | x=0]")
    answers = [evaluate(asked, model) for model in found.witness.models]
    assert answers == pytest.approx(list(found.witness.answers))
    assert any("instrument" in text for text in found.helps)


def test_the_estimand_names_the_effects() -> None:
    found = verdict("z -> x -> y; x <-> y", "P(y_{x=1} | x=0, y=2)")
    inside = "P(y + [x ~> y]·(1 - x) | x = 0, y = 2)"
    assert found.estimand == f"{inside} where [x ~> y] = Cov(z, y) / Cov(z, x)"
    mean = verdict("z -> x -> y; x <-> y", "E[y_{x=1} | x=0, y=2]")
    assert mean.estimand == (
        f"E[y_{{x=1}} | x=0, y=2] where [P(y_{{x=1}} | x=0, y=2)] = {inside}; [x ~> y] = Cov(z, y) / Cov(z, x)"
    )
    assert found.latex == (
        r"P(y + \tau_{x \to y} (1 - x) \mid x = 0, y = 2),\; "
        r"\tau_{x \to y} = \frac{\mathrm{Cov}(z, y)}{\mathrm{Cov}(z, x)}"
    )
    assert "y_{x=1} = y + [x ~> y]·(1 - x)" in found.explain()


@given(graph=graphs(most=5), data=st.data())
@QUICK
def test_functionals_are_the_numbers_of_the_answer(graph: Graph, data: st.DataObject) -> None:
    """Where all means are zero the constant is the mean; moving one mean moves the answer by its slope."""
    query = data.draw(questions(graph.observed))
    table = parameters_of(graph)
    point = Point(table, Reals(), starting_values(table, np.random.default_rng(data.draw(st.integers(0, 99)))))
    T, C, W = point.matrices(graph.observed)
    try:
        numbers = functionals(query, point)
    except QueryError:  # evidence that determines itself
        assume(False)
    said = dict(zip(numbers.texts, map(float, numbers.values), strict=True))

    def answer(means: np.ndarray) -> Gaussian:
        model = CGLSCM(graph.observed, T, C, np.zeros(len(graph)), W, tuple(graph.latents), graph)
        return normal(evaluate(query, with_means(model, means)))

    zero = answer(np.zeros(len(graph)))
    covariances = [float(zero.cov[i, j]) for i in range(len(zero.names)) for j in range(i + 1)]
    assert list(said.values())[len(said) - len(covariances) :] == pytest.approx(covariances, abs=1e-8)
    bar = f" given {', '.join(map(str, query.given))}" if query.given else ""
    for i, y in enumerate(query.outcomes):
        assert said[f"the mean of {y}{bar}, where all observed means are zero,"] == pytest.approx(
            float(zero.mean[i]), abs=1e-8
        )
        for k, v in enumerate(graph.observed):
            slope = float(answer(np.eye(len(graph))[k]).mean[i] - zero.mean[i])
            assert said.get(f"the slope of the mean of {y}{bar} on the mean of {v}", 0.0) == pytest.approx(
                slope, abs=1e-8
            )


@given(graph=graphs(most=5), data=st.data())
@QUICK
def test_identified_effects_make_counterfactuals_identified(graph: Graph, data: st.DataObject) -> None:
    """``E[y_x | e]`` for any evidence once the total effect of x on y is identified; recipes give the effects."""
    x, y = data.draw(st.permutations(list(graph.observed)))[:2]
    seen = data.draw(st.lists(st.sampled_from(graph.observed), unique=True))
    query = Distribution.across((Variant(y, {x: 1.0}),), {Variant(v): float(k) for k, v in enumerate(seen)})
    assume(identify(graph, TotalEffect(x, y), witness=False, budget=0.5).identified)
    found = identify(graph, query, witness=False, budget=0.5)
    assert found.identified
    if found.recipe is not None and f"{x} ~> {y}" in found.recipe.outputs:
        model = random_model(graph, np.random.default_rng(3))
        values = solve(found.recipe, model.cov, model.names)
        got = values if isinstance(values, float) else values[f"{x} ~> {y}"]
        assert got == pytest.approx(model.total_effect(x, y), abs=1e-6)


@given(graph=graphs(most=4), data=st.data())
@settings(max_examples=40, deadline=None, derandomize=True)
def test_witnesses_answer_differently_and_identified_questions_have_none(graph: Graph, data: st.DataObject) -> None:
    query = data.draw(questions(graph.observed))
    try:
        found = identify(graph, query, budget=1.0)
    except QueryError:  # evidence that determines itself
        assume(False)
    assume(found.identified or found.witness is not None)
    if found.witness is None:
        assert find_witness(graph, query) is None
    else:
        assert not found.identified
        assert found.witness.largest_difference < 1e-10
        means = np.random.default_rng(1).normal(size=len(graph))
        first, second = (evaluate(query, with_means(model, means)) for model in found.witness.models)
        apart = max(
            np.abs(normal(first).mean - normal(second).mean).max(), np.abs(normal(first).cov - normal(second).cov).max()
        )
        assert apart > 1e-3


def with_means(model: CGLSCM, means: np.ndarray) -> CGLSCM:
    return CGLSCM(model.names, model.T, model.C, means - means @ model.T, model.W, model.latents, model.graph)


def test_counting_agrees_with_the_effects() -> None:
    """Elimination counts one value where the effect is identified, and both where it has two."""
    graph = parse_graph("z -> x -> y; x <-> y")
    study = Study(graph)
    query = parse_question("P(y_{x=1}, y_{x=0} | x=3, z)")
    count = count_values(study, query, frozenset(), budget=5.0)
    assert count is not None
    assert count.values == 1
    finite = identify(catalog("finite").graph, parse_question("P(v4_{v1=1} | v1=0, v5=2)"))
    assert (finite.status, finite.degree) == ("finite", 2)
    assert finite.witness is not None


def test_constants_of_duals_may_be_fractions() -> None:
    """Held values enter exactly, also modulo a prime."""
    from halftrek.identification.numbers.modular import PrimeField

    field = PrimeField()
    half = constant(field, 0.5, 1)
    assert field.reduce(half + half)[0] == 1


def test_hidden_causes_of_several_variables() -> None:
    graph = Graph([("x", "y")], latents={"U": ["x", "y", "a", "b"]})
    found = identify(graph, parse_question("E[y_{x=1} | x=0, a=1]"))
    effect = identify(graph, TotalEffect("x", "y"))
    assert found.status == effect.status


@given(graph=graphs(most=5), data=st.data())
@settings(max_examples=80, deadline=None, derandomize=True)
def test_one_world_has_the_verdict_of_the_intervention(graph: Graph, data: st.DataObject) -> None:
    """``P(y_x | z_x)`` is ``P(y | do(x), z)``, with values and without."""
    roles = {v: data.draw(st.integers(0, 3)) for v in graph.observed}
    outcomes = tuple(v for v, r in roles.items() if r == 0)
    value = data.draw(st.sampled_from([None, 0.0, 1.5]))
    held = {v: value for v, r in roles.items() if r == 1}
    seen = {v: value for v, r in roles.items() if r == 2}
    assume(outcomes)
    one_world = Distribution.across(
        tuple(Variant(v, dict(held.items())) for v in outcomes),
        {Variant(v, dict(held.items())): x for v, x in seen.items()},
    )
    plain = identify(graph, Distribution.after(outcomes, held, seen), witness=False, budget=0.5)
    found = identify(graph, one_world, witness=False, budget=0.5)
    assume("undecided" not in (plain.status, found.status))
    assert found.status == plain.status
