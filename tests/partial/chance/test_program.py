"""The programs that ends of intervals are made of: derivatives, and what they find."""

from __future__ import annotations

import numpy as np
import pytest

from halftrek.bottom.arrays import Floats
from halftrek.partial.chance.program import Program
from tests.partial.chance.oracles import leaky_sigma, set_of

FOUR = np.eye(4) + 0.4

SETS = {
    "weight and correlations": (
        "z -> x -> y; x <-> y", "zxy", leaky_sigma(0.7), "x -> y",
        ["corr(x <-> y) <= 0.3", "z -> y >= -0.1", "corr(z, error(y)) <= corr(x, error(y))"],
    ),
    "means": (
        "z -> x -> y; x <-> y", "zxy", leaky_sigma(0.7), "P(y > 1 | do(x=1))", ["abs(corr(x <-> y)) <= 0.3"],
    ),
    "hidden cause": (
        "latent U; U -> x; U -> y; U -> w; U -> v; x -> y; x <-> v", "xywv", FOUR, "x -> y",
        ["reliability(w) >= 0.2", "share(y) <= 0.9"],
    ),
    "over-identified": (
        "x -> m -> y; x <-> y; m -> w", "xmyw", FOUR, "x ~> y", ["abs(corr(x <-> m)) <= 0.2"],
    ),
    "several weights": (
        "z -> x -> y; x <-> y; v -> x", "zxyv", FOUR, "x -> y",
        ["norm(z -> y, v -> y) <= 0.2", "confounding(z, v) <= (0.1, 0.2)"],
    ),
}  # fmt: skip


def _away(program: Program, T: Floats) -> Floats:
    start = program.coordinates.vector(T)
    return np.asarray(start + np.random.default_rng(3).normal(size=len(start)))


@pytest.mark.parametrize("name", SETS)
def test_derivatives_are_those_of_differences(name: str) -> None:
    graph, names, sigma, question, assume = SETS[name]
    made = set_of(graph, tuple(names), sigma, 100.0, question, assume)
    at = _away(made.program, np.asarray(made.fit.model.T))
    here = made.program.at(at)
    for value, slope in (
        ("answer", here.answer_slope), ("loss", here.loss_slope),
        ("equations", here.equation_slopes), ("limits", here.limit_slopes),
    ):  # fmt: skip
        moved = []
        for k in range(len(at)):
            step = np.zeros(len(at))
            step[k] = 1e-5
            ahead, behind = (np.asarray(getattr(made.program.at(at + s), value)) for s in (step, -step))
            moved.append((ahead - behind) / 2e-5)
        differences = np.array(moved).T
        assert differences == pytest.approx(slope, abs=1e-6), value


@pytest.mark.parametrize("name", SETS)
def test_the_loss_is_none_at_the_fit_and_grows_away_from_it(name: str) -> None:
    graph, names, sigma, question, assume = SETS[name]
    made = set_of(graph, tuple(names), sigma, 100.0, question, assume)
    at_fit = made.program.coordinates.vector(np.asarray(made.fit.model.T))
    assert made.program.at(at_fit).loss == pytest.approx(0.0, abs=1e-9)
    if name != "over-identified":  # there the unrestricted covariance has less to lose
        assert made.program.at(_away(made.program, np.asarray(made.fit.model.T))).loss > 1.0


def test_a_covariance_comes_back_from_its_vector() -> None:
    made = set_of("x -> y; x <-> y", ("x", "y"), np.array([[1.5, 0.9], [0.9, 2.0]]), 80.0, "x -> y", [])
    points = made.program.coordinates
    T, other = np.array([[0.0, 0.3], [0.0, 0.0]]), np.array([[1.1, -0.4], [-0.4, 3.0]])
    place = points.place(points.vector(T, other))
    assert place.cov == pytest.approx(other)
    weights = place.T
    assert weights == pytest.approx(T)
    A = np.eye(2) - T
    assert place.omega == pytest.approx(A.T @ other @ A)


def test_the_slope_of_an_end_in_the_covariance_is_that_of_differences() -> None:
    """The matrix G of ``dq = tr(G dSigma)``, for a direction along the vector."""
    made = set_of("z -> x -> y; x <-> y; z -> y", ("z", "x", "y"), leaky_sigma(0.7), 50.0, "x -> y", [])
    points = made.program.coordinates
    direction = np.zeros(points.size)
    direction[points.parts[1]] = np.random.default_rng(1).normal(size=6)
    _, G = points.seen_slopes(direction)
    start = points.vector(np.asarray(made.fit.model.T))
    for k in range(points.parts[1].start, points.parts[1].stop):
        step = np.zeros(points.size)
        step[k] = 1e-6
        moved = (points.place(start + step).cov - points.place(start - step).cov) / 2e-6
        assert np.trace(G @ moved) == pytest.approx(direction[k], rel=1e-6, abs=1e-8)
