"""How many arrows independent errors tell beyond covariances, and whether the answers from them keep their promise.

Run ``python benchmarks/independence.py``: the census of 400 random graphs of four variables, each pair joined by an
arrow and by an arc with probability one half.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from itertools import combinations, compress, product

import numpy as np

from halftrek.graphs import Graph
from halftrek.identification import identify
from halftrek.queries.types import DirectEffect

GRAPHS = 400
SIZE = 4


def random_mixed(rng: np.random.Generator, size: int = SIZE, chance: float = 0.5) -> Graph:
    """A graph in which each pair has an arrow, and each pair an arc, with the given chance."""
    names = [f"v{i}" for i in range(size)]
    pairs = list(combinations(names, 2))
    arrows = [pair for pair in pairs if rng.random() < chance]
    arcs = [pair for pair in pairs if rng.random() < chance]
    return Graph(arrows, arcs, {}, names)


def every_mixed(size: int = SIZE) -> Iterator[Graph]:
    """All graphs whose arrows go down a given order: what random ones are drawn from."""
    names = [f"v{i}" for i in range(size)]
    pairs = list(combinations(names, 2))
    for chosen in product((False, True), repeat=2 * len(pairs)):
        yield Graph(list(compress(pairs, chosen)), list(compress(pairs, chosen[len(pairs) :])), {}, names)


def census(graphs: Iterable[Graph]) -> tuple[int, int, int]:
    """Arrows in all graphs, those that covariances tell, and those that independent errors tell."""
    count = [0, 0, 0]
    for graph in graphs:
        for u, v in graph.directed:
            verdict = identify(graph, DirectEffect(u, v), scope="non-normal", witness=False)
            count[0] += 1
            count[1] += verdict.identified and verdict.scope != "non-normal"
            count[2] += verdict.identified
    return count[0], count[1], count[2]


def main() -> None:
    """Print the census."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graphs", type=int, default=GRAPHS)
    parser.add_argument("--all", action="store_true", help="all 4,096 graphs in the place of random ones")
    arguments = parser.parse_args()
    rng = np.random.default_rng(0)
    graphs = list(every_mixed()) if arguments.all else [random_mixed(rng) for _ in range(arguments.graphs)]
    arrows, covariances, independence = census(graphs)
    print(f"{len(graphs)} graphs of {SIZE} variables, {arrows} arrows")
    print(f"  told by covariances         {covariances:5d}  {100 * covariances / arrows:.0f} %")
    print(f"  told by independent errors  {independence:5d}  {100 * independence / arrows:.0f} %")


if __name__ == "__main__":
    main()
