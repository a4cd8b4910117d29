"""Answers of a model against brute force."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halftrek.errors import QueryError
from halftrek.graphs import Graph
from halftrek.models import CGLSCM, Gaussian
from halftrek.queries import (
    DirectEffect,
    Distribution,
    ErrorCovariance,
    PathEffect,
    Query,
    ThroughEffect,
    TotalEffect,
    check_query,
    evaluate,
)
from tests.estimation.strategies import models
from tests.narrow import number, some

QUICK = settings(max_examples=40, deadline=None, derandomize=True)


@given(model=models(bows=True), seed=st.integers(0, 1000))
@QUICK
def test_interventional_equals_the_dense_joint(model: CGLSCM, seed: int) -> None:
    """Restricting to ancestors first changes nothing."""
    rng = np.random.default_rng(seed)
    roles = rng.integers(0, 4, len(model.names))
    outcomes = [v for v, r in zip(model.names, roles, strict=True) if r == 0] or [model.names[0]]
    held = {v: float(rng.normal()) for v, r in zip(model.names, roles, strict=True) if r == 1 and v not in outcomes}
    seen = {v: float(rng.normal()) for v, r in zip(model.names, roles, strict=True) if r == 2 and v not in outcomes}
    found = evaluate(Distribution.after(tuple(outcomes), held, seen), model)
    dense = model.do(held).joint.given(seen).marginal(outcomes)
    assert isinstance(found, Gaussian)
    assert found.names == tuple(outcomes)
    np.testing.assert_allclose(found.mean, dense.mean, atol=1e-9)
    np.testing.assert_allclose(found.cov, dense.cov, atol=1e-9)


@given(model=models(bows=True))
@QUICK
def test_effects_equal_entries_of_the_matrices(model: CGLSCM) -> None:
    for (i, u), (j, v) in some(permutations(enumerate(model.names), 2)):
        assert evaluate(TotalEffect(u, v), model) == pytest.approx(model.B[i, j], abs=1e-10)
        assert evaluate(ErrorCovariance(u, v), model) == pytest.approx(model.omega[i, j], abs=1e-12)
    for u, v in model.graph.directed:
        i, j = model.names.index(u), model.names.index(v)
        assert evaluate(DirectEffect(u, v), model) == model.T[i, j]


@given(model=models(most=5))
@QUICK
def test_path_effects_add_up_to_the_total(model: CGLSCM) -> None:
    names = model.names

    def paths(u: str, v: str) -> list[tuple[str, ...]]:
        if u == v:
            return [(v,)]
        return [(u, *rest) for c in model.graph.children(u) for rest in paths(c, v)]

    assert len(names) >= 2
    for u, v in permutations(names, 2):
        total = sum(number(evaluate(PathEffect(path), model)) for path in paths(u, v))
        assert total == pytest.approx(evaluate(TotalEffect(u, v), model), abs=1e-10)
        for m in set(names) - {u, v}:
            through = sum(number(evaluate(PathEffect(path), model)) for path in paths(u, v) if m in path)
            assert evaluate(ThroughEffect((u, m, v)), model) == pytest.approx(through, abs=1e-10)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (TotalEffect("x", "q"), "no variable 'q'"),
        (TotalEffect("U", "y"), "'U' is hidden"),
        (DirectEffect("x", "y"), "no edge x -> y"),
        (PathEffect(("x", "y", "m")), "no edge"),
        (ThroughEffect(("x", "m", "x")), "twice"),
        (Distribution.after(("y",), {"x": 1.0}, {"y": 1.0}), "both an outcome and a condition"),
        (Distribution.after(("y",), {"x": 1.0}, {"x": 1.0}), "both held"),
    ],
)
def test_queries_that_do_not_fit_are_refused(query: Query, message: str) -> None:
    graph = Graph([("x", "m"), ("m", "y")], latents={"U": ["x", "y"]})
    with pytest.raises(QueryError, match=message):
        check_query(query, graph)


def test_a_value_left_out_is_named() -> None:
    from halftrek.examples import catalog

    with pytest.raises(QueryError, match="'X1' has no value"):
        evaluate(Distribution.after(("X3",), {"X1": None}), catalog("front-door").model)
