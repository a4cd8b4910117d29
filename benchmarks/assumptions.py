"""How long the ranking of all absent edges takes, and the curve of one edge: ``python -m benchmarks.assumptions``.

Processor time, the best of several, of fits that were asked before. The aim is 0.2 s for a graph of ten variables.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import combinations

import halftrek as ht
from halftrek.simulation import random_model

NAMES = "abcdefghij"
SPARSE = (
    "a -> b -> c -> d; a -> e -> d; c -> f -> g -> h; b -> h; d -> i -> j; f -> j; "
    "a <-> c; d <-> f; g <-> j; e <-> i; b <-> f"
)
GRAPHS = {
    "every arrow": ("; ".join(f"{u} -> {v}" for u, v in combinations(NAMES, 2)), "a ~> j"),
    "sparse, with arcs": (SPARSE, "a ~> j"),
}


def seconds(work: Callable[[], object], times: int = 5) -> float:
    """Processor time of the quickest."""
    work()
    spent = []
    for _ in range(times):
        begun = time.process_time()
        work()
        spent.append(time.process_time() - begun)
    return min(spent)


def main() -> None:
    """Prints a line for each graph and each thing that is asked."""
    for name, (text, question) in GRAPHS.items():
        graph = ht.graph(text)
        model = random_model(graph, random_state=3)
        fit = ht.fit(graph, cov=model.cov, names=list(model.names), n=500)
        found = fit.assumptions(question)
        ranked = seconds(lambda fit=fit, question=question: fit.assumptions(question))  # type: ignore[misc]
        print(f"{name}: {len(found.rows)} absent edges, {len(found.carrying)} carry the answer: {1e3 * ranked:.0f} ms")
        edge = found.carrying[0].edge
        curve = seconds(lambda fit=fit, q=question, e=edge: fit.sensitivity(q, e), 2)  # type: ignore[misc]
        print(f"{name}: the curve of {edge}, 21 values with intervals: {1e3 * curve:.0f} ms")


if __name__ == "__main__":
    main()
