"""What may be known of hidden variables with causes, and through them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import halftrek as ht
from halftrek.errors import NotIdentifiedError, QueryError
from halftrek.graphs import Graph
from halftrek.identification import identify
from halftrek.identification.hidden.level import local_verdicts
from halftrek.identification.hidden.measured import measured
from halftrek.identification.study import Study
from halftrek.queries import DirectEffect, ErrorCovariance, Query, TotalEffect
from halftrek.syntax import parse_graph
from halftrek.syntax import parse_question as parse_query

THREE = "F -> {a, b, c}"


def status(text: str, question: str) -> str:
    return identify(parse_graph(text), parse_query(question)).status


@pytest.mark.parametrize(
    ("text", "question", "wanted"),
    [
        # three effects, marked or not
        (f"latent F; z -> F; {THREE}; F -> a [1]", "F ~> b", "identified"),
        (f"latent F; z -> F; {THREE}", "F ~> b", "identified"),
        (f"latent F; z -> F; {THREE}", "z ~> F", "identified"),
        # two effects and something that covaries
        ("latent F; z -> F; F -> {a, b}; F -> a [1]", "z ~> F", "identified"),
        ("latent F, G; F -> {a, b}; F -> a [1]; G -> {c, d}; G -> c [1]; F -> G", "F ~> G", "identified"),
        # two effects alone, one effect
        ("latent F; F -> {a, b}; F -> a [1]; variance F", "F ~> b", "not identified"),
        ("latent F; z -> F; F -> a", "z ~> F", "not identified"),
        ("latent F; z -> F; F -> a", "z ~> a", "identified"),
        ("latent F; z -> F; F -> a [1]; variance a [0.5]", "z ~> F", "identified"),
        # equal loadings
        ("latent F; F -> {a, b} [1]; variance F", "E[a | do(F=1)]", "identified"),
        # what is known to be nothing tells nothing
        ("latent F; z -> F; F -> {a, b}; F -> a [1]; z -> F [0]", "F ~> b", "not identified"),
        ("latent F; z <-> F; F -> {a, b}; F -> a [1]; z <-> F [0]", "F ~> b", "not identified"),
        ("latent F; z -> F; F -> {a, b}; F -> a [1]; z -> F [0]; F -> c", "F ~> b", "identified"),
        ("latent F; F -> {a, b, c}; F -> a [1]; variance F [0]", "F ~> b", "not identified"),
        ("latent F; z -> F; F -> {a, b, c}; F -> a [1]; variance F [0]", "F ~> b", "identified"),
        # errors that go together
        (f"latent F; z -> F; {THREE}; a <-> b; F -> c [1]", "F ~> a", "identified"),
        ("latent F; F -> {a, b, c}; a <-> b; b <-> c; a <-> c; F -> a [1]; variance F", "F ~> b", "not identified"),
        # a hidden mediator
        ("latent m; x -> m -> y", "x ~> y", "identified"),
        ("latent m; x -> m -> y", "x ~> m", "not identified"),
        # through a factor where the arrows of the observed alone say nothing
        (f"latent F; x -> F -> y; {THREE}; x <-> y", "x ~> y", "identified"),
        ("latent F; x -> F -> y; F -> a; x <-> y", "x ~> y", "not identified"),
        # a factor of factors
        (
            f"latent F, G, H, S; {THREE}; G -> {{d, e, f}}; H -> {{g, h, i}}; S -> {{F, G, H}}; S -> y",
            "S ~> y",
            "identified",
        ),
    ],
)
def test_verdicts(text: str, question: str, wanted: str) -> None:
    assert status(text, question) == wanted


def test_a_refusal_has_two_models_that_agree() -> None:
    graph = parse_graph("latent F; F -> {a, b}; F -> a [1]; variance F")
    found = identify(graph, parse_query("F ~> b"))
    assert found.witness is not None
    first, second = found.witness
    assert first.names == ("a", "b", "F")
    assert first.cov[:2, :2] == pytest.approx(np.asarray(second.cov[:2, :2]), abs=1e-10)
    assert abs(found.witness.answers[0] - found.witness.answers[1]) > 0.04
    assert first.T[2, 0] == second.T[2, 0] == 1.0


def test_the_scale_is_said() -> None:
    marked = identify(parse_graph(f"latent F; z -> F; {THREE}; F -> a [1]"), parse_query("z ~> F"))
    assert any("The scale of F is that of a" in reason for reason in marked.reasons)
    unit = identify(parse_graph(f"latent F; z -> F; {THREE}"), parse_query("z ~> F"))
    assert any("its error has the variance 1" in reason for reason in unit.reasons)


def test_nothing_without_linear_equations_is_said_of_hidden_variables() -> None:
    graph = parse_graph("latent m; x -> m -> y; x <-> y")
    with pytest.raises(QueryError, match="'m' is hidden"):
        identify(graph, parse_query("P(m | do(x=1))"), scope="nonparametric")
    assert not identify(graph, parse_query("P(y | do(x=1))"), scope="nonparametric").identified


def test_a_level_that_nothing_sets_is_refused() -> None:
    free = f"latent F; z -> F; {THREE}; F -> a [1]; intercept F"
    assert status(free, "P(F | do(z=1))") == "not identified"
    assert status(f"{free}; intercept a [0]", "P(F | do(z=1))") == "identified"
    assert status(free, "z ~> F") == "identified"


def test_an_arrow_beside_a_hidden_mediator_is_not_the_arrow_of_the_projection() -> None:
    graph = parse_graph("latent m; x -> m -> y; x -> y")
    assert identify(graph, parse_query("x ~> y")).identified
    assert identify(graph, parse_query("x -> y")).status == "not identified"


@pytest.mark.parametrize(
    ("text", "question", "words"),
    [
        ("latent F; z -> F; F -> a", "z ~> F", "Hidden F has one effect, a"),
        ("latent F, G; z -> {F, G}; F -> {a, b}; G -> {a, b}", "z ~> F", "Hidden F and G cause the same variables"),
        ("latent F; z -> F; F -> a [0]; F -> b", "z ~> F", "is fixed at zero and gives no scale"),
    ],
)
def test_what_is_weak_in_a_measurement_is_said(text: str, question: str, words: str) -> None:
    found = identify(parse_graph(text), parse_query(question))
    assert found.status == "not identified"
    assert any(words in reason for reason in found.reasons)


def random_graph(seed: int) -> Graph:
    rng = np.random.default_rng(seed)
    names = [f"v{i}" for i in range(7)]
    arrows = [(u, v) for i, u in enumerate(names) for v in names[i + 1 :] if rng.random() < 0.35]
    arcs = [(u, v) for i, u in enumerate(names) for v in names[i + 1 :] if rng.random() < 0.1]
    hidden = [v for v in names[:5] if rng.random() < 0.4]
    observed = [v for v in names if v not in hidden]
    coefficients: dict[str, float | str] = {}
    for v in hidden:
        kids = [w for u, w in arrows if u == v]
        if kids and rng.random() < 0.5:
            coefficients[f"{v} -> {kids[0]}"] = 1.0
    return Graph(arrows, arcs, observed=observed, hidden=hidden, coefficients=coefficients)


@settings(max_examples=80, deadline=None, derandomize=True)
@given(st.integers(0, 100_000))
def test_what_is_identified_survives_every_move_that_data_do_not_see(seed: int) -> None:
    graph = random_graph(seed)
    study = Study(graph)
    queries: list[Query] = [DirectEffect(u, v) for u, v in graph.directed]
    queries += [ErrorCovariance(u, v) for u, v in graph.bidirected]
    queries += [TotalEffect(u, v) for u in graph.nodes for v in graph.descendants(u) - {u}]
    rng = np.random.default_rng(seed)
    some = rng.permutation(len(queries))[:6]
    assume(len(some) > 0)
    for k in some:
        found = identify(graph, queries[k], witness=False)
        asked = [v for v in graph.hidden if v in str(queries[k])]
        local = local_verdicts(study, queries[k], asked) if graph.hidden else found.identified
        known = found.status in ("identified", "locally identified")
        assert local == known or found.status == "finite", (graph, queries[k], found)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(st.integers(0, 100_000))
def test_factors_have_one_covariance_with_everything(seed: int) -> None:
    """Where a factor counts as observed, its covariances stand still along whatever the observed ones do not see."""
    graph = random_graph(seed)
    study = Study(graph)
    for name in measured(graph):
        if name in {e.first for e in graph.known if e.kind == "->"}:
            marker = next(e.second for e in graph.known if e.first == name)
            if marker in measured(graph)[name].loaded:
                assert local_verdicts(study, parse_query(f"Var[{name}]"), [name])
    assert set(measured(graph)) <= set(graph.hidden)


def test_a_fit_answers_and_refuses() -> None:
    rng = np.random.default_rng(0)
    F = rng.normal(size=400)
    rows = {v: F * w + rng.normal(size=400) for v, w in zip("abc", (1.0, 0.8, 0.6), strict=True)}
    fit = ht.fit("latent F; F -> {a, b}; F -> a [1]; variance F", rows)
    with pytest.raises(NotIdentifiedError, match="not identified"):
        fit.query("F ~> b")
    whole = ht.fit("latent F; F -> {a, b, c}; F -> a [1]; variance F", rows)
    assert whole.query("F ~> b").value == pytest.approx(0.8, abs=0.25)
