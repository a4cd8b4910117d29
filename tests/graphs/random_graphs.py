"""Random graphs and random models of them, for property tests."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from halftrek.graphs import Graph
from halftrek.models import CGLSCM

quick = settings(max_examples=60, deadline=None, derandomize=True)


@st.composite
def graphs(draw: st.DrawFn, names: Sequence[str] = "abcde", latents: int = 2, smallest: int = 2) -> Graph:
    """A graph over some of the names, in a random causal order, with bidirected edges and hidden causes."""
    size = draw(st.integers(smallest, len(names)))
    order = draw(st.permutations(list(names)[:size]))
    pairs = list(itertools.combinations(order, 2))
    directed = [p for p in pairs if draw(st.booleans())]
    bidirected = [p for p in pairs if draw(st.integers(0, 3)) == 0]
    hidden = {f"U{k}": [v for v in order if draw(st.booleans())] for k in range(draw(st.integers(0, latents)))}
    return Graph(directed, bidirected, hidden, sorted(order))


def random_model(graph: Graph, seed: int) -> CGLSCM:
    """Generic parameters of the graph; the noise variances make the error covariance positive definite."""
    rng = np.random.default_rng(seed)
    names = graph.observed
    place = {v: i for i, v in enumerate(names)}

    def weight() -> float:
        return rng.uniform(0.4, 1.1) * rng.choice([-1, 1])

    T = np.zeros((len(names), len(names)))
    for u, v in graph.directed:
        T[place[u], place[v]] = weight()
    C = np.zeros((len(graph.latents), len(names)))
    for row, kids in zip(C, graph.latents.values(), strict=True):
        for v in kids:
            row[place[v]] = weight()
    omega = {pair: 0.5 * weight() for pair in graph.bidirected}
    psi = np.full(len(names), 1.0)
    for (u, v), w in omega.items():
        psi[place[u]] += abs(w)
        psi[place[v]] += abs(w)
    psi += rng.uniform(0, 0.5, len(names))
    return CGLSCM.from_parameters(names=names, T=T, C=C, psi=psi, latents=list(graph.latents), omega=omega, graph=graph)


def partial_correlation(model: CGLSCM, x: str, y: str, given: Sequence[str]) -> float:
    """The correlation of x and y that is left after regression on ``given``."""
    at = [model.names.index(v) for v in (x, y, *given)]
    precision = np.linalg.inv(model.cov[np.ix_(at, at)])
    return -precision[0, 1] / np.sqrt(precision[0, 0] * precision[1, 1])


def statements(names: Sequence[str]) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Every (x, y, given) over the names."""
    for x, y in itertools.combinations(names, 2):
        rest = [v for v in names if v not in (x, y)]
        for size in range(len(rest) + 1):
            for given in itertools.combinations(rest, size):
                yield x, y, given


def subsets(names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Every subset, smallest first."""
    return itertools.chain.from_iterable(itertools.combinations(names, size) for size in range(len(names) + 1))


def minimal(sets: Iterable[Iterable[str]]) -> set[frozenset[str]]:
    """Those that hold no other."""
    found = [frozenset(s) for s in sets]
    return {s for s in found if not any(other < s for other in found)}
