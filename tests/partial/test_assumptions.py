"""Assumptions: read, written back, checked against a graph, and as smooth functions."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

import halftrek as ht
from halftrek.bottom.arrays import Floats
from halftrek.errors import AssumptionSyntaxError, GraphError, InputError
from halftrek.partial.assumptions import (
    AbsoluteSum,
    Assumption,
    Compared,
    Confounded,
    Confounding,
    Endogeneity,
    ErrorCorrelation,
    ErrorCovariance,
    Norm,
    Reliability,
    Share,
    State,
    Weight,
    Within,
    conditions_of,
    read_assumption,
    read_assumptions,
    relaxed,
)
from halftrek.partial.sets import identified_set

GRAPH = ht.graph("z -> x -> y; w -> y; x <-> y")
READ: list[tuple[str, Assumption]] = [
    ("abs(z -> y) <= 0.1", Within(Weight("z", "y"), -0.1, 0.1)),
    ("|z -> y| <= 0.1", Within(Weight("z", "y"), -0.1, 0.1)),
    ("y <- z <= 0.1", Within(Weight("z", "y"), -inf, 0.1)),
    ("corr(x <-> y) in [-0.3, 0.2]", Within(ErrorCorrelation("x", "y"), -0.3, 0.2)),
    ("-0.3 <= corr(x <-> y) <= 0.2", Within(ErrorCorrelation("x", "y"), -0.3, 0.2)),
    ("0.2 >= corr(x ↔ y) >= -0.3", Within(ErrorCorrelation("x", "y"), -0.3, 0.2)),
    ("x <-> y >= 0", Within(ErrorCovariance("x", "y"), 0.0, inf)),
    ("0 <= x <-> y", Within(ErrorCovariance("x", "y"), 0.0, inf)),
    ("x -> y == 0.5", Within(Weight("x", "y"), 0.5, 0.5)),
    ("corr(x, error(y)) < 0.2", Within(Endogeneity("x", "y"), -inf, 0.2)),
    ("corr(z, error(y)) <= corr(x, error(y))", Compared(Endogeneity("z", "y"), Endogeneity("x", "y"))),
    (
        "|corr(z <-> y)| <= 0.5 * |corr(x <-> y)|",
        Compared(ErrorCorrelation("z", "y"), ErrorCorrelation("x", "y"), 0.5, True),
    ),
    ("2 * corr(x <-> y) >= corr(z <-> y)", Compared(ErrorCorrelation("z", "y"), ErrorCorrelation("x", "y"), 2.0)),
    ("confounding(x, y) <= (0.1, 0.2)", Confounded(Confounding("x", "y"), (0.1, 0.2))),
    ("confounding(x, y) <= 2 * w", Confounded(Confounding("x", "y"), None, 2.0, "w")),
    ("confounding(x, y) <= w", Confounded(Confounding("x", "y"), None, 1.0, "w")),
    ("norm(z -> y, w -> y) <= 0.5", Norm((Weight("z", "y"), Weight("w", "y")), 0.5)),
    ("|z -> y| + abs(w -> y) <= 0.5", AbsoluteSum((Weight("z", "y"), Weight("w", "y")), 0.5)),
    ("share(y) <= 0.9", Within(Share("y"), -inf, 0.9)),
    ("reliability(w) >= 0.8", Within(Reliability("w"), 0.8, inf)),
]


@pytest.mark.parametrize(("text", "value"), READ)
def test_text_becomes_a_value_and_comes_back(text: str, value: Assumption) -> None:
    found = read_assumption(text, GRAPH)
    assert found == value
    assert read_assumption(str(found), GRAPH) == value
    assert found.words


WRONG = [
    ("", "empty"),
    ("x -> yy <= 1", "Did you mean 'y'"),
    ("corr(x <-> y) <= 1.5", "between -1 and 1"),
    ("abs(x -> y) <= -0.1", "never negative"),
    ("x -> y in [2, 1]", "above the upper"),
    ("share(y) >= -0.5", "at least 0"),
    ("reliability(w) >= 1.5", "at most 1"),
    ("confounding(x, y) <= (0.1, 1.2)", "between 0 and 1"),
    ("confounding(x, y) >= (0.1, 0.2)", "from above"),
    ("x -> y <= z -> y", "only correlations can be compared"),
    ("corr(x, y) <= 0.1", "error"),
    ("x -> x <= 1", "twice"),
    ("x -> y <= 1 and more", "after the end"),
    ("norm(x <-> y) <= 1", "of weights"),
    ("foo(x) <= 1", "'foo' is not understood"),
    ("x -> y", "is needed here"),
    ("|x -> y| >= 0.2", "only be limited from above"),
]


@pytest.mark.parametrize(("text", "why"), WRONG)
def test_an_error_points_at_the_piece(text: str, why: str) -> None:
    with pytest.raises(AssumptionSyntaxError, match=why) as caught:
        read_assumption(text, GRAPH)
    assert caught.value.text == text


def test_a_yardstick_must_be_a_covariate() -> None:
    with pytest.raises(InputError, match="'z' is no cause of w or y"):
        read_assumption("confounding(w, y) <= 2 * z", ht.graph("w -> y; z -> x"))


def test_a_hidden_root_becomes_a_variable_of_its_own() -> None:
    graph = ht.graph("latent U; U -> {x, y}; x -> y")
    found = read_assumption("U -> y <= 1", graph)
    assert str(found) == "U -> y <= 1"
    wide = relaxed(graph, [found])
    assert wide.hidden == ("U",)
    assert not wide.latents
    assert wide.variances == {"U": 1.0}  # its variance stays what it was
    with pytest.raises(GraphError, match="hidden variables have causes or covary \\('U'\\)"):
        identified_set(graph, np.eye(2), None, "x ~> y", [found])


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("x -> y <= 1", "x -> y >= 2"),
        ("abs(x -> y) <= 1", "x -> y == 2"),
        ("norm(x -> y, z -> y) <= 0.5", "x -> y >= 1"),
        ("x <-> y >= 0.1", "corr(y <-> x) <= 0"),
        ("confounding(x, y) <= (0.1, 0.1)", "corr(x <-> y) >= 0.5"),
    ],
)
def test_two_that_exclude_each_other_are_named(first: str, second: str) -> None:
    with pytest.raises(InputError, match="contradict") as caught:
        read_assumptions([first, "share(y) <= 1", second], GRAPH)
    for text in (first, second):
        assert str(read_assumption(text)) in str(caught.value)


def test_absent_edges_are_added_and_present_ones_stay() -> None:
    wide = relaxed(GRAPH, read_assumptions(["|z -> y| <= 1", "corr(z <-> y) >= 0", "x <-> y >= 0", "share(x) <= 1"]))
    assert set(wide.directed) - set(GRAPH.directed) == {("z", "y")}
    assert {frozenset(e) for e in wide.bidirected} == {frozenset("xy"), frozenset("zy")}
    assert relaxed(GRAPH, read_assumptions("x -> y <= 1")) is GRAPH
    with pytest.raises(InputError, match="closes a cycle: x -> y -> x"):
        relaxed(GRAPH, read_assumptions("y -> x <= 1"))


def test_a_variable_that_covaries_with_an_error_already_gets_no_edge() -> None:
    assert relaxed(GRAPH, read_assumptions("corr(x, error(y)) <= 0.3")) is GRAPH
    assert relaxed(GRAPH, read_assumptions("corr(z, error(y)) <= 0.3")).siblings("z") == ("y",)


TEXTS = [text for text, _ in READ if "y <-" not in text]


def state(rng: np.random.Generator, p: int = 4) -> State:
    def spd() -> Floats:
        root = rng.standard_normal((p, p)) * 0.4 + np.eye(p)
        return np.asarray(root @ root.T)

    return State(np.triu(rng.standard_normal((p, p)), 1), spd(), spd(), rng.uniform(0.2, 0.8, p))


@pytest.mark.parametrize("text", TEXTS)
def test_slopes_are_those_of_finite_differences(text: str) -> None:
    rng = np.random.default_rng(3)
    held = conditions_of(read_assumptions(text, GRAPH), GRAPH, ("z", "x", "y", "w"))
    at = state(rng)
    assert at.noise is not None
    moves = state(rng)
    assert moves.noise is not None
    values, slopes = held.both(at)
    assert len(values) == len(held) > 0
    step = 1e-6

    def moved(by: float) -> Floats:
        assert at.noise is not None
        assert moves.noise is not None
        T, omega, sigma = at.T + by * moves.T, at.omega + by * moves.omega, at.sigma + by * moves.sigma
        return held.values(State(T, omega, sigma, at.noise + by * moves.noise))

    numeric = (moved(step) - moved(-step)) / (2 * step)
    exact = (
        (slopes.T * moves.T).sum(axis=(-2, -1))
        + (slopes.omega * moves.omega).sum(axis=(-2, -1))
        + (slopes.sigma * moves.sigma).sum(axis=(-2, -1))
        + (slopes.noise * moves.noise).sum(axis=-1)
    )
    np.testing.assert_allclose(exact, numeric, rtol=1e-6, atol=1e-7)


def test_many_models_at_once_are_each_by_itself() -> None:
    rng = np.random.default_rng(4)
    held = conditions_of(read_assumptions(TEXTS, GRAPH)[:4], GRAPH, ("z", "x", "y", "w"))
    several = [state(rng) for _ in range(3)]
    noise = np.stack([np.asarray(s.noise) for s in several])
    T, omega, sigma = (np.stack([getattr(s, part) for s in several]) for part in ("T", "omega", "sigma"))
    stacked = State(T, omega, sigma, noise)
    values, slopes = held.both(stacked)
    assert len(values) == 3
    for k, one in enumerate(several):
        alone, own = held.both(one)
        np.testing.assert_allclose(values[k], alone)
        np.testing.assert_allclose(slopes.T[k], own.T)
        np.testing.assert_allclose(slopes.sigma[k], own.sigma)


def test_a_sum_of_sizes_is_the_worst_of_its_signs() -> None:
    held = conditions_of(read_assumptions("|z -> y| + |w -> y| <= 0.5"), GRAPH, ("z", "x", "y", "w"))
    at = state(np.random.default_rng(5))
    assert held.values(at).max() == pytest.approx(abs(at.T[0, 2]) + abs(at.T[3, 2]) - 0.5)
