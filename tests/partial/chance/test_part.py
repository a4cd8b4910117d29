"""What chance leaves of a number is the same from the part of the graph that it is about."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import halftrek as ht
from halftrek.partial.chance import part
from halftrek.simulation import random_graph, random_model


def fitted(seed: int) -> ht.Fit:
    """A random graph with 400 rows of it."""
    graph = random_graph(6 + seed % 3, n_edges=6 + seed % 4, n_bidirected=2 + seed % 2, random_state=seed)
    model = random_model(graph, random_state=seed)
    return ht.fit(graph, dict(zip(model.names, model.sample(400, random_state=seed).T, strict=True)))


@pytest.mark.parametrize("seed", [0, 1, 4, 7, 10, 13])
def test_bounds_are_those_of_the_whole(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    fit = fitted(seed)
    graph = fit.graph
    cause, effect = next(((a, b) for a, b in graph.directed if b in graph.siblings(a)), graph.directed[0])
    assume = () if seed % 2 else (f"|corr({cause} <-> {effect})| <= 0.4",)
    whole = fit.bounds(f"{cause} -> {effect}", assume=assume)
    monkeypatch.setattr(part, "LARGE", 0)
    monkeypatch.setattr(part, "MOST", 0.95)
    small = fit.bounds(f"{cause} -> {effect}", assume=assume)
    assert [small.low, small.high] == pytest.approx([whole.low, whole.high], rel=1e-6, abs=1e-7)
    assert np.array(small.interval_pieces) == pytest.approx(np.array(whole.interval_pieces), rel=1e-4, abs=1e-5)
    ends = [(a, b) for a, b in ((small.model_low, whole.model_low), (small.model_high, whole.model_high)) if a and b]
    for ours, theirs in ends:
        assert ours.names == theirs.names
        assert np.abs(np.asarray(ours.cov) - np.asarray(theirs.cov)).max() < 1e-6
    assert (small.model_low is None, small.model_high is None) == (whole.model_low is None, whole.model_high is None)


@pytest.mark.parametrize(
    ("seed", "edge"), [(1, "x5 -> x4"), (7, "x1 -> x6"), (10, "x2 -> x7"), (22, "x2 -> x3"), (29, "x8 -> x2")]
)
def test_so_they_are_where_the_districts_cause_parents_of_theirs(
    seed: int, edge: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fit = fitted(seed)
    assume = () if seed % 2 else (f"|corr({edge.replace('->', '<->')})| <= 0.4",)
    whole = fit.bounds(edge, assume=assume)
    monkeypatch.setattr(part, "LARGE", 0)
    monkeypatch.setattr(part, "MOST", 1.0)
    found = part.part_of(fit, ht.parse_question(edge), ())
    assert found is not None
    assert found.caused
    small = fit.bounds(edge, assume=assume)
    assert [small.low, small.high] == pytest.approx([whole.low, whole.high], rel=1e-6, abs=1e-7)
    assert np.array(small.interval_pieces) == pytest.approx(np.array(whole.interval_pieces), rel=1e-4, abs=1e-5)


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("r -> r2 -> x -> y; r -> u -> y; w -> u; x <-> w; x <-> y; u <-> r2", "x ~> y"),
        ("r -> r2 -> x -> y -> z; r -> u -> y; w -> u; x <-> w; x <-> y; u <-> r2; z <-> w", "x ~> z"),
        ("x -> y; u -> y; w -> u; t -> u; w -> v -> y; x <-> w; x <-> y; t <-> v; t -> s -> x", "x ~> y"),
    ],
)
def test_total_effects_gain_no_way_through_such_parents(
    text: str, question: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = ht.graph(text)
    model = random_model(graph, random_state=1)
    fit = ht.fit(graph, dict(zip(model.names, model.sample(200, random_state=1).T, strict=True)))
    whole = fit.bounds(question, assume="|corr(x <-> y)| <= 0.3")
    monkeypatch.setattr(part, "LARGE", 0)
    monkeypatch.setattr(part, "MOST", 1.0)
    found = part.part_of(fit, ht.parse_question(question), ())
    assert found is not None
    assert found.caused
    small = fit.bounds(question, assume="|corr(x <-> y)| <= 0.3")
    assert [small.low, small.high] == pytest.approx([whole.low, whole.high], rel=1e-6, nan_ok=True)
    assert np.array(small.interval_pieces) == pytest.approx(np.array(whole.interval_pieces), rel=1e-4, abs=1e-5)


def test_a_parent_that_the_districts_cause_follows_from_all_before_it() -> None:
    """The district of x and y has m as a parent, which x causes: how, and what else does, is not looked at."""
    graph = ht.graph("a -> x -> m -> y; x <-> y; b -> m; y -> c -> d; e -> d; f -> e; g -> f; h -> g; i; j; k; l; n")
    model = random_model(graph, random_state=1)
    fit = ht.fit(graph, dict(zip(model.names, model.sample(300, random_state=1).T, strict=True)))
    found = part.part_of(fit, ht.parse_question("a -> x"), ())
    assert found is not None
    assert found.own == {"a", "x", "y"}
    assert set(found.names) == {"a", "x", "m", "y"}
    assert found.caused == {"m": ("a", "x")}
    small = found.fit(fit)
    assert set(small.graph.parents("m")) == {"a", "x"}
    rows = fit.moments.select(["a", "x", "m"]).cov
    slopes = np.linalg.solve(rows[:2, :2], rows[:2, 2])
    assert [small.model.T[small.model.names.index(v), small.model.names.index("m")] for v in "ax"] == pytest.approx(
        slopes
    )
    assert part.part_of(fit, ht.parse_question("E[y | do(m=1)]"), ()) is None


def test_a_far_variable_of_the_district_does_not_bring_all_between() -> None:
    """The district of v0 and v1 has v39, which they cause through all others: three equations, not forty."""
    names = [f"v{i}" for i in range(40)]
    chain = "; ".join(f"{a} -> {b}" for a, b in pairwise(names))
    graph = ht.graph(f"{chain}; v0 <-> v1; v1 <-> v39")
    model = random_model(graph, random_state=3)
    fit = ht.fit(graph, dict(zip(model.names, model.sample(300, random_state=3).T, strict=True)))
    found = part.part_of(fit, ht.parse_question("v0 -> v1"), ())
    assert found is not None
    assert set(found.names) == {"v0", "v1", "v38", "v39"}
    alone = fit.bounds("v0 -> v1", assume="|corr(v0 <-> v1)| <= 0.2")
    near = ht.graph("v0 -> v1; v0 <-> v1")
    two = ht.fit(near, fit.moments.select(["v0", "v1"])).bounds("v0 -> v1", assume="|corr(v0 <-> v1)| <= 0.2")
    assert [alone.low, alone.high] == pytest.approx([two.low, two.high], rel=1e-2)
