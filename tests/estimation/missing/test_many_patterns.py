"""Fits where many patterns are worked on at once: equal to those where each pattern has its own matrices."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import halftrek as ht
from halftrek.data import Patterns
from halftrek.data.missing import holes
from halftrek.data.missing.unrestricted import Unrestricted
from halftrek.estimation import Fitted, fit
from halftrek.estimation.given.options import Options
from halftrek.estimation.missing import fiml
from halftrek.estimation.missing.incomplete import evaluate, information, meeting
from halftrek.estimation.space import make_space
from halftrek.graphs import Graph
from halftrek.inference import measures
from halftrek.inference.checks.edges.modification import modifications
from halftrek.inference.checks.edges.scores import Edges
from halftrek.inference.checks.missing_checks import _wider
from halftrek.inference.information.missing.incomplete import parameter_errors
from halftrek.results.fit import Fit
from tests.estimation.missing.test_fiml import patterns_of, rows_of
from tests.estimation.strategies import models
from tests.narrow import se_of

SETTINGS = settings(max_examples=15, deadline=None, derandomize=True)
TIED = Graph(
    [("a", "b"), ("b", "c"), ("c", "d"), ("a", "d")],
    [("b", "d")],
    latents={"U": ["a", "c", "e"]},
    coefficients={"a -> b": "same", "b -> c": "same", "a -> d": 0.3},
)


@pytest.fixture
def at_once() -> Iterator[Callable[[bool], None]]:
    """Turns on, or off, that patterns are worked on at once, however few they are."""
    before = holes.MANY, fiml.HEAVY

    def turn(on: bool) -> None:
        holes.MANY, fiml.HEAVY = (0, 0.0) if on else before

    yield turn
    holes.MANY, fiml.HEAVY = before


@given(model=models(most=5), seed=st.integers(0, 1000), share=st.sampled_from([0.2, 0.5, 0.7]))
@SETTINGS
def test_information_is_minus_the_second_derivatives(model: ht.CGLSCM, seed: int, share: float) -> None:
    graph = model.graph
    table = rows_of(model, 120, seed, share)
    patterns = patterns_of(table, graph)
    space = make_space(graph, graph.observed, Options())
    theta = space.vector(model)
    point = evaluate(space, patterns, theta)
    assert point is not None
    usual = {kind: information(space, patterns, point, kind) for kind in KINDS}
    before, holes.MANY = holes.MANY, 0
    try:
        assume(holes.suits(patterns, model.cov))
        point = evaluate(space, patterns, theta)
        assert point is not None
        for kind, right in usual.items():
            found = information(space, patterns, point, kind)
            np.testing.assert_allclose(found, right, rtol=1e-9, atol=1e-9 * np.abs(right).max())
        for a in range(space.size):
            step = 1e-5 * np.eye(space.size)[a]
            up, down = evaluate(space, patterns, theta + step), evaluate(space, patterns, theta - step)
            assert up is not None
            assert down is not None
            bend = -(up.gradient - down.gradient) / 2e-5
            np.testing.assert_allclose(
                information(space, patterns, point)[a], bend, rtol=1e-5, atol=1e-5 * np.abs(usual["observed"]).max()
            )
    finally:
        holes.MANY = before


KINDS: tuple[Literal["expected", "observed", "moments"], ...] = ("expected", "observed", "moments")


def tied_rows(n: int, share: float, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    u, noise = rng.normal(size=n), rng.normal(size=(n, 5))
    a = 1.0 + u + noise[:, 0]
    b = 0.5 * a + noise[:, 1]
    c = 0.5 * b + 0.7 * u + noise[:, 2]
    d = 0.4 * c + 0.3 * a + 0.5 * noise[:, 1] + noise[:, 3]
    table = np.column_stack([a, b, c, d, 0.8 * u + noise[:, 4]])
    table[rng.random(table.shape) < share] = np.nan
    return table


def named(table: np.ndarray) -> dict[str, np.ndarray]:
    return {v: table[:, i] for i, v in enumerate("abcde")}


@pytest.mark.parametrize("share", [0.15, 0.6])
def test_shared_labels_and_loadings_are_counted_once(share: float, at_once: Callable[[bool], None]) -> None:
    patterns = patterns_of(tied_rows(300, share, 0), Graph([], [], observed=list("abcde")))
    space = make_space(TIED, patterns.names, Options())
    fitted = fit(TIED, patterns)
    point = evaluate(space, patterns, space.vector(fitted.model))
    assert point is not None
    usual = {kind: information(space, patterns, point, kind) for kind in KINDS}
    at_once(True)
    for kind, right in usual.items():
        found = information(space, patterns, point, kind)
        np.testing.assert_allclose(found, right, rtol=1e-9, atol=1e-9 * np.abs(right).max())


@pytest.mark.parametrize(
    ("graph", "share"),
    [
        (TIED, 0.15),
        (TIED, 0.5),
        (Graph([("a", "b"), ("b", "c"), ("c", "d")], [("a", "c"), ("d", "e")], observed=list("abcde")), 0.3),
    ],
)
def test_fits_answers_and_checks_are_the_same(graph: Graph, share: float, at_once: Callable[[bool], None]) -> None:
    data = named(tied_rows(500, share, 1))
    at_once(False)
    one = looked_at(graph, data)
    at_once(True)
    other = looked_at(graph, data)
    assert one.fit.status.converged
    assert other.fit.status.converged
    assert other.fit.loglik == pytest.approx(one.fit.loglik, rel=1e-12)
    np.testing.assert_allclose(other.fit.model.T, one.fit.model.T, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(other.fit.model.omega, one.fit.model.omega, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(other.answers, one.answers, rtol=1e-6)
    for name, value in one.measures.items():
        assert other.measures[name] == pytest.approx(value, rel=1e-6, abs=1e-6, nan_ok=True), name
    np.testing.assert_allclose(other.indices, one.indices, rtol=1e-5, atol=1e-7)
    assert other.best.converged
    assert other.best.loglik == pytest.approx(one.best.loglik, rel=1e-12)
    np.testing.assert_allclose(other.best.moments.cov, one.best.moments.cov, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(other.errors, one.errors, rtol=1e-6)


@dataclass(frozen=True, eq=False)
class Looked:
    """A fit and what may be asked of it."""

    fit: Fit
    answers: np.ndarray
    measures: dict[str, object]
    indices: np.ndarray
    best: Unrestricted
    errors: np.ndarray


def looked_at(graph: Graph, data: dict[str, np.ndarray]) -> Looked:
    """Fit and ask."""
    found = ht.fit(graph, data)
    assert isinstance(found, Fit)
    assert found.patterns is not None
    effects = [found.effect("a", "c", interval=kind) for kind in INTERVALS]
    return Looked(
        found,
        np.array([(effect.value, se_of(effect)) for effect in effects]),
        measures(found).to_dict(),
        np.sort([row.mi for row in modifications(found)]),
        found.patterns.unrestricted,
        parameter_errors(found),
    )


INTERVALS: tuple[Literal["delta", "robust"], ...] = ("delta", "robust")


def test_edges_beside_a_model_meet_its_parameters_alike(at_once: Callable[[bool], None]) -> None:
    patterns = patterns_of(tied_rows(300, 0.3, 2), Graph([], [], observed=list("abcde")))
    narrow = make_space(Graph([("a", "b"), ("b", "c")], [], observed=list("abcde")), patterns.names, Options())
    edges = Edges(np.array([True, False, True]), np.array([3, 1, 0]), np.array([4, 3, 2]))
    own = _wider(narrow, edges)
    theta = np.zeros(own.size)
    theta[own.W_at[own.W_at[:, 0] == own.W_at[:, 1], 2]] = 2.0
    theta[own.T_at[:, 2]] = 0.4
    point = evaluate(own, patterns, theta)
    assert point is not None
    usual = meeting(narrow, own, patterns, point, ("expected", "moments"))
    at_once(True)
    for one, other in zip(usual, meeting(narrow, own, patterns, point, ("expected", "moments")), strict=True):
        for name in ("own", "shared", "beside"):
            right = getattr(one, name)
            np.testing.assert_allclose(getattr(other, name), right, rtol=1e-9, atol=1e-9 * np.abs(right).max())


def test_a_table_with_many_patterns_takes_this_way() -> None:
    rng = np.random.default_rng(0)
    n, p = 3000, 14
    table = np.cumsum(rng.normal(size=(n, p)), axis=1)
    table[rng.random((n, p)) < 0.3] = np.nan
    names = [f"v{i}" for i in range(p)]
    graph = Graph(list(pairwise(names)))
    found = fit(graph, patterns_of(table, graph))
    assert isinstance(found, Fitted)
    assert isinstance(found.patterns, Patterns)
    assert holes.suits(found.patterns, found.model.cov)
    assert found.status.converged
    np.testing.assert_allclose(np.diag(found.model.T, 1), 1.0, atol=0.15)
