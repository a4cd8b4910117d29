"""Vertex-disjoint paths against networkx, and trek systems against determinants."""

from collections.abc import Iterable
from itertools import combinations

import networkx as nx
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from halftrek.graphs import Graph
from halftrek.identification.criteria.flows import disjoint_paths, trek_network
from halftrek.identification.study import Study
from tests.identification.samples import graphs
from tests.narrow import some

Network = tuple[dict[int, list[int]], list[int], set[int]]  # arrows, sources, sinks


@st.composite
def networks(draw: st.DrawFn) -> Network:
    size = draw(st.integers(2, 9))
    pairs = [(u, v) for u in range(size) for v in range(size) if u != v]
    arrows = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=24))
    some = st.lists(st.integers(0, size - 1), unique=True, max_size=5)
    return {u: [w for a, w in arrows if a == u] for u in range(size)}, draw(some), set(draw(some))


def most_disjoint(arrows: dict[int, list[int]], sources: Iterable[int], sinks: set[int]) -> int:
    """The same number by networkx, each vertex split into an arrow of capacity one."""
    flow = nx.DiGraph()
    flow.add_nodes_from(["start", "end"])
    for u, targets in arrows.items():
        flow.add_edge((u, "in"), (u, "out"), capacity=1)
        for w in targets:
            flow.add_edge((u, "out"), (w, "in"), capacity=1)
    for s in sources:
        flow.add_edge("start", (s, "in"), capacity=1)
    for t in sinks:
        flow.add_edge((t, "out"), "end", capacity=1)
    return nx.maximum_flow_value(flow, "start", "end")


@settings(deadline=None, max_examples=300, derandomize=True)
@given(networks())
def test_the_largest_system_is_found_and_its_sources_carry_it(network: Network) -> None:
    arrows, sources, sinks = network
    starts = disjoint_paths(arrows, sources, sinks)
    assert len(starts) == len(set(starts)) == most_disjoint(arrows, sources, sinks)
    assert set(starts) <= set(sources)
    assert most_disjoint(arrows, starts, sinks) == len(starts)


def test_a_path_gives_way_to_a_later_one() -> None:
    arrows = {"a": ["m", "n"], "b": ["m"], "m": ["s"], "n": ["t"]}
    assert disjoint_paths(arrows, ["a", "b"], {"s", "t"}) == ["a", "b"]
    assert disjoint_paths(arrows, ["b", "b2"], {"s", "t"}) == ["b"]


def test_a_source_may_be_a_sink_and_may_lie_on_another_path() -> None:
    assert disjoint_paths({"a": ["b"], "b": ["c"]}, ["a", "b"], {"b", "c"}) == ["a"]
    assert disjoint_paths({"a": ["b", "d"], "b": ["c"], "d": ["b"]}, ["a", "b", "d"], {"b", "c", "d"}) == ["a", "b"]
    assert disjoint_paths({}, ["a"], {"a"}) == ["a"]


@settings(deadline=None, max_examples=60, derandomize=True)
@given(graphs(most=5))
def test_treks_without_sided_intersection_are_the_rank_of_the_covariance(graph: Graph) -> None:
    """Sullivant, Talaska and Draisma (2010), with hidden causes as vertices of their own."""
    study = Study(graph)
    bench, network = study.bench, trek_network(study.reduced)
    sets = [list(combinations(range(len(bench.names)), size)) for size in (1, 2, 3)]
    pairs = [(rows, columns) for one in sets for rows in one[::2] for columns in one[1::2]]
    for rows, columns in some(pairs):
        starts = [("left", bench.names[i]) for i in rows]
        count = len(disjoint_paths(network, starts, {("right", bench.names[j]) for j in columns}))
        assert count == bench.field.rank(bench.sigma[np.ix_(rows, columns)])
