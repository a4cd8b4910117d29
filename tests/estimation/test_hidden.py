"""Models with hidden variables that have causes, against lavaan, against plain formulas, and by simulation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import halftrek as ht
from halftrek.data import Moments, read_moments
from halftrek.errors import DataError, InputError
from halftrek.estimation import Fitted, fit
from halftrek.estimation.given.options import resolve_options
from halftrek.estimation.hidden.opening import opened_data
from halftrek.estimation.hidden.starts import first_point, one_factor
from halftrek.estimation.missing.incomplete import evaluate
from halftrek.estimation.space import make_space
from halftrek.graphs import Graph
from halftrek.simulation import random_model
from halftrek.syntax import parse_graph

HIDDEN = Path(__file__).parents[1] / "reference" / "hidden"
LAVAAN: dict[str, Any] = json.loads((HIDDEN / "hidden.json").read_text())
ITEMS = "visual -> {x1, x2, x3}; textual -> {x4, x5, x6}; speed -> {x7, x8, x9}"
MARKED = "visual -> x1 [1]; textual -> x4 [1]; speed -> x7 [1]"
FACTORS = "latent visual, textual, speed"
TEXTS = {
    "schools": f"{FACTORS}; {ITEMS}; {MARKED}; {{visual, textual, speed}} <-> {{visual, textual, speed}}",
    "schools_unit": f"{FACTORS}; {ITEMS}; {{visual, textual, speed}} <-> {{visual, textual, speed}}",
    "second_order": f"{FACTORS}, g; {ITEMS}; {MARKED}; g -> visual [1]; g -> {{textual, speed}}; variance g",
    "democracy": """
        latent ind60, dem60, dem65
        ind60 -> {x1, x2, x3}; dem60 -> {y1, y2, y3, y4}; dem65 -> {y5, y6, y7, y8}
        ind60 -> x1 [1]; dem60 -> y1 [1]; dem65 -> y5 [1]; variance ind60
        ind60 -> {dem60, dem65}; dem60 -> dem65
        y1 <-> y5; y2 <-> {y4, y6}; y3 <-> y7; y4 <-> y8; y6 <-> y8
    """,
    "growth": """
        latent i, s
        i -> {t1, t2, t3, t4} [1]; s -> t1 [0]; s -> t2 [1]; s -> t3 [2]; s -> t4 [3]; i <-> s; {x1, x2} -> {i, s}
        c1 -> t1; c2 -> t2; c3 -> t3; c4 -> t4
        intercept {t1, t2, t3, t4} [0]; intercept i; intercept s
    """,
}
ROWS = {"schools": "schools", "schools_unit": "schools", "second_order": "schools"}


def fitted(case: str) -> Fitted:
    graph = parse_graph(TEXTS[case])
    return fit(graph, read_moments(HIDDEN / f"{ROWS.get(case, case)}.csv", graph.observed))


@pytest.mark.parametrize("case", TEXTS)
def test_likelihood_and_estimates_are_lavaans(case: str) -> None:
    found = fitted(case)
    assert found.status.code == "converged"
    assert found.loglik == pytest.approx(LAVAAN[case]["fit"]["logl"], abs=1e-4)
    at, model = {v: i for i, v in enumerate(found.model.names)}, found.model
    for row in LAVAAN[case]["parameters"]:
        i, j = at[row["lhs"]], at.get(row["rhs"], 0)
        got = {"=~": model.T[i, j], "~": model.T[j, i], "~~": model.W[i, j], "~1": model.mu[i]}[row["op"]]
        assert got == pytest.approx(row["est"], rel=1e-4, abs=1e-5), row


def test_missing_values_are_lavaans() -> None:
    found = ht.fit(TEXTS["schools"], HIDDEN / "schools_holes.csv")
    assert found.converged
    assert found.loglik == pytest.approx(LAVAAN["holes"]["fit"]["logl"], abs=1e-4)
    rows = {(r.lhs, r.op, r.rhs): r for r in found.params(interval="delta", as_frame=False)}
    for row in LAVAAN["holes"]["parameters"]:
        key = row["lhs"], row["op"], row["rhs"]
        mine = rows.get(key) or rows[key[2], key[1], key[0]]
        assert mine.est == pytest.approx(row["est"], rel=1e-4, abs=1e-5), row
        assert mine.se == pytest.approx(row["se"], rel=1e-3, abs=1e-5), row


def test_the_scale_is_a_convention() -> None:
    marked, unit = fitted("schools"), fitted("schools_unit")
    assert unit.loglik == pytest.approx(marked.loglik, abs=1e-7)
    p = len(marked.graph)
    assert unit.model.cov[:p, :p] == pytest.approx(marked.model.cov[:p, :p], rel=1e-5)
    assert (np.diag(unit.model.W)[p:] == 1.0).all()
    assert all(unit.model.T[p + k, 3 * k] > 0.0 for k in range(3))  # signs by the first indicator


def test_a_hidden_mediator_equals_its_projection() -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(500, 1))
    m = 0.8 * x + rng.normal(size=x.shape)
    rows = np.hstack([x, 0.7 * m + rng.normal(size=x.shape), -0.5 * m + rng.normal(size=x.shape)])
    moments = Moments(("x", "y", "z"), 500.0, rows.mean(axis=0), np.cov(rows.T, bias=True))
    hidden = fit(parse_graph("latent m; x -> m -> y; z"), moments)
    plain = fit(parse_graph("x -> y; z"), moments)
    assert hidden.loglik == pytest.approx(plain.loglik, abs=1e-7)
    assert hidden.model.total_effect("x", "y") == pytest.approx(plain.model.total_effect("x", "y"), abs=1e-6)
    assert hidden.status.code == "flat"  # its own equation is not determined


@settings(max_examples=20, deadline=None, derandomize=True)
@given(st.integers(0, 10_000))
def test_exact_moments_give_the_model_back(seed: int) -> None:
    rng = np.random.default_rng(seed)
    graph = parse_graph(
        "latent F, G; z -> F; F -> {a, b, c}; F -> G; G -> {d, e, f}; z -> G; F -> a [1]; G -> d [1]; a <-> d"
    )
    model = random_model(graph, random_state=rng)
    p = len(graph)
    found = fit(graph, Moments(graph.observed, 1000.0, np.array(model.mean[:p]), np.array(model.cov[:p, :p])))
    assert pytest.approx(np.asarray(model.T), abs=1e-4) == found.model.T
    assert pytest.approx(np.asarray(model.W), abs=1e-4) == found.model.W
    assert found.model.mean[:p] == pytest.approx(np.asarray(model.mean[:p]), abs=1e-8)


def test_the_gradient_is_that_of_the_density() -> None:
    graph = parse_graph(TEXTS["democracy"])
    moments = read_moments(HIDDEN / "democracy.csv", graph.observed)
    options = resolve_options(graph.opened, "free", "free")
    space, patterns = make_space(graph, graph.nodes, options), opened_data(moments, graph.hidden)
    theta = first_point(graph.opened, space, moments.cov)
    point = evaluate(space, patterns, theta)
    assert point is not None
    p, n = len(graph), moments.n

    def value(at: np.ndarray) -> float:  # the slow way: the density of the observed block
        mean, cov = space.moments(at)
        gap = moments.mean - mean[:p]
        K = np.linalg.inv(cov[:p, :p])
        inside = np.trace(K @ moments.cov) + gap @ K @ gap
        return float(-0.5 * n * (p * np.log(2 * np.pi) + np.linalg.slogdet(cov[:p, :p])[1] + inside))

    assert point.value == pytest.approx(value(theta), rel=1e-12)
    for a in range(space.size):
        step = np.zeros(space.size)
        step[a] = 1e-5
        slope = (value(theta + step) - value(theta - step)) / 2e-5
        assert point.gradient[a] == pytest.approx(slope, rel=1e-4, abs=1e-3)


def test_one_factor_is_exact_for_one_factor() -> None:
    loading = np.array([0.9, -0.6, 0.7, 0.5])
    S = np.outer(loading, loading) + np.diag(1.0 - loading**2)
    assert one_factor(S) == pytest.approx(loading, abs=0.02)


def test_equal_variances_and_intercepts_are_one_parameter() -> None:
    graph = parse_graph("latent F; F <-> z; F -> {a, b, c} [l]; variance {a, b, c} [v]; intercept {a, b} [m]")
    rng = np.random.default_rng(1)
    F = rng.normal(size=800)
    rows = np.column_stack([0.5 * F + rng.normal(size=800), *(0.8 * F + rng.normal(size=800) for _ in range(3))])
    moments = Moments(("z", "a", "b", "c"), 800.0, rows.mean(axis=0), np.cov(rows.T, bias=True))
    found = fit(graph, moments)
    at = {v: i for i, v in enumerate(found.model.names)}
    psi, mu = np.diag(found.model.W), found.model.mu
    assert psi[at["a"]] == psi[at["b"]] == psi[at["c"]]
    assert mu[at["a"]] == pytest.approx(mu[at["b"]], abs=1e-12)
    # without hidden variables too
    plain = fit(parse_graph("a -> b; variance {a, b} [v]"), moments.select(("a", "b")))
    assert plain.model.W[0, 0] == plain.model.W[1, 1]
    slope = moments.cov[1, 2] / moments.cov[1, 1]
    residual = moments.cov[2, 2] - slope * moments.cov[1, 2]
    assert plain.model.W[0, 0] == pytest.approx((moments.cov[1, 1] + residual) / 2.0, rel=1e-6)


def test_a_variance_of_zero_is_named() -> None:
    cov = np.array([[1.0, 0.8, 0.8], [0.8, 1.0, 0.55], [0.8, 0.55, 1.0]])  # the loading of a would be above one
    moments = Moments(("a", "b", "c"), 300.0, np.zeros(3), cov)
    found = fit(parse_graph("latent F; F -> {a, b, c}; F -> a [1]; variance F"), moments)
    assert found.status.code == "boundary"
    assert "Equations of a:" in found.status.message


def test_what_a_whole_fit_has_no_use_for_is_refused() -> None:
    graph = parse_graph(TEXTS["schools"])
    moments = read_moments(HIDDEN / "schools.csv", graph.observed)
    with pytest.raises(InputError, match="finish has no meaning for this graph"):
        fit(graph, moments, finish=False)
    with pytest.raises(ht.GraphError, match="cgl-go"):
        fit(graph, moments, method="cgl-go")
    copied = Moments(moments.names, moments.n, moments.mean, np.ones_like(moments.cov))
    with pytest.raises(DataError, match="collinear"):
        fit(graph, copied)


def test_the_number_of_rows_costs_nothing() -> None:
    graph = Graph([("F", v) for v in "abc"] + [("z", "F")], hidden=["F"])
    few = Moments(graph.observed, 50.0, np.zeros(4), np.eye(4) * 0.6 + 0.4)
    many = Moments(graph.observed, 5e9, np.zeros(4), np.eye(4) * 0.6 + 0.4)
    assert pytest.approx(np.asarray(fit(graph, many).model.T), abs=1e-6) == fit(graph, few).model.T
