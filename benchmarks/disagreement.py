"""How often formula and whole model are said to disagree: in graphs that are right at the level, in wrong ones often.

    python -m benchmarks.disagreement [--graphs 200] [--samples 5]

Random graphs of seven nodes with up to four arcs and a hidden cause of up to four, all total effects that a formula
identifies. The old rule set the difference against six standard errors of the estimate.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

import halftrek as ht
from halftrek.graphs import Graph
from halftrek.identification import Verdict, identify
from halftrek.inference import standard_errors
from halftrek.inference.checks.disagreement import LEVEL, difference
from halftrek.queries import TotalEffect
from halftrek.simulation import random_graph, random_model


@dataclass(frozen=True)
class Cell:
    """A kind of data: rows, share of values missing, tails, rows in a cluster."""

    name: str
    n: int = 300
    missing: float = 0.0
    tails: int = 0  # degrees of freedom of t; none: normal
    cluster: int = 1


CELLS = (
    Cell("60 rows", 60),
    Cell("300 rows"),
    Cell("2,000 rows", 2000),
    Cell("300 rows, 10 % missing", missing=0.1),
    Cell("300 rows, t with 5 df, robust", tails=5),
    Cell("60 clusters of 10, robust", 600, cluster=10),
)


def drawn(seed: int) -> Graph:
    """A graph."""
    rng = np.random.default_rng(seed)
    arcs, latents = int(rng.integers(0, 5)), int(rng.integers(0, 2))
    return random_graph(
        7, edge_probability=0.4, n_bidirected=arcs, n_latents=latents, latent_children=(2, 4), random_state=seed
    )


def questions(graph: Graph) -> Iterator[tuple[TotalEffect, Verdict]]:
    """Every total effect that has a formula."""
    for x in graph.observed:
        for y in sorted(graph.descendants(x) - {x}):
            verdict = identify(graph, TotalEffect(x, y), witness=False, budget=0.1)
            if verdict.recipe is not None:
                yield TotalEffect(x, y), verdict


def rows_of(cell: Cell, model: ht.CGLSCM, seed: int) -> np.ndarray:
    """A sample of the kind."""
    rng = np.random.default_rng(seed)
    rows = np.array(model.sample(cell.n, random_state=rng)) - model.mean
    if cell.tails:
        rows /= np.sqrt(rng.chisquare(cell.tails, (len(rows), 1)) / cell.tails)
    if cell.cluster > 1:  # the same model between clusters as within
        rows += np.repeat(
            np.array(model.sample(cell.n // cell.cluster, random_state=rng)) - model.mean, cell.cluster, 0
        )
    rows[rng.random(rows.shape) < cell.missing] = np.nan
    return rows


def measure(cell: Cell, graphs: int, samples: int) -> str:
    """One line: how many differences, shares below levels, share by the old rule."""
    p, old = [], []
    for seed in range(graphs):
        graph = drawn(seed)
        asked = list(questions(graph))
        model = random_model(graph, random_state=seed)
        for k in range(samples if asked else 0):
            rows = rows_of(cell, model, 1000 * seed + k)
            cluster = None if cell.cluster == 1 else np.arange(len(rows)) // cell.cluster
            fit = ht.fit(graph, rows, names=graph.observed, cluster=cluster)
            for query, verdict in asked:
                found = difference(fit, query, verdict.recipe, robust=bool(cell.tails) or cluster is not None)
                if found is not None and np.isfinite(found.error):
                    p.append(found.p)
                    error = float(standard_errors(fit, query)[0][0])
                    old.append(abs(found.formula - found.model) > 6.0 * error)
    shares = [np.mean(np.array(p) < level) for level in (0.05, 0.01, LEVEL)]
    return f"{cell.name:32s}{len(p):8d}" + "".join(f"{share:10.4f}" for share in (*shares, np.mean(old)))


def main() -> None:
    """A table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", type=int, default=200)
    parser.add_argument("--samples", type=int, default=5)
    args = parser.parse_args()
    print(f"{'graphs that are right':32s}{'asked':>8s}{'p<0.05':>10s}{'p<0.01':>10s}{'p<0.001':>10s}{'old rule':>10s}")
    for cell in CELLS:
        print(measure(cell, args.graphs, args.samples), flush=True)


if __name__ == "__main__":
    main()
