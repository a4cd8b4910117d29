"""What independent errors tell, against errors that are written out as sums of independent sources."""

from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from hypothesis import assume, given, settings

from benchmarks.independence import every_mixed, random_mixed
from halftrek.graphs import Graph
from halftrek.identification import every_effect, identify
from halftrek.identification.criteria.flows import disjoint_paths
from halftrek.identification.independence.deciding import beyond_covariances, independent_pairs
from halftrek.identification.independence.fibre import Fibre, fibre_of, says_more, telling_ancestors
from halftrek.identification.local.functionals import functionals
from halftrek.identification.local.parameters import Point
from halftrek.identification.local.witness import starting_values
from halftrek.queries.types import DirectEffect, TotalEffect
from halftrek.syntax import parse_graph, parse_question
from tests.identification.samples import constrained_graphs, graphs
from tests.narrow import there

CONFOUNDED_DOOR = "x -> m -> y; x <-> m; x <-> y"
BOW = "x -> y; x <-> y"


def sources(graph: Graph, rng: np.random.Generator) -> np.ndarray:
    """Errors as sums of independent sources: one of its own for each variable, one for each arc; a row a source."""
    names = graph.observed
    own = np.diag(rng.uniform(0.5, 1.5, len(names)))
    arcs = [pair for pair in combinations(range(len(names)), 2) if names[pair[1]] in graph.spouses(names[pair[0]])]
    shared = np.zeros((len(arcs), len(names)))
    for row, pair in zip(shared, arcs, strict=True):
        row[list(pair)] = rng.uniform(0.5, 1.5, 2)
    return np.vstack([own, shared])


def known_by_sources(graph: Graph) -> set[tuple[str, str]]:
    """Arrows whose weights cannot move: other weights would put a source of an independent error into their own."""
    rng = np.random.default_rng(3)
    names = graph.observed
    T = np.zeros((len(names), len(names)))
    for u, v in graph.directed:
        T[names.index(u), names.index(v)] = rng.uniform(0.5, 1.5) * rng.choice([-1.0, 1.0])
    errors = sources(graph, rng)
    seen = errors @ np.linalg.inv(np.eye(len(names)) - T)
    found = set()
    for v in names:
        others = [t for t in names if t != v and t not in graph.spouses(v)]
        forbidden = errors[:, [names.index(t) for t in others]].any(axis=1)
        parents = [names.index(p) for p in graph.parents(v)]
        for i, p in enumerate(graph.parents(v)):
            mine, rest = seen[forbidden][:, parents], seen[forbidden][:, parents[:i] + parents[i + 1 :]]
            if np.linalg.matrix_rank(mine, tol=1e-9) > (np.linalg.matrix_rank(rest, tol=1e-9) if rest.size else 0):
                found.add((p, v))
    return found


@settings(deadline=None, max_examples=80, derandomize=True)
@given(graphs(most=6, latents=False))
def test_the_arrows_that_are_known_are_those_that_sources_hold(graph: Graph) -> None:
    assert set(fibre_of(graph).known) == known_by_sources(graph)


@settings(deadline=None, max_examples=60, derandomize=True)
@given(graphs(most=6, latents=False))
def test_ranks_are_flows(graph: Graph) -> None:
    """The criterion as published: paths without a common vertex, one fewer without the parent."""
    arrows = {v: graph.children(v) for v in graph.observed}

    def flow(v: str, parents: tuple[str, ...]) -> int:
        return len(disjoint_paths(arrows, telling_ancestors(graph, v), parents))

    by_flow = {
        (p, v)
        for p, v in graph.directed
        if flow(v, graph.parents(v)) > flow(v, tuple(u for u in graph.parents(v) if u != p))
    }
    assert set(fibre_of(graph).known) == by_flow


def by_networkx(graph: Graph, v: str, parents: list[str]) -> int:
    """How many paths without a common vertex lead from R to these parents: every vertex is split and used once."""
    mine = {v, *graph.spouses(v)}
    above = {a for a in graph.observed if a != v and nx.has_path(plain_of(graph), a, v)}
    sources_of_v = {a for a in above if not {a, *graph.spouses(a)} <= mine}
    split = nx.DiGraph()
    split.add_nodes_from(["from", "to"])
    for a in graph.observed:
        split.add_edge((a, "in"), (a, "out"), capacity=1)
        split.add_edges_from((((a, "out"), (b, "in")) for b in graph.children(a)), capacity=1)
    split.add_edges_from((("from", (a, "in")) for a in sources_of_v), capacity=1)
    split.add_edges_from((((a, "out"), "to") for a in parents), capacity=1)
    return int(nx.maximum_flow_value(split, "from", "to"))


