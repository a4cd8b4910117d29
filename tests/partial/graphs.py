"""Random graphs with covariances of theirs, questions and assumptions, for property tests."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.graphs import Graph
from halftrek.partial.assumptions import Assumption, read_assumptions, relaxed


@dataclass(frozen=True, eq=False)
class Setting:
    """A graph, assumptions, the graph with their edges, a question, and a covariance that it has."""

    graph: Graph
    assumptions: tuple[Assumption, ...]
    wide: Graph
    question: str
    sigma: Floats


def random_graph(rng: np.random.Generator, largest: int) -> Graph:
    p = int(rng.integers(2, largest + 1))
    names = [f"v{i}" for i in range(p)]
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    arrows = [pair for pair in pairs if rng.random() < 0.6] or pairs[:1]
    return Graph(arrows, [pair for pair in pairs if rng.random() < 0.35], {}, names)


def random_covariance(graph: Graph, rng: np.random.Generator) -> Floats:
    """Of a random model of the graph, moderate so that there is room on all sides."""
    names = graph.observed
    p = len(names)
    T, W = np.zeros((p, p)), np.eye(p)
    for u, v in graph.directed:
        T[names.index(u), names.index(v)] = rng.uniform(0.1, 0.8) * rng.choice([-1.0, 1.0])
    for u, v in graph.bidirected:
        i, j = names.index(u), names.index(v)
        W[i, j] = W[j, i] = rng.uniform(0.05, 0.5) * rng.choice([-1.0, 1.0]) / max(1, p - 2)
    scale = rng.uniform(0.3, 3.0, p)
    B = np.linalg.inv(np.eye(p) - T)
    sigma = B.T @ W @ B * np.outer(scale, scale)
    return np.asarray(0.5 * (sigma + sigma.T))


def assumption_texts(graph: Graph, rng: np.random.Generator) -> list[str]:
    found = []
    names = graph.observed
    for i, a in enumerate(names):
        for b in names[i + 1 :]:
            r = round(float(rng.uniform(0.1, 0.6)), 3)
            found += [
                f"|corr({a} <-> {b})| <= {r}",
                f"corr({a} <-> {b}) in [{-r / 2:.4f}, {r}]",
                f"|{a} -> {b}| <= {r}",
                f"{a} <-> {b} >= 0",
                f"corr({a}, error({b})) <= {r}",
                f"share({b}) <= {1 + r:.3f}",
            ]
    return found


def question_about(graph: Graph, rng: np.random.Generator) -> str:
    u, v = graph.directed[int(rng.integers(len(graph.directed)))]
    i, j = sorted(rng.choice(len(graph.observed), 2, replace=False))
    first, last = graph.observed[i], graph.observed[j]
    asked = [
        f"{first} ~> {last}",
        f"{u} -> {v}",
        f"Var[{v} | do({u}=1)]",
        f"E[{last} | do({first}=1)]",
        f"P({v} > 0.5 | do({u}=1))",
        f"Q(0.9, {v} | do({u}=1))",
        f"E[{v}_{{{u}=1}} | {u}=0, {v}=1]",
        f"Corr[{first}, {last} | do({u} += 1)]",
    ]
    return str(rng.choice(asked))


def random_setting(seed: int, largest: int = 3, most: int = 3) -> Setting:
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, largest)
    texts = assumption_texts(graph, rng)
    count = int(rng.integers(0, most + 1))
    chosen = [str(t) for t in rng.choice(texts, min(count, len(texts)), replace=False)]
    assumed = read_assumptions(chosen, graph)
    wide = relaxed(graph, assumed)
    return Setting(graph, assumed, wide, question_about(graph, rng), random_covariance(wide, rng))
