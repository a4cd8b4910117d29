"""All minimal adjustment sets, against trying every subset; each gives the effect in a random model."""

import random
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, islice

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import halftrek as ht
from halftrek.errors import GraphError, QueryError
from halftrek.graphs import Graph
from halftrek.identification import adjustment_set, adjustment_sets, single_door_sets
from tests.graphs.random_graphs import graphs, minimal, random_model, subsets
from tests.narrow import some


def proper_paths(graph: Graph, causes: Sequence[str], outcomes: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Every directed path from a cause to an outcome that meets the causes only where it begins."""
    stack: list[tuple[str, ...]] = [(x,) for x in causes]
    while stack:
        path = stack.pop()
        if path[-1] in outcomes:
            yield path
        stack += [(*path, v) for v in graph.children(path[-1]) if v not in causes]


def every_minimal_set(graph: Graph, causes: Sequence[str], outcomes: Sequence[str]) -> set[frozenset[str]]:
    """Oracle: subsets without descendants of what lies on proper causal paths that block all other paths."""
    paths = list(proper_paths(graph, causes, outcomes))
    between = {v for path in paths for v in path[1:]}
    bad = {*causes, *outcomes} | (graph.descendants(between) if between else set())
    first = {(path[0], path[1]) for path in paths}
    cut = Graph([e for e in graph.directed if e not in first], graph.bidirected, graph.latents, graph.observed)
    pool = [v for v in graph.observed if v not in bad]
    return minimal(z for z in subsets(pool) if cut.m_separated(causes, outcomes, z))


def listed(found: Iterable[Iterable[str]]) -> set[frozenset[str]]:
    sets = [frozenset(z) for z in found]
    assert len(sets) == len(set(sets))  # each once
    return set(sets)


@settings(deadline=None, max_examples=120, derandomize=True)
@given(graphs("abcdef"))
def test_the_sets_are_those_that_trying_all_subsets_finds(graph: Graph) -> None:
    for x, y in some(combinations(graph.topological_order, 2)):
        found = listed(adjustment_sets(graph, x, y))
        assert found == every_minimal_set(graph, (x,), (y,))
        one = adjustment_set(graph, x, y)
        assert (one is None) == (not found)
        assert one is None or set(one) in found


@settings(deadline=None, max_examples=80, derandomize=True)
@given(graphs("abcdef", smallest=4), st.randoms(use_true_random=False))
def test_several_causes_and_outcomes(graph: Graph, rng: random.Random) -> None:
    chosen = rng.sample(graph.observed, rng.choice([3, 4]))
    cut = rng.randint(1, len(chosen) - 1)
    causes, outcomes = tuple(chosen[:cut]), tuple(chosen[cut:])
    assert listed(adjustment_sets(graph, causes, outcomes)) == every_minimal_set(graph, causes, outcomes)


def slope(model: ht.CGLSCM, x: str, y: str, chosen: Sequence[str]) -> float:
    at = [model.names.index(v) for v in (x, *chosen)]
    return np.linalg.solve(model.cov[np.ix_(at, at)], model.cov[at, model.names.index(y)])[0]


@settings(deadline=None, max_examples=60, derandomize=True)
@given(graphs("abcdef"), st.integers(0, 2**31))
def test_regressions_on_the_sets_give_the_effects(graph: Graph, seed: int) -> None:
    model = random_model(graph, seed)
    place = model.names.index
    checked = 0
    for x, y in combinations(graph.topological_order, 2):
        for chosen in adjustment_sets(graph, x, y):
            assert slope(model, x, y, chosen) == pytest.approx(model.B[place(x), place(y)], abs=1e-8)
            checked += 1
        for chosen in single_door_sets(graph, x, y):
            assert slope(model, x, y, chosen) == pytest.approx(model.T[place(x), place(y)], abs=1e-8)
            checked += 1
    assume(checked)


def back_doors(count: int) -> Graph:
    return ht.graph("x -> y; " + "; ".join(f"x <- a{i} <- b{i} -> y" for i in range(count)))


def test_none_is_left_out_where_there_are_many() -> None:
    sets = listed(adjustment_sets(back_doors(8), "x", "y"))
    assert len(sets) == 256
    assert all(len(z & {f"a{i}", f"b{i}"}) == 1 for z in sets for i in range(8))


def test_the_first_come_at_once_however_many_there_are() -> None:
    assert len(set(islice(adjustment_sets(back_doors(60), "x", "y"), 200))) == 200  # of 2 to the power of 60


@pytest.mark.parametrize(
    ("question", "sets"),
    [
        ("x ~> y", "{w}, {m}"),
        ("x -> y", "{w}, {m}"),
        ("P(y | do(x))", "{w}, {m}"),
        ("E[y | do(x=1)] - E[y | do(x=0)]", "{w}, {m}"),
        ("P(y > 1 | do(x=1))", "{w}, {m}"),
        ("std(x ~> y)", "{w}, {m}"),
        ("w ~> y", "none"),
        ("w -> x", "{}"),
        ("P(x | do(w))", "{}"),
        ("P(y | do(x), w)", "None"),
        ("x <-> y", "None"),
        ("P(y_{x=1} | x=0)", "None"),
        ("(x ~> y) + (w ~> x)", "None"),
        ("P(y | x)", "None"),
    ],
)
def test_a_verdict_lists_them(question: str, sets: str) -> None:
    graph = ht.graph("w -> x -> y; w -> m -> y; latent U; U -> {w, m}")
    assert str(ht.identify(graph, question).adjustment_sets) == sets


def test_a_list_is_sorted_by_size_and_says_where_it_stopped() -> None:
    graph = ht.graph("x -> y; x <- a <- {b, c, d}; {b, c, d} -> y")
    found = ht.identify(graph, "x ~> y").adjustment_sets
    assert found is not None
    assert tuple(found) == (("a",), ("b", "c", "d"))
    assert (len(found), found[0], found[1:], found.complete) == (2, ("a",), (("b", "c", "d"),), True)
    many = ht.identify(back_doors(11), "x ~> y").adjustment_sets
    assert many is not None
    assert (len(many), many.complete) == (1000, False)
    assert str(many).endswith("and more, which are not listed here")


def test_bad_names() -> None:
    graph = ht.graph("smoking -> tar -> cancer")
    assert list(adjustment_sets(graph, "smoking", "cancer")) == [()]
    with pytest.raises(GraphError, match="no observed variable 'smokin'"):
        list(adjustment_sets(graph, "smokin", "cancer"))
    with pytest.raises(QueryError, match="'tar' is a cause and an outcome"):
        adjustment_sets(graph, ["smoking", "tar"], ["tar"])
    with pytest.raises(QueryError, match="at least one cause"):
        adjustment_sets(graph, [], "tar")