def plain_of(graph: Graph) -> nx.DiGraph:
    found: nx.DiGraph = nx.DiGraph()
    found.add_nodes_from(graph.observed)
    found.add_edges_from(graph.directed)
    return found


def by_random_matrices(graph: Graph, v: str, parents: list[str], rng: np.random.Generator) -> int:
    """The rank of total effects from R on these parents, at random weights."""
    names, mine = list(graph.observed), {v, *graph.spouses(v)}
    T = np.zeros((len(names), len(names)))
    for a, b in graph.directed:
        T[names.index(a), names.index(b)] = rng.normal()
    B = np.linalg.inv(np.eye(len(names)) - T)
    rows = [a for a in names if a != v and B[names.index(a), names.index(v)] and not {a, *graph.spouses(a)} <= mine]
    block = B[np.ix_([names.index(a) for a in rows], [names.index(p) for p in parents])]
    return int(np.linalg.matrix_rank(block, tol=1e-10)) if block.size else 0


def test_the_rule_is_the_published_one_on_all_small_graphs_and_some_of_five() -> None:
    """Tramontano, Drton and Etesami (2024): by ranks of random matrices, and by a flow of another library."""
    rng = np.random.default_rng(1)
    tried = [*every_mixed(3), *(random_mixed(rng, 5) for _ in range(60))]
    for graph in tried:
        known = fibre_of(graph).known
        for p, v in graph.directed:
            parents = list(graph.parents(v))
            others = [u for u in parents if u != p]
            flow = by_networkx(graph, v, parents) - by_networkx(graph, v, others)
            rank = by_random_matrices(graph, v, parents, rng) - by_random_matrices(graph, v, others, rng)
            assert flow == rank
            assert ((p, v) in known) == (flow == 1), (graph, p, v)
    assert len(tried) == 64 + 60


@settings(deadline=None, max_examples=40, derandomize=True)
@given(graphs(most=5))
def test_what_covariances_tell_stays_told(graph: Graph) -> None:
    queries = every_effect(graph)
    assume(queries)
    for query in queries:
        linear = identify(graph, query, witness=False, budget=0.2)
        found = identify(graph, query, scope="non-normal", witness=False, budget=0.2)
        if linear.identified:
            assert found.identified
            assert found.scope == linear.scope
            if not graph.latents:  # what covariances tell is told by independence as well
                assert beyond_covariances(graph, query).identified, query
        else:
            assert found.scope == "non-normal"


def moved_pair(fibre: Fibre, seed: int) -> tuple[Point, Point]:
    rng = np.random.default_rng(seed)
    return fibre.real_pair(starting_values(fibre.table, rng), rng, 1.0)


@settings(deadline=None, max_examples=60, derandomize=True)
@given(graphs(most=6, latents=False))
def test_models_that_share_a_distribution_share_its_sources(graph: Graph) -> None:
    """The other errors are sums of the same sources, and those without an arc have none in common."""
    fibre = fibre_of(graph)
    here, there_ = moved_pair(fibre, 5)
    names = graph.observed
    errors = sources(graph, np.random.default_rng(6))
    inverse = [np.eye(len(names)) - point.matrices(names)[0] for point in (here, there_)]
    other = errors @ np.linalg.inv(inverse[0]) @ inverse[1]
    present = np.abs(other) > 1e-9
    pairs = combinations(range(len(names)), 2)
    shared = [present[:, u] & present[:, v] for u, v in pairs if names[v] not in graph.spouses(names[u])]
    assert not any(both.any() for both in shared)


@settings(deadline=None, max_examples=40, derandomize=True)
@given(graphs(most=5, latents=False))
def test_a_refusal_has_two_models_with_one_covariance(graph: Graph) -> None:
    queries = every_effect(graph)
    assume(queries)
    for query in queries:
        verdict = identify(graph, query, scope="non-normal", budget=0.2)
        assert verdict.status in ("identified", "not identified")
        if not verdict.identified:
            first, second = there(verdict.witness).models
            assert np.allclose(first.cov, second.cov)
            values = [
                m.total_effect(query.cause, query.effect)
                if isinstance(query, TotalEffect)
                else m.T[m.names.index(query.cause), m.names.index(query.effect)]
                for m in (first, second)
                if isinstance(query, TotalEffect | DirectEffect)
            ]
            assert abs(values[0] - values[1]) > 0.01


