"""How much independent errors tell beyond covariances, and whether tests and intervals from them keep their promise.

Run ``python -m benchmarks.independence``: the census of 400 random graphs of four variables, each pair joined by an
arrow and by an arc with probability one half (``--all``: all 4,096 such graphs). ``--coverage 400`` draws that many
samples for each shape of errors and counts how often intervals hold the truth and have no end; ``--tests 400`` counts
how often the tests reject.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from itertools import combinations, compress, product

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.graphs import Graph
from halftrek.identification import identify
from halftrek.inference.checks.linearity import line_tests
from halftrek.inference.independence.asking import asked_of_errors
from halftrek.inference.independence.kept_values import is_kept
from halftrek.inference.independence.least import FAR
from halftrek.inference.independence.pair_tests import pair_tests
from halftrek.queries import Query, TotalEffect
from halftrek.queries.types import DirectEffect
from halftrek.results.workflow import fit

GRAPHS = 400
SIZE = 4
ROWS = 1000
SHAPES = ("skewed", "t5", "uniform", "normal")
DOOR = Graph([("x", "m"), ("m", "y")], [("x", "m"), ("x", "y")], {}, ["x", "m", "y"])
TRUTH: dict[Query, float] = {DirectEffect("m", "y"): 0.7, DirectEffect("x", "m"): 0.6, TotalEffect("x", "y"): 0.42}


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


def drawn(shape: str, size: tuple[int, int], rng: np.random.Generator) -> Floats:
    """Independent draws with mean zero and variance one."""
    if shape == "skewed":
        return np.asarray(rng.standard_exponential(size) - 1.0)
    if shape == "t5":
        return np.asarray(rng.standard_t(5.0, size) * np.sqrt(0.6))
    if shape == "uniform":
        return np.asarray(rng.uniform(-np.sqrt(3.0), np.sqrt(3.0), size))
    return np.asarray(rng.normal(size=size))


def door_rows(shape: str, n: int, rng: np.random.Generator) -> Floats:
    """Rows of x, m, y: a front door whose mediator is confounded with the cause, too."""
    own, (u, v) = drawn(shape, (n, 3), rng), drawn(shape, (n, 2), rng).T
    x = own[:, 0] + 0.7 * u + 0.7 * v
    m = 0.6 * x + own[:, 1] + 0.8 * u
    y = 0.7 * m + own[:, 2] + 0.8 * v
    return np.column_stack([x, m, y])


def coverage(
    shape: str, samples: int, n: int = ROWS, seed: int = 1, queries: Iterable[Query] = tuple(TRUTH)
) -> dict[Query, tuple[float, float]]:
    """For each question how often the values that are kept hold the truth, and how often they have no end."""
    rng = np.random.default_rng(seed)
    counts = {query: [0, 0] for query in queries}
    for _ in range(samples):
        fitted = fit(DOOR, door_rows(shape, n, rng))
        for query, count in counts.items():
            asked = asked_of_errors(fitted, query)

            def keeps(value: float) -> bool:
                found = (asked.conditions, asked.value, asked.fitted)  # noqa: B023 (it is called before the next one)
                return is_kept(*found, value, level=0.95, unit=asked.unit)  # noqa: B023

            count[0] += keeps(TRUTH[query])
            count[1] += keeps(FAR * asked.unit) or keeps(-FAR * asked.unit)
    return {query: (inside / samples, endless / samples) for query, (inside, endless) in counts.items()}


def pair_rejections(shape: str, samples: int, n: int, reverse: bool, seed: int = 2) -> float:
    """How often the errors of x and y are found dependent, for y = 0.6 x + e, and if the graph has ``y -> x``."""
    rng = np.random.default_rng(seed)
    graph = Graph([("y", "x")] if reverse else [("x", "y")], [], {}, ["x", "y"])
    rejected = 0
    for _ in range(samples):
        x, e = drawn(shape, (n, 2), rng).T
        rejected += pair_tests(fit(graph, np.column_stack([x, 0.6 * x + e])))[0].p < 0.05
    return rejected / samples


def line_rejections(shape: str, samples: int, n: int, curve: float, seed: int = 3) -> float:
    """How often ``y = 0.5 x + 0.5 z + curve x²`` is found to be no line, with an error whose spread changes."""
    rng = np.random.default_rng(seed)
    graph = Graph([("x", "y"), ("z", "y"), ("z", "x")], [], {}, ["z", "x", "y"])
    rejected = 0
    for _ in range(samples):
        z, own, e = drawn(shape, (n, 3), rng).T
        x = 0.5 * z + own
        y = 0.5 * x + 0.5 * z + curve * x**2 + e * np.sqrt(0.5 + 0.5 * x**2)
        rejected += line_tests(fit(graph, np.column_stack([z, x, y])))[-1].p < 0.05
    return rejected / samples


def main() -> None:
    """Print what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", type=int, default=GRAPHS)
    parser.add_argument("--all", action="store_true", help="all 4,096 graphs in the place of random ones")
    parser.add_argument("--coverage", type=int, metavar="SAMPLES")
    parser.add_argument("--tests", type=int, metavar="SAMPLES")
    arguments = parser.parse_args()
    if arguments.coverage:
        for shape in SHAPES:
            for query, (inside, endless) in coverage(shape, arguments.coverage).items():
                print(f"{shape:8} {query!s:8} covers {inside:.3f}, no end {endless:.3f}", flush=True)
    if arguments.tests:
        for shape in SHAPES:
            for n in (500, 1000):
                right, wrong = (pair_rejections(shape, arguments.tests, n, reverse) for reverse in (False, True))
                line, curve = (line_rejections(shape, arguments.tests, n, c) for c in (0.0, 0.2))
                found = f"arrow right {right:.3f}, reversed {wrong:.3f}; line {line:.3f}, curve {curve:.3f}"
                print(f"{shape:8} n = {n:4d}  rejected: {found}", flush=True)
    if not (arguments.coverage or arguments.tests):
        rng = np.random.default_rng(0)
        graphs = list(every_mixed()) if arguments.all else [random_mixed(rng) for _ in range(arguments.graphs)]
        arrows, covariances, independence = census(graphs)
        print(f"{len(graphs)} graphs of {SIZE} variables, {arrows} arrows")
        print(f"  told by covariances         {covariances:5d}  {100 * covariances / arrows:.0f} %")
        print(f"  told by independent errors  {independence:5d}  {100 * independence / arrows:.0f} %")


if __name__ == "__main__":
    main()
