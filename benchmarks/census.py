"""Decide every edge and every total effect of all acyclic mixed graphs on three and four nodes, and compare the counts.

Run ``python benchmarks/census.py`` (three and four nodes, under a minute) or ``python benchmarks/census.py --five
200`` for a random sample of five-node graphs as well, in which the criteria, the Jacobian and the elimination have to
agree.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import combinations, permutations, product
from time import perf_counter

import numpy as np

from halftrek.graph import Graph
from halftrek.identification import identify_all
from halftrek.identification.half_trek import half_trek
from halftrek.identification.study import Study
from halftrek.queries.types import DirectEffect

Pair = tuple[int, int]

# graphs; edges: all, identified, finite; total effects: all, identified (known from exhaustive computation)
EXPECTED_FIVE = (70126, 32257, 121, 1166)  # infinite-to-one, half-trek, identified beyond it, finite-to-one
EXPECTED = {3: (40, (72, 34, 0), (80, 37)), 4: (1567, (5736, 2557, 12), (7024, 2996))}


def classes(size: int) -> Iterator[tuple[list[Pair], list[Pair]]]:
    """One labelled graph for each class of isomorphic acyclic mixed graphs: directed and bidirected pairs."""
    pairs = list(combinations(range(size), 2))
    orders = list(permutations(range(size)))
    seen: set[tuple[tuple[Pair, ...], tuple[Pair, ...]]] = set()
    for arrows in product((False, True), repeat=len(pairs)):
        directed = [e for e, there in zip(pairs, arrows, strict=True) if there]
        for arcs in product((False, True), repeat=len(pairs)):
            bidirected = [e for e, there in zip(pairs, arcs, strict=True) if there]
            key = min(
                (
                    tuple(sorted((o[u], o[v]) for u, v in directed)),
                    tuple(sorted((min(o[u], o[v]), max(o[u], o[v])) for u, v in bidirected)),
                )
                for o in orders
            )
            if key not in seen:
                seen.add(key)
                yield directed, bidirected


def to_graph(size: int, directed: list[Pair], bidirected: list[Pair]) -> Graph:
    """The graph with variables v0, v1, ..."""
    names = [f"v{i}" for i in range(size)]
    return Graph([(names[u], names[v]) for u, v in directed], [(names[u], names[v]) for u, v in bidirected], {}, names)


def tally(graph: Graph) -> Counter[tuple[str, str]]:
    """Statuses of all edges ("edge") and total effects ("effect") of one graph."""
    found: Counter[tuple[str, str]] = Counter()
    for verdict in identify_all(graph):
        found["edge" if isinstance(verdict.query, DirectEffect) else "effect", verdict.status] += 1
    return found


def census(size: int) -> bool:
    """Count all graphs of a size, print the counts, and say whether they are the expected ones."""
    start, total, graphs = perf_counter(), Counter[tuple[str, str]](), 0
    for directed, bidirected in classes(size):
        total += tally(to_graph(size, directed, bidirected))
        graphs += 1
    edges = sum(n for (kind, _), n in total.items() if kind == "edge")
    effects = sum(n for (kind, _), n in total.items() if kind == "effect")
    counts = (
        graphs,
        (edges, total["edge", "identified"], total["edge", "finite"]),
        (effects, total["effect", "identified"]),
    )
    undecided = total["edge", "undecided"] + total["effect", "undecided"]
    right = counts == EXPECTED[size] and not undecided
    print(f"{size} nodes: {graphs} graphs, edges {counts[1]}, total effects {counts[2]}, undecided {undecided}")
    seconds, word = perf_counter() - start, "right" if right else "WRONG"
    print(f"  finite total effects {total['effect', 'finite']}, {seconds:.1f} s, {word}")
    return right


def sample_five(number: int) -> bool:
    """Random five-node graphs: statuses are printed; an undecided query counts as a failure."""
    rng = np.random.default_rng(5)
    pairs = list(combinations(range(5), 2))
    total = Counter[tuple[str, str]]()
    start = perf_counter()
    for _ in range(number):
        chosen = rng.permutation(2 * len(pairs))[: rng.integers(4, 11)]
        directed = [pairs[k] for k in chosen if k < len(pairs)]
        bidirected = [pairs[k - len(pairs)] for k in chosen if k >= len(pairs)]
        total += tally(to_graph(5, directed, bidirected))
    print(f"5 nodes: {number} random graphs, {dict(total)}, {perf_counter() - start:.1f} s")
    return not (total["edge", "undecided"] + total["effect", "undecided"])


def five_node_classes() -> Iterator[tuple[list[Pair], list[Pair]]]:
    """One labelled graph for each class of five-node graphs with at most ten edges."""
    pairs = list(combinations(range(5), 2))
    codes = np.arange(1 << len(pairs))
    bits = (codes[:, None] >> np.arange(len(pairs))) & 1
    best = np.full((len(codes), len(codes)), np.iinfo(np.int64).max)
    for order in permutations(range(5)):
        arrows = bits @ np.array([1 << (5 * order[u] + order[v]) for u, v in pairs])
        ends = [(min(order[u], order[v]), max(order[u], order[v])) for u, v in pairs]
        arcs = bits @ np.array([1 << pairs.index(e) for e in ends])
        np.minimum(best, (arrows[:, None] << len(pairs)) | arcs[None, :], out=best)
    _, first = np.unique(best, return_index=True)
    for code in first.tolist():
        d, b = divmod(code, len(codes))
        if d.bit_count() + b.bit_count() <= 10:
            yield [e for k, e in enumerate(pairs) if d >> k & 1], [e for k, e in enumerate(pairs) if b >> k & 1]


def census_five() -> bool:
    """All 103670 five-node graphs with at most ten edges: the table of Foygel, Draisma and Drton (2012)."""
    start, total = perf_counter(), Counter[str]()
    for directed, bidirected in five_node_classes():
        study = Study(to_graph(5, directed, bidirected))
        if study.probe(0).rank < study.table.count and study.probe(1).rank < study.table.count:
            total["infinite-to-one"] += 1
        elif sum(len(step.outputs) for step in half_trek(study.bench)) == len(directed):
            total["half-trek"] += 1
        else:
            edges = [DirectEffect(u, v) for u, v in study.graph.directed]
            statuses = {v.status for v in identify_all(study.graph, edges)}
            total[" and ".join(sorted(statuses))] += 1
    others = total.total() - sum(total[k] for k in ("infinite-to-one", "half-trek", "identified"))
    counts = (total["infinite-to-one"], total["half-trek"], total["identified"], others)
    right = counts == EXPECTED_FIVE and not any("undecided" in key for key in total)
    print(f"5 nodes: {dict(total)}, {perf_counter() - start:.0f} s, {'right' if right else 'WRONG'}")
    return right


def main() -> int:
    """Run the census; exit status 1 if a count differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--five", type=int, default=0, metavar="N", help="also decide N random five-node graphs")
    parser.add_argument("--five-all", action="store_true", help="also all 103670 five-node graphs (about ten minutes)")
    options = parser.parse_args()
    results = [census(3), census(4)]
    if options.five:
        results.append(sample_five(options.five))
    if options.five_all:
        results.append(census_five())
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
