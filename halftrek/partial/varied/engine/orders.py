"""Graphs in which answers of models with one more arrow can be evaluated together."""

from __future__ import annotations

from itertools import combinations

import networkx as nx
import numpy as np

from halftrek.bottom.arrays import Ints
from halftrek.graphs import Graph
from halftrek.inference.checks.edges.scores import Edges


def graphs_of(graph: Graph, names: tuple[str, ...], edges: Edges) -> tuple[tuple[Graph, Ints], ...]:
    """Graphs that have all arrows of the models, weights of zero among them, and which edges each is for.

    Arcs change no order. An arrow that agrees with an order of the variables may stand in a graph that has every arrow
    along that order; two orders, each as far from the other as the graph allows, are enough for most.
    """
    found = [(graph, np.flatnonzero(~edges.arrow))]
    waiting = np.flatnonzero(edges.arrow)
    for order in _orders(graph):
        rank = np.array([order.index(v) for v in names])
        along = rank[edges.first[waiting]] < rank[edges.second[waiting]]
        if along.any():
            found.append((graph.with_(directed=list(combinations(order, 2))), waiting[along]))
            waiting = waiting[~along]
    for k in waiting:
        arrow = (names[edges.first[k]], names[edges.second[k]])
        found.append((graph.with_(directed=(*graph.directed, arrow)), np.array([k])))
    return tuple(pair for pair in found if len(pair[1]))


def _orders(graph: Graph) -> tuple[tuple[str, ...], ...]:
    """The graph's own order of causes before effects, and one that turns round whatever it leaves open."""
    arrows = nx.DiGraph()
    arrows.add_nodes_from(graph.observed)
    arrows.add_edges_from(graph.directed)
    rank = {v: k for k, v in enumerate(graph.topological_order)}
    turned = nx.lexicographical_topological_sort(arrows, key=lambda v: -rank[v])
    return tuple(graph.topological_order), tuple(turned)
