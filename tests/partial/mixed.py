"""Random problems: every kind of assumption, many kinds of question, graphs with a given number of free weights."""

from __future__ import annotations

import numpy as np

from halftrek.errors import HalftrekError
from halftrek.graphs import Graph
from halftrek.partial.assumptions import read_assumptions, relaxed
from halftrek.queries import check_query
from halftrek.syntax import parse_question
from tests.partial.graphs import Setting, assumption_texts, random_covariance

TRIES = 1000


def mixed_setting(seed: int, free: int) -> Setting:
    """A graph of three or four variables with so many free weights, one to three assumptions, and a question."""
    for k in range(TRIES):
        rng = np.random.default_rng(TRIES * seed + k)
        graph = _graph(rng, 4 if seed % 4 == 0 else 3)
        chosen = [str(t) for t in rng.choice(_assumptions(graph, rng), int(rng.integers(1, 4)), replace=False)]
        question = str(rng.choice(_questions(graph, rng)))
        try:
            assumed = read_assumptions(chosen, graph)
            wide = relaxed(graph, assumed)
            check_query(parse_question(question), wide)
        except HalftrekError:  # contradictory, about no cause, or a question that makes no sense
            continue
        p = len(wide.observed)
        if len(wide.directed) + len(wide.bidirected) - p * (p - 1) // 2 == free:
            return Setting(graph, assumed, wide, question, random_covariance(wide, rng))
    raise AssertionError("no graph with so many free weights was drawn")


def _graph(rng: np.random.Generator, p: int) -> Graph:
    names = [f"v{i}" for i in range(p)]
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    arrows = [pair for pair in pairs if rng.random() < 0.7] or pairs[:1]
    return Graph(arrows, [pair for pair in pairs if rng.random() < (0.5 if p == 4 else 0.75)], {}, names)


def _assumptions(graph: Graph, rng: np.random.Generator) -> list[str]:
    found = assumption_texts(graph, rng)
    names = graph.observed
    for i, a in enumerate(names):
        for j, b in enumerate(names[i + 1 :], i + 1):
            r = round(float(rng.uniform(0.1, 0.6)), 3)
            found += [
                f"corr({a} <-> {b}) >= 0",
                f"{a} <-> {b} <= 0",
                f"{a} -> {b} in [{-r}, {2 * r}]",
                f"corr({a}, error({b})) in [{-r}, {r / 3:.4f}]",
                f"share({b}) >= {r:.3f}",
                f"{a} -> {b} = {r}",
                f"corr({a} <-> {b}) = {r / 2:.4f}",
            ]
            for k, c in enumerate(names):
                if c in (a, b):
                    continue
                found += [
                    f"confounding({a}, {b}) <= {1 + 2 * r:.3f} * {c}",
                    f"corr({a}, error({b})) <= corr({c}, error({b}))",
                    f"abs(corr({a}, error({b}))) <= abs(corr({c}, error({b})))",
                    f"norm({a} -> {b}, {c} -> {b}) <= {r}" if k < j else f"share({b}) <= {1 + r:.3f}",
                ]
    return found


def _questions(graph: Graph, rng: np.random.Generator) -> list[str]:
    u, v = graph.directed[int(rng.integers(len(graph.directed)))]
    i, j = sorted(rng.choice(len(graph.observed), 2, replace=False))
    a, b = graph.observed[i], graph.observed[j]
    first, second = graph.directed[-1]
    return [
        f"{u} ~> {v}",
        f"std({u} -> {v})",
        f"E[{b} | do({a}=1)] - E[{b} | do({a}=0)]",
        f"SD[{v} | do({u}=1)]",
        f"P({v} < 0.2 | do({u}=-1))",
        f"Q(0.1, {b} | do({a}=0.5))",
        f"E[{v}_{{{u}=1}} - {v} | {u}=1]",
        f"Var[{v}_{{{u}=1}} | {v}=1]",
        f"P({v}_{{{u}=0}} < 1 | {v}=1)",
        f"{a} <-> {b}",
        f"({u} -> {v}) * 2 + 1",
        f"({u} ~> {v}) / ({first} ~> {second})",
        f"E[{v} | do({u} += 1)]",
    ]
