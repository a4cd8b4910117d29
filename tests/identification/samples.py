"""Random graphs and models for the tests of identification."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from hypothesis import strategies as st

from halftrek.graphs import Graph
from halftrek.models import CGLSCM


@st.composite
def graphs(draw: st.DrawFn, most: int = 6, latents: bool = True) -> Graph:
    """Acyclic graphs with bidirected edges and, at times, a hidden cause of several variables."""
    size = draw(st.integers(2, most))
    names = [f"v{i}" for i in range(size)]
    pairs = list(combinations(names, 2))
    directed = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=8))
    bidirected = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=5))
    hidden = {}
    if latents and draw(st.booleans()):
        kids = draw(st.lists(st.sampled_from(names), unique=True, min_size=2, max_size=size))
        hidden = {"U": kids}
    return Graph(directed, bidirected, hidden, names)


@st.composite
def constrained_graphs(draw: st.DrawFn, most: int = 5) -> Graph:
    """The same with some coefficients fixed (to zero as well) or equal."""
    graph = draw(graphs(most))
    edges = [f"{u} {arrow} {v}" for u, arrow, v in graph.edges()]
    if not edges:
        return graph
    chosen = draw(st.lists(st.sampled_from(edges), unique=True, max_size=4))
    small: st.SearchStrategy[float | str] = st.sampled_from([0.0, 0.1, "a", "a", "b"])
    large: st.SearchStrategy[float | str] = st.sampled_from([0.0, 0.5, 1.0, "c", "c", "d"])
    known = {e: draw(small if "<->" in e else large) for e in chosen}
    return Graph(graph.directed, graph.bidirected, graph.latents, graph.observed, known)


def random_model(graph: Graph, rng: np.random.Generator) -> CGLSCM:
    """A model of the graph with moderate coefficients that obeys fixed and equal coefficients."""
    names = graph.observed
    labels: dict[str, float] = {}

    def weight(u: str, arrow: str, v: str, scale: float) -> float:
        known = graph.coefficients.get(f"{u} {arrow} {v}")
        if isinstance(known, float):
            return known
        value = rng.uniform(0.3, 1.0) * rng.choice([-1.0, 1.0]) * scale
        return labels.setdefault(known, value) if known else value

    place = {v: i for i, v in enumerate(names)}
    T, C = np.zeros((len(names),) * 2), np.zeros((len(graph.latents), len(names)))
    W = np.diag(rng.uniform(0.8, 1.5, len(names)))
    for u, v in graph.directed:
        T[place[u], place[v]] = weight(u, "->", v, 1.0)
    for k, (u, kids) in enumerate(graph.latents.items()):
        for c in kids:
            C[k, place[c]] = weight(u, "->", c, 1.0)
    for u, v in graph.bidirected:
        W[place[u], place[v]] = W[place[v], place[u]] = weight(u, "<->", v, 0.8 / len(names))
    return CGLSCM(names, T, C, np.zeros(len(names)), W, tuple(graph.latents), graph)