@settings(deadline=None, max_examples=40, derandomize=True)
@given(graphs(most=5, latents=False))
def test_effects_are_constant_where_they_are_said_to_be(graph: Graph) -> None:
    fibre = fibre_of(graph)
    pairs = [moved_pair(fibre, seed) for seed in (11, 12)]
    queries = every_effect(graph)
    assume(queries)
    for query in queries:
        same = all(np.allclose(functionals(query, a).values, functionals(query, b).values) for a, b in pairs)
        assert beyond_covariances(graph, query).identified == same


@settings(deadline=None, max_examples=40, derandomize=True)
@given(constrained_graphs(most=4))
def test_given_weights_only_add(graph: Graph) -> None:
    free = Graph(graph.directed, graph.bidirected, graph.latents, graph.observed)
    assert fibre_of(free).known <= fibre_of(graph).known
    for query in every_effect(graph):
        assert beyond_covariances(graph, query).status in (
            "identified",
            "undecided" if says_more(graph) else "not identified",
        )


@pytest.mark.parametrize(
    ("text", "question", "status"),
    [
        (CONFOUNDED_DOOR, "m -> y", "identified"),
        (CONFOUNDED_DOOR, "x -> m", "identified"),
        (CONFOUNDED_DOOR, "x ~> y", "identified"),
        (CONFOUNDED_DOOR, "x <-> y", "identified"),
        (CONFOUNDED_DOOR, "P(y | do(x=1))", "identified"),
        (CONFOUNDED_DOOR, "P(y > 2 | do(x=1))", "identified"),
        (CONFOUNDED_DOOR, "E[y | do(x=1)] - E[y | do(x=0)]", "identified"),
        (CONFOUNDED_DOOR, "E[y_{x=1} | x=0, y=2]", "identified"),
        (CONFOUNDED_DOOR, "std(x ~> y)", "identified"),
        (BOW, "x -> y", "not identified"),
        (BOW, "P(y | do(x=1))", "not identified"),
        (BOW, "P(y > 1 | do(x=1))", "not identified"),
        (BOW, "E[y | do(x=1)] - E[y | do(x=0)]", "not identified"),
        ("latent U; U -> {x, y, z}; x -> y", "x -> y", "undecided"),
        ("z -> x -> y; x <-> y; z <-> x; z <-> y", "x -> y", "not identified"),
        ("x -> y; x <-> y; a -> b; a <-> b; a <-> c", "x -> y", "not identified"),
    ],
)
def test_verdicts(text: str, question: str, status: str) -> None:
    verdict = identify(parse_graph(text), parse_question(question), scope="non-normal")
    assert verdict.status == status
    assert verdict.scope == "non-normal"
    assert "None" not in verdict.explain(details=True)


def test_an_identified_verdict_names_the_errors_that_tell() -> None:
    graph = parse_graph(CONFOUNDED_DOOR)
    verdict = identify(graph, DirectEffect("m", "y"), scope="non-normal")
    assert verdict.method == "independent errors"
    assert independent_pairs(graph, ("y",)) == (("m", "y"),)
    assert "no arc between m and y" in verdict.explain()
    assert there(verdict.estimand).startswith("m -> y for which e(m) and e(y) are independent")
    assert "not normal" in verdict.explain()


def test_equal_weights_are_told_together() -> None:
    """A bow whose weight is equal to one that the rest of the graph tells."""
    graph = Graph(
        [("x", "y"), ("a", "b")], [("x", "y")], {}, ["x", "y", "a", "b"], {"x -> y": "same", "a -> b": "same"}
    )
    assert ("x", "y") in fibre_of(graph).known


def test_a_weight_that_is_given_is_known() -> None:
    """Every pair has an arc, so that nothing else tells a weight."""
    arrows, arcs = [("x", "y"), ("w", "y")], [("x", "y"), ("w", "y"), ("x", "w")]
    free, given = (Graph(arrows, arcs, {}, ["x", "w", "y"], weights) for weights in ({}, {"x -> y": 0.5}))
    assert fibre_of(free).known == set()
    assert fibre_of(given).known == {("x", "y")}
