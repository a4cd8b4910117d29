"""Random acyclic graphs with correlated errors and hidden causes."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from halftrek.errors import GraphError
from halftrek.graphs import Graph

Pair = tuple[str, str]


def random_graph(
    n_variables: int,
    *,
    edge_probability: float | None = None,
    n_edges: int | None = None,
    n_bidirected: int = 0,
    n_latents: int = 0,
    latent_children: int | tuple[int, int] = 2,
    bow_free: bool = False,
    random_state: int | np.random.Generator | None = None,
) -> Graph:
    """A random graph over ``x1, x2, …``; the causal order is random and not that of the names.

    Arrows: each pair with ``edge_probability``, or ``n_edges`` pairs at random (neither: about one arrow per variable).
    Hidden causes have ``latent_children`` children each, a number or a range with both ends. With ``bow_free`` no arrow
    joins two variables that are confounded.
    """
    if n_variables < 1:
        raise GraphError(f"a graph needs at least one variable, not {n_variables}")
    if edge_probability is not None and n_edges is not None:
        raise GraphError("give edge_probability or n_edges, not both")
    rng = np.random.default_rng(random_state)
    names = [f"x{i + 1}" for i in range(n_variables)]
    order = [names[i] for i in rng.permutation(n_variables)]
    pairs = list(combinations(order, 2))
    latents = _hidden_causes(names, n_latents, latent_children, rng)
    bidirected = _some(pairs, n_bidirected, "bidirected edges", rng)
    if bow_free:
        confounded = {frozenset(e) for e in bidirected}
        confounded |= {frozenset(e) for kids in latents.values() for e in combinations(kids, 2)}
        pairs = [e for e in pairs if frozenset(e) not in confounded]
    directed = _arrows(pairs, n_variables, edge_probability, n_edges, rng)
    return Graph(directed, bidirected, latents, names)


def _arrows(
    pairs: list[Pair], n_variables: int, probability: float | None, count: int | None, rng: np.random.Generator
) -> list[Pair]:
    if count is not None:
        return _some(pairs, count, "arrows", rng)
    if probability is None:
        probability = min(1.0, 2.0 / max(1, n_variables - 1))
    if not 0.0 <= probability <= 1.0:
        raise GraphError(f"edge_probability must lie between 0 and 1, not {probability}")
    return [pair for pair, drawn in zip(pairs, rng.random(len(pairs)), strict=True) if drawn < probability]


def _some(pairs: list[Pair], count: int, what: str, rng: np.random.Generator) -> list[Pair]:
    if not 0 <= count <= len(pairs):
        raise GraphError(f"{count} {what} do not fit: there is room for 0 to {len(pairs)}. Ask for fewer")
    return [pairs[i] for i in np.sort(rng.choice(len(pairs), size=count, replace=False))] if count else []


def _hidden_causes(
    names: list[str], count: int, children: int | tuple[int, int], rng: np.random.Generator
) -> dict[str, list[str]]:
    low, high = (children, children) if isinstance(children, int) else children
    if count < 0:
        raise GraphError(f"n_latents must not be negative, but is {count}")
    if count and not 1 <= low <= high <= len(names):
        raise GraphError(f"latent_children must lie between 1 and the {len(names)} variables, not {children}")
    sizes = rng.integers(low, high, size=count, endpoint=True) if count else np.zeros(0, dtype=np.int64)
    return {
        f"U{k + 1}": [names[i] for i in np.sort(rng.choice(len(names), size=int(size), replace=False))]
        for k, size in enumerate(sizes)
    }
