"""Each criterion gives true coefficients, in its own right, and finds what the literature says it finds."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings

from halftrek.graphs import Graph
from halftrek.identification import identify, solve
from halftrek.identification.criteria.edgewise import _MOST_PARENTS, _subsets
from halftrek.identification.criteria.registry import CRITERIA, apply_criteria
from halftrek.identification.recipes.recipe import LinearStep, Recipe, Step
from halftrek.identification.study import Study
from halftrek.queries import Query
from halftrek.queries.types import DirectEffect, TotalEffect
from tests.identification.local.test_jacobian import reference_graphs
from tests.identification.samples import constrained_graphs, graphs, random_model
from tests.identification.test_identify import truth
from tests.narrow import number, some, there

NAMES = [f"v{i}" for i in range(6)]
FDD_3C = Graph([("0", "1"), ("0", "2"), ("0", "3"), ("3", "4")], [("0", i) for i in "1234"])
EDGEWISE = Graph([("0", "1"), ("0", "2"), ("1", "2")], [("0", "2")])
CHAIN = [("v0", "v1"), ("v0", "v5"), ("v1", "v2"), ("v1", "v4"), ("v1", "v5"), ("v2", "v3"), ("v3", "v4")]
ONE_FACTOR = Graph(CHAIN, latents={"U": NAMES}, observed=NAMES)

# Some of the 121 five-node graphs that are identified and not by half-treks (bits of directed, then bidirected pairs):
# solved in full by the edgewise criterion; by it with trek separation
BEYOND = {
    29711: (False, True), 156687: (False, True), 199695: (False, True), 214543: (False, True), 226362: (True, True),
    410767: (False, True), 443471: (False, True), 682086: (True, True), 742486: (True, True), 934983: (False, False),
    969812: (False, True),
}  # fmt: skip


def found(steps: Sequence[Step]) -> list[str]:
    linear = [step for step in steps if isinstance(step, LinearStep)]
    assert len(linear) == len(list(steps))
    return [q for step in linear for q in step.outputs if q is not None]


def check(graph: Graph, names: Sequence[str], seed: int) -> list[str]:
    """Every edge that the criteria give has its true value at random parameters."""
    study = Study(graph)
    steps = apply_criteria(study.bench, names)
    edges = found(steps)
    assert len(edges) == len(set(edges))
    model = random_model(graph, np.random.default_rng(seed))
    for edge in edges:
        value = number(solve(Recipe(graph.observed, steps, (edge,)), model.cov))
        u, v = edge.split(" -> ")
        assert np.isclose(value, truth(model, DirectEffect(u, v)), rtol=1e-5, atol=1e-6), (graph, edge)
    return edges


@pytest.mark.parametrize("name", CRITERIA)
@settings(deadline=None, max_examples=60, derandomize=True)
@given(graphs())
def test_steps_give_random_coefficients_back(name: str, graph: Graph) -> None:
    check(graph, [name], 3)


@settings(deadline=None, max_examples=60, derandomize=True)
@given(graphs())
def test_criteria_that_build_on_each_other_give_random_coefficients_back(graph: Graph) -> None:
    check(graph, list(CRITERIA), 4)


@settings(deadline=None, max_examples=60, derandomize=True)
@given(constrained_graphs())
def test_fixed_and_equal_coefficients_do_no_harm(graph: Graph) -> None:
    check(graph, list(CRITERIA), 5)


@settings(deadline=None, max_examples=100, derandomize=True)
@given(graphs(latents=False))
def test_edge_by_edge_finds_all_that_variable_by_variable_finds(graph: Graph) -> None:
    bench = Study(graph).bench
    nodewise, edgewise = (set(found(CRITERIA[name](bench, ()))) for name in ("half-trek", "edgewise half-trek"))
    assert nodewise <= edgewise
    # without hidden causes of many children the latent-factor criterion is the half-trek criterion, by other means
    assert nodewise == set(found(CRITERIA["latent-factor half-trek"](bench, ())))


def test_known_edges_are_not_solved_again_and_help() -> None:
    bench = Study(FDD_3C).bench
    edges = [f"{u} -> {v}" for u, v in FDD_3C.directed]
    for name in CRITERIA:
        assert CRITERIA[name](bench, edges) == ()
    alone = set(found(CRITERIA["edgewise half-trek"](bench, ())))
    helped = set(found(CRITERIA["edgewise half-trek"](bench, ["0 -> 1"])))
    assert helped > alone


def test_three_nodes() -> None:
    counts = dict.fromkeys(("half-trek", "edgewise half-trek"), 0)
    for _, graph in reference_graphs():
        for name in counts:
            counts[name] += len(found(CRITERIA[name](Study(graph).bench, ())))
    assert counts == {"half-trek": 32, "edgewise half-trek": 34}


def test_one_factor_of_six_variables_and_few_edges() -> None:
    """Barber et al. (2022): every graph with up to three edges is solved; with two edges there are four kinds."""
    pairs = list(combinations(NAMES, 2))
    for size in (1, 2):
        for directed in some(combinations(pairs, size)):
            graph = Graph(directed, latents={"U": NAMES}, observed=NAMES)
            assert len(found(CRITERIA["latent-factor half-trek"](Study(graph).bench, ()))) == size


@pytest.mark.parametrize("code", BEYOND)
def test_five_nodes_beyond_half_treks(code: int) -> None:
    pairs = list(combinations(NAMES[:5], 2))
    d, b = divmod(code, 1 << len(pairs))
    graph = Graph([e for k, e in enumerate(pairs) if d >> k & 1], [e for k, e in enumerate(pairs) if b >> k & 1])
    sets = (["half-trek"], ["edgewise half-trek"], ["edgewise half-trek", "trek separation"])
    solved = [len(check(graph, names, 6)) == len(graph.directed) for names in sets]
    assert solved == [False, *BEYOND[code]]
    assert all(identify(graph, DirectEffect(u, v)).identified for u, v in graph.directed)


@pytest.mark.parametrize(
    ("graph", "query", "method", "words"),
    [
        (EDGEWISE, DirectEffect("1", "2"), "edgewise half-trek", "before the others are known"),
        (FDD_3C, DirectEffect("0", "1"), "trek separation", "ratio of two combinations"),
        (FDD_3C, TotalEffect("0", "4"), "trek separation", "ratio of two combinations"),
        (ONE_FACTOR, DirectEffect("v0", "v1"), "latent-factor half-trek", "same hidden cause"),
    ],
)
def test_the_verdict_names_the_criterion(graph: Graph, query: Query, method: str, words: str) -> None:
    verdict = identify(graph, query)
    assert verdict.method == method
    assert words in verdict.explain()
    model = random_model(graph, np.random.default_rng(11))
    assert solve(there(verdict.recipe), model.cov) == pytest.approx(truth(model, query), rel=1e-6)


def test_a_regression_says_what_it_holds() -> None:
    graph = Graph([("w", "x"), ("w", "y"), ("x", "y")])
    words = "Given w, nothing hidden confounds y with x: a regression gives the answer."
    assert words in identify(graph, DirectEffect("x", "y")).explain()


def test_instruments_through_a_hidden_cause_are_not_called_unrelated_to_the_error() -> None:
    text = identify(ONE_FACTOR, DirectEffect("v0", "v1")).explain()
    assert "taken out of other variables" in text
    assert "unrelated" not in text


def test_all_sets_of_parents_are_tried_unless_there_are_many() -> None:
    names = [f"p{k}" for k in range(_MOST_PARENTS + 1)]
    for count in range(1, _MOST_PARENTS + 1):
        assert len(set(_subsets(names[:count]))) == 2**count - 1
    assert {len(some) for some in _subsets(names)} == {1, 2, _MOST_PARENTS + 1}
