"""The likelihood by step of EM, and where EM has a step at all."""

from __future__ import annotations

import numpy as np
import pytest

import halftrek as ht
from halftrek.estimation.district.trace import likelihood_trace
from halftrek.simulation import random_model

GRAPHS = (
    "latent F; F -> {a, b, c, d}; a -> b; x -> y; x <-> y; z -> x",
    "a -> b -> c",
    "x <-> y; z -> {x, y}; z <-> w; a -> x; b -> y",
)


@pytest.mark.parametrize("text", GRAPHS)
def test_the_trace_rises_to_the_maximum(text: str) -> None:
    graph = ht.graph(text)
    fit = ht.fit(
        graph, random_model(graph, random_state=3).sample(300, random_state=1), noise={"b": 1.0}, intercepts={"a": 0.0}
    )
    trace = likelihood_trace(fit, steps=400)
    assert (np.diff(trace) >= -1e-9).all()
    assert max(trace) <= fit.loglik + 1e-8
    assert trace[-1] == pytest.approx(fit.loglik, abs=1e-5)
    assert likelihood_trace(fit, steps=2) == trace[:2]


def test_the_first_steps_are_those_of_a_fit_that_was_stopped() -> None:
    graph = ht.graph("latent F; F -> {a, b, c, d}; a -> b")
    fit = ht.fit(graph, random_model(graph, random_state=3).sample(300, random_state=1))
    trace = likelihood_trace(fit)
    for steps in (1, 2, 7):
        stopped = ht.fit(graph, fit.moments, starts=1, finish=False, max_iter=steps)
        assert trace[steps - 1] == pytest.approx(stopped.loglik, abs=1e-7)


def test_em_alone_is_right_beside_a_held_error_covariance() -> None:
    world = ht.CGLSCM.from_parameters(
        names=["z", "w", "x", "y"],
        T=[[0, 0, 0.7, 0], [0, 0, 0.5, 0.4], [0, 0, 0, 0.6], [0.0, 0.0, 0.0, 0.0]],
        omega={("x", "y"): 0.3, ("z", "y"): 0.3},
    )
    held = ht.graph("z -> x -> y; w -> x; w -> y; x <-> y; z <-> y [0.3]")
    rows = world.sample(2_000, random_state=1)
    full, alone = ht.fit(held, rows), ht.fit(held, rows, finish=False)
    assert alone.loglik == pytest.approx(full.loglik, abs=1e-6)
    with pytest.raises(ht.InputError, match="no closed step"):
        likelihood_trace(full)


def test_what_has_no_trace() -> None:
    fit = ht.fit("x -> y", {"x": [1.0, 2.0, 4.0, 3.0], "y": [2.0, 1.0, 3.0, 5.0]})
    with pytest.raises(ht.InputError, match="at least 1"):
        likelihood_trace(fit, steps=0)
    literal = ht.fit("x -> y", fit.moments, method="cgl-go")
    with pytest.raises(ht.InputError, match="complete rows"):
        likelihood_trace(literal)
