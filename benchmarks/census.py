"""Decide every edge and every total effect of all acyclic mixed graphs on three and four nodes, and compare the counts.

Run ``python benchmarks/census.py`` (about a minute): three and four nodes, decided by everything there is and by each
criterion alone; the 121 five-node graphs that are identified and out of reach of half-treks; and the latent-factor
criterion on six variables with one hidden cause. ``--five 200`` adds a random sample of five-node graphs, in which the
criteria, the Jacobian and the elimination have to agree, ``--five-all`` all of them, ``--two-factors`` graphs with two
hidden causes.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import combinations, permutations, product
from pathlib import Path
from time import perf_counter

import numpy as np

from halftrek.graphs import Graph
from halftrek.identification import identify_all
from halftrek.identification.criteria.certificate import known_effects
from halftrek.identification.criteria.half_trek import half_trek
from halftrek.identification.criteria.registry import apply_criteria
from halftrek.identification.study import Study
from halftrek.queries.types import DirectEffect

Pair = tuple[int, int]

# graphs; edges: all, identified, finite; total effects: all, identified (known from exhaustive computation)
EXPECTED_FIVE = (70126, 32257, 121, 1166)  # infinite-to-one, half-trek, identified beyond it, finite-to-one
EXPECTED = {3: (40, (72, 34, 0), (80, 37)), 4: (1567, (5736, 2557, 12), (7024, 2996))}

# name: criteria that build on each other, and whether the graph is split into districts (Tian) first
COLUMNS = {
    "half-trek": (("half-trek",), False),
    "half-trek, districts": (("half-trek",), True),
    "edgewise": (("edgewise half-trek",), False),
    "edgewise, districts": (("edgewise half-trek",), True),
    "edgewise, trek separation": (("edgewise half-trek", "trek separation"), False),
}
EXPECTED_COLUMNS = {  # edges found in all graphs of a size, in the order above, and by the partial-effect closure
    3: (32, 32, 34, 34, 34, 34),
    4: (2286, 2294, 2547, 2557, 2557, 2557),
}
EXPECTED_BEYOND = (0, 9, 29, 32, 107, 39)  # of the 121 graphs; in full
UNRESOLVED = 14  # by all of these
BEYOND = Path(__file__).with_name("beyond_half_treks.json")
FACTOR_TOTAL = (1, 1, 4, 13, 51, 163, 407, 796, 1169, 1291)  # graphs of six variables with 0, 1, ... 9 edges
FACTOR_SOLVED = (1, 1, 4, 13, 50, 134, 250, 234, 64, 4)  # Barber, Drton, Sturma and Weihs (2022)

FACTORS_TOTAL, FACTORS_SOLVED, FACTORS_PROJECTED = 31045, 10193, 2574  # the same with two hidden causes


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
        if code.bit_count() <= 10:
            yield from_code(code)


def from_code(code: int) -> tuple[list[Pair], list[Pair]]:
    """Directed and bidirected pairs of a five-node graph from the bits of a number."""
    pairs = list(combinations(range(5), 2))
    d, b = divmod(code, 1 << len(pairs))
    return [e for k, e in enumerate(pairs) if d >> k & 1], [e for k, e in enumerate(pairs) if b >> k & 1]


def to_code(directed: list[Pair], bidirected: list[Pair]) -> int:
    """The number of a five-node graph."""
    pairs = list(combinations(range(5), 2))
    d, b = (sum(1 << pairs.index(e) for e in edges) for edges in (directed, bidirected))
    return (d << len(pairs)) | b


def districts(graph: Graph) -> Iterator[Graph]:
    """The sub-models of Tian: each district with its parents, which become exogenous."""
    for district in graph.districts:
        inside = set(district)
        kept = inside.union(*(graph.parents(v) for v in district))
        directed = [(u, v) for u, v in graph.directed if v in inside]
        bidirected = [(u, v) for u, v in graph.bidirected if u in inside]
        yield Graph(directed, bidirected, {}, [v for v in graph.observed if v in kept])


def found_by(studies: Iterable[Study], criteria: tuple[str, ...]) -> set[str]:
    """Edges that some criteria solve in a graph or in its sub-models."""
    steps = (step for study in studies for step in apply_criteria(study.bench, criteria))
    return {q for step in steps for q in step.outputs if q is not None}


def columns_of(graph: Graph) -> tuple[int, ...]:
    """How many edges each column solves, the closure last."""
    edges = {f"{u} -> {v}" for u, v in graph.directed}
    whole, parts = Study(graph), [Study(part) for part in districts(graph)]
    closure = len(edges & known_effects(whole).known.keys())
    found = (found_by(parts if split else [whole], criteria) for criteria, split in COLUMNS.values())
    return (*map(len, found), closure)


def report(title: str, counts: tuple[int, ...], right: bool, start: float) -> None:
    """Print a row of columns."""
    words = ", ".join(f"{name} {n}" for name, n in zip((*COLUMNS, "closure"), counts, strict=True))
    print(f"{title}: {words}, {perf_counter() - start:.1f} s, {'right' if right else 'WRONG'}")


def census_of_criteria(size: int) -> bool:
    """Edges that each criterion finds in all graphs of a size."""
    start = perf_counter()
    rows = [columns_of(to_graph(size, directed, bidirected)) for directed, bidirected in classes(size)]
    counts = tuple(map(sum, zip(*rows, strict=True)))
    right = counts == EXPECTED_COLUMNS[size]
    report(f"{size} nodes, edges by criterion", counts, right, start)
    return right


def census_beyond() -> bool:
    """Five-node graphs that are identified and out of reach of half-treks: those that each criterion solves in full."""
    start, counts, open_graphs = perf_counter(), [0] * (len(COLUMNS) + 1), 0
    codes = json.loads(BEYOND.read_text())
    for directed, bidirected in map(from_code, codes):
        solved = [n == len(directed) for n in columns_of(to_graph(5, directed, bidirected))]
        counts = [n + s for n, s in zip(counts, solved, strict=True)]
        open_graphs += not any(solved)
    right = tuple(counts) == EXPECTED_BEYOND and open_graphs == UNRESOLVED
    report(f"{len(codes)} five-node graphs beyond half-treks, unresolved {open_graphs}", tuple(counts), right, start)
    return right


def one_factor_graphs(most: int) -> Iterator[Graph]:
    """Each class of directed graphs on six variables with at most ``most`` edges and one hidden cause of them all."""
    names, pairs = [f"v{i}" for i in range(6)], list(combinations(range(6), 2))
    bits = (np.arange(1 << len(pairs))[:, None] >> np.arange(len(pairs))) & 1
    best = np.full(len(bits), np.iinfo(np.int64).max)
    for o in permutations(range(6)):
        np.minimum(best, bits @ np.array([1 << (6 * o[u] + o[v]) for u, v in pairs]), out=best)
    for code in np.unique(best, return_index=True)[1].tolist():
        if code.bit_count() <= most:
            directed = [(names[u], names[v]) for k, (u, v) in enumerate(pairs) if code >> k & 1]
            yield Graph(directed, [], {"U": names}, names)


def census_of_factors() -> bool:
    """One hidden cause of six variables: graphs that the latent-factor criterion solves in full, by edges."""
    start, total, solved = perf_counter(), Counter[int](), Counter[int]()
    for graph in one_factor_graphs(9):
        edges = len(graph.directed)
        total[edges] += 1
        solved[edges] += len(found_by([Study(graph)], ("latent-factor half-trek",))) == edges
    rows = tuple(tuple(counts[k] for k in range(10)) for counts in (total, solved))
    right = rows == (FACTOR_TOTAL, FACTOR_SOLVED)
    print(f"one hidden cause of six: {total.total()} graphs, solved {solved.total()}, by edges {rows[1]}")
    print(f"  {perf_counter() - start:.1f} s, {'right' if right else 'WRONG'}")
    return right


def two_factor_graphs(most: int) -> Iterator[Graph]:
    """Each class of graphs on six variables, at most ``most`` edges, hidden causes of the first four and last three."""
    names, pairs = [f"v{i}" for i in range(6)], list(combinations(range(6), 2))
    bits = (np.arange(1 << len(pairs))[:, None] >> np.arange(len(pairs))) & 1
    bits = bits[bits.sum(axis=1) <= most]
    orders = ([1 << (6 * o[u] + o[v]) for u, v in pairs] for o in permutations(range(6)))
    codes = np.unique(np.concatenate([np.unique(bits @ np.array(weights)) for weights in orders]))
    every = list(permutations(range(6), 2))
    bits = np.array([codes >> (6 * u + v) & 1 for u, v in every]).T
    best = codes.copy()
    for first, last in product(permutations((0, 1, 2)), permutations((4, 5))):
        o = (*first, 3, *last)
        np.minimum(best, bits @ np.array([1 << (6 * o[u] + o[v]) for u, v in every]), out=best)
    for code in np.unique(best).tolist():
        directed = [(names[u], names[v]) for u, v in every if code >> (6 * u + v) & 1]
        yield Graph(directed, [], {"U": names[:4], "H": names[3:]}, names)


def census_of_two_factors() -> bool:
    """Two hidden causes of six variables: graphs solved in full, with the hidden causes as they are or as arcs."""
    start, total = perf_counter(), Counter[str]()
    for graph in two_factor_graphs(6):
        edges = len(graph.directed)
        total["graphs"] += 1
        total["solved"] += len(found_by([Study(graph)], ("latent-factor half-trek",))) == edges
        arcs = [pair for kids in graph.latents.values() for pair in combinations(kids, 2)]
        projected = Graph(graph.directed, arcs, {}, graph.observed)
        total["as arcs"] += len(found_by([Study(projected)], ("edgewise half-trek",))) == edges
    right = tuple(total.values()) == (FACTORS_TOTAL, FACTORS_SOLVED, FACTORS_PROJECTED)
    print(f"two hidden causes of six: {dict(total)}, {perf_counter() - start:.0f} s, {'right' if right else 'WRONG'}")
    return right


def census_five() -> bool:
    """All 103670 five-node graphs with at most ten edges: the table of Foygel, Draisma and Drton (2012)."""
    start, total, beyond = perf_counter(), Counter[str](), list[int]()
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
            beyond += [to_code(directed, bidirected)] if statuses == {"identified"} else []
    others = total.total() - sum(total[k] for k in ("infinite-to-one", "half-trek", "identified"))
    counts = (total["infinite-to-one"], total["half-trek"], total["identified"], others)
    right = counts == EXPECTED_FIVE and not any("undecided" in key for key in total)
    right = right and bool(sorted(beyond) == json.loads(BEYOND.read_text()))
    print(f"5 nodes: {dict(total)}, {perf_counter() - start:.0f} s, {'right' if right else 'WRONG'}")
    return right


def main() -> int:
    """Run the census; exit status 1 if a count differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--five", type=int, default=0, metavar="N", help="also decide N random five-node graphs")
    parser.add_argument("--five-all", action="store_true", help="also all 103670 five-node graphs (about ten minutes)")
    parser.add_argument("--two-factors", action="store_true", help="also 31045 graphs with two hidden causes (minutes)")
    options = parser.parse_args()
    results = [census(3), census(4), census_of_criteria(3), census_of_criteria(4), census_beyond(), census_of_factors()]
    if options.five:
        results.append(sample_five(options.five))
    if options.two_factors:
        results.append(census_of_two_factors())
    if options.five_all:
        results.append(census_five())
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
