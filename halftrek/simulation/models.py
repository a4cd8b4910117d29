"""Random parameters for a graph, well conditioned and away from zero."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.bottom.choices import Noise
from halftrek.errors import ModelError
from halftrek.graphs import Edge, Graph, did_you_mean
from halftrek.models import CGLSCM


def random_model(
    graph: Graph,
    *,
    noise: Noise = "free",
    weights: tuple[float, float] = (0.3, 0.9),
    random_state: int | np.random.Generator | None = None,
) -> CGLSCM:
    """A model of the graph with random parameters.

    Weights have a random sign and a size within ``weights``, less for variables with many causes, so that the squares
    of what enters a variable sum to at most one. Intercepts lie in (-1, 1). Noise variances lie in (0.5, 1.5), are all
    one with ``noise="unit"``, or are given by name. Fixed and equal coefficients of the graph are honoured.
    """
    low, high = weights
    if not 0.0 < low <= high:
        raise ModelError(f"weights must be two positive sizes, the smaller first, not {weights}")
    rng = np.random.default_rng(random_state)
    if graph.hidden or graph.variances or graph.intercepts:
        return _with_stated(graph, noise, weights, rng)
    names, hidden = graph.observed, tuple(graph.latents)
    place = {v: i for i, v in enumerate(names)}
    psi = _noise_variances(names, noise, rng)
    values = _edge_values(graph, weights, psi, rng)
    T = np.zeros((len(names), len(names)))
    C = np.zeros((len(hidden), len(names)))
    W = np.diag(psi)
    for u, v in graph.directed:
        T[place[u], place[v]] = values[Edge(u, "->", v)]
    for k, u in enumerate(hidden):
        for v in graph.latents[u]:
            C[k, place[v]] = values[Edge(u, "->", v)]
    for u, v in graph.bidirected:
        W[place[u], place[v]] = W[place[v], place[u]] = values[Edge(u, "<->", v)]
    mu = rng.uniform(-1.0, 1.0, len(names))
    return CGLSCM(names, T, C, mu, _make_definite(W, noise), hidden, graph)


def _with_stated(graph: Graph, noise: Noise, weights: tuple[float, float], rng: np.random.Generator) -> CGLSCM:
    """The same where variances or intercepts are known, and for hidden variables on their scales."""
    opened = graph.opened
    held, level = dict(opened.variances), dict(opened.intercepts)
    bare = opened.with_(variances={}, intercepts={})
    fixed = {v: x for v, x in held.items() if isinstance(x, float)}
    shared = {x: float(rng.uniform(0.5, 1.5)) for x in (*held.values(), *level.values()) if isinstance(x, str)}
    fixed |= {v: shared[x] for v, x in held.items() if isinstance(x, str)}
    asked = fixed | dict(noise) if isinstance(noise, Mapping) else fixed
    found = random_model(bare, noise="unit" if noise == "unit" else asked, weights=weights, random_state=rng)
    mu = np.array(found.mu)
    for v, x in level.items():
        mu[found.names.index(v)] = shared[x] if isinstance(x, str) else x
    return CGLSCM(found.names, found.T, found.C, mu, found.W, found.latents, graph)


def _noise_variances(names: tuple[str, ...], noise: Noise, rng: np.random.Generator) -> Floats:
    psi = np.asarray(rng.uniform(0.5, 1.5, len(names)))
    if isinstance(noise, Mapping):
        for v, value in noise.items():
            if v not in names:
                raise ModelError(f"noise names {v!r}, which the graph does not have.{did_you_mean(v, names)}")
            if not 0.0 < float(value) < np.inf:
                raise ModelError(f"the noise variance of {v!r} must be a positive number, not {value!r}")
            psi[names.index(v)] = float(value)
        return psi
    if noise not in ("free", "unit"):
        raise ModelError(f"noise must be 'free', 'unit' or variances by name, not {noise!r}")
    return psi if noise == "free" else np.ones(len(names))


def _edge_values(
    graph: Graph, weights: tuple[float, float], psi: Floats, rng: np.random.Generator
) -> dict[Edge, float]:
    """A value for each edge; edges of one label share the value, drawn within the narrowest of their ranges."""
    sizes = _edge_sizes(graph, weights, psi)
    ranges: dict[object, tuple[float, float]] = {}
    for edge, (low, high) in sizes.items():
        group = graph.known.get(edge, edge)
        smallest = ranges.get(group, (low, high))
        ranges[group] = (min(low, smallest[0]), min(high, smallest[1]))
    drawn = {group: rng.choice((-1.0, 1.0)) * rng.uniform(low, high) for group, (low, high) in ranges.items()}
    values = {}
    for edge in sizes:
        known = graph.known.get(edge)
        values[edge] = float(known) if isinstance(known, float | int) else float(drawn[known or edge])
    return values


def _edge_sizes(graph: Graph, weights: tuple[float, float], psi: Floats) -> dict[Edge, tuple[float, float]]:
    low, high = weights
    sd = dict(zip(graph.observed, np.sqrt(psi), strict=True))
    sizes = {}
    for u, v in graph.directed:
        shrink = min(1.0, 1.0 / (high * len(graph.parents(v)) ** 0.5))
        sizes[Edge(u, "->", v)] = (low * shrink, high * shrink)
    for u, kids in graph.latents.items():
        for v in kids:
            shrink = min(1.0, 1.0 / (high * len(graph.latent_parents(v)) ** 0.5))
            sizes[Edge(u, "->", v)] = (low * shrink, high * shrink)
    for u, v in graph.bidirected:  # correlations that sum to 0.8 or less in each row: diagonally dominant
        limit = 0.8 / max(len(graph.siblings(u)), len(graph.siblings(v))) * sd[u] * sd[v]
        sizes[Edge(u, "<->", v)] = (limit / 2.0, limit)
    return sizes


def _make_definite(W: Floats, noise: Noise) -> Floats:
    """Fixed error covariances may ask for more noise than was drawn: raise it where it is free."""
    for _ in range(60):
        scale = 1.0 / np.sqrt(np.diag(W))
        if np.linalg.eigvalsh(W * np.outer(scale, scale))[0] > 0.05:
            return W
        if noise != "free":
            break
        W = W + np.diag(np.diag(W))
    raise ModelError(
        "the fixed error covariances are too large for the noise variances. Use noise='free' or fix smaller ones"
    )
