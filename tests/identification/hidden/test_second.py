"""Is what is unique nearby unique at all? Elimination, the search for a second solution, and what both lead to."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import halftrek as ht
from halftrek.bottom.arrays import Floats
from halftrek.errors import NotIdentifiedError
from halftrek.graphs import Graph
from halftrek.graphs.hidden import turnable
from halftrek.identification import Verdict, identify
from halftrek.identification.clock import start_clock
from halftrek.identification.decision import identify_all
from halftrek.identification.hidden.counting import count_hidden
from halftrek.identification.hidden.level import depends_on_level, local_verdicts
from halftrek.identification.hidden.solutions import Equations, real_answers, solutions
from halftrek.identification.hidden.values import witness_of_values
from halftrek.identification.local.parameters import Point, parameters_of
from halftrek.identification.local.smooth import model_at
from halftrek.identification.local.witness import Witness, starting_values
from halftrek.identification.numbers.fields import Reals
from halftrek.identification.study import Study
from halftrek.models import Gaussian
from halftrek.queries import DirectEffect, ErrorCovariance, Query, TotalEffect, evaluate
from halftrek.queries.checks import variables_of
from halftrek.results.answers import Several
from halftrek.syntax import parse_graph
from halftrek.syntax import parse_question as parse_query

# the catalog's graph "finite" with a measured factor in the place of v4: two sets of weights for one covariance
TWO = "latent F; v1 -> {v2, v3, F}; v2 -> v3 -> F -> v5; v1 <-> {v2, v3, F, v5}; F -> {a, b, c}; F -> a [1]"
CROSSED = "latent F, G; F <-> G; F -> {a, c, d, e, f}; G -> {b, c, d, e, f}; F -> a [1]; G -> b [1]"


def verdict(text: str, question: str) -> Verdict:
    return identify(parse_graph(text), parse_query(question))


@pytest.mark.parametrize(
    ("text", "question"),
    [
        (CROSSED, "F ~> d"),
        ("latent F, G; x -> F; x -> G; F -> {a, b, c}; G -> {b, c, d}; F <-> G", "x ~> F"),
        ("latent F; F -> {a, b, c, d}; F -> a [1]; variance F; a -> b; c -> d", "F ~> b"),
        ("latent F; x -> F -> y; F -> {a, b} [l]; x -> y; x -> a", "x ~> F"),
    ],
)
def test_elimination_finds_one_value(text: str, question: str) -> None:
    found = verdict(text, question)
    assert (found.status, found.method, found.degree) == ("identified", "elimination", 1)
    assert "one single value" in found.explain()


def test_the_equations_of_elimination_hold_whatever_the_order_of_the_variables() -> None:
    arrows = [("h", "o3"), ("o2", "o3"), ("o2", "o0"), ("h", "o0"), ("h", "o4"), ("o0", "o1"), ("o3", "o1")]
    for observed in (["o0", "o1", "o2", "o3", "o4"], ["o4", "o3", "o2", "o1", "o0"]):
        graph = Graph(
            arrows, [("h", "o4"), ("o0", "o1")], observed=observed, hidden=["h"], coefficients={"h -> o0": 1.0}
        )
        count = count_hidden(Study(graph), parse_query("h -> o3"), ["h"], start_clock(20.0))
        assert count is not None
        assert count.values == 1


def test_without_time_nothing_far_off_is_claimed() -> None:
    found = identify(parse_graph(CROSSED), parse_query("F ~> d"), budget=0.0)
    assert found.status == "locally identified"
    assert not found.identified
    assert found.answerable
    assert "none far off does was not shown" in found.explain()


def test_two_solutions_are_counted_and_shown() -> None:
    found = verdict(TWO, "F ~> v5")
    assert (found.status, found.degree, found.answerable) == ("locally identified", 2, False)
    assert found.witness is not None
    assert "one far off" in found.explain()
    _check_witness(found.witness, parse_graph(TWO), parse_query("F ~> v5"))
    assert verdict(TWO, "F -> b").identified


def test_a_fit_refuses_and_shows_both() -> None:
    rng = np.random.default_rng(0)
    n = 3000
    omega = np.diag([3.8, 1.6, 2.2, 1.9, 2.0])
    omega[0, 1:] = omega[1:, 0] = 0.6, 0.6, 0.6, 0.5
    e = rng.multivariate_normal(np.zeros(5), omega, size=n).T
    v1 = 100.0 * e[0]
    v2 = -0.006 * v1 + e[1]
    v3 = 0.01 * v1 - 0.7 * v2 + e[2]
    F = 0.005 * v1 - v3 + e[3]
    rows = {"v1": v1, "v2": v2, "v3": v3, "v5": -0.9 * F + e[4]}
    rows |= {v: w * F + rng.normal(size=n) for v, w in zip("abc", (1.0, 0.8, 0.6), strict=True)}
    fit = ht.fit(TWO, rows)
    with pytest.raises(NotIdentifiedError) as refused:
        fit.query("F ~> v5")
    answer = refused.value.answer
    assert answer is not None
    assert isinstance(answer.result, Several)
    low, high = sorted(answer.result.values)
    assert low == pytest.approx(-0.939, abs=2e-3)
    assert high == pytest.approx(-0.784, abs=2e-3)
    assert "With these data it is one of" in str(refused.value)
    assert len(fit.params(interval="delta")) > 20  # printed as in every other program
    assert fit.measures()["parameters"] > 20
    assert fit.query("F -> b").value == pytest.approx(0.8, abs=0.05)


def test_both_answers_belong_to_models_with_one_covariance() -> None:
    graph = parse_graph(TWO)
    table = parameters_of(graph)
    rng = np.random.default_rng(0)
    values = [starting_values(table, rng) for _ in range(3)][-1]
    model = model_at(Point(table, Reals(), values), means=False)
    assert len(real_answers(graph, parse_query("F ~> b"), model)) == 1
    met = [real_answers(graph, parse_query("F ~> v5"), model_at(Point(table, Reals(), v), means=False))
           for v in (starting_values(table, np.random.default_rng(k)) for k in range(6))]  # fmt: skip
    assert any(len(answers) == 2 for answers in met)


def test_covariances_and_their_slopes() -> None:
    graph = parse_graph("latent F, U; x -> F; F -> {a, b, c}; F -> a [l]; F -> b [l]; a <-> c; U -> {a, b, x}")
    table = parameters_of(graph)
    rng = np.random.default_rng(2)
    theta = np.array([starting_values(table, rng) for _ in range(3)])
    units = rng.uniform(0.5, 2.0, len(table.graph))
    equations = Equations(table, units)
    i, j = equations.pairs
    found, slopes = equations.covariances(theta, slopes=True)
    assert slopes.shape == (3, table.count, len(i))
    for k, point in enumerate(theta):
        model = model_at(Point(table, Reals(), point * equations.sizes), means=False)
        assert found[k] == pytest.approx(model.cov[i, j] / (units[i] * units[j]), abs=1e-12)
        for a in range(table.count):
            step = np.zeros(table.count)
            step[a] = 1e-6
            ahead, behind = (equations.covariances((point + s * step)[None], slopes=False)[0][0] for s in (1, -1))
            assert slopes[k, a] == pytest.approx((ahead - behind) / 2e-6, abs=1e-7)


def test_signs_that_mean_nothing() -> None:
    assert turnable(parse_graph("latent F; x -> F; F -> {a, b}")) == [(("F",), ("F", "a"))]
    assert turnable(parse_graph("latent F; x -> F; F -> {a, b}; F -> b [1]")) == []
    assert turnable(parse_graph("latent F; x -> F; F -> {a, b} [l]")) == [(("F",), ("F", "a"))]
    both = turnable(parse_graph("latent F, G; F <-> G; F -> {a, c}; G -> {b, d}; F -> a [l]; G -> b [l]"))
    assert [set(group) for group, _ in both] == [{"F", "G"}]
    assert turnable(parse_graph("latent F; x -> F; x -> b [l]; F -> b; F -> a [l]")) == []
    assert turnable(parse_graph("latent F; x -> F; F -> {a, b}; intercept F [2]")) == []
    assert turnable(parse_graph("latent F; x -> F; F -> {a, b}; intercept F")) == [(("F",), ("F", "a"))]


def test_a_mean_needs_the_arrows_that_it_is_made_of() -> None:
    items = "F -> {a, b, c}; F -> a [1]"
    assert verdict(f"latent F; x -> F; {items}", "E[F]").identified
    confounded = verdict(f"latent F; x -> F; x <-> F; {items}", "E[F]")
    assert confounded.status == "not identified"
    assert confounded.witness is not None
    assert verdict(f"latent F; x -> F; x <-> F; {items}", "Var[F]").identified
    above = f"latent F, G; G -> F; G -> {{d, e, f}}; G -> d [1]; {items}; intercept G"
    lifted = verdict(above, "E[F]")
    assert lifted.status == "not identified"
    assert lifted.witness is not None
    assert verdict(f"{above}; intercept d [0]", "E[F]").status != "not identified"


def test_a_slope_on_a_factor_needs_no_variance_of_it() -> None:
    found = verdict("latent h; h -> {b, c}; b -> c; a <-> h; h -> b [1]", "E[c | h=1]")
    assert found.status in ("identified", "locally identified")


def test_the_level_of_a_growth_curve_follows_from_means() -> None:
    waves = "i -> {t1, t2, t3, t4} [1]; s -> t2 [1]; s -> t3 [2]; s -> t4 [3]; i <-> s; x -> {i, s}"
    fixed = f"latent i, s; {waves}; intercept {{t1, t2, t3, t4}} [0]; intercept {{i, s}}"
    assert verdict(fixed, "E[s]").identified
    assert verdict(fixed, "P(s | do(x=1))").identified
    free = verdict(f"latent i, s; {waves}; intercept {{i, s}}", "E[s]")
    assert free.status == "not identified"
    assert free.witness is not None


def random_graph(seed: int) -> Graph:
    rng = np.random.default_rng(seed)
    names = [f"h{i}" for i in range(rng.integers(1, 3))] + [f"o{i}" for i in range(rng.integers(3, 6))]
    order = [str(v) for v in rng.permutation(names)]
    often, arcs_often = rng.uniform(0.3, 0.8), rng.uniform(0.0, 0.3)
    pairs = [(u, v) for i, u in enumerate(order) for v in order[i + 1 :]]
    arrows = [pair for pair in pairs if rng.random() < often]
    arcs = [pair for pair in pairs if rng.random() < arcs_often]
    coefficients: dict[str, float | str] = {}
    for u in order:
        kids = [w for v, w in arrows if v == u]
        if u.startswith("h") and kids and rng.random() < 0.5:
            coefficients[f"{u} -> {kids[0]}"] = 1.0
    hidden = [v for v in order if v.startswith("h")]
    return Graph(arrows, arcs, observed=sorted(set(names) - set(hidden)), hidden=hidden, coefficients=coefficients)


def _check_witness(found: Witness, graph: Graph, query: Query) -> None:
    """Both models have one covariance of the observed variables and different answers, by their own matrices."""
    covariances, answers = [], []
    for model in found:
        B = np.linalg.inv(np.eye(len(model.names)) - model.T)
        at = [model.names.index(v) for v in graph.observed]
        covariances.append((B.T @ (model.W + model.C.T @ model.C) @ B)[np.ix_(at, at)])
        answers.append(_numbers(query, model))
    assert np.abs(covariances[0] - covariances[1]).max() < 1e-9
    assert np.abs(answers[0] - answers[1]).max() > 0.009, (graph, query)


def _numbers(query: Query, model: ht.CGLSCM) -> Floats:
    found = evaluate(query, model)
    return np.append(found.mean, found.cov) if isinstance(found, Gaussian) else np.array([found])


@settings(max_examples=15, deadline=None, derandomize=True)
@given(st.integers(0, 100_000))
def test_what_is_identified_has_one_solution_and_what_is_refused_has_two(seed: int) -> None:
    graph = random_graph(seed)
    assume(len(graph.hidden) > 0)
    queries: list[Query] = [DirectEffect(u, v) for u, v in graph.directed]
    queries += [ErrorCovariance(u, v) for u, v in graph.bidirected]
    queries += [TotalEffect(u, v) for u in graph.nodes for v in sorted(graph.descendants(u) - {u})]
    h, o = graph.hidden[0], graph.observed[0]
    queries += [parse_query(f"{form}[{h}]") for form in ("Var", "E")]
    queries += [parse_query(f"P({h} | do({o}=1))"), parse_query(f"E[{o} | {h}=1]")]
    rng = np.random.default_rng(seed)
    some = [queries[k] for k in rng.permutation(len(queries))[:6]]
    met = [one for k in (1, 2) if (one := solutions(graph, np.random.default_rng(k), start_clock(60.0)))]
    assume(len(met) == 2)
    study = Study(graph)
    for found in identify_all(graph, some, witness=True, budget=20.0):
        query = found.query
        asked = [v for v in variables_of(query) if v in graph.hidden]
        if found.identified and found.method != "no path":
            assert local_verdicts(study, query, asked), (graph, query)
            values = any(depends_on_level(query, v) for v in asked)
            proofs = [witness_of_values(home, query) if values else home.witness(query) for home in met]
            assert proofs == [None, None], (graph, query, found)
        elif not found.answerable:
            assert found.witness is not None, (graph, query, found)
            _check_witness(found.witness, graph, query)


def test_every_refusal_of_a_single_indicator_has_two_models() -> None:
    for question in ("P(h | do(x=1))", "P(h > 1 | x=1)", "Var[h]"):
        found = verdict("latent h; x -> h; h -> y; h -> y [1]", question)
        assert found.status == "not identified"
        assert found.witness is not None


@pytest.mark.parametrize(
    ("text", "plain", "questions"),
    [
        ("latent m; z -> x; x -> m -> y; x <-> y", "z -> x; x -> y; x <-> y", ("x ~> y", "P(y | do(x=1))")),
        ("latent m; x -> m -> y; x -> w -> y", "x -> y; x -> w -> y", ("x ~> y", "E[y_{x=1} | w=0]")),
    ],
)
def test_a_hidden_mediator_equals_its_projection(text: str, plain: str, questions: tuple[str, ...]) -> None:
    graph = parse_graph(text)
    assert {*graph.project().directed} == {*parse_graph(plain).directed}
    rng = np.random.default_rng(4)
    z, u = rng.normal(size=(2, 500))
    x = z + u + rng.normal(size=500)
    w = 0.5 * x + rng.normal(size=500)
    y = 0.6 * x + (u if "z" in text else 0.4 * w) + rng.normal(size=500)
    rows = {v: c for v, c in {"z": z, "x": x, "w": w, "y": y}.items() if v in graph.observed}
    first, second = ht.fit(text, rows), ht.fit(plain, rows)
    assert first.loglik == pytest.approx(second.loglik, abs=1e-6)
    for question in questions:
        assert ht.identify(text, question).identified == ht.identify(plain, question).identified
        one, other = (fit.query(question, interval="delta").result for fit in (first, second))
        if isinstance(one, Gaussian) and isinstance(other, Gaussian):
            assert one.mean == pytest.approx(other.mean, abs=1e-5)
            assert one.cov == pytest.approx(other.cov, abs=1e-4)
        else:
            assert one == pytest.approx(other, abs=1e-5)
